//! A grid in words, as an agent sees it: for screen readers, and for language models that play.
//!
//! Things have the names of their kinds ([`super::Kind::words`]). Rows and columns count from 1 at the upper left.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt::{Result, Write as _};

use super::kind::{EMPTY, Kind, KindId, KindSet};
use super::state::{Direction, Fixture, State};
use super::tables::{Container, Hand, Tables};

/// Appends a description of what a seat sees.
pub(super) fn describe_grid<X>(tables: &Tables, state: &State<X>, seat: usize, out: &mut String) {
    // Writing into a String cannot fail.
    let _ = tell(tables, state, seat, out);
}

/// Appends how many steps are left.
pub(super) fn describe_time_left(steps: u32, out: &mut String) {
    let _ = writeln!(out, "Steps left: {steps}.");
}

fn tell<X>(tables: &Tables, state: &State<X>, seat: usize, out: &mut String) -> Result {
    let own = state.agents[seat];
    let done = |seat: usize| {
        if state.done >> seat & 1 == 1 {
            ", done"
        } else {
            ""
        }
    };
    write!(out, "You are ")?;
    if let Some(name) = tables.appearance.name(seat) {
        write!(out, "{name}, ")?;
    } else if tables.seats > 2 {
        write!(out, "agent {}, ", seat + 1)?;
    }
    let (at, held, ahead) = (
        place(tables, own.cell),
        words(tables, own.held),
        ahead(tables, state, seat),
    );
    let (facing, over) = (direction(own.facing), done(seat));
    writeln!(
        out,
        "at {at}, facing {facing} towards {ahead}, holding {held}{over}."
    )?;
    for other in (0..tables.seats).filter(|&other| other != seat) {
        let agent = state.agents[other];
        if !tables.can_see(seat, own.cell, agent.cell) {
            writeln!(out, "{} is out of sight.", capital(&partner(tables, other)))?;
            continue;
        }
        let (at, way) = (place(tables, agent.cell), way(tables, own.cell, agent.cell));
        let (facing, held) = (direction(agent.facing), words(tables, agent.held));
        let (who, over) = (capital(&partner(tables, other)), done(other));
        writeln!(
            out,
            "{who} is at {at} ({way}), facing {facing}, holding {held}{over}."
        )?;
    }
    for fixture in state
        .fixtures(tables)
        .filter(|fixture| fixture.kind() != EMPTY)
        .filter(|fixture| tables.can_see(seat, own.cell, fixture.cell()))
    {
        let (what, at) = (
            bare(words(tables, fixture.kind())),
            place(tables, fixture.cell()),
        );
        writeln!(out, "The {what} at {at} {}.", condition(tables, fixture))?;
    }
    things(tables, state, seat, out)
}

/// Tells the thing in front of an agent.
fn ahead<X>(tables: &Tables, state: &State<X>, seat: usize) -> String {
    let own = state.agents[seat];
    let front = tables.cell_in_front(own.cell, own.facing);
    let mut others = (0..tables.seats).filter(|&other| other != seat);
    if front == own.cell {
        return "the edge".into();
    }
    if let Some(other) = others.find(|&other| state.agents[other].cell == front) {
        return partner(tables, other);
    }
    let (kind, lying) = (state.kind(front), words(tables, state.value(tables, front)));
    match tables.hands[usize::from(kind) & 63] {
        _ if tables.kind(kind).is_none_or(Kind::is_floor) => "free floor".into(),
        Hand::Surface(_) => format!("{} with {lying} on it", words(tables, kind)),
        Hand::Loose => format!("{} on the floor", words(tables, kind)),
        _ => words(tables, kind).into(),
    }
}

/// Describes the condition of a container or a switch.
fn condition(tables: &Tables, fixture: Fixture<'_>) -> String {
    let container = match tables.hands[usize::from(fixture.kind()) & 63] {
        Hand::Container(index) => &tables.containers[usize::from(index)],
        _ if fixture.timer() == 0 => return "is not lit".into(),
        _ => return format!("is lit for {}", count(fixture.timer(), "more step")),
    };
    let made = tables.dish(fixture).map_or("something", |dish| {
        inside(tables, container.with, words(tables, dish.result))
    });
    if fixture.ready() {
        return format!(
            "has {made} ready: take it with {}",
            hands(tables, container.with)
        );
    }
    if fixture.working() {
        return format!(
            "is making {made}: ready in {}",
            count(fixture.timer(), "step")
        );
    }
    let contents = counted(tables, fixture.contents());
    let missing = fixture.capacity() - fixture.count();
    let has = match fixture.count() {
        0 => format!("is empty: it needs {}", count(missing, "ingredient")),
        _ => format!(
            "has {}: it needs {}",
            list(contents.iter().map(String::as_str).collect(), "and"),
            count(missing, "more ingredient")
        ),
    };
    format!("{has} ({})", list(next(tables, container, fixture), "or"))
}

/// The result of a container, without the thing that takes it: a pot makes soup, not a plate of soup.
fn inside<'a>(tables: &Tables, with: KindSet, made: &'a str) -> &'a str {
    let vessels = (1..=tables.kinds.len() as KindId).filter(|&kind| with.has(kind));
    let strip = |kind| made.strip_prefix(words(tables, kind))?.strip_prefix(" of ");
    vessels.into_iter().find_map(strip).unwrap_or(made)
}

/// Tells the contents of a container, several of a kind together.
fn counted(tables: &Tables, contents: &[KindId]) -> Vec<String> {
    let firsts = contents.iter().enumerate();
    let firsts = firsts.filter(|&(at, kind)| !contents[..at].contains(kind));
    firsts
        .map(|(_, &kind)| {
            let words = words(tables, kind);
            match contents.iter().filter(|&&other| other == kind).count() {
                1 => words.to_string(),
                several => format!("{several} {}", plural(bare(words))),
            }
        })
        .collect()
}

/// Returns the plural of a noun.
fn plural(noun: &str) -> String {
    let ending = ["s", "x", "o", "ch", "sh"];
    let ends = ending.iter().any(|ending| noun.ends_with(ending));
    format!("{noun}{}", if ends { "es" } else { "s" })
}

/// The kinds that a container which is not full still takes, without articles.
fn next<'a>(tables: &'a Tables, container: &Container, fixture: Fixture<'_>) -> Vec<&'a str> {
    let fits = |&kind: &KindId| {
        container.accepts.has(kind) && container.after(fixture.contents(), kind).is_some()
    };
    let kinds = (1..=tables.kinds.len() as KindId).filter(fits);
    kinds.map(|kind| bare(words(tables, kind))).collect()
}

/// Describes the hands that may take something.
fn hands(tables: &Tables, with: KindSet) -> String {
    if with == KindSet::ANY {
        return "anything in the hand".into();
    }
    let empty = with.has(EMPTY).then_some("an empty hand");
    let kinds = (1..=tables.kinds.len() as KindId).filter(|&kind| with.has(kind));
    list(
        empty
            .into_iter()
            .chain(kinds.map(|kind| words(tables, kind)))
            .collect(),
        "or",
    )
}

/// Describes where everything else is that a seat sees, one line for each kind: walls and empty surfaces are left out.
fn things<X>(tables: &Tables, state: &State<X>, seat: usize, out: &mut String) -> Result {
    let from = state.agents[seat].cell;
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    let mut add = |what: String, cell: u16| {
        let at = place(tables, cell);
        match lines.iter_mut().find(|(known, _)| *known == what) {
            Some((_, places)) => places.push(at),
            None => lines.push((what, [at].into())),
        }
    };
    for cell in (0..tables.cells as u16).filter(|&cell| tables.can_see(seat, from, cell)) {
        let (kind, lying) = (state.kind(cell), state.value(tables, cell));
        let Some(declared) = tables
            .kind(kind)
            .filter(|kind| !kind.wall && !kind.is_floor())
        else {
            continue;
        };
        let hand = tables.hands[usize::from(kind) & 63];
        if matches!(hand, Hand::Surface(_) | Hand::Sink(_)) && tables.kind(lying).is_some() {
            add(
                format!("{} on {}", words(tables, lying), declared.words),
                cell,
            );
        }
        match hand {
            Hand::Surface(_) | Hand::Container(_) | Hand::Switch(_) => {}
            Hand::Loose => add(format!("{} on the floor", declared.words), cell),
            _ => add(declared.words.clone(), cell),
        }
    }
    for (what, places) in lines {
        writeln!(out, "{}: {}.", capital(&what), places.join("; "))?;
    }
    Ok(())
}

/// The name of another agent: its own, or else two are partners, and more have numbers.
fn partner(tables: &Tables, seat: usize) -> String {
    if let Some(name) = tables.appearance.name(seat) {
        name.into()
    } else if tables.seats == 2 {
        "your partner".into()
    } else {
        format!("agent {}", seat + 1)
    }
}

fn words(tables: &Tables, kind: KindId) -> &str {
    tables
        .kind(kind)
        .map_or("nothing", |kind| kind.words.as_str())
}

/// Words without their article.
fn bare(words: &str) -> &str {
    ["a ", "an ", "the "]
        .iter()
        .find_map(|article| words.strip_prefix(article))
        .unwrap_or(words)
}

fn place(tables: &Tables, cell: u16) -> String {
    let (row, col) = tables.column_and_row(cell);
    format!("row {}, column {}", row + 1, col + 1)
}

/// The way from one cell to another.
fn way(tables: &Tables, from: u16, to: u16) -> String {
    let ((row, col), (to_row, to_col)) = (tables.column_and_row(from), tables.column_and_row(to));
    let part = |from: usize, to: usize, less: &str, more: &str| {
        let side = if to < from { less } else { more };
        (from != to).then(|| format!("{} {side}", from.abs_diff(to)))
    };
    let parts = [
        part(row, to_row, "up", "down"),
        part(col, to_col, "left", "right"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        "here".into()
    } else {
        parts.join(", ")
    }
}

fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Right => "right",
        Direction::Down => "down",
        Direction::Left => "left",
        Direction::Up => "up",
    }
}

fn count(number: u8, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// `a`, `a and b`, `a, b and c`.
fn list(words: Vec<&str>, last: &str) -> String {
    match words.split_last() {
        None => "nothing".into(),
        Some((only, [])) => (*only).into(),
        Some((end, rest)) => format!("{} {last} {end}", rest.join(", ")),
    }
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string())
        .unwrap_or_default();
    first + letters.as_str()
}

#[cfg(test)]
mod tests {
    use super::plural;

    #[test]
    fn nouns_have_their_plural() {
        let nouns = ["onion", "tomato", "key", "dish", "box"];
        assert_eq!(
            nouns.map(plural),
            ["onions", "tomatoes", "keys", "dishes", "boxes"]
        );
    }
}
