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
                    "The fewest that must be chosen, if any is.",
                ),
                ("maxSelectedChoices", "The most that can be chosen."),
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
            let html = fields.key("html", "What participants read.");
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
            let inner = fields.key("elements", "What stands in the panel.");
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
            ("labelTrue", "The text for yes."),
            ("labelFalse", "The text for no."),
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
    texts(
        fields,
        &[("placeholder", "What stands in the empty field.")],
    );
    let longest = fields.key(
        "maxLength",
        "The most characters; -1 for as many as there can be.",
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
    let doc = "The order of the choices: `none` as they stand here, `asc` or `desc` by their texts, `random` drawn for each \
               participant.";
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
            "Whether there is a choice `other` with a field for a text of one's own, whose name in the data ends in `-Comment`.",
        ),
        ("hasOther", "The older name of `showOtherItem`."),
        (
            "showNoneItem",
            "Whether there is a choice `none`, which goes with no other.",
        ),
        ("hasNone", "The older name of `showNoneItem`."),
    ] {
        let read = fields.key(key, doc).or(false, |place| place.flag());
        whole = whole.and(read.map(drop));
    }
    texts(
        fields,
        &[
            ("otherText", "The text of the choice `other`."),
            ("otherPlaceholder", "What stands in its empty field."),
            ("otherErrorText", "What is said if that is left empty."),
            ("noneText", "The text of the choice `none`."),
        ],
    );
    choices?;
    whole
}

pub(super) fn choices_at(fields: &mut Fields<'_>, key: &'static str) -> Option<Vec<Value>> {
    let example = "[{value: a, text: First}, {value: b, text: Second}]";
    let doc = "Words and numbers, or `{value: …, text: …}`; the value is what the data have.";
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
        "What kind of line it is; a `number` is a number in the data, and a `range` is a slider.",
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
        .key("min", "The least number, or the first date or time.")
        .maybe(bound);
    let max = fields
        .key("max", "The greatest number, or the last date or time.")
        .maybe(bound);
    let step = step(fields, "From number to number of a `range`.");
    texts(
        fields,
        &[
            ("minErrorText", "What is said of an answer below `min`."),
            ("maxErrorText", "What is said of an answer above `max`."),
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
        ("isAllRowRequired", "Whether every row must be answered."),
        ("eachRowRequired", "The newer name of `isAllRowRequired`."),
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
        "The order of the rows: `initial` as they stand here, `random` drawn for each participant.";
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
    let doc = "`single` for a number, `range` for two: from the first to the second.";
    let kind = (fields.key("sliderType", doc)).maybe(|place| place.word("slider type", &kinds));
    let number = |place: Place<'_>| place.number(-1e9..=1e9, "");
    let min = fields.key("min", "The least number.").or(0.0, number);
    let max = fields.key("max", "The greatest number.").or(100.0, number);
    let step = step(fields, "From number to number.");
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
