//! The names of functions, and how each is written.

/// Functions, and how each is written.
pub(super) const FUNCTIONS: [(&str, &str); 12] = [
    ("abs", "abs(x)"),
    ("ceil", "ceil(x)"),
    ("clamp", "clamp(x, low, high)"),
    ("count", "count(list)"),
    ("floor", "floor(x)"),
    ("has", "has(record.field)"),
    ("max", "max(x, y) or max(list)"),
    ("mean", "mean(list)"),
    ("min", "min(x, y) or min(list)"),
    ("round2", "round2(x)"),
    ("size", "size(list)"),
    ("sum", "sum(list)"),
];

/// Functions of a list with an expression for each item, and how each is written.
pub(super) const LOOPS: [(&str, &str); 4] = [
    ("all", "list.all(e, condition)"),
    ("exists", "list.exists(e, condition)"),
    ("filter", "list.filter(e, condition)"),
    ("map", "list.map(e, value)"),
];

pub(super) fn usage_of(name: &str) -> Option<&'static str> {
    let mut all = FUNCTIONS.iter().chain(&LOOPS);
    all.find(|(known, _)| *known == name)
        .map(|(_, usage)| *usage)
}

/// How every function is written.
#[cfg(test)]
pub(super) fn list_usages() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().chain(&LOOPS).map(|(_, usage)| *usage)
}
