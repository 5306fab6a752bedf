//! Reads ONNX models and lowers them to the networks that Coplay plays ([`policy::Network`]).
//!
//! The first input of a model is the observation of a seat, with all its fields; or the first inputs have the names of
//! fields, and take these fields, with zeros after a field that is smaller than its input. The batch is 1. Further
//! inputs are the memory of the policy, and the last outputs, one for each, are its next memory. Among the other
//! outputs, the first one with a value for each action decides. A part that cannot be lowered is an error that names
//! the node. This crate is only native: pages get its results. It must not know of studies and files.

#![forbid(unsafe_code)]

mod graph;
mod lower;
mod proto;
mod tensor;

use env_core::Spec;
use policy::Network;
use policy::network::{ActionChoice, Misfit, NetworkError};

/// The largest model, bytes.
pub const MAX_LEN: usize = 32 << 20;

/// The reason why a model cannot be played: what is wrong and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OnnxError {
    /// The bytes are not a model.
    #[error("not an ONNX model: {0}")]
    Model(String),
    /// Something is wrong with a node.
    #[error("node {node}: {why}")]
    Node {
        /// Its name and operator.
        node: String,
        /// The fault and how to fix it.
        why: String,
    },
    /// Something is wrong with the inputs and outputs.
    #[error("{0}")]
    Whole(String),
    /// The lowered model cannot be played.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// It does not play the environment.
    #[error(transparent)]
    Misfit(#[from] Misfit),
}

/// A model before it is compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelOutline {
    /// Names and shapes of its inputs; sizes that are open are 1.
    pub inputs: Vec<(String, Vec<usize>)>,
    /// Names of its outputs.
    pub outputs: Vec<String>,
    /// Its operators by name, and how many there are of each.
    pub operators: Vec<(String, usize)>,
}

/// Reads the description of a model.
///
/// # Errors
/// [`OnnxError`]
pub fn outline_model(bytes: &[u8]) -> Result<ModelOutline, OnnxError> {
    let graph = graph::Graph::read(bytes)?;
    let mut operators = std::collections::BTreeMap::new();
    for node in &graph.nodes {
        *operators.entry(node.op.clone()).or_insert(0) += 1;
    }
    let mut inputs = graph.inputs;
    inputs.extend(graph.mask);
    Ok(ModelOutline {
        inputs,
        outputs: graph.outputs,
        operators: operators.into_iter().collect(),
    })
}

/// Lowers a model for an environment, and finds out which part of the observation it takes: see [`read_for`].
///
/// # Errors
/// [`OnnxError`]
pub fn read(bytes: &[u8], spec: &Spec, choice: ActionChoice) -> Result<Network, OnnxError> {
    read_for(bytes, spec, None, choice)
}

/// Lowers a model for an environment; `encoding` is the field of the observation that its first input takes.
///
/// Without it, the first inputs take the fields whose names they have; otherwise the first input takes the whole
/// observation if it has its length, or else the only field that has its shape, of at least two sides.
///
/// # Errors
/// [`OnnxError`]
pub fn read_for(
    bytes: &[u8],
    spec: &Spec,
    encoding: Option<&str>,
    choice: ActionChoice,
) -> Result<Network, OnnxError> {
    if bytes.len() > MAX_LEN {
        let message = format!(
            "it has {} bytes; a policy has at most {MAX_LEN}",
            bytes.len()
        );
        return Err(OnnxError::Model(message));
    }
    let graph = graph::Graph::read(bytes)?;
    let network = lower::lower_graph(&graph, spec, encoding, choice)?;
    network.encode()?;
    network.check_fit(spec)?;
    Ok(network)
}
