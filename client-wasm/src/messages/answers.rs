//! Messages about an answer, and names of choices that a study gives no words for.

use serde_json::Value;
use survey::{AnswerProblem, ItemChoice, NONE, OTHER};

use super::{current_words, fill_in, format_number};

/// The text of a choice: the study's, or the usual one.
pub fn text_of_choice(choice: &ItemChoice) -> &str {
    match (choice.text.as_str(), &choice.value) {
        ("", Value::Bool(true)) => current_words().yes,
        ("", Value::Bool(false)) => current_words().no,
        ("", value) if value == OTHER => current_words().other,
        ("", value) if value == NONE => current_words().none,
        (text, _) => text,
    }
}

/// The problem with an answer.
pub fn say_problem(problem: &AnswerProblem) -> String {
    match problem {
        AnswerProblem::Unanswered => current_words().answer_this.to_owned(),
        AnswerProblem::UnansweredRow => current_words().answer_rows.to_owned(),
        AnswerProblem::Unfit => current_words().choose_answer.to_owned(),
        AnswerProblem::NotANumber => current_words().write_number.to_owned(),
        AnswerProblem::Below(least) => fill_in(
            current_words().number_from,
            &[("least", &format_number(least))],
        ),
        AnswerProblem::Above(most) => {
            fill_in(current_words().number_to, &[("most", &format_number(most))])
        }
        AnswerProblem::Short(1) => current_words().one_character_least.to_owned(),
        AnswerProblem::Short(least) => {
            fill_in(current_words().characters_least, &[("least", least)])
        }
        AnswerProblem::Long(1) => current_words().one_character_most.to_owned(),
        AnswerProblem::Long(most) => fill_in(current_words().characters_most, &[("most", most)]),
        AnswerProblem::Digits => current_words().no_digits.to_owned(),
        AnswerProblem::Pattern => current_words().check_writing.to_owned(),
        AnswerProblem::NotAnAddress => current_words().write_email.to_owned(),
        AnswerProblem::Few(least) => fill_in(current_words().choose_least, &[("least", least)]),
        AnswerProblem::Many(most) => fill_in(current_words().choose_most, &[("most", most)]),
        AnswerProblem::Before(first) => fill_in(current_words().choose_from, &[("first", first)]),
        AnswerProblem::After(last) => fill_in(current_words().choose_to, &[("last", last)]),
        AnswerProblem::Contradiction => current_words().check_others.to_owned(),
        AnswerProblem::Part { title, problem, .. } => format!("{title}: {}", say_problem(problem)),
        AnswerProblem::OwnText(text) => text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::choose_language;
    use super::*;

    /// One problem of each kind, with the plurals.
    fn problems() -> Vec<AnswerProblem> {
        vec![
            AnswerProblem::Unanswered,
            AnswerProblem::UnansweredRow,
            AnswerProblem::Unfit,
            AnswerProblem::NotANumber,
            AnswerProblem::Below(0.5),
            AnswerProblem::Above(99.0),
            AnswerProblem::Short(1),
            AnswerProblem::Short(2),
            AnswerProblem::Long(1),
            AnswerProblem::Long(200),
            AnswerProblem::Digits,
            AnswerProblem::Pattern,
            AnswerProblem::NotAnAddress,
            AnswerProblem::Few(1),
            AnswerProblem::Many(3),
            AnswerProblem::Before("2020-01-01".to_owned()),
            AnswerProblem::After("2025-12-31".to_owned()),
            AnswerProblem::Contradiction,
            AnswerProblem::Part {
                path: vec!["age".to_owned()],
                title: "Age".to_owned(),
                problem: Box::new(AnswerProblem::NotANumber),
            },
            AnswerProblem::OwnText("Its name, please.".to_owned()),
        ]
    }

    #[test]
    fn the_page_says_in_english_what_the_server_does() {
        for problem in problems() {
            assert_eq!(say_problem(&problem), problem.to_string());
        }
    }

    #[test]
    fn what_is_wrong_is_said_in_german() {
        let english: Vec<String> = problems().iter().map(say_problem).collect();
        choose_language(["de"]);
        for (problem, english) in problems().iter().zip(english) {
            let own = matches!(problem, AnswerProblem::OwnText(_));
            assert_eq!(say_problem(problem) == english, own, "{english}");
        }
        assert_eq!(
            [
                AnswerProblem::Below(0.5),
                AnswerProblem::Short(1),
                AnswerProblem::Long(200)
            ]
            .map(|it| say_problem(&it)),
            [
                "Bitte geben Sie eine Zahl ab 0,5 ein.",
                "Bitte schreiben Sie mindestens 1 Zeichen.",
                "Bitte schreiben Sie höchstens 200 Zeichen.",
            ]
        );
        choose_language(["en"]);
    }

    #[test]
    fn choices_without_a_text_have_the_usual_one() {
        let called = |value: Value, text: &str| {
            let text = text.to_owned();
            let choice = ItemChoice {
                value,
                text,
                ..ItemChoice::default()
            };
            text_of_choice(&choice).to_owned()
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
        choose_language(["de"]);
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
        choose_language(["en"]);
    }
}
