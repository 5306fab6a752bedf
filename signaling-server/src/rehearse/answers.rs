//! Fills forms as a person might: any value that an element takes, by seed.
//!
//! It reads the SurveyJS JSON that a page gets, not the study, so that what it answers is what the page asks.

use protocol::control::Answer;
use serde_json::{Map, Value, json};
use study::assign::Rng;

/// How often, of 100, a question is passed over that need not be answered.
const PASSED_OVER: usize = 20;

/// Words of texts that are written.
const WORDS: [&str; 12] = [
    "we",
    "took",
    "turns",
    "at",
    "the",
    "pot",
    "and",
    "I",
    "ran",
    "für",
    "soup",
    "“quickly”",
];

/// Answers to the questions of a form.
///
/// # Errors
/// A sentence, if the form is none or asks in a way that is not known here.
pub(super) fn fill(surveyjs: &str, rng: &mut Rng) -> Result<Vec<Answer>, String> {
    let form: Value = serde_json::from_str(surveyjs).map_err(|error| error.to_string())?;
    let pages = form.get("pages").and_then(Value::as_array);
    let pages: Vec<&Value> = pages.map_or_else(|| vec![&form], |pages| pages.iter().collect());
    let mut answers = Vec::new();
    for page in pages {
        elements(page, rng, &mut answers)?;
    }
    Ok(answers)
}

fn elements(of: &Value, rng: &mut Rng, answers: &mut Vec<Answer>) -> Result<(), String> {
    let list = of.get("elements").or_else(|| of.get("questions"));
    for element in list.and_then(Value::as_array).into_iter().flatten() {
        if element["type"] == "panel" {
            elements(element, rng, answers)?;
            continue;
        }
        let is_required = |key: &str| element[key].as_bool().unwrap_or(false);
        let is_required = is_required("isRequired") || is_required("isAllRowRequired");
        if !is_required && rng.below(100) < PASSED_OVER {
            continue;
        }
        let name = element["name"].as_str().unwrap_or_default().to_owned();
        if let Some(value) = value(element, rng)? {
            let value = value.to_string();
            answers.push(Answer { name, value });
        }
    }
    Ok(())
}

/// A value that an element takes; none if it asks nothing.
fn value(element: &Value, rng: &mut Rng) -> Result<Option<Value>, String> {
    let kind = element["type"].as_str().unwrap_or("text");
    Ok(Some(match kind {
        "html" | "expression" | "image" => return Ok(None),
        "radiogroup" | "dropdown" | "buttongroup" => one_of(&values(element, "choices"), rng)?,
        "checkbox" | "tagbox" => {
            let mut choices = values(element, "choices");
            rng.shuffle(&mut choices);
            let some = 1 + rng.below(choices.len());
            choices.into_iter().take(some).collect()
        }
        "rating" => one_of(&points(element), rng)?,
        "boolean" => json!(rng.below(2) == 1),
        "comment" => json!(words(rng)),
        "matrix" => matrix(element, rng)?,
        "text" => typed(element["inputType"].as_str().unwrap_or("text"), rng)?,
        other => return Err(format!("bots do not know the element type `{other}`")),
    }))
}

fn matrix(element: &Value, rng: &mut Rng) -> Result<Value, String> {
    let columns = values(element, "columns");
    let mut rows = Map::new();
    for row in values(element, "rows") {
        let name = row.as_str().map_or_else(|| row.to_string(), str::to_owned);
        rows.insert(name, one_of(&columns, rng)?);
    }
    Ok(Value::Object(rows))
}

/// A value that a field of an HTML input type takes.
fn typed(input: &str, rng: &mut Rng) -> Result<Value, String> {
    Ok(match input {
        "number" | "range" => json!(rng.below(100)),
        "email" => json!("somebody@example.org"),
        "tel" => json!("+49 30 1234567"),
        "date" => json!(format!("20{:02}-0{}-11", rng.below(30), 1 + rng.below(9))),
        "time" => json!(format!("1{}:05", rng.below(10))),
        "text" | "search" => json!(words(rng)),
        other => return Err(format!("bots do not know the input type `{other}`")),
    })
}

fn words(rng: &mut Rng) -> String {
    let count = 1 + rng.below(9);
    let words: Vec<&str> = (0..count).map(|_| WORDS[rng.below(WORDS.len())]).collect();
    words.join(" ")
}

fn one_of(values: &[Value], rng: &mut Rng) -> Result<Value, String> {
    let chosen = values.get(rng.below(values.len()));
    chosen
        .cloned()
        .ok_or_else(|| "an element has nothing to choose".to_owned())
}

/// The values of choices, columns or rows.
fn values(element: &Value, list: &str) -> Vec<Value> {
    let list = element[list].as_array().into_iter().flatten();
    list.map(|choice| choice.get("value").unwrap_or(choice).clone())
        .collect()
}

/// The points of a scale.
fn points(element: &Value) -> Vec<Value> {
    let named = values(element, "rateValues");
    if !named.is_empty() {
        return named;
    }
    let whole = |name: &str, default: i64| element[name].as_i64().unwrap_or(default);
    let min = whole("rateMin", 1);
    let max = whole("rateMax", min + whole("rateCount", 5) - 1);
    let step = usize::try_from(whole("rateStep", 1)).unwrap_or(1).max(1);
    (min..=max).step_by(step).map(Value::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &str = r#"{ "pages": [
      { "elements": [
        { "type": "rating", "name": "fun", "isRequired": true, "rateMin": 2, "rateMax": 6, "rateStep": 2 },
        { "type": "panel", "elements": [
          { "type": "radiogroup", "name": "who", "isRequired": true, "choices": ["person", { "value": 2, "text": "machine" }] } ] },
        { "type": "html", "name": "note", "html": "<p>Thanks</p>" } ] },
      { "elements": [
        { "type": "checkbox", "name": "any", "isRequired": true, "choices": [1, 2, 3] },
        { "type": "boolean", "name": "yes", "isRequired": true },
        { "type": "text", "name": "age", "inputType": "number", "isRequired": true },
        { "type": "comment", "name": "why" },
        { "type": "matrix", "name": "m", "isAllRowRequired": true, "columns": [1, 2], "rows": ["a", { "value": "b" }] } ] } ] }"#;

    #[test]
    fn every_question_is_answered_with_what_it_takes_and_what_need_not_be_is_passed_over_at_times()
    {
        let mut passed_over = 0;
        for seed in 0..200 {
            let answers = fill(FORM, &mut Rng::of(seed, &[])).unwrap();
            let find = |name: &str| {
                let answer = answers.iter().find(|answer| answer.name == name)?;
                serde_json::from_str::<Value>(&answer.value).ok()
            };
            assert!([2, 4, 6].contains(&find("fun").unwrap().as_i64().unwrap()));
            assert!([json!("person"), json!(2)].contains(&find("who").unwrap()));
            assert_eq!(find("note"), None);
            assert!((1..=3).contains(&find("any").unwrap().as_array().unwrap().len()));
            assert!(find("yes").unwrap().is_boolean() && find("age").unwrap().is_number());
            assert_eq!(find("m").unwrap().as_object().unwrap().len(), 2);
            passed_over += usize::from(find("why").is_none());
        }
        assert!((10..80).contains(&passed_over), "{passed_over}");
        let strange =
            r#"{ "elements": [{ "type": "signaturepad", "name": "x", "isRequired": true }] }"#;
        let error = fill(strange, &mut Rng::of(1, &[])).unwrap_err();
        assert!(error.contains("signaturepad"), "{error}");
    }
}
