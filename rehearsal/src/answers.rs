//! Fills forms as a person might: with any value that an element accepts, drawn by seed.
//!
//! It reads the SurveyJS JSON that a page receives, not the study, so that its answers fit the form that the page
//! shows.

use protocol::control::Answer;
use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::{Map, Value, json};
use study::assign::Rng;
use survey::{Form, FormItem, ItemChoice, ItemKind, NONE, Rule, Values, key_of};

/// Chance, of 100, that an optional question is skipped.
const PASSED_OVER: usize = 20;

/// Words that written answers are made of.
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

/// How often refused answers are replaced by new ones.
const TRIES: usize = 200;

/// Answers to the questions of a form.
///
/// # Errors
/// A sentence, if this is not a form, or if no accepted answer was found for a question.
pub(super) fn fill(surveyjs: &str, rng: &mut Rng) -> Result<Vec<Answer>, String> {
    let form = Form::read(surveyjs)?;
    let mut values = form.defaults();
    let items = form.pages.iter().enumerate();
    let places = items.flat_map(|(page, of)| (0..of.items.len()).map(move |index| (page, index)));
    for (page, index) in places {
        let (shown, kept) = form.shown_items(&values);
        let item = &form.pages[page].items[index];
        if shown[page][index] && item.is_asked() && item.is_enabled(&kept) {
            let is_needed = item.find_problem(&Values::new()).is_some() || item.is_required(&kept);
            if is_needed || rng.draw_below(100) >= PASSED_OVER {
                values.insert(item.name.clone(), value(item, rng)?);
            }
        }
    }
    mend(&form, &mut values, rng)?;
    Ok(to_answers(form.shown_items(&values).1))
}

/// Returns values as a page sends them.
pub(super) fn to_answers(values: Values) -> Vec<Answer> {
    let answer = |(name, value): (String, Value)| Answer {
        name,
        value: value.to_string(),
    };
    values.into_iter().map(answer).collect()
}

/// Chance, of 100, that somebody does not finish a form in its time.
const UNFINISHED: usize = 25;

/// Returns the time in which a person answers a form that has a time limit, and their answers by then: people who are
/// too slow have only a part; `None` if the form has no limit.
pub(super) fn answer_in_time(
    surveyjs: &str,
    answers: &[Answer],
    wanted_s: u64,
    rng: &mut Rng,
) -> Option<(u64, Vec<Answer>)> {
    let form = Form::read(surveyjs).ok()?;
    let limit_s = u64::from(form.time_limit_s?);
    if rng.draw_below(100) >= UNFINISHED && limit_s > 1 {
        return Some((wanted_s.min(limit_s - 1), answers.to_vec()));
    }
    let half = answers[..answers.len() / 2].iter();
    let value = |answer: &Answer| {
        Some((
            answer.name.clone(),
            serde_json::from_str(&answer.value).ok()?,
        ))
    };
    let half: Values = half.filter_map(value).collect();
    Some((limit_s, to_answers(form.keep_fitting(&half))))
}

/// Replaces answers that the form refuses: by other values, then by those of other questions, which rules may compare.
fn mend(form: &Form, values: &mut Values, rng: &mut Rng) -> Result<(), String> {
    for attempt in 0..TRIES {
        let problems = form.list_problems(values).into_iter().zip(&form.pages);
        let first = problems.into_iter().find_map(|(problems, page)| {
            let (item, problem) = problems.into_iter().next()?;
            Some((page.items.get(item)?, problem))
        });
        let Some((item, problem)) = first else {
            return Ok(());
        };
        let others: Vec<Value> = values.values().cloned().collect();
        let fresh = match attempt % 2 == 1 && !others.is_empty() {
            true => others[rng.draw_below(others.len())].clone(),
            false => value(item, rng)?,
        };
        values.insert(item.name.clone(), fresh);
        if attempt + 1 == TRIES {
            return Err(format!(
                "bots find no answer to the question `{}`: {problem}",
                item.name
            ));
        }
    }
    Ok(())
}

/// A value that an item accepts.
fn value(item: &FormItem, rng: &mut Rng) -> Result<Value, String> {
    Ok(match &item.kind {
        ItemKind::One(choices) | ItemKind::List(choices) => one_of(choices, rng)?,
        ItemKind::Rating { points, .. } => one_of(points, rng)?,
        ItemKind::Many { choices, .. } => some_of(item, choices, rng)?,
        ItemKind::Boolean { .. } => json!(rng.draw_below(2) == 1),
        ItemKind::Lines => written(item, "text", rng)?,
        ItemKind::Line { input } => written(item, input, rng)?,
        ItemKind::Matrix { columns, rows } => {
            let row = |row: &ItemChoice| Ok((key_of(&row.value), one_of(columns, rng)?));
            let rows: Result<Map<_, _>, String> = rows.iter().map(row).collect();
            Value::Object(rows?)
        }
        ItemKind::Slider {
            min,
            max,
            step,
            range,
        } => {
            let steps = ((max - min) / step).floor() as usize;
            let mut at = || rng.draw_below(steps + 1);
            let (one, other) = (at(), at());
            let number = |at: usize| json!(min + at as f64 * step);
            match range {
                true => json!([number(one.min(other)), number(one.max(other))]),
                false => number(one),
            }
        }
        ItemKind::Ranking(choices) => {
            let mut order: Vec<&Value> = choices.iter().map(|choice| &choice.value).collect();
            rng.shuffle(&mut order);
            json!(order)
        }
        ItemKind::Parts(parts) => {
            let mut members = Map::new();
            for part in parts {
                let is_needed = part.required || matches!(part.kind, ItemKind::Parts(_));
                if is_needed || rng.draw_below(100) >= PASSED_OVER {
                    members.insert(part.name.clone(), value(part, rng)?);
                }
            }
            Value::Object(members)
        }
        ItemKind::Html(_) | ItemKind::Heading => Value::Null,
    })
}

fn one_of(choices: &[ItemChoice], rng: &mut Rng) -> Result<Value, String> {
    let chosen = choices.get(rng.draw_below(choices.len()));
    let chosen = chosen.map(|choice| choice.value.clone());
    chosen.ok_or_else(|| "an element has nothing to choose".to_owned())
}

fn some_of(item: &FormItem, choices: &[ItemChoice], rng: &mut Rng) -> Result<Value, String> {
    let mut values: Vec<Value> = choices.iter().map(|choice| choice.value.clone()).collect();
    if values.iter().any(|value| value == NONE) {
        if rng.draw_below(4) == 0 {
            return Ok(json!([NONE]));
        }
        values.retain(|value| value != NONE);
    }
    let counts = item.checks.iter().filter_map(|check| match check.rule {
        Rule::Count { min, max } => Some((min, max.unwrap_or(usize::MAX))),
        _ => None,
    });
    let (least, most) = counts.fold((1, values.len()), |(least, most), (min, max)| {
        (least.max(min), most.min(max))
    });
    rng.shuffle(&mut values);
    values.truncate(least + rng.draw_below(most.saturating_sub(least) + 1));
    Ok(Value::Array(values))
}

/// A value that a field of an HTML input type accepts.
fn written(item: &FormItem, input: &str, rng: &mut Rng) -> Result<Value, String> {
    let (mut least, mut most) = (0.0, f64::NAN);
    let (mut short, mut long) = (0, usize::MAX);
    let mut is_number = item.is_number();
    for check in &item.checks {
        match &check.rule {
            Rule::Numeric { min, max } => {
                is_number = true;
                least = min.unwrap_or(least);
                most = max.unwrap_or(most);
            }
            Rule::Text { min, max, .. } => (short, long) = (*min, max.unwrap_or(long)),
            Rule::Pattern(pattern) => return matching(pattern.source(), rng).map(Value::from),
            Rule::Email => return Ok(json!("somebody@example.org")),
            Rule::Between { min, max } => {
                if let Some(bound) = min.as_ref().or(max.as_ref()) {
                    return Ok(json!(bound));
                }
            }
            Rule::Count { .. } | Rule::Holds(_) => {}
        }
    }
    if is_number {
        let most = if most.is_nan() {
            least.max(0.0) + 99.0
        } else {
            most
        };
        let least = least.min(most);
        let range = (most.floor() - least.ceil()).clamp(0.0, 1e6);
        let number = least.ceil() + rng.draw_below(range as usize + 1) as f64;
        let number = if number > most { least } else { number };
        let whole = (number.fract() == 0.0).then_some(number as i64);
        let number = whole.map_or_else(|| json!(number), |whole| json!(whole));
        return Ok(match item.is_number() {
            true => number,
            false => json!(number.to_string()),
        });
    }
    Ok(match input {
        "email" => json!("somebody@example.org"),
        "tel" => json!("+49 30 1234567"),
        "url" => json!("https://example.org"),
        "date" => json!(format!(
            "20{:02}-0{}-11",
            rng.draw_below(30),
            1 + rng.draw_below(9)
        )),
        "time" => json!(format!("1{}:05", rng.draw_below(10))),
        "text" | "search" => {
            let mut text = words(rng);
            while text.chars().count() < short {
                text = format!("{text} {}", words(rng));
            }
            let cut: String = text.chars().take(long).collect();
            json!(cut.trim_end())
        }
        other => return Err(format!("bots do not know the input type `{other}`")),
    })
}

/// A text that matches a regular expression.
fn matching(pattern: &str, rng: &mut Rng) -> Result<String, String> {
    let mut parser = regex_syntax::ParserBuilder::new()
        .unicode(false)
        .utf8(false)
        .build();
    let hir = parser.parse(pattern);
    let hir = hir.map_err(|error| format!("bots do not know the regular expression: {error}"))?;
    let mut bytes = Vec::new();
    write(&hir, rng, &mut bytes);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn write(hir: &Hir, rng: &mut Rng, to: &mut Vec<u8>) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => to.extend_from_slice(&literal.0),
        HirKind::Class(class) => {
            let is_in = |byte: &u8| match class {
                Class::Bytes(class) => class
                    .iter()
                    .any(|of| (of.start()..=of.end()).contains(byte)),
                Class::Unicode(class) => {
                    let c = char::from(*byte);
                    class.iter().any(|of| (of.start()..=of.end()).contains(&c))
                }
            };
            let all: Vec<u8> = (b' '..=b'~').filter(is_in).collect();
            to.extend(all.get(rng.draw_below(all.len())));
        }
        HirKind::Repetition(of) => {
            let most = of.max.unwrap_or(of.min + 3).min(of.min + 3);
            for _ in 0..of.min as usize + rng.draw_below((most - of.min) as usize + 1) {
                write(&of.sub, rng, to);
            }
        }
        HirKind::Capture(of) => write(&of.sub, rng, to),
        HirKind::Concat(all) => all.iter().for_each(|of| write(of, rng, to)),
        HirKind::Alternation(all) => write(&all[rng.draw_below(all.len())], rng, to),
    }
}

fn words(rng: &mut Rng) -> String {
    let count = 1 + rng.draw_below(9);
    let words: Vec<&str> = (0..count)
        .map(|_| WORDS[rng.draw_below(WORDS.len())])
        .collect();
    words.join(" ")
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
    }

    #[test]
    fn tables_sliders_orders_and_pictures_are_answered_with_what_they_take() {
        let form = r#"{ "elements": [
          { "type": "multipletext", "name": "who", "isRequired": true, "items": [{ "name": "given", "isRequired": true },
            { "name": "age", "inputType": "number", "min": 18, "max": 30 }] },
          { "type": "matrixdropdown", "name": "tools", "isRequired": true, "rows": ["pot", "plate"], "choices": [1, 2],
            "columns": [{ "name": "often", "isRequired": true }, { "name": "why", "cellType": "comment" },
                        { "name": "for", "cellType": "checkbox" }, { "name": "fun", "cellType": "rating" }] },
          { "type": "slider", "name": "share", "isRequired": true, "min": -1, "max": 1, "step": 0.1 },
          { "type": "slider", "name": "range", "isRequired": true, "sliderType": "range", "max": 3 },
          { "type": "ranking", "name": "order", "isRequired": true, "choices": ["a", "b", 3] },
          { "type": "imagepicker", "name": "picture", "isRequired": true, "choices": [{ "value": "x", "imageLink": "x.png" }] } ] }"#;
        let mut orders = std::collections::BTreeSet::new();
        for seed in 0..100 {
            let answers = fill(form, &mut Rng::of(seed, &[])).unwrap();
            let names: Vec<&str> = answers.iter().map(|answer| answer.name.as_str()).collect();
            assert_eq!(
                names,
                ["order", "picture", "range", "share", "tools", "who"]
            );
            orders.insert(answers[0].value.clone());
        }
        assert_eq!(orders.len(), 6, "every order comes");
    }

    #[test]
    fn answers_go_with_conditions_and_rules() {
        let form = r#"{ "elements": [
          { "type": "checkbox", "name": "tools", "choices": ["pot", "plate", "knife"], "hasOther": true, "hasNone": true,
            "isRequired": true, "maxSelectedChoices": 2 },
          { "type": "comment", "name": "why", "isRequired": true, "visibleIf": "{tools} contains 'pot'",
            "validators": [{ "type": "text", "minLength": 30, "maxLength": 60 }] },
          { "type": "text", "name": "code", "isRequired": true, "validators": [{ "type": "regex", "regex": "^[A-Z]{2}\\d+(x|y)?$" }] },
          { "type": "text", "name": "again", "isRequired": true, "validators": [{ "type": "expression", "expression": "{again} = {code}" }] },
          { "type": "text", "name": "age", "inputType": "number", "isRequired": true, "min": 18, "max": 20 },
          { "type": "text", "name": "year", "isRequired": true, "validators": [{ "type": "numeric", "minValue": 1900, "maxValue": 1901 }] },
          { "type": "text", "name": "mail", "isRequired": true, "validators": [{ "type": "email" }] },
          { "type": "text", "name": "late", "requiredIf": "{age} >= 18" } ] }"#;
        let mut shown = 0;
        for seed in 0..200 {
            let answers = fill(form, &mut Rng::of(seed, &[])).unwrap();
            let value = |answer: &Answer| serde_json::from_str(&answer.value).unwrap();
            let values: Values = (answers.iter())
                .map(|answer| (answer.name.clone(), value(answer)))
                .collect();
            let read = Form::read(form).unwrap();
            assert!(
                read.list_problems(&values).iter().all(Vec::is_empty),
                "{values:?}"
            );
            assert_eq!(
                read.shown_items(&values).1,
                values,
                "nothing that was not asked"
            );
            shown += usize::from(values.contains_key("why"));
        }
        assert!((20..180).contains(&shown), "{shown}");
        let never = r#"{ "elements": [{ "type": "boolean", "name": "x", "isRequired": true,
          "validators": [{ "type": "expression", "expression": "{x} empty" }] }] }"#;
        let error = fill(never, &mut Rng::of(1, &[])).unwrap_err();
        assert!(error.contains("no answer to the question `x`"), "{error}");
    }
}
