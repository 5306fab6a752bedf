//! The chat of a group: at a chat stage, or beside the picture of an env stage.

use protocol::control::{Answer, Draft};
use serde::Serialize;

use crate::folder::Source;
use crate::limits::{MAX_CHAT_LENGTH, MAX_SEATS};
use crate::page::{self, TextPage};
use crate::read::{Cursor, Fields};
use crate::text::{self, Text};

/// Time in which the members of a group write to each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chat {
    /// The page above the chat.
    #[serde(rename = "file", skip_serializing_if = "Option::is_none")]
    pub page: Option<TextPage>,
    /// Seconds before a member can continue.
    pub min_s: u32,
    /// Seconds after which all continue.
    pub max_s: u32,
    /// The terms of their writing.
    #[serde(flatten)]
    pub writing: Writing,
}

/// The terms on which people write to each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Writing {
    /// The longest message, characters.
    pub max_length: u16,
    /// The displayed name of each place in the group; empty for the names of the page.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<Text>,
}

impl Writing {
    /// The displayed name of each place in the group, in a language; empty for the names of the page.
    pub fn names(&self, language: &str) -> Vec<String> {
        let names = self.names.iter();
        names
            .map(|name| name.in_language(language).to_owned())
            .collect()
    }
}

impl Writing {
    /// Returns a message as it is kept and shown: only text, without control characters (except line breaks) and
    /// without characters that change the direction of the text around them. `None` if nothing is left, or too much.
    pub fn clean_message(&self, message: &str) -> Option<String> {
        let most = usize::from(self.max_length);
        // No character has more bytes; so a message that is far too long is not looked through.
        if message.len() > 4 * most {
            return None;
        }
        let is_turn = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        let is_text = |c: &char| !is_turn(*c) && (*c == '\n' || !c.is_control());
        let text: String = message.chars().filter(is_text).collect();
        let text = text.trim();
        let fits = !text.is_empty() && text.chars().count() <= most;
        fits.then(|| text.to_owned())
    }

    /// Returns whether a draft has unsent texts, each under the number that its message will have.
    pub(crate) fn may_keep(&self, draft: &Draft) -> bool {
        let most = usize::from(self.max_length);
        draft.answers.iter().all(|Answer { name, value }| {
            let text = serde_json::from_str::<String>(value);
            name.parse::<u32>().is_ok() && text.is_ok_and(|text| text.chars().count() <= most)
        })
    }
}

/// The longest message if the study does not say, characters.
const LENGTH: u16 = 500;

const DOC: &str = "Time in which the members of a group write to each other. The chat starts for all members at \
                   once, when everybody has arrived. Every message is stored with its time.";

pub(super) fn read(source: Source<'_>, fields: &mut Fields<'_>) -> Option<Chat> {
    fields.about(DOC);
    let doc = "The text above the messages.";
    let page = fields
        .key("file", doc)
        .maybe(|place| page::read(source, &place));
    let doc = "The time until participants can leave the chat, in seconds. If it equals `max_s`, nobody can leave \
               early. Participants without anybody to write to can leave at once.";
    let min_s = fields
        .key("min_s", doc)
        .or(0, |place| place.read_whole(0..=3600, "seconds"));
    let doc = "The duration of the chat, in seconds. The page shows a countdown.";
    let max_s = fields
        .key("max_s", doc)
        .or(300, |place| place.read_whole(5..=3600, "seconds"));
    let writing = writing(source, fields);
    let (min_s, max_s) = (min_s?, max_s?);
    if min_s > max_s {
        let message =
            format!("`min_s` is {min_s} and `max_s` is {max_s}; `min_s` must not be above `max_s`");
        fields.whole.wrong_at("min_s", message);
        return None;
    }
    Some(Chat {
        page: page?,
        min_s,
        max_s,
        writing: writing?,
    })
}

fn writing(source: Source<'_>, fields: &mut Fields<'_>) -> Option<Writing> {
    let max_length = fields.key(
        "max_length",
        "The maximum length of a message, in characters.",
    );
    let max_length = max_length.or(LENGTH, |place| {
        place.read_whole(1..=MAX_CHAT_LENGTH, "characters")
    });
    let doc = "The displayed name of each place in the group, such as `[Red, Blue]`. By default the page shows You \
               and Partner, and numbers several partners.";
    let names = fields.key("names", doc).or(Vec::new(), |place| {
        let places = place.list("names", usize::from(MAX_SEATS))?;
        let read = |place: &Cursor<'_>| text::read(place, source.languages, 40);
        let read: Vec<_> = places.iter().map(read).collect();
        read.into_iter().collect()
    });
    Some(Writing {
        max_length: max_length?,
        names: names?,
    })
}

/// Reads whether people write to each other beside the picture: `true`, `false`, or how.
pub(super) fn read_beside(source: Source<'_>, place: &Cursor<'_>) -> Option<Option<Writing>> {
    let usual = || Writing {
        max_length: LENGTH,
        names: Vec::new(),
    };
    let flag = (place.may(!place.is_block())).then(|| place.read_flag());
    let block = (place.may(place.is_block())).then(|| {
        let mut fields = place.fields("how people write to each other")?;
        let writing = writing(source, &mut fields);
        fields.done();
        writing
    });
    match flag {
        Some(flag) => flag.map(|flag| flag.then(usual)),
        None => block.flatten().map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_text_alone_and_of_the_length_that_the_study_allows() {
        let writing = Writing {
            max_length: 5,
            names: Vec::new(),
        };
        for (said, kept) in [
            ("Hello", Some("Hello")),
            ("  a\u{7}\u{1b}b\r\n ", Some("ab")),
            ("a\nb", Some("a\nb")),
            ("\u{202e}abc\u{2069}", Some("abc")),
            ("five \u{1f9c5}", None),
            (
                "\u{1f9c5}\u{1f9c5}\u{1f9c5}\u{1f9c5}\u{1f9c5}",
                Some("\u{1f9c5}\u{1f9c5}\u{1f9c5}\u{1f9c5}\u{1f9c5}"),
            ),
            ("Hello!", None),
            (" \n\t", None),
            ("", None),
        ] {
            assert_eq!(writing.clean_message(said).as_deref(), kept, "{said:?}");
        }
        assert_eq!(writing.clean_message(&"\u{7}".repeat(21)), None);
    }

    #[test]
    fn what_is_not_sent_yet_is_text_of_that_length_under_the_number_of_its_message() {
        let writing = Writing {
            max_length: 5,
            names: Vec::new(),
        };
        let may_keep = |answers: &[(&str, &str)]| {
            let answer = |(name, value): &(&str, &str)| Answer {
                name: (*name).to_owned(),
                value: (*value).to_owned(),
            };
            let answers = answers.iter().map(answer).collect();
            writing.may_keep(&Draft {
                answers,
                ..Draft::default()
            })
        };
        assert!(may_keep(&[]));
        assert!(may_keep(&[("3", "\"Hello\""), ("4", "\"\"")]));
        for wrong in [
            ("3", "\"Hello!\""),
            ("3", "4"),
            ("3", "Hello"),
            ("text", "\"a\""),
            ("-1", "\"a\""),
        ] {
            assert!(!may_keep(&[("2", "\"a\""), wrong]), "{wrong:?}");
        }
    }
}
