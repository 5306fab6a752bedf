//! Gamepads as keys that go down and up.
//!
//! A page asks for the state of its gamepads with every frame. This module must not know of browsers.

use env_core::gamepad::BUTTONS;

/// The distance of a stick from which on it counts as a direction; 1 is the greatest distance.
const PUSHED: f64 = 0.5;

/// The gamepads of this computer, together.
#[derive(Debug, Default)]
pub struct Gamepads {
    /// Codes of the buttons that are down.
    down: Vec<&'static str>,
}

impl Gamepads {
    /// Takes the codes of all buttons that are down now; returns those that went down or up since, and whether they
    /// went down.
    pub fn update(&mut self, now: Vec<&'static str>) -> Vec<(&'static str, bool)> {
        let went = |from: &[&'static str], to: &[&'static str], is_down: bool| {
            let new = to.iter().filter(|code| !from.contains(code));
            new.map(|&code| (code, is_down)).collect::<Vec<_>>()
        };
        let mut changes = went(&now, &self.down, false);
        changes.extend(went(&self.down, &now, true));
        self.down = now;
        changes
    }
}

/// The codes of the buttons that one gamepad of the standard mapping has down. The left stick, right and down from -1 to 1,
/// presses the directions, too.
pub fn list_pressed(buttons: impl Iterator<Item = bool>, [x, y]: [f64; 2]) -> Vec<&'static str> {
    let pressed = buttons.zip(BUTTONS).filter(|(is_down, _)| *is_down);
    let mut codes: Vec<_> = pressed.map(|(_, code)| code).collect();
    let ways = [
        (-y, "GamepadUp"),
        (y, "GamepadDown"),
        (-x, "GamepadLeft"),
        (x, "GamepadRight"),
    ];
    for (far, code) in ways {
        if far > PUSHED && !codes.contains(&code) {
            codes.push(code);
        }
    }
    codes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buttons_and_stick_go_down_and_up_like_keys() {
        let mut pads = Gamepads::default();
        let south = |is_down| std::iter::once(is_down);
        let pressed = list_pressed(south(true), [0.0, -0.9]);
        assert_eq!(pressed, ["GamepadSouth", "GamepadUp"]);
        assert_eq!(
            pads.update(pressed.clone()),
            [("GamepadSouth", true), ("GamepadUp", true)]
        );
        assert_eq!(pads.update(pressed), []);
        assert_eq!(
            pads.update(list_pressed(south(false), [0.6, -0.4])),
            [
                ("GamepadSouth", false),
                ("GamepadUp", false),
                ("GamepadRight", true)
            ]
        );
        // A gamepad that is unplugged holds nothing.
        assert_eq!(pads.update(Vec::new()), [("GamepadRight", false)]);
    }

    #[test]
    fn a_direction_counts_once_by_cross_and_stick() {
        let mut buttons = [false; BUTTONS.len()];
        buttons[12] = true;
        let pressed = list_pressed(buttons.into_iter(), [f64::NAN, -1.0]);
        assert_eq!(pressed, ["GamepadUp"]);
    }
}
