//! Which part of the observation a model takes.

use env_core::Spec;
use env_core::contract::FieldSpec;

use super::count;
use crate::graph::Graph;

/// The fields of the observation that the first inputs take; empty if the first input takes all of them.
///
/// # Errors
/// There is no such field, several fields fit the input, or its sides are not those of the field.
pub(super) fn find_fields<'a>(
    graph: &Graph,
    spec: &'a Spec,
    encoding: Option<&str>,
) -> Result<Vec<&'a FieldSpec>, String> {
    let find = |name: &str| spec.observation.iter().find(|field| field.name == name);
    let Some((name, shape)) = graph.inputs.first() else {
        return Ok(Vec::new());
    };
    if let Some(named) = encoding {
        let field = find(named).ok_or_else(|| {
            format!(
                "`{}` gives no observation `{named}` here; it gives {}. Add `{named}` to `observation` in the `config` of \
                 the environment if it has that encoding, or remove `observation: {named}`",
                spec.id,
                list(&spec.observation.iter().collect::<Vec<_>>())
            )
        })?;
        check_sides(name, shape, field)?;
        return Ok(vec![field]);
    }
    let mut named = Vec::new();
    for (name, shape) in &graph.inputs {
        let Some(field) = find(name) else { break };
        check_sides(name, shape, field)?;
        named.push(field);
    }
    // Each state that a model remembers is an input and an output.
    if named.is_empty() && graph.inputs.len() > graph.outputs.len() {
        return Err(format!(
            "input `{name}` is not a field of the observation of `{}`, whose fields are {}; choose the environment in which \
             the model was trained, or give the inputs the names of these fields",
            spec.id,
            list(&spec.observation.iter().collect::<Vec<_>>())
        ));
    }
    let len = count(shape)?;
    if named.is_empty() && len != spec.observation_len() {
        return find_by_shape(name, shape, spec);
    }
    if let ([], [field]) = (&named[..], &spec.observation[..]) {
        check_sides(name, shape, field)?;
    }
    Ok(named)
}

/// The only field that fits an input which does not take the whole observation; none if no field does, and then the
/// reader of the whole observation reports the wrong length.
fn find_by_shape<'a>(
    name: &str,
    shape: &[usize],
    spec: &'a Spec,
) -> Result<Vec<&'a FieldSpec>, String> {
    let input = sides(shape.iter().copied());
    let of = |field: &FieldSpec| sides(field.shape.iter().map(|side| *side as usize));
    let fitting = spec.observation.iter().filter(|field| of(field) == input);
    let fitting: Vec<&FieldSpec> = fitting.collect();
    match &fitting[..] {
        [] => {
            let turned = |field: &&FieldSpec| check_sides(name, shape, field).err();
            spec.observation
                .iter()
                .find_map(|field| turned(&field))
                .map_or(Ok(Vec::new()), Err)
        }
        [field] if input.len() > 1 => Ok(vec![field]),
        // A row of numbers fits by chance; a grid with channels hardly does.
        several if input.len() < 2 => Err(format!(
            "input `{name}` takes {} values, and the observation has {}; if it takes {} alone, write so, such as \
             `observation: {}`",
            count(shape)?,
            spec.observation_len(),
            list(several),
            several[0].name
        )),
        several => Err(format!(
            "input `{name}` {shape:?} fits {}; write which one it takes, such as `observation: {}`",
            list(several),
            several[0].name
        )),
    }
}

/// Refuses an input with the sides of a field in another order: it would take each value for another one. A row of
/// numbers fits every field of its length.
fn check_sides(name: &str, shape: &[usize], field: &FieldSpec) -> Result<(), String> {
    let own = sides(shape.iter().copied());
    let wanted = sides(field.shape.iter().map(|side| *side as usize));
    let [mut one, mut other] = [own.clone(), wanted.clone()];
    one.sort_unstable();
    other.sort_unstable();
    let is_map = own.len() > 1 && wanted.len() > 1;
    let has_all = own.iter().product::<usize>() == wanted.iter().product::<usize>();
    match is_map && own != wanted && (has_all || one == other) {
        true => Err(format!(
            "input `{name}` has the sides {own:?}, and the observation `{}` has {wanted:?}: the model would take each value \
             for another one. If it was trained on another encoding, let `observation` in the `config` of the environment \
             list that encoding, and let the partner name it; otherwise turn the observation inside the model",
            field.name
        )),
        false => Ok(()),
    }
}

/// The sides of a shape; those of 1 are no sides.
fn sides(shape: impl Iterator<Item = usize>) -> Vec<usize> {
    shape.filter(|side| *side > 1).collect()
}

fn list(fields: &[&FieldSpec]) -> String {
    let names = fields.iter();
    let names: Vec<String> = names
        .map(|field| format!("`{}` {:?}", field.name, field.shape))
        .collect();
    names.join(", ")
}
