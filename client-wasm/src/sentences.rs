//! What the page says when something is not as it should be: one sentence on what happened, one on what to do.
//!
//! This module must not know where the sentences are shown.

mod chat;

use protocol::Seat;
use protocol::control::{Ask, AtTimeout, Choice, EndReason, Refusal, Waiting};

pub use chat::{
    CHAT, CHAT_CLOSED, CHAT_DONE, CHAT_KEYS, CHAT_LOST, CHAT_NOT_YET, CHAT_TO_THE_END, MESSAGES,
    NOT_SENT, SEND, SENDING, TO_GAME, YOUR_MESSAGE, characters_left, chat_left, chat_news,
    chat_until, company, talker,
};

/// The server has not answered since the page was opened.
pub const NO_SERVER: &str = "The server cannot be reached right now. Please keep this page open: it goes on trying by itself.";
/// The connection was lost on a page where it is needed.
pub const RECONNECTING: &str = "The connection was lost. Please keep this page open: it connects again by itself, and nothing is lost.";
/// The connection was lost during a match.
pub const SAVING_PAUSED: &str = "saving paused";
/// The server refused the answers.
pub const NOT_TAKEN: &str = "Your answers could not be saved. Please check them and try again.";
/// The answers to a quiz were not all right, and there is another attempt.
pub const QUIZ_AGAIN: &str =
    "Not everything was right. Please read carefully, and answer once more.";
/// The answers to a quiz are given for the last time.
pub const LAST_ATTEMPT: &str = "This is your last attempt.";
/// Before the address of those to write to.
pub const CONTACT: &str = "Questions or problems? ";
/// The heading of the page beside a page of another site.
pub const OTHER_PAGE: &str = "A page of another site";
/// The link to it.
pub const OPEN_OTHER: &str = "Open the page";
/// It gives a code.
pub const OTHER_CODE: &str = "Please open the page below. It opens beside this one, and gives you a code at its end: type it in here to go on.";
/// It leads back.
pub const OTHER_LINK: &str =
    "Please open the page below. It opens beside this one, and leads you back at its end.";
/// One comes back alone.
pub const OTHER_FREE: &str =
    "Please open the page below. It opens beside this one; come back here when you are done there.";
/// The field for its code.
pub const CODE_THERE: &str = "The code from the page";
/// The button of those who give up.
pub const CANNOT: &str = "I cannot do this";
/// The button of those who withdraw.
pub const WITHDRAW: &str = "Withdraw my data";
/// The heading of the question before that.
pub const WITHDRAW_ASK: &str = "Withdraw your data?";
/// What it means.
pub const WITHDRAW_MEANS: &str = "Your answers are erased, and what you did in the study is not used. This cannot be undone. It changes nothing about your payment for the time.";
/// The button of those who do not.
pub const WITHDRAW_NOT: &str = "Keep my data";
/// The heading of questions that have none.
pub const UNTITLED: &str = "Questions";
/// The button that goes a page back.
pub const BACK_A_PAGE: &str = "Back";
/// The button that goes to the next page.
pub const NEXT: &str = "Next";
/// The button that goes to the next stage.
pub const CONTINUE: &str = "Continue";
/// The page can be left now, after it could not be.
pub const GO_ON_NOW: &str = "You can go on now.";
/// The button of those who agree.
pub const AGREE: &str = "I agree";
/// The button of those who do not agree.
pub const DISAGREE: &str = "I do not agree";
/// A newer page of this session plays on.
pub const SUPERSEDED: &str =
    "This study was opened in another tab or window and goes on there. You can close this one.";
/// The environment is on its way here.
pub const LOADING: &str = "Getting the game ready…";
/// Ways to the others are looked for.
pub const LINKING: &str = "Connecting…";
/// This page is ready, others are not.
pub const READY: &str = "Waiting for everybody to be ready…";
/// The page may fill the screen.
pub const ASK_FULLSCREEN: &str = "Best played in full screen.";
/// The page does not fill the screen any more.
pub const FULLSCREEN_LEFT: &str = "Not in full screen";
/// The button to fill the screen.
pub const FULLSCREEN: &str = "Full screen";
/// The episode is about to start.
pub const GET_READY: &str = "Get ready";
/// The episode has ended here, and the server has not said so yet.
pub const FINISHED: &str = "Time is up. Saving…";
/// The next stage is on its way here.
pub const ONE_MOMENT: &str = "One moment…";
/// The world waits for what only the server can say.
pub const WAITING_FOR_SERVER: &str =
    "The connection to the server was lost. It comes back by itself…";
/// The world waits for several people who are all there.
pub const WAITING_FOR_OTHERS: &str = "Waiting for the others…";
/// The heading of a lobby.
pub const LOBBY: &str = "Waiting room";
/// The server has not yet said who is in the lobby.
pub const LOOKING: &str = "Looking for your partner…";
/// Answers whether somebody is there.
pub const I_AM_HERE: &str = "I am here";
/// Goes back to the lobby.
pub const COME_BACK: &str = "Back to the waiting room";
/// The title of a page out of sight that asks something.
pub const ASKED_TITLE: &str = "● Are you still there?";
/// The title of a page out of sight whose partners are here.
pub const MATCHED_TITLE: &str = "● Your partner is here";
/// Others of the group have not come to this stage yet.
pub const REGROUP: &str = "The next round starts soon";
/// The person of this page is about to play again.
pub const COMING_BACK: &str = "One moment: you are coming back";
/// The person of this page plays again.
pub const BACK: &str = "You are back.";
/// The person of this page plays again; nobody did meanwhile.
pub const BACK_TO_PLACE: &str = "You are back. Your place was kept for you.";
/// The person of this page plays again.
pub const BACK_FROM_AI: &str = "You are back. An AI partner played for you meanwhile.";
/// The page failed.
pub const BROKEN: &str = "Something went wrong on this page, and it was reported. Please reload it: you continue where you were.";
/// The environment broke down in the middle of an episode.
pub const STOPPED: &str = "The game had a technical problem and was stopped. One moment…";
/// The environment could not be loaded.
pub const NO_MODULE: &str = "The game could not be loaded. Please reload this page; if this stays, write to the researchers.";

/// The button of those who want to leave.
pub const LEAVE: &str = "Leave the study";
/// Asks whether somebody really wants to leave.
pub const LEAVE_ASKED: &str =
    "Do you want to leave the study? It ends for you then, and you cannot come back.";
/// The button of those who stay.
pub const GO_ON: &str = "Go on";
/// A person only looks at what the work would be.
pub const PREVIEW: &str =
    "This is a preview. Accept the task to begin; nothing is recorded before.";
/// Names the completion code.
pub const CODE: &str = "Your completion code";
/// The button that copies the code.
pub const COPY: &str = "Copy";
/// The code was copied.
pub const COPIED: &str = "Copied.";
/// The button of the next person at the same computer.
pub const NEXT_PERSON: &str = "Next participant";
/// The button of those who want to read on.
pub const STAY: &str = "Stay on this page";
/// The button that hands the work in.
pub const SUBMIT: &str = "Submit to Mechanical Turk";
/// The heading of a page in a frame of another site.
pub const FRAME: &str = "This study has a window of its own";
/// Why.
pub const FRAME_WHY: &str = "It opens beside this page and needs the room and the keys. When you are done there, you hand in your work here.";
/// The button that opens it.
pub const FRAME_OPEN: &str = "Open the study";
/// The button of those who want no other window.
pub const FRAME_HERE: &str = "Go on here";
/// The heading while it is open.
pub const FRAME_OPENED: &str = "The study is open in its own window";
/// What happens then.
pub const FRAME_WAITS: &str =
    "When you are done there, this page goes on by itself, so that you can hand in your work.";
/// The button of those who closed it.
pub const FRAME_BACK: &str = "I closed it: go on here";
/// Said at the end in the window, whose work is handed in by the frame.
pub const FRAME_HANDS_IN: &str =
    "Now hand in your work on the page that you came from. You can close this window.";

/// The number of a visit.
pub fn receipt(number: &str) -> String {
    format!("The number of your visit is {number}.")
}

/// What somebody is paid.
pub fn pay(amount: &str) -> String {
    format!("Your pay is {amount}.")
}

/// The button that leads back to whoever sent the participant.
pub fn back_to(name: &str) -> String {
    format!("Back to {name}")
}

/// The page is about to lead away.
pub fn leaving(name: &str, left_s: u32) -> String {
    format!("You go back to {name} in {left_s} s. Everything is saved.")
}

/// The sentences for a refusal.
pub fn refusal(why: Refusal) -> &'static str {
    match why {
        Refusal::UnknownLink => {
            "This link is not known here. Please check that you copied all of it, or ask the researchers for a new one."
        }
        Refusal::Incomplete => {
            "This link does not say who you are. Please go back to the page on which you found this study, and open it from there."
        }
        Refusal::Full => {
            "There is no free place in this study at the moment. Please try the same link again later."
        }
        Refusal::OldPage => "This page is older than the server. Please reload it.",
        Refusal::Malformed => {
            "The server did not understand this page. Please reload it: you continue where you were."
        }
        Refusal::Stopping => {
            "The server is restarting. Please keep this page open: it connects again by itself, and nothing is lost."
        }
    }
}

/// What the person is told at the end of an episode.
pub fn outcome(reason: EndReason, score: i64) -> String {
    match reason {
        EndReason::Played => format!("Well played! Your score: {score}."),
        EndReason::PartnerLeft => {
            "Your partner left, so this round ended early. That is not your fault; please go on."
                .to_owned()
        }
        EndReason::Technical => {
            "A technical problem ended this round early. That is not your fault; please go on."
                .to_owned()
        }
    }
}

/// How many people are still needed in a lobby.
pub fn here(waiting: &Waiting) -> String {
    match waiting.needed.saturating_sub(waiting.here) {
        _ if waiting.ask == Ask::Return => "You are not waiting any more.".to_owned(),
        // Whoever fits together plays at once: these do not, by what the study asks of a group.
        0 => "Others wait here too. We look for somebody who fits your group…".to_owned(),
        1 => "Waiting for one more person…".to_owned(),
        missing => format!(
            "{} of {} people are here. Waiting for {missing} more…",
            waiting.here, waiting.needed
        ),
    }
}

/// How long somebody has waited, and how long it usually takes.
pub fn waited(waiting: &Waiting, since_ms: u64) -> String {
    // What was shown as a second stays one until the next.
    let waited_ms = (u64::from(waiting.waited_ms) + since_ms) / 1_000 * 1_000;
    let waited = format!("You have waited {}.", clock_face(waited_ms));
    match waiting.usual_ms {
        None => waited,
        Some(usual_ms) if usual_ms < 10_000 => format!("{waited} Lately it took a few seconds."),
        Some(usual_ms) => {
            let usual = clock_face(u64::from(usual_ms).div_ceil(5_000) * 5_000);
            format!("{waited} Lately it took about {usual}.")
        }
    }
}

/// What happens in a lobby when nobody comes.
pub fn at_timeout(waiting: &Waiting, since_ms: u64) -> String {
    let left_ms = u64::from(waiting.left_ms).saturating_sub(since_ms);
    let left = clock_face(left_ms);
    match (waiting.ask, waiting.then) {
        (Ask::Return, _) => "Your place was given to others.".to_owned(),
        (Ask::Choice, _) => "You still play at once if somebody comes.".to_owned(),
        (_, AtTimeout::Wait) => {
            "You play as soon as somebody comes. Please stay on this page.".to_owned()
        }
        _ if left_ms == 0 => ONE_MOMENT.to_owned(),
        (_, AtTimeout::GoOn) => {
            format!("If nobody comes, you go on in {left}. Please stay on this page.")
        }
        (_, AtTimeout::Ai) => format!(
            "If nobody comes, you play with an AI partner in {left}. Please stay on this page."
        ),
        (_, AtTimeout::Ask) => format!(
            "If nobody comes, you can choose in {left} how to go on. Please stay on this page."
        ),
        (_, AtTimeout::Leave) if waiting.paid => {
            format!(
                "If nobody comes, the study ends in {left}, and you are paid for your time. Please stay on this page."
            )
        }
        (_, AtTimeout::Leave) => {
            format!("If nobody comes, the study ends in {left}. Please stay on this page.")
        }
    }
}

/// What somebody who waits is asked.
pub fn question(waiting: &Waiting, since_ms: u64) -> Option<String> {
    match waiting.ask {
        Ask::Nothing => None,
        Ask::Presence { left_ms } => {
            let left_ms = u64::from(left_ms).saturating_sub(since_ms);
            let left = clock_face(left_ms.div_ceil(5_000) * 5_000);
            Some(format!(
                "Are you still there? Your place is kept for {left} more."
            ))
        }
        Ask::Return => Some(
            "You did not answer, so you have lost your place. You can come back at any time."
                .to_owned(),
        ),
        Ask::Choice => Some("Nobody has come yet. What would you like to do?".to_owned()),
    }
}

/// The button of a choice.
pub fn choice(choice: Choice, paid: bool) -> String {
    match choice {
        Choice::Wait => "Keep waiting",
        Choice::Ai => "Play with an AI partner",
        Choice::Leave if paid => "Leave, and be paid for my time",
        Choice::Leave => "Leave the study",
    }
    .to_owned()
}

/// Who of the group has not come yet, and whether their page is there.
pub fn missing(absent: &[(Seat, bool)], is_alone: bool) -> String {
    let is_away = !absent.is_empty() && absent.iter().all(|(_, connected)| !connected);
    let names = absent.iter().map(|(seat, _)| companion(*seat, is_alone));
    let names: Vec<String> = names.collect();
    let (whom, are) = match names.as_slice() {
        [] => return WAITING_FOR_OTHERS.to_owned(),
        [one] => (one.clone(), "is"),
        [first @ .., last] => (format!("{} and {last}", first.join(", ")), "are"),
    };
    if is_away {
        format!("{whom} {are} away and may come back…")
    } else {
        format!("{whom} {are} not here yet…")
    }
}

/// How long the others of the group are waited for.
pub fn regroup_hint(left_ms: u64) -> String {
    if left_ms == 0 {
        return ONE_MOMENT.to_owned();
    }
    let left = clock_face(left_ms);
    format!(
        "It goes on as soon as everybody is here, in {left} at the latest. Please stay on this page."
    )
}

/// What another person is called, at the start of a sentence.
pub fn companion(seat: Seat, is_alone: bool) -> String {
    if is_alone {
        "Your partner".to_owned()
    } else {
        format!("Player {}", u32::from(seat.0) + 1)
    }
}

/// The receipt of those who withdrew.
pub fn withdrawn(receipt: &str) -> String {
    format!("Your data are withdrawn. Your receipt: {receipt}. Please keep it.")
}

/// The page can be left in a while.
pub fn go_on_in(left_s: u32) -> String {
    format!("You can go on in {left_s} s.")
}

/// Which attempt at a quiz this is.
pub fn attempt(attempt: u8, attempts: u8) -> String {
    let which = format!("Attempt {attempt} of {attempts}.");
    match attempt >= attempts {
        true => format!("{which} {LAST_ATTEMPT}"),
        false => which,
    }
}

/// Somebody's page is out of sight.
pub fn looked_away(name: &str) -> String {
    format!("{name} has looked away.")
}

/// Somebody's page is gone; `plays_on` if the world goes on without them.
pub fn gone(name: &str, plays_on: bool) -> String {
    if plays_on {
        format!("{name} is away and may come back. You can play on.")
    } else {
        format!("{name} is away and may come back.")
    }
}

/// An AI partner has somebody's seat.
pub fn replaced(name: &str) -> String {
    format!("An AI partner plays on for {}.", in_a_sentence(name))
}

/// Somebody is about to play again.
pub fn returning(name: &str) -> String {
    format!("{name} is coming back…")
}

/// Somebody plays again.
pub fn back(name: &str) -> String {
    format!("{name} is back.")
}

/// The world waits for somebody who is there and heard.
pub fn waiting_for(name: &str) -> String {
    format!("Waiting for {}…", in_a_sentence(name))
}

/// The world waits for somebody who is there and not heard.
pub fn not_heard(name: &str) -> String {
    format!(
        "Waiting for {}: the connection is slow…",
        in_a_sentence(name)
    )
}

/// The world waits for somebody whose page is out of sight.
pub fn held_hidden(name: &str) -> String {
    format!("{name} has looked away. The game waits.")
}

/// The world waits for somebody whose page is gone.
pub fn held_gone(name: &str) -> String {
    format!("{name} is away. The game waits for them.")
}

fn in_a_sentence(name: &str) -> String {
    name.replacen("Your", "your", 1)
}

/// What is new in a description, line by line. That time goes by is not.
pub fn news(before: &str, now: &str) -> String {
    let told = |line: &str| match line.to_lowercase().contains("step") {
        true => line.replace(|letter: char| letter.is_ascii_digit(), ""),
        false => line.to_owned(),
    };
    let known: Vec<String> = before.lines().map(told).collect();
    let new = now.lines().filter(|line| !known.contains(&told(line)));
    new.collect::<Vec<_>>().join("\n")
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
                WAITING_FOR_OTHERS,
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
}
