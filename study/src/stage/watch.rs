//! Episodes that participants watch, their own or those of AI partners: they rate one while it plays, mark spans of it, or
//! choose between two.
//!
//! This module must not know where a replay comes from, nor how it is shown.

mod answers;
mod clip;

use serde::Serialize;
use serde_json::{Value, json};

use crate::assign::Rng;
use crate::folder::Source;
use crate::inset;
use crate::limits::MAX_MARKS;
use crate::page::{self, TextPage};
use crate::read::{Cursor, Fields};
use crate::text::{self, Text};

pub use self::answers::{MarkedSpan, RatingSamples};
pub use self::clip::{ClipSource, ClipView, PartnerEpisode, WatchClip};

/// Replays of episodes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Watch {
    /// The text above them.
    #[serde(rename = "file", skip_serializing_if = "Option::is_none")]
    pub page: Option<TextPage>,
    /// The replays: one, or two side by side.
    pub clips: Vec<WatchClip>,
    /// The rating while it plays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateTask>,
    /// The spans to mark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<MarkTask>,
    /// The choice between two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choose: Option<ChooseTask>,
}

/// A rating that is given while the replay plays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RateTask {
    /// The question.
    pub question: Text,
    /// The lower end of the scale.
    pub low: Text,
    /// The upper end.
    pub high: Text,
    /// The time from sample to sample, milliseconds.
    pub every_ms: u16,
}

/// Spans of a replay, marked and explained.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MarkTask {
    /// The question about each span.
    pub question: Text,
    /// The labels to choose from; empty for none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<MarkLabel>,
    /// The least number of spans.
    pub least: u8,
    /// The greatest number of spans.
    pub most: u8,
}

/// A label of a span.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MarkLabel {
    /// The recorded value.
    pub value: String,
    /// The text that participants read.
    pub text: Text,
}

/// A choice between two replays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChooseTask {
    /// The question.
    pub question: Text,
    /// True if the answer may be that there is no difference.
    pub tie: bool,
    /// True if chance decides which replay is on the left.
    pub shuffle: bool,
}

const DOC: &str = "Participants watch episodes of theirs again, or episodes of AI partners. They can rate one while it plays, \
                   mark spans of it and explain them, or choose between two.";

/// The time between samples if the study does not say, milliseconds.
const EVERY_MS: u16 = 500;

/// The most labels of spans.
const MAX_LABELS: usize = 12;

pub(super) fn read(source: Source<'_>, fields: &mut Fields<'_>) -> Option<Watch> {
    fields.about(DOC);
    let doc = "The text above the replay.";
    let page = fields
        .key("file", doc)
        .maybe(|place| page::read(source, &place));
    let doc = "The replays: one, or two that are shown side by side.";
    let clips = fields
        .key("clips", doc)
        .require_key("[{stage: play}]", |place| {
            let places = place.list_of("clips", 1..=2)?;
            let read = places.iter().map(|place| clip::read(source, place));
            let read: Vec<Option<WatchClip>> = read.collect();
            read.into_iter().collect()
        });
    let doc = "Asks for a rating from 0 to 100 that is given while the replay plays, with a slider or with keys. \
               Participants watch to the end once before they can move in the replay.";
    let rate = fields
        .key("rate", doc)
        .maybe(|place| rate_task(source, &place));
    let doc = "Asks participants to mark spans of the replay, and to explain each of them.";
    let mark = fields
        .key("mark", doc)
        .maybe(|place| mark_task(source, &place));
    let doc = "Asks which of two replays is chosen.";
    let choose = fields
        .key("choose", doc)
        .maybe(|place| choose_task(source, &place));
    let watch = Watch {
        page: page?,
        clips: clips?,
        rate: rate?,
        mark: mark?,
        choose: choose?,
    };
    let fault = match (watch.clips.len(), &watch.choose) {
        (1, Some(_)) => Some((
            "choose",
            "one clip alone, so there is nothing to choose; add another clip",
        )),
        (2, None) => Some((
            "clips",
            "two clips, and nothing is asked about both; add `choose`, or give each clip a stage of its own",
        )),
        (2, Some(_)) if watch.rate.is_some() => Some((
            "rate",
            "a rating is about one clip; give it a stage of its own",
        )),
        (2, Some(_)) if watch.mark.is_some() => {
            Some(("mark", "spans are of one clip; give it a stage of its own"))
        }
        _ => None,
    };
    if let Some((key, message)) = fault {
        fields.whole.wrong_at(key, message);
        return None;
    }
    Some(watch)
}

fn rate_task(source: Source<'_>, place: &Cursor<'_>) -> Option<RateTask> {
    let mut fields = place.fields("a rating")?;
    let question = question(
        source,
        &mut fields,
        "How well do the two of you work together?",
    );
    let mut end = |key, doc, example| {
        let key = fields.key(key, doc);
        key.require_key(example, |place| text::read(&place, source.languages, 60))
    };
    let low = end("low", "The lower end of the scale.", "badly");
    let high = end("high", "The upper end of the scale.", "well");
    let doc = "The time from one sample of the rating to the next, in milliseconds.";
    let every_ms = fields.key("every_ms", doc).or(EVERY_MS, |place| {
        place.read_whole(100..=10_000, "milliseconds")
    });
    fields.done();
    Some(RateTask {
        question: question?,
        low: low?,
        high: high?,
        every_ms: every_ms?,
    })
}

fn mark_task(source: Source<'_>, place: &Cursor<'_>) -> Option<MarkTask> {
    let mut fields = place.fields("spans")?;
    let question = question(source, &mut fields, "What were you thinking here?");
    let doc = "Labels of which one is chosen for each span: words, or `{value: …, text: …}` with a text by language.";
    let labels = fields
        .key("labels", doc)
        .or(Vec::<MarkLabel>::new(), |place| {
            let places = place.list("labels", MAX_LABELS)?;
            let read: Vec<_> = places.iter().map(|place| label(source, place)).collect();
            read.into_iter().collect()
        });
    let doc = "The least number of spans.";
    let least = (fields.key("least", doc)).or(1, |place| place.read_whole(0..=MAX_MARKS, "spans"));
    let doc = "The greatest number of spans.";
    let most =
        (fields.key("most", doc)).or(MAX_MARKS, |place| place.read_whole(1..=MAX_MARKS, "spans"));
    let (least, most) = (least?, most?);
    if least > most {
        let message =
            format!("`least` is {least} and `most` is {most}; `least` must not be above `most`");
        fields.whole.wrong_at("least", message);
        return None;
    }
    fields.done();
    Some(MarkTask {
        question: question?,
        labels: labels?,
        least,
        most,
    })
}

fn label(source: Source<'_>, place: &Cursor<'_>) -> Option<MarkLabel> {
    let plain = (place.may(!place.is_block())).then(|| place.text(40));
    let block = (place.may(place.is_block())).then(|| {
        let mut fields = place.fields("a label")?;
        let value = fields.key("value", "The recorded value.");
        let value = value.require_key("surprise", |place| place.text(40));
        let text = fields.key("text", "The text that participants read.");
        let text = text.require_key("A surprise", |place| {
            text::read(&place, source.languages, 60)
        });
        fields.done();
        Some(MarkLabel {
            value: value?,
            text: text?,
        })
    });
    match plain {
        Some(word) => {
            let value = word?;
            inset::refuse_braces(place, &value);
            Some(MarkLabel {
                text: Text::from(value.as_str()),
                value,
            })
        }
        None => block.flatten(),
    }
}

fn choose_task(source: Source<'_>, place: &Cursor<'_>) -> Option<ChooseTask> {
    let mut fields = place.fields("a choice")?;
    let question = question(
        source,
        &mut fields,
        "In which round did you work better together?",
    );
    let doc = "Whether participants can answer that there is no difference.";
    let tie = fields.key("tie", doc).or(false, |place| place.read_flag());
    let doc = "Whether chance decides for each participant which clip is on the left.";
    let shuffle = fields
        .key("shuffle", doc)
        .or(true, |place| place.read_flag());
    fields.done();
    Some(ChooseTask {
        question: question?,
        tie: tie?,
        shuffle: shuffle?,
    })
}

fn question(source: Source<'_>, fields: &mut Fields<'_>, example: &str) -> Option<Text> {
    let key = fields.key("question", "The question.");
    key.require_key(example, |place| text::read(&place, source.languages, 300))
}

impl Watch {
    /// Returns the task of a page, as JSON in a language; `turned` says whether the second clip is on the left.
    pub fn describe_task(&self, language: &str, turned: bool) -> String {
        let say = |text: &Text| text.in_language(language).to_owned();
        let count = self.clips.len();
        let mut order: Vec<usize> = (1..=count).collect();
        if turned {
            order.reverse();
        }
        let mut task = json!({ "order": order });
        if let Some(rate) = &self.rate {
            task["rate"] = json!({
                "question": say(&rate.question), "low": say(&rate.low), "high": say(&rate.high),
                "every_ms": rate.every_ms,
            });
        }
        if let Some(mark) = &self.mark {
            let label = |it: &MarkLabel| json!({ "value": it.value, "text": say(&it.text) });
            let labels: Vec<Value> = mark.labels.iter().map(label).collect();
            task["mark"] = json!({
                "question": say(&mark.question), "labels": labels, "least": mark.least, "most": mark.most,
            });
        }
        if let Some(choose) = &self.choose {
            task["choose"] = json!({ "question": say(&choose.question), "tie": choose.tie });
        }
        task.to_string()
    }

    /// Returns whether the second clip is on the left for a participant at a position of their route.
    pub(crate) fn turns_sides(&self, seed: u64, position: u16) -> bool {
        let shuffles = self.choose.as_ref().is_some_and(|choose| choose.shuffle);
        shuffles && Rng::of(seed, &[SIDES, u64::from(position)]).draw_below(2) == 1
    }
}

/// Purpose of a generator: the sides of two clips.
const SIDES: u64 = u64::from_le_bytes(*b"clipside");
