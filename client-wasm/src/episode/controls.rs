//! Names of keys and actions, and the arrangement of an environment's controls.
//!
//! This module must not know where they are shown.

use std::collections::BTreeMap;

use env_core::contract::ActionSpec;
use env_core::{Action, Spec, gamepad, shared};

use crate::episode::keys::Keys;
use crate::messages;

/// Letters printed on the keys of the person's keyboard, by `KeyboardEvent.code`; empty where a browser does not
/// tell.
pub type KeyboardLayout = BTreeMap<String, String>;

/// The name of a key on a keyboard, by its `KeyboardEvent.code`.
pub fn name_key(code: &str, layout: &KeyboardLayout) -> String {
    let words = messages::current_words();
    let named = match code {
        "ArrowUp" => "↑",
        "ArrowDown" => "↓",
        "ArrowLeft" => "←",
        "ArrowRight" => "→",
        "Space" => words.space_key,
        "ShiftLeft" | "ShiftRight" => words.shift_key,
        "ControlLeft" | "ControlRight" => words.control_key,
        "Enter" => words.enter_key,
        "NumpadEnter" => return format!("Num {}", words.enter_key),
        _ => "",
    };
    if !named.is_empty() {
        return named.to_owned();
    }
    if let Some(digit) = code.strip_prefix("Numpad") {
        return format!("Num {digit}");
    }
    if let Some(printed) = layout.get(code).filter(|_| !code.starts_with("Digit"))
        && !printed.trim().is_empty()
    {
        return printed.to_uppercase();
    }
    let plain = match code {
        "Comma" => ",",
        "Period" => ".",
        "Slash" => "/",
        "Semicolon" => ";",
        "Quote" => "'",
        "Minus" => "-",
        "Equal" => "=",
        _ => code,
    };
    let letter = plain
        .strip_prefix("Key")
        .or_else(|| plain.strip_prefix("Digit"));
    letter.unwrap_or(plain).to_owned()
}

/// The name of an action in words.
pub fn name_action(name: &str) -> String {
    let words = name.replace(['_', '-'], " ");
    let words = words.trim();
    let mut letters = words.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// A direction of the pad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PadDirection {
    /// Up or forward.
    Up,
    /// Left.
    Left,
    /// Down or back.
    Down,
    /// Right.
    Right,
}

impl PadDirection {
    /// All, in the order in which keys are explained: as on a keyboard, from the thumb on.
    pub const ALL: [Self; 4] = [Self::Up, Self::Left, Self::Down, Self::Right];

    /// The direction that an action's name ends with, and the name before it.
    pub fn of(name: &str) -> Option<(Self, &str)> {
        let (rest, last) = name.rsplit_once(['_', '-']).unwrap_or(("", name));
        let way = match last {
            "up" | "forward" => Self::Up,
            "left" => Self::Left,
            "down" | "back" | "backward" => Self::Down,
            "right" => Self::Right,
            _ => return None,
        };
        Some((way, rest))
    }

    /// As an attribute has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Left => "left",
            Self::Down => "down",
            Self::Right => "right",
        }
    }
}

/// A button to touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    /// Its action.
    pub action: Action,
    /// Its place on the cross; `None` for one beside it.
    pub way: Option<PadDirection>,
    /// The sign on it.
    pub face: String,
    /// Its name for screen readers.
    pub label: String,
}

/// Returns the buttons for all actions that have a key; actions without a key have no button. Buttons for the four
/// directions, or at least two of them, make a cross.
pub fn lay_buttons(spec: &Spec, keys: &Keys) -> Vec<Button> {
    let reached: Vec<(Action, &ActionSpec)> = reached(spec, keys).collect();
    let mut ways: BTreeMap<PadDirection, Action> = BTreeMap::new();
    for (action, of) in &reached {
        if let Some((way, _)) = PadDirection::of(&of.name) {
            ways.entry(way).or_insert(*action);
        }
    }
    if ways.len() < 2 {
        ways.clear();
    }
    let button = |(action, of): (Action, &ActionSpec)| {
        let own = ways.iter().find(|(_, of)| **of == action);
        let way = own.map(|(way, _)| *way);
        let label = name_action(&of.name);
        Button {
            action,
            way,
            face: way.map_or(label.clone(), |way| face(way, &of.name).to_owned()),
            label,
        }
    };
    reached.into_iter().map(button).collect()
}

fn face(way: PadDirection, name: &str) -> &'static str {
    let turns = name.starts_with("rotate") || name.starts_with("turn");
    match way {
        PadDirection::Left if turns => "↺",
        PadDirection::Right if turns => "↻",
        PadDirection::Up => "↑",
        PadDirection::Left => "←",
        PadDirection::Down => "↓",
        PadDirection::Right => "→",
    }
}

fn reached<'a>(
    spec: &'a Spec,
    keys: &'a Keys,
) -> impl Iterator<Item = (Action, &'a ActionSpec)> + 'a {
    // A seat that is shared has its own buttons, which name their keys.
    (0..)
        .zip(&spec.actions)
        .filter(|(_, of)| !of.name.starts_with(shared::MARK))
        .filter(|(action, _)| keyboard_keys(keys, *action).next().is_some())
}

/// The explanation of some keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// The ways to do it; each of them is keys, which are parts of a chord if it `is_chord`.
    pub keys: Vec<Press>,
    /// Their action in words.
    pub label: String,
}

/// Keys that stand together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Press {
    /// Their names.
    pub names: Vec<String>,
    /// The action of each of them.
    pub actions: Vec<Action>,
    /// True if all of them are pressed together.
    pub is_chord: bool,
}

/// The explanations of the keys, in the order of the actions. Four directions of one kind are explained together.
pub fn explain_keys(spec: &Spec, keys: &Keys, layout: &KeyboardLayout) -> Vec<Hint> {
    let mut hints: Vec<Hint> = Vec::new();
    let mut told: Vec<Action> = Vec::new();
    let press = |action: Action, chord: &str| {
        let names: Vec<String> = chord
            .split('+')
            .map(|code| name_key(code, layout))
            .collect();
        Press {
            is_chord: names.len() > 1,
            actions: vec![action; names.len()],
            names,
        }
    };
    for (action, of) in reached(spec, keys) {
        if told.contains(&action) {
            continue;
        }
        if let Some((kind, four)) = cross(spec, keys, &of.name) {
            hints.push(Hint {
                keys: together(&four, keys, press),
                label: name_action(if kind.is_empty() { "move" } else { kind }),
            });
            told.extend(four);
            continue;
        }
        let mut all: Vec<Press> = Vec::new();
        for press in keyboard_keys(keys, action).map(|chord| press(action, chord)) {
            if !all.contains(&press) {
                all.push(press);
            }
        }
        all.truncate(2);
        hints.push(Hint {
            keys: all,
            label: name_action(&of.name),
        });
    }
    hints
}

/// The keys and chords of an action, without the buttons of a gamepad.
fn keyboard_keys(keys: &Keys, action: Action) -> impl Iterator<Item = &str> {
    keys.keys_of(action)
        .filter(|chord| !chord.contains(gamepad::PREFIX))
}

/// The actions of all four directions that are of one kind with this one, if each has the same number of single keys.
fn cross<'a>(spec: &Spec, keys: &Keys, name: &'a str) -> Option<(&'a str, [Action; 4])> {
    let (_, kind) = PadDirection::of(name)?;
    let count = |action: Action| keyboard_keys(keys, action).count();
    let mut four = [0; 4];
    for (slot, way) in four.iter_mut().zip(PadDirection::ALL) {
        let is = |(_, of): &(Action, &ActionSpec)| PadDirection::of(&of.name) == Some((way, kind));
        let (action, _) = reached(spec, keys).find(is)?;
        if keyboard_keys(keys, action).any(|chord| chord.contains('+')) {
            return None;
        }
        *slot = action;
    }
    (four.iter().all(|action| count(*action) == count(four[0]))).then_some((kind, four))
}

/// Returns the keys of four directions, first the first key of each.
fn together(four: &[Action; 4], keys: &Keys, press: impl Fn(Action, &str) -> Press) -> Vec<Press> {
    let nth = |at: usize| {
        let mut whole = Press {
            names: Vec::new(),
            actions: Vec::new(),
            is_chord: false,
        };
        for action in four {
            let Some(key) = keyboard_keys(keys, *action).nth(at) else {
                continue;
            };
            let of_one = press(*action, key);
            whole.names.extend(of_one.names);
            whole.actions.extend(of_one.actions);
        }
        whole
    };
    (0..keyboard_keys(keys, four[0]).count().min(2))
        .map(nth)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(actions: &[(&str, &[&str])]) -> (Spec, Keys) {
        let action = |&(name, keys): &(&str, &[&str])| ActionSpec {
            name: name.to_owned(),
            momentary: false,
            keys: keys.iter().map(|&key| key.to_owned()).collect(),
            ..ActionSpec::default()
        };
        let spec = Spec {
            id: "test".to_owned(),
            version: "1.0.0".to_owned(),
            title: "Test".to_owned(),
            seats: 1,
            actions: actions.iter().map(action).collect(),
            noop: 0,
            observation: Vec::new(),
            tick_hz: 10,
            horizon: 10,
            events: Vec::new(),
            compact: false,
            ..Spec::default()
        };
        let keys = Keys::new(&spec, &[], false);
        (spec, keys)
    }

    fn kitchen() -> (Spec, Keys) {
        world(&[
            ("noop", &[]),
            ("move_up", &["ArrowUp", "KeyW", "GamepadUp"]),
            ("move_down", &["ArrowDown", "KeyS"]),
            ("move_left", &["ArrowLeft", "KeyA"]),
            ("move_right", &["ArrowRight", "KeyD"]),
            ("pick_up_or_drop", &["Space", "GamepadSouth", "KeyE"]),
            ("shout", &["ShiftLeft", "ShiftRight"]),
            ("sprint", &["ShiftLeft+KeyW"]),
        ])
    }

    fn told(spec: &Spec, keys: &Keys, layout: &KeyboardLayout) -> Vec<String> {
        let press = |press: &Press| press.names.join(if press.is_chord { "+" } else { " " });
        let tell = |hint: &Hint| {
            let keys: Vec<_> = hint.keys.iter().map(press).collect();
            format!("{}: {}", keys.join(" or "), hint.label)
        };
        explain_keys(spec, keys, layout).iter().map(tell).collect()
    }

    #[test]
    fn every_key_that_is_explained_has_its_action() {
        let (spec, keys) = kitchen();
        let hints = explain_keys(&spec, &keys, &KeyboardLayout::new());
        let actions = |hint: usize| hints[hint].keys.iter().map(|press| &press.actions[..]);
        assert!(actions(0).eq([[1, 3, 2, 4]; 2].iter().map(|four| &four[..])));
        assert!(actions(1).eq([[5]; 2].iter().map(|one| &one[..])));
        let chord = &hints[3].keys[0];
        assert_eq!((&chord.actions[..], chord.is_chord), (&[7, 7][..], true));
    }

    #[test]
    fn keys_are_called_what_people_call_them() {
        let names = [
            "ArrowUp",
            "KeyW",
            "Digit3",
            "Space",
            "ShiftLeft",
            "Numpad4",
            "NumpadEnter",
            "Comma",
        ];
        let none = KeyboardLayout::new();
        assert_eq!(
            names.map(|code| name_key(code, &none)),
            ["↑", "W", "3", "Space", "Shift", "Num 4", "Num Enter", ","]
        );
        let french = [("KeyW", "z"), ("Comma", ";"), ("Digit3", "\"")];
        let french = french
            .map(|(code, printed)| (code.to_owned(), printed.to_owned()))
            .into();
        assert_eq!(
            names.map(|code| name_key(code, &french)),
            ["↑", "Z", "3", "Space", "Shift", "Num 4", "Num Enter", ";"]
        );
        messages::choose_language(["de"]);
        assert_eq!(
            names.map(|code| name_key(code, &none)),
            [
                "↑",
                "W",
                "3",
                "Leertaste",
                "Umschalt",
                "Num 4",
                "Num Eingabe",
                ","
            ]
        );
    }

    #[test]
    fn hints_tell_four_directions_together() {
        let (spec, keys) = kitchen();
        assert_eq!(
            told(&spec, &keys, &KeyboardLayout::new()),
            [
                "↑ ← ↓ → or W A S D: Move",
                "Space or E: Pick up or drop",
                "Shift: Shout",
                "Shift+W: Sprint",
            ]
        );
    }

    #[test]
    fn directions_that_are_not_four_are_told_one_by_one() {
        let (spec, keys) = world(&[
            ("move_forward", &["ArrowUp"]),
            ("rotate_left", &["ArrowLeft"]),
            ("rotate_right", &["ArrowRight"]),
        ]);
        assert_eq!(
            told(&spec, &keys, &KeyboardLayout::new()),
            ["↑: Move forward", "←: Rotate left", "→: Rotate right"]
        );
    }

    #[test]
    fn buttons_make_a_cross_of_the_directions() {
        let faces = |(spec, keys): &(Spec, Keys)| {
            let face = |button: &Button| (button.way.map(PadDirection::name), button.face.clone());
            lay_buttons(spec, keys).iter().map(face).collect::<Vec<_>>()
        };
        let some = |way, face: &str| (Some(way), face.to_owned());
        let beside = |face: &str| (None, face.to_owned());
        assert_eq!(
            faces(&kitchen()),
            [
                some("up", "↑"),
                some("down", "↓"),
                some("left", "←"),
                some("right", "→"),
                beside("Pick up or drop"),
                beside("Shout"),
                beside("Sprint"),
            ]
        );
        let turning = world(&[
            ("move_forward", &["ArrowUp"]),
            ("rotate_left", &["ArrowLeft"]),
            ("rotate_right", &["ArrowRight"]),
            ("look_left", &["KeyA"]),
        ]);
        assert_eq!(
            faces(&turning),
            [
                some("up", "↑"),
                some("left", "↺"),
                some("right", "↻"),
                beside("Look left")
            ]
        );
        let game = world(&[("give_up", &["KeyG"]), ("defect", &["KeyD"])]);
        assert_eq!(faces(&game), [beside("Give up"), beside("Defect")]);
    }
}
