//! Refusals of parameters, with the words for a name that nothing has.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::contract::ParamError;

/// A parameter that is refused.
///
/// # Errors
/// Always.
pub(super) fn refuse<T>(field: &str, reason: String) -> Result<T, ParamError> {
    Err(ParamError {
        field: field.into(),
        reason,
    })
}

/// The sentence for a name that nothing has: what there is, and which was probably meant.
pub(crate) fn tell_unknown<'a>(
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> String {
    let near = known
        .clone()
        .map(|other| (strsim::levenshtein(name, other), other))
        .min()
        .filter(|&(distance, other)| distance <= 1 + other.len() / 4);
    let hint = near.map_or_else(String::new, |(_, other)| {
        format!("; did you mean `{other}`?")
    });
    let list = known.collect::<Vec<_>>().join(", ");
    let list = if list.is_empty() { "none" } else { &list };
    format!("there is no {what} `{name}`{hint} (there is: {list})")
}
