//! Which part of the observation a model takes.

use env_core::Spec;
use env_core::contract::FieldSpec;

use super::count;
use crate::graph::Graph;

/// The fields of the observation that the first inputs take; empty if the first input takes all of them.
///
/// # Errors
/// There is no such field, or several fields have the shape of the input.
pub(super) fn find_fields<'a>(
    graph: &Graph,
    spec: &'a Spec,
    encoding: Option<&str>,
) -> Result<Vec<&'a FieldSpec>, String> {
    let find = |name: &str| spec.observation.iter().find(|field| field.name == name);
    if let Some(name) = encoding {
        let field = find(name).ok_or_else(|| {
            format!(
                "`{}` gives no observation `{name}` here; it gives {}",
                spec.id,
                list(&spec.observation.iter().collect::<Vec<_>>())
            )
        })?;
        return Ok(vec![field]);
    }
    let inputs = graph.inputs.iter();
    let named: Vec<_> = inputs.map_while(|(name, _)| find(name)).collect();
    let Some((name, shape)) = graph.inputs.first() else {
        return Ok(named);
    };
    let len = count(shape)?;
    if !named.is_empty() || len == spec.observation_len() {
        return Ok(named);
    }
    // A row of numbers fits by chance; a grid with channels hardly does.
    let is_shaped: Vec<&FieldSpec> = (spec.observation.iter())
        .filter(|field| field.shape.iter().filter(|side| **side > 1).count() > 1)
        .filter(|field| has_shape(shape, field))
        .collect();
    match &is_shaped[..] {
        // The reader of the whole observation reports a wrong length.
        [] => Ok(Vec::new()),
        [field] => Ok(vec![field]),
        several => Err(format!(
            "input `{name}` {shape:?} fits {}; write which one it takes, such as `observation: {}`",
            list(several),
            several[0].name
        )),
    }
}

/// Returns whether the sides of an input are those of a field, with sides of 1 before them.
fn has_shape(input: &[usize], field: &FieldSpec) -> bool {
    let sides: Vec<usize> = field.shape.iter().map(|side| *side as usize).collect();
    let before = input.len().checked_sub(sides.len());
    before.is_some_and(|before| {
        input[before..] == sides[..] && input[..before].iter().all(|side| *side == 1)
    })
}

fn list(fields: &[&FieldSpec]) -> String {
    let names = fields.iter();
    let names: Vec<String> = names
        .map(|field| format!("`{}` {:?}", field.name, field.shape))
        .collect();
    names.join(", ")
}
