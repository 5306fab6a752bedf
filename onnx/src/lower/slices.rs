//! Parts of values: `Slice` and `Split`.

use super::{Lowered, Lowering, Value, axis};
use crate::proto::Node;
use crate::tensor::{places, strides};

impl Lowering {
    pub(super) fn lower_slice(&mut self, node: &Node) -> Lowered<Value> {
        let value = self.input(node, 0)?;
        let rank = value.shape().len();
        let starts = self
            .read_wholes(node, "starts", 1)?
            .ok_or("it has no starts")?;
        let ends = self.read_wholes(node, "ends", 2)?.ok_or("it has no ends")?;
        let axes = self
            .read_wholes(node, "axes", 3)?
            .unwrap_or_else(|| (0..starts.len() as i64).collect());
        let by = self
            .read_wholes(node, "steps", 4)?
            .unwrap_or_else(|| vec![1; starts.len()]);
        let mut shape = value.shape().to_vec();
        let mut steps: Vec<isize> = strides(&shape)
            .into_iter()
            .map(|stride| stride as isize)
            .collect();
        let mut offset = 0;
        for (((start, end), at), by) in starts.iter().zip(&ends).zip(&axes).zip(&by) {
            let at = axis(*at, rank)?;
            let len = shape[at] as i64;
            if *by < 0 {
                // From the start down to the place after the end.
                let inside = |place: i64| {
                    if place < 0 {
                        place.saturating_add(len)
                    } else {
                        place
                    }
                };
                let start = inside(*start).clamp(0, len - 1);
                let end = inside(*end).clamp(-1, len - 1);
                offset += start as usize * steps[at] as usize;
                shape[at] = ((start - end).max(0) as usize).div_ceil(by.unsigned_abs() as usize);
                steps[at] = steps[at].saturating_mul(*by as isize);
                continue;
            }
            if *by == 0 {
                return Err("it takes no steps".into());
            }
            let inside = |place: i64| if place < 0 { place + len } else { place }.clamp(0, len);
            let (start, end) = (inside(*start), inside((*end).min(len)));
            offset += start as usize * steps[at] as usize;
            shape[at] = ((end - start).max(0) as usize).div_ceil(*by as usize);
            steps[at] = steps[at].saturating_mul(*by as isize);
        }
        if let (true, Value::Fixed(tensor)) = (shape.contains(&0), &value) {
            // Sizes are cut into parts, of which one may be empty.
            return Ok(Value::Fixed(tensor.pick_values(shape, &[])));
        }
        let places = places(&shape, &steps, offset)?;
        self.move_values(vec![value], shape, places)
    }

    pub(super) fn split(&mut self, node: &Node) -> Lowered<()> {
        let value = self.input(node, 0)?;
        let at = axis(node.int("axis", 0), value.shape().len())?;
        let len = value.shape()[at];
        let parts = node.outputs.len().max(1);
        let sizes = match self.read_wholes(node, "split", 1)? {
            Some(sizes) => sizes
                .iter()
                .map(|it| usize::try_from(*it).unwrap_or(0))
                .collect(),
            None => {
                let size = len.div_ceil(parts);
                (0..parts)
                    .map(|part| size.min(len - (part * size).min(len)))
                    .collect::<Vec<_>>()
            }
        };
        if sizes.iter().sum::<usize>() != len || sizes.len() != parts {
            return Err(format!("parts of {sizes:?} of {len}"));
        }
        let strides = strides(value.shape());
        let steps: Vec<isize> = strides.iter().map(|stride| *stride as isize).collect();
        let mut start = 0;
        for (index, size) in sizes.into_iter().enumerate() {
            let mut shape = value.shape().to_vec();
            shape[at] = size;
            let places = places(&shape, &steps, start * strides[at])?;
            let part = self.move_values(vec![value.clone()], shape, places)?;
            self.give(node, index, part);
            start += size;
        }
        Ok(())
    }
}
