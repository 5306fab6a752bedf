//! Requirements of a study that a device or connection does not meet, in words: the need, the state, and a remedy.
//!
//! This module must not know where the words are shown, nor how anything is measured.

use std::fmt::Display;

use protocol::control::{Ability, Device, Lack};

use crate::messages::{current_words, fill_in, format_number};

/// The checks, in their order.
pub fn name_checks() -> [&'static str; 4] {
    let words = current_words();
    [
        words.check_browser,
        words.check_game,
        words.check_connection,
        words.check_picture,
    ]
}

/// Measurements of a device and its connection, as far as they were made.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measurements {
    /// Width and height of the window, CSS pixels.
    pub window: (u32, u32),
    /// Round trip to the server, milliseconds.
    pub rtt_ms: Option<f64>,
    /// Frames per second.
    pub fps: Option<f64>,
    /// A step of the slowest world, milliseconds.
    pub step_ms: Option<f64>,
}

/// The need, and the state if it is known.
pub fn say_need(lack: &Lack, found: Option<Measurements>) -> String {
    let there = |value: fn(Measurements) -> Option<f64>| found.and_then(value);
    match lack {
        Lack::Device(devices) => fill_in(
            current_words().needs_device,
            &[("devices", &one_of(devices))],
        ),
        Lack::Ability(ability) => match ability {
            Ability::Webrtc => current_words().lacks_webrtc,
            Ability::Fullscreen => current_words().lacks_fullscreen,
            Ability::Audio => current_words().lacks_audio,
            Ability::Keyboard => current_words().lacks_keyboard,
            Ability::Touch => current_words().lacks_touch,
        }
        .to_owned(),
        Lack::Window { width, height } => {
            let size = |sentence, width: &dyn Display, height: &dyn Display| {
                fill_in(sentence, &[("width", width), ("height", height)])
            };
            let needs = size(current_words().needs_window, width, height);
            match found {
                Some(Measurements { window: (w, h), .. }) => {
                    format!("{needs} {}", size(current_words().this_window, &w, &h))
                }
                None => needs,
            }
        }
        Lack::Rtt(most) => match there(|found| found.rtt_ms) {
            Some(ms) => slower(current_words().slow_connection, format!("{ms:.0}"), most),
            None => fill_in(current_words().needs_connection, &[("most", most)]),
        },
        Lack::Fps(least) => match there(|found| found.fps) {
            Some(fps) => fill_in(
                current_words().slow_picture,
                &[("frames", &frames(fps.round())), ("least", least)],
            ),
            None => fill_in(
                current_words().needs_frames,
                &[("frames", &frames(f64::from(*least)))],
            ),
        },
        Lack::Step(most) => {
            let most = format_number(f64::from(*most) / 1_000.0);
            match there(|found| found.step_ms) {
                Some(ms) => slower(current_words().slow_game, format!("{ms:.2}"), &most),
                None => fill_in(current_words().needs_step, &[("most", &most)]),
            }
        }
        Lack::Other(said) if said.is_empty() => current_words().lacks_something.to_owned(),
        Lack::Other(said) => said.clone(),
    }
}

/// Returns the remedy on the person's device; `None` if the study says it itself.
pub fn say_remedy(lack: &Lack, device: Device) -> Option<String> {
    let said = match lack {
        Lack::Device(devices) => return Some(open_on(devices)),
        Lack::Ability(Ability::Keyboard) => return Some(open_on(&[Device::Desktop])),
        Lack::Ability(Ability::Touch) => current_words().mend_touch,
        Lack::Ability(_) => current_words().mend_browser,
        Lack::Window { .. } if device == Device::Desktop => current_words().mend_window,
        Lack::Window { .. } => current_words().mend_screen,
        Lack::Rtt(_) => current_words().mend_connection,
        Lack::Fps(_) | Lack::Step(_) => current_words().mend_speed,
        Lack::Other(said) if !said.is_empty() => return None,
        Lack::Other(_) => current_words().mend_something,
    };
    Some(said.to_owned())
}

/// The number of attempts left, if there is a limit.
pub fn say_attempts_left(left: u8) -> String {
    match left {
        1 => current_words().check_once.to_owned(),
        left => fill_in(current_words().check_more, &[("left", &left)]),
    }
}

/// The time that something took, and the longest time that it may take, milliseconds.
fn slower(sentence: &str, ms: String, most: &dyn Display) -> String {
    fill_in(sentence, &[("ms", &format_number(ms)), ("most", most)])
}

/// `1 frame`, `50 frames`.
fn frames(count: f64) -> String {
    match count {
        1.0 => current_words().one_frame.to_owned(),
        count => fill_in(current_words().frames, &[("count", &count)]),
    }
}

/// The same link helps on another device.
fn open_on(devices: &[Device]) -> String {
    fill_in(current_words().open_on, &[("devices", &one_of(devices))])
}

/// `a computer`, `a tablet or a phone`.
fn one_of(devices: &[Device]) -> String {
    let name = |device: &Device| match device {
        Device::Desktop => current_words().a_computer,
        Device::Tablet => current_words().a_tablet,
        Device::Phone => current_words().a_phone,
    };
    devices
        .iter()
        .map(name)
        .collect::<Vec<_>>()
        .join(current_words().or)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::choose_language;

    #[test]
    fn what_is_lacking_is_told_with_what_there_is() {
        let found = Some(Measurements {
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
            say_need(&window, found),
            "The study needs a window of at least 1024 × 640. Yours has 800 × 600."
        );
        assert_eq!(
            say_need(&window, None),
            "The study needs a window of at least 1024 × 640."
        );
        assert_eq!(
            say_need(&Lack::Rtt(150), found),
            "Your connection is too slow: the server's answer took 231 ms, and it may take 150 ms at most."
        );
        assert_eq!(
            say_need(&Lack::Fps(50), found),
            "The study needs 50 frames a second."
        );
        assert_eq!(
            say_need(&Lack::Step(500), found),
            "The game is too slow on this device: a step takes 4.26 ms, and it may take 0.5 ms at most."
        );
    }

    #[test]
    fn a_study_that_explains_itself_is_left_to_do_so() {
        let own = Lack::Other("Please turn your phone.".to_owned());
        assert_eq!(say_need(&own, None), "Please turn your phone.");
        assert_eq!(say_remedy(&own, Device::Desktop), None);
        assert!(say_remedy(&Lack::Other(String::new()), Device::Desktop).is_some());
    }

    #[test]
    fn other_devices_are_named() {
        let lack = Lack::Device(vec![Device::Tablet, Device::Phone]);
        assert_eq!(
            say_need(&lack, None),
            "The study needs a tablet or a phone."
        );
        assert_eq!(
            say_remedy(&lack, Device::Desktop).as_deref(),
            Some("Open the same link on a tablet or a phone.")
        );
    }

    #[test]
    fn keys_are_told_to_those_who_have_some() {
        let window = Lack::Window {
            width: 1_024,
            height: 640,
        };
        let said = |device| say_remedy(&window, device).unwrap();
        assert!(said(Device::Desktop).contains("Ctrl and −"));
        for device in [Device::Phone, Device::Tablet] {
            assert!(said(device).starts_with("Turn your device"));
        }
    }

    #[test]
    fn what_is_lacking_is_told_in_german() {
        choose_language(["de"]);
        let lack = Lack::Device(vec![Device::Tablet, Device::Phone]);
        let on = "auf einem Tablet oder einem Smartphone";
        assert_eq!(
            say_need(&lack, None),
            format!("Die Studie ist nur {on} möglich.")
        );
        assert_eq!(
            say_remedy(&lack, Device::Desktop),
            Some(format!("Öffnen Sie denselben Link {on}."))
        );
        let found = Some(Measurements {
            fps: Some(1.2),
            step_ms: Some(4.257),
            ..Measurements::default()
        });
        assert_eq!(
            say_need(&Lack::Step(500), found),
            "Das Spiel ist auf diesem Gerät zu langsam: Ein Schritt dauert 4,26 ms, \
             und höchstens 0,5 ms dürfen es sein."
        );
        assert_eq!(
            say_need(&Lack::Fps(50), found),
            "Die Anzeige ist zu langsam: 1 Bild pro Sekunde, und die Studie braucht 50."
        );
        assert_eq!(say_attempts_left(2), "Sie können noch 2-mal prüfen.");
        choose_language(["en"]);
    }
}
