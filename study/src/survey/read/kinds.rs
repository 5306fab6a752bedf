//! Reads what elements have beside what all have, type by type.

use ::survey::MOST;
use serde_json::Value;

use super::rules::{in_order, validators};
use super::{Part, Reading, Type, elements, localised, parts, pass, pictures, texts};
use crate::read::{Fields, Place};
use crate::survey::MAX_ANSWER;
use crate::yaml::Data;

/// Reads what an element of a type has beside what all have. Gives what stands in it, or what its rules ask.
pub(super) fn asked<'a>(
    kind: Type,
    fields: &mut Fields<'a>,
    reading: &Reading<'_>,
) -> Option<Vec<Part<'a>>> {
    if let Type::Html | Type::Panel = kind {
        asks_nothing(fields);
    }
    match kind {
        Type::One => choosing(fields).map(|()| Vec::new()),
        Type::Many => {
            let own = choosing(fields);
            let [min, max] = [
                (
                    "minSelectedChoices",
                    "The minimum number of choices, if any are made.",
                ),
                ("maxSelectedChoices", "The maximum number of choices."),
            ]
            .map(|(key, doc)| {
                fields
                    .key(key, doc)
                    .or(0u16, |place| place.whole(0..=200, "choices"))
            });
            let rules = validators(fields, kind);
            own?;
            min?;
            max?;
            rules
        }
        Type::Rating => {
            rating(fields)?;
            Some(Vec::new())
        }
        Type::Boolean => {
            yes_and_no(fields);
            Some(Vec::new())
        }
        Type::Text => {
            let own = input(fields);
            let (written, rules) = (written(fields), validators(fields, kind));
            own?;
            written?;
            rules
        }
        Type::Comment => {
            pass(fields, &["rows"], reading);
            let (written, rules) = (written(fields), validators(fields, kind));
            written?;
            rules
        }
        Type::Html => {
            let html = fields.key("html", "The text that participants read.");
            html.need("\"<p>Nearly done.</p>\"", |place| localised(&place))?;
            Some(Vec::new())
        }
        Type::Matrix => matrix(fields).map(|()| Vec::new()),
        Type::Pictures => pictures::read(fields, reading),
        Type::Ranking => {
            pass(fields, RANKING_LOOKS, reading);
            let (choices, rules) = (ordered(fields), validators(fields, kind));
            choices?;
            rules
        }
        Type::Slider => {
            pass(fields, SLIDER_LOOKS, reading);
            let (scale, rules) = (slider(fields), validators(fields, kind));
            scale?;
            rules
        }
        Type::Texts => parts::texts(fields, reading),
        Type::Table => parts::table(fields, reading),
        Type::Panel => {
            let inner = fields.key("elements", "The elements of the panel.");
            inner.need("[{type: comment, name: thoughts}]", |place| {
                elements(&place, reading)
            })
        }
    }
}

/// Reads what yes and no are called.
pub(super) fn yes_and_no(fields: &mut Fields<'_>) {
    texts(
        fields,
        &[
            ("labelTrue", "The label for yes."),
            ("labelFalse", "The label for no."),
        ],
    );
}

/// Reports keys about an answer, where none is asked for.
fn asks_nothing(fields: &Fields<'_>) {
    for key in [
        "isRequired",
        "requiredIf",
        "enableIf",
        "defaultValue",
        "correctAnswer",
    ] {
        if fields.whole.node.has(key) {
            let message =
                "this element asks nothing itself; remove it, or write it at one that does";
            fields.whole.wrong_at(key, message);
        }
    }
}

/// How SurveyJS draws a list to be put in order.
const RANKING_LOOKS: &[&str] = &["longTap", "selectToRankAreasLayout"];

/// How SurveyJS draws a slider.
const SLIDER_LOOKS: &[&str] = &[
    "labelCount",
    "labelFormat",
    "showEdgeLabels",
    "showLabels",
    "tooltipFormat",
    "tooltipVisibility",
];

/// Reads what all texts have.
pub(super) fn written(fields: &mut Fields<'_>) -> Option<()> {
    texts(fields, &[("placeholder", "The hint in the empty field.")]);
    let longest = fields.key(
        "maxLength",
        "The maximum number of characters; -1 for the largest possible.",
    );
    let longest = longest.maybe(|place| place.whole(-1..=MAX_ANSWER as i64, "characters"));
    longest.map(drop)
}

/// Reads choices, and their order.
fn ordered(fields: &mut Fields<'_>) -> Option<()> {
    let choices = choices_at(fields, "choices");
    let order = choices_order(fields);
    choices?;
    order
}

/// Reads in which order choices are shown.
pub(super) fn choices_order(fields: &mut Fields<'_>) -> Option<()> {
    let orders = [("none", ()), ("random", ()), ("asc", ()), ("desc", ())];
    let doc = "The order of the choices. `none`: as listed. `asc`, `desc`: sorted by text. `random`: shuffled for \
               each participant.";
    let order = fields
        .key("choicesOrder", doc)
        .maybe(|place| place.word("order", &orders));
    order.map(drop)
}

/// Reads what all lists of choices have.
fn choosing(fields: &mut Fields<'_>) -> Option<()> {
    let choices = ordered(fields);
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
        let read = fields.key(key, doc).or(false, |place| place.flag());
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
    fields.key(key, doc).need(example, |place| choices(&place))
}

pub(super) fn choices(place: &Place<'_>) -> Option<Vec<Value>> {
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
                .key("value", "The value in the data.")
                .need("a", |place| value(&place));
            texts(&mut fields, &[("text", "The text that participants read.")]);
            fields.done();
            value
        });
        let plain = (place.may(!place.is_block())).then(|| value(place));
        plain.or(block).flatten()
    })
}

/// A word or a number.
pub(super) fn value(place: &Place<'_>) -> Option<Value> {
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

pub(super) fn rating(fields: &mut Fields<'_>) -> Option<Vec<Value>> {
    texts(
        fields,
        &[
            ("minRateDescription", "The label of the first point."),
            ("maxRateDescription", "The label of the last point."),
        ],
    );
    let named = fields.key(
        "rateValues",
        "A list of points, instead of `rateMin` to `rateMax`.",
    );
    let named = named.maybe(|place| choices(&place));
    let whole = |place: Place<'_>| place.whole(-1000..=1000, "");
    let min = fields.key("rateMin", "The first point.").or(1i64, whole);
    let step = fields
        .key("rateStep", "The distance between two points.")
        .or(1i64, |place| place.whole(1..=1000, ""));
    let count = fields.key(
        "rateCount",
        "The number of points. Used if `rateMax` is missing.",
    );
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

pub(super) fn input(fields: &mut Fields<'_>) -> Option<()> {
    let known = [
        ("text", false),
        ("number", true),
        ("range", true),
        ("email", false),
        ("tel", false),
        ("date", false),
        ("time", false),
        ("url", false),
    ];
    let input = fields.key(
        "inputType",
        "The kind of input. `number` gives a number in the data, and `range` shows a slider.",
    );
    let number = input.or("text".to_owned(), |place| {
        place
            .word("input type", &known.map(|(word, _)| (word, word)))
            .map(str::to_owned)
    });
    let is_number = number
        .as_ref()
        .is_some_and(|word| known.contains(&(word.as_str(), true)));
    let bound = |place: Place<'_>| match is_number {
        true => place.number(-1e12..=1e12, ""),
        false => place.text(20).map(|_| f64::NAN),
    };
    let min = fields
        .key("min", "The least number, or the earliest date or time.")
        .maybe(bound);
    let max = fields
        .key("max", "The greatest number, or the latest date or time.")
        .maybe(bound);
    let step = step(fields, "The distance between two values of a `range`.");
    texts(
        fields,
        &[
            ("minErrorText", "The message for an answer below `min`."),
            ("maxErrorText", "The message for an answer above `max`."),
        ],
    );
    let (min, max) = (min?, max?);
    if number.as_deref() == Some("range") {
        return steps_fit(fields, min.unwrap_or(0.0), max.unwrap_or(100.0), step?);
    }
    in_order(fields, "min", min, "max", max)?;
    number.and(step).map(drop)
}

fn matrix(fields: &mut Fields<'_>) -> Option<()> {
    let columns = choices_at(fields, "columns");
    let rows = rows_at(fields);
    let mut whole = Some(());
    for (key, doc) in [
        ("isAllRowRequired", "Whether every row requires an answer."),
        (
            "eachRowRequired",
            "The newer name of `isAllRowRequired`. Both work.",
        ),
    ] {
        let read = fields.key(key, doc).or(false, |place| place.flag());
        whole = whole.and(read.map(drop));
    }
    columns?;
    rows?;
    whole
}

/// Reads rows, and their order.
pub(super) fn rows_at(fields: &mut Fields<'_>) -> Option<()> {
    let rows = choices_at(fields, "rows");
    let orders = [("initial", ()), ("random", ())];
    let doc =
        "The order of the rows. `initial`: as listed. `random`: shuffled for each participant.";
    let order = fields
        .key("rowOrder", doc)
        .maybe(|place| place.word("order", &orders));
    rows?;
    order.map(drop)
}

/// The most steps of a slider.
const MAX_STEPS: f64 = 10_000.0;

fn slider(fields: &mut Fields<'_>) -> Option<()> {
    let kinds = [("single", ()), ("range", ())];
    let doc = "`single`: one number. `range`: two numbers, from the first to the second.";
    let kind = (fields.key("sliderType", doc)).maybe(|place| place.word("slider type", &kinds));
    let number = |place: Place<'_>| place.number(-1e9..=1e9, "");
    let min = fields.key("min", "The least number.").or(0.0, number);
    let max = fields.key("max", "The greatest number.").or(100.0, number);
    let step = step(fields, "The distance between two values.");
    kind?;
    steps_fit(fields, min?, max?, step?)
}

fn step(fields: &mut Fields<'_>, doc: &str) -> Option<f64> {
    let step = fields.key("step", doc);
    step.or(1.0, |place| place.number(1e-6..=1e9, ""))
}

/// Whether there is something to slide along.
fn steps_fit(fields: &Fields<'_>, min: f64, max: f64, step: f64) -> Option<()> {
    let steps = (max - min) / step;
    if !(1.0..=MAX_STEPS).contains(&steps) {
        let at = ["step", "max", "min"];
        let at = at.into_iter().find(|key| fields.whole.node.has(key));
        fields.whole.wrong_at(
            at.unwrap_or("type"),
            format!(
                "from {min} to {max} by {step} is {} steps; there must be 1 to {MAX_STEPS}",
                steps.floor()
            ),
        );
        return None;
    }
    Some(())
}
