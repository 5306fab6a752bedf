//! Products of matrices: layers with constant weights, and products of two values that depend on the observation.

use policy::network::{KernelStep, Map, Matrices, Pair};

use super::moves::{common_shape, reshape_value};
use super::sums::transpose_values;
use super::{Live, Lowered, Lowering, Value};
use crate::proto::Node;
use crate::tensor::count;

/// A value and the letters of its axes.
type Lettered = (Vec<char>, Live);

impl Lowering {
    /// Lowers a product; `None` if it is none.
    pub(super) fn product_operator(&mut self, node: &Node) -> Lowered<Option<Live>> {
        Ok(Some(match node.op.as_str() {
            "Gemm" => self.gemm(node)?,
            "MatMul" => self.matmul(node)?,
            "Einsum" => self.einsum(node)?,
            _ => return Ok(None),
        }))
    }

    fn gemm(&mut self, node: &Node) -> Lowered<Live> {
        let is_layer = node.int("transA", 0) == 0
            && matches!(self.input(node, 1)?, Value::Fixed(_))
            && !matches!(self.optional(node, 2)?, Some(Value::Live(_)));
        if !is_layer {
            return self.free_gemm(node);
        }
        let matrix = self.matrix(node, 1, node.int("transB", 0) != 0)?;
        let [inputs, outputs] = [matrix.0, matrix.1];
        let from = self.rows(node, inputs)?;
        let (alpha, beta) = (node.float("alpha", 1.0), node.float("beta", 1.0));
        let weights: Vec<f32> = matrix.2.iter().map(|weight| weight * alpha).collect();
        let bias = match self.fixed(node, 2)? {
            None => vec![0.0; outputs],
            Some(bias) => match bias.len() {
                1 => vec![bias.floats()[0] * beta; outputs],
                len if len == outputs => bias.floats().iter().map(|it| it * beta).collect(),
                _ => {
                    return Err(format!(
                        "its bias has the shape {:?}; one value an output is needed",
                        bias.shape
                    ));
                }
            },
        };
        let rows = count(&from.shape)? / inputs;
        self.dense(&from, rows, &weights, &bias, vec![rows, outputs])
    }

    /// A product whose factors are turned over, or depend on the observation both.
    fn free_gemm(&mut self, node: &Node) -> Lowered<Live> {
        let mut factors = Vec::new();
        for (index, turned) in [(0, "transA"), (1, "transB")] {
            let value = self.input(node, index)?;
            if value.shape().len() != 2 {
                return Err(format!("a factor of shape {:?}", value.shape()));
            }
            let value = match node.int(turned, 0) {
                0 => value,
                _ => self.permute_axes(value, &[1, 0])?,
            };
            factors.push(self.enlive(value)?);
        }
        let mut found = self.lower_batched(&factors[0], &factors[1])?;
        let (alpha, beta) = (node.float("alpha", 1.0), node.float("beta", 1.0));
        if alpha != 1.0 {
            found = self.map(Map::Scale(alpha, 1.0), &found)?;
        }
        if let Some(more) = self.optional(node, 2)? {
            let more = self.broadcast_value(more, &found.shape)?;
            let mut more = self.enlive(more)?;
            if beta != 1.0 {
                more = self.map(Map::Scale(beta, 1.0), &more)?;
            }
            found = self.pair(Pair::Add, &found, &more)?;
        }
        Ok(found)
    }

    fn matmul(&mut self, node: &Node) -> Lowered<Live> {
        let (left, right) = (self.input(node, 0)?, self.input(node, 1)?);
        if matches!(right, Value::Fixed(_)) && right.shape().len() == 2 {
            let (inputs, outputs, weights) = self.matrix(node, 1, false)?;
            let from = self.rows(node, inputs)?;
            let rows = count(&from.shape)? / inputs;
            let mut shape = from.shape.clone();
            shape.pop();
            shape.push(outputs);
            return self.dense(&from, rows, &weights, &vec![0.0; outputs], shape);
        }
        let (is_row, is_column) = (left.shape().len() == 1, right.shape().len() == 1);
        let left = match *left.shape() {
            [len] => reshape_value(left, vec![1, len])?,
            _ => left,
        };
        let right = match *right.shape() {
            [len] => reshape_value(right, vec![len, 1])?,
            _ => right,
        };
        let (a, b) = (left.shape().to_vec(), right.shape().to_vec());
        if a.len() < 2 || b.len() < 2 {
            return Err(format!("a product of {a:?} and {b:?}"));
        }
        let batch = common_shape(&a[..a.len() - 2], &b[..b.len() - 2])?;
        let full = |own: &[usize]| [&batch, &own[own.len() - 2..]].concat();
        let (left, right) = (
            self.broadcast_value(left, &full(&a))?,
            self.broadcast_value(right, &full(&b))?,
        );
        let (left, right) = (self.enlive(left)?, self.enlive(right)?);
        let found = self.lower_batched(&left, &right)?;
        let mut shape = found.shape.clone();
        if is_column {
            shape.pop();
        }
        if is_row {
            shape.remove(batch.len());
        }
        Ok(Live { shape, ..found })
    }

    /// Products of matrices, one for each place of the axes before the last two.
    pub(super) fn lower_batched(&mut self, left: &Live, right: &Live) -> Lowered<Live> {
        let rank = left.shape.len();
        let (batch, [rows, inner]) = (&left.shape[..rank - 2], last_two(&left.shape));
        let [own, columns] = last_two(&right.shape);
        if own != inner || right.shape[..rank - 2] != *batch {
            return Err(format!(
                "a product of {:?} and {:?}",
                left.shape, right.shape
            ));
        }
        let size = |len: usize| u32::try_from(len).map_err(|_| "a value is too large".to_owned());
        let shape = [batch, &[rows, columns]].concat();
        let to = self.register(count(&shape)?)?;
        self.network.steps.push(KernelStep::Product {
            left: left.register,
            right: right.register,
            to,
            shape: Matrices {
                count: size(batch.iter().product())?,
                rows: size(rows)?,
                inner: size(inner)?,
                columns: size(columns)?,
            },
        });
        Ok(Live {
            shape,
            register: to,
        })
    }

    /// The first input of a node, whose last axis has this many values.
    fn rows(&mut self, node: &Node, inputs: usize) -> Lowered<Live> {
        let from = self.input(node, 0)?;
        let from = self.enlive(from)?;
        match from.shape.last() {
            Some(len) if *len == inputs => Ok(from),
            _ => Err(format!(
                "its weights take {inputs} values, and it is given {:?}",
                from.shape
            )),
        }
    }

    /// A constant matrix as `[input, output]`.
    fn matrix(&self, node: &Node, index: usize, turned: bool) -> Lowered<(usize, usize, Vec<f32>)> {
        let tensor = self.fixed(node, index)?.ok_or("it has no weights")?;
        let [rows, columns] = tensor.shape[..] else {
            return Err(format!(
                "weights of shape {:?}; a matrix is needed",
                tensor.shape
            ));
        };
        if rows == 0 || columns == 0 {
            return Err("its weights are empty".into());
        }
        match turned {
            false => Ok((rows, columns, tensor.floats())),
            true => Ok((
                columns,
                rows,
                transpose_values(&tensor.floats(), rows, columns),
            )),
        }
    }

    /// Sums of products along named axes, as products of matrices, two factors at a time.
    fn einsum(&mut self, node: &Node) -> Lowered<Live> {
        let equation = node.text("equation").replace(' ', "");
        let odd = || format!("the equation `{equation}`; export it as a product of matrices");
        let mut values = Vec::new();
        for index in 0..node.inputs.len() {
            let value = self.input(node, index)?;
            values.push(self.enlive(value)?);
        }
        let (terms, wanted) = lettered(&equation, &values).ok_or_else(odd)?;
        let mut all: Option<Lettered> = None;
        for (index, (term, live)) in terms.iter().zip(values).enumerate() {
            let letters: Vec<char> = term.chars().collect();
            let is_twice = (1..letters.len()).any(|at| letters[..at].contains(&letters[at]));
            if is_twice || letters.len() != live.shape.len() {
                return Err(odd());
            }
            let later = terms[index + 1..].concat() + &wanted;
            all = Some(match all {
                None => (letters, live),
                Some(before) => self.contracted(before, (letters, live), &later)?,
            });
        }
        let (letters, live) = all.ok_or_else(odd)?;
        let (letters, live) = self.summed(letters, live, &wanted)?;
        let place = |letter: char| letters.iter().position(|it| *it == letter);
        let order: Option<Vec<usize>> = wanted.chars().map(place).collect();
        self.permuted_live(&live, &order.ok_or_else(odd)?)
    }

    /// A value without the axes whose letters are not wanted: sums along them.
    fn summed(&mut self, letters: Vec<char>, live: Live, wanted: &str) -> Lowered<Lettered> {
        let (kept, gone): (Vec<usize>, Vec<usize>) =
            (0..letters.len()).partition(|at| wanted.contains(letters[*at]));
        if gone.is_empty() {
            return Ok((letters, live));
        }
        let len: usize = gone.iter().map(|at| live.shape[*at]).product();
        let rows = self.permuted_live(&live, &[&kept[..], &gone].concat())?;
        let found = self.lower_reduction(&rows, len, policy::network::Reduction::Sum)?;
        let shape = kept.iter().map(|at| live.shape[*at]).collect();
        let letters = kept.iter().map(|at| letters[*at]).collect();
        Ok((letters, Live { shape, ..found }))
    }

    /// Multiplies two values, and sums along the letters that nothing later wants.
    fn contracted(&mut self, left: Lettered, right: Lettered, later: &str) -> Lowered<Lettered> {
        let in_right: String = right.0.iter().collect();
        let in_left: String = left.0.iter().collect();
        let (left_letters, left) = self.summed(left.0, left.1, &(in_right + later))?;
        let (right_letters, right) = self.summed(right.0, right.1, &(in_left + later))?;
        let size = |letter: char| {
            let at = |letters: &[char], live: &Live| {
                let at = letters.iter().position(|it| *it == letter)?;
                Some(live.shape[at])
            };
            match (at(&left_letters, &left), at(&right_letters, &right)) {
                (Some(a), Some(b)) if a != b => {
                    Err(format!("the axis `{letter}` has {a} values and {b}"))
                }
                (a, b) => Ok(a.or(b).unwrap_or(1)),
            }
        };
        let (mut batch, mut inner, mut rows, mut columns) = (vec![], vec![], vec![], vec![]);
        for letter in &left_letters {
            match (right_letters.contains(letter), later.contains(*letter)) {
                (true, true) => batch.push(*letter),
                (true, false) => inner.push(*letter),
                (false, _) => rows.push(*letter),
            }
        }
        columns.extend(right_letters.iter().filter(|it| !left_letters.contains(it)));
        let all = |letters: &[char]| {
            let sizes = letters.iter().map(|it| size(*it));
            sizes.collect::<Lowered<Vec<usize>>>()
        };
        let product = |letters: &[char]| Ok::<usize, String>(all(letters)?.iter().product());
        let sizes = [&batch, &rows, &inner, &columns].map(|it| product(it));
        let [batches, height, depth, width] = sizes;
        let (batches, height, depth, width) = (batches?, height?, depth?, width?);
        let letters = [&batch[..], &rows, &columns].concat();
        let shape = all(&letters)?;
        let order = |own: &[char], wanted: &[char]| -> Vec<usize> {
            let place = |letter: &char| own.iter().position(|it| it == letter);
            wanted.iter().filter_map(place).collect()
        };
        let order_left = order(&left_letters, &[&batch[..], &rows, &inner].concat());
        let order_right = order(&right_letters, &[&batch[..], &inner, &columns].concat());
        let left = Live {
            shape: vec![batches, height, depth],
            ..self.permuted_live(&left, &order_left)?
        };
        let right = Live {
            shape: vec![batches, depth, width],
            ..self.permuted_live(&right, &order_right)?
        };
        let found = self.lower_batched(&left, &right)?;
        Ok((letters, Live { shape, ..found }))
    }
}

fn last_two(shape: &[usize]) -> [usize; 2] {
    let rank = shape.len();
    [shape[rank - 2], shape[rank - 1]]
}

/// The letters of each factor and of the result. Axes behind an ellipsis get digits, counted from their end.
fn lettered(equation: &str, values: &[Live]) -> Option<(Vec<String>, String)> {
    const MORE: &str = "...";
    let (given, wanted) = match equation.split_once("->") {
        Some((given, wanted)) => (given, wanted.to_owned()),
        None => (equation, implied(equation)),
    };
    let terms: Vec<&str> = given.split(',').collect();
    let is_plain = |text: &str| text.chars().all(|it| it.is_ascii_alphabetic());
    let all = terms.iter().copied().chain([wanted.as_str()]);
    if terms.len() != values.len() || !all.clone().all(|it| is_plain(&it.replacen(MORE, "", 1))) {
        return None;
    }
    let hidden = |term: &str, live: &Live| match term.contains(MORE) {
        true => live.shape.len().checked_sub(term.len() - MORE.len()),
        false => Some(0),
    };
    let counts = terms
        .iter()
        .zip(values)
        .map(|(term, live)| hidden(term, live));
    let counts: Vec<usize> = counts.collect::<Option<_>>()?;
    let digits = |count: usize| &"9876543210"[10 - count..];
    let most = counts.iter().copied().max().filter(|most| *most <= 10)?;
    let terms = terms.iter().zip(&counts);
    let terms = terms.map(|(term, count)| term.replacen(MORE, digits(*count), 1));
    Some((terms.collect(), wanted.replacen(MORE, digits(most), 1)))
}

/// The axes of a result that no equation names: those behind an ellipsis, and those that occur once, by the alphabet.
fn implied(equation: &str) -> String {
    let mut letters: Vec<char> = equation.chars().filter(char::is_ascii_alphabetic).collect();
    letters.sort_unstable();
    let once = |letter: &char| letters.iter().filter(|it| *it == letter).count() == 1;
    let more = if equation.contains("...") { "..." } else { "" };
    more.chars()
        .chain(letters.iter().copied().filter(once))
        .collect()
}
