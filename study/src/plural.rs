//! Numbers of things, in words.

/// A number with its noun, such as `no faults`, `1 seat`, `2 seats`.
pub fn count(n: usize, noun: &str) -> String {
    match n {
        0 => format!("no {noun}s"),
        1 => format!("1 {noun}"),
        n => format!("{n} {noun}s"),
    }
}
