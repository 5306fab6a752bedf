//! Reads forms, and says where one has a fault.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Attention, Item, MAX_ANSWER, MOST, Purpose, Survey, Takes, row_name};
use crate::page::{self, Source};
use crate::problem::{Report, hint};
use crate::read::{Fields, Place};
use crate::stage::MAX_VIEW;
use crate::text;
use crate::yaml::{self, Data};

#[derive(Clone, Copy)]
enum Type {
    One,
    Many,
    Rating,
    Boolean,
    Text,
    Comment,
    Html,
    Matrix,
}

const TYPES: [(&str, Type); 9] = [
    ("radiogroup", Type::One),
    ("dropdown", Type::One),
    ("checkbox", Type::Many),
    ("rating", Type::Rating),
    ("boolean", Type::Boolean),
    ("text", Type::Text),
    ("comment", Type::Comment),
    ("html", Type::Html),
    ("matrix", Type::Matrix),
];

const DOC: &str = "A form, in the JSON of SurveyJS.";

/// Reads the fields of a survey stage.
pub(crate) fn read_stage(source: Source<'_>, fields: &mut Fields<'_>) -> Option<Survey> {
    fields.about(DOC);
    let title = fields.key("title", "The heading, unless the form has one.");
    let title = title.maybe(|place| text::read(&place, source.language, 200));
    let inline = fields.key("surveyjs", "The form, in the study file.");
    let has_inline = inline.place.is_some();
    let inline = inline.maybe(|place| document(&place));
    let file = fields.key("surveyjs_file", "The form, in a JSON file of its own.");
    let both = file.place.clone().filter(|_| has_inline);
    let file = file.maybe(|place| in_file(source, &place));
    let doc = "Items that show whether people read what they answer, and what is made of them.";
    let attention = fields
        .key("attention", doc)
        .maybe(|place| attention(&place).map(|attention| (attention, place)));
    let survey = match (both, inline?, file?) {
        (Some(place), ..) => {
            place.wrong("both `surveyjs` and `surveyjs_file`; keep one of the two");
            None
        }
        (None, None, None) => {
            fields.whole.wrong("a survey needs its questions: write `surveyjs:` with `elements`, or `surveyjs_file: post.json`");
            None
        }
        (None, inline, file) => inline.or(file),
    };
    let (mut survey, title) = (survey?, title?);
    if let Some(title) = title {
        if survey.surveyjs.get("title").is_some() {
            fields.whole.wrong(
                "the stage and its surveyjs document both have a title; keep one of the two",
            );
            return None;
        }
        survey.surveyjs["title"] = json!(title);
    }
    if let Some((attention, place)) = attention? {
        check_attention(&survey, &attention, &place)?;
        survey.attention = Some(attention);
    }
    Some(survey)
}

fn attention(place: &Place<'_>) -> Option<Attention> {
    let mut fields = place.fields("attention items")?;
    let items = fields.key("items", "Names of elements that have a `correctAnswer`.");
    let items = items.need("[imc]", |place| {
        let places = place.list("names", MOST)?;
        places
            .iter()
            .map(|place| place.text(60))
            .collect::<Option<Vec<_>>>()
    });
    let doc = "`flag`: the data say who failed; nothing else happens.";
    let purpose = fields.key("use", doc);
    let purpose = purpose.or(Purpose::Flag, |place| {
        place.word("choice", &[("flag", Purpose::Flag)])
    });
    fields.done();
    Some(Attention {
        items: items?,
        purpose: purpose?,
    })
}

fn check_attention(survey: &Survey, attention: &Attention, place: &Place<'_>) -> Option<()> {
    let names: Vec<&str> = survey.items.iter().map(|item| item.name.as_str()).collect();
    let mut whole = Some(());
    for (index, name) in attention.items.iter().enumerate() {
        let item = survey.items.iter().find(|item| item.name == *name);
        let message = match item {
            Some(item) if item.correct.is_some() => continue,
            Some(_) => format!("`{name}` has no right answer; give the element a `correctAnswer`"),
            None => format!("the form has no element `{name}`; {}", hint(name, &names)),
        };
        place.wrong_at(&format!("items[{index}]"), message);
        whole = None;
    }
    whole
}

fn in_file(source: Source<'_>, place: &Place<'_>) -> Option<Survey> {
    let file = place.file("JSON file")?;
    let text = page::text(source.dir, place, &file, MAX_VIEW as u64, "post.json")?;
    let report = Report::new(&file);
    // JSON is read as the YAML that it is, because that reader knows the lines; JSON's own reader goes
    // first, because its rules are the stricter ones.
    let survey = match serde_json::from_str::<serde::de::IgnoredAny>(&text) {
        Ok(_) => {
            yaml::parse(&text, &report).and_then(|node| document(&Place::root(&node, &report)))
        }
        Err(error) => {
            let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
            let at = crate::problem::At {
                line: number(error.line()),
                column: number(error.column()),
            };
            report.add(
                at,
                "",
                format!("this is not JSON: {error}; check its commas, quotes and brackets"),
            );
            None
        }
    };
    place.report.absorb(report);
    survey
}

/// Reads a document.
fn document(place: &Place<'_>) -> Option<Survey> {
    place.named("surveyjs", |place| form(place))
}

fn form(place: &Place<'_>) -> Option<Survey> {
    let mut fields = place.fields("a SurveyJS document")?;
    texts(
        &mut fields,
        &[
            ("title", "The heading."),
            ("description", "A text below it."),
        ],
    );
    let pages = fields.key(
        "pages",
        "The pages of the form; or `elements`, for one page.",
    );
    let has_pages = pages.place.is_some();
    let pages = pages.maybe(|place| {
        let pages = place.list("pages", 50)?;
        Some(pages.iter().map(|page| form_page(page)).collect::<Vec<_>>())
    });
    let elements_of = fields.key("elements", "What is asked on the only page.");
    let both = elements_of.place.clone().filter(|_| has_pages);
    if let Some(both) = both {
        both.wrong("both `pages` and `elements`; put the elements into a page");
    }
    let items = match has_pages && !place.may(false) {
        true => pages?.unwrap_or_default(),
        false => vec![
            elements_of.require("[{type: comment, name: thoughts, title: …}]", |place| {
                elements(&place)
            }),
        ],
    };
    fields.done();
    let items: Vec<(Item, Place<'_>)> = items
        .into_iter()
        .collect::<Option<Vec<_>>>()?
        .into_iter()
        .flatten()
        .collect();
    let mut names = BTreeSet::new();
    for (item, place) in &items {
        if !names.insert(&item.name) {
            place.wrong(format!(
                "`{}` is already the name of another element; names are the columns of the data",
                item.name
            ));
        }
    }
    let items = items.into_iter().map(|(item, _)| item).collect();
    let mut surveyjs = place.json();
    sanitise(&mut surveyjs);
    Some(Survey {
        surveyjs,
        items,
        attention: None,
    })
}

/// Makes HTML harmless, wherever it stands.
fn sanitise(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(sanitise),
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                match key == "html" {
                    true => clean(value),
                    false => sanitise(value),
                }
            }
        }
        _ => {}
    }
}

/// Makes HTML harmless, in one language or several.
fn clean(html: &mut Value) {
    match html {
        Value::String(text) => *text = page::sanitised(text),
        Value::Object(texts) => texts.values_mut().for_each(clean),
        _ => {}
    }
}

/// Reads keys that are texts.
fn texts(fields: &mut Fields<'_>, keys: &[(&'static str, &str)]) {
    for (key, doc) in keys {
        let _ = fields.key(key, doc).maybe(|place| localised(&place));
    }
}

/// Items with the place of their name.
type Named<'a> = Vec<(Item, Place<'a>)>;

fn form_page<'a>(place: &Place<'a>) -> Option<Named<'a>> {
    let mut fields = place.fields("a page of the form")?;
    let _ = fields
        .key("name", "The name of the page; it is not in the data.")
        .maybe(|place| place.text(60));
    texts(
        &mut fields,
        &[
            ("title", "The heading."),
            ("description", "A text below it."),
        ],
    );
    let items = fields.key("elements", "What is asked on the page.");
    let items = items.need("[{type: comment, name: thoughts}]", |place| {
        elements(&place)
    });
    fields.done();
    items
}

fn elements<'a>(place: &Place<'a>) -> Option<Named<'a>> {
    let places = place.list("elements", MOST)?;
    let read: Vec<_> = places.iter().map(|place| element(place)).collect();
    let read = read.into_iter().collect::<Option<Vec<_>>>()?;
    Some(read.into_iter().flatten().collect())
}

/// Reads an element; inside is none if it asks nothing.
fn element<'a>(place: &Place<'a>) -> Option<Option<(Item, Place<'a>)>> {
    place.named("element", |place| {
        let mut fields = place.fields("an element")?;
        let named = fields.key(
            "name",
            "The name of its value in the data; unique in the form.",
        );
        let named = named.need("thoughts", |place| place.text(60).map(|name| (name, place)));
        texts(
            &mut fields,
            &[
                ("title", "The question."),
                ("description", "A smaller text below it."),
            ],
        );
        let required = fields
            .key("isRequired", "Whether it must be answered.")
            .or(false, |place| place.flag());
        let doc = "What it asks for; decides which other keys it has.";
        let takes = fields.variants("type", doc, "element type", &TYPES, asked);
        let correct = fields.key(
            "correctAnswer",
            "The right answer, for an item of `attention`; pages do not have it.",
        );
        let correct = correct.maybe(|place| Some((place.json(), place)));
        fields.done();
        let Some(takes) = takes? else {
            return Some(None);
        };
        let (name, named) = named?;
        let item = Item {
            name,
            required: required?,
            takes,
            correct: None,
        };
        let correct = correct?;
        if let Some((value, place)) = correct.as_ref().filter(|(value, _)| !item.takes(value)) {
            place.wrong(format!("{value} is not an answer that this element takes"));
            return None;
        }
        let correct = correct.map(|(value, _)| value);
        Some(Some((Item { correct, ..item }, named)))
    })
}

/// What an element of a type asks for; inside is none if it asks nothing.
fn asked(kind: Type, fields: &mut Fields<'_>) -> Option<Option<Takes>> {
    let takes = match kind {
        Type::One => choices_at(fields, "choices").map(Takes::One),
        Type::Many => choices_at(fields, "choices").map(Takes::Many),
        Type::Rating => rating(fields).map(Takes::One),
        Type::Boolean => {
            texts(
                fields,
                &[
                    ("labelTrue", "The text for yes."),
                    ("labelFalse", "The text for no."),
                ],
            );
            Some(Takes::Flag)
        }
        Type::Text => input(fields),
        Type::Comment => Some(Takes::Text),
        Type::Html => {
            let html = fields.key("html", "What participants read.");
            html.need("\"<p>Nearly done.</p>\"", |place| localised(&place));
            return Some(None);
        }
        Type::Matrix => matrix(fields),
    };
    takes.map(Some)
}

/// Text, or text by language.
fn localised(place: &Place<'_>) -> Option<()> {
    let texts = (place.may(place.is_block())).then(|| {
        for (_, text) in place.entries("text by language")? {
            text.text(MAX_ANSWER)?;
        }
        Some(())
    });
    let text = (place.may(!place.is_block())).then(|| place.text(MAX_ANSWER).map(drop));
    text.or(texts).flatten()
}

fn choices_at(fields: &mut Fields<'_>, key: &'static str) -> Option<Vec<Value>> {
    let example = "[{value: a, text: First}, {value: b, text: Second}]";
    let doc = "Words and numbers, or `{value: …, text: …}`; the value is what the data have.";
    fields.key(key, doc).need(example, |place| choices(&place))
}

fn choices(place: &Place<'_>) -> Option<Vec<Value>> {
    let mut values = Vec::new();
    for place in &place.list("choices", MOST)? {
        let value = choice(place)?;
        if values.contains(&value) {
            place.wrong(format!(
                "the value {value} is already that of another choice"
            ));
            return None;
        }
        values.push(value);
    }
    Some(values)
}

/// The value of a choice: itself, or its `value` beside a `text`.
fn choice(place: &Place<'_>) -> Option<Value> {
    place.named("choice", |place| {
        let block = (place.may(place.is_block())).then(|| {
            let mut fields = place.fields("a choice")?;
            let value = fields
                .key("value", "What is recorded.")
                .need("a", |place| value(&place));
            texts(&mut fields, &[("text", "What participants read.")]);
            fields.done();
            value
        });
        let plain = (place.may(!place.is_block())).then(|| value(place));
        plain.or(block).flatten()
    })
}

/// A word or a number.
fn value(place: &Place<'_>) -> Option<Value> {
    if !place.may(false)
        && (place.node.is_null() || matches!(place.node.data, Data::List(_) | Data::Map(_)))
    {
        place.wrong(format!(
            "expected a word or a number as the value of a choice, found {}",
            place.node.what()
        ));
        return None;
    }
    match place.may(false) {
        true => place.text(MAX_ANSWER).map(Value::String),
        false => Some(place.json()),
    }
}

fn rating(fields: &mut Fields<'_>) -> Option<Vec<Value>> {
    texts(
        fields,
        &[
            ("minRateDescription", "What the first point means."),
            ("maxRateDescription", "What the last point means."),
        ],
    );
    let named = fields.key(
        "rateValues",
        "The points, instead of those from `rateMin` to `rateMax`.",
    );
    let named = named.maybe(|place| choices(&place));
    let whole = |place: Place<'_>| place.whole(-1000..=1000, "");
    let min = fields.key("rateMin", "The first point.").or(1i64, whole);
    let step = fields
        .key("rateStep", "From point to point.")
        .or(1i64, |place| place.whole(1..=1000, ""));
    let count = fields.key("rateCount", "How many points, without `rateMax`.");
    let count = count.or(5i64, |place| place.whole(2..=100, ""));
    let top = fields.key("rateMax", "The last point.");
    let at = top.place.clone();
    let top = top.maybe(whole);
    if let Some(named) = named? {
        return Some(named);
    }
    let (min, step, count) = (min?, step?, count?);
    let end = top?.unwrap_or(min + count - 1);
    let points: Vec<Value> = (min..=end)
        .step_by(usize::try_from(step).unwrap_or(1))
        .map(Value::from)
        .collect();
    if points.len() < 2 || points.len() > 100 {
        let place = at.as_ref().unwrap_or(&fields.whole);
        place.wrong(format!(
            "a scale from {min} to {end} has {} points; there must be 2 to 100",
            points.len()
        ));
        return None;
    }
    Some(points)
}

fn input(fields: &mut Fields<'_>) -> Option<Takes> {
    let known = [
        ("text", false),
        ("number", true),
        ("email", false),
        ("tel", false),
        ("date", false),
        ("time", false),
    ];
    let input = fields.key(
        "inputType",
        "What kind of line it is; a `number` is a number in the data.",
    );
    let number = input.maybe(|place| place.word("input type", &known))?;
    Some(match number {
        Some(true) => Takes::Number,
        _ => Takes::Text,
    })
}

fn matrix(fields: &mut Fields<'_>) -> Option<Takes> {
    let columns = choices_at(fields, "columns");
    let rows = choices_at(fields, "rows");
    let all = fields.key("isAllRowRequired", "Whether every row must be answered.");
    let all = all.or(false, |place| place.flag());
    Some(Takes::Rows {
        columns: columns?,
        rows: rows?.iter().map(row_name).collect(),
        all: all?,
    })
}
