//! A study that was read and checked.

use std::collections::BTreeSet;

use crate::about::Keeping;
use crate::adherence::AdherenceMeasure;
use crate::design::Design;
use crate::disconnect::Net;
use crate::exclusion::ExclusionRule;
use crate::formula::Formula;
use crate::host::{PartnerModel, TrainedPartner};
use crate::media::Media;
use crate::offline::Offline;
use crate::outcome::Outcome;
use crate::page::TextPage;
use crate::problem::{Problem, ProblemReport};
use crate::recruitment::Recruitment;
use crate::screening::Screening;
use crate::sentences::Sentences;
use crate::stage::ai_partner::{AiPartner, CompiledModel};
use crate::stage::lobby::Lobby;
use crate::stage::{ClipSource, ModuleFile, PartnerEpisode, Stage, StageKind};
use crate::text::Text;
use crate::timeline::tree::Node;
use crate::timeline::uses::FactorUse;
use crate::yaml;

/// Name of the study file in its folder.
pub const FILE: &str = "study.yaml";

/// The shortest time after which a session ends by itself if the file does not say one, seconds.
const LEAST_EXPIRY_S: u64 = 30 * 60;

/// A study that was read and checked.
#[derive(Clone, Debug)]
pub struct Study {
    /// Its id.
    pub id: String,
    /// Its version, as the researcher counts.
    pub version: String,
    /// Its title, in its languages.
    pub title: Text,
    /// The contact for participants.
    pub contact: String,
    /// True if participants can write to the researchers from every page, where a server has a dashboard.
    pub help_button: bool,
    /// The language of its texts, such as `en` or `pt-BR`.
    pub language: String,
    /// The languages that participants can choose from, including its own; empty if there is only that one.
    pub languages: Vec<String>,
    /// The number that the ethics board gave it.
    pub protocol: Option<String>,
    /// The times for which data are kept, and a session waits.
    pub keeping: Keeping,
    /// The source of participants, and their pay.
    pub recruitment: Recruitment,
    /// The bonus, a formula over episodes and answers.
    pub bonus: Option<Formula>,
    /// The measures of the agreement of people's actions with those of a policy.
    pub adherence: Vec<AdherenceMeasure>,
    /// The rules that mark the data of sessions.
    pub exclusions: Vec<ExclusionRule>,
    /// How pages reach each other.
    pub net: Net,
    /// The stages, in the order of the file, after the screening if there is one; the last one is an end stage. What is
    /// stored of a stage is stored by its index here.
    pub timeline: Vec<Stage>,
    /// The compiled models of its AI partners.
    pub models: Vec<CompiledModel>,
    /// The way in which they are walked.
    pub tree: Vec<Node>,
    /// The experimental design.
    pub design: Design,
    /// The sentences of pages that it replaces or adds.
    pub sentences: Sentences,
    /// The terms of a study without a server; `None` for one that has one.
    pub offline: Option<Offline>,
    /// All of the above as canonical JSON, defaults and the texts of files written in.
    pub canonical: String,
    /// SHA-256 of `canonical`, lower-case hex.
    pub hash: String,
    /// The partners whose training rules it uses, at each stage that they play; empty if it was checked without a host.
    pub trained_partners: BTreeSet<TrainedPartner>,
    /// The place of each stage in the file, such as `timeline[2].block[0]`.
    pub(crate) paths: Vec<String>,
    /// The factors of participants that each stage uses.
    pub(crate) uses: Vec<FactorUse>,
    /// The file as read, to find the place of a field.
    pub(crate) source: yaml::Node,
}

impl Study {
    /// Sets the models of AI partners, which play under the names of their models from now on.
    pub(crate) fn set_models(&mut self, models: Vec<PartnerModel>) {
        let stages = self.timeline.iter_mut();
        let partners = stages.flat_map(|stage| stage.kind.ai_partners_mut());
        let asked = self.adherence.iter_mut().map(|measure| &mut measure.policy);
        for partner in partners.chain(asked) {
            let made = models.iter().find(|made| made.partner == *partner);
            partner.enter_name(made.map(|made| made.name.as_str()));
        }
        self.models = models.into_iter().map(|made| made.model).collect();
    }

    /// The episodes of AI partners that it shows, with the index of their stage.
    pub fn partner_episodes(&self) -> impl Iterator<Item = (usize, &PartnerEpisode)> {
        let stages = self.timeline.iter().enumerate();
        let clips = stages.flat_map(|(index, stage)| {
            let clips = match &stage.kind {
                StageKind::Watch(watch) => &watch.clips[..],
                _ => &[],
            };
            clips.iter().map(move |clip| (index, clip))
        });
        clips.filter_map(|(index, clip)| match &clip.source {
            ClipSource::Partners(episode) => Some((index, &**episode)),
            ClipSource::Own { .. } => None,
        })
    }

    /// The modules of clips of AI partners, with the ids of their environments.
    pub fn clip_modules(&self) -> impl Iterator<Item = (&str, &ModuleFile)> {
        let episodes = self.partner_episodes();
        episodes.filter_map(|(_, episode)| Some((&*episode.env, episode.module.as_ref()?)))
    }

    /// A problem of the environment of an env stage.
    pub fn env_problem(&self, stage: u16, message: &str) -> Problem {
        let path = self.paths.get(usize::from(stage));
        let path = yaml::join(path.map_or("", String::as_str), "env");
        let report = ProblemReport::new(FILE);
        report.problem(self.source.locate(&path), &path, message)
    }

    /// A problem of the rules on which a partner was trained.
    pub fn training_problem(&self, partner: &TrainedPartner, message: &str) -> Problem {
        let path = format!("partners.{}.rules", partner.name);
        self.key_problem(&path, message)
    }

    /// A problem of a stage.
    pub fn stage_problem(&self, stage: u16, message: &str) -> Problem {
        let path = self.paths.get(usize::from(stage));
        self.key_problem(path.map_or("", String::as_str), message)
    }

    /// A problem of the key at a path of the file.
    pub(crate) fn key_problem(&self, path: &str, message: &str) -> Problem {
        let report = ProblemReport::new(FILE);
        report.problem(self.source.locate(path), path, message)
    }

    /// A problem of a parameter of an env stage, where it stands: in the file of its grid world, or below its `config`.
    pub fn config_problem(&self, stage: u16, field: &str, message: &str) -> Problem {
        let index = usize::from(stage);
        let path = self.paths.get(index).map_or("", String::as_str);
        let path = yaml::join(path, "config");
        let world = match self.timeline.get(index).map(|stage| &stage.kind) {
            Some(StageKind::Env(env)) => env.world.as_ref(),
            _ => None,
        };
        let parameter = field.split(['.', '[']).next().unwrap_or_default();
        match world.filter(|_| !self.source.has(&yaml::join(&path, parameter))) {
            Some(world) => world.make_problem(field, message),
            None => {
                let path = yaml::join(&path, field);
                let report = ProblemReport::new(FILE);
                report.problem(self.source.locate(&path), &path, message)
            }
        }
    }

    /// The last stage, which is an end stage.
    pub(crate) fn last(&self) -> &Stage {
        self.timeline
            .last()
            .expect("a timeline that was checked has an end stage")
    }

    /// The outcome of those who reach the last stage.
    pub(crate) fn last_outcome(&self) -> Option<Outcome> {
        match &self.last().kind {
            StageKind::End(end) => Some(end.outcome),
            _ => None,
        }
    }

    /// The requirements on device and connection; `None` if there are none.
    pub fn screening(&self) -> Option<&Screening> {
        match &self.timeline.first()?.kind {
            StageKind::Screening(screening) => Some(screening),
            _ => None,
        }
    }

    /// The pictures and videos that pages and forms show.
    pub fn media(&self) -> impl Iterator<Item = &Media> {
        let forms = self.timeline.iter().filter_map(|stage| match &stage.kind {
            StageKind::Survey(survey) => Some(survey.pictures()),
            _ => None,
        });
        let pages = pages(&self.timeline, Some(&self.recruitment));
        pages.flat_map(TextPage::media).chain(forms.flatten())
    }

    /// Returns whether something of a participant may be recorded at a stage: not if a consent comes after it.
    pub fn may_record(&self, stage: u16) -> bool {
        let after = self.timeline.iter().skip(usize::from(stage) + 1);
        !after
            .into_iter()
            .any(|stage| matches!(stage.kind, StageKind::Consent(_)))
    }

    /// Returns whether pages do not say how far a participant is. If an AI partner must not be distinguishable from
    /// people, steps that are passed over would reveal the treatment of a participant.
    pub fn hides_progress(&self) -> bool {
        self.secret_partners().next().is_some() && has_guard(&self.tree)
    }

    /// Returns the AI partners that must not be distinguishable from people. Every page loads what they need, whoever
    /// its partners are.
    pub fn secret_partners(&self) -> impl Iterator<Item = &AiPartner> {
        let partners = self.timeline.iter();
        let partners = partners.flat_map(|stage| stage.kind.ai_partners());
        partners.filter(|partner| !partner.disclose)
    }

    /// The lobby at an index.
    pub fn lobby(&self, stage: u16) -> Option<&Lobby> {
        match &self.timeline.get(usize::from(stage))?.kind {
            StageKind::Lobby(lobby) => Some(lobby),
            _ => None,
        }
    }

    /// Returns whether people play a stage together, as the group that a lobby made.
    pub fn is_together(&self, stage: u16) -> bool {
        let stage = self.timeline.get(usize::from(stage));
        stage.is_some_and(|stage| stage.kind.is_together())
    }

    /// Returns the seconds after which a session that nobody attends to ends: the time of the file, or else three times
    /// the minutes that the study takes; `None` if it says neither.
    pub fn expires_s(&self) -> Option<u64> {
        let said = self.keeping.expires_h.map(|hours| u64::from(hours) * 3_600);
        let minutes = self.recruitment.pay_terms.minutes;
        said.or(minutes.map(|minutes| ((3.0 * minutes * 60.0) as u64).max(LEAST_EXPIRY_S)))
    }

    /// Returns whether participants of another version, given in its canonical form, walk the same way in this one: a study
    /// of the same id, the same stages by id and type, the same blocks with their guards, the same factors.
    pub fn walks_as(&self, canonical: &str) -> bool {
        let way = |canonical: &str| {
            let whole: serde_json::Value = serde_json::from_str(canonical).ok()?;
            let stages = whole["timeline"].as_array()?.iter();
            let stages = stages.map(|stage| (stage["id"].clone(), stage["type"].clone()));
            let stages: Vec<_> = stages.collect();
            let id = whole["study"]["id"].as_str()?.to_owned();
            Some((id, stages, whole["tree"].clone(), whole["design"].clone()))
        };
        way(canonical).is_some_and(|other| way(&self.canonical) == Some(other))
    }
}

/// Returns whether something can be passed over.
fn has_guard(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| match node {
        Node::Stage(_) => false,
        Node::Block(block) => block.when.is_some() || has_guard(&block.block),
    })
}

/// Every page that participants may read.
pub(crate) fn pages<'a>(
    timeline: &'a [Stage],
    recruitment: Option<&'a Recruitment>,
) -> impl Iterator<Item = &'a TextPage> {
    let stages = timeline.iter().flat_map(|stage| stage.kind.pages());
    let ends = recruitment.into_iter().flat_map(|it| it.outcomes.values());
    stages.chain(ends.filter_map(|end| end.page.as_ref()))
}
