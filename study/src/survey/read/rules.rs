//! Reads what answers must fulfil.

use ::survey::Pattern;

use super::part::{Part, Type, condition, texts};
use crate::read::{Cursor, Fields};
use crate::survey::MAX_ANSWER;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Validator {
    Numeric,
    Text,
    Regex,
    Email,
    Count,
    Expression,
}

const VALIDATORS: [(&str, Validator); 6] = [
    ("numeric", Validator::Numeric),
    ("text", Validator::Text),
    ("regex", Validator::Regex),
    ("email", Validator::Email),
    ("answercount", Validator::Count),
    ("expression", Validator::Expression),
];

pub(super) fn read_validators<'a>(fields: &mut Fields<'a>, of: Type) -> Option<Vec<Part<'a>>> {
    let list = fields.key("validators", "Further checks of the answer.");
    let rules = list.maybe(|place| {
        let places = place.list("validators", 20)?;
        let rules: Vec<_> = places.iter().map(|place| validator(place, of)).collect();
        rules.into_iter().collect::<Option<Vec<_>>>()
    });
    Some(rules?.unwrap_or_default().into_iter().flatten().collect())
}

/// Reads a rule; inside is the condition that it is, if it is one.
fn validator<'a>(place: &Cursor<'a>, of: Type) -> Option<Option<Part<'a>>> {
    // The keys of a rule do not depend on its place, so they are described once.
    let fits = |kind: Validator| match kind {
        Validator::Expression => true,
        Validator::Count => of == Type::Many,
        _ => matches!(of, Type::Text | Type::Comment),
    };
    place.named("validator", |place| {
        let mut fields = place.fields("a validator")?;
        texts(&mut fields, &[("text", "The message if the check fails.")]);
        let doc = "The type of check. It decides which other keys exist.";
        let mut at = None;
        let rule = fields.variants("type", doc, "validator", &VALIDATORS, |kind, fields| {
            at = Some(kind);
            rule(kind, fields)
        });
        fields.done();
        if at.is_some_and(|kind| !fits(kind)) && !place.may(false) {
            place.wrong_at("type", "never applies to this type of element; `expression` is for all, `answercount` for those of which several can be chosen, the others for texts");
            return None;
        }
        rule
    })
}

fn rule<'a>(kind: Validator, fields: &mut Fields<'a>) -> Option<Option<Part<'a>>> {
    let bound = |place: Cursor<'_>| place.read_number(-1e12..=1e12, "");
    let size = |place: Cursor<'_>| place.read_whole(-1..=MAX_ANSWER as i64, "");
    match kind {
        Validator::Numeric => {
            let min = fields.key("minValue", "The least number.").maybe(bound);
            let max = fields.key("maxValue", "The greatest number.").maybe(bound);
            in_order(fields, "minValue", min?, "maxValue", max?)?;
        }
        Validator::Text => {
            let min = fields
                .key("minLength", "The minimum number of characters.")
                .maybe(size);
            let max = fields
                .key("maxLength", "The maximum number of characters.")
                .maybe(size);
            let digits = fields.key("allowDigits", "Whether digits are allowed.");
            let digits = digits.or(true, |place| place.read_flag());
            let (min, max) = (min?, max?.filter(|max| *max > 0));
            in_order(
                fields,
                "minLength",
                min.map(|n| n as f64),
                "maxLength",
                max.map(|n| n as f64),
            )?;
            digits?;
        }
        Validator::Regex => {
            let doc = "A regular expression that must occur in the text. `^` and `$` stand for the start and the end.";
            let fold = fields.key(
                "caseInsensitive",
                "Whether upper and lower case are treated alike.",
            );
            let fold = fold.or(false, |place| place.read_flag());
            let read = fields.key("regex", doc).require_key("\"^[A-Z]{2}[0-9]+$\"", |place| {
                let text = place.text(500)?;
                Pattern::read(&text, false)
                    .map_err(|why| place.report_problem(format!("not a regular expression that is read here: {why}; it has neither references back nor looks around")))
                    .ok()
            });
            read?;
            fold?;
        }
        Validator::Email => {}
        Validator::Count => {
            let min = fields
                .key(
                    "minCount",
                    "The minimum number of choices, if any are made.",
                )
                .maybe(size);
            let max = fields
                .key("maxCount", "The maximum number of choices.")
                .maybe(size);
            let (min, max) = (min?, max?.filter(|max| *max > 0));
            in_order(
                fields,
                "minCount",
                min.map(|n| n as f64),
                "maxCount",
                max.map(|n| n as f64),
            )?;
        }
        Validator::Expression => {
            let doc = "A condition over all answers, including this one.";
            let own = condition(fields, "expression", doc, true)?;
            if own.is_none() && !fields.whole.may(false) {
                fields.whole.wrong_at(
                    "expression",
                    "missing; write for example `expression: \"{again} = {code}\"`",
                );
                return None;
            }
            return Some(own);
        }
    }
    Some(None)
}

/// Reports bounds of which the lower one is above the other.
pub(super) fn in_order(
    fields: &Fields<'_>,
    low: &str,
    min: Option<f64>,
    high: &str,
    max: Option<f64>,
) -> Option<()> {
    let (Some(min), Some(max)) = (min, max) else {
        return Some(());
    };
    if min > max {
        let message = format!(
            "`{low}` is {min} and `{high}` is {max}, so nothing fulfils it; `{low}` must not be above `{high}`"
        );
        fields.whole.wrong_at(low, message);
        return None;
    }
    Some(())
}
