//! Operators that choose among values, repeat them, or surround them.

use policy::network::{KernelStep, Map, Pair};

use super::moves::{common_shape, reshape_value};
use super::{Live, Lowered, Lowering, Value, axis};
use crate::proto::Node;
use crate::tensor::{Data, Tensor, count, strides};

impl Lowering {
    /// Lowers an operator that rearranges values; `None` if it is none.
    pub(super) fn lower_rearrangement(&mut self, node: &Node) -> Lowered<Option<Value>> {
        Ok(Some(match node.op.as_str() {
            "Where" => self.choose(node)?,
            "Pad" => self.padded(node)?,
            "Tile" => self.tiled(node)?,
            "Trilu" => self.triangle(node)?,
            "Range" => Value::Fixed(self.range(node)?),
            "OneHot" => self.one_hot(node)?,
            "GatherElements" => self.gather_elements(node)?,
            "GatherND" => self.gather_nd(node)?,
            "Size" => {
                let len = count(self.input(node, 0)?.shape())?;
                Value::Fixed(Tensor {
                    shape: vec![],
                    data: Data::Ints(vec![len as i64]),
                })
            }
            _ => return Ok(None),
        }))
    }

    fn choose(&mut self, node: &Node) -> Lowered<Value> {
        let [condition, left, right] = [0, 1, 2].map(|index| self.input(node, index));
        let (condition, left, right) = (condition?, left?, right?);
        let shape = common_shape(
            &common_shape(condition.shape(), left.shape())?,
            right.shape(),
        )?;
        let condition = self.broadcast_value(condition, &shape)?;
        let (left, right) = (
            self.broadcast_value(left, &shape)?,
            self.broadcast_value(right, &shape)?,
        );
        if let Value::Fixed(condition) = &condition {
            let len = count(&shape)?;
            let side = |(at, it): (usize, &f32)| if *it != 0.0 { at } else { len + at };
            let places: Vec<usize> = condition.floats().iter().enumerate().map(side).collect();
            if places.iter().all(|place| *place < len) {
                return Ok(left);
            }
            if places.iter().all(|place| *place >= len) {
                return Ok(right);
            }
            if let (Value::Fixed(left), Value::Fixed(right)) = (&left, &right) {
                return Ok(Value::Fixed(
                    beside(left, right).pick_values(shape, &places),
                ));
            }
            return self.move_values(vec![left, right], shape, places);
        }
        let (condition, left, right) = (
            self.enlive(condition)?,
            self.enlive(left)?,
            self.enlive(right)?,
        );
        let to = self.register(count(&shape)?)?;
        self.network.steps.push(KernelStep::Select {
            condition: condition.register,
            left: left.register,
            right: right.register,
            to,
        });
        Ok(Value::Live(Live {
            shape,
            register: to,
        }))
    }

    /// A value of a shape: at each place that of a place of `from`, or else a constant.
    fn placed(
        &mut self,
        from: Value,
        shape: Vec<usize>,
        outside: f32,
        place: impl Fn(&[usize]) -> Option<usize>,
    ) -> Lowered<Value> {
        let all = count(from.shape())?;
        let mut at = vec![0; shape.len()];
        let mut places = Vec::with_capacity(count(&shape)?);
        for _ in 0..count(&shape)? {
            places.push(place(&at).unwrap_or(all));
            for (axis, len) in shape.iter().enumerate().rev() {
                at[axis] += 1;
                if at[axis] < *len {
                    break;
                }
                at[axis] = 0;
            }
        }
        if !places.contains(&all) {
            return self.move_values(vec![from], shape, places);
        }
        let outside = Tensor {
            shape: vec![1],
            data: Data::Floats(vec![outside]),
        };
        match from {
            Value::Fixed(tensor) => Ok(Value::Fixed(
                beside(&tensor, &outside).pick_values(shape, &places),
            )),
            from => self.move_values(vec![from, Value::Fixed(outside)], shape, places),
        }
    }

    fn padded(&mut self, node: &Node) -> Lowered<Value> {
        let from = self.input(node, 0)?;
        let own = from.shape().to_vec();
        let rank = own.len();
        let pads = self
            .read_wholes(node, "pads", 1)?
            .ok_or("it has no `pads`")?;
        let axes: Vec<usize> = match self.fixed(node, 3)? {
            Some(axes) => {
                let axes = axes.whole()?.iter().map(|it| axis(*it, rank));
                axes.collect::<Lowered<_>>()?
            }
            None => (0..rank).collect(),
        };
        if pads.len() != 2 * axes.len() || pads.iter().any(|pad| pad.abs() > 4096) {
            return Err(format!("`pads` is {pads:?}"));
        }
        let outside = match self.fixed(node, 2)? {
            Some(value) => value.floats().first().copied().unwrap_or(0.0),
            None => node.float("value", 0.0),
        };
        let mode = match node.text("mode") {
            mode if mode.is_empty() => "constant".to_owned(),
            mode => mode,
        };
        let (mut before, mut shape) = (vec![0_i64; rank], own.clone());
        for (index, axis) in axes.iter().enumerate() {
            let after = pads[axes.len() + index];
            before[*axis] = pads[index];
            let len = own[*axis] as i64 + pads[index] + after;
            shape[*axis] = usize::try_from(len).map_err(|_| "a size below 0".to_owned())?;
        }
        let inside = |at: i64, len: i64| match mode.as_str() {
            _ if (0..len).contains(&at) => Some(at),
            "edge" => Some(at.clamp(0, len - 1)),
            "reflect" if len > 1 => {
                let period = 2 * (len - 1);
                let at = at.rem_euclid(period);
                Some(if at < len { at } else { period - at })
            }
            "wrap" => Some(at.rem_euclid(len)),
            _ => None,
        };
        let strides = strides(&own);
        self.placed(from, shape, outside, |at| {
            let mut place = 0;
            for (axis, at) in at.iter().enumerate() {
                place +=
                    inside(*at as i64 - before[axis], own[axis] as i64)? as usize * strides[axis];
            }
            Some(place)
        })
    }

    fn tiled(&mut self, node: &Node) -> Lowered<Value> {
        let from = self.input(node, 0)?;
        let repeats = self.sizes(node, 1)?.ok_or("it has no `repeats`")?;
        let own = from.shape().to_vec();
        if repeats.len() != own.len() {
            return Err(format!("{repeats:?} repeats of {own:?}"));
        }
        let shape = own.iter().zip(&repeats).map(|(len, times)| len * times);
        let strides = strides(&own);
        self.placed(from, shape.collect(), 0.0, |at| {
            let along = at.iter().zip(own.iter().zip(&strides));
            Some(along.map(|(at, (len, stride))| at % len * stride).sum())
        })
    }

    fn triangle(&mut self, node: &Node) -> Lowered<Value> {
        let from = self.input(node, 0)?;
        let own = from.shape().to_vec();
        if own.len() < 2 {
            return Err(format!("a triangle of {own:?}"));
        }
        let diagonal = match self.fixed(node, 1)? {
            Some(value) => value.whole()?.first().copied().unwrap_or(0),
            None => 0,
        };
        let (is_upper, strides, rank) = (node.int("upper", 1) != 0, strides(&own), own.len());
        self.placed(from, own, 0.0, |at| {
            let beyond = at[rank - 1] as i64 - at[rank - 2] as i64;
            let is_kept = match is_upper {
                true => beyond >= diagonal,
                false => beyond <= diagonal,
            };
            is_kept.then(|| at.iter().zip(&strides).map(|(at, by)| at * by).sum())
        })
    }

    fn range(&self, node: &Node) -> Lowered<Tensor> {
        let mut parts = Vec::new();
        for index in 0..3 {
            parts.push(self.fixed(node, index)?.ok_or("it has no end")?);
        }
        let number = |part: &Tensor| {
            part.floats()
                .first()
                .copied()
                .ok_or("a part of it is empty")
        };
        let (from, to, by) = (number(&parts[0])?, number(&parts[1])?, number(&parts[2])?);
        let len = ((to - from) / by).ceil();
        if !(0.0..=4096.0).contains(&len) {
            return Err(format!("{len} numbers, where at most 4096 can be"));
        }
        let values = (0..len as usize).map(|it| from + by * it as f32);
        let is_whole = parts.iter().all(|part| part.whole().is_ok());
        Ok(Tensor {
            shape: vec![len as usize],
            data: match is_whole {
                true => Data::Ints(values.map(|it| it as i64).collect()),
                false => Data::Floats(values.collect()),
            },
        })
    }

    /// For each value, 1 where it is the index along a new last axis.
    fn is_index(&mut self, indices: &Live, len: usize) -> Lowered<Live> {
        let all = count(&indices.shape)?;
        let rows = Live {
            shape: vec![all, 1],
            ..indices.clone()
        };
        let wide = self.broadcast_value(Value::Live(rows), &[all, len])?;
        let wide = self.enlive(wide)?;
        let own = Tensor {
            shape: vec![all, len],
            data: Data::Floats((0..all * len).map(|it| (it % len) as f32).collect()),
        };
        let own = self.enlive(Value::Fixed(own))?;
        self.pair(Pair::Equal, &wide, &own)
    }

    fn one_hot(&mut self, node: &Node) -> Lowered<Value> {
        let indices = self.input(node, 0)?;
        let depth = self.sizes(node, 1)?.and_then(|it| it.first().copied());
        let depth = depth
            .filter(|it| (1..=4096).contains(it))
            .ok_or("its depth is not from 1 to 4096")?;
        let values = self.fixed(node, 2)?.ok_or("it has no values")?.floats();
        let [off, on] = values[..] else {
            return Err("it has other than two values".into());
        };
        let indices = self.enlive(indices)?;
        if axis(node.int("axis", -1), indices.shape.len() + 1)? != indices.shape.len() {
            return Err("its new axis is not the last; export it with the last".into());
        }
        let mut found = self.is_index(&indices, depth)?;
        if [off, on] != [0.0, 1.0] {
            found = self.map(Map::Scale(on - off, 1.0), &found)?;
            let off = self.filled_like(&found, off)?;
            found = self.pair(Pair::Add, &found, &off)?;
        }
        let shape = [&indices.shape[..], &[depth]].concat();
        Ok(Value::Live(Live { shape, ..found }))
    }

    /// Rows of a table whose indices depend on the observation, as a product with ones and zeros.
    pub(super) fn look_up(&mut self, table: Value, indices: &Live) -> Lowered<Value> {
        let own = table.shape().to_vec();
        let (len, rest) = (own[0], own[1..].to_vec());
        let width = rest.iter().product::<usize>();
        let picked = self.is_index(indices, len)?;
        let rows = count(&indices.shape)?;
        let table = reshape_value(table, vec![1, len, width])?;
        let table = self.enlive(table)?;
        let picked = Live {
            shape: vec![1, rows, len],
            ..picked
        };
        let found = self.lower_batched(&picked, &table)?;
        let shape = [indices.shape.clone(), rest].concat();
        Ok(Value::Live(Live { shape, ..found }))
    }

    fn gather_elements(&mut self, node: &Node) -> Lowered<Value> {
        let from = self.input(node, 0)?;
        let indices = self.fixed(node, 1)?.ok_or("it has no places")?;
        let own = from.shape().to_vec();
        let at = axis(node.int("axis", 0), own.len())?;
        if indices.shape.len() != own.len() {
            return Err(format!("places of shape {:?} in {own:?}", indices.shape));
        }
        let picked: Vec<usize> = indices
            .whole()?
            .iter()
            .map(|it| axis(*it, own[at]))
            .collect::<Lowered<_>>()?;
        let (by, inside) = (strides(&own), strides(&indices.shape));
        if (0..own.len()).any(|it| it != at && indices.shape[it] > own[it]) {
            return Err(format!("places of shape {:?} in {own:?}", indices.shape));
        }
        self.placed(from, indices.shape.clone(), 0.0, |place| {
            let index: usize = place.iter().zip(&inside).map(|(at, by)| at * by).sum();
            let along = place.iter().enumerate();
            Some(
                along
                    .map(|(it, own)| by[it] * if it == at { picked[index] } else { *own })
                    .sum(),
            )
        })
    }

    fn gather_nd(&mut self, node: &Node) -> Lowered<Value> {
        let from = self.input(node, 0)?;
        let indices = self.fixed(node, 1)?.ok_or("it has no places")?;
        let own = from.shape().to_vec();
        let depth = indices.shape.last().copied().unwrap_or(0);
        if node.int("batch_dims", 0) != 0 || depth == 0 || depth > own.len() {
            return Err(format!("places of shape {:?} in {own:?}", indices.shape));
        }
        let strides = strides(&own);
        let rest = &own[depth..];
        let width = rest.iter().product::<usize>();
        let mut places = Vec::new();
        for place in indices.whole()?.chunks_exact(depth) {
            let mut start = 0;
            for (at, index) in place.iter().enumerate() {
                start += axis(*index, own[at])? * strides[at];
            }
            places.extend(start..start + width);
        }
        let shape = [&indices.shape[..indices.shape.len() - 1], rest].concat();
        self.move_values(vec![from], shape, places)
    }
}

/// The values of two constants, one after the other.
fn beside(left: &Tensor, right: &Tensor) -> Tensor {
    let data = match (&left.data, &right.data) {
        (Data::Ints(left), Data::Ints(right)) => Data::Ints([&left[..], right].concat()),
        _ => Data::Floats([left.floats(), right.floats()].concat()),
    };
    Tensor {
        shape: vec![left.len() + right.len()],
        data,
    }
}
