//! Laws of single values: a spec, an outcome, an observation, a picture. A host of a module checks them too.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::{LawVerdict, law};
use crate::contract::{Action, FieldSpec, MAX_SEATS, Spec, StepOutcome};
use crate::draw::{DrawList, Shape};
use crate::gamepad::{BUTTONS, PREFIX};

/// The most actions of an action space: a mask has a bit for each.
pub const MAX_ACTIONS: usize = 64;
/// The most steps a second; 0 is for turns.
const MAX_TICK_HZ: u16 = 60;
/// The most values of an observation: as many `f32` as a message of 1 MiB holds.
pub const MAX_OBSERVATION: u64 = 1 << 18;

/// Checks a spec.
///
/// # Errors
/// The first law that it breaks.
pub fn check_spec(spec: &Spec) -> LawVerdict {
    let named = ![&spec.id, &spec.version, &spec.title]
        .iter()
        .any(|text| text.trim().is_empty());
    law(named, "the spec has an id, a version and a title", || {
        format!("{:?}, {:?}, {:?}", spec.id, spec.version, spec.title)
    })?;
    let seats = usize::from(spec.seats);
    law(
        (1..=MAX_SEATS).contains(&seats),
        "there are 1 to 16 seats",
        || seats.to_string(),
    )?;
    let actions = spec.actions.len();
    law(
        (1..=MAX_ACTIONS).contains(&actions),
        "there are 1 to 64 actions",
        || actions.to_string(),
    )?;
    law(
        usize::from(spec.noop) < actions,
        "the no-op is an action",
        || format!("`noop` is {} of {actions} actions", spec.noop),
    )?;
    law(spec.horizon > 0, "the horizon is at least 1", || {
        "`horizon` is 0".into()
    })?;
    law(
        spec.tick_hz <= MAX_TICK_HZ,
        "there are at most 60 steps a second",
        || format!("`tick_hz` is {}", spec.tick_hz),
    )?;
    let values = spec.observation.iter().try_fold(0_u64, |sum, field| {
        sum.checked_add(size(field)?)
            .filter(|&sum| sum <= MAX_OBSERVATION)
    });
    law(
        values.is_some_and(|values| values > 0),
        "an observation has 1 to 262,144 values",
        || match values {
            Some(_) => "`observation` is empty".into(),
            None => "the shapes in `observation` multiply to more".into(),
        },
    )?;
    let fit = |own: &Vec<Action>| {
        own.contains(&spec.noop) && own.iter().all(|&action| usize::from(action) < actions)
    };
    law(
        spec.seat_actions.is_empty()
            || spec.seat_actions.len() == seats && spec.seat_actions.iter().all(fit),
        "every seat has a set of existing actions with the no-op, or none has",
        || format!("`seat_actions` is {:?}", spec.seat_actions),
    )?;
    let fields = spec.observation.iter().map(|field| field.range);
    for [from, to] in fields.chain([spec.reward_range]).flatten() {
        law(from <= to, "a range goes from less to more", || {
            format!("{from} to {to}")
        })?;
    }
    names(spec)
}

/// Number of values of a field; `None` if it is beyond counting, in whatever order one counts.
fn size(field: &FieldSpec) -> Option<u64> {
    let mut sides = field.shape.iter();
    let size = sides.try_fold(1_u32, |product, &side| product.checked_mul(side));
    size.map(u64::from)
}

fn names(spec: &Spec) -> LawVerdict {
    let (mut names, mut keys) = (BTreeSet::new(), BTreeSet::new());
    for action in &spec.actions {
        law(
            !action.name.is_empty() && names.insert(&action.name),
            "actions have different names",
            || format!("{:?} comes twice or is empty", action.name),
        )?;
        for key in &action.keys {
            law(keys.insert(key), "a key has one action", || {
                format!("{key:?} has two")
            })?;
            let known = !key.starts_with(PREFIX) || BUTTONS.contains(&key.as_str());
            law(known, "a button of a gamepad is one that there is", || {
                format!("{key:?}; there are {}", BUTTONS.join(", "))
            })?;
        }
    }
    let mut names = BTreeSet::new();
    for name in &spec.components {
        law(
            !name.is_empty() && names.insert(name),
            "components of the reward have different names",
            || format!("{name:?} comes twice or is empty"),
        )?;
    }
    let mut names = BTreeSet::new();
    for name in spec
        .observation
        .iter()
        .map(|field| &field.name)
        .chain(&spec.events)
    {
        law(
            !name.is_empty() && names.insert(name),
            "observation fields and events have different names",
            || format!("{name:?} comes twice or is empty"),
        )?;
    }
    Ok(())
}

/// Checks the outcome of a step.
///
/// # Errors
/// The first law that it breaks.
pub fn check_outcome(outcome: &StepOutcome, spec: &Spec) -> LawVerdict {
    let seats = usize::from(spec.seats).min(MAX_SEATS);
    let wild = outcome
        .rewards
        .iter()
        .position(|reward| !reward.is_finite());
    law(wild.is_none(), "rewards are finite", || {
        format!("seat {}", wild.unwrap_or_default())
    })?;
    let empty = outcome.rewards[seats..].iter().all(|&reward| reward == 0.0);
    let ended = outcome.terminated | outcome.truncated;
    law(
        empty && u32::from(ended) >> seats == 0,
        "an outcome speaks of existing seats only",
        || format!("terminated or truncated {ended:#b}, of {seats} seats"),
    )?;
    for event in &outcome.events {
        let known = usize::from(event.kind) < spec.events.len()
            && event.seat < spec.seats
            && event.to.is_none_or(|seat| seat < spec.seats)
            && event.value.is_finite();
        law(
            known,
            "an event has a kind, existing seats and a finite value",
            || format!("{event:?}"),
        )?;
    }
    check_rewards(outcome, spec, seats)
}

/// Checks that rewards are in their range, and are the sums of their components.
fn check_rewards(outcome: &StepOutcome, spec: &Spec, seats: usize) -> LawVerdict {
    let rewards = &outcome.rewards[..seats];
    if let Some([from, to]) = spec.reward_range {
        let beyond = rewards.iter().find(|reward| !(from..=to).contains(*reward));
        law(beyond.is_none(), "a reward is in its range", || {
            format!("{beyond:?} is not from {from} to {to}")
        })?;
    }
    let names = spec.components.len();
    if names == 0 || outcome.components.is_empty() {
        let earned = names > 0 && rewards.iter().any(|&reward| reward != 0.0);
        return law(
            outcome.components.is_empty() && !earned,
            "components are those that the spec names",
            || format!("{:?}, rewards {rewards:?}", outcome.components),
        );
    }
    law(
        outcome.components.len() == seats * names,
        "components are those that the spec names",
        || format!("{} values", outcome.components.len()),
    )?;
    for (reward, parts) in rewards.iter().zip(outcome.components.chunks(names)) {
        let sum: f32 = parts.iter().sum();
        // They are added in another order.
        let near = (sum - reward).abs() <= 1e-4 * (1.0 + reward.abs());
        law(near, "the components add up to the reward", || {
            format!("{parts:?} and {reward}")
        })?;
    }
    Ok(())
}

/// Checks the observation of a seat.
///
/// # Errors
/// The first law that it breaks.
pub fn check_observation(values: &[f32], spec: &Spec) -> LawVerdict {
    let wanted = spec.observation_len();
    law(
        values.len() == wanted,
        "an observation has as many values as the spec says",
        || format!("{} values instead of {wanted}", values.len()),
    )?;
    let hole = values.iter().position(|value| !value.is_finite());
    law(
        hole.is_none(),
        "every value of an observation is written and finite",
        || {
            let at = hole.unwrap_or_default();
            format!("value {at} ({}) is {}", field_of(spec, at), values[at])
        },
    )?;
    let wide = |value: &f32| !spec.compact || *value == f32::from(*value as i8);
    let odd = values.iter().position(|value| !wide(value));
    law(
        odd.is_none(),
        "a compact observation has whole numbers from -128 to 127",
        || {
            let at = odd.unwrap_or_default();
            format!("value {at} ({}) is {}", field_of(spec, at), values[at])
        },
    )?;
    let mut rest = values;
    for field in &spec.observation {
        let (own, after) = rest
            .split_at_checked(size(field).unwrap_or(0) as usize)
            .unwrap_or_default();
        rest = after;
        let Some([from, to]) = field.range else {
            continue;
        };
        let beyond = own.iter().find(|value| !(from..=to).contains(*value));
        law(
            beyond.is_none(),
            "a value of an observation is in the range of its field",
            || format!("{}: {beyond:?} is not from {from} to {to}", field.name),
        )?;
    }
    Ok(())
}

/// The name of the field that a value belongs to.
fn field_of(spec: &Spec, at: usize) -> &str {
    let mut end = 0;
    let field = spec.observation.iter().find(|field| {
        end += size(field).unwrap_or(u64::MAX);
        (at as u64) < end
    });
    field.map_or("", |field| &field.name)
}

/// Checks a picture that may show this many sprites.
///
/// # Errors
/// The first law that it breaks.
pub fn check_picture(picture: &DrawList, sprites: usize) -> LawVerdict {
    let size = [picture.width, picture.height]
        .iter()
        .all(|side| side.is_finite() && *side > 0.0);
    law(size, "a picture has a size", || {
        format!("{} by {} cells", picture.width, picture.height)
    })?;
    let mut ids = BTreeSet::new();
    for item in &picture.items {
        let detail = || -> String { format!("{item:?}") };
        let whole = [item.x, item.y, item.w, item.h]
            .iter()
            .all(|value| value.is_finite());
        law(
            whole && item.w >= 0.0 && item.h >= 0.0,
            "an item has a place and a size",
            detail,
        )?;
        law(
            item.id == 0 || ids.insert(item.id),
            "items have different ids",
            detail,
        )?;
        let shape = match item.shape {
            Shape::Sprite(index) => usize::from(index) < sprites,
            Shape::Progress { part, .. } => (0.0..=1.0).contains(&part),
            Shape::Pixels {
                width,
                height,
                ref rgb,
            } => rgb.len() == usize::from(width) * usize::from(height) * 3,
            _ => true,
        };
        law(
            shape,
            "an item shows an existing sprite, a part of 0 to 1, or as many pixels as it says",
            detail,
        )?;
    }
    Ok(())
}
