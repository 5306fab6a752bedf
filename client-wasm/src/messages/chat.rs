//! The page's words around the messages of a group.

use protocol::Seat;
use protocol::control::{Talk, Talker};

use super::{about, clock_face, companion, fill, gone, say};

/// The name of somebody of the group.
pub fn talker(talk: &Talk, place: Seat) -> String {
    let given = talk.names.get(place.index());
    match given {
        Some(name) if place == talk.place => fill(say().you_as, &[("name", name)]),
        Some(name) => name.clone(),
        None if place == talk.place => say().you.to_owned(),
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
            Talker::Here => about(say().chat_here, &name),
            Talker::Away => gone(&name, false),
            Talker::Left => about(say().chat_left, &name),
            Talker::Ai if name == say().your_partner => say().chat_with_ai.to_owned(),
            Talker::Ai => about(say().chat_ai, &name),
        }
    };
    others.map(how).collect::<Vec<_>>().join(" ")
}

/// How long a chat lasts still.
pub fn chat_left(left_ms: u64) -> String {
    fill(say().time_left, &[("time", &clock_face(left_ms))])
}

/// How many characters can still be written.
pub fn characters_left(left: usize) -> String {
    match left {
        1 => say().one_character_left.to_owned(),
        left => fill(say().characters_left, &[("left", &left)]),
    }
}

/// The label of the button that opens the chat.
pub fn chat_news(unread: usize) -> String {
    match unread {
        0 => say().open_chat.to_owned(),
        1 => say().open_chat_one.to_owned(),
        unread => fill(say().open_chat_some, &[("unread", &unread)]),
    }
}

#[cfg(test)]
mod tests {
    use super::super::speak;
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

    #[test]
    fn a_chat_speaks_german() {
        speak(["de"]);
        let mut talk = talk(&[Talker::Here, Talker::Ai]);
        assert_eq!(talker(&talk, Seat(0)), "Sie");
        assert_eq!(
            company(&talk),
            "Sie spielen mit einem KI-Programm; es schreibt nicht."
        );
        talk.company = vec![Talker::Here, Talker::Left, Talker::Away, Talker::Ai];
        assert_eq!(
            company(&talk),
            "Person 2 hat den Chat verlassen. Person 3 ist weg und kommt vielleicht zurück. \
             Person 4 ist ein KI-Programm und schreibt nicht."
        );
        assert_eq!(chat_left(65_000), "Noch 1:05");
        assert_eq!(
            [1, 2].map(characters_left),
            ["Noch 1 Zeichen", "Noch 2 Zeichen"]
        );
        assert_eq!(chat_news(1), "Chat öffnen: 1 neue Nachricht");
        assert_eq!(chat_news(3), "Chat öffnen: 3 neue Nachrichten");
        speak(["en"]);
    }
}
