//! What a device or connection lacks for a study, in words: what is needed, what there is, and what the person can do.
//!
//! This module must not know where the words are shown, nor how anything is measured.

use protocol::control::{Ability, Device, Lack};

/// The heading while device and connection are measured.
pub const CHECKING: &str = "Checking your device and connection";
/// What the person does meanwhile.
pub const CHECKING_HINT: &str = "This takes a few seconds. Please keep this page in sight.";
/// The page is out of sight, so nothing can be measured.
pub const COME_BACK: &str = "Waiting until this page is in sight…";
/// What is looked at, in this order.
pub const CHECKS: [&str; 4] = ["Browser and window", "Game", "Connection", "Picture"];
/// The heading if something is lacking.
pub const LACKING: &str = "Something does not fit yet";
/// Before what is lacking.
pub const LACKING_HINT: &str =
    "The study cannot be done like this. Here is why, and what you can do:";
/// Before what is lacking, on the last page.
pub const WHY: &str = "Why it ended here:";
/// The button of those who have mended it.
pub const TRY_AGAIN: &str = "Check again";
/// The button of those who cannot.
pub const CANNOT_MEND: &str = "I cannot change this";

/// What was measured last, as far as it was.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Found {
    /// Width and height of the window, CSS pixels.
    pub window: (u32, u32),
    /// Round trip to the server, milliseconds.
    pub rtt_ms: Option<f64>,
    /// Frames per second.
    pub fps: Option<f64>,
    /// A step of the slowest world, milliseconds.
    pub step_ms: Option<f64>,
}

/// What is needed, and what there is if that is known.
pub fn needed(lack: &Lack, found: Option<Found>) -> String {
    let there = |value: fn(Found) -> Option<f64>| found.and_then(value);
    match lack {
        Lack::Device(devices) => format!("The study needs {}.", one_of(devices)),
        Lack::Ability(ability) => match ability {
            Ability::Webrtc => "This browser cannot connect to other players.",
            Ability::Fullscreen => "This browser cannot show a page on the whole screen.",
            Ability::Audio => "This browser cannot play sound.",
            Ability::Keyboard => "The study is done with a keyboard.",
            Ability::Touch => "The study is done on a screen that is touched.",
        }
        .to_owned(),
        Lack::Window { width, height } => {
            let needs = format!("The study needs a window of at least {width} × {height}");
            match found {
                Some(Found { window: (w, h), .. }) => format!("{needs}. This one has {w} × {h}."),
                None => format!("{needs}."),
            }
        }
        Lack::Rtt(most) => match there(|found| found.rtt_ms) {
            Some(ms) => format!(
                "The connection is too slow: the server's answer took {ms:.0} ms, and {most} ms is the most."
            ),
            None => format!("The study needs a connection with answers within {most} ms."),
        },
        Lack::Fps(least) => match there(|found| found.fps) {
            Some(fps) => format!(
                "The picture is too slow: {fps:.0} frames a second, and {least} are needed."
            ),
            None => format!("The study needs {least} frames a second."),
        },
        Lack::Step(most) => {
            let most = f64::from(*most) / 1_000.0;
            match there(|found| found.step_ms) {
                Some(ms) => format!(
                    "The game is too slow on this device: a step takes {ms:.2} ms, and {most} ms is the most."
                ),
                None => {
                    format!("The study needs a device that takes a step of the game in {most} ms.")
                }
            }
        }
        Lack::Other(said) if said.is_empty() => {
            "The study needs something that this device or connection does not have right now."
                .to_owned()
        }
        Lack::Other(said) => said.clone(),
    }
}

/// What the person can do about it; nothing if the study says it itself.
pub fn mend(lack: &Lack) -> Option<String> {
    let said = match lack {
        Lack::Device(devices) => {
            return Some(format!("Open the same link on {}.", one_of(devices)));
        }
        Lack::Ability(Ability::Keyboard) => "Open the same link on a computer.",
        Lack::Ability(Ability::Touch) => "Open the same link on a phone or tablet.",
        Lack::Ability(_) => {
            "Open the same link in a current Firefox, Chrome, Edge or Safari, with nothing that blocks it."
        }
        Lack::Window { .. } => "Make the window larger, or zoom out: Ctrl and −, on a Mac ⌘ and −.",
        Lack::Rtt(_) => {
            "Stop downloads and videos, go closer to the Wi-Fi or use a cable, and check again."
        }
        Lack::Fps(_) | Lack::Step(_) => {
            "Close other tabs and programs, plug in the charger, and check again."
        }
        Lack::Other(said) if !said.is_empty() => return None,
        Lack::Other(_) => "Try another browser, device or connection with the same link.",
    };
    Some(said.to_owned())
}

/// How often the person may still try, if that is not for ever.
pub fn attempts(left: u8) -> String {
    match left {
        1 => "You can check once more.".to_owned(),
        left => format!("You can check {left} more times."),
    }
}

/// `a computer`, `a tablet or a phone`.
fn one_of(devices: &[Device]) -> String {
    let name = |device: &Device| match device {
        Device::Desktop => "a computer",
        Device::Tablet => "a tablet",
        Device::Phone => "a phone",
    };
    devices.iter().map(name).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lacking_is_told_with_what_there_is() {
        let found = Some(Found {
            window: (800, 600),
            rtt_ms: Some(231.4),
            fps: None,
            step_ms: Some(4.257),
        });
        let window = Lack::Window {
            width: 1_024,
            height: 640,
        };
        assert_eq!(
            needed(&window, found),
            "The study needs a window of at least 1024 × 640. This one has 800 × 600."
        );
        assert_eq!(
            needed(&window, None),
            "The study needs a window of at least 1024 × 640."
        );
        assert_eq!(
            needed(&Lack::Rtt(150), found),
            "The connection is too slow: the server's answer took 231 ms, and 150 ms is the most."
        );
        assert_eq!(
            needed(&Lack::Fps(50), found),
            "The study needs 50 frames a second."
        );
        assert_eq!(
            needed(&Lack::Step(500), found),
            "The game is too slow on this device: a step takes 4.26 ms, and 0.5 ms is the most."
        );
    }

    #[test]
    fn a_study_that_explains_itself_is_left_to_do_so() {
        let own = Lack::Other("Please turn your phone.".to_owned());
        assert_eq!(needed(&own, None), "Please turn your phone.");
        assert_eq!(mend(&own), None);
        assert!(mend(&Lack::Other(String::new())).is_some());
    }

    #[test]
    fn other_devices_are_named() {
        let lack = Lack::Device(vec![Device::Tablet, Device::Phone]);
        assert_eq!(needed(&lack, None), "The study needs a tablet or a phone.");
        assert_eq!(
            mend(&lack).as_deref(),
            Some("Open the same link on a tablet or a phone.")
        );
    }
}
