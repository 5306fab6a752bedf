//! The page's messages when something is not as it should be: one sentence on what happened, one on what to do; in the
//! language in which the person reads the study, or in English where the page has not learnt it.
//!
//! This module must not know where the sentences are shown.

mod answers;
mod chat;
mod words;

use std::cell::Cell;

use protocol::Seat;
use protocol::control::{Ask, AtTimeout, Choice, EndReason, Refusal, Waiting};

pub use answers::{choice_text, wrong};
pub use chat::{characters_left, chat_left, chat_news, company, talker};
pub use words::Words;
use words::{DE, EN};

/// The page's words by the main part of the language's tag, with the language's own name.
const LANGUAGES: [(&str, &str, &Words); 2] = [("en", "English", &EN), ("de", "Deutsch", &DE)];

thread_local! {
    static SPOKEN: Cell<usize> = const { Cell::new(0) };
}

/// The place of a language among those that the page speaks.
fn known(language: &str) -> Option<usize> {
    let main = language.split('-').next().unwrap_or_default();
    LANGUAGES
        .iter()
        .position(|(tag, ..)| main.eq_ignore_ascii_case(tag))
}

/// Has the page speak the first of these languages that it knows, or else English. Gives the tag of what it speaks.
pub fn speak<'a>(languages: impl IntoIterator<Item = &'a str>) -> &'static str {
    let at = languages.into_iter().find_map(known).unwrap_or(0);
    SPOKEN.set(at);
    LANGUAGES[at].0
}

/// A language's own name, if the page speaks it.
pub fn language_name(language: &str) -> Option<&'static str> {
    known(language).map(|at| LANGUAGES[at].1)
}

/// The page's words in the language that it speaks.
pub fn say() -> &'static Words {
    LANGUAGES[SPOKEN.get()].2
}

/// A sentence with its places filled in.
pub fn fill(sentence: &str, values: &[(&str, &dyn std::fmt::Display)]) -> String {
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

/// A sentence about a person, by the name that [`companion`] gave.
fn about(sentence: &str, name: &str) -> String {
    let within = match name == say().your_partner {
        true => say().partner_within,
        false => name,
    };
    fill(sentence, &[("Name", &name), ("name", &within)])
}

/// The number of a visit.
pub fn receipt(number: &str) -> String {
    fill(say().receipt, &[("number", &number)])
}

/// The payment, in words.
pub fn pay(amount: &str) -> String {
    fill(say().pay, &[("amount", &amount)])
}

/// The button that leads back to whoever sent the participant.
pub fn back_to(name: &str) -> String {
    fill(say().back_to, &[("name", &name)])
}

/// The page is about to lead away.
pub fn leaving(name: &str, left_s: u32) -> String {
    fill(say().leaving, &[("name", &name), ("left", &left_s)])
}

/// The sentences for a refusal.
pub fn refusal(why: Refusal) -> &'static str {
    match why {
        Refusal::UnknownLink => say().unknown_link,
        Refusal::Incomplete => say().incomplete,
        Refusal::Full => say().full,
        Refusal::OldPage => say().old_page,
        Refusal::Malformed => say().malformed,
        Refusal::Stopping => say().stopping,
    }
}

/// The outcome of an episode, for the person.
pub fn outcome(reason: EndReason, score: i64) -> String {
    match reason {
        EndReason::Played => fill(say().played, &[("score", &score)]),
        EndReason::PartnerLeft => say().partner_left.to_owned(),
        EndReason::Technical => say().technical.to_owned(),
    }
}

/// How many people are still needed in a lobby.
pub fn here(waiting: &Waiting) -> String {
    match waiting.needed.saturating_sub(waiting.here) {
        _ if waiting.ask == Ask::Return => say().not_waiting.to_owned(),
        // Whoever fits together plays at once: these do not, by what the study asks of a group.
        0 => say().nobody_fits.to_owned(),
        1 => say().one_more.to_owned(),
        missing => fill(
            say().some_more,
            &[
                ("here", &waiting.here),
                ("needed", &waiting.needed),
                ("missing", &missing),
            ],
        ),
    }
}

/// How long somebody has waited, and how long it usually takes.
pub fn waited(waiting: &Waiting, since_ms: u64) -> String {
    // What was shown as a second stays one until the next.
    let waited_ms = (u64::from(waiting.waited_ms) + since_ms) / 1_000 * 1_000;
    let waited = fill(say().waited, &[("time", &clock_face(waited_ms))]);
    match waiting.usual_ms {
        None => waited,
        Some(usual_ms) if usual_ms < 10_000 => format!("{waited} {}", say().few_seconds),
        Some(usual_ms) => {
            let usual = clock_face(u64::from(usual_ms).div_ceil(5_000) * 5_000);
            format!("{waited} {}", fill(say().lately, &[("time", &usual)]))
        }
    }
}

/// The end of a wait in a lobby for which nobody comes.
pub fn at_timeout(waiting: &Waiting, since_ms: u64) -> String {
    let left_ms = u64::from(waiting.left_ms).saturating_sub(since_ms);
    let sentence = match (waiting.ask, waiting.then) {
        (Ask::Return, _) => say().place_given,
        (Ask::Choice, _) => say().still_play,
        (_, AtTimeout::Wait) => say().wait_on,
        _ if left_ms == 0 => say().one_moment,
        (_, AtTimeout::GoOn) => say().then_on,
        (_, AtTimeout::Ai) => say().then_ai,
        (_, AtTimeout::Ask) => say().then_ask,
        (_, AtTimeout::Leave) if waiting.paid => say().then_paid,
        (_, AtTimeout::Leave) => say().then_end,
    };
    fill(sentence, &[("left", &clock_face(left_ms))])
}

/// The question to somebody who waits.
pub fn question(waiting: &Waiting, since_ms: u64) -> Option<String> {
    match waiting.ask {
        Ask::Nothing => None,
        Ask::Presence { left_ms } => {
            let left_ms = u64::from(left_ms).saturating_sub(since_ms);
            let left = clock_face(left_ms.div_ceil(5_000) * 5_000);
            Some(fill(say().still_there, &[("left", &left)]))
        }
        Ask::Return => Some(say().lost_place.to_owned()),
        Ask::Choice => Some(say().nobody_yet.to_owned()),
    }
}

/// The button of a choice.
pub fn choice(choice: Choice, paid: bool) -> String {
    match choice {
        Choice::Wait => say().keep_waiting,
        Choice::Ai => say().play_with_ai,
        Choice::Leave if paid => say().leave_paid,
        Choice::Leave => say().leave,
    }
    .to_owned()
}

/// Those of the group who have not come yet, with the state of their pages.
pub fn missing(absent: &[(Seat, bool)], is_alone: bool) -> String {
    let is_away = !absent.is_empty() && absent.iter().all(|(_, connected)| !connected);
    let names = absent.iter().map(|(seat, _)| companion(*seat, is_alone));
    let names: Vec<String> = names.collect();
    let (who, sentences) = match names.as_slice() {
        [] => return say().waiting_for_others.to_owned(),
        [one] => (one.clone(), [say().one_missing, say().one_away]),
        [first @ .., last] => (
            format!("{}{}{last}", first.join(", "), say().and),
            [say().some_missing, say().some_away],
        ),
    };
    fill(sentences[usize::from(is_away)], &[("who", &who)])
}

/// How long the others of the group are waited for.
pub fn regroup_hint(left_ms: u64) -> String {
    if left_ms == 0 {
        return say().one_moment.to_owned();
    }
    fill(say().goes_on_by, &[("left", &clock_face(left_ms))])
}

/// The name of another person, at the start of a sentence.
pub fn companion(seat: Seat, is_alone: bool) -> String {
    if is_alone {
        say().your_partner.to_owned()
    } else {
        fill(say().player, &[("number", &(u32::from(seat.0) + 1))])
    }
}

/// The receipt of those who withdrew.
pub fn withdrawn(receipt: &str) -> String {
    fill(say().withdrawn, &[("receipt", &receipt)])
}

/// The page can be left in a while.
pub fn go_on_in(left_s: u32) -> String {
    fill(say().go_on_in, &[("left", &left_s)])
}

/// Which attempt at a quiz this is.
pub fn attempt(attempt: u8, attempts: u8) -> String {
    let which = fill(
        say().attempt,
        &[("attempt", &attempt), ("attempts", &attempts)],
    );
    match attempt >= attempts {
        true => format!("{which} {}", say().last_attempt),
        false => which,
    }
}

/// How a round ended, during a rest.
pub fn round_over((round, rounds): (u16, u16), score: i64) -> String {
    let values: [(&str, &dyn std::fmt::Display); 3] =
        [("round", &round), ("rounds", &rounds), ("score", &score)];
    fill(say().round_over, &values)
}

/// A rest ends by itself.
pub fn round_in(left_s: u32) -> String {
    fill(say().round_in, &[("left", &left_s)])
}

/// Which round it is, from 1.
pub fn round_of(round: u16, rounds: u16) -> String {
    fill(say().round_of, &[("round", &round), ("rounds", &rounds)])
}

/// How far one is, from 1.
pub fn progress(step: u16, steps: u16) -> String {
    fill(say().progress_of, &[("step", &step), ("steps", &steps)])
}

/// Somebody's page is out of sight.
pub fn looked_away(name: &str) -> String {
    about(say().looked_away, name)
}

/// Somebody's page is gone; `plays_on` if the world goes on without them.
pub fn gone(name: &str, plays_on: bool) -> String {
    match plays_on {
        true => about(say().gone_play_on, name),
        false => about(say().gone, name),
    }
}

/// An AI partner has somebody's seat.
pub fn replaced(name: &str) -> String {
    about(say().replaced, name)
}

/// Somebody is about to play again.
pub fn returning(name: &str) -> String {
    about(say().returning, name)
}

/// Somebody plays again.
pub fn back(name: &str) -> String {
    about(say().is_back, name)
}

/// The world waits for somebody who is there and heard.
pub fn waiting_for(name: &str) -> String {
    about(say().waiting_for, name)
}

/// The world waits for somebody who is there and not heard.
pub fn not_heard(name: &str) -> String {
    about(say().not_heard, name)
}

/// The world waits for somebody whose page is out of sight.
pub fn held_hidden(name: &str) -> String {
    about(say().held_hidden, name)
}

/// The world waits for somebody whose page is gone.
pub fn held_gone(name: &str) -> String {
    about(say().held_gone, name)
}

/// The lines of a description that are new. A change of the time alone is not.
pub fn news(before: &str, now: &str) -> String {
    let told = |line: &str| match line.to_lowercase().contains("step") {
        true => line.replace(|letter: char| letter.is_ascii_digit(), ""),
        false => line.to_owned(),
    };
    let known: Vec<String> = before.lines().map(told).collect();
    let new = now.lines().filter(|line| !known.contains(&told(line)));
    new.collect::<Vec<_>>().join("\n")
}

/// A number as it is written.
pub fn number(value: impl std::fmt::Display) -> String {
    value.to_string().replace('.', say().decimal)
}

/// Time left as `m:ss`, rounded up to whole seconds.
pub fn clock_face(left_ms: u64) -> String {
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
        assert_eq!(here(&waiting), "Waiting for one more person…");
        let unfit = Waiting { here: 2, ..waiting };
        assert!(!here(&unfit).contains("moment"), "nobody is about to play");
        assert_eq!(
            waited(&waiting, 400),
            "You have waited 1:01. Lately it took about 0:45."
        );
        assert_eq!(
            at_timeout(&waiting, 10_000),
            "If nobody comes, you play with an AI partner in 0:20. Please stay on this page."
        );
        assert_eq!(question(&waiting, 0), None);
        let ask = Ask::Presence { left_ms: 15_000 };
        let said = question(&Waiting { ask, ..waiting }, 4_000);
        assert_eq!(
            said.as_deref(),
            Some("Are you still there? Your place is kept for 0:15 more.")
        );
    }

    #[test]
    fn who_is_missing_is_named() {
        let all = [(Seat(0), true), (Seat(2), false), (Seat(3), false)];
        let said = [
            missing(&all[..1], true),
            missing(&all[1..2], false),
            missing(&all[1..], false),
            missing(&all, false),
            missing(&[], true),
        ];
        assert_eq!(
            said,
            [
                "Your partner is not here yet…",
                "Player 3 is away and may come back…",
                "Player 3 and Player 4 are away and may come back…",
                "Player 1, Player 3 and Player 4 are not here yet…",
                say().waiting_for_others,
            ]
        );
    }

    #[test]
    fn what_is_new_is_spoken_and_that_time_goes_by_is_not() {
        let before = "You are at row 2.\nThe pot is ready in 12 steps.\nScore: 0.\nSteps left: 80.";
        let now = "You are at row 3.\nThe pot is ready in 9 steps.\nScore: 20.\nSteps left: 77.";
        assert_eq!(news(before, now), "You are at row 3.\nScore: 20.");
        assert_eq!(news(now, now), "");
        assert_eq!(news("", "Score: 0."), "Score: 0.");
    }

    #[test]
    fn the_time_left_ends_at_zero() {
        assert_eq!(
            [90_000, 89_001, 59_999, 1, 0].map(clock_face),
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
        for (tag, _, words) in LANGUAGES {
            for ((name, english), (_, other)) in EN.all().into_iter().zip(words.all()) {
                assert!(!other.trim().is_empty(), "{tag}: {name}");
                assert_eq!(places(english), places(other), "{tag}: {name}");
                assert!(tag == "en" || !other.ends_with(' ') || english.ends_with(' '));
            }
        }
    }

    #[test]
    fn the_page_speaks_the_first_language_that_it_knows() {
        assert_eq!(speak(["fr", "de-AT", "en"]), "de");
        assert_eq!(say().next, "Weiter");
        assert_eq!(
            companion(Seat(3), false) + ": " + &go_on_in(4),
            "Person 4: Sie können in 4 s weitergehen."
        );
        assert_eq!(
            waiting_for(&companion(Seat(1), true)),
            "Gleich geht es weiter: die andere Person fehlt noch…"
        );
        assert_eq!(speak(["fr"]), "en");
        assert_eq!(say().next, "Next");
    }

    #[test]
    fn what_is_filled_in_is_not_filled_in_again() {
        assert_eq!(
            fill("{a} and {b}", &[("a", &"{b}"), ("b", &1)]),
            "{b} and 1"
        );
        assert_eq!(fill("a { b", &[]), "a { b");
    }
}
