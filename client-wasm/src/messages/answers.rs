//! Messages about an answer, and names of choices that a study gives no words for.

use serde_json::Value;
use survey::{Choice, NONE, OTHER, Problem};

use super::{fill, number, say};

/// The text of a choice: the study's, or the usual one.
pub fn choice_text(choice: &Choice) -> &str {
    match (choice.text.as_str(), &choice.value) {
        ("", Value::Bool(true)) => say().yes,
        ("", Value::Bool(false)) => say().no,
        ("", value) if value == OTHER => say().other,
        ("", value) if value == NONE => say().none,
        (text, _) => text,
    }
}

/// The problem with an answer.
pub fn wrong(problem: &Problem) -> String {
    match problem {
        Problem::Unanswered => say().answer_this.to_owned(),
        Problem::UnansweredRow => say().answer_rows.to_owned(),
        Problem::Unfit => say().choose_answer.to_owned(),
        Problem::NotANumber => say().write_number.to_owned(),
        Problem::Below(least) => fill(say().number_from, &[("least", &number(least))]),
        Problem::Above(most) => fill(say().number_to, &[("most", &number(most))]),
        Problem::Short(1) => say().one_character_least.to_owned(),
        Problem::Short(least) => fill(say().characters_least, &[("least", least)]),
        Problem::Long(1) => say().one_character_most.to_owned(),
        Problem::Long(most) => fill(say().characters_most, &[("most", most)]),
        Problem::Digits => say().no_digits.to_owned(),
        Problem::Pattern => say().check_writing.to_owned(),
        Problem::NotAnAddress => say().write_email.to_owned(),
        Problem::Few(least) => fill(say().choose_least, &[("least", least)]),
        Problem::Many(most) => fill(say().choose_most, &[("most", most)]),
        Problem::Before(first) => fill(say().choose_from, &[("first", first)]),
        Problem::After(last) => fill(say().choose_to, &[("last", last)]),
        Problem::Contradiction => say().check_others.to_owned(),
        Problem::Part { title, problem, .. } => format!("{title}: {}", wrong(problem)),
        Problem::Said(text) => text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::speak;
    use super::*;

    /// One problem of each kind, with the plurals.
    fn problems() -> Vec<Problem> {
        vec![
            Problem::Unanswered,
            Problem::UnansweredRow,
            Problem::Unfit,
            Problem::NotANumber,
            Problem::Below(0.5),
            Problem::Above(99.0),
            Problem::Short(1),
            Problem::Short(2),
            Problem::Long(1),
            Problem::Long(200),
            Problem::Digits,
            Problem::Pattern,
            Problem::NotAnAddress,
            Problem::Few(1),
            Problem::Many(3),
            Problem::Before("2020-01-01".to_owned()),
            Problem::After("2025-12-31".to_owned()),
            Problem::Contradiction,
            Problem::Part {
                path: vec!["age".to_owned()],
                title: "Age".to_owned(),
                problem: Box::new(Problem::NotANumber),
            },
            Problem::Said("Its name, please.".to_owned()),
        ]
    }

    #[test]
    fn the_page_says_in_english_what_the_server_does() {
        for problem in problems() {
            assert_eq!(wrong(&problem), problem.to_string());
        }
    }

    #[test]
    fn what_is_wrong_is_said_in_german() {
        let english: Vec<String> = problems().iter().map(wrong).collect();
        speak(["de"]);
        for (problem, english) in problems().iter().zip(english) {
            let own = matches!(problem, Problem::Said(_));
            assert_eq!(wrong(problem) == english, own, "{english}");
        }
        assert_eq!(
            [Problem::Below(0.5), Problem::Short(1), Problem::Long(200)].map(|it| wrong(&it)),
            [
                "Bitte schreiben Sie eine Zahl, die mindestens 0,5 ist.",
                "Bitte schreiben Sie mindestens 1 Zeichen.",
                "Bitte schreiben Sie höchstens 200 Zeichen.",
            ]
        );
        speak(["en"]);
    }

    #[test]
    fn choices_without_a_text_have_the_usual_one() {
        let called = |value: Value, text: &str| {
            let text = text.to_owned();
            let choice = Choice {
                value,
                text,
                ..Choice::default()
            };
            choice_text(&choice).to_owned()
        };
        let all = || {
            [
                called(true.into(), ""),
                called(false.into(), ""),
                called(OTHER.into(), ""),
                called(NONE.into(), ""),
                called(OTHER.into(), "Something else"),
            ]
        };
        assert_eq!(
            all(),
            ["Yes", "No", "Other (describe)", "None", "Something else"]
        );
        speak(["de"]);
        assert_eq!(
            all(),
            [
                "Ja",
                "Nein",
                "Anderes (bitte beschreiben)",
                "Nichts davon",
                "Something else"
            ]
        );
        speak(["en"]);
    }
}
