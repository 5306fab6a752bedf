//! Talk between the members of a group.

use serde::Serialize;

use crate::read::Fields;

/// Talk between the members of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Chat {
    /// Who talks.
    pub members: Members,
    /// Seconds before one can go on.
    pub min_s: u32,
    /// Seconds after which all go on.
    pub max_s: u32,
    /// The longest message, characters.
    pub max_length: u16,
}

/// Who talks in a chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Members {
    /// Everybody of the group that the lobby before made.
    Group,
}

const DOC: &str =
    "Talk between the members of a group, in writing; every message is kept with its time.";

pub(super) fn read(fields: &mut Fields<'_>) -> Option<Chat> {
    fields.about(DOC);
    let doc = "Who talks: everybody of the group that the lobby before made.";
    let members = (fields.key("members", doc)).or(Members::Group, |place| {
        place.word("choice", &[("group", Members::Group)])
    });
    let min_s = fields.key("min_s", "Seconds before one can go on.");
    let min_s = min_s.or(0, |place| place.whole(0..=3600, "seconds"));
    let max_s = fields.key("max_s", "Seconds after which all go on.");
    let max_s = max_s.or(300, |place| place.whole(5..=3600, "seconds"));
    let max_length = fields.key("max_length", "The longest message, in characters.");
    let max_length = max_length.or(500, |place| place.whole(1..=5_000, "characters"));
    let (min_s, max_s) = (min_s?, max_s?);
    if min_s > max_s {
        let message =
            format!("`min_s` is {min_s} and `max_s` is {max_s}; `min_s` must not be above `max_s`");
        fields.whole.wrong_at("min_s", message);
        return None;
    }
    Some(Chat {
        members: members?,
        min_s,
        max_s,
        max_length: max_length?,
    })
}
