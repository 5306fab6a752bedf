//! Reads lines to write in, scales and sliders.

use serde_json::Value;

use super::choices::read_choices;
use super::part::texts;
use super::rules::in_order;
use crate::limits::MAX_SLIDER_STEPS;
use crate::read::{Cursor, Fields};
use crate::survey::MAX_ANSWER;

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

/// Reads what all texts have.
pub(super) fn read_written(fields: &mut Fields<'_>) -> Option<()> {
    texts(fields, &[("placeholder", "The hint in the empty field.")]);
    let longest = fields.key(
        "maxLength",
        "The maximum number of characters; -1 for the largest possible.",
    );
    let longest = longest.maybe(|place| place.read_whole(-1..=MAX_ANSWER as i64, "characters"));
    longest.map(drop)
}

pub(super) fn read_rating(fields: &mut Fields<'_>) -> Option<Vec<Value>> {
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
    let named = named.maybe(|place| read_choices(&place));
    let whole = |place: Cursor<'_>| place.read_whole(-1000..=1000, "");
    let min = fields.key("rateMin", "The first point.").or(1i64, whole);
    let step = fields
        .key("rateStep", "The distance between two points.")
        .or(1i64, |place| place.read_whole(1..=1000, ""));
    let count = fields.key(
        "rateCount",
        "The number of points. Used if `rateMax` is missing.",
    );
    let count = count.or(5i64, |place| place.read_whole(2..=100, ""));
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
        place.report_problem(format!(
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
            .read_word("input type", &known.map(|(word, _)| (word, word)))
            .map(str::to_owned)
    });
    let is_number = number
        .as_ref()
        .is_some_and(|word| known.contains(&(word.as_str(), true)));
    let bound = |place: Cursor<'_>| match is_number {
        true => place.read_number(-1e12..=1e12, ""),
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

pub(super) fn read_slider(fields: &mut Fields<'_>) -> Option<()> {
    let kinds = [("single", ()), ("range", ())];
    let doc = "`single`: one number. `range`: two numbers, from the first to the second.";
    let kind =
        (fields.key("sliderType", doc)).maybe(|place| place.read_word("slider type", &kinds));
    let number = |place: Cursor<'_>| place.read_number(-1e9..=1e9, "");
    let min = fields.key("min", "The least number.").or(0.0, number);
    let max = fields.key("max", "The greatest number.").or(100.0, number);
    let step = step(fields, "The distance between two values.");
    kind?;
    steps_fit(fields, min?, max?, step?)
}

fn step(fields: &mut Fields<'_>, doc: &str) -> Option<f64> {
    let step = fields.key("step", doc);
    step.or(1.0, |place| place.read_number(1e-6..=1e9, ""))
}

/// Returns whether there is something to slide along.
fn steps_fit(fields: &Fields<'_>, min: f64, max: f64, step: f64) -> Option<()> {
    let steps = (max - min) / step;
    if !(1.0..=MAX_SLIDER_STEPS).contains(&steps) {
        let at = ["step", "max", "min"];
        let at = at.into_iter().find(|key| fields.whole.node.has(key));
        fields.whole.wrong_at(
            at.unwrap_or("type"),
            format!(
                "from {min} to {max} by {step} is {} steps; there must be 1 to {MAX_SLIDER_STEPS}",
                steps.floor()
            ),
        );
        return None;
    }
    Some(())
}
