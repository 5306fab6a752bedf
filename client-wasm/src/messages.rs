//! The page's messages when something is wrong: one sentence on what happened, one on what to do; in the language in
//! which the person reads the study, or in English if the page does not know that language.
//!
//! This module must not know where the sentences are shown.

mod answers;
mod chat;
mod others;
mod words;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use protocol::Seat;
use protocol::control::{Ask, AtTimeout, EndReason, LobbyChoice, Refusal, Waiting};

pub use answers::{say_problem, text_of_choice};
pub use chat::{
    name_writer, say_answered, say_characters_left, say_chat_news, say_check, say_help_news,
    say_members, say_time_left,
};
pub use others::{Other, name_others, name_partner};
pub use words::Words;
use words::{ENGLISH, GERMAN, read_sentences};

/// A language that the page speaks.
#[derive(Clone, Copy)]
struct Language {
    /// Its tag.
    tag: &'static str,
    words: &'static Words,
}

impl Language {
    fn new(tag: &str, own: &BTreeMap<String, String>, others: Option<&Words>) -> Self {
        Self {
            tag: Box::leak(tag.to_owned().into_boxed_str()),
            words: Box::leak(Box::new(Words::of(own, others))),
        }
    }
}

/// The languages that the page has learnt by itself, English first.
fn built_in() -> Vec<Language> {
    let english = Language::new("en", &read_sentences(ENGLISH), None);
    let german = Language::new("de", &read_sentences(GERMAN), Some(english.words));
    vec![english, german]
}

thread_local! {
    static LANGUAGES: RefCell<Vec<Language>> = RefCell::new(built_in());
    static SPOKEN: Cell<Option<Language>> = const { Cell::new(None) };
}

/// Returns the language among those that the page speaks; that of its main part if there is no other.
fn known(language: &str) -> Option<Language> {
    let main = language.split('-').next().unwrap_or_default();
    let find = |tag: &str| {
        LANGUAGES.with_borrow(|all| {
            let is_it = |known: &&Language| known.tag.eq_ignore_ascii_case(tag);
            all.iter().find(is_it).copied()
        })
    };
    find(language).or_else(|| find(main))
}

/// Teaches the page the sentences of the study, by language and name. A missing sentence of a language is taken from
/// its main part, else from English.
pub fn learn_sentences(all: &BTreeMap<String, BTreeMap<String, String>>) {
    for (tag, own) in all {
        let others = known(tag).or_else(|| known("en"));
        let learnt = Language::new(tag, own, others.map(|other| other.words));
        LANGUAGES.with_borrow_mut(|all| {
            all.retain(|known| !known.tag.eq_ignore_ascii_case(tag));
            all.push(learnt);
        });
    }
}

/// Makes the page speak the first of these languages that it knows, or else English. Returns the tag of that language.
pub fn choose_language<'a>(languages: impl IntoIterator<Item = &'a str>) -> &'static str {
    let found = languages.into_iter().find_map(known);
    let spoken = found.or_else(|| known("en"));
    SPOKEN.set(spoken);
    spoken.map_or("en", |language| language.tag)
}

/// A language's own name, if the page speaks it.
pub fn own_language_name(language: &str) -> Option<&'static str> {
    let name = known(language)?.words.language_name;
    (!name.is_empty()).then_some(name)
}

/// The page's words in the language that it speaks.
pub fn current_words() -> &'static Words {
    if SPOKEN.get().is_none() {
        choose_language([]);
    }
    let spoken = SPOKEN.get().expect("the page speaks English at least");
    spoken.words
}

/// A sentence with its places filled in.
pub fn fill_in(sentence: &str, values: &[(&str, &dyn std::fmt::Display)]) -> String {
    let mut filled = String::with_capacity(sentence.len() + 16);
    let mut rest = sentence;
    while let Some((before, (name, after))) = rest
        .split_once('{')
        .and_then(|(before, after)| Some((before, after.split_once('}')?)))
    {
        filled.push_str(before);
        if let Some((_, value)) = values.iter().find(|(known, _)| *known == name) {
            filled.push_str(&value.to_string());
        }
        rest = after;
    }
    filled + rest
}

/// A sentence about a person, by the name that [`name_partner`] gave.
fn about(sentence: &str, name: &str) -> String {
    let within = match name == current_words().your_partner {
        true => current_words().partner_within,
        false => name,
    };
    fill_in(sentence, &[("Name", &name), ("name", &within)])
}

/// The number of a visit.
pub fn say_receipt(number: &str) -> String {
    fill_in(current_words().receipt, &[("number", &number)])
}

/// The payment, in words.
pub fn say_payment(amount: &str) -> String {
    fill_in(current_words().pay, &[("amount", &amount)])
}

/// Returns the label of the button that leads back to the recruiter.
pub fn say_way_back(name: &str) -> String {
    fill_in(current_words().back_to, &[("name", &name)])
}

/// The page is about to lead away.
pub fn say_leaving(name: &str, left_s: u32) -> String {
    fill_in(
        current_words().leaving,
        &[("name", &name), ("left", &left_s)],
    )
}

/// The sentences for a refusal.
pub fn say_refusal(why: Refusal) -> &'static str {
    match why {
        Refusal::UnknownLink => current_words().unknown_link,
        Refusal::Incomplete => current_words().incomplete,
        Refusal::Full => current_words().full,
        Refusal::OldPage => current_words().old_page,
        Refusal::Malformed => current_words().malformed,
        Refusal::Stopping => current_words().stopping,
    }
}

/// The outcome of an episode, for the person.
pub fn say_outcome(reason: EndReason, score: i64) -> String {
    match reason {
        EndReason::Played => fill_in(current_words().played, &[("score", &score)]),
        EndReason::PartnerLeft => current_words().partner_left.to_owned(),
        EndReason::Technical => current_words().technical.to_owned(),
    }
}

/// The number of people still needed in a lobby.
pub fn say_who_is_here(waiting: &Waiting) -> String {
    match waiting.needed.saturating_sub(waiting.here) {
        // The question says it.
        _ if waiting.ask == Ask::Return => "\u{a0}".to_owned(),
        // People who fit together play immediately: these do not fit, by the study's rules for a group.
        0 => current_words().nobody_fits.to_owned(),
        1 => current_words().one_more.to_owned(),
        missing => fill_in(
            current_words().some_more,
            &[
                ("here", &waiting.here),
                ("needed", &waiting.needed),
                ("missing", &missing),
            ],
        ),
    }
}

/// The time somebody has waited, and the usual time.
pub fn say_time_waited(waiting: &Waiting, since_ms: u64) -> String {
    // What was shown as a second stays one until the next.
    let waited_ms = (u64::from(waiting.waited_ms) + since_ms) / 1_000 * 1_000;
    let waited = fill_in(
        current_words().waited,
        &[("time", &format_clock(waited_ms))],
    );
    match waiting.usual_ms {
        None => waited,
        Some(usual_ms) if usual_ms < 10_000 => format!("{waited} {}", current_words().few_seconds),
        Some(usual_ms) => {
            let usual = format_clock(u64::from(usual_ms).div_ceil(5_000) * 5_000);
            format!(
                "{waited} {}",
                fill_in(current_words().lately, &[("time", &usual)])
            )
        }
    }
}

/// The end of a wait in a lobby for which nobody comes.
pub fn say_end_of_wait(waiting: &Waiting, since_ms: u64) -> String {
    let left_ms = u64::from(waiting.left_ms).saturating_sub(since_ms);
    let sentence = match (waiting.ask, waiting.then) {
        (Ask::Return, _) => "\u{a0}",
        (Ask::Choice, _) => current_words().still_play,
        (_, AtTimeout::Wait) => current_words().wait_on,
        // A time that always runs out for an AI partner, and never for a person, would reveal which it is.
        (_, AtTimeout::GoOn) => current_words().then_on,
        _ if left_ms == 0 => current_words().one_moment,
        (_, AtTimeout::Ai) => current_words().then_ai,
        (_, AtTimeout::Ask) => current_words().then_ask,
        (_, AtTimeout::Leave) if waiting.paid => current_words().then_paid,
        (_, AtTimeout::Leave) => current_words().then_end,
    };
    fill_in(sentence, &[("left", &format_clock(left_ms))])
}

/// The question to somebody who waits.
pub fn ask_question(waiting: &Waiting, since_ms: u64) -> Option<String> {
    match waiting.ask {
        Ask::Nothing => None,
        Ask::Presence { left_ms } => {
            let left_ms = u64::from(left_ms).saturating_sub(since_ms);
            let left = format_clock(left_ms.div_ceil(5_000) * 5_000);
            Some(fill_in(current_words().still_there, &[("left", &left)]))
        }
        Ask::Return => Some(current_words().lost_place.to_owned()),
        Ask::Choice => Some(current_words().nobody_yet.to_owned()),
    }
}

/// The button of a choice.
pub fn name_choice(choice: LobbyChoice, paid: bool) -> String {
    match choice {
        LobbyChoice::Wait => current_words().keep_waiting,
        LobbyChoice::Ai => current_words().play_with_ai,
        LobbyChoice::Leave if paid => current_words().leave_paid,
        LobbyChoice::Leave => current_words().leave,
    }
    .to_owned()
}

/// Those of the group who have not come yet, with the state of their pages.
pub fn say_missing(absent: &[(Seat, bool)], is_alone: bool) -> String {
    let is_away = !absent.is_empty() && absent.iter().all(|(_, connected)| !connected);
    let names = absent.iter().map(|(seat, _)| name_partner(*seat, is_alone));
    let names: Vec<String> = names.collect();
    let sentences = match names.as_slice() {
        [] => return current_words().waiting_for_others.to_owned(),
        [_] => [current_words().one_missing, current_words().one_away],
        _ => [current_words().some_missing, current_words().some_away],
    };
    let who = others::join_names(&names);
    fill_in(sentences[usize::from(is_away)], &[("who", &who)])
}

/// The time left to wait for the others of the group.
pub fn say_time_to_regroup(left_ms: u64) -> String {
    if left_ms == 0 {
        return current_words().one_moment.to_owned();
    }
    fill_in(
        current_words().goes_on_by,
        &[("left", &format_clock(left_ms))],
    )
}

/// The receipt of those who withdrew.
pub fn say_withdrawn(receipt: &str) -> String {
    fill_in(current_words().withdrawn, &[("receipt", &receipt)])
}

/// The page can be left in a while.
pub fn say_go_on_in(left_s: u32) -> String {
    fill_in(current_words().go_on_in, &[("left", &left_s)])
}

/// The number of the attempt at a quiz.
pub fn say_attempt(attempt: u8, attempts: u8) -> String {
    let which = fill_in(
        current_words().attempt,
        &[("attempt", &attempt), ("attempts", &attempts)],
    );
    match attempt >= attempts {
        true => format!("{which} {}", current_words().last_attempt),
        false => which,
    }
}

/// The end of a round, during a rest.
pub fn say_round_over((round, rounds): (u16, u16), score: i64) -> String {
    let values: [(&str, &dyn std::fmt::Display); 3] =
        [("round", &round), ("rounds", &rounds), ("score", &score)];
    fill_in(current_words().round_over, &values)
}

/// A rest ends by itself.
pub fn say_round_in(left_s: u32) -> String {
    fill_in(current_words().round_in, &[("left", &left_s)])
}

/// The number of the round, from 1.
pub fn say_round(round: u16, rounds: u16) -> String {
    fill_in(
        current_words().round_of,
        &[("round", &round), ("rounds", &rounds)],
    )
}

/// The progress on the way, from 1.
pub fn say_progress(step: u16, steps: u16) -> String {
    fill_in(
        current_words().progress_of,
        &[("step", &step), ("steps", &steps)],
    )
}

/// Somebody's page is out of sight.
pub fn say_looked_away(name: &str) -> String {
    about(current_words().looked_away, name)
}

/// Says that somebody's page is gone; `plays_on` if the world continues without them.
pub fn say_gone(name: &str, plays_on: bool) -> String {
    match plays_on {
        true => about(current_words().gone_play_on, name),
        false => about(current_words().gone, name),
    }
}

/// An AI partner has somebody's seat.
pub fn say_replaced(name: &str) -> String {
    about(current_words().replaced, name)
}

/// Somebody is about to play again.
pub fn say_returning(name: &str) -> String {
    about(current_words().returning, name)
}

/// Somebody plays again.
pub fn say_back(name: &str) -> String {
    about(current_words().is_back, name)
}

/// The world waits for somebody who is there and heard.
pub fn say_waiting_for(name: &str) -> String {
    about(current_words().waiting_for, name)
}

/// The world waits for somebody who is there and not heard.
pub fn say_not_heard(name: &str) -> String {
    about(current_words().not_heard, name)
}

/// The world waits for somebody whose page is out of sight.
pub fn say_held_hidden(name: &str) -> String {
    about(current_words().held_hidden, name)
}

/// The world waits for somebody whose page is gone.
pub fn say_held_gone(name: &str) -> String {
    about(current_words().held_gone, name)
}

/// The lines of a description that are new. A change of the time alone is not.
pub fn find_news(before: &str, now: &str) -> String {
    let told = |line: &str| match line.to_lowercase().contains("step") {
        true => line.replace(|letter: char| letter.is_ascii_digit(), ""),
        false => line.to_owned(),
    };
    let known: Vec<String> = before.lines().map(told).collect();
    let new = now.lines().filter(|line| !known.contains(&told(line)));
    new.collect::<Vec<_>>().join("\n")
}

/// A number as it is written.
pub fn format_number(value: impl std::fmt::Display) -> String {
    value.to_string().replace('.', current_words().decimal)
}

/// Time left as `m:ss`, rounded up to whole seconds.
pub fn format_clock(left_ms: u64) -> String {
    let seconds = left_ms.div_ceil(1_000);
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_told_in_words() {
        let waiting = Waiting {
            here: 1,
            needed: 2,
            waited_ms: 61_500,
            left_ms: 30_000,
            usual_ms: Some(42_000),
            then: AtTimeout::Ai,
            paid: true,
            ask: Ask::Nothing,
        };
        assert_eq!(say_who_is_here(&waiting), "Waiting for one more person…");
        let unfit = Waiting { here: 2, ..waiting };
        assert!(
            !say_who_is_here(&unfit).contains("moment"),
            "nobody is about to play"
        );
        assert_eq!(
            say_time_waited(&waiting, 400),
            "You have waited 1:01. It has lately taken about 0:45."
        );
        assert_eq!(
            say_end_of_wait(&waiting, 10_000),
            "If nobody joins within 0:20, you'll play with an AI partner. Please stay on this page."
        );
        let goes_on = Waiting {
            then: AtTimeout::GoOn,
            ..waiting
        };
        let said = [0, 10_000, 60_000].map(|since_ms| say_end_of_wait(&goes_on, since_ms));
        assert!(
            said.iter().all(|one| *one == said[0] && !one.contains(':')),
            "{said:?}"
        );
        assert_eq!(ask_question(&waiting, 0), None);
        let ask = Ask::Presence { left_ms: 15_000 };
        let said = ask_question(&Waiting { ask, ..waiting }, 4_000);
        assert_eq!(
            said.as_deref(),
            Some("Are you still there? We'll keep your place for 0:15 more.")
        );
    }

    #[test]
    fn who_is_missing_is_named() {
        let all = [(Seat(0), true), (Seat(2), false), (Seat(3), false)];
        let said = [
            say_missing(&all[..1], true),
            say_missing(&all[1..2], false),
            say_missing(&all[1..], false),
            say_missing(&all, false),
            say_missing(&[], true),
        ];
        assert_eq!(
            said,
            [
                "Your partner is not here yet…",
                "Player 3 has lost connection and may come back…",
                "Player 3 and Player 4 have lost connection and may come back…",
                "Player 1, Player 3 and Player 4 are not here yet…",
                current_words().waiting_for_others,
            ]
        );
    }

    #[test]
    fn what_is_new_is_spoken_and_that_time_goes_by_is_not() {
        let before = "You are at row 2.\nThe pot is ready in 12 steps.\nScore: 0.\nSteps left: 80.";
        let now = "You are at row 3.\nThe pot is ready in 9 steps.\nScore: 20.\nSteps left: 77.";
        assert_eq!(find_news(before, now), "You are at row 3.\nScore: 20.");
        assert_eq!(find_news(now, now), "");
        assert_eq!(find_news("", "Score: 0."), "Score: 0.");
    }

    #[test]
    fn the_time_left_ends_at_zero() {
        assert_eq!(
            [90_000, 89_001, 59_999, 1, 0].map(format_clock),
            ["1:30", "1:30", "1:00", "0:01", "0:00"]
        );
    }

    /// The places of a sentence that are filled in, whatever the case of their first letter.
    fn places(sentence: &str) -> Vec<String> {
        let places = sentence.split('{').skip(1);
        let places = places.map(|place| place.split('}').next().unwrap_or_default());
        let mut places: Vec<String> = places.map(str::to_lowercase).collect();
        places.sort_unstable();
        places
    }

    #[test]
    fn every_language_says_everything_and_fills_in_the_same() {
        let all = built_in();
        for Language { tag, words } in &all {
            let tag = *tag;
            for ((name, english), (_, other)) in all[0].words.all().into_iter().zip(words.all()) {
                assert!(!other.trim().is_empty(), "{tag}: {name}");
                assert_eq!(places(english), places(other), "{tag}: {name}");
                assert!(tag == "en" || !other.ends_with(' ') || english.ends_with(' '));
            }
        }
    }

    #[test]
    fn the_page_speaks_the_first_language_that_it_knows() {
        assert_eq!(choose_language(["fr", "de-AT", "en"]), "de");
        assert_eq!(current_words().next, "Weiter");
        assert_eq!(own_language_name("de-AT"), Some("Deutsch"));
        assert_eq!(
            name_partner(Seat(3), false) + ": " + &say_go_on_in(4),
            "Person 4: Sie können in 4 s weitergehen."
        );
        assert_eq!(
            say_waiting_for(&name_partner(Seat(1), true)),
            "Gleich geht es weiter: die andere Person fehlt noch…"
        );
        assert_eq!(choose_language(["fr"]), "en");
        assert_eq!(current_words().next, "Next");
    }

    #[test]
    fn a_study_replaces_sentences_and_adds_languages() {
        let sentence = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let own = BTreeMap::from([
            ("de".to_owned(), [sentence("next", "Los")].into()),
            (
                "fr".to_owned(),
                [
                    sentence("next", "Suivant"),
                    sentence("language_name", "Français"),
                    sentence("go_on_in", "Encore {left} s."),
                ]
                .into(),
            ),
        ]);
        learn_sentences(&own);
        assert_eq!(choose_language(["fr-CA", "en"]), "fr");
        assert_eq!(
            (current_words().next, current_words().submit),
            ("Suivant", "Submit to Mechanical Turk")
        );
        assert_eq!(say_go_on_in(3), "Encore 3 s.");
        assert_eq!(own_language_name("fr"), Some("Français"));
        assert_eq!(choose_language(["de"]), "de");
        assert_eq!(
            (current_words().next, current_words().send),
            ("Los", "Senden")
        );
        choose_language(["en"]);
    }

    #[test]
    fn what_is_filled_in_is_not_filled_in_again() {
        assert_eq!(
            fill_in("{a} and {b}", &[("a", &"{b}"), ("b", &1)]),
            "{b} and 1"
        );
        assert_eq!(fill_in("a { b", &[]), "a { b");
    }
}
