//! Reads choices, rows, and the orders in which they are shown.

use ::survey::MOST;
use serde_json::Value;

use super::part::texts;
use crate::read::{Cursor, Fields};
use crate::survey::MAX_ANSWER;
use crate::yaml::Data;

/// Reads choices, and their order.
pub(super) fn read_ordered(fields: &mut Fields<'_>) -> Option<()> {
    let choices = choices_at(fields, "choices");
    let order = choices_order(fields);
    choices?;
    order
}

/// Reads the order in which choices are shown.
pub(super) fn choices_order(fields: &mut Fields<'_>) -> Option<()> {
    let orders = [("none", ()), ("random", ()), ("asc", ()), ("desc", ())];
    let doc = "The order of the choices. `none`: as listed. `asc`, `desc`: sorted by text. `random`: shuffled for \
               each participant.";
    let order = fields
        .key("choicesOrder", doc)
        .maybe(|place| place.read_word("order", &orders));
    order.map(drop)
}

/// Reads what all lists of choices have.
pub(super) fn read_choosing(fields: &mut Fields<'_>) -> Option<()> {
    let choices = read_ordered(fields);
    let mut whole = Some(());
    for (key, doc) in [
        (
            "showOtherItem",
            "Whether to add a choice `other` with a text field. In the data, the text is the item `NAME-Comment`.",
        ),
        ("hasOther", "The older name of `showOtherItem`. Both work."),
        (
            "showNoneItem",
            "Whether to add a choice `none`, which excludes all others.",
        ),
        ("hasNone", "The older name of `showNoneItem`. Both work."),
    ] {
        let read = fields.key(key, doc).or(false, |place| place.read_flag());
        whole = whole.and(read.map(drop));
    }
    texts(
        fields,
        &[
            ("otherText", "The label of the choice `other`."),
            (
                "otherPlaceholder",
                "The hint in the empty text field of `other`.",
            ),
            (
                "otherErrorText",
                "The message if the text for `other` is empty.",
            ),
            ("noneText", "The label of the choice `none`."),
        ],
    );
    choices?;
    whole
}

pub(super) fn choices_at(fields: &mut Fields<'_>, key: &'static str) -> Option<Vec<Value>> {
    let example = "[{value: a, text: First}, {value: b, text: Second}]";
    let doc = "Words or numbers, or `{value: …, text: …}`. The data contain the value.";
    fields
        .key(key, doc)
        .require_key(example, |place| read_choices(&place))
}

pub(super) fn read_choices(place: &Cursor<'_>) -> Option<Vec<Value>> {
    let mut values = Vec::new();
    for place in &place.list("choices", MOST)? {
        let value = choice(place)?;
        if values.contains(&value) {
            place.report_problem(format!(
                "the value {value} is already that of another choice"
            ));
            return None;
        }
        values.push(value);
    }
    Some(values)
}

/// The value of a choice: itself, or its `value` beside a `text`.
fn choice(place: &Cursor<'_>) -> Option<Value> {
    place.named("choice", |place| {
        let block = (place.may(place.is_block())).then(|| {
            let mut fields = place.fields("a choice")?;
            let value = fields
                .key("value", "The value in the data.")
                .require_key("a", |place| value(&place));
            texts(&mut fields, &[("text", "The text that participants read.")]);
            fields.done();
            value
        });
        let plain = (place.may(!place.is_block())).then(|| value(place));
        plain.or(block).flatten()
    })
}

/// A word or a number.
pub(super) fn value(place: &Cursor<'_>) -> Option<Value> {
    if !place.may(false)
        && (place.node.is_null() || matches!(place.node.data, Data::List(_) | Data::Map(_)))
    {
        place.report_problem(format!(
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

/// Reads rows, and their order.
pub(super) fn rows_at(fields: &mut Fields<'_>) -> Option<()> {
    let rows = choices_at(fields, "rows");
    let orders = [("initial", ()), ("random", ())];
    let doc =
        "The order of the rows. `initial`: as listed. `random`: shuffled for each participant.";
    let order = fields
        .key("rowOrder", doc)
        .maybe(|place| place.read_word("order", &orders));
    rows?;
    order.map(drop)
}
