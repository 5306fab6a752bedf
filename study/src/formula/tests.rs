//! Formulas as authors write them: their values, and the messages about faults.

use std::collections::BTreeMap;

use formula::Value;

use super::{Formula, TextTemplate, Type, Types};
use crate::problem::ProblemReport;
use crate::read::Cursor;
use crate::yaml;

fn types() -> Types {
    let episode = Type::record([("score", Type::Number), ("won", Type::Bool)]);
    Types::from([
        ("score".into(), Type::Number),
        ("elapsed_s".into(), Type::Number),
        ("done".into(), Type::Bool),
        ("layout".into(), Type::Text),
        ("answer".into(), Type::Any),
        ("second-try".into(), Type::Number),
        (
            "play".into(),
            Type::record([("episodes", Type::list(episode))]),
        ),
    ])
}

fn scope() -> BTreeMap<String, Value> {
    let json = r#"{
        "score": 40, "elapsed_s": 12.5, "done": false, "layout": "ring", "answer": ["a", "b"],
        "play": {"episodes": [{"score": 40, "won": true}, {"score": 25, "won": false}, {"score": 60}]}
    }"#;
    serde_json::from_str(json).unwrap()
}

/// Reads the value of the key `until` of a file.
fn read<T>(yaml: &str, read: impl FnOnce(&Cursor<'_>) -> Option<T>) -> Result<T, Vec<String>> {
    let report = ProblemReport::new("study.yaml");
    let node = yaml::parse(yaml, &report).unwrap();
    let mut fields = Cursor::root(&node, &report).fields("a file").unwrap();
    let value = fields.get("until").and_then(|place| read(&place));
    report
        .result(value)
        .map_err(|problems| problems.iter().map(ToString::to_string).collect())
}

fn formula(yaml: &str, wanted: &Type) -> Result<Formula, Vec<String>> {
    read(yaml, |place| Formula::read(place, &types(), wanted))
}

/// The message about the one fault of a formula in single quotes from column 8 on.
fn fault(text: &str) -> String {
    fault_of(text, &Type::Any)
}

fn fault_of(text: &str, wanted: &Type) -> String {
    let mut found = formula(&format!("until: '{text}'"), wanted).unwrap_err();
    assert_eq!(found.len(), 1, "{found:#?}");
    found
        .remove(0)
        .trim_start_matches("study.yaml:1:")
        .to_owned()
}

/// The value of a formula, as JSON.
fn value(text: &str) -> String {
    let report = ProblemReport::new("study.yaml");
    let node = yaml::Node {
        at: crate::problem::LineColumn::default(),
        data: yaml::Data::Quoted(text.to_owned()),
    };
    let formula = Formula::read(&Cursor::root(&node, &report), &types(), &Type::Any);
    let formula = report
        .result(formula)
        .unwrap_or_else(|found| panic!("{text}: {found:#?}"));
    match formula.eval(&scope()) {
        Ok(Value::Number(number)) => formula::show_number(number),
        Ok(value) => serde_json::to_string(&value).unwrap(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_formulas_of_the_worked_file_work() {
    assert_eq!(value("score >= 20 || elapsed_s >= 180"), "true");
    assert_eq!(
        value("round2(clamp(0.02 * sum(play.episodes.map(e, e.score)), 0.0, 5.0))"),
        "2.5"
    );
    let differences = "play.episodes.map(a, play.episodes.map(b, a.score - b.score))";
    assert_eq!(value(&format!("{differences}[0][2]")), "-20");
    let until = formula("until: score >= 20 || elapsed_s >= 180", &Type::Bool).unwrap();
    assert_eq!(
        serde_json::to_string(&until).unwrap(),
        "\"score >= 20 || elapsed_s >= 180\""
    );
}

#[test]
fn columns_are_those_of_the_file() {
    let unknown = "unknown name `scor`; did you mean `score`? Known here: answer, done, elapsed_s, layout, play, score, second-try";
    for (yaml, at) in [
        ("until: done || scor > 1", "1:16"),
        ("until: 'done || scor > 1'", "1:17"),
        ("other: 1\nuntil:   \"done || scor > 1\" # a note", "2:19"),
        ("until: '\"äöü\" == layout || scor > 1'", "1:28"),
        ("until: |\n  done ||\n    scor > 1\n", "3:5"),
        ("until: |-\n  done || scor > 1\n", "2:11"),
    ] {
        let found = formula(yaml, &Type::Bool).unwrap_err();
        assert_eq!(
            found,
            [format!("study.yaml:{at}: until: {unknown}")],
            "{yaml}"
        );
    }
    // Escapes and folded lines: the place of the whole, and the part that is meant.
    for yaml in [
        "until: \"layout == \\\"a\\\" || scor > 1\"",
        "until: >\n  done ||\n  scor > 1",
    ] {
        let found = formula(yaml, &Type::Bool).unwrap_err();
        assert!(
            found[0].ends_with(&format!("until: at `scor > 1`: {unknown}")),
            "{found:?}"
        );
    }
}

#[test]
fn every_fault_of_a_formula_is_told() {
    let found = formula(
        "until: 'scor > 1 && elapsed_s > \"a\" && !layout'",
        &Type::Bool,
    )
    .unwrap_err();
    let at = |found: &String| found.split(": ").next().unwrap().to_owned();
    assert_eq!(
        found.iter().map(at).collect::<Vec<_>>(),
        ["study.yaml:1:9", "study.yaml:1:31", "study.yaml:1:41"]
    );
}

#[test]
fn what_is_not_a_formula_comes_with_its_mend() {
    for (text, said) in [
        (
            "score = 3",
            "15: until: `=` is not an operator; write `==` to compare",
        ),
        (
            "score => 3",
            "15: until: `=>` is not an operator; write `>=`",
        ),
        (
            "score <> 3",
            "16: until: `<>` is not an operator; write `!=`",
        ),
        (
            "done and done",
            "14: until: `and` is not an operator; write `&&`",
        ),
        (
            "done or done",
            "14: until: `or` is not an operator; write `||`",
        ),
        ("not done", "9: until: `not` is not an operator; write `!`"),
        (
            "done & done",
            "14: until: `&` is not an operator; write `&&`",
        ),
        (
            "score ^ 2",
            "15: until: `^` is not an operator; write a product such as `x * x`",
        ),
        (
            "score ** 2",
            "16: until: `**` is not an operator; write a product such as `x * x`",
        ),
        (
            "(score + 1",
            "9: until: `(` is not closed; write `)` where it ends",
        ),
        (
            "score + 1)",
            "18: until: `)` closes nothing that is open here; remove it, or open it before",
        ),
        (
            "score +",
            "16: until: the formula ends too early; something is missing at its end",
        ),
        (
            "done ? 1",
            "17: until: the formula ends too early; after `?` come two values: `a ? b : c`",
        ),
        (
            "layout == \"a",
            "19: until: the text that begins here has no end; close it with the same quote",
        ),
        (
            "score // 2",
            "15: until: `//` would begin a comment; write `floor(a / b)` to divide without a rest",
        ),
        (
            "score elapsed_s",
            "15: until: `elapsed_s` is not expected here; check the operators, quotes and commas before it",
        ),
        (
            "größe > 1",
            "11: until: `ö` is not read outside quotes; names have the letters a to z, digits and `_`",
        ),
        (
            "if (done) 1",
            "9: until: `if` is not read in formulas; write `condition ? value : other value`",
        ),
        (
            "answer == null",
            "19: until: there is no `null`; ask `has(record.field)` whether something is there",
        ),
        (
            "{\"a\": 1}",
            "9: until: records cannot be written in a formula; name their fields one by one",
        ),
        (
            "r\"a\" == layout",
            "10: until: text stands in plain quotes: \"ring\" or 'ring'",
        ),
        (
            "9007199254740993 > 1",
            "9: until: whole numbers are exact up to 2^53; write a smaller one",
        ),
        (
            "99999999999999999999 > 1",
            "9: until: `99999999999999999999` is not a number that can be exact; write a smaller one",
        ),
    ] {
        assert_eq!(fault(text), said, "{text}");
    }
    let deep = "(".repeat(500) + "1" + &")".repeat(490);
    assert_eq!(
        fault(&deep),
        "33: until: more than 24 brackets inside each other; write less in one formula"
    );
    assert_eq!(value(&("(".repeat(24) + "1" + &")".repeat(24))), "1");
    let found = formula("until: [score]", &Type::Any).unwrap_err();
    assert_eq!(
        found,
        [
            "study.yaml:1:8: until: expected a formula, found a list; put a formula that begins with a bracket or brace in quotes"
        ]
    );
}

#[test]
fn types_are_checked() {
    for (text, said) in [
        (
            "layout + 1",
            "16: until: `+` adds two numbers, or joins two texts or two lists; here are text and a number",
        ),
        ("layout * 2", "9: until: `*` takes a number, found text"),
        (
            "done && score",
            "17: until: `&&` takes true or false, found a number; compare it, as in `x > 0`",
        ),
        (
            "score == \"20\"",
            "15: until: `==` compares a number with text, which are never equal",
        ),
        (
            "1 < score < 5",
            "19: until: `<` compares two numbers or two texts; here are true or false and a number; write `a < b && b < c`",
        ),
        (
            "done ? 1 : \"a\"",
            "14: until: both values of `? :` have one type; here are a number and text",
        ),
        (
            "score ? 1 : 2",
            "9: until: the condition before `?` takes true or false, found a number; compare it, as in `x > 0`",
        ),
        (
            "[1, \"a\"]",
            "13: until: a list has items of one type; before this are a number, and this is text",
        ),
        (
            "score in [\"a\"]",
            "15: until: `in` looks for a number in a list of texts, where it never is",
        ),
        (
            "play.episode",
            "14: until: unknown field `episode`; did you mean `episodes`? Known here: episodes",
        ),
        (
            "play.episodes.score",
            "23: until: a list has no fields; write `.map(e, e.score)` for that of every item, or `[0].score` for that of the first",
        ),
        (
            "score.total",
            "15: until: `.total` is asked of a number, which has no fields",
        ),
        (
            "sum(play.episodes)",
            "13: until: `sum` takes a list of numbers, found a list of records",
        ),
        (
            "summ(play.episodes)",
            "9: until: unknown function `summ`; did you mean `sum`? Known here: abs, ceil, clamp, count, floor, has, max, mean, min, round2, size, sum",
        ),
        (
            "clamp(score, 1)",
            "9: until: `clamp` is not written so; write `clamp(x, low, high)`",
        ),
        (
            "play.episodes.sum()",
            "23: until: `sum` is not written so; write `sum(list)`",
        ),
        (
            "map(play.episodes)",
            "9: until: `map` is not written so; write `list.map(e, value)`",
        ),
        (
            "play.episodes.maps(e, e)",
            "23: until: unknown function `.maps`; did you mean `map`? Known here: all, exists, filter, map",
        ),
        (
            "play.episodes.map(1, 2)",
            "27: until: a name for the items stands here, as in `list.map(e, value)`",
        ),
        (
            "play.episodes.filter(e, e.score)",
            "33: until: the condition of `filter` takes true or false, found a number; compare it, as in `x > 0`",
        ),
        (
            "score.map(e, e)",
            "9: until: `map` takes a list, found a number",
        ),
        ("sum", "9: until: `sum` is a function; write `sum(list)`"),
        (
            "has(score)",
            "9: until: `has` is not written so; write `has(record.field)`",
        ),
        (
            "play[0]",
            "14: until: a field of a record is named in quotes, as in `record[\"field\"]`",
        ),
        (
            "play.episodes.exists(each, each.won) && each.won",
            "49: until: unknown name `each`; known here: answer, done, elapsed_s, layout, play, score, second-try",
        ),
        (
            "second - 1",
            "9: until: `-` is a minus here, so `second-try` cannot be named in a formula; call it `second_try`",
        ),
    ] {
        assert_eq!(fault(text), said, "{text}");
    }
    assert_eq!(
        fault_of("score", &Type::Bool),
        "9: until: the formula gives a number, and true or false is wanted here; compare it, as in `score >= 20`"
    );
    assert_eq!(
        fault_of("done", &Type::Number),
        "9: until: the formula gives true or false, and a number is wanted here; choose by it, as in `won ? 1 : 0`"
    );
    let long = vec!["score"; 160].join("+");
    assert!(fault_of(&long[..959], &Type::Text).contains("gives a number"));
}

#[test]
fn templates_are_texts_with_formulas() {
    let template = |yaml: &str| read(yaml, |place| TextTemplate::read(place, &types()));
    let soups = template("until: \"Soups: {{ score / 20 }} of 3\"").unwrap();
    assert_eq!(soups.pieces().render(&scope()), "Soups: 2 of 3");
    assert_eq!(
        serde_json::to_string(&soups).unwrap(),
        "\"Soups: {{ score / 20 }} of 3\""
    );
    let both = template("until: '{{layout}}{{ done ? \"!\" : \"?\" }}'").unwrap();
    assert_eq!(both.pieces().render(&scope()), "ring?");
    assert_eq!(
        template("until: plain").unwrap().pieces().render(&scope()),
        "plain"
    );
    for (yaml, said) in [
        (
            "until: 'Soups: {{ scor }}'",
            "study.yaml:1:19: until: unknown name `scor`",
        ),
        (
            "until: 'Soups: {{ score'",
            "study.yaml:1:16: until: `{{` is not closed; write `}}` after the formula",
        ),
        (
            "until: 'Soups: {{ }}'",
            "study.yaml:1:18: until: there is no formula here",
        ),
        (
            "until: 'Won: {{ done }}'",
            "study.yaml:1:16: until: the formula gives true or false, and a number or text is wanted here",
        ),
    ] {
        let found = template(yaml).unwrap_err();
        assert!(
            found.len() == 1 && found[0].starts_with(said),
            "{yaml}: {found:?}"
        );
    }
}

/// Blocks of the page for authors: lines of `formula  → value`, and of `formula  ✗ message`.
#[test]
fn the_examples_of_the_page_are_true() {
    let page = include_str!("../../../docs/formulas.md");
    let mut tried = 0;
    for (number, line) in (1..).zip(page.lines()) {
        if let Some((text, result)) = line.split_once(" → ") {
            assert_eq!(
                value(text.trim()),
                result.trim(),
                "docs/formulas.md:{number}"
            );
            tried += 1;
        } else if let Some((text, said)) = line.split_once(" ✗ ") {
            let found = fault(text.trim());
            assert_eq!(
                found.split_once(": until: ").unwrap().1,
                said.trim(),
                "docs/formulas.md:{number}"
            );
            tried += 1;
        }
    }
    assert!(tried >= 40, "{tried} examples");
    let names = super::usage::list_usages().collect::<Vec<_>>();
    let missing: Vec<_> = names
        .iter()
        .filter(|usage| !page.contains(**usage))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/formulas.md does not name {missing:?}"
    );
}
