//! The names of the others in an episode: the same in the notices, in the chat, and beside the picture.

use protocol::Seat;

use super::{current_words, fill_in};

/// Somebody else in an episode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// The name of the place; `None` where the study gives none.
    pub given: Option<String>,
    /// True for an AI partner that the person knows of.
    pub is_ai: bool,
}

/// The name of another person, at the start of a sentence.
pub fn name_partner(place: Seat, is_alone: bool) -> String {
    if is_alone {
        current_words().your_partner.to_owned()
    } else {
        fill_in(
            current_words().player,
            &[("number", &(u32::from(place.0) + 1))],
        )
    }
}

/// Everybody else in an episode, in a few words; empty if there is nobody.
pub fn name_others(others: &[Other]) -> String {
    match others {
        [] => String::new(),
        [other] => name_only_other(other),
        others => name_several_others(others),
    }
}

fn name_only_other(other: &Other) -> String {
    match (&other.given, other.is_ai) {
        (Some(name), _) => name_as_given(name, other.is_ai),
        (None, true) => current_words().partner_ai.to_owned(),
        (None, false) => current_words().partner.to_owned(),
    }
}

/// Those who have a name, the number of other people, and the number of AI partners.
fn name_several_others(others: &[Other]) -> String {
    let words = current_words();
    let named = others.iter().filter_map(|other| {
        let name = other.given.as_ref()?;
        Some(name_as_given(name, other.is_ai))
    });
    let mut parts: Vec<String> = named.collect();
    let count = |is_ai: bool| {
        let unnamed = others.iter().filter(|other| other.given.is_none());
        unnamed.filter(|other| other.is_ai == is_ai).count()
    };
    let people = count(false);
    match people {
        0 => {}
        1 => parts.push(words.another_player.to_owned()),
        2 => parts.push(words.two_players.to_owned()),
        3 => parts.push(words.three_players.to_owned()),
        number => parts.push(fill_in(words.many_players, &[("number", &number)])),
    }
    match count(true) {
        0 => {}
        1 => parts.push(words.an_ai.to_owned()),
        number => parts.push(fill_in(words.many_ais, &[("number", &number)])),
    }
    join_names(&parts)
}

/// Names with commas, and a word before the last one.
pub(super) fn join_names(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{}{}{last}", first.join(", "), current_words().and),
    }
}

/// Adds the mark of an AI partner, unless the study has put it into the name.
fn name_as_given(name: &str, is_ai: bool) -> String {
    let mark = fill_in(current_words().ai_as, &[("name", &"")]);
    match is_ai && !name.ends_with(mark.trim()) {
        true => fill_in(current_words().ai_as, &[("name", &name)]),
        false => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::choose_language;
    use super::*;

    fn others(given: &[(Option<&str>, bool)]) -> Vec<Other> {
        let other = |&(given, is_ai): &(Option<&str>, bool)| Other {
            given: given.map(str::to_owned),
            is_ai,
        };
        given.iter().map(other).collect()
    }

    #[test]
    fn one_other_is_the_partner_and_several_are_counted() {
        let (person, ai) = ((None, false), (None, true));
        assert_eq!(name_others(&[]), "");
        assert_eq!(name_others(&others(&[person])), "Partner");
        assert_eq!(name_others(&others(&[ai])), "Partner (AI)");
        assert_eq!(
            name_others(&others(&[person, person, ai])),
            "Two other players and an AI"
        );
        assert_eq!(
            name_others(&others(&[ai, person])),
            "Another player and an AI"
        );
        assert_eq!(name_others(&others(&[person; 3])), "Three other players");
        assert_eq!(name_others(&others(&[person; 15])), "15 other players");
        assert_eq!(name_others(&others(&[ai, ai])), "2 AI players");
    }

    #[test]
    fn names_of_the_study_are_used_as_in_the_chat() {
        let (red, blue) = ((Some("Red"), false), (Some("Blue"), false));
        assert_eq!(name_others(&others(&[red])), "Red");
        assert_eq!(name_others(&others(&[(Some("Red"), true)])), "Red (AI)");
        let marked = others(&[(Some("Kitchen help (AI)"), true)]);
        assert_eq!(name_others(&marked), "Kitchen help (AI)");
        assert_eq!(
            name_others(&others(&[red, blue, (None, true)])),
            "Red, Blue and an AI"
        );
    }

    #[test]
    fn the_others_are_counted_in_german() {
        choose_language(["de"]);
        let (person, ai) = ((None, false), (None, true));
        assert_eq!(name_others(&others(&[ai])), "Mitspieler (KI)");
        assert_eq!(
            name_others(&others(&[person, person, ai])),
            "Zwei weitere Personen und eine KI"
        );
        assert_eq!(
            name_others(&others(&[person, ai, ai])),
            "Eine weitere Person und 2 KI-Programme"
        );
        choose_language(["en"]);
    }
}
