//! An AI partner: the script or the model that plays a seat, and its disclosure.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use protocol::hash::sha256_hex;
use serde::Serialize;

use crate::folder::{self, Source};
use crate::limits::MAX_MODEL;
use crate::read::Cursor;

/// An AI partner.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AiPartner {
    /// Name of the policy. For a model, the name of its file until the host has compiled it, and then the name under
    /// which it plays.
    pub policy: String,
    /// True if participants learn that the partner is an AI.
    pub disclose: bool,
    /// The model of a policy that is a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
}

/// An ONNX model in the study folder, and how it plays.
#[derive(Clone, PartialEq, Serialize)]
pub struct Model {
    /// SHA-256 of its bytes, lower-case hex; part of the study's hash.
    pub sha256: String,
    /// Ticks from one decision to the next.
    pub every_ticks: u8,
    /// Temperature at which actions are drawn; without it the best is taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// True if it chooses only among actions that may have an effect.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub action_mask: bool,
    /// The parity certificate beside the model.
    #[serde(skip)]
    pub certificate: Option<Arc<[u8]>>,
    /// Its bytes.
    #[serde(skip)]
    pub bytes: Arc<[u8]>,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "model {}", self.sha256)
    }
}

/// A model that a host has compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompiledModel {
    /// SHA-256 of its bytes, lower-case hex.
    pub sha256: String,
    /// Its bytes.
    pub bytes: Arc<[u8]>,
    /// The parity certificate of the model.
    pub certificate: Option<Arc<[u8]>>,
}

/// The ending of the name of a parity certificate, after the name of its model.
pub const CERTIFICATE: &str = ".certificate.json";

/// The most bytes of a parity certificate.
const MAX_CERTIFICATE: u64 = 1 << 20;

/// The ending of the file name of an ONNX model.
const MODEL: &str = ".onnx";

/// Reads an AI partner.
pub(crate) fn read(source: Source<'_>, place: &Cursor<'_>) -> Option<AiPartner> {
    place.named("bot", |place| {
        let mut fields = place.fields("an AI partner")?;
        let doc = "The policy of the AI partner. `cook` follows rules in every kitchen of Overcooked, `random` \
                   chooses each action with equal probability, `idle` does nothing, `environment` is the function that \
                   the `policy` of an environment in Python names. Or the file of an ONNX model in \
                   the study folder, at most 32 MiB ([agents.md](agents.md)).";
        let policy = fields.key("policy", doc).need("cook", |place| policy(source, &place));
        let disclose = fields.key("disclose", "Tells participants that the partner is an AI.");
        let disclose = disclose.or(true, |place| place.flag());
        let doc = "For models: the softmax temperature. Each action is drawn with a probability in proportion to \
                   exp(value / temperature). Without this key, the model takes the action with the greatest value.";
        let warm = fields.key("temperature", doc);
        let is_drawn = warm.place.is_some();
        let warm = warm.maybe(|place| place.number(0.01..=100.0, ""));
        let doc = "For models: the model acts every N ticks, as it was trained (frame skip). In between it does \
                   nothing.";
        let every = fields.key("every_ticks", doc);
        let is_paced = every.place.is_some();
        let every = every.or(1, |place| place.whole(1..=60, "ticks"));
        let doc = "For models: the model chooses only among the actions that may have an effect, as the environment's \
                   action mask says, as it was trained.";
        let mask = fields.key("action_mask", doc);
        let is_masked = mask.place.is_some();
        let mask = mask.or(false, |place| place.flag());
        fields.done();
        let (policy, bytes) = policy?;
        let odd = [
            ("temperature", is_drawn),
            ("every_ticks", is_paced),
            ("action_mask", is_masked),
        ];
        if let Some((key, _)) = odd.iter().find(|(_, there)| *there && bytes.is_none()) {
            let message = format!("only for the file of a model; `{policy}` is a script, so remove it");
            place.wrong_at(key, message);
            return None;
        }
        let (every_ticks, temperature, action_mask) = (every?, warm?, mask?);
        let certificate = bytes.as_ref().and_then(|_| certificate(source.dir, &policy));
        let model = bytes.map(|bytes| Model {
            sha256: sha256_hex(&bytes),
            every_ticks,
            temperature,
            action_mask,
            certificate,
            bytes: bytes.into(),
        });
        Some(AiPartner {
            policy,
            disclose: disclose?,
            model,
        })
    })
}

/// The certificate that lies beside a model, if there is one.
fn certificate(dir: &Path, model: &str) -> Option<Arc<[u8]>> {
    let path = dir.join(format!("{model}{CERTIFICATE}"));
    let is_small = std::fs::metadata(&path).is_ok_and(|facts| facts.len() <= MAX_CERTIFICATE);
    let bytes = is_small.then(|| std::fs::read(&path).ok())??;
    Some(bytes.into())
}

/// The name of a policy, and the bytes of one that is a file.
fn policy(source: Source<'_>, place: &Cursor<'_>) -> Option<(String, Option<Vec<u8>>)> {
    let name = place.text(100)?;
    if !name.ends_with(MODEL) {
        return Some((name, None));
    }
    let bytes = folder::read_bytes(source.dir, place, &name, MAX_MODEL, "agent.onnx")?;
    Some((name, Some(bytes)))
}
