//! Conditions, as SurveyJS writes them.

use proptest::prelude::*;
use serde_json::json;
use survey::{Condition, Values};

fn answers() -> Values {
    let answers = json!({
        "age": 30, "name": "Ada", "tools": ["pot", "knife"], "yes": true, "no": false, "zero": 0,
        "rate": { "fun": 4, "hard": 2 }, "typed": "17", "my question": "x",
    });
    serde_json::from_value(answers).expect("answers")
}

fn holds(text: &str) -> bool {
    let read = Condition::read(text).unwrap_or_else(|fault| panic!("{text}: {}", fault.message));
    read.holds(&answers())
}

#[test]
fn answers_are_compared() {
    for text in [
        "{age} = 30",
        "{age} == '30'",
        "{age} >= 30 and {age} <= 30",
        "{age} > 29.5 && {age} < 31",
        "{age} + 5 * 2 = 40",
        "({age} + 5) * 2 = 70",
        "{age} % 7 = 2",
        "-{age} = -30",
        "{name} = ada",
        "{name} = 'ADA'",
        "{name} <> 'Bob'",
        "{name} != \"Bob\"",
        "{name} contains 'd'",
        "{tools} contains 'pot'",
        "{tools} contains ['knife', 'pot']",
        "{tools} = ['knife', 'pot']",
        "{tools} notcontains 'plate'",
        "{tools} anyof ['plate', 'pot']",
        "{tools} allof ['pot', 'knife']",
        "{tools} noneof ['plate', 'fork']",
        "{name} anyof ['Ada', 'Bob']",
        "{age} anyof [-1, 30]",
        "{yes} = true",
        "{no} = false",
        "{yes}",
        "!{no}",
        "! ({no} or {zero})",
        "{gone} empty",
        "{age} notempty and {gone} empty",
        "{gone} <> 'x'",
        "{rate.fun} > {rate.hard}",
        "{rate.gone} empty",
        "{typed} < 18",
        "{my question} = 'x'",
        "{no} or {yes} and {age} = 30",
    ] {
        assert!(holds(text), "{text}");
    }
    for text in [
        "{gone} > 3",
        "{gone} < 3",
        "{gone} = 3",
        "{gone} = 0",
        "{name} > 3 and {no}",
        "{tools} contains 'plate'",
        "{tools} contains ''",
        "{tools} allof ['pot', 'plate']",
        "{gone} allof ['pot']",
        "{age} / 0 = 1",
        "{yes} and {no}",
        "{zero}",
    ] {
        assert!(!holds(text), "{text}");
    }
}

#[test]
fn what_it_asks_is_known_with_its_place() {
    let read = Condition::read("{age} > 3 and {rate.fun} = 1").unwrap();
    assert_eq!(
        read.names().collect::<Vec<_>>(),
        [("age", 1), ("rate.fun", 15)]
    );
}

#[test]
fn what_is_no_condition_is_told_where_it_goes_wrong_and_how_to_mend_it() {
    for (text, at, part) in [
        ("", 0, "no condition"),
        ("{age", 0, "write `}`"),
        ("{} = 1", 0, "braces are empty"),
        ("{age} => 3", 7, "`>` is not expected here"),
        ("{age} is 3", 6, "`is` is not an operator; known here: ="),
        ("{age} = ", 8, "ends too early"),
        ("{age} = 'x", 8, "close it with the same quote"),
        ("({age} = 1", 0, "write `)`"),
        ("{age} = 1)", 9, "closes nothing"),
        ("{tools} anyof ['a'", 14, "write `]`"),
        ("{tools} anyof [{age}]", 15, "texts and numbers only"),
        ("iif({age} > 3, 1, 2) = 1", 0, "no functions"),
        ("{age} ^ 2 > 3", 6, "`^` is not read"),
        ("{age} {name}", 6, "an operator is missing"),
        ("contains 'x'", 0, "needs something before it"),
    ] {
        let fault = Condition::read(text).expect_err(text);
        assert_eq!(fault.at, at, "{text}: {}", fault.message);
        assert!(fault.message.contains(part), "{text}: {}", fault.message);
    }
    let deep = format!("{}{{age}} = 1", "(".repeat(60));
    assert!(
        Condition::read(&deep)
            .unwrap_err()
            .message
            .contains("inside each other")
    );
}

proptest! {
    #[test]
    fn any_text_is_a_condition_or_refused_inside_itself(text in "[{}a-c0-9 =<>!()\\[\\]'\",+*/.&|-]{0,60}|\\PC{0,40}") {
        match Condition::read(&text) {
            Ok(read) => {
                let _ = read.holds(&answers());
                for (name, at) in read.names() {
                    prop_assert!(text[at..].trim_start().starts_with(name));
                }
            }
            Err(fault) => prop_assert!(text.is_char_boundary(fault.at)),
        }
    }
}
