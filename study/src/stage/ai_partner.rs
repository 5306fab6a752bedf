//! An AI partner: the script or the model that plays a seat, and its disclosure.

use std::fmt;
use std::sync::Arc;

use protocol::hash::{model_sha256, sha256_hex};
use serde::{Deserialize, Serialize};

use super::directive_buttons::DirectiveButtons;
use crate::folder::{self, Source, StudyFolder};
use crate::language_model::LanguageModel;
use crate::limits::MAX_MODEL;
use crate::partners::NamedPartner;
use crate::read::{Cursor, Fields};

/// An AI partner.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AiPartner {
    /// Name of the policy. For a model, the name of its file until the host has compiled it, and then the name under
    /// which it plays.
    pub policy: String,
    /// True if participants learn that the partner is an AI.
    pub disclose: bool,
    /// The model of a policy that is a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// Ticks by which its actions come late.
    #[serde(skip_serializing_if = "is_zero")]
    pub delay_ticks: u8,
    /// Ticks in 1,000 in which it takes a random action.
    #[serde(skip_serializing_if = "is_none_of_1000")]
    pub noise_permille: u16,
    /// The origin of one that `partners` names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<PartnerOrigin>,
    /// The language model that gives it directives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language_model: Option<Box<LanguageModel>>,
    /// The buttons by which people give it directives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buttons: Option<Box<DirectiveButtons>>,
}

/// The origin of an AI partner that `partners` names: for the data alone, no page gets it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartnerOrigin {
    /// Its name in the study file.
    pub name: String,
    /// The policy as the study file has it: a script, or the file of a model.
    pub policy: String,
    /// The algorithm that trained it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<String>,
    /// The seed of the training.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training_seed: Option<i64>,
    /// The checkpoint of the training.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// The rules that it was trained on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training_rules: Option<String>,
}

impl PartnerOrigin {
    /// As JSON, for the file of an episode.
    pub fn to_json(&self) -> String {
        serde_json::json!(self).to_string()
    }

    /// The AI partner of a seat among the names in the file of an episode; `None` if the study does not name it.
    pub fn of_seat(seat: usize, names: &[(String, String)]) -> Option<Self> {
        let key = format!("{PARTNER_AT}{seat}");
        let (_, json) = names.iter().find(|(name, _)| *name == key)?;
        serde_json::from_str(json).ok()
    }
}

fn is_zero(ticks: &u8) -> bool {
    *ticks == 0
}

fn is_none_of_1000(permille: &u16) -> bool {
    *permille == 0
}

/// The file in the name of a model that must not be distinguishable from people: pages get the name.
const BLINDED: &str = "ai";

impl AiPartner {
    /// Enters the name under which it plays: the name of its model, which the host has compiled, without its file if
    /// pages must not learn it, and with its imperfections.
    pub(crate) fn enter_name(&mut self, compiled: Option<&str>) {
        let name = compiled.unwrap_or(&self.policy);
        let (file, hash) = match model_sha256(name) {
            Some(hash) => (&name[..name.len() - hash.len() - 1], format!("@{hash}")),
            None => (name, String::new()),
        };
        let file = if self.disclose || hash.is_empty() {
            file
        } else {
            BLINDED
        };
        let is_perfect = self.delay_ticks == 0 && self.noise_permille == 0;
        self.policy = match is_perfect {
            true => format!("{file}{hash}"),
            false => format!("{file}~d{}n{}{hash}", self.delay_ticks, self.noise_permille),
        };
    }
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
    /// The encoding of the observation that it takes; without it, its shapes decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observation: Option<String>,
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

/// The beginning of the names under which the file of an episode has the origins of its AI partners; the seat follows.
/// No name of a study can begin so.
pub const PARTNER_AT: &str = "partner@";

/// The name under which the file of an episode says that it is a demonstration. No name of a study can be like this.
pub const DEMONSTRATION: &str = "demonstration@";

/// Returns whether the names in the file of an episode say that it is a demonstration.
pub fn is_demonstration(names: &[(String, String)]) -> bool {
    names.iter().any(|(name, _)| name == DEMONSTRATION)
}

/// The ending of the name of a parity certificate, after the name of its model.
pub const CERTIFICATE: &str = ".certificate.json";

/// The most bytes of a parity certificate.
const MAX_CERTIFICATE: u64 = 1 << 20;

/// The policy that is a function of an environment in Python.
pub(crate) const ENVIRONMENT: &str = "environment";

/// The ending of the file name of an ONNX model.
const MODEL: &str = ".onnx";

/// Reads an AI partner: a block of keys, or the name of one of `partners`.
pub(crate) fn read(source: Source<'_>, place: &Cursor<'_>) -> Option<AiPartner> {
    place.named("bot", |place| {
        let named = (place.may(!place.is_block())).then(|| named(source, place));
        let block = (place.may(place.is_block())).then(|| {
            let mut fields = place.fields("an AI partner")?;
            let key = fields.key("policy", POLICY);
            let policy = key.require_key("cook", |place| read_policy(source, &place));
            let partner = read_fields(source, &mut fields, policy);
            fields.done();
            partner
        });
        named.or(block).flatten()
    })
}

/// One of `partners`, by its name.
fn named(source: Source<'_>, place: &Cursor<'_>) -> Option<AiPartner> {
    let name = place.text(40)?;
    match source.partners.get(&name) {
        Some(NamedPartner::Ai(partner)) if partner.language_model.is_some() => {
            place.report_problem(format!(
                "`{name}` has a language model, which only speaks with a person who plays alone; name a partner without one here"
            ));
            None
        }
        Some(NamedPartner::Ai(partner)) if partner.buttons.is_some() => {
            place.report_problem(format!(
                "`{name}` has buttons, which the page shows for a partner in `players` alone; name a partner without buttons here"
            ));
            None
        }
        Some(NamedPartner::Ai(partner)) => Some(partner.clone()),
        Some(NamedPartner::Assistant(_)) => {
            place.report_problem(format!(
                "`{name}` has no policy, so it cannot play; name it as the `assistant` of an env stage, or give it a `policy`"
            ));
            None
        }
        Some(NamedPartner::Pool(_)) => {
            place.report_problem(format!(
                "`{name}` is a pool, and only `players` and a lobby's `partner` draw from one; name a single AI partner here"
            ));
            None
        }
        Some(NamedPartner::Person) => {
            place.report_problem(format!(
                "`{name}` is a person, and an AI partner is meant here; name one of `partners` that is an AI"
            ));
            None
        }
        None => {
            place.report_problem(source.partners.describe_unknown(&name)?);
            None
        }
    }
}

/// Reads a policy that stands alone, as it plays without further keys.
pub(crate) fn read_policy_alone(source: Source<'_>, place: &Cursor<'_>) -> Option<AiPartner> {
    let (policy, bytes) = read_policy(source, place)?;
    let certificate = (bytes.as_ref()).and_then(|_| certificate(source.dir, &policy));
    let model = bytes.map(|bytes| Model {
        sha256: sha256_hex(&bytes),
        every_ticks: 1,
        temperature: None,
        action_mask: false,
        observation: None,
        certificate,
        bytes: bytes.into(),
    });
    Some(AiPartner {
        policy,
        disclose: true,
        model,
        ..AiPartner::default()
    })
}

/// The meaning of the key `policy`.
pub(crate) const POLICY: &str = "The policy of the AI partner. `cook` follows rules in every kitchen of Overcooked, \
    `random` chooses each action with equal probability, `idle` does nothing, \
    `cook:wait` and `follow` do nothing until a button or a language model tells them what, `environment` is the function that the \
    `policy` of an environment in Python names. Or the file of an ONNX model in the study folder, at most 32 MiB ([agents.md](agents.md)).";

/// A policy as it is written: its name, and the bytes if it is a file.
pub(crate) type WrittenPolicy = (String, Option<Vec<u8>>);

/// Reads how an AI partner plays, except its policy.
pub(crate) fn read_fields(
    source: Source<'_>,
    fields: &mut Fields<'_>,
    policy: Option<WrittenPolicy>,
) -> Option<AiPartner> {
    let disclose = fields.key("disclose", "Tells participants that the partner is an AI.");
    let disclose = disclose.or(true, |place| place.read_flag());
    let doc = "For models: the softmax temperature. Each action is drawn with a probability in proportion to \
               exp(value / temperature). Without this key, the model takes the action with the greatest value.";
    let warm = fields.key("temperature", doc);
    let is_drawn = warm.place.is_some();
    let warm = warm.maybe(|place| place.read_number(0.01..=100.0, ""));
    let doc = "For models: the model acts every N ticks, as it was trained (frame skip). In between it does \
               nothing.";
    let every = fields.key("every_ticks", doc);
    let is_paced = every.place.is_some();
    let every = every.or(1, |place| place.read_whole(1..=60, "ticks"));
    let doc = "For models: the model chooses only among the actions that may have an effect, as the environment's \
               action mask says, as it was trained.";
    let mask = fields.key("action_mask", doc);
    let is_masked = mask.place.is_some();
    let mask = mask.or(false, |place| place.read_flag());
    let doc = "For models: the encoding of the observation that the model takes, of those that the environment gives. \
               Without this key, the names of its inputs tell, or the shape of a grid.";
    let encoding = fields.key("observation", doc);
    let is_encoded = encoding.place.is_some();
    let encoding = encoding.maybe(|place| place.text(60));
    let doc = "The reaction delay: the AI partner does what it chose this number of ticks later.";
    let delay = fields.key("delay_ticks", doc);
    let is_late = delay.place.is_some();
    let delay = delay.or(0, |place| place.read_whole(0..=60, "ticks"));
    let doc = "The noise: the share of ticks in which a random action replaces the chosen one.";
    let noise = fields.key("noise", doc);
    let is_noisy = noise.place.is_some();
    let noise = noise.or(0.0, |place| place.read_number(0.0..=1.0, ""));
    let place = &fields.whole;
    let (policy, bytes) = policy?;
    let odd = [
        ("temperature", is_drawn),
        ("every_ticks", is_paced),
        ("action_mask", is_masked),
        ("observation", is_encoded),
    ];
    if let Some((key, _)) = odd.iter().find(|(_, there)| *there && bytes.is_none()) {
        let message = format!("only for the file of a model; `{policy}` is a script, so remove it");
        place.wrong_at(key, message);
        return None;
    }
    let own = [("delay_ticks", is_late), ("noise", is_noisy)];
    let own = own
        .iter()
        .find(|(_, there)| *there && policy == ENVIRONMENT);
    if let Some((key, _)) = own {
        let message = "an environment's own function decides for itself when it is late or wrong, so remove it";
        place.wrong_at(key, message.to_owned());
        return None;
    }
    let (every_ticks, temperature, action_mask, observation) = (every?, warm?, mask?, encoding?);
    let certificate = bytes
        .as_ref()
        .and_then(|_| certificate(source.dir, &policy));
    let model = bytes.map(|bytes| Model {
        sha256: sha256_hex(&bytes),
        every_ticks,
        temperature,
        action_mask,
        observation,
        certificate,
        bytes: bytes.into(),
    });
    #[allow(clippy::cast_possible_truncation, reason = "from 0 to 1,000")]
    #[allow(clippy::cast_sign_loss, reason = "from 0 to 1,000")]
    let noise_permille = (noise? * 1_000.0 + 0.5) as u16;
    Some(AiPartner {
        policy,
        disclose: disclose?,
        model,
        delay_ticks: delay?,
        noise_permille,
        origin: None,
        language_model: None,
        buttons: None,
    })
}

/// Reads the certificate beside a model, if there is one.
fn certificate(dir: &StudyFolder, model: &str) -> Option<Arc<[u8]>> {
    let file = format!("{model}{CERTIFICATE}");
    let len = dir.find_len(&file).ok()??;
    let bytes = (len <= MAX_CERTIFICATE).then(|| dir.read_file(&file).ok())??;
    Some(bytes.into())
}

/// The name of a policy, and the bytes of one that is a file.
pub(crate) fn read_policy(source: Source<'_>, place: &Cursor<'_>) -> Option<WrittenPolicy> {
    let name = place.text(100)?;
    if !name.ends_with(MODEL) {
        return Some((name, None));
    }
    let bytes = folder::read_bytes(source.dir, place, &name, MAX_MODEL, "agent.onnx")?;
    Some((name, Some(bytes)))
}
