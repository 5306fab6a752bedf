//! Operators that move values and do not change them.

use policy::network::{KernelStep, Map};

use super::{Live, Lowered, Lowering, Value, axis};
use crate::proto::Node;
use crate::tensor::{Data, Tensor, count, places, strides};

impl Value {
    pub(super) fn shape(&self) -> &[usize] {
        match self {
            Self::Fixed(tensor) => &tensor.shape,
            Self::Live(live) | Self::Chosen { from: live, .. } => &live.shape,
        }
    }
}

impl Lowering {
    /// Lowers an operator that moves values; false if it is none.
    pub(super) fn lower_movement(&mut self, node: &Node) -> Lowered<bool> {
        let value = match node.op.as_str() {
            "Identity" | "Dropout" | "CastLike" => self.input(node, 0)?,
            "Cast" => self.cast(node)?,
            "Constant" => constant(node)?,
            "ConstantOfShape" => self.filled(node)?,
            "Shape" => {
                let shape = self.input(node, 0)?.shape().to_vec();
                Value::Fixed(Tensor::ints(
                    shape.into_iter().map(|len| len as i64).collect(),
                ))
            }
            "Reshape" => self.reshape(node)?,
            "Flatten" => {
                let value = self.input(node, 0)?;
                let at = match node.int("axis", 1) {
                    at if at == value.shape().len() as i64 => value.shape().len(),
                    at => axis(at, value.shape().len())?,
                };
                let (rows, columns) = value.shape().split_at(at);
                let shape = vec![rows.iter().product(), columns.iter().product()];
                reshape_value(value, shape)?
            }
            "Squeeze" | "Unsqueeze" => self.squeeze(node)?,
            "Transpose" => self.transpose(node)?,
            "Concat" => self.concat(node)?,
            "Slice" => self.lower_slice(node)?,
            "Gather" => self.gather(node)?,
            "Split" => return self.split(node).map(|()| true),
            "Expand" => {
                let shape = self.sizes(node, 1)?.ok_or("it has no shape")?;
                let value = self.input(node, 0)?;
                let shape = common_shape(value.shape(), &shape)?;
                self.broadcast_value(value, &shape)?
            }
            _ => match self.lower_rearrangement(node)? {
                Some(value) => value,
                None => return Ok(false),
            },
        };
        self.give(node, 0, value);
        Ok(true)
    }

    /// Values of these, one after the other, by their places.
    pub(super) fn move_values(
        &mut self,
        from: Vec<Value>,
        shape: Vec<usize>,
        places: Vec<usize>,
    ) -> Lowered<Value> {
        count(&shape)?;
        if let [Value::Fixed(tensor)] = from.as_slice() {
            return Ok(Value::Fixed(tensor.pick_values(shape, &places)));
        }
        if let [Value::Live(live)] = from.as_slice()
            && count(&live.shape)? == places.len()
            && places.iter().enumerate().all(|(at, place)| at == *place)
        {
            return Ok(Value::Live(Live {
                shape,
                register: live.register,
            }));
        }
        let from: Vec<u16> = from
            .into_iter()
            .map(|value| Ok(self.enlive(value)?.register))
            .collect::<Lowered<_>>()?;
        let to = self.register(places.len())?;
        let places = places.into_iter().map(|place| place as u32).collect();
        self.network
            .steps
            .push(KernelStep::Pick { from, to, places });
        Ok(Value::Live(Live {
            shape,
            register: to,
        }))
    }

    /// A part of a value along its last axis.
    pub(super) fn take_part(&mut self, from: &Live, start: usize, len: usize) -> Lowered<Live> {
        let places = (start..start + len).collect();
        match self.move_values(vec![Value::Live(from.clone())], vec![1, len], places)? {
            Value::Live(live) => Ok(live),
            _ => Err("a part of a value is none".into()),
        }
    }

    /// A value repeated along axes of size 1 until it has a shape.
    pub(super) fn broadcast_value(&mut self, value: Value, shape: &[usize]) -> Lowered<Value> {
        if value.shape() == shape {
            return Ok(value);
        }
        let own = value.shape().to_vec();
        let missing = shape.len() - own.len();
        let mut steps = vec![0; missing];
        let along = own.iter().zip(strides(&own));
        steps.extend(along.map(|(len, stride)| if *len == 1 { 0 } else { stride as isize }));
        let places = places(shape, &steps, 0)?;
        self.move_values(vec![value], shape.to_vec(), places)
    }

    /// An input that tells sizes, axes or places.
    pub(super) fn sizes(&self, node: &Node, index: usize) -> Lowered<Option<Vec<usize>>> {
        let Some(tensor) = self.fixed(node, index)? else {
            return Ok(None);
        };
        let size = |size: &i64| usize::try_from(*size).map_err(|_| "a size below 0".to_owned());
        tensor
            .whole()?
            .iter()
            .map(size)
            .collect::<Lowered<_>>()
            .map(Some)
    }

    /// Whole numbers that are an attribute in early versions, and later an input.
    pub(super) fn read_wholes(
        &self,
        node: &Node,
        attribute: &str,
        index: usize,
    ) -> Lowered<Option<Vec<i64>>> {
        match node.ints(attribute) {
            Some(ints) => Ok(Some(ints.to_vec())),
            None => match self.fixed(node, index)? {
                Some(tensor) => Ok(Some(tensor.whole()?.to_vec())),
                None => Ok(None),
            },
        }
    }

    fn cast(&mut self, node: &Node) -> Lowered<Value> {
        let is_float = matches!(node.int("to", 1), 1 | 11);
        match self.input(node, 0)? {
            Value::Fixed(tensor) => Ok(Value::Fixed(Tensor {
                data: match is_float {
                    true => Data::Floats(tensor.floats()),
                    false => Data::Ints(tensor.floats().iter().map(|it| *it as i64).collect()),
                },
                shape: tensor.shape,
            })),
            value if is_float => Ok(value),
            value => {
                let live = self.enlive(value)?;
                let kind = node.int("to", 1);
                // Source: TensorProto.DataType.
                let found = match kind {
                    9 => {
                        let none = self.map(Map::Not, &live)?;
                        self.map(Map::Not, &none)?
                    }
                    2..=7 | 12 | 13 => self.map(Map::Trunc, &live)?,
                    _ => {
                        return Err(format!(
                            "it makes numbers of type {kind}; export the policy in float32"
                        ));
                    }
                };
                Ok(Value::Live(found))
            }
        }
    }

    fn filled(&self, node: &Node) -> Lowered<Value> {
        let shape = self.sizes(node, 0)?.ok_or("it has no shape")?;
        let value = match node.tensor("value") {
            Some(tensor) => Tensor::read(tensor)?,
            None => Tensor {
                shape: vec![1],
                data: Data::Floats(vec![0.0]),
            },
        };
        if value.len() != 1 {
            return Err("it fills with more than one value".into());
        }
        let places = vec![0; count(&shape)?];
        Ok(Value::Fixed(value.pick_values(shape, &places)))
    }

    fn reshape(&self, node: &Node) -> Lowered<Value> {
        let value = self.input(node, 0)?;
        let wanted = self
            .read_wholes(node, "shape", 1)?
            .ok_or("it has no shape")?;
        let all = count(value.shape())?;
        let mut shape = Vec::new();
        for (axis, size) in wanted.iter().enumerate() {
            shape.push(match size {
                0 if node.int("allowzero", 0) == 0 => *value
                    .shape()
                    .get(axis)
                    .ok_or("it keeps the size of an axis that is not there")?,
                -1 => 0,
                size => usize::try_from(*size).map_err(|_| "a size below 0".to_owned())?,
            });
        }
        if let Some(open) = wanted.iter().position(|size| *size == -1) {
            shape[open] = 1;
            shape[open] = all / count(&shape)?;
        }
        reshape_value(value, shape)
    }

    fn squeeze(&self, node: &Node) -> Lowered<Value> {
        let value = self.input(node, 0)?;
        let axes = self.read_wholes(node, "axes", 1)?;
        let mut shape = value.shape().to_vec();
        if node.op == "Squeeze" {
            let rank = shape.len();
            let axes = axes.map(|axes| {
                axes.iter()
                    .map(|it| axis(*it, rank))
                    .collect::<Lowered<Vec<_>>>()
            });
            let axes = axes.transpose()?;
            let mut at = 0;
            shape.retain(|len| {
                at += 1;
                axes.as_ref()
                    .map_or(*len != 1, |axes| !axes.contains(&(at - 1)))
            });
            return reshape_value(value, shape);
        }
        let axes = axes.ok_or("it names no axes")?;
        let rank = shape.len() + axes.len();
        let mut axes = axes
            .iter()
            .map(|it| axis(*it, rank))
            .collect::<Lowered<Vec<_>>>()?;
        axes.sort_unstable();
        for axis in axes {
            if axis > shape.len() {
                return Err("it names an axis twice".into());
            }
            shape.insert(axis, 1);
        }
        reshape_value(value, shape)
    }

    fn transpose(&mut self, node: &Node) -> Lowered<Value> {
        let value = self.input(node, 0)?;
        let rank = value.shape().len();
        let order: Vec<usize> = match node.ints("perm") {
            Some(perm) => perm
                .iter()
                .map(|it| axis(*it, rank))
                .collect::<Lowered<_>>()?,
            None => (0..rank).rev().collect(),
        };
        self.permute_axes(value, &order)
    }

    /// A value in another order of axes.
    pub(super) fn permute_axes(&mut self, value: Value, order: &[usize]) -> Lowered<Value> {
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..value.shape().len()) {
            return Err("its axes are no order of those that are there".into());
        }
        let strides = strides(value.shape());
        let steps: Vec<isize> = order.iter().map(|axis| strides[*axis] as isize).collect();
        let shape: Vec<usize> = order.iter().map(|axis| value.shape()[*axis]).collect();
        let places = places(&shape, &steps, 0)?;
        self.move_values(vec![value], shape, places)
    }

    fn concat(&mut self, node: &Node) -> Lowered<Value> {
        let mut parts = Vec::new();
        for index in 0..node.inputs.len() {
            let part = self.input(node, index)?;
            // What is empty adds nothing.
            if !part.shape().contains(&0) {
                parts.push(part);
            }
        }
        let first = parts.first().ok_or("it has no inputs")?.shape().to_vec();
        let axis = axis(node.int("axis", 0), first.len())?;
        let mut shape = first.clone();
        shape[axis] = 0;
        for part in &parts {
            let own = part.shape();
            let fits = own.len() == first.len()
                && (0..first.len()).all(|it| it == axis || own[it] == first[it]);
            if !fits {
                return Err(format!("{own:?} beside {first:?}"));
            }
            shape[axis] += own[axis];
        }
        count(&shape)?;
        if let Some(tensor) = joined(&parts, axis, &shape) {
            return Ok(Value::Fixed(tensor));
        }
        let places = interleaved(&parts, axis, &shape);
        self.move_values(parts, shape, places)
    }

    fn gather(&mut self, node: &Node) -> Lowered<Value> {
        let value = self.input(node, 0)?;
        let at = axis(node.int("axis", 0), value.shape().len())?;
        if let Value::Live(places) = self.input(node, 1)? {
            return match at {
                0 => self.look_up(value, &places),
                _ => Err("its places depend on the observation; they can along axis 0".into()),
            };
        }
        let picked = self.fixed(node, 1)?.ok_or("it has no places")?;
        let (before, rest) = value.shape().split_at(at);
        let (len, after) = (rest[0], rest[1..].to_vec());
        let (outer, inner): (usize, usize) = (before.iter().product(), after.iter().product());
        let shape = [before, &picked.shape, &after].concat();
        count(&shape)?;
        let rows: Vec<usize> = picked
            .whole()?
            .iter()
            .map(|it| axis(*it, len))
            .collect::<Lowered<_>>()?;
        let mut places = Vec::new();
        for outer in 0..outer {
            for row in &rows {
                let start = (outer * len + row) * inner;
                places.extend(start..start + inner);
            }
        }
        self.move_values(vec![value], shape, places)
    }
}

/// A value of another shape with as many values.
pub(super) fn reshape_value(value: Value, shape: Vec<usize>) -> Lowered<Value> {
    if count(value.shape())? != count(&shape)? {
        return Err(format!(
            "{:?} cannot become {shape:?}; export with a batch of 1, or a batch that may vary",
            value.shape()
        ));
    }
    Ok(match value {
        Value::Fixed(tensor) => Value::Fixed(Tensor { shape, ..tensor }),
        Value::Live(live) => Value::Live(Live { shape, ..live }),
        chosen @ Value::Chosen { .. } => chosen,
    })
}

/// The shape that both can be repeated to.
pub(super) fn common_shape(left: &[usize], right: &[usize]) -> Lowered<Vec<usize>> {
    let rank = left.len().max(right.len());
    let len = |shape: &[usize], axis: usize| {
        (axis + shape.len())
            .checked_sub(rank)
            .map_or(1, |axis| shape[axis])
    };
    let one = |axis: usize| match (len(left, axis), len(right, axis)) {
        (a, b) if a == b || b == 1 => Ok(a),
        (1, b) => Ok(b),
        _ => Err(format!("{left:?} does not go with {right:?}")),
    };
    (0..rank).map(one).collect()
}

fn constant(node: &Node) -> Lowered<Value> {
    let tensor = match (
        node.tensor("value"),
        node.floats("value_floats"),
        node.ints("value_ints"),
    ) {
        (Some(tensor), ..) => Tensor::read(tensor)?,
        (_, Some(floats), _) => Tensor {
            shape: vec![floats.len()],
            data: Data::Floats(floats.to_vec()),
        },
        (.., Some(ints)) => Tensor::ints(ints.to_vec()),
        _ if node.has("value_float") => Tensor {
            shape: vec![],
            data: Data::Floats(vec![node.float("value_float", 0.0)]),
        },
        _ if node.has("value_int") => Tensor {
            shape: vec![],
            data: Data::Ints(vec![node.int("value_int", 0)]),
        },
        _ => return Err("its value is of a kind that no policy needs".into()),
    };
    Ok(Value::Fixed(tensor))
}

/// The places of what is concatenated along an axis, in the parts one after the other.
fn interleaved(parts: &[Value], axis: usize, shape: &[usize]) -> Vec<usize> {
    let outer: usize = shape[..axis].iter().product();
    let mut places = Vec::new();
    for outer in 0..outer {
        let mut base = 0;
        for part in parts {
            let chunk: usize = part.shape()[axis..].iter().product();
            let start = base + outer * chunk;
            places.extend(start..start + chunk);
            base += part.shape().iter().product::<usize>();
        }
    }
    places
}

/// Concatenates constants.
fn joined(parts: &[Value], axis: usize, shape: &[usize]) -> Option<Tensor> {
    let tensors: Vec<&Tensor> = parts
        .iter()
        .map(|part| match part {
            Value::Fixed(tensor) => Some(tensor),
            _ => None,
        })
        .collect::<Option<_>>()?;
    let ints: Option<Vec<i64>> = tensors.iter().try_fold(Vec::new(), |mut all, tensor| {
        all.extend_from_slice(tensor.whole().ok()?);
        Some(all)
    });
    let data = match ints {
        Some(ints) => Data::Ints(ints),
        None => Data::Floats(tensors.iter().flat_map(|tensor| tensor.floats()).collect()),
    };
    let len = tensors.iter().map(|tensor| tensor.len()).sum();
    let all = Tensor {
        shape: vec![len],
        data,
    };
    Some(all.pick_values(shape.to_vec(), &interleaved(parts, axis, shape)))
}
