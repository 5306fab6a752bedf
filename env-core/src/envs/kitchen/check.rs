//! Refuses parameters that make no kitchen, and states that cannot be.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::params::{Earning, KitchenReward, OrderParams, Params, Variant};
use super::{Cooking, Extra, KitchenOrder, MAX_ORDERS, Target, kinds, layouts};
use crate::contract::ParamError;
use crate::grid::Chart;
use crate::grid::{KindId, RuleSet, State, Tables, tell_unknown};

fn refuse<T>(field: &str, reason: impl Into<String>) -> Result<T, ParamError> {
    Err(ParamError {
        field: field.into(),
        reason: reason.into(),
    })
}

/// Checks what the tables of a grid do not check.
pub(super) fn check_params<V: Variant>(params: &Params<V>) -> Result<(), ParamError> {
    if params.cook_time == Some(0) {
        return refuse("cook_time", "must be 1 to 255 steps");
    }
    if params.rules == RuleSet::Cogrid && params.cook_time.is_some() {
        return refuse(
            "cook_time",
            format!(
                "is {} steps by the rules of CoGrid, {} in an open pot: leave it out, or take the rules `corrected`",
                kinds::COOK_TIMES[0],
                kinds::COOK_TIMES[1]
            ),
        );
    }
    if let Some(orders) = &params.orders {
        check_orders(orders)?;
    }
    let mut earlier: Vec<Earning> = Vec::new();
    for (index, paid) in params.rewards.iter().enumerate() {
        let field = format!("rewards[{index}]");
        if earlier.contains(&paid.kind) {
            return refuse(
                &field,
                format!("`{}` is listed twice: keep one", paid.kind.name()),
            );
        }
        earlier.push(paid.kind);
        check_payment(params, paid, &field)?;
    }
    Ok(())
}

fn check_orders(orders: &OrderParams) -> Result<(), ParamError> {
    if !(1..=MAX_ORDERS).contains(&usize::from(orders.max_active)) {
        return refuse("orders.max_active", format!("must be 1 to {MAX_ORDERS}"));
    }
    if !(1..=10_000).contains(&orders.time_limit) {
        return refuse("orders.time_limit", "must be 1 to 10000 steps");
    }
    let spawn = orders.spawn;
    let each = [spawn.onion_soup, spawn.tomato_soup];
    let is_probability = |value: f32| (0.0..=1.0).contains(&value);
    if !each.into_iter().all(is_probability) || !is_probability(each[0] + each[1]) {
        return refuse(
            "orders.spawn",
            "must be probabilities from 0 to 1 that sum to 1 at most",
        );
    }
    Ok(())
}

fn check_payment<V: Variant>(
    params: &Params<V>,
    paid: &KitchenReward,
    field: &str,
) -> Result<(), ParamError> {
    use Earning::{
        ExpiredOrder, OrderDelivery, OrderIngredientInPot, OrderSoupInDish, TargetDelivery,
        TargetIngredientInPot, TargetSoupInDish,
    };
    let (kind, name) = (paid.kind, paid.kind.name());
    let ordered = [
        OrderDelivery,
        OrderIngredientInPot,
        OrderSoupInDish,
        ExpiredOrder,
    ];
    // CoGrid: without orders it pays as if every soup were ordered.
    let corrected = params.rules == RuleSet::Corrected;
    if corrected && ordered.contains(&kind) && params.orders.is_none() {
        return refuse(
            field,
            format!(
                "`{name}` is paid for orders, and there are none: give `orders`, or take another reward"
            ),
        );
    }
    let wanted = [TargetDelivery, TargetIngredientInPot, TargetSoupInDish];
    if wanted.contains(&kind) && params.targets.is_empty() {
        return refuse(
            field,
            format!(
                "`{name}` is paid for the soup that is wanted, and `targets` is empty: name soups there, or take another reward"
            ),
        );
    }
    if paid.penalize_incorrect && !matches!(kind, OrderDelivery | TargetDelivery) {
        return refuse(
            field,
            format!(
                "`penalize_incorrect` belongs to `order_delivery` and `target_delivery`, not to `{name}`: leave it out"
            ),
        );
    }
    if paid.tip != 0.0 && kind != OrderDelivery {
        return refuse(
            field,
            format!("`tip` belongs to `order_delivery`, not to `{name}`: leave it out"),
        );
    }
    if !(0.0..=1e6).contains(&paid.tip) {
        return refuse(field, "`tip` must be a number from 0 to 1000000");
    }
    if kind == ExpiredOrder && !paid.common {
        return refuse(
            field,
            "an order that expires is nobody's: `common` must be true",
        );
    }
    Ok(())
}

/// The rows of the layout.
pub(super) fn read_rows<V: Variant>(params: &Params<V>) -> Result<Vec<String>, ParamError> {
    let name = match &params.layout {
        Chart::Rows(rows) => return Ok(rows.clone()),
        Chart::Name(name) => name,
    };
    let known = layouts::of(V::V2);
    match known.iter().find(|(known, _)| known == name) {
        Some((_, rows)) => Ok(rows.iter().map(|row| row.to_string()).collect()),
        None if layouts::of(!V::V2).iter().any(|(known, _)| known == name) => refuse(
            "layout",
            format!(
                "`{name}` is a kitchen of the environment `{}`: take that, or one of: {}",
                if V::V2 { "overcooked" } else { "overcooked_v2" },
                names(V::V2)
            ),
        ),
        None => refuse(
            "layout",
            tell_unknown("layout", name, known.iter().map(|&(known, _)| known)),
        ),
    }
}

fn names(v2: bool) -> String {
    let names: Vec<&str> = layouts::of(v2).iter().map(|&(name, _)| name).collect();
    names.join(", ")
}

/// Returns the number of the layout: that of the named layout with the same rows, else one more than the last.
pub(super) fn layout_number<V: Variant>(params: &Params<V>) -> u8 {
    let known = layouts::of(V::V2);
    if let (RuleSet::Cogrid, layout) = (params.rules, &params.layout) {
        // CoGrid numbers the five classic kitchens by their names, and gives every other the number of the first.
        let named = |&(name, _): &(&str, _)| *layout == Chart::from(name);
        let number = known.iter().take(5).position(named);
        return number.filter(|_| !V::V2).unwrap_or(0) as u8;
    }
    let rows = read_rows(params).unwrap_or_default();
    let same = |&(_, known): &(&str, &[&str])| known == rows;
    let number = known.iter().position(same);
    number.unwrap_or(known.len()) as u8
}

/// Returns the number of layouts to distinguish.
pub(super) fn layout_count(v2: bool, rules: RuleSet) -> u8 {
    match rules {
        RuleSet::Cogrid => 7,
        RuleSet::Corrected => layouts::of(v2).len() as u8 + 1,
    }
}

/// Finds the kinds that `overcooked_inventory` distinguishes.
pub(super) fn find_items<V: Variant>(
    params: &Params<V>,
    tables: &Tables,
) -> Result<Vec<KindId>, ParamError> {
    let names = params.inventory_items.iter();
    names
        .map(|name| tables.find_kind(name, "inventory_items"))
        .collect()
}

/// The soups that may be wanted.
pub(super) fn find_targets<V: Variant>(
    params: &Params<V>,
    tables: &Tables,
) -> Result<Vec<Target>, ParamError> {
    let here = |kind: KindId| {
        let ground = tables.ground.as_ref();
        ground.is_some_and(|ground| ground.kinds.contains(&kind))
    };
    let mut targets: Vec<Target> = Vec::new();
    for name in &params.targets {
        let all = tables.containers.iter().flat_map(|pot| &pot.dishes);
        let soups = all.filter_map(|dish| Some(tables.kind(dish.result)?.name.as_str()));
        let Some(soup) = tables
            .id(name)
            .filter(|_| soups.clone().any(|soup| soup == name))
        else {
            return refuse("targets", tell_unknown("soup", name, soups));
        };
        let pots = tables.containers.iter().filter(|pot| here(pot.kind));
        let dish = pots
            .flat_map(|pot| &pot.dishes)
            .find(|dish| dish.result == soup);
        let Some(dish) = dish else {
            return refuse(
                "targets",
                format!(
                    "no pot of this kitchen makes `{name}`: put a pot (`u`) into the layout, or leave it out"
                ),
            );
        };
        if targets.iter().any(|other| other.soup == soup) {
            return refuse("targets", format!("`{name}` is listed twice: keep one"));
        }
        let mut ingredients = [0; kinds::SOUP_SIZE as usize];
        ingredients.copy_from_slice(&dish.ingredients);
        targets.push(Target { soup, ingredients });
    }
    Ok(targets)
}

/// Checks whether a state that was read from bytes may be one of this kitchen.
pub(super) fn check_state<V: Variant>(
    cooking: &Cooking<V>,
    tables: &Tables,
    state: &State<Extra>,
) -> bool {
    let extra = &state.extra;
    let limit = cooking
        .params
        .orders
        .as_ref()
        .map_or(0, |orders| orders.time_limit);
    let (used, free) = extra.orders.split_at(cooking.places());
    let is_order = |order: &KitchenOrder| match order.soup {
        0 => order.left == 0,
        soup => soup <= 2 && (1..=limit).contains(&order.left),
    };
    let buttons = super::tick::lit_buttons(cooking, tables, state);
    used.iter().all(is_order)
        && free.iter().all(|order| *order == KitchenOrder::default())
        && (extra.expired == 0 || cooking.params.orders.is_some())
        && usize::from(extra.target) < cooking.targets.len().max(1)
        && (!extra.delivered || !cooking.targets.is_empty())
        // It has its value at the end of the step, and so has the state.
        && extra.lit == if tables.is_cogrid() { buttons } else { 0 }
}
