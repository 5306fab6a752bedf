//! Answers of a world from their bytes.

use env_core::contract::{Action, MAX_SEATS, StepEvent};
use env_core::draw::{DrawItem, DrawList, Shape};
use serde::Deserialize;
use serde_json::Value;

use super::{AnswerKind, VERSION, WireError, broken};
use crate::contract::{HostFacts, HostInfo, HostStep, Picture};

/// Bytes of a step before its seats.
const STEP_HEAD: usize = 16;

/// Bytes of a seat in a step.
const STEP_SEAT: usize = 28;

/// The most parts of a reward.
const MOST_COMPONENTS: usize = 1_024;

/// The most bytes of the infos of a step.
const LONGEST_INFOS: usize = 64 << 10;

/// The action that stands for none.
const NO_ACTION: u16 = u16::MAX;

/// The seat that stands for nobody in an event.
const NOBODY: u8 = u8::MAX;

/// Reads the facts of a world.
///
/// # Errors
/// [`WireError`] with what is wrong in them.
pub fn decode_facts(body: &[u8]) -> Result<HostFacts, WireError> {
    #[derive(Deserialize)]
    struct Ready {
        coplay_host: u32,
        #[serde(flatten)]
        facts: HostFacts,
    }
    let ready: Ready = match serde_json::from_slice(body) {
        Ok(ready) => ready,
        Err(error) => return broken(format!("the facts of the world: {error}")),
    };
    if ready.coplay_host != VERSION {
        return broken(format!(
            "the host speaks version {} of the protocol, and this program version {VERSION}",
            ready.coplay_host
        ));
    }
    check_facts(&ready.facts)?;
    Ok(ready.facts)
}

fn check_facts(facts: &HostFacts) -> Result<(), WireError> {
    let spec = &facts.spec;
    if !(1..=MAX_SEATS).contains(&usize::from(spec.seats)) {
        return broken(format!("{} seats are not 1 to {MAX_SEATS}", spec.seats));
    }
    let actions = spec.actions.len();
    if actions == 0 || actions >= usize::from(NO_ACTION) || usize::from(spec.noop) >= actions {
        return broken(format!(
            "the action that does nothing is {}, and there are {actions} actions",
            spec.noop
        ));
    }
    let sets = &spec.seat_actions;
    if !sets.is_empty()
        && (sets.len() != usize::from(spec.seats)
            || sets.iter().any(|set| !set.contains(&spec.noop)))
    {
        return broken(
            "`seat_actions` needs a set for every seat, with the action that does nothing in each",
        );
    }
    if spec.components.len() > MOST_COMPONENTS {
        return broken(format!(
            "a reward has more than {MOST_COMPONENTS} components"
        ));
    }
    let values = spec.observation.iter().try_fold(0_u32, |sum, field| {
        let size = (field.shape.iter()).try_fold(1_u32, |size, &side| size.checked_mul(side))?;
        sum.checked_add(size)
    });
    match values {
        Some(values) if values < 1 << 26 => Ok(()),
        _ => broken("the observation has too many values"),
    }
}

/// Reads the result of a reset or a step, for a world of this many seats and kinds of events.
///
/// # Errors
/// [`WireError`] with what is wrong; `step` is then in an undefined, valid state.
pub fn decode_step(body: &[u8], facts: &HostFacts, step: &mut HostStep) -> Result<(), WireError> {
    let seats = usize::from(facts.spec.seats);
    step.outcome.clear();
    let Some((head, rest)) = body.split_first_chunk::<STEP_HEAD>() else {
        return broken("a step is too short");
    };
    if usize::from(head[1]) != seats {
        return broken(format!("a step has {} seats instead of {seats}", head[1]));
    }
    step.outcome.over = head[0] & 1 == 1;
    step.acting = u16::from_le_bytes([head[2], head[3]]);
    step.outcome.terminated = u16::from_le_bytes([head[4], head[5]]);
    step.outcome.truncated = u16::from_le_bytes([head[6], head[7]]);
    step.score = i64::from_le_bytes(
        *head
            .last_chunk()
            .expect("a head has eight bytes at its end"),
    );
    let Some((rows, rest)) = rest.split_at_checked(seats * STEP_SEAT) else {
        return broken("a step is shorter than its seats");
    };
    for (seat, row) in rows.as_chunks::<STEP_SEAT>().0.iter().enumerate() {
        decode_seat(row, seat, step)?;
    }
    let rest = decode_events(rest, facts, step)?;
    let rest = decode_components(rest, facts, step)?;
    decode_infos(rest, seats, step)
}

fn decode_seat(row: &[u8; STEP_SEAT], seat: usize, step: &mut HostStep) -> Result<(), WireError> {
    let word = |at: usize| {
        let bytes = row[at..].first_chunk().expect("a row has 28 bytes");
        u64::from_le_bytes(*bytes)
    };
    let reward = f32::from_le_bytes([row[0], row[1], row[2], row[3]]);
    if !reward.is_finite() {
        return broken(format!("the reward of seat {seat} is {reward}"));
    }
    step.outcome.rewards[seat] = reward;
    step.seat_scores[seat] = word(4).cast_signed();
    step.masks[seat] = word(12);
    step.observed[seat] = word(20);
    Ok(())
}

fn decode_events<'a>(
    rest: &'a [u8],
    facts: &HostFacts,
    step: &mut HostStep,
) -> Result<&'a [u8], WireError> {
    let Some((count, rest)) = rest.split_first_chunk() else {
        return broken("a step has no number of events");
    };
    let count = usize::from(u16::from_le_bytes(*count));
    let Some((rows, rest)) = rest.split_at_checked(8 * count) else {
        return broken("a step is shorter than its events");
    };
    for row in rows.as_chunks::<8>().0 {
        let event = StepEvent {
            kind: u16::from_le_bytes([row[0], row[1]]),
            seat: row[2],
            to: (row[3] != NOBODY).then_some(row[3]),
            value: f32::from_le_bytes([row[4], row[5], row[6], row[7]]),
        };
        let known = |seat: u8| seat < facts.spec.seats;
        if usize::from(event.kind) >= facts.spec.events.len()
            || !known(event.seat)
            || !event.to.is_none_or(known)
            || !event.value.is_finite()
        {
            return broken(format!("there is no such event: {event:?}"));
        }
        step.outcome.events.push(event);
    }
    Ok(rest)
}

/// Reads the parts of the rewards: all of seat 0, then those of seat 1, and so on.
fn decode_components<'a>(
    rest: &'a [u8],
    facts: &HostFacts,
    step: &mut HostStep,
) -> Result<&'a [u8], WireError> {
    let parts = usize::from(facts.spec.seats) * facts.spec.components.len();
    let Some((bytes, rest)) = rest.split_at_checked(4 * parts) else {
        return broken("a step is shorter than the components of its rewards");
    };
    for bytes in bytes.as_chunks::<4>().0 {
        let part = f32::from_le_bytes(*bytes);
        if !part.is_finite() {
            return broken(format!("a component of a reward is {part}"));
        }
        step.outcome.components.push(part);
    }
    Ok(rest)
}

fn decode_infos(rest: &[u8], seats: usize, step: &mut HostStep) -> Result<(), WireError> {
    step.infos.clear();
    if rest.is_empty() {
        return Ok(());
    }
    if rest.len() > LONGEST_INFOS {
        return broken(format!(
            "the infos of a step have {} bytes, over the limit of {LONGEST_INFOS}",
            rest.len()
        ));
    }
    let rows: Vec<(Option<u8>, String, Value)> = match serde_json::from_slice(rest) {
        Ok(rows) => rows,
        Err(error) => return broken(format!("the infos of a step: {error}")),
    };
    for (seat, name, value) in rows {
        if seat.is_some_and(|seat| usize::from(seat) >= seats) {
            return broken(format!("the info `{name}` is of a seat that is not there"));
        }
        step.infos.push(HostInfo { seat, name, value });
    }
    Ok(())
}

/// Reads a picture.
///
/// # Errors
/// [`WireError`] with what is wrong; `out` is then in an undefined, valid state.
pub fn decode_picture(
    kind: AnswerKind,
    body: &[u8],
    sprites: usize,
    out: &mut Picture,
) -> Result<(), WireError> {
    match kind {
        AnswerKind::NoPicture => *out = Picture::None,
        AnswerKind::Pixels => {
            let Some((head, rgb)) = body.split_first_chunk::<8>() else {
                return broken("a picture is too short");
            };
            let pixels = out.as_pixels();
            pixels.width = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
            pixels.height = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
            let size = u64::from(pixels.width) * u64::from(pixels.height);
            if size.checked_mul(3) != Some(rgb.len() as u64) || size == 0 {
                let (width, height) = (pixels.width, pixels.height);
                let bytes = rgb.len();
                return broken(format!("a picture of {width} × {height} has {bytes} bytes"));
            }
            pixels.rgb.clear();
            pixels.rgb.extend_from_slice(rgb);
        }
        AnswerKind::Shapes => decode_shapes(body, sprites, out.as_list())?,
        _ => return broken(format!("{kind:?} is no answer to a picture")),
    }
    Ok(())
}

#[derive(Deserialize)]
struct Shapes {
    width: f32,
    height: f32,
    background: u32,
    items: Vec<Vec<Value>>,
}

fn decode_shapes(body: &[u8], sprites: usize, list: &mut DrawList) -> Result<(), WireError> {
    let shapes: Shapes = match serde_json::from_slice(body) {
        Ok(shapes) => shapes,
        Err(error) => return broken(format!("a picture of shapes: {error}")),
    };
    let size = |side: f32| side.is_finite() && side > 0.0;
    if !size(shapes.width) || !size(shapes.height) {
        return broken("a picture of shapes has no size");
    }
    list.begin(shapes.width, shapes.height, shapes.background);
    for (at, item) in shapes.items.iter().enumerate() {
        match decode_item(item, sprites) {
            Some(item) => list.items.push(item),
            None => {
                return broken(format!(
                    "shape {at} of a picture: {}",
                    Value::from(item.clone())
                ));
            }
        }
    }
    Ok(())
}

fn decode_item(item: &[Value], sprites: usize) -> Option<DrawItem> {
    let number = |at: usize| {
        let value = item.get(at)?.as_f64()? as f32;
        value.is_finite().then_some(value)
    };
    let color = |at: usize| u32::try_from(item.get(at)?.as_u64()?).ok();
    let shape = match item.get(5)?.as_str()? {
        "rect" => Shape::Rect {
            radius: number(6)?,
            color: color(7)?,
        },
        "ellipse" => Shape::Ellipse { color: color(6)? },
        "progress" => Shape::Progress {
            part: number(6)?,
            color: color(7)?,
        },
        "text" => Shape::Text {
            text: item.get(6)?.as_str()?.to_owned(),
            color: color(7)?,
        },
        "sprite" => {
            let index = u16::try_from(item.get(6)?.as_u64()?).ok()?;
            (usize::from(index) < sprites).then_some(Shape::Sprite(index))?
        }
        _ => return None,
    };
    Some(DrawItem {
        id: u32::try_from(item.first()?.as_u64()?).ok()?,
        x: number(1)?,
        y: number(2)?,
        w: number(3)?,
        h: number(4)?,
        shape,
    })
}

/// Reads an observation of this many values.
///
/// # Errors
/// [`WireError`] if it has another length.
pub fn decode_values(body: &[u8], length: usize, out: &mut Vec<f32>) -> Result<(), WireError> {
    let (values, rest) = body.as_chunks();
    if values.len() != length || !rest.is_empty() {
        let bytes = body.len();
        return broken(format!(
            "an observation of {length} values has {bytes} bytes"
        ));
    }
    out.clear();
    out.extend(values.iter().map(|bytes| f32::from_le_bytes(*bytes)));
    Ok(())
}

/// Reads an action; `None` if there is none.
///
/// # Errors
/// [`WireError`] if it is no action of the world.
pub fn decode_action(body: &[u8], facts: &HostFacts) -> Result<Option<Action>, WireError> {
    let Ok(bytes) = body.try_into() else {
        return broken("an action has two bytes");
    };
    match u16::from_le_bytes(bytes) {
        NO_ACTION => Ok(None),
        action if usize::from(action) < facts.spec.actions.len() => Ok(Some(action)),
        action => broken(format!("there is no action {action}")),
    }
}

/// A fault as the process reports it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ToldFault {
    /// `refused`, `threw` or `memory`.
    pub kind: String,
    /// The reason or the traceback.
    pub text: String,
}

/// Reads a fault.
///
/// # Errors
/// [`WireError`] if it is none.
pub fn decode_fault(body: &[u8]) -> Result<ToldFault, WireError> {
    serde_json::from_slice(body).map_err(|error| WireError(format!("a fault: {error}")))
}
