//! Operators over rows of values: sums, means, the softmax inside of a network, and normalisations.

use policy::network::{KernelStep, Map, Pair, Reduction};

use super::{Live, Lowered, Lowering, Value, axis};
use crate::proto::Node;
use crate::tensor::{Data, Tensor, count};

impl Lowering {
    /// Lowers an operator over rows; `None` if it is none.
    pub(super) fn row_operator(&mut self, node: &Node) -> Lowered<Option<Live>> {
        Ok(Some(match node.op.as_str() {
            "Softmax" | "LogSoftmax" => self.softmax(node)?,
            "ArgMax" | "ArgMin" => self.arg_max(node)?,
            "LayerNormalization" | "RMSNormalization" => self.layer_norm(node)?,
            "InstanceNormalization" | "GroupNormalization" => self.channel_norm(node)?,
            "LpNormalization" => self.lp_norm(node)?,
            "GlobalAveragePool" | "GlobalMaxPool" => self.global_pool(node)?,
            op => match op.strip_prefix("Reduce") {
                Some(kind) => self.reduction(node, kind)?,
                None => return Ok(None),
            },
        }))
    }

    /// A value whose last axes are these, and the order of axes that makes it.
    fn rows_last(&mut self, from: &Live, axes: &[usize]) -> Lowered<(Live, Vec<usize>)> {
        let rank = from.shape.len();
        let mut order: Vec<usize> = (0..rank).filter(|it| !axes.contains(it)).collect();
        order.extend_from_slice(axes);
        Ok((self.permuted_live(from, &order)?, order))
    }

    /// The same values in another order of axes.
    pub(super) fn permuted_live(&mut self, from: &Live, order: &[usize]) -> Lowered<Live> {
        let value = self.permute_axes(Value::Live(from.clone()), order)?;
        self.enlive(value)
    }

    /// One value for each row of so many.
    pub(super) fn lower_reduction(
        &mut self,
        from: &Live,
        len: usize,
        reduction: Reduction,
    ) -> Lowered<Live> {
        let rows = count(&from.shape)? / len;
        let to = self.register(rows)?;
        self.network.steps.push(KernelStep::Reduce {
            from: from.register,
            to,
            reduction,
        });
        Ok(Live {
            shape: vec![rows],
            register: to,
        })
    }

    /// Arithmetic of rows of this many values with one value for each row.
    fn by_row(&mut self, pair: Pair, from: &Live, row: &Live, len: usize) -> Lowered<Live> {
        let wide = Live {
            shape: vec![count(&row.shape)?, 1],
            ..row.clone()
        };
        let wide = self.broadcast_value(Value::Live(wide), &[count(&row.shape)?, len])?;
        let wide = self.enlive(wide)?;
        self.pair(pair, from, &wide)
    }

    /// The axes that a node reduces: named in an attribute, or in an input; `None` for all of them.
    fn axes(&self, node: &Node, rank: usize) -> Lowered<Option<Vec<usize>>> {
        let named = self
            .read_wholes(node, "axes", 1)?
            .filter(|it| !it.is_empty());
        let Some(named) = named else {
            return Ok(None);
        };
        let all: Lowered<Vec<usize>> = named.iter().map(|it| axis(*it, rank)).collect();
        all.map(|mut all| {
            all.sort_unstable();
            all.dedup();
            Some(all)
        })
    }

    fn reduction(&mut self, node: &Node, kind: &str) -> Lowered<Live> {
        let from = self.input(node, 0)?;
        let from = self.enlive(from)?;
        let rank = from.shape.len();
        let axes = match self.axes(node, rank)? {
            None if node.int("noop_with_empty_axes", 0) != 0 => return Ok(from),
            axes => axes.unwrap_or_else(|| (0..rank).collect()),
        };
        let (rows, _) = self.rows_last(&from, &axes)?;
        let len: usize = axes.iter().map(|axis| from.shape[*axis]).product();
        let found = self.reduced_as(kind, &rows, len)?;
        let is_kept = node.int("keepdims", 1) != 0;
        Ok(Live {
            shape: without(&from.shape, &axes, is_kept),
            ..found
        })
    }

    fn reduced_as(&mut self, kind: &str, rows: &Live, len: usize) -> Lowered<Live> {
        let simple = match kind {
            "Sum" => Some(Reduction::Sum),
            "Mean" => Some(Reduction::Mean),
            "Max" => Some(Reduction::Max),
            "Min" => Some(Reduction::Min),
            "Prod" => Some(Reduction::Product),
            _ => None,
        };
        if let Some(reduction) = simple {
            return self.lower_reduction(rows, len, reduction);
        }
        match kind {
            "L1" => {
                let sizes = self.map(Map::Abs, rows)?;
                self.lower_reduction(&sizes, len, Reduction::Sum)
            }
            "L2" | "SumSquare" => {
                let squares = self.pair(Pair::Mul, rows, rows)?;
                let sum = self.lower_reduction(&squares, len, Reduction::Sum)?;
                match kind {
                    "L2" => self.map(Map::Sqrt, &sum),
                    _ => Ok(sum),
                }
            }
            "LogSum" => {
                let sum = self.lower_reduction(rows, len, Reduction::Sum)?;
                self.map(Map::Log, &sum)
            }
            "LogSumExp" => {
                let (_, powers, top) = self.exponentials(rows, len)?;
                let sum = self.lower_reduction(&powers, len, Reduction::Sum)?;
                let log = self.map(Map::Log, &sum)?;
                self.pair(Pair::Add, &log, &top)
            }
            other => Err(format!("`Reduce{other}` cannot be played")),
        }
    }

    /// Each value less the greatest of its row, the exponential of that, and the greatest.
    fn exponentials(&mut self, rows: &Live, len: usize) -> Lowered<(Live, Live, Live)> {
        let top = self.lower_reduction(rows, len, Reduction::Max)?;
        let below = self.by_row(Pair::Sub, rows, &top, len)?;
        let powers = self.map(Map::Exp, &below)?;
        Ok((below, powers, top))
    }

    fn softmax(&mut self, node: &Node) -> Lowered<Live> {
        let from = self.input(node, 0)?;
        let from = self.enlive(from)?;
        let rank = from.shape.len();
        // Before version 13 the default was the first axis after the batch, and all after it.
        let axes: Vec<usize> = match self.opset < 13 {
            true => (axis(node.int("axis", 1), rank)?..rank).collect(),
            false => vec![axis(node.int("axis", -1), rank)?],
        };
        let (rows, order) = self.rows_last(&from, &axes)?;
        let len: usize = axes.iter().map(|axis| from.shape[*axis]).product();
        let (below, powers, _) = self.exponentials(&rows, len)?;
        let sum = self.lower_reduction(&powers, len, Reduction::Sum)?;
        let found = match node.op.as_str() {
            "Softmax" => self.by_row(Pair::Div, &powers, &sum, len)?,
            _ => {
                let log = self.map(Map::Log, &sum)?;
                self.by_row(Pair::Sub, &below, &log, len)?
            }
        };
        self.put_back(found, &rows.shape, &order)
    }

    /// The axes of a value in their order before [`Self::rows_last`].
    fn put_back(&mut self, found: Live, shape: &[usize], order: &[usize]) -> Lowered<Live> {
        let found = Live {
            shape: shape.to_vec(),
            ..found
        };
        let place = |axis: usize| order.iter().position(|it| *it == axis).unwrap_or(axis);
        let back: Vec<usize> = (0..order.len()).map(place).collect();
        self.permuted_live(&found, &back)
    }

    fn arg_max(&mut self, node: &Node) -> Lowered<Live> {
        if node.int("select_last_index", 0) != 0 {
            return Err(
                "it takes the last of equal values; export one that takes the first".into(),
            );
        }
        let from = self.input(node, 0)?;
        let mut from = self.enlive(from)?;
        let at = axis(node.int("axis", 0), from.shape.len())?;
        let shape = without(&from.shape, &[at], node.int("keepdims", 1) != 0);
        let len = from.shape[at];
        if node.op == "ArgMin" {
            from = self.map(Map::Neg, &from)?;
        }
        let (rows, _) = self.rows_last(&from, &[at])?;
        let found = self.lower_reduction(&rows, len, Reduction::ArgMax)?;
        Ok(Live { shape, ..found })
    }

    /// Rows of this many values with mean 0 and variance 1.
    fn standardised(&mut self, rows: &Live, len: usize, epsilon: f32) -> Lowered<Live> {
        let mean = self.lower_reduction(rows, len, Reduction::Mean)?;
        let apart = self.by_row(Pair::Sub, rows, &mean, len)?;
        self.divided_by_size(&apart, len, epsilon)
    }

    /// Rows of this many values, each divided by the root of its mean square.
    fn divided_by_size(&mut self, rows: &Live, len: usize, epsilon: f32) -> Lowered<Live> {
        let squares = self.pair(Pair::Mul, rows, rows)?;
        let variance = self.lower_reduction(&squares, len, Reduction::Mean)?;
        let more = self.filled_like(&variance, epsilon)?;
        let variance = self.pair(Pair::Add, &variance, &more)?;
        let size = self.map(Map::Sqrt, &variance)?;
        self.by_row(Pair::Div, rows, &size, len)
    }

    /// As many values as another, all the same.
    pub(super) fn filled_like(&mut self, like: &Live, value: f32) -> Lowered<Live> {
        let len = count(&like.shape)?;
        let tensor = Tensor {
            shape: like.shape.clone(),
            data: Data::Floats(vec![value; len]),
        };
        self.enlive(Value::Fixed(tensor))
    }

    /// Multiplies by an input, and adds another if it is there; both are repeated to the shape.
    fn scaled_and_shifted(&mut self, node: &Node, found: Live, shape: &[usize]) -> Lowered<Live> {
        let mut found = Live {
            shape: shape.to_vec(),
            ..found
        };
        for (index, pair) in [(1, Pair::Mul), (2, Pair::Add)] {
            if let Some(value) = self.optional(node, index)? {
                let value = self.broadcast_value(value, shape)?;
                let value = self.enlive(value)?;
                found = self.pair(pair, &found, &value)?;
            }
        }
        Ok(found)
    }

    fn layer_norm(&mut self, node: &Node) -> Lowered<Live> {
        let from = self.input(node, 0)?;
        let from = self.enlive(from)?;
        let at = axis(node.int("axis", -1), from.shape.len())?;
        let len: usize = from.shape[at..].iter().product();
        let epsilon = node.float("epsilon", 1e-5);
        let found = match node.op.as_str() {
            "LayerNormalization" => self.standardised(&from, len, epsilon)?,
            _ => self.divided_by_size(&from, len, epsilon)?,
        };
        self.scaled_and_shifted(node, found, &from.shape)
    }

    /// Normalises channels, or groups of them, over all their places.
    fn channel_norm(&mut self, node: &Node) -> Lowered<Live> {
        let from = self.input(node, 0)?;
        let from = self.enlive(from)?;
        let [1, channels, ..] = from.shape[..] else {
            return Err(format!("it normalises the channels of {:?}", from.shape));
        };
        let groups = match node.op.as_str() {
            "InstanceNormalization" => channels,
            _ => usize::try_from(node.int("num_groups", 1)).unwrap_or(0),
        };
        if groups == 0 || !channels.is_multiple_of(groups) {
            return Err(format!("{channels} channels in {groups} groups"));
        }
        let len = count(&from.shape)? / groups;
        let found = self.standardised(&from, len, node.float("epsilon", 1e-5))?;
        let mut found = Live {
            shape: from.shape.clone(),
            ..found
        };
        for (index, pair) in [(1, Pair::Mul), (2, Pair::Add)] {
            let values = self.fixed(node, index)?.ok_or("a part of it is missing")?;
            if values.len() != channels && values.len() != groups {
                return Err(format!("{} values for {channels} channels", values.len()));
            }
            let by_place = count(&from.shape)? / values.len();
            let places: Vec<usize> = (0..count(&from.shape)?).map(|it| it / by_place).collect();
            let spread = values.pick_values(from.shape.clone(), &places);
            let spread = self.enlive(Value::Fixed(spread))?;
            found = self.pair(pair, &found, &spread)?;
        }
        Ok(found)
    }

    fn lp_norm(&mut self, node: &Node) -> Lowered<Live> {
        let from = self.input(node, 0)?;
        let from = self.enlive(from)?;
        let at = axis(node.int("axis", -1), from.shape.len())?;
        let (rows, order) = self.rows_last(&from, &[at])?;
        let kind = if node.int("p", 2) == 1 { "L1" } else { "L2" };
        let size = self.reduced_as(kind, &rows, from.shape[at])?;
        let found = self.by_row(Pair::Div, &rows, &size, from.shape[at])?;
        self.put_back(found, &rows.shape, &order)
    }

    fn global_pool(&mut self, node: &Node) -> Lowered<Live> {
        let from = self.input(node, 0)?;
        let from = self.enlive(from)?;
        if from.shape.len() < 3 {
            return Err(format!("it pools the channels of {:?}", from.shape));
        }
        let reduction = match node.op.as_str() {
            "GlobalMaxPool" => Reduction::Max,
            _ => Reduction::Mean,
        };
        let found = self.lower_reduction(&from, from.shape[2..].iter().product(), reduction)?;
        let mut shape = from.shape[..2].to_vec();
        shape.resize(from.shape.len(), 1);
        Ok(Live { shape, ..found })
    }
}

/// A shape without some of its axes, or with 1 in their place.
fn without(shape: &[usize], axes: &[usize], is_kept: bool) -> Vec<usize> {
    let each = shape.iter().enumerate();
    each.filter_map(|(axis, len)| match (axes.contains(&axis), is_kept) {
        (false, _) => Some(*len),
        (true, true) => Some(1),
        (true, false) => None,
    })
    .collect()
}
