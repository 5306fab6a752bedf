//! Messages that researchers write to participants, and the questions among them: plain data.

use protocol::control::MAX_DESK_TEXT;
use serde::{Deserialize, Serialize};

use super::OrderRefused;

/// The most answers that a question offers.
const MOST_CHOICES: usize = 6;

/// The longest answer that a question offers or expects, characters.
const LONGEST_CHOICE: usize = 80;

/// The time that a question may give, seconds.
const CHECK_S: std::ops::RangeInclusive<u16> = 5..=600;

/// The readers of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Audience {
    /// The participant with this pseudonym.
    Participant(String),
    /// Everybody in the group with this id.
    Group(String),
    /// Everybody who is under way.
    Everybody,
}

impl Audience {
    /// Its name in the tables.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Participant(_) => "participant",
            Self::Group(_) => "group",
            Self::Everybody => "everybody",
        }
    }

    /// Describes the readers in words, for the audit trail; empty for one person, whom another column names.
    pub(super) fn detail(&self) -> String {
        match self {
            Self::Participant(_) => String::new(),
            Self::Group(id) => format!("group {id}"),
            Self::Everybody => "everybody".to_owned(),
        }
    }
}

/// The words of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeskMessageText {
    /// Its text.
    pub text: String,
    /// Set if it is a question with a time limit.
    pub check: Option<CheckText>,
}

/// The terms of a question with a time limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckText {
    /// The answers to choose from; empty if the person types the answer.
    #[serde(default)]
    pub choices: Vec<String>,
    /// The right answer; empty if there is none.
    #[serde(default)]
    pub expected: String,
    /// The time for the answer, seconds.
    pub within_s: u16,
}

impl CheckText {
    /// Checks the terms.
    ///
    /// # Errors
    /// [`OrderRefused::WrongCheck`]
    pub fn validate(&self) -> Result<(), OrderRefused> {
        let wrong = |why: String| Err(OrderRefused::WrongCheck(why));
        let fits = |text: &String| {
            clean_desk_text(text).as_ref() == Some(text)
                && text.chars().count() <= LONGEST_CHOICE
                && !text.contains('\n')
        };
        if !CHECK_S.contains(&self.within_s) {
            let (least, most) = (CHECK_S.start(), CHECK_S.end());
            return wrong(format!("`within_s` is from {least} to {most} seconds"));
        }
        let mut choices = self.choices.clone();
        choices.sort();
        choices.dedup();
        if self.choices.len() == 1
            || self.choices.len() > MOST_CHOICES
            || choices.len() < self.choices.len()
        {
            return wrong(format!(
                "`choices` are none for a written answer, or 2 to {MOST_CHOICES} different ones"
            ));
        }
        if !self.choices.iter().all(fits) {
            return wrong(format!(
                "each of `choices` is one line of 1 to {LONGEST_CHOICE} characters"
            ));
        }
        let is_known = self.choices.is_empty() || self.choices.contains(&self.expected);
        let is_fine = self.expected.is_empty() || is_known && fits(&self.expected);
        if !is_fine {
            return wrong(format!(
                "`expected` is one of the choices, or one line of at most {LONGEST_CHOICE} characters"
            ));
        }
        Ok(())
    }
}

/// Returns the text of a message as it is stored, without invisible characters; `None` if it is empty or too long.
pub fn clean_desk_text(text: &str) -> Option<String> {
    // No character has more bytes; so a text that is far too long is not looked through.
    if text.len() > 4 * MAX_DESK_TEXT {
        return None;
    }
    let is_turn = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_text = |c: &char| !is_turn(*c) && (*c == '\n' || !c.is_control());
    let text: String = text.chars().filter(is_text).collect();
    let text = text.trim();
    let fits = !text.is_empty() && text.chars().count() <= MAX_DESK_TEXT;
    fits.then(|| text.to_owned())
}

/// Compares an answer with the expected one, as people write: case and spaces around it do not count.
pub fn is_expected_answer(expected: &str, answer: &str) -> bool {
    expected.trim().to_lowercase() == answer.trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_keeps_what_people_see_and_has_a_length() {
        assert_eq!(
            clean_desk_text(" a\u{7}\nb \u{202e}").as_deref(),
            Some("a\nb")
        );
        assert_eq!(clean_desk_text(" \u{1b}\n "), None);
        let longest = "ä".repeat(MAX_DESK_TEXT);
        assert_eq!(clean_desk_text(&longest), Some(longest.clone()));
        assert_eq!(clean_desk_text(&format!("{longest}b")), None);
        assert_eq!(clean_desk_text(&"b".repeat(5 * MAX_DESK_TEXT)), None);
    }

    #[test]
    fn the_terms_of_a_question_are_checked() {
        let check = |choices: &[&str], expected: &str, within_s| {
            let choices = choices.iter().map(|it| (*it).to_owned()).collect();
            let expected = expected.to_owned();
            let check = CheckText {
                choices,
                expected,
                within_s,
            };
            check.validate().map_err(|why| why.to_string())
        };
        assert_eq!(check(&[], "", 30), Ok(()));
        assert_eq!(check(&["red", "blue"], "red", 5), Ok(()));
        for (wrong, word) in [
            (check(&[], "", 4), "`within_s`"),
            (check(&["red"], "", 30), "`choices`"),
            (check(&["red", "red"], "", 30), "`choices`"),
            (check(&["red", " "], "", 30), "each of `choices`"),
            (check(&["red", "blue"], "green", 30), "`expected`"),
            (check(&[], "two\nlines", 30), "`expected`"),
        ] {
            assert!(wrong.unwrap_err().contains(word), "{word}");
        }
        assert!(is_expected_answer("Blue", " blue "));
        assert!(!is_expected_answer("Blue", "blues"));
    }
}
