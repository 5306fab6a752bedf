//! Forms, as pages read them, and the answers that the server takes.

use ::survey::{Form, Values};
use protocol::control::Answer;
use study::StageKind;
use study::survey::Survey;

/// The form of the fuzzed study, which asks for something of every kind.
pub(crate) fn survey() -> &'static Survey {
    let stages = &crate::arbiter::terms().0.timeline;
    let form = stages.iter().find_map(|stage| match &stage.kind {
        StageKind::Survey(survey) => Some(survey),
        _ => None,
    });
    form.expect("the study has a form")
}

/// Answers are refused, or are JSON, one at most for each item, and as good in any order. Each line is an answer: the
/// name of an item, a space, and the value.
pub fn answers(bytes: &[u8]) {
    check(bytes);
}

/// The answers that are taken; `None` if they are refused.
fn check(bytes: &[u8]) -> Option<Vec<Answer>> {
    let text = str::from_utf8(bytes).ok()?;
    let answer = |line: &str| {
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        Answer {
            name: name.to_owned(),
            value: value.to_owned(),
        }
    };
    let mut answers: Vec<Answer> = text.lines().map(answer).collect();
    let survey = survey();
    let verdict = survey.check(&answers);
    answers.reverse();
    assert_eq!(survey.check(&answers).is_ok(), verdict.is_ok());
    verdict.ok()?;
    assert!(answers.len() <= survey.names().count());
    let is_json = |answer: &Answer| serde_json::from_str::<serde_json::Value>(&answer.value);
    assert!(answers.iter().all(|answer| is_json(answer).is_ok()));
    Some(answers)
}

/// A document is refused, or is a form of at least one page, whose problems are about its own items, whatever is typed.
pub fn form(bytes: &[u8]) {
    read(bytes);
}

fn read(bytes: &[u8]) -> Option<Form> {
    let form = Form::read(str::from_utf8(bytes).ok()?).ok()?;
    assert!(!form.pages.is_empty());
    let typed = form.items().filter_map(|item| {
        let value = item.value_of(&item.title)?;
        Some((item.name.clone(), value))
    });
    let typed: Values = typed.collect();
    for values in [Values::new(), form.defaults(), typed] {
        let (shown, kept) = form.shown_items(&values);
        let problems = form.list_problems(&values);
        assert_eq!(
            (shown.len(), problems.len()),
            (form.pages.len(), form.pages.len())
        );
        for ((page, shown), problems) in form.pages.iter().zip(shown).zip(problems) {
            assert_eq!(shown.len(), page.items.len());
            assert!(problems.iter().all(|(item, _)| shown[*item]));
        }
        assert!(kept.keys().all(|name| values.contains_key(name)));
        assert_eq!(form.shown_items(&kept).1, kept, "what is kept shows itself");
    }
    Some(form)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_reach_what_they_are_for() {
        for (name, bytes) in crate::seeds("answers") {
            assert_eq!(check(&bytes).is_some(), name.starts_with("taken"), "{name}");
        }
        for (name, bytes) in crate::seeds("form") {
            let pages = read(&bytes).map_or(0, |form| form.pages.len());
            let expected = match name.as_str() {
                "malformed" => 0,
                "pages" => 2,
                _ => 1,
            };
            assert_eq!(pages, expected, "{name}");
        }
    }
}
