//! The keys of an env stage.

use std::collections::BTreeMap;

use crate::limits::MAX_CHORD;
use crate::problem::{make_hint, nearest_name};
use crate::read::Cursor;

/// The buttons of a gamepad, which are keys, too.
///
/// Source: `gamepad::BUTTONS` of `env-core`, which this crate does not know.
pub const GAMEPAD_BUTTONS: [&str; 17] = [
    "GamepadSouth",
    "GamepadEast",
    "GamepadWest",
    "GamepadNorth",
    "GamepadLeftBumper",
    "GamepadRightBumper",
    "GamepadLeftTrigger",
    "GamepadRightTrigger",
    "GamepadSelect",
    "GamepadStart",
    "GamepadLeftStick",
    "GamepadRightStick",
    "GamepadUp",
    "GamepadDown",
    "GamepadLeft",
    "GamepadRight",
    "GamepadHome",
];

/// Reads which keys and chords mean which action: none twice, and only keys that there are.
pub(crate) fn read(place: &Cursor<'_>) -> Option<BTreeMap<String, Vec<String>>> {
    let mut keys = BTreeMap::new();
    let mut taken: BTreeMap<Vec<String>, &str> = BTreeMap::new();
    let mut whole = true;
    for (action, place) in place.read_entries("actions and their keys")? {
        let codes: Option<Vec<String>> = place.list("key codes", 8).and_then(|places| {
            places
                .iter()
                .map(chord)
                .collect::<Vec<_>>()
                .into_iter()
                .collect()
        });
        let Some(codes) = codes else {
            whole = false;
            continue;
        };
        for code in &codes {
            // Chords are equal if they differ only in the order of their keys.
            let mut chord: Vec<String> = code.split('+').map(str::to_owned).collect();
            chord.sort();
            if let Some(other) = taken.insert(chord, action) {
                place.report_problem(format!(
                    "`{code}` is already a key of `{other}`; a key can mean one action only"
                ));
                whole = false;
            }
        }
        keys.insert(action.to_owned(), codes);
    }
    whole.then_some(keys)
}

/// Reads a single key.
pub(crate) fn read_key(place: &Cursor<'_>) -> Option<String> {
    let code = chord(place)?;
    if code.contains('+') {
        place.report_problem(format!(
            "`{code}` is a chord; take a single key, such as `KeyH`"
        ));
        return None;
    }
    Some(code)
}

/// A key, or several with `+` between them that are down together.
fn chord(place: &Cursor<'_>) -> Option<String> {
    let text = place.text(80)?;
    let codes: Vec<&str> = text.split('+').map(str::trim).collect();
    let fault = codes.iter().find_map(|code| fault(code)).or_else(|| {
        let twice = |(at, code): &(usize, &&str)| codes[..*at].contains(code);
        let twice = codes.iter().enumerate().find(twice);
        match twice {
            Some((_, code)) => Some(format!(
                "`{code}` is there twice in `{text}`; a chord is of different keys"
            )),
            None => (codes.len() > MAX_CHORD).then(|| {
                format!(
                    "`{text}` is a chord of {} keys; people hold {MAX_CHORD} at most",
                    codes.len()
                )
            }),
        }
    });
    if let Some(fault) = fault {
        place.report_problem(fault);
        return None;
    }
    Some(codes.join("+"))
}

/// Returns why this is neither a `KeyboardEvent.code` that can be a key, nor a button of a gamepad.
///
/// Source: UI Events KeyboardEvent code Values, §3.1.
fn fault(text: &str) -> Option<String> {
    const NAMED: [&str; 18] = [
        "ArrowUp",
        "ArrowDown",
        "ArrowLeft",
        "ArrowRight",
        "Space",
        "Enter",
        "Backspace",
        "Tab",
        "ShiftLeft",
        "ShiftRight",
        "Comma",
        "Period",
        "Slash",
        "Semicolon",
        "Quote",
        "Minus",
        "Equal",
        "NumpadEnter",
    ];
    if ["Control", "Alt", "Meta"]
        .iter()
        .any(|of| text.starts_with(of))
    {
        return Some(format!(
            "`{text}` cannot be a key: what is pressed with Ctrl, Alt or Meta belongs to the browser; take another one, such as `ShiftLeft`"
        ));
    }
    let last = |prefix: &str| {
        text.strip_prefix(prefix)
            .filter(|rest| rest.len() == 1)
            .and_then(|rest| rest.chars().next())
    };
    let known = NAMED.contains(&text)
        || last("Key").is_some_and(|c| c.is_ascii_uppercase())
        || last("Digit")
            .or(last("Numpad"))
            .is_some_and(|c| c.is_ascii_digit());
    if known || GAMEPAD_BUTTONS.contains(&text) {
        return None;
    }
    if text.starts_with("Gamepad") {
        return Some(format!(
            "`{text}` is no button of a gamepad; {}",
            make_hint(text, &GAMEPAD_BUTTONS)
        ));
    }
    let hint = match text.chars().next() {
        Some(c) if text.len() == 1 && c.is_ascii_alphabetic() => {
            format!("did you mean `Key{}`?", c.to_ascii_uppercase())
        }
        Some(c) if text.len() == 1 && c.is_ascii_digit() => format!("did you mean `Digit{c}`?"),
        _ => match nearest_name(text, &NAMED) {
            Some(name) => format!("did you mean `{name}`?"),
            None => make_hint(
                text,
                &["KeyA to KeyZ", "Digit0 to Digit9", &NAMED.join(", ")],
            ),
        },
    };
    Some(format!("`{text}` is not the code of a key; {hint}"))
}
