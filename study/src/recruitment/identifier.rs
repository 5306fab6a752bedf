//! The form of recruiters' identifiers for participants. Anybody can type anything into an address, so a text that no
//! recruiter would have written is not an identifier.

use serde::{Serialize, Serializer};
use survey::Pattern;

use super::{Provider, Recruitment};
use crate::read::Cursor;

/// Characters of the longest identifier.
const LONGEST: usize = 200;

/// The pattern of a whole identifier.
#[derive(Clone, Debug, PartialEq)]
pub struct IdentifierPattern {
    source: String,
    whole: Pattern,
}

impl IdentifierPattern {
    /// Reads one.
    pub(super) fn read(place: &Cursor<'_>) -> Option<Self> {
        let source = place.text(200)?;
        match Pattern::read(&format!("^(?:{source})$"), false) {
            Ok(whole) => Some(Self { source, whole }),
            Err(why) => {
                place.report_problem(format!("not a regular expression: {why}"));
                None
            }
        }
    }
}

impl Serialize for IdentifierPattern {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.source)
    }
}

impl Recruitment {
    /// The identifier of a participant, from the text of a link; `None` if it does not have the form of this recruiter's.
    /// Two spellings of an identifier give one.
    pub fn read_identifier(&self, text: &str) -> Option<String> {
        let text = text.trim();
        let fits = match self.provider {
            Provider::Prolific => is_prolific_id(text),
            Provider::Mturk => is_mturk_worker(text),
            Provider::None | Provider::Parameters | Provider::Kiosk => {
                let pattern = self.pattern.as_ref();
                is_printable(text) && pattern.is_none_or(|it| it.whole.is_found_in(text))
            }
        };
        fits.then(|| match self.provider {
            Provider::Prolific => text.to_ascii_lowercase(),
            _ => text.to_owned(),
        })
    }
}

/// Tells if an identifier is one of Prolific's: 24 hexadecimal digits.
pub fn is_prolific_id(text: &str) -> bool {
    text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether an identifier is that of a worker of Mechanical Turk.
///
/// Source: API reference of Amazon Mechanical Turk, `WorkerId`: `^A[A-Z0-9]+$`, at most 64 characters.
pub fn is_mturk_worker(text: &str) -> bool {
    text.starts_with('A') && text.len() > 1 && is_mturk_entity(text)
}

/// Returns whether an identifier is that of an assignment or HIT of Mechanical Turk.
///
/// Source: API reference of Amazon Mechanical Turk, `AssignmentId`: `^[A-Z0-9]+$`, at most 64 characters.
pub fn is_mturk_entity(text: &str) -> bool {
    let is_one = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    (1..=64).contains(&text.len()) && text.bytes().all(is_one)
}

/// Tells if a text is of moderate length and can be read: it has no control characters, and none that are invisible or
/// turn the direction of writing.
pub fn is_printable(text: &str) -> bool {
    let is_hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    !text.is_empty() && text.chars().count() <= LONGEST && !text.contains(is_hidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(provider: Provider) -> Recruitment {
        Recruitment {
            provider,
            ..Recruitment::default()
        }
    }

    #[test]
    fn an_identifier_of_prolific_is_24_hexadecimal_digits_in_one_spelling() {
        let prolific = from(Provider::Prolific);
        let read = |text| prolific.read_identifier(text);
        let id = "5f0c8a1b2c3d4e5f60718293";
        assert_eq!(read(id).as_deref(), Some(id));
        assert_eq!(read(" 5F0C8A1B2C3D4E5F60718293\n").as_deref(), Some(id));
        for bad in [
            "",
            "5f0c8a1b2c3d4e5f6071829",
            "5f0c8a1b2c3d4e5f607182930",
            "5g0c8a1b2c3d4e5f60718293",
            "=f0c8a1b2c3d4e5f60718293",
            "{{%PROLIFIC_PID%}}",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_worker_of_mechanical_turk_has_an_a_and_capitals_and_digits() {
        let mturk = from(Provider::Mturk);
        assert!(mturk.read_identifier("A2SUAM1HKFNFUR").is_some());
        for bad in [
            "A",
            "a2suam",
            "W1",
            "A2\u{0}B",
            "=A2",
            "A 2",
            &"A".repeat(65),
        ] {
            assert_eq!(mturk.read_identifier(bad), None, "{bad}");
        }
        assert!(is_mturk_entity("3X0H8UUITQYN") && !is_mturk_entity("3X,=1"));
    }

    #[test]
    fn other_identifiers_can_be_read_by_people() {
        let open = from(Provider::Parameters);
        assert_eq!(open.read_identifier(" Zoë 17 ").as_deref(), Some("Zoë 17"));
        let long = "x".repeat(201);
        for bad in ["", "  ", "a\tb", "a\r\nb", "a\u{202e}b", "a\u{200b}", &long] {
            assert_eq!(open.read_identifier(bad), None, "{bad:?}");
        }
    }
}
