//! The keys of an env stage.

use std::collections::BTreeMap;

use crate::problem::{hint, nearest};
use crate::read::Place;

/// Reads which keys mean which action: no key twice, and only keys that there are.
pub(crate) fn read(place: &Place<'_>) -> Option<BTreeMap<String, Vec<String>>> {
    let mut keys = BTreeMap::new();
    let mut taken: BTreeMap<String, &str> = BTreeMap::new();
    let mut whole = true;
    for (action, place) in place.entries("actions and their keys")? {
        let codes: Option<Vec<String>> = place.list("key codes", 8).and_then(|places| {
            places
                .iter()
                .map(code)
                .collect::<Vec<_>>()
                .into_iter()
                .collect()
        });
        let Some(codes) = codes else {
            whole = false;
            continue;
        };
        for code in &codes {
            if let Some(other) = taken.insert(code.clone(), action) {
                place.wrong(format!(
                    "`{code}` is already a key of `{other}`; a key can mean one action only"
                ));
                whole = false;
            }
        }
        keys.insert(action.to_owned(), codes);
    }
    whole.then_some(keys)
}

/// A `KeyboardEvent.code`.
///
/// Source: UI Events KeyboardEvent code Values, §3.1.
fn code(place: &Place<'_>) -> Option<String> {
    const NAMED: [&str; 22] = [
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
        "ControlLeft",
        "ControlRight",
        "AltLeft",
        "AltRight",
        "Comma",
        "Period",
        "Slash",
        "Semicolon",
        "Quote",
        "Minus",
        "Equal",
        "NumpadEnter",
    ];
    let text = place.text(40)?;
    let last = |prefix: &str| {
        text.strip_prefix(prefix)
            .filter(|rest| rest.len() == 1)
            .and_then(|rest| rest.chars().next())
    };
    let known = NAMED.contains(&text.as_str())
        || last("Key").is_some_and(|c| c.is_ascii_uppercase())
        || last("Digit")
            .or(last("Numpad"))
            .is_some_and(|c| c.is_ascii_digit());
    if !known {
        let hint = match text.chars().next() {
            Some(c) if text.len() == 1 && c.is_ascii_alphabetic() => {
                format!("did you mean `Key{}`?", c.to_ascii_uppercase())
            }
            Some(c) if text.len() == 1 && c.is_ascii_digit() => format!("did you mean `Digit{c}`?"),
            _ => match nearest(&text, &NAMED) {
                Some(name) => format!("did you mean `{name}`?"),
                None => hint(
                    &text,
                    &["KeyA to KeyZ", "Digit0 to Digit9", &NAMED.join(", ")],
                ),
            },
        };
        place.wrong(format!("`{text}` is not the code of a key; {hint}"));
    }
    known.then_some(text)
}
