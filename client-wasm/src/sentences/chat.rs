//! What the page says around the messages of a group.

use protocol::Seat;
use protocol::control::{Talk, Talker};

use super::companion;

/// The heading of a chat.
pub const CHAT: &str = "Chat";
/// What is read aloud before the messages.
pub const MESSAGES: &str = "Messages";
/// The label of the field.
pub const YOUR_MESSAGE: &str = "Your message";
/// The button that sends it.
pub const SEND: &str = "Send";
/// A message is on its way.
pub const SENDING: &str = "Sending…";
/// A message was not taken.
pub const NOT_SENT: &str = "Not sent";
/// The chat has not begun.
pub const CHAT_NOT_YET: &str = "You can write as soon as the game begins.";
/// Nobody writes any more.
pub const CHAT_CLOSED: &str = "This chat is over.";
/// The connection is lost.
pub const CHAT_LOST: &str = "Connecting again… What you write is sent as soon as that is done.";
/// The button that leaves a chat.
pub const CHAT_DONE: &str = "I am done";
/// Nobody can leave before the time is up.
pub const CHAT_TO_THE_END: &str = "The study goes on when the time is up.";
/// The button that leads from the chat to the game.
pub const TO_GAME: &str = "Back to the game";
/// Which keys lead from one to the other.
pub const CHAT_KEYS: &str = "Enter: write. Esc: back to the game.";

/// What somebody of the group is called.
pub fn talker(talk: &Talk, place: Seat) -> String {
    let given = talk.names.get(place.index());
    match given {
        Some(name) if place == talk.place => format!("{name} (you)"),
        Some(name) => name.clone(),
        None if place == talk.place => "You".to_owned(),
        None => companion(place, talk.company.len() <= 2),
    }
}

/// How the others are who could write.
pub fn company(talk: &Talk) -> String {
    let places = (0..).map(Seat).zip(&talk.company);
    let others = places.filter(|(place, _)| *place != talk.place);
    let how = |(place, talker): (Seat, &Talker)| {
        let name = self::talker(talk, place);
        match talker {
            Talker::Here => format!("{name} is here."),
            Talker::Away => format!("{name} is away and may come back."),
            Talker::Left => format!("{name} has left the chat."),
            Talker::Ai => format!("{name} is an AI program and does not write."),
        }
    };
    others.map(how).collect::<Vec<_>>().join(" ")
}

/// How long a chat lasts still.
pub fn chat_left(left_ms: u64) -> String {
    let left_s = left_ms.div_ceil(1_000);
    format!("{}:{:02} left", left_s / 60, left_s % 60)
}

/// How long one cannot leave a chat.
pub fn chat_until(left_s: u64) -> String {
    format!("You can go on in {left_s} s.")
}

/// How many characters can still be written.
pub fn characters_left(left: usize) -> String {
    match left {
        1 => "1 character left".to_owned(),
        left => format!("{left} characters left"),
    }
}

/// What the button says that opens the chat.
pub fn chat_news(unread: usize) -> String {
    match unread {
        0 => "Open the chat".to_owned(),
        1 => "Open the chat: 1 new message".to_owned(),
        unread => format!("Open the chat: {unread} new messages"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn talk(company: &[Talker]) -> Talk {
        Talk {
            round: 0,
            place: Seat(0),
            company: company.to_vec(),
            names: Vec::new(),
            max_length: 500,
            left_ms: None,
            next: 0,
            lines: Vec::new(),
        }
    }

    #[test]
    fn people_are_called_as_the_study_says_or_as_in_the_game() {
        let mut two = talk(&[Talker::Here; 2]);
        assert_eq!(talker(&two, Seat(0)), "You");
        assert_eq!(talker(&two, Seat(1)), "Your partner");
        assert_eq!(talker(&talk(&[Talker::Here; 3]), Seat(2)), "Player 3");
        two.names = vec!["Red".to_owned(), "Blue".to_owned()];
        assert_eq!(talker(&two, Seat(0)), "Red (you)");
        assert_eq!(talker(&two, Seat(1)), "Blue");
    }

    #[test]
    fn an_ai_partner_is_told_plainly() {
        assert_eq!(
            company(&talk(&[Talker::Here, Talker::Ai])),
            "Your partner is an AI program and does not write."
        );
        assert_eq!(
            company(&talk(&[Talker::Here, Talker::Left, Talker::Away])),
            "Player 2 has left the chat. Player 3 is away and may come back."
        );
    }

    #[test]
    fn time_is_told_in_minutes_and_seconds() {
        assert_eq!(chat_left(65_000), "1:05 left");
        assert_eq!(chat_left(0), "0:00 left");
        assert_eq!(chat_left(400), "0:01 left");
    }
}
