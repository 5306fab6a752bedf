//! The buttons by which people give an AI partner directives. In the file: `buttons` of one of `partners`.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::read::Cursor;
use crate::text::{self, Languages, Text};

/// The most buttons of a partner.
const MAX_BUTTONS: usize = 12;

/// The buttons of an AI partner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DirectiveButtons {
    /// The name of the partner that participants read.
    pub shown_as: String,
    /// The buttons, in their order on the page.
    pub list: Vec<DirectiveButton>,
}

/// A button that gives an AI partner a directive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DirectiveButton {
    /// The word of the directive.
    #[serde(rename = "do")]
    pub directive: String,
    /// The label.
    pub label: Text,
}

/// Reads the buttons of the partner that participants know by this name.
pub(crate) fn read(
    languages: Languages<'_>,
    place: &Cursor<'_>,
    shown_as: &str,
) -> Option<DirectiveButtons> {
    let places = place.list_of("buttons", 1..=MAX_BUTTONS)?;
    let read: Vec<_> = places
        .iter()
        .map(|place| button(languages, place))
        .collect();
    let list = read.into_iter().collect::<Option<Vec<_>>>()?;
    let mut known = BTreeSet::new();
    for (button, place) in list.iter().zip(&places) {
        if !known.insert(&button.directive) {
            place.wrong_at(
                "do",
                format!(
                    "another button has `{}`, too; remove one of them",
                    button.directive
                ),
            );
            return None;
        }
    }
    Some(DirectiveButtons {
        shown_as: shown_as.to_owned(),
        list,
    })
}

fn button(languages: Languages<'_>, place: &Cursor<'_>) -> Option<DirectiveButton> {
    let mut fields = place.fields("a button")?;
    let doc = "The directive that the button gives, such as `fetch_plate`.";
    let directive = fields.key("do", doc);
    let directive = directive.require_key("fetch_plate", |place| place.text(60));
    let label = fields.key("label", "The text on the button.");
    let label = label.require_key("A plate, please", |place| text::read(&place, languages, 60));
    fields.done();
    Some(DirectiveButton {
        directive: directive?,
        label: label?,
    })
}
