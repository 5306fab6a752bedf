//! A study in two phases: a draft that was read from its folder, and the study that the draft becomes once it was checked
//! against the facts of a host.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use protocol::hash::sha256_hex;
use serde_json::json;

use crate::about::About;
use crate::canonical::write_canonical;
use crate::folder::StudyFolder;
use crate::host::{EnvFactsByStage, HostFacts};
use crate::host_check::HostCheck;
use crate::load::{self, Parts, ReadTimeline};
use crate::problem::{Problem, ProblemReport};
use crate::read::Cursor;
use crate::recruitment::Recruitment;
use crate::stage::{Stage, StageKind};
use crate::study::{FILE, Study, pages};
use crate::yaml;

/// A study as it was read from its folder: `study.yaml` and the files that it names, as far as they could be read, and
/// the problems found in them.
pub struct DraftStudy {
    report: ProblemReport,
    read: Option<(Parts, yaml::Node)>,
}

impl DraftStudy {
    /// Reads the study of a folder. Problems are reported by [`Self::check`].
    pub fn read(dir: &Path) -> Self {
        Self::read_folder(&StudyFolder::on_disk(dir))
    }

    /// The same of a folder that need not be on the disk.
    pub fn read_folder(dir: &StudyFolder) -> Self {
        let report = ProblemReport::new(FILE);
        let text = load::read_file(dir, &report);
        let source =
            text.and_then(|text| yaml::parse(text.trim_start_matches('\u{feff}'), &report));
        let read = source.and_then(|source| {
            let parts = load::read_parts(dir, &Cursor::root(&source, &report))?;
            Some((parts, source))
        });
        Self { report, read }
    }

    /// Checks the draft against the facts of a host, even if it has other problems. Returns the study, whose models are
    /// compiled, and the facts of its environments.
    ///
    /// # Errors
    /// Every [`Problem`] of the folder and beside the facts, in the order of the lines; those of other files follow.
    pub fn check(self, facts: &impl HostFacts) -> Result<(Study, EnvFactsByStage), Vec<Problem>> {
        let Self { report, read } = self;
        let study = read.and_then(|(mut parts, source)| {
            let stages = parts.timeline.iter_mut();
            let stages = stages.flat_map(|timeline| timeline.stages.iter_mut().flatten());
            for stage in stages {
                if let StageKind::Env(env) = &mut stage.kind
                    && env.python.is_some()
                {
                    facts.prepare_env(env);
                }
            }
            let timeline = parts.timeline.as_ref()?;
            let no_scopes = BTreeMap::new();
            let host = HostCheck {
                stages: &timeline.stages,
                paths: &timeline.paths,
                scopes: timeline.scopes.as_ref().unwrap_or(&no_scopes),
                lobbies: &timeline.lobbies,
                adherence: parts.adherence.as_deref().unwrap_or_default(),
                source: &source,
                report: &report,
            };
            let env_facts = host.check_envs(facts);
            host.check_policies(facts);
            let models = host.compile_models(facts);
            let trained = host.list_trained_partners();
            let mut study = whole(parts, source)?;
            study.set_models(models);
            study.trained_partners = trained;
            Some((study, env_facts))
        });
        report.result(study)
    }

    /// Returns the study, checked without a host: its environments, scripts and models are taken as they are written.
    ///
    /// # Errors
    /// Every [`Problem`] of the folder, in the order of the lines; those of other files follow.
    pub fn check_alone(self) -> Result<Study, Vec<Problem>> {
        let study = self.read.and_then(|(parts, source)| whole(parts, source));
        self.report.result(study)
    }
}

/// Reads the study of a folder without a host.
///
/// # Errors
/// Every [`Problem`], as [`DraftStudy::check_alone`] reports them.
pub fn load(dir: &Path) -> Result<Study, Vec<Problem>> {
    DraftStudy::read(dir).check_alone()
}

/// The study of which every part could be read.
fn whole(parts: Parts, source: yaml::Node) -> Option<Study> {
    let mut about = parts.about?;
    let (recruitment, bonus) = (parts.recruitment?, parts.bonus?);
    let (net, design, sentences) = (parts.net?, parts.design?, parts.sentences?);
    let (adherence, exclusions) = (parts.adherence?, parts.exclusions?);
    let offline = parts.offline?;
    let partners = parts.partners?;
    let ReadTimeline {
        stages,
        tree,
        scopes,
        paths,
        uses,
        ..
    } = parts.timeline?;
    scopes?;
    let timeline: Vec<Stage> = stages.into_iter().collect::<Option<_>>()?;
    if about.languages.is_empty() {
        about.languages = common_languages(&about, &timeline, recruitment.as_ref());
    }
    about.title = about.title.within(&about.languages);
    let mut keys =
        json!({ "format": 1, "study": about, "net": net, "timeline": timeline, "tree": tree });
    if source.get("design").is_some() {
        keys["design"] = json!(design);
    }
    if !partners.is_empty() {
        (keys["partners"], keys["design"]) = (json!(partners), json!(design));
    }
    if let Some(recruitment) = &recruitment {
        keys["recruitment"] = json!(recruitment);
    }
    if let Some(bonus) = &bonus {
        keys["bonus"] = json!(bonus);
    }
    if !adherence.is_empty() {
        keys["adherence"] = json!(adherence);
    }
    if !exclusions.is_empty() {
        keys["exclusions"] = json!(exclusions);
    }
    if let Some(offline) = &offline {
        keys["offline"] = json!(offline);
    }
    if !sentences.is_empty() {
        keys["texts"] = json!(sentences);
    }
    let canonical = write_canonical(&keys);
    let hash = sha256_hex(canonical.as_bytes());
    Some(Study {
        id: about.id,
        version: about.version,
        title: about.title,
        contact: about.contact,
        help_button: about.help_button,
        language: about.language,
        languages: about.languages,
        protocol: about.protocol,
        keeping: about.keeping,
        recruitment: recruitment.unwrap_or_default(),
        bonus,
        adherence,
        exclusions,
        net,
        timeline,
        models: Vec::new(),
        tree,
        design,
        sentences,
        offline,
        canonical,
        hash,
        trained_partners: BTreeSet::new(),
        paths,
        uses,
        source,
    })
}

/// Returns the languages in which the title and every page exist; empty if that is only the study's own language.
fn common_languages(
    about: &About,
    timeline: &[Stage],
    recruitment: Option<&Recruitment>,
) -> Vec<String> {
    let is_common = |language: &&String| {
        **language == about.language
            || pages(timeline, recruitment).all(|page| page.has_language(language))
    };
    let common: Vec<String> = about
        .title
        .list_languages()
        .filter(is_common)
        .cloned()
        .collect();
    if common.len() > 1 { common } else { Vec::new() }
}
