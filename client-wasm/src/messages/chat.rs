//! The page's words around the messages of a group.

use protocol::Seat;
use protocol::control::{ChatMember, ChatView};

use super::{about, current_words, fill_in, format_clock, name_partner, say_gone};

/// The name of somebody of the group.
pub fn name_writer(view: &ChatView, place: Seat) -> String {
    let given = view.names.get(place.index());
    let given = given.filter(|name| !name.is_empty());
    match given {
        Some(name) if place == view.place => fill_in(current_words().you_as, &[("name", name)]),
        Some(name) => name.clone(),
        None if place == view.place => current_words().you.to_owned(),
        None => name_partner(place, view.members.len() <= 2),
    }
}

/// The presence of the others who could write.
pub fn say_members(view: &ChatView) -> String {
    let places = (0..).map(Seat).zip(&view.members);
    let others = places.filter(|(place, _)| *place != view.place);
    let how = |(place, member): (Seat, &ChatMember)| {
        let name = self::name_writer(view, place);
        match member {
            ChatMember::Here => about(current_words().chat_here, &name),
            ChatMember::Away => say_gone(&name, false),
            ChatMember::Left => about(current_words().chat_left, &name),
            ChatMember::Ai if name == current_words().your_partner => {
                current_words().chat_with_ai.to_owned()
            }
            ChatMember::Ai => about(current_words().chat_ai, &name),
        }
    };
    others.map(how).collect::<Vec<_>>().join(" ")
}

/// The time left of a chat or a form.
pub fn say_time_left(left_ms: u64) -> String {
    fill_in(
        current_words().time_left,
        &[("time", &format_clock(left_ms))],
    )
}

/// The number of characters left to write.
pub fn say_characters_left(left: usize) -> String {
    match left {
        1 => current_words().one_character_left.to_owned(),
        left => fill_in(current_words().characters_left, &[("left", &left)]),
    }
}

/// The label of the button that opens the chat.
pub fn say_chat_news(unread: usize) -> String {
    match unread {
        0 => current_words().open_chat.to_owned(),
        1 => current_words().open_chat_one.to_owned(),
        unread => fill_in(current_words().open_chat_some, &[("unread", &unread)]),
    }
}

/// The label of the button with which one writes to the researchers.
pub fn say_help_news(unread: usize) -> String {
    match unread {
        0 => current_words().help.to_owned(),
        1 => current_words().help_one.to_owned(),
        unread => fill_in(current_words().help_some, &[("unread", &unread)]),
    }
}

/// A question of the researchers waits for an answer.
pub fn say_check(left_ms: u64) -> String {
    fill_in(
        current_words().help_check,
        &[("time", &format_clock(left_ms))],
    )
}

/// The answer that was given to it.
pub fn say_answered(answer: &str) -> String {
    fill_in(current_words().help_answered, &[("answer", &answer)])
}

#[cfg(test)]
mod tests {
    use super::super::choose_language;
    use super::*;

    fn view(members: &[ChatMember]) -> ChatView {
        ChatView {
            group_visit: 0,
            place: Seat(0),
            members: members.to_vec(),
            names: Vec::new(),
            max_length: 500,
            left_ms: None,
            next: 0,
            messages: Vec::new(),
        }
    }

    #[test]
    fn people_are_called_as_the_study_says_or_as_in_the_game() {
        let mut two = view(&[ChatMember::Here; 2]);
        assert_eq!(name_writer(&two, Seat(0)), "You");
        assert_eq!(name_writer(&two, Seat(1)), "Your partner");
        assert_eq!(
            name_writer(&view(&[ChatMember::Here; 3]), Seat(2)),
            "Player 3"
        );
        two.names = vec!["Red".to_owned(), "Blue".to_owned()];
        assert_eq!(name_writer(&two, Seat(0)), "Red (you)");
        assert_eq!(name_writer(&two, Seat(1)), "Blue");
    }

    #[test]
    fn an_ai_partner_is_told_plainly() {
        assert_eq!(
            say_members(&view(&[ChatMember::Here, ChatMember::Ai])),
            "Your partner is an AI program and does not write."
        );
        assert_eq!(
            say_members(&view(&[
                ChatMember::Here,
                ChatMember::Left,
                ChatMember::Away
            ])),
            "Player 2 has left the chat. Player 3 has lost connection and may come back."
        );
    }

    #[test]
    fn time_is_told_in_minutes_and_seconds() {
        assert_eq!(say_time_left(65_000), "1:05 left");
        assert_eq!(say_time_left(0), "0:00 left");
        assert_eq!(say_time_left(400), "0:01 left");
    }

    #[test]
    fn a_chat_speaks_german() {
        choose_language(["de"]);
        let mut view = view(&[ChatMember::Here, ChatMember::Ai]);
        assert_eq!(name_writer(&view, Seat(0)), "Sie");
        assert_eq!(
            say_members(&view),
            "Sie spielen mit einem KI-Programm; es schreibt nicht."
        );
        view.members = vec![
            ChatMember::Here,
            ChatMember::Left,
            ChatMember::Away,
            ChatMember::Ai,
        ];
        assert_eq!(
            say_members(&view),
            "Person 2 hat den Chat verlassen. Person 3 hat die Verbindung verloren und kommt vielleicht zurück. \
             Person 4 ist ein KI-Programm und schreibt nicht."
        );
        assert_eq!(say_time_left(65_000), "Noch 1:05");
        assert_eq!(
            [1, 2].map(say_characters_left),
            ["Noch 1 Zeichen", "Noch 2 Zeichen"]
        );
        assert_eq!(say_chat_news(1), "Chat öffnen: 1 neue Nachricht");
        assert_eq!(say_chat_news(3), "Chat öffnen: 3 neue Nachrichten");
        choose_language(["en"]);
    }
}
