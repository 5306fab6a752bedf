//! Reads what elements have beside what all have, type by type.

use super::choices::{choices_at, read_choosing, read_ordered, rows_at};
use super::inputs::{input, read_rating, read_slider, read_written, yes_and_no};
use super::part::{Part, Reading, Type, pass, read_localised};
use super::rules::read_validators;
use super::{parts, pictures};
use crate::read::Fields;

/// Reads the keys of an element that only its type has. Returns the elements inside it, or the conditions of its rules.
pub(super) fn read_own_keys<'a>(
    kind: Type,
    fields: &mut Fields<'a>,
    reading: &Reading<'_>,
) -> Option<Vec<Part<'a>>> {
    if kind == Type::Html {
        report_answer_keys(fields);
    }
    match kind {
        Type::One => read_choosing(fields).map(|()| Vec::new()),
        Type::Many => {
            let own = read_choosing(fields);
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
                    .or(0u16, |place| place.read_whole(0..=200, "choices"))
            });
            let rules = read_validators(fields, kind);
            own?;
            min?;
            max?;
            rules
        }
        Type::Rating => {
            read_rating(fields)?;
            Some(Vec::new())
        }
        Type::Boolean => {
            yes_and_no(fields);
            Some(Vec::new())
        }
        Type::Text => {
            let own = input(fields);
            let (written, rules) = (read_written(fields), read_validators(fields, kind));
            own?;
            written?;
            rules
        }
        Type::Comment => {
            pass(fields, &["rows"], reading);
            let (written, rules) = (read_written(fields), read_validators(fields, kind));
            written?;
            rules
        }
        Type::Html => {
            let html = fields.key("html", "The text that participants read.");
            html.require_key("\"<p>Nearly done.</p>\"", |place| read_localised(&place))?;
            Some(Vec::new())
        }
        Type::Matrix => matrix(fields).map(|()| Vec::new()),
        Type::Pictures => pictures::read(fields, reading),
        Type::Ranking => {
            pass(fields, RANKING_LOOKS, reading);
            let (choices, rules) = (read_ordered(fields), read_validators(fields, kind));
            choices?;
            rules
        }
        Type::Slider => {
            pass(fields, SLIDER_LOOKS, reading);
            let (scale, rules) = (read_slider(fields), read_validators(fields, kind));
            scale?;
            rules
        }
        Type::Texts => parts::texts(fields, reading),
        Type::Table => parts::table(fields, reading),
        // Its elements are read where all elements are.
        Type::Panel => Some(Vec::new()),
    }
}

/// Reports keys about an answer, where none is asked for.
pub(super) fn report_answer_keys(fields: &Fields<'_>) {
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

/// Keys that say how SurveyJS draws a list that is put in order.
const RANKING_LOOKS: &[&str] = &["longTap", "selectToRankAreasLayout"];

/// Keys that say how SurveyJS draws a slider.
const SLIDER_LOOKS: &[&str] = &[
    "labelCount",
    "labelFormat",
    "showEdgeLabels",
    "showLabels",
    "tooltipFormat",
    "tooltipVisibility",
];

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
        let read = fields.key(key, doc).or(false, |place| place.read_flag());
        whole = whole.and(read.map(drop));
    }
    columns?;
    rows?;
    whole
}
