//! What the page says when something is not as it should be: one sentence on what happened, one on what to do.
//!
//! This module must not know where the sentences are shown.

use env_core::contract::ActionSpec;
use protocol::control::{EndReason, Refusal};

/// The server has not answered since the page was opened.
pub const NO_SERVER: &str = "The server cannot be reached right now. Please keep this page open: it goes on trying by itself.";
/// The connection was lost on a page where it is needed.
pub const RECONNECTING: &str = "The connection was lost. Please keep this page open: it connects again by itself, and nothing is lost.";
/// The connection was lost during a match.
pub const SAVING_PAUSED: &str = "saving paused";
/// The server refused the answers.
pub const NOT_TAKEN: &str = "Your answers could not be saved. Please check them and try again.";
/// A newer page of this session plays on.
pub const SUPERSEDED: &str =
    "This study was opened in another tab or window and goes on there. You can close this one.";
/// The page failed.
pub const BROKEN: &str = "Something went wrong on this page, and it was reported. Please reload it: you continue where you were.";
/// The environment broke down in the middle of an episode.
pub const STOPPED: &str = "The game had a technical problem and was stopped. One moment…";
/// The environment could not be loaded.
pub const NO_MODULE: &str = "The game could not be loaded. Please reload this page; if this stays, write to the researchers.";

/// The sentences for a refusal.
pub fn refusal(why: Refusal) -> &'static str {
    match why {
        Refusal::UnknownLink => {
            "This link is not known here. Please check that you copied all of it, or ask the researchers for a new one."
        }
        Refusal::Finished => {
            "This link was used already and its session is over. Thank you: there is nothing left to do."
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

/// The sentences for the end of an episode that did not end by itself.
pub fn early_end(reason: EndReason) -> Option<&'static str> {
    match reason {
        EndReason::Played => None,
        EndReason::PartnerLeft => Some(
            "Your partner left, so this round ended early. That is not your fault; please go on.",
        ),
        EndReason::Technical => Some(
            "A technical problem ended this round early. That is not your fault; please go on.",
        ),
    }
}

/// What a key is called on a keyboard, by its `KeyboardEvent.code`.
pub fn key_name(code: &str) -> String {
    let arrow = match code {
        "ArrowUp" => "↑",
        "ArrowDown" => "↓",
        "ArrowLeft" => "←",
        "ArrowRight" => "→",
        _ => "",
    };
    let plain = code
        .strip_prefix("Key")
        .or_else(|| code.strip_prefix("Digit"))
        .unwrap_or(code);
    if arrow.is_empty() {
        plain.to_owned()
    } else {
        arrow.to_owned()
    }
}

/// What an action is called: its name in words.
pub fn action_name(action: &ActionSpec) -> String {
    action.name.replace('_', " ")
}

/// What a touch button for an action shows: an arrow for a direction, else its name.
pub fn button_name(action: &ActionSpec) -> String {
    let last = action.name.rsplit('_').next().unwrap_or_default();
    match last {
        "up" => "↑".to_owned(),
        "down" => "↓".to_owned(),
        "left" => "←".to_owned(),
        "right" => "→".to_owned(),
        _ => action_name(action),
    }
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
    fn keys_and_actions_have_short_names() {
        let action = |name: &str| ActionSpec {
            name: name.to_owned(),
            momentary: false,
            keys: Vec::new(),
        };
        assert_eq!(
            ["ArrowUp", "KeyW", "Digit3", "Space"].map(key_name),
            ["↑", "W", "3", "Space"]
        );
        assert_eq!(button_name(&action("move_left")), "←");
        assert_eq!(button_name(&action("pickup_drop")), "pickup drop");
    }

    #[test]
    fn the_time_left_ends_at_zero() {
        assert_eq!(
            [90_000, 89_001, 59_999, 1, 0].map(clock_face),
            ["1:30", "1:30", "1:00", "0:01", "0:00"]
        );
    }
}
