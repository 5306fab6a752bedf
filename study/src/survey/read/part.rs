//! The parts of a form that was read, and the keys that all of them share.

use std::cell::RefCell;
use std::collections::BTreeMap;

use ::survey::Condition;
use serde_json::Value;

use crate::folder::StudyFolder;
use crate::formula;
use crate::media::Media;
use crate::problem::Problem;
use crate::read::{Cursor, Fields};
use crate::survey::MAX_ANSWER;
use crate::yaml;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    One,
    Many,
    Rating,
    Boolean,
    Text,
    Comment,
    Html,
    Matrix,
    Pictures,
    Ranking,
    Slider,
    Texts,
    Table,
    Panel,
}

/// The source of a document, and what is found in it beside its questions.
pub(super) struct Reading<'a> {
    /// The study folder.
    pub dir: &'a StudyFolder,
    /// The file that contains the document; other files are relative to its folder.
    pub file: &'a str,
    /// Keys that matter to SurveyJS alone.
    pub unused: RefCell<Vec<Problem>>,
    /// The pictures, by how the document names them.
    pub pictures: RefCell<BTreeMap<String, Media>>,
}

/// Lets keys pass that change nothing here, and keeps where they are.
pub(super) fn pass(fields: &mut Fields<'_>, keys: &'static [&'static str], reading: &Reading<'_>) {
    let place = fields.whole.clone();
    for (key, at) in fields.pass(keys) {
        let message = "changes nothing here, as pages show every form in one way; remove it, or leave it for SurveyJS";
        let problem = place
            .report
            .problem(at, &yaml::join(&place.path, key), message);
        reading.unused.borrow_mut().push(problem);
    }
}

/// A part of a form, in the order of the document.
pub(super) enum Part<'a> {
    /// An element that asks something, or HTML.
    Item {
        name: String,
        named: Cursor<'a>,
        correct: Option<(Value, Cursor<'a>)>,
        default: Option<Cursor<'a>>,
    },
    /// A condition, which can ask for what comes before it; or for anything, if it does not decide what is shown.
    Asks {
        condition: Condition,
        place: Cursor<'a>,
        anything: bool,
    },
}

/// Reads keys that are texts.
pub(super) fn texts(fields: &mut Fields<'_>, keys: &[(&'static str, &str)]) {
    for (key, doc) in keys {
        let _ = fields.key(key, doc).maybe(|place| read_localised(&place));
    }
}

/// Reads a condition; the inner value is `None` if there is no condition.
pub(super) fn condition<'a>(
    fields: &mut Fields<'a>,
    key: &'static str,
    doc: &str,
    anything: bool,
) -> Option<Option<Part<'a>>> {
    fields.key(key, doc).maybe(|place| {
        let text = place.text(::survey::MAX_CONDITION)?;
        match Condition::read(&text) {
            Ok(condition) => Some(Part::Asks {
                condition,
                place,
                anything,
            }),
            Err(fault) => {
                formula::report(&place, &text, fault.at, &fault.message);
                None
            }
        }
    })
}

/// Text, or text by language.
pub(super) fn read_localised(place: &Cursor<'_>) -> Option<()> {
    let texts = (place.may(place.is_block())).then(|| {
        for (_, text) in place.read_entries("text by language")? {
            text.text(MAX_ANSWER)?;
        }
        Some(())
    });
    let text = (place.may(!place.is_block())).then(|| place.text(MAX_ANSWER).map(drop));
    text.or(texts).flatten()
}
