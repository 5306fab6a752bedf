//! A model as it was read: inputs, outputs, constants, and nodes in their order.

use std::collections::BTreeMap;

use prost::Message as _;

use crate::OnnxError;
use crate::proto;
use crate::tensor::Tensor;

/// A model.
pub(crate) struct Graph {
    pub nodes: Vec<proto::Node>,
    pub constants: BTreeMap<String, Tensor>,
    /// Names and shapes of the inputs of each decision; unknown sizes are 1.
    pub inputs: Vec<(String, Vec<usize>)>,
    /// The input that takes the action mask; it is not among the others.
    pub mask: Option<(String, Vec<usize>)>,
    pub outputs: Vec<String>,
    pub opset: i64,
    pub metadata: Metadata,
}

/// The metadata of a model about how it is played.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Metadata {
    /// By which number the observation is multiplied, and by which it is divided.
    pub scale: Option<[f32; 2]>,
    /// True if it chooses only among actions that may have an effect.
    pub is_masked: bool,
}

/// Names of an input that takes the action mask.
const MASKS: [&str; 4] = [
    "action_mask",
    "avail_actions",
    "available_actions",
    "legal_actions",
];

impl Metadata {
    fn read(entries: &[proto::Entry]) -> Result<Self, OnnxError> {
        let mut metadata = Self::default();
        let own = entries
            .iter()
            .filter_map(|it| Some((it.key.strip_prefix("coplay.")?, it)));
        for (key, proto::Entry { key: whole, value }) in own {
            let wrong = |fix: &str| {
                OnnxError::Whole(format!("the metadata say `{whole}` = `{value}`; {fix}"))
            };
            match key {
                "observation_scale" => {
                    let scale = parse_scale(value);
                    let fix = "write a number or a fraction, such as `255` or `1/255`";
                    metadata.scale = Some(scale.ok_or_else(|| wrong(fix))?);
                }
                "action_mask" => {
                    let is_masked = value.parse().map_err(|_| wrong("write `true` or `false`"));
                    metadata.is_masked = is_masked?;
                }
                _ => {
                    return Err(wrong(
                        "the keys are `coplay.observation_scale` and `coplay.action_mask`",
                    ));
                }
            }
        }
        Ok(metadata)
    }
}

/// A number or a fraction, as product and divisor.
fn parse_scale(text: &str) -> Option<[f32; 2]> {
    let (above, below) = text.split_once('/').unwrap_or((text, "1"));
    let number = |text: &str| text.trim().parse().ok().filter(|it: &f32| it.is_normal());
    Some([number(above)?, number(below)?])
}

impl Graph {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, OnnxError> {
        let model = proto::Model::decode(bytes);
        let model = model.map_err(|error| OnnxError::Model(error.to_string()))?;
        let graph = model.graph.filter(|graph| !graph.nodes.is_empty());
        let graph = graph.ok_or_else(|| OnnxError::Model("there is no graph in it".into()))?;
        let is_own = |opset: &&proto::Opset| opset.domain.is_empty() || opset.domain == "ai.onnx";
        let opset = model.opsets.iter().find(is_own).map_or(1, |it| it.version);
        let mut constants = BTreeMap::new();
        for tensor in &graph.initializers {
            let read = Tensor::read(tensor);
            let wrong = |why| OnnxError::Whole(format!("`{}`: {why}", tensor.name));
            constants.insert(tensor.name.clone(), read.map_err(wrong)?);
        }
        let given = graph.inputs.iter();
        let given = given.filter(|input| !constants.contains_key(&input.name));
        let mut inputs: Vec<_> = given
            .map(|input| Ok((input.name.clone(), shape(input)?)))
            .collect::<Result<_, OnnxError>>()?;
        let mask = inputs
            .iter()
            .position(|(name, _)| MASKS.contains(&name.as_str()));
        let mask = mask
            .filter(|_| inputs.len() > 1)
            .map(|at| inputs.remove(at));
        if inputs.is_empty() {
            return Err(OnnxError::Whole(
                "it has no input for the observation".into(),
            ));
        }
        Ok(Self {
            outputs: graph.outputs.into_iter().map(|it| it.name).collect(),
            nodes: graph.nodes,
            constants,
            inputs,
            mask,
            opset,
            metadata: Metadata::read(&model.metadata)?,
        })
    }

    /// Which nodes are needed for these values, and all the names that they read.
    pub(crate) fn needed_nodes(&self, wanted: &[&str]) -> (Vec<&proto::Node>, Vec<String>) {
        let mut names: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
        let mut nodes = Vec::new();
        for node in self.nodes.iter().rev() {
            if node.outputs.iter().any(|output| names.contains(output)) {
                names.extend(node.inputs.iter().cloned());
                nodes.push(node);
            }
        }
        nodes.reverse();
        (nodes, names)
    }
}

fn shape(input: &proto::ValueInfo) -> Result<Vec<usize>, OnnxError> {
    let tensor = input.kind.as_ref().and_then(|kind| kind.tensor.as_ref());
    let shape = tensor.and_then(|tensor| tensor.shape.as_ref());
    let Some(shape) = shape else {
        let message = format!(
            "input `{}` has no shape; export the model with shapes",
            input.name
        );
        return Err(OnnxError::Whole(message));
    };
    let dim = |dim: &proto::Dim| usize::try_from(dim.size).unwrap_or(0).max(1);
    Ok(shape.dims.iter().map(dim).collect())
}

impl proto::Node {
    /// Its name and operator, for messages.
    pub(crate) fn title(&self) -> String {
        match self.name.is_empty() {
            true => format!("that makes `{}` ({})", self.outputs.join("`, `"), self.op),
            false => format!("`{}` ({})", self.name, self.op),
        }
    }

    fn attribute(&self, name: &str) -> Option<&proto::Attribute> {
        self.attributes.iter().find(|it| it.name == name)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.attribute(name).is_some()
    }

    pub(crate) fn int(&self, name: &str, default: i64) -> i64 {
        self.attribute(name).map_or(default, |it| it.int)
    }

    pub(crate) fn float(&self, name: &str, default: f32) -> f32 {
        self.attribute(name).map_or(default, |it| it.float)
    }

    pub(crate) fn ints(&self, name: &str) -> Option<&[i64]> {
        self.attribute(name).map(|it| it.ints.as_slice())
    }

    pub(crate) fn floats(&self, name: &str) -> Option<&[f32]> {
        self.attribute(name).map(|it| it.floats.as_slice())
    }

    pub(crate) fn text(&self, name: &str) -> String {
        let text = self.attribute(name).map(|it| it.text.as_slice());
        String::from_utf8_lossy(text.unwrap_or_default()).into_owned()
    }

    pub(crate) fn texts(&self, name: &str) -> Vec<String> {
        let all = self.attribute(name).map(|it| it.texts.as_slice());
        let all = all.unwrap_or_default().iter();
        all.map(|it| String::from_utf8_lossy(it).into_owned())
            .collect()
    }

    pub(crate) fn tensor(&self, name: &str) -> Option<&proto::Tensor> {
        self.attribute(name).and_then(|it| it.tensor.as_ref())
    }
}
