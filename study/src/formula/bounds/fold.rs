//! The bounds of `sum`, `mean`, `min` and `max`. Sums are added up as an evaluation adds them, so that no bound is off by a
//! rounding.

use formula::Op;

use super::{Bounds, Possible};

/// The longest list that is added up item by item.
const MAX_ADDED: f64 = 20_000.0;

/// The bounds of a list brought to one number.
pub(super) fn fold_list(op: &Op, list: &Possible) -> Bounds {
    if let Possible::Items(items) = list {
        return fold_items(op, items);
    }
    let (item, size) = list.item();
    let item = item.bounds();
    match op {
        Op::Sum | Op::Mean if size.most <= MAX_ADDED => add_up(op, item, size),
        Op::Sum => item.ends(size, |number, times| number * times),
        _ => item,
    }
}

fn fold_items(op: &Op, items: &[Possible]) -> Bounds {
    let all = items.iter().map(Possible::bounds);
    let sum = |sum: Bounds, next: Bounds| Bounds::new(sum.least + next.least, sum.most + next.most);
    match op {
        Op::Sum => all.fold(Bounds::only(0.0), sum),
        Op::Mean => all
            .reduce(sum)
            .map_or(Bounds::ALL, |sum| sum.each(|sum| sum / items.len() as f64)),
        Op::Min => all.fold(Bounds::only(f64::INFINITY), |least, next| {
            Bounds::new(least.least.min(next.least), least.most.min(next.most))
        }),
        _ => all.fold(Bounds::only(f64::NEG_INFINITY), |most, next| {
            Bounds::new(most.least.max(next.least), most.most.max(next.most))
        }),
    }
}

/// The sum or mean of each number of equal items, joined.
fn add_up(op: &Op, item: Bounds, size: Bounds) -> Bounds {
    let (mut sum, mut all) = (Bounds::only(0.0), None);
    let mut count = 0.0;
    while count <= size.most {
        let is_one = count >= size.least && (*op == Op::Sum || count > 0.0);
        if is_one {
            let found = match op {
                Op::Mean => sum.each(|sum| sum / count),
                _ => sum,
            };
            all = Some(all.map_or(found, |all: Bounds| all.join(found)));
        }
        sum = Bounds::new(sum.least + item.least, sum.most + item.most);
        count += 1.0;
    }
    all.unwrap_or(item)
}
