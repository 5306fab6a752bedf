//! What the study file can say and this version does not play yet. It is read and checked like everything else, and
//! then refused, so that nobody believes that it is done.

use crate::read::Place;

/// Keys by stage type, which is empty for the top of the file; with a word, that word alone. A stage type without a key
/// is not played at all.
const UNPLAYED: &[(&str, &str, Option<&str>)] = &[("chat", "", None)];

const MESSAGE: &str = "not played by this version yet; leave it out for now";

/// Reports what a stage of a type, or the file without a type, says and this version does not play.
pub(crate) fn report(kind: &str, place: &Place<'_>) {
    for (_, key, word) in UNPLAYED.iter().filter(|(of, ..)| *of == kind) {
        let there = match word {
            None => place.node.has(key),
            Some(word) => (place.node.at(key)).is_some_and(|node| node.is_text(word)),
        };
        if there {
            place.wrong_at(if key.is_empty() { "type" } else { key }, MESSAGE);
        }
    }
}
