//! Reads choices that are pictures of the study folder.

use std::collections::BTreeMap;

use ::survey::MOST;
use serde_json::{Value, json};

use super::choices::{choices_order, value};
use super::part::{Part, Reading, Type, pass, read_localised};
use super::rules::read_validators;
use crate::media::{self, Media};
use crate::read::{Cursor, Fields};

/// Keys that say how SurveyJS draws pictures.
const LOOKS: &[&str] = &[
    "imageFit",
    "imageHeight",
    "imageWidth",
    "maxImageHeight",
    "maxImageWidth",
    "minImageHeight",
    "minImageWidth",
];

/// Reads what an element of pictures has beside what all have.
pub(super) fn read<'a>(fields: &mut Fields<'a>, reading: &Reading<'_>) -> Option<Vec<Part<'a>>> {
    pass(fields, LOOKS, reading);
    let doc = "The pictures. The data contain the value; the text describes the picture for screen readers.";
    let example = "[{value: pot, text: A red pot, imageLink: pot.png}]";
    let choices =
        (fields.key("choices", doc)).require_key(example, |place| choices(&place, reading));
    let order = choices_order(fields);
    let doc = "Whether participants can choose several pictures. The value is then a list.";
    let many = (fields.key("multiSelect", doc)).or(false, |place| place.read_flag());
    let doc = "Whether the texts are shown below the pictures.";
    let label = (fields.key("showLabel", doc)).or(false, |place| place.read_flag());
    let doc = "The kind of choices; always pictures.";
    let mode = fields.key("contentMode", doc);
    let mode = mode.maybe(|place| place.read_word("kind of content", &[("image", ())]));
    let kind = match many {
        Some(true) => Type::Many,
        _ => Type::Pictures,
    };
    let rules = read_validators(fields, kind);
    choices?;
    order?;
    label?;
    mode?;
    rules
}

fn choices(place: &Cursor<'_>, reading: &Reading<'_>) -> Option<()> {
    let mut values = Vec::new();
    let mut whole = Some(());
    for place in &place.list("pictures", MOST)? {
        let value = choice(place, reading);
        if let Some(value) = value.as_ref().filter(|value| values.contains(*value)) {
            place.report_problem(format!(
                "the value {value} is already that of another choice"
            ));
            whole = None;
        }
        whole = whole.and(value.as_ref().map(|_| ()));
        values.extend(value);
    }
    whole
}

fn choice(place: &Cursor<'_>, reading: &Reading<'_>) -> Option<Value> {
    place.named("picture", |place| {
        let mut fields = place.fields("a picture (`value`, `text` and `imageLink`)")?;
        let value = fields.key("value", "The value in the data.");
        let value = value.require_key("pot", |place| self::value(&place));
        let doc = "A description of the picture for screen readers. `showLabel` also shows it below the picture.";
        let text = fields.key("text", doc);
        if !place.may(text.place.is_some()) {
            place.wrong_at("text", "missing; people who do not see the picture need words for it: write for example `text: A red pot`");
        }
        let has_text = text.place.is_some();
        let _ = text.maybe(|place| read_localised(&place));
        let doc = "The picture file in the study folder. If the form has its own file, the path starts at that \
                   file's folder.";
        let link = fields.key("imageLink", doc);
        let link = link.require_key("pot.png", |place| picture(&place, reading));
        fields.done();
        link?;
        value.filter(|_| has_text)
    })
}

fn picture(place: &Cursor<'_>, reading: &Reading<'_>) -> Option<()> {
    let named = place.file("picture")?;
    let mut found = media::read(reading.dir, reading.file, place, &named)?;
    let media = found.swap_remove(0);
    if !media.media_type().starts_with("image/") {
        place.report_problem(format!(
            "`{named}` is no picture; show a video on a page of instructions, which can come before the form"
        ));
        return None;
    }
    reading.pictures.borrow_mut().insert(named, media);
    Some(())
}

/// Has a document name pictures by where pages find them.
pub(super) fn place_pictures(value: &mut Value, pictures: &BTreeMap<String, Media>) {
    match value {
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| place_pictures(item, pictures)),
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                let found = value.as_str().and_then(|named| pictures.get(named));
                match found.filter(|_| key == "imageLink") {
                    Some(media) => *value = json!(media.path()),
                    None => place_pictures(value, pictures),
                }
            }
        }
        _ => {}
    }
}
