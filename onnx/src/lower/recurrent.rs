//! Recurrent cells, one step of them: products, sums and functions that are there already.
//!
//! Source: the ONNX operators LSTM, GRU and RNN.

use policy::network::{Map, Pair};

use super::{Live, Lowered, Lowering, Value};
use crate::proto::Node;
use crate::tensor::{Data, Tensor};

/// A recurrent cell: its input, its weights, and its size.
struct Cell {
    from: Live,
    hidden: usize,
    weights: Tensor,
    recurrent: Tensor,
    /// Of both products, `[gate, value]`.
    bias: [Vec<f32>; 2],
}

impl Lowering {
    pub(super) fn lower_lstm(&mut self, node: &Node) -> Lowered<()> {
        let cell = self.cell(node, 4, &["Sigmoid", "Tanh", "Tanh"])?;
        if self.optional(node, 7)?.is_some() || node.int("input_forget", 0) != 0 {
            return Err("peepholes and coupled gates cannot be played".into());
        }
        let (hidden, size) = (self.before(node, 5, cell.hidden)?, cell.hidden);
        let before = self.before(node, 6, size)?;
        let (given, kept) = (
            self.product(&cell, 0, 0, 4)?,
            self.recurrence(&cell, &hidden, 0, 4)?,
        );
        let sum = self.pair(Pair::Add, &given, &kept)?;
        let mut gate = |index: usize, map: Map| {
            let part = self.take_part(&sum, index * size, size)?;
            self.map(map, &part)
        };
        let (enter, leave, keep) = (
            gate(0, Map::Sigmoid)?,
            gate(1, Map::Sigmoid)?,
            gate(2, Map::Sigmoid)?,
        );
        let fresh = gate(3, Map::Tanh)?;
        let (old, new) = (
            self.pair(Pair::Mul, &keep, &before)?,
            self.pair(Pair::Mul, &enter, &fresh)?,
        );
        let state = self.pair(Pair::Add, &old, &new)?;
        let shown = self.map(Map::Tanh, &state)?;
        let out = self.pair(Pair::Mul, &leave, &shown)?;
        self.give_steps(node, &out);
        self.give(
            node,
            2,
            Value::Live(Live {
                shape: vec![1, 1, size],
                ..state
            }),
        );
        Ok(())
    }

    pub(super) fn lower_gru(&mut self, node: &Node) -> Lowered<()> {
        let cell = self.cell(node, 3, &["Sigmoid", "Tanh"])?;
        let size = cell.hidden;
        let before = self.before(node, 5, size)?;
        let (given, kept) = (
            self.product(&cell, 0, 0, 3)?,
            self.recurrence(&cell, &before, 0, 2)?,
        );
        let mut gate = |index: usize| {
            let (given, kept) = (
                self.take_part(&given, index * size, size)?,
                self.take_part(&kept, index * size, size)?,
            );
            let sum = self.pair(Pair::Add, &given, &kept)?;
            self.map(Map::Sigmoid, &sum)
        };
        let (update, reset) = (gate(0)?, gate(1)?);
        let kept = match node.int("linear_before_reset", 0) {
            0 => {
                let left = self.pair(Pair::Mul, &reset, &before)?;
                self.recurrence(&cell, &left, 2, 1)?
            }
            _ => {
                let kept = self.recurrence(&cell, &before, 2, 1)?;
                self.pair(Pair::Mul, &reset, &kept)?
            }
        };
        let given = self.take_part(&given, 2 * size, size)?;
        let sum = self.pair(Pair::Add, &given, &kept)?;
        let fresh = self.map(Map::Tanh, &sum)?;
        // (1 - z) · fresh + z · before
        let ones = Tensor {
            shape: vec![1, size],
            data: Data::Floats(vec![1.0; size]),
        };
        let ones = self.enlive(Value::Fixed(ones))?;
        let rest = self.pair(Pair::Sub, &ones, &update)?;
        let (new, old) = (
            self.pair(Pair::Mul, &rest, &fresh)?,
            self.pair(Pair::Mul, &update, &before)?,
        );
        let out = self.pair(Pair::Add, &new, &old)?;
        self.give_steps(node, &out);
        Ok(())
    }

    pub(super) fn lower_rnn(&mut self, node: &Node) -> Lowered<()> {
        let own = node.texts("activations");
        let map = match own.first().map(String::as_str) {
            Some("Relu") => Map::Relu,
            None | Some("Tanh") => Map::Tanh,
            Some(other) => {
                return Err(format!(
                    "the activation {other}; Tanh and Relu can be played"
                ));
            }
        };
        let names: Vec<&str> = own.iter().map(String::as_str).collect();
        let cell = self.cell(node, 1, &names)?;
        let before = self.before(node, 5, cell.hidden)?;
        let (given, kept) = (
            self.product(&cell, 0, 0, 1)?,
            self.recurrence(&cell, &before, 0, 1)?,
        );
        let sum = self.pair(Pair::Add, &given, &kept)?;
        let out = self.map(map, &sum)?;
        self.give_steps(node, &out);
        Ok(())
    }

    /// Both forms of the output: by step and direction, and the last alone.
    fn give_steps(&mut self, node: &Node, out: &Live) {
        let size = out.shape[1];
        let of = |shape: Vec<usize>| {
            Value::Live(Live {
                shape,
                register: out.register,
            })
        };
        self.give(node, 0, of(vec![1, 1, 1, size]));
        self.give(node, 1, of(vec![1, 1, size]));
    }

    fn cell(&mut self, node: &Node, gates: usize, functions: &[&str]) -> Lowered<Cell> {
        let own = node.texts("activations");
        if !own.is_empty() && own != functions {
            return Err(format!("activations {own:?}; {functions:?} can be played"));
        }
        let direction = node.text("direction");
        if !(direction.is_empty() || direction == "forward")
            || node.has("clip")
            || node.int("layout", 0) != 0
        {
            return Err(
                "only a cell that goes forward, without `clip` and with layout 0, can be played"
                    .into(),
            );
        }
        let hidden = usize::try_from(node.int("hidden_size", 0))
            .ok()
            .filter(|it| (1..=4096).contains(it));
        let hidden = hidden.ok_or("its hidden_size is not from 1 to 4096")?;
        let from = self.input(node, 0)?;
        let from = self.enlive(from)?;
        let [1, 1, inputs] = from.shape[..] else {
            return Err(format!(
                "it is given {:?}; export a single step of one seat: [1, 1, values]",
                from.shape
            ));
        };
        let weights = self.fixed(node, 1)?.ok_or("it has no weights")?;
        let recurrent = self.fixed(node, 2)?.ok_or("it has no recurrent weights")?;
        let rows = gates * hidden;
        if weights.shape != [1, rows, inputs] || recurrent.shape != [1, rows, hidden] {
            return Err(format!(
                "weights of shape {:?} and {:?} do not go together",
                weights.shape, recurrent.shape
            ));
        }
        let bias = match self.fixed(node, 3)? {
            Some(bias) if bias.len() == 2 * rows => bias.floats(),
            Some(bias) => return Err(format!("its bias has the shape {:?}", bias.shape)),
            None => vec![0.0; 2 * rows],
        };
        let (first, second) = bias.split_at(rows);
        let bias = [first.to_vec(), second.to_vec()];
        Ok(Cell {
            from,
            hidden,
            weights,
            recurrent,
            bias,
        })
    }

    /// The state of the cell before the step; 0 without an input that says it.
    fn before(&mut self, node: &Node, index: usize, hidden: usize) -> Lowered<Live> {
        let zeros = || {
            Value::Fixed(Tensor {
                shape: vec![1, 1, hidden],
                data: Data::Floats(vec![0.0; hidden]),
            })
        };
        let value = self.optional(node, index)?.unwrap_or_else(zeros);
        let live = self.enlive(value)?;
        match live.shape[..] {
            [1, 1, size] if size == hidden => Ok(Live {
                shape: vec![1, hidden],
                ..live
            }),
            _ => Err(format!(
                "it remembers {:?}, and has the size {hidden}",
                live.shape
            )),
        }
    }

    /// Applies some gates to the input.
    fn product(&mut self, cell: &Cell, bias: usize, gate: usize, gates: usize) -> Lowered<Live> {
        let (start, len) = (gate * cell.hidden, gates * cell.hidden);
        let weights = cell.weights.turned_rows(start, len)?;
        self.dense(
            &cell.from,
            1,
            &weights,
            &cell.bias[bias][start..start + len],
            vec![1, len],
        )
    }

    /// Applies some gates to the remembered state.
    fn recurrence(
        &mut self,
        cell: &Cell,
        hidden: &Live,
        gate: usize,
        gates: usize,
    ) -> Lowered<Live> {
        let (start, len) = (gate * cell.hidden, gates * cell.hidden);
        let weights = cell.recurrent.turned_rows(start, len)?;
        self.dense(
            hidden,
            1,
            &weights,
            &cell.bias[1][start..start + len],
            vec![1, len],
        )
    }
}
