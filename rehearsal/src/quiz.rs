//! Answers to a quiz, from people who know them and from people who do not.

use std::collections::BTreeMap;

use protocol::control::Answer;
use serde_json::Value;
use study::assign::Rng;
use study::{StageKind, Study};

/// Chance, of 100, of a wrong answer in the first attempt at a quiz that allows another.
const WRONG_AT_FIRST: usize = 15;

/// Right answers, from the study; or with one of them wrong: in every attempt of people who fail, and sometimes in the
/// first of several.
///
/// # Errors
/// A sentence, if the study has no such quiz.
pub(super) fn solve_quiz(
    study: &Study,
    id: &str,
    (fails, (attempt, attempts)): (bool, (u8, u8)),
    rng: &mut Rng,
) -> Result<Vec<Answer>, String> {
    let mut stages = study.timeline.iter();
    let quiz = stages.find_map(|stage| match &stage.kind {
        StageKind::Quiz(quiz) if stage.id == id => Some(quiz),
        _ => None,
    });
    let quiz = quiz.ok_or_else(|| format!("the study has no quiz `{id}`"))?;
    let errs = attempt == 1 && attempts > 1 && rng.draw_below(100) < WRONG_AT_FIRST;
    let wrong = (fails || errs).then(|| rng.draw_below(quiz.items.len()));
    let answers = quiz.items.iter().enumerate().map(|(at, item)| {
        let mut choices = item.choices.iter().map(|choice| &choice.value);
        let other = choices.find(|value| **value != item.answer);
        let value = other.filter(|_| wrong == Some(at)).unwrap_or(&item.answer);
        Answer {
            name: item.name.clone(),
            value: value.to_string(),
        }
    });
    Ok(answers.collect())
}

/// The values of answers in the order in which a form asks for them, with the values that its choices have.
pub(super) fn in_order(surveyjs: &str, answers: &[Answer]) -> Vec<String> {
    let text = |value: &str| serde_json::from_str(value).unwrap_or_else(|_| value.to_owned());
    let known = answers.iter();
    let known: BTreeMap<&str, String> = known
        .map(|answer| (answer.name.as_str(), text(&answer.value)))
        .collect();
    let form: Value = serde_json::from_str(surveyjs).unwrap_or_default();
    let elements = form["elements"].as_array().into_iter().flatten();
    let names = elements.filter_map(|element| element["name"].as_str());
    names.filter_map(|name| known.get(name).cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_the_order_in_which_the_page_asks() {
        let answer = |name: &str, value: &str| Answer {
            name: name.to_owned(),
            value: value.to_owned(),
        };
        let answers = [answer("a", "3"), answer("b", "\"ours\"")];
        let form = r#"{ "elements": [{ "name": "b" }, { "name": "a" }] }"#;
        assert_eq!(in_order(form, &answers), ["ours", "3"]);
    }
}
