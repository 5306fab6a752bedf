//! The places of values in an observation, in words.

use anyhow::bail;
use env_core::contract::FieldSpec;
use env_core::envs::{overcooked_ai, overcooked_jaxmarl_v2};
use env_core::{Environment as _, Spec};
use overcooked_ai::{Encoding, OvercookedAi, name_channel};
use overcooked_jaxmarl_v2::{OvercookedJaxmarlV2, name_layer};

/// Names the field of a value of the whole observation, its place in there, and its meaning where it is known.
pub(super) fn name_place(spec: &Spec, at: usize) -> String {
    let mut start = 0;
    for field in &spec.observation {
        let len = len_of(field);
        if at < start + len {
            let (mut rest, mut place) = (at - start, Vec::new());
            for size in field.shape.iter().rev() {
                place.push(rest % *size as usize);
                rest /= *size as usize;
            }
            place.reverse();
            let indices: Vec<String> = place.iter().map(ToString::to_string).collect();
            let meaning = name_meaning(&spec.id, field, &place);
            let meaning = meaning.map_or_else(String::new, |meaning| format!(" ({meaning})"));
            return format!("{} [{}]{meaning}", field.name, indices.join(", "));
        }
        start += len;
    }
    format!("value {at}")
}

fn len_of(field: &FieldSpec) -> usize {
    field.shape.iter().product::<u32>() as usize
}

/// The meaning of a value, such as `channel 16, onions in a pot that does not cook, at column 2, row 1`; columns and rows
/// count from 0, as in the array.
fn name_meaning(env: &str, field: &FieldSpec, place: &[usize]) -> Option<String> {
    let (&channel, &len) = (place.last()?, field.shape.last()?);
    let len = len as usize;
    let (name, is_by_rows) = match env {
        OvercookedAi::ID => {
            let encoding = encoding_of(env, field)?;
            (name_channel(encoding, len, channel)?, encoding.is_by_rows())
        }
        OvercookedJaxmarlV2::ID => (name_layer(len, channel)?, true),
        _ => return None,
    };
    Some(match *place {
        [row, column, _] if is_by_rows => {
            format!("channel {channel}, {name}, at column {column}, row {row}")
        }
        [column, row, _] => format!("channel {channel}, {name}, at column {column}, row {row}"),
        _ => name,
    })
}

/// The encoding that a field of `overcooked_ai` has; none for other environments.
fn encoding_of(env: &str, field: &FieldSpec) -> Option<Encoding> {
    let mut all = Encoding::ALL
        .into_iter()
        .filter(|_| env == OvercookedAi::ID);
    all.find(|encoding| encoding.name() == field.name)
}

/// True if a recorded observation is equal once the rows and columns of its maps are exchanged.
pub(super) fn is_exchanged(spec: &Spec, recorded: &[f32], here: &[f32]) -> bool {
    let (mut start, mut has_map) = (0, false);
    for field in &spec.observation {
        let len = len_of(field);
        let (Some(recorded), Some(here)) = (
            recorded.get(start..start + len),
            here.get(start..start + len),
        ) else {
            return false;
        };
        let is_equal = match *field.shape {
            [first, second, channels] => {
                has_map = true;
                let [first, second, channels] = [first, second, channels].map(|side| side as usize);
                (0..first * second).all(|cell| {
                    let other = cell % second * first + cell / second;
                    let [cell, other] = [cell, other].map(|cell| cell * channels);
                    here[cell..][..channels] == recorded[other..][..channels]
                })
            }
            _ => recorded == here,
        };
        if !is_equal {
            return false;
        }
        start += len;
    }
    has_map
}

/// Refuses observations whose rows and columns are the other way round.
pub(super) fn check_axes(spec: &Spec, recorded: &[usize]) -> anyhow::Result<()> {
    let [first, second, channels] = *recorded else {
        return Ok(());
    };
    let has = |sides: [usize; 3]| {
        let found = spec.observation.iter().find(|field| {
            let shape = field.shape.iter().map(|side| *side as usize);
            shape.eq(sides)
        });
        found.filter(|_| first != second)
    };
    let (None, Some(field)) = (
        has([first, second, channels]),
        has([second, first, channels]),
    ) else {
        return Ok(());
    };
    let is_by_rows = match encoding_of(&spec.id, field) {
        Some(encoding) => encoding.is_by_rows(),
        None if spec.id == OvercookedJaxmarlV2::ID => true,
        None => bail!(
            "an observation of the trace has the shape {recorded:?}, and `{}` of `{}` has {:?}: rows and columns are the \
             other way round",
            field.name,
            spec.id,
            field.shape
        ),
    };
    let [here, there] = match is_by_rows {
        true => ["[row, column, channel]", "[column, row, channel]"],
        false => ["[column, row, channel]", "[row, column, channel]"],
    };
    let fix = match (is_by_rows, channels) {
        (false, 26) => {
            "JaxMARL's encoding `jaxmarl` has that order: add --rules jaxmarl-0.2.0 if the rules are JaxMARL's too, or \
             --params '{\"observation\": [\"jaxmarl\"]}'"
        }
        (true, 26) => {
            "overcooked_ai's encoding `lossless` has that order: add --rules overcooked-ai-1.1.0 or overcooked-ai-old if the \
             rules are overcooked_ai's too, or --params '{\"observation\": [\"lossless\"]}'"
        }
        _ => "record it without a transposition",
    };
    bail!(
        "an observation of the trace has the shape {recorded:?}, which is {there}; `{}` of `{}` has {:?}, which is {here}. {fix}",
        field.name,
        spec.id,
        field.shape
    )
}
