//! Adherence: how far people's actions agree with those of a policy. In the file: `adherence`.
//!
//! The measures are computed from the logs of episodes, when tables are written. Participants do not notice them, and
//! they change nothing.

use serde::Serialize;

use crate::folder::Source;
use crate::limits::MAX_ADHERENCE;
use crate::partners::NamedPartner;
use crate::problem::make_hint;
use crate::read::{Cursor, Fields};
use crate::stage::ai_partner::{self, AiPartner};
use crate::stage::env::RunOn;
use crate::stage::{Stage, StageKind};
use crate::yaml::Data;

/// The beginning of the names under which the file of an episode has the policies of its measures; the name of the measure
/// follows. No name of a study can begin so.
const ADHERENCE_AT: &str = "adherence@";

/// A measure of adherence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdherenceMeasure {
    /// Its name in tables and formulas.
    pub name: String,
    /// Id of the env stage whose episodes are measured.
    pub stage: String,
    /// The policy whose choices are compared.
    pub policy: AiPartner,
}

impl AdherenceMeasure {
    /// The measure for the file of an episode of its stage: its name there, and the policy.
    pub fn to_log(&self) -> (String, String) {
        let name = format!("{ADHERENCE_AT}{}", self.name);
        (name, self.policy.policy.clone())
    }

    /// The names of the measures and their policies among the names in the file of an episode.
    pub fn list_logged(names: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
        let names = names.iter();
        names.filter_map(|(name, policy)| Some((name.strip_prefix(ADHERENCE_AT)?, policy.as_str())))
    }
}

/// Reads the list.
pub(crate) fn read(source: Source<'_>, place: &Cursor<'_>) -> Option<Vec<AdherenceMeasure>> {
    let places = place.list("measures", MAX_ADHERENCE)?;
    let measures = places.iter().map(|place| read_measure(source, place));
    let measures: Vec<AdherenceMeasure> = measures.collect::<Option<_>>()?;
    for (number, measure) in measures.iter().enumerate() {
        let mut before = measures[..number].iter();
        if before.any(|other| other.name == measure.name) {
            let name = &measure.name;
            let message = format!("`{name}` is there twice; name each measure differently");
            places[number].wrong_at("name", message);
            return None;
        }
    }
    Some(measures)
}

fn read_measure(source: Source<'_>, place: &Cursor<'_>) -> Option<AdherenceMeasure> {
    let mut fields = place.fields("a measure of adherence")?;
    let name = read_name(&mut fields);
    let doc = "The env stage whose episodes are measured.";
    let stage = fields.key("stage", doc);
    let stage = stage.require_key("play", |place| place.id());
    let doc = "The policy: a script (`cook`, `random`, `idle`), the file of an ONNX model in the study folder, or an AI \
               partner of `partners`. Its reaction delay and noise do not count.";
    let policy = fields.key("policy", doc);
    let policy = policy.require_key("cook", |place| read_policy(source, &place));
    fields.done();
    Some(AdherenceMeasure {
        name: name?,
        stage: stage?,
        policy: policy?,
    })
}

fn read_name(fields: &mut Fields<'_>) -> Option<String> {
    let doc =
        "The name of the measure in the table `adherence` and in the formulas of `exclusions`.";
    fields.key("name", doc).require_key("greedy", |place| {
        let name = place.text(40)?;
        let is_good = name.starts_with(|c: char| c.is_ascii_lowercase())
            && (name.chars()).all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if !is_good {
            place.report_problem(format!(
                "`{name}` cannot be named in a formula; use lower-case letters, digits and `_`, a letter first"
            ));
        }
        is_good.then_some(name)
    })
}

fn read_policy(source: Source<'_>, place: &Cursor<'_>) -> Option<AiPartner> {
    let name = match &place.node.data {
        Data::Plain(text) | Data::Quoted(text) => text.as_str(),
        Data::List(_) | Data::Map(_) => "",
    };
    let partner = match source.partners.get(name) {
        Some(NamedPartner::Ai(partner)) if partner.language_model.is_none() => partner.clone(),
        Some(_) => {
            place.report_problem(format!(
                "`{name}` is no single policy that can be asked; name an AI partner without a language model, or a policy"
            ));
            return None;
        }
        None => ai_partner::read_policy_alone(source, place)?,
    };
    if partner.policy == ai_partner::ENVIRONMENT {
        place.report_problem("a function of an environment is only there while it plays; name a script or the file of a model");
        return None;
    }
    Some(AiPartner {
        disclose: true,
        delay_ticks: 0,
        noise_permille: 0,
        ..partner
    })
}

/// Checks that each measure is of an env stage whose episodes are simulated again.
pub(crate) fn check_stages(
    measures: &[AdherenceMeasure],
    stages: &[Option<Stage>],
    root: &Cursor<'_>,
) {
    let known = stages.iter().flatten();
    let known = known.filter_map(|stage| match &stage.kind {
        StageKind::Env(env) => Some((stage.id.as_str(), env.run)),
        _ => None,
    });
    let known: Vec<(&str, RunOn)> = known.collect();
    for (number, measure) in measures.iter().enumerate() {
        let path = format!("adherence[{number}].stage");
        let (id, ids) = (&measure.stage, known.iter().map(|(id, _)| *id));
        match known.iter().find(|(known, _)| known == id) {
            Some((_, RunOn::Host)) => root.wrong_at(
                &path,
                format!("a host steps `{id}`, and a policy cannot be asked in the middle of its worlds; name a stage that pages step"),
            ),
            Some(_) => {}
            // A stage that has faults already is not checked a second time.
            None if stages.iter().any(Option::is_none) => {}
            None => {
                let ids: Vec<&str> = ids.collect();
                root.wrong_at(&path, format!("there is no env stage `{id}`; {}", make_hint(id, &ids)));
            }
        }
    }
}

/// The names of the measures of a file, for the formulas of its rules, whatever else is wrong with them.
pub(crate) fn list_names(root: &Cursor<'_>) -> Vec<String> {
    let measures = root.node.get("adherence").map(|node| &node.data);
    let Some(Data::List(measures)) = measures else {
        return Vec::new();
    };
    let names = measures
        .iter()
        .filter_map(|node| match &node.get("name")?.data {
            Data::Plain(text) | Data::Quoted(text) => Some(text.clone()),
            Data::List(_) | Data::Map(_) => None,
        });
    names.collect()
}
