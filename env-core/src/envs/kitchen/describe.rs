//! Orders and the wanted soup, in words.

use alloc::string::String;
use core::fmt::Write as _;

use super::params::Variant;
use super::{Cooking, Extra};
use crate::grid::{KindId, State, Tables};

pub(super) fn describe_kitchen<V: Variant>(
    cooking: &Cooking<V>,
    tables: &Tables,
    state: &State<Extra>,
    seat: usize,
    out: &mut String,
) {
    // Writing into a String cannot fail.
    let _ = tell(cooking, tables, state, seat, out);
}

fn tell<V: Variant>(
    cooking: &Cooking<V>,
    tables: &Tables,
    state: &State<Extra>,
    seat: usize,
    out: &mut String,
) -> core::fmt::Result {
    let words = |kind: KindId| {
        tables
            .kind(kind)
            .map_or("nothing", |kind| kind.words.as_str())
    };
    let extra = &state.extra;
    if let Some(target) = cooking
        .target(extra)
        .filter(|_| cooking.is_shown(tables, state, seat))
    {
        writeln!(out, "Wanted now: {}.", words(target.soup))?;
    }
    for order in extra.orders.iter().filter(|order| order.soup != 0) {
        let soup = words(cooking.ids.soups[usize::from(order.soup - 1) & 1]);
        let steps = if order.left == 1 { "step" } else { "steps" };
        writeln!(out, "Ordered: {soup}, within {} {steps}.", order.left)?;
    }
    if cooking.params.orders.is_some() {
        writeln!(out, "Orders expired: {}.", extra.expired)?;
    }
    writeln!(out, "Score: {}.", state.score)
}
