//! The rewards of a kitchen.
//!
//! Source: CoGrid 0.3.2, `envs/overcooked/rewards.py`; parts that the corrected rules fix are marked "CoGrid:".

use super::params::{Earning, KitchenReward, Variant};
use super::tick;
use super::{Cooking, Extra, KitchenOrder};
use crate::grid::{
    Act, CompiledReward, Interaction, KindId, Names, Pay, Reward, Sight, State, Tables, When,
};

/// A reward as the grid knows it.
pub(super) fn declare_reward(paid: &KitchenReward) -> Reward {
    let does = |act, item: &[&str]| When::Does {
        act,
        item: if item.is_empty() {
            Names::Any
        } else {
            Names::of(item)
        },
        at: Names::Any,
    };
    let when = match paid.kind {
        Earning::Delivery => does(Act::Deliver, &[]),
        Earning::OnionSoupDelivery => does(Act::Deliver, &["onion_soup"]),
        Earning::OnionInPot => does(Act::Add, &["onion"]),
        Earning::SoupInDish => does(Act::Serve, &[]),
        _ => When::Own,
    };
    Reward {
        name: paid.kind.name().into(),
        when,
        worth: paid.worth,
        common: paid.common,
        scored: matches!(
            paid.kind,
            Earning::Delivery
                | Earning::OnionSoupDelivery
                | Earning::OrderDelivery
                | Earning::TargetDelivery
        ),
        facing: None,
    }
}

/// Checks whether the declaration says everything about it.
pub(super) fn is_plain(kind: Earning) -> bool {
    matches!(
        kind,
        Earning::Delivery | Earning::OnionSoupDelivery | Earning::OnionInPot | Earning::SoupInDish
    )
}

/// The least and the greatest sum that a seat gets from a reward in one step. An agent acts once in it; what everyone pays
/// for, everyone is paid as often as there are agents.
pub(super) fn reward_bounds(paid: &KitchenReward, tables: &Tables) -> [f64; 2] {
    let KitchenReward { worth, tip, .. } = *paid;
    let each = tables.payments(paid.common);
    let (least, most) = match paid.kind {
        Earning::OrderDelivery => {
            let tipped = worth + tip;
            let (low, high) = if tipped < worth {
                (tipped, worth)
            } else {
                (worth, tipped)
            };
            let fine = if paid.penalize_incorrect { -worth } else { low };
            (
                if fine < low { fine } else { low },
                if fine > high { fine } else { high },
            )
        }
        Earning::TargetDelivery | Earning::TargetIngredientInPot | Earning::TargetSoupInDish => {
            (-worth.abs(), worth.abs())
        }
        _ => (worth, worth),
    };
    let times = match paid.kind {
        Earning::ExpiredOrder => super::MAX_ORDERS,
        Earning::TargetDelivery | Earning::OrderDelivery | Earning::Button => tables.seats,
        _ => each,
    };
    CompiledReward::bounds([least, most], times)
}

/// Pays everyone, whether the reward is common or not: one event, or one for each.
fn everyone(pay: &mut Pay<'_>, tables: &Tables, index: usize, seat: u8, worth: f32) {
    if tables.rewards[index].common {
        pay.give(tables, index, seat, worth);
    } else {
        (0..tables.seats as u8).for_each(|seat| pay.give(tables, index, seat, worth));
    }
}

/// Pays for orders that expired in this step.
pub(super) fn pay_expired_orders<V: Variant>(
    cooking: &Cooking<V>,
    tables: &Tables,
    count: u32,
    pay: &mut Pay<'_>,
) {
    for (index, paid) in cooking.params.rewards.iter().enumerate() {
        if paid.kind == Earning::ExpiredOrder {
            everyone(pay, tables, index, 0, paid.worth * count as f32);
        }
    }
}

/// Pays for an act that succeeded, and advances orders and the wanted soup.
pub(super) fn pay_act<V: Variant>(
    cooking: &Cooking<V>,
    tables: &Tables,
    state: &mut State<Extra>,
    did: &Interaction,
    pay: &mut Pay<'_>,
) {
    let mut filled = None;
    if did.act == Act::Deliver {
        filled = tick::consume_order(cooking, &mut state.extra, did.item);
        state.extra.delivered = !cooking.targets.is_empty();
    }
    for (index, paid) in cooking.params.rewards.iter().enumerate() {
        if let Some(worth) = worth(cooking, tables, state, paid, did, filled) {
            pay.give(tables, index, did.seat, worth);
        }
    }
}

/// The worth of an act by a reward.
fn worth<V: Variant>(
    cooking: &Cooking<V>,
    tables: &Tables,
    state: &State<Extra>,
    paid: &KitchenReward,
    did: &Interaction,
    filled: Option<KitchenOrder>,
) -> Option<f32> {
    let target = cooking.target(&state.extra);
    let wanted = target.is_some_and(|target| target.soup == did.item);
    let signed = |good: bool| Some(if good { paid.worth } else { -paid.worth });
    let full = Some(paid.worth);
    match (paid.kind, did.act) {
        (Earning::Delivery, Act::Deliver) | (Earning::SoupInDish, Act::Serve) => full,
        (Earning::OnionSoupDelivery, Act::Deliver) => {
            full.filter(|_| did.item == cooking.ids.soups[0])
        }
        (Earning::OrderDelivery, Act::Deliver) => match filled {
            Some(order) => Some(paid.worth + tip(cooking, paid, order)),
            None => signed(false).filter(|_| paid.penalize_incorrect),
        },
        (Earning::TargetDelivery, Act::Deliver) => {
            signed(wanted).filter(|_| wanted || paid.penalize_incorrect)
        }
        (Earning::OnionInPot, Act::Add) => full.filter(|_| did.item == cooking.ids.ingredients[0]),
        (Earning::OrderIngredientInPot, Act::Add) => {
            let recipe = cooking
                .ids
                .ingredients
                .iter()
                .position(|&kind| kind == did.item)?;
            let contents = contents(tables, state, did);
            let fits = contents.iter().all(|&kind| kind == did.item);
            full.filter(|_| fits && is_ordered(cooking, &state.extra, recipe))
        }
        (Earning::TargetIngredientInPot, Act::Add) => {
            let has = count(contents(tables, state, did), did.item);
            signed(target.is_some_and(|target| has <= count(&target.ingredients, did.item)))
        }
        (Earning::OrderSoupInDish, Act::Serve) => {
            let recipe = cooking
                .ids
                .soups
                .iter()
                .position(|&kind| kind == did.item)?;
            full.filter(|_| is_ordered(cooking, &state.extra, recipe))
        }
        (Earning::TargetSoupInDish, Act::Serve) => signed(wanted),
        (Earning::Button, Act::Toggle) => full,
        _ => None,
    }
}

/// CoGrid: there is no tip, because the number that it multiplies is never set.
fn tip<V: Variant>(cooking: &Cooking<V>, paid: &KitchenReward, order: KitchenOrder) -> f32 {
    let orders = cooking.params.orders.as_ref();
    let limit = orders.map_or(1, |orders| orders.time_limit.max(1));
    paid.tip * (f32::from(order.left) / f32::from(limit))
}

/// The contents of the pot that was reached, after the act.
fn contents<'a>(tables: &Tables, state: &'a State<Extra>, did: &Interaction) -> &'a [KindId] {
    match state.fixture_in(tables, did.cell) {
        Some(index) => state.fixture(tables, index).contents(),
        None => &[],
    }
}

fn count(kinds: &[KindId], kind: KindId) -> usize {
    kinds.iter().filter(|&&other| other == kind).count()
}

/// Checks whether an order asks for the soup of a recipe.
fn is_ordered<V: Variant>(cooking: &Cooking<V>, extra: &Extra, recipe: usize) -> bool {
    let asks = |order: &KitchenOrder| usize::from(order.soup) == recipe + 1;
    // CoGrid: without orders, every soup is accepted.
    cooking.params.orders.is_none() || extra.orders.iter().any(asks)
}

/// CoGrid: pays by the state before the step, whatever the acts achieved, reward by reward.
pub(super) fn earn_cogrid<V: Variant>(
    cooking: &Cooking<V>,
    tables: &Tables,
    state: &mut State<Extra>,
    sights: &[Sight],
    before: &Extra,
    pay: &mut Pay<'_>,
) {
    let lit = if V::V2 {
        tick::lit_buttons(cooking, tables, state)
    } else {
        0
    };
    for (index, paid) in cooking.params.rewards.iter().enumerate() {
        match paid.kind {
            Earning::ExpiredOrder => {
                let expired = state.extra.expired.wrapping_sub(before.expired);
                if expired > 0 {
                    everyone(pay, tables, index, 0, paid.worth * expired as f32);
                }
            }
            // CoGrid: a button pressed again in the step in which it goes out is free.
            Earning::Button => {
                let pressed = (lit & !before.lit).count_ones();
                if pressed > 0 {
                    everyone(pay, tables, index, 0, paid.worth * pressed as f32);
                }
            }
            Earning::OrderDelivery => {
                ordered_cogrid(cooking, tables, &state.extra, sights, before, index, pay);
            }
            _ => {
                for (seat, sight) in sights.iter().enumerate() {
                    let Some(good) = earns_cogrid(cooking, sight, before, paid) else {
                        continue;
                    };
                    let worth = if good { paid.worth } else { -paid.worth };
                    if paid.kind == Earning::TargetDelivery {
                        everyone(pay, tables, index, seat as u8, worth);
                    } else {
                        pay.give(tables, index, seat as u8, worth);
                    }
                }
            }
        }
    }
    state.extra.lit = lit;
}

/// CoGrid: every delivery is paid if an order is gone since the step began, and one that expired is gone too.
fn ordered_cogrid<V: Variant>(
    cooking: &Cooking<V>,
    tables: &Tables,
    extra: &Extra,
    sights: &[Sight],
    before: &Extra,
    index: usize,
    pay: &mut Pay<'_>,
) {
    let paid = &cooking.params.rewards[index];
    let gone =
        |(before, after): (&KitchenOrder, &KitchenOrder)| before.soup != 0 && after.soup == 0;
    let open = cooking.params.orders.is_none();
    let used = open || before.orders.iter().zip(&extra.orders).any(gone);
    let mut delivers = (0..)
        .zip(sights)
        .filter(|(_, sight)| cooking.delivers_cogrid(sight, false))
        .map(|(seat, _)| seat);
    if used {
        delivers.for_each(|seat| pay.give(tables, index, seat, paid.worth));
    } else if let (Some(seat), true) = (
        delivers.next(),
        // CoGrid: it takes a payment as the sign of a delivery.
        paid.penalize_incorrect && paid.worth > 0.0,
    ) {
        everyone(pay, tables, index, seat, -paid.worth);
    }
}

impl<V: Variant> Cooking<V> {
    /// CoGrid: only the two soups of the pot count as deliveries, whatever else can be cooked.
    fn delivers_cogrid(&self, sight: &Sight, open: bool) -> bool {
        let zone = sight.at == Some(self.ids.zone)
            || V::V2 && open && sight.at == Some(self.ids.open_zone);
        sight.reaches && zone && self.ids.soups.contains(&sight.held)
    }
}

/// Decides whether a seat earns a reward by what it saw; returns false if the seat pays a penalty.
fn earns_cogrid<V: Variant>(
    cooking: &Cooking<V>,
    sight: &Sight,
    before: &Extra,
    paid: &KitchenReward,
) -> Option<bool> {
    let ids = &cooking.ids;
    let earned = |earned: bool| earned.then_some(true);
    if !sight.reaches {
        return None;
    }
    match paid.kind {
        Earning::Delivery => return earned(cooking.delivers_cogrid(sight, false)),
        Earning::OnionSoupDelivery => {
            return earned(sight.held == ids.soups[0] && cooking.delivers_cogrid(sight, false));
        }
        Earning::TargetDelivery => {
            let wanted = cooking.target(before)?.soup == sight.held;
            return Some(wanted)
                .filter(|_| cooking.delivers_cogrid(sight, true))
                .filter(|_| wanted || paid.penalize_incorrect);
        }
        _ => {}
    }
    // CoGrid: for the wanted soup, it looks only at open pots if there are any, else only at closed ones.
    let (contents, held) = (sight.contents(), sight.held);
    let pot = match paid.kind {
        Earning::TargetIngredientInPot | Earning::TargetSoupInDish => cooking.paid_pot,
        _ => ids.pot,
    };
    if sight.at != Some(pot) || sight.count.is_none() {
        return None;
    }
    let has_room = contents.len() < usize::from(super::kinds::SOUP_SIZE);
    let alike = contents.iter().all(|&kind| kind == held);
    let plates = held == ids.plate && sight.timer == 0;
    match paid.kind {
        Earning::OnionInPot => earned(held == ids.ingredients[0] && has_room && alike),
        Earning::OrderIngredientInPot => {
            let recipe = ids.ingredients.iter().position(|&kind| kind == held)?;
            earned(has_room && alike && is_ordered(cooking, before, recipe))
        }
        // CoGrid: every held thing counts, even one that no pot takes.
        Earning::TargetIngredientInPot if has_room && held != crate::grid::EMPTY => {
            let wanted = &cooking.target(before)?.ingredients;
            Some(count(contents, held) < count(wanted, held))
        }
        Earning::SoupInDish => earned(plates),
        Earning::OrderSoupInDish => {
            let soup = |recipe: &usize| {
                contents.len() == usize::from(super::kinds::SOUP_SIZE)
                    && contents
                        .iter()
                        .all(|&kind| kind == ids.ingredients[*recipe])
            };
            let recipe = (0..2).find(soup)?;
            earned(plates && is_ordered(cooking, before, recipe))
        }
        Earning::TargetSoupInDish if plates && !has_room => {
            let wanted = &cooking.target(before)?.ingredients;
            Some(
                contents
                    .iter()
                    .all(|&kind| count(contents, kind) == count(wanted, kind)),
            )
        }
        _ => None,
    }
}
