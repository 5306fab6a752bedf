//! The partners that a study names once, at the top of its file: AI partners, pools of them, and people. In the file:
//! `partners`.
//!
//! Levels of factors and keys of stages name them; [`crate::stage::DrawnPartner`] finds the one that plays.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::design::{self, Level, Pool, PoolDraw};
use crate::folder::Source;
use crate::language_model::{LanguageModel, read as model_reader};
use crate::limits::{MAX_LEVELS, MAX_PARTNERS, MIN_LEVELS};
use crate::problem::make_hint;
use crate::read::{Cursor, Fields};
use crate::stage::ai_partner::{self, AiPartner, PartnerOrigin};
use crate::stage::directive_buttons;
use crate::yaml;

/// The word that stands for a person in the key `policy`.
const PERSON: &str = "person";

/// The partners that a study names.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct Partners(BTreeMap<String, Entry>);

/// A partner, and its looks.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Entry {
    /// `None` if it has faults, which are reported once, where the partner stands.
    #[serde(flatten)]
    kind: Option<NamedPartner>,
    /// The block that a level with its name stands for: the name, and everything that participants may see of the
    /// partner.
    shown: Map<String, Value>,
}

/// A partner that a study names.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "a study has few partners")]
pub(crate) enum NamedPartner {
    /// An AI partner.
    Ai(AiPartner),
    /// One of several AI partners, drawn.
    Pool(NamedPool),
    /// A person from a lobby.
    Person,
    /// A language model without a seat.
    Assistant(Box<LanguageModel>),
}

/// AI partners of which one is drawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct NamedPool {
    /// The names of its members.
    pub members: Vec<String>,
    /// The times at which it is drawn from.
    pub draw: PoolDraw,
}

/// No partners, for the readers that come before them.
pub(crate) static NO_PARTNERS: Partners = Partners(BTreeMap::new());

impl Partners {
    /// The partner of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&NamedPartner> {
        self.0.get(name)?.kind.as_ref()
    }

    /// Returns whether none of the partners has a fault.
    pub(crate) fn is_whole(&self) -> bool {
        self.0.values().all(|entry| entry.kind.is_some())
    }

    /// Returns the problem of a name that no partner has; `None` for that of a partner with faults, which are reported
    /// already.
    pub(crate) fn describe_unknown(&self, name: &str) -> Option<String> {
        let message = || format!("unknown partner `{name}`; {}", self.make_hint(name));
        (!self.is_faulty(name)).then(message)
    }

    /// Returns whether a partner of this name has faults.
    pub(crate) fn is_faulty(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|entry| entry.kind.is_none())
    }

    /// Returns whether the study names none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names, in order.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    /// Returns the fix for a name that no partner has.
    pub(crate) fn make_hint(&self, name: &str) -> String {
        match self.is_empty() {
            true => "the study names none; write for example `partners: {clone: {policy: agent.onnx}}` at the top of the \
                     file, or a block here: `{policy: cook}`"
                .to_owned(),
            false => make_hint(name, &self.names()),
        }
    }

    /// Returns the level that stands for the partner of this name: a block with its name and with what participants may
    /// see.
    pub(crate) fn level(&self, name: &str) -> Option<Level> {
        let entry = self.0.get(name)?;
        Some(Level {
            name: name.to_owned(),
            value: Value::Object(entry.shown.clone()),
        })
    }

    /// The pools, for the design: each participant draws from them.
    pub(crate) fn pools(&self) -> Vec<Pool> {
        let pools = self.0.iter().filter_map(|(name, entry)| match &entry.kind {
            Some(NamedPartner::Pool(pool)) => Some((name, pool)),
            _ => None,
        });
        let pool = |(name, pool): (&String, &NamedPool)| Pool {
            name: name.clone(),
            members: pool
                .members
                .iter()
                .filter_map(|member| self.level(member))
                .collect(),
            draw: pool.draw,
        };
        pools.map(pool).collect()
    }

    /// Reports partners that nothing names, and names that a factor has too. `root` is the whole file.
    pub(crate) fn check_use(&self, root: &Cursor<'_>, factors: &[&str]) {
        for name in self.names() {
            let path = format!("partners.{name}");
            if factors.contains(&name) {
                root.wrong_at(&path, format!("`{name}` is also a factor of the design, so one would not know which is meant; give one of them another name"));
            }
            if !is_mentioned(root.node, name) {
                root.wrong_at(&path, format!("never used; name it as a level of a factor, in `players`, as a `bot` or in a pool, or remove it: `players: [self, {name}]`"));
            }
        }
    }
}

/// Returns whether a name is anywhere in the file but at its own place.
fn is_mentioned(root: &yaml::Node, name: &str) -> bool {
    let yaml::Data::Map(entries) = &root.data else {
        return false;
    };
    let mentions = |node: &yaml::Node| node.mentions(name);
    entries.iter().any(|(key, node)| match key.name.as_str() {
        "study" => false,
        "partners" => match &node.data {
            yaml::Data::Map(partners) => (partners.iter())
                .filter_map(|(_, partner)| partner.get("pool"))
                .any(mentions),
            _ => false,
        },
        _ => mentions(node),
    })
}

/// Reads the partners. A study whose partners have faults is read on with the others.
pub(crate) fn read(source: Source<'_>, place: &Cursor<'_>) -> Option<Partners> {
    let entries = place.read_entries("partners")?;
    if entries.len() > MAX_PARTNERS {
        place.report_problem(format!(
            "{} partners; there must be at most {MAX_PARTNERS}",
            entries.len()
        ));
        return None;
    }
    let entry = |(name, place): &(&str, Cursor<'_>)| {
        let is_named = design::is_name(name, place);
        let mut looks = Map::from_iter([("name".to_owned(), json!(name))]);
        let kind = read_kind(source, name, place, &mut looks).filter(|_| is_named);
        let entry = Entry { kind, shown: looks };
        ((*name).to_owned(), entry)
    };
    let mut partners = Partners(entries.iter().map(entry).collect());
    for name in find_faulty_pools(&partners, place) {
        partners.0.entry(name).and_modify(|entry| entry.kind = None);
    }
    Some(partners)
}

/// Reads a partner, and adds what participants may see of it.
fn read_kind(
    source: Source<'_>,
    name: &str,
    place: &Cursor<'_>,
    looks: &mut Map<String, Value>,
) -> Option<NamedPartner> {
    let mut fields = place.fields("a partner")?;
    let doc = "In the place of `policy`: a pool, of which a participant gets one. A list of names of AI partners, at \
               least two. Who has drawn which is balanced over those who completed the study.";
    let pool = fields.key("pool", doc);
    let is_pool = pool.place.is_some() && place.may(place.node.get("policy").is_none());
    let pool = pool.maybe(|place| {
        let members = place.list_of("names of AI partners", MIN_LEVELS..=MAX_LEVELS)?;
        members
            .iter()
            .map(|place| place.text(40))
            .collect::<Option<Vec<_>>>()
    });
    let draws = [("once", PoolDraw::Once), ("each_time", PoolDraw::EachTime)];
    let doc = "For a pool: `once`: a participant plays with one member all along. `each_time`: with another one at \
               each visit of a stage, and with none again before all had their turn.";
    let draw = fields.key("draw", doc);
    let has_draw = draw.place.is_some();
    let draw = draw.or(PoolDraw::Once, |place| {
        place.read_word("way to draw", &draws)
    });
    let shown = shown(&mut fields);
    looks.extend(shown.clone().unwrap_or_default());
    let origin = origin(name, &mut fields);
    let doc = "A language model that writes messages, and tells the policy what to do if the policy takes directives. \
               Without `policy`, the partner has no seat: an `assistant` ([language-models.md](language-models.md)).";
    let language_model = fields.key("language_model", doc);
    let has_model = language_model.place.is_some();
    let shown_as = (shown.as_ref()).and_then(|shown| shown.get("shown_as")?.as_str());
    let language_model = language_model
        .maybe(|place| model_reader::read(source, &place, name, shown_as).map(Box::new));
    let doc = "Buttons on the page of the episode, by which people tell the policy what to do: a list of directives with \
               labels ([language-models.md](language-models.md#buttons)).";
    let buttons = fields.key("buttons", doc);
    let has_buttons = buttons.place.is_some();
    let buttons = buttons.maybe(|place| {
        directive_buttons::read(source.languages, &place, shown_as.unwrap_or(name)).map(Box::new)
    });
    let policy = fields.key("policy", ai_partner::POLICY);
    let is_assistant = has_model && policy.place.is_none() && !is_pool;
    let is_person = (policy.place.as_ref()).is_some_and(|place| place.node.is_text(PERSON));
    let kind = match (is_pool, is_person) {
        _ if is_assistant && !place.may(false) => {
            let model = language_model.clone();
            model.flatten().map(NamedPartner::Assistant)
        }
        _ if place.may(false) => {
            let policy = policy.maybe(|place| ai_partner::read_policy(source, &place));
            ai_partner::read_fields(source, &mut fields, policy.flatten());
            None
        }
        (true, _) => {
            let members = pool.clone()?;
            members.map(|members| {
                let draw = draw.unwrap_or(PoolDraw::Once);
                NamedPartner::Pool(NamedPool { members, draw })
            })
        }
        (false, true) => Some(NamedPartner::Person),
        (false, false) => {
            let policy = policy.require("agent.onnx", |place| {
                ai_partner::read_policy(source, &place)
            });
            let partner = ai_partner::read_fields(source, &mut fields, policy);
            let origin = origin.and_then(|origin| {
                let policy = partner.as_ref()?.policy.clone();
                Some(PartnerOrigin { policy, ..origin })
            });
            let told_by = language_model.clone().zip(buttons.clone());
            let parts = partner.zip(origin).zip(told_by);
            parts.map(|((partner, origin), (language_model, buttons))| {
                NamedPartner::Ai(AiPartner {
                    origin: Some(origin),
                    language_model,
                    buttons,
                    ..partner
                })
            })
        }
    };
    let is_fit = match (&kind, has_draw) {
        (Some(NamedPartner::Ai(_) | NamedPartner::Person | NamedPartner::Assistant(_)), true) => {
            place.wrong_at(
                "draw",
                "only for a pool; remove it, or write `pool: [a, b]` in the place of `policy`",
            );
            false
        }
        _ => true,
    };
    if !is_pool && pool.is_some_and(|pool| pool.is_some()) {
        place.wrong_at(
            "pool",
            "stands beside `policy`, and a partner is the one or the other; remove one of the two",
        );
        return None;
    }
    fields.done();
    let is_blinded = matches!(&kind, Some(NamedPartner::Ai(partner)) if !partner.disclose);
    if has_model && (is_pool || is_person || is_blinded) {
        let message = match is_blinded {
            true => "a language model is not to pass for a person; write `disclose: true`",
            false => {
                "only a partner of its own can have a language model; remove it, or write `policy: cook:wait` in the place of a pool or a person"
            }
        };
        place.wrong_at("language_model", message);
        return None;
    }
    if has_buttons && !matches!(kind, Some(NamedPartner::Ai(_)) | None) {
        let message = "only a partner with a policy of its own can be told what to do; remove it, or write `policy: cook:wait`";
        place.wrong_at("buttons", message);
        return None;
    }
    kind.filter(|_| is_fit && shown.is_some())
}

/// Reads what participants may see of a partner.
fn shown(fields: &mut Fields<'_>) -> Option<Map<String, Value>> {
    let doc = "The blinded name: what participants read for this partner. `{{ factor.shown_as }}` puts it into \
               texts, forms, numbers beside the picture and the `config` of an environment.";
    let shown_as = fields.key("shown_as", doc).maybe(|place| place.text(60));
    let doc = "The blinded look: any value that the environment takes for what a player looks like, such as a number \
               of `appearance`. `{{ factor.look }}` puts it into `config`.";
    let look = fields.key("look", doc).maybe(|place| Some(place.json()));
    let mut shown = Map::new();
    shown.extend(shown_as?.map(|text| ("shown_as".to_owned(), json!(text))));
    shown.extend(look?.map(|look| ("look".to_owned(), look)));
    Some(shown)
}

/// Reads the origin of a policy.
fn origin(name: &str, fields: &mut Fields<'_>) -> Option<PartnerOrigin> {
    let doc = "For the data: the algorithm that trained the policy, such as `FCP`.";
    let algorithm = fields.key("algorithm", doc).maybe(|place| place.text(60));
    let doc = "For the data: the seed of the training.";
    let training_seed = fields
        .key("training_seed", doc)
        .maybe(|place| place.read_whole(0..=i64::MAX, ""));
    let doc = "For the data: the checkpoint of the training.";
    let checkpoint = fields.key("checkpoint", doc).maybe(|place| place.text(60));
    let doc = "For the data: the rules that the policy was trained on, such as `jaxmarl-0.2.0`: the parameter `rules` of \
               its environment, or the environment's name if it has none. `coplay lint` warns where the partner plays \
               other rules.";
    let training_rules = fields.key("rules", doc).maybe(|place| place.text(60));
    Some(PartnerOrigin {
        name: name.to_owned(),
        policy: String::new(),
        algorithm: algorithm?,
        training_seed: training_seed?,
        checkpoint: checkpoint?,
        training_rules: training_rules?,
    })
}

/// Reports members of pools that are not AI partners, and duplicates. Returns the names of the pools that have some.
fn find_faulty_pools(partners: &Partners, place: &Cursor<'_>) -> BTreeSet<String> {
    let mut faulty = BTreeSet::new();
    for (name, entry) in &partners.0 {
        let Some(NamedPartner::Pool(pool)) = &entry.kind else {
            continue;
        };
        let mut seen = BTreeSet::new();
        for (at, member) in pool.members.iter().enumerate() {
            let message = match (partners.get(member), seen.insert(member)) {
                (Some(NamedPartner::Ai(_)), true) => None,
                (Some(NamedPartner::Ai(_)), false) => {
                    Some(format!("`{member}` is in this pool twice; remove it here"))
                }
                (Some(_), _) => Some(format!(
                    "`{member}` is no AI partner of its own; write the names of AI partners, each with a `policy`"
                )),
                (None, _) => partners.describe_unknown(member),
            };
            if let Some(message) = message {
                place.wrong_at(&format!("{name}.pool[{at}]"), message);
                faulty.insert(name.clone());
            }
        }
    }
    faulty
}
