//! Reads the study file: the keys at its top, and the timeline with the checks that need nothing but the file.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;

use crate::about::{self, About};
use crate::adherence::{self, AdherenceMeasure};
use crate::design::{self, Design};
use crate::disconnect::{self, Net};
use crate::exclusion::{self, ExclusionRule};
use crate::folder::{Source, StudyFolder};
use crate::formula::{Formula, Type, Types};
use crate::limits::MAX_FILE;
use crate::offline::{self, Offline};
use crate::outcome::Outcome;
use crate::partners::{self, NO_PARTNERS, Partners};
use crate::problem::{LineColumn, ProblemReport};
use crate::read::Cursor;
use crate::recruitment::{self, Recruitment};
use crate::screening;
use crate::sentences::{self, Sentences};
use crate::stage::check::check_stages;
use crate::stage::end::EndStage;
use crate::stage::{Stage, StageKind};
use crate::study::FILE;
use crate::text::Languages;
use crate::timeline;
use crate::timeline::names::Scope;
use crate::timeline::read::{First, Read};
use crate::timeline::tree::Node;
use crate::timeline::uses::FactorUse;
use crate::yaml::Data;

/// The text of the study file.
pub(crate) fn read_file(dir: &StudyFolder, report: &ProblemReport) -> Option<String> {
    let message = match dir.read_file(FILE).map(String::from_utf8) {
        Ok(Ok(text)) if text.len() <= MAX_FILE => return Some(text),
        Ok(Ok(text)) => format!("{} bytes; the limit is {MAX_FILE}", text.len()),
        Ok(Err(_)) => "not UTF-8 text; save it as UTF-8".to_owned(),
        Err(error) if error.kind() == ErrorKind::NotFound => format!(
            "there is none in {}; name the folder of a study, or write one with `coplay new overcooked my-study`",
            dir.describe()
        ),
        Err(error) => format!("cannot be read in {} ({error})", dir.describe()),
    };
    report.add(LineColumn::default(), "", message);
    None
}

/// The keys at the top of the file, each as far as it could be read.
pub(crate) struct Parts {
    pub about: Option<About>,
    pub recruitment: Option<Option<Recruitment>>,
    pub bonus: Option<Option<Formula>>,
    pub adherence: Option<Vec<AdherenceMeasure>>,
    pub exclusions: Option<Vec<ExclusionRule>>,
    pub net: Option<Net>,
    pub design: Option<Design>,
    pub partners: Option<Partners>,
    pub timeline: Option<ReadTimeline>,
    pub sentences: Option<Sentences>,
    pub offline: Option<Option<Offline>>,
}

/// Reads the keys at the top of the file.
pub(crate) fn read_parts(dir: &StudyFolder, root: &Cursor<'_>) -> Option<Parts> {
    let mut fields = root.fields("a study file")?;
    let format = fields.key("format", "The format of the file.");
    let _ = format.require_key("1", |place| format_of(&place));
    let about = fields.key(
        "study",
        "Name, contact, languages and data rules of the study.",
    );
    let example = "{id: my-study, version: 1.0.0, title: …, contact: …}";
    let about = about.require_key(example, |place| about::read(&place));
    let languages = about.as_ref().map_or(Languages::ENGLISH, About::languages);
    let source = Source {
        dir,
        languages,
        partners: &NO_PARTNERS,
    };
    let doc = "The partners that the study names once: AI partners with the origin of their policies, pools of them, \
               and people. Levels of factors, `players`, a `bot` and a lobby's `partner` use the names.";
    let partners = fields.key("partners", doc);
    let partners = partners.or(Partners::default(), |place| partners::read(source, &place));
    let known = partners.clone().unwrap_or_default();
    let partners = partners.filter(Partners::is_whole);
    let source = Source {
        partners: &known,
        ..source
    };
    let doc = "Sentences of pages that the study replaces, and languages that it adds: one file, or a list of files, \
               each named after its language, such as `fr.yaml`.";
    let sentences = fields.key("texts", doc);
    let sentences = sentences.or(Sentences::default(), |place| {
        sentences::read(source, &place)
    });
    let recruitment = fields.key(
        "recruitment",
        "Where participants come from, and what they are paid.",
    );
    let screening = fields.key(
        "screening",
        "Requirements on device and connection, checked before the first stage.",
    );
    let screening = screening.maybe(|place| Some(first_stage(place, languages)));
    let net = fields.key("net", "The connection between participants' pages.");
    let net = net.or(Net::default(), |place| disconnect::read_net(&place));
    let doc = "A study without a server: every participant takes part alone, or with AI partners, on a page that keeps the \
               data and hands them over at the end.";
    let offline = fields.key("offline", doc);
    let offline = offline.maybe(|place| offline::read(&place));
    let design = fields.key(
        "design",
        "The experimental design: what varies between participants or groups.",
    );
    let design = design
        .maybe(|place| design::read(&place, &known))
        .map(Option::unwrap_or_default);
    let design = design.map(|design| Design {
        pools: known.pools(),
        ..design
    });
    let timeline = fields.key(
        "timeline",
        "The stages and blocks that participants go through, in order.",
    );
    let mut facts = Types::new();
    let timeline = timeline.require_key("a list of stages", |place| {
        let timeline = Timeline::read(source, &place, screening.flatten())?;
        facts = timeline::names::visit_variables(&timeline.read, design.as_ref());
        let usual = Sentences::default();
        let sentences = sentences.as_ref().unwrap_or(&usual);
        Some(timeline.check(&place, design.as_ref(), &known, sentences, root))
    });
    let factors: Vec<&str> = design.iter().flat_map(Design::names).collect();
    known.check_use(root, &factors);
    let doc = "The bonus: a formula over episodes and answers.";
    let bonus = fields.key("bonus", doc);
    let has_bonus = bonus.place.is_some();
    let bonus = bonus.maybe(|place| Formula::read(&place, &facts, &Type::Number));
    let recruitment =
        recruitment.maybe(|place| recruitment::read(source, &place, &facts, has_bonus));
    let doc = "Measures of how far people did what a policy would have done, for the table `adherence` and the formulas of \
               `exclusions`.";
    let adherence = fields.key("adherence", doc);
    let adherence = adherence
        .maybe(|place| adherence::read(source, &place))
        .map(Option::unwrap_or_default);
    if let (Some(measures), Some(timeline)) = (&adherence, &timeline) {
        adherence::check_stages(measures, &timeline.stages, root);
    }
    let doc = "Rules that mark the data of sessions in the tables, with a reason. They have no other effect.";
    let exclusions = fields.key("exclusions", doc);
    let exclusions = exclusions
        .maybe(|place| exclusion::read(&place, &adherence::list_names(root)))
        .map(Option::unwrap_or_default);
    fields.done();
    let mut recruitment = recruitment;
    if let Some(Some(recruitment)) = &mut recruitment {
        let usual = Design::default();
        let types = timeline::texts::list_types(facts, design.as_ref().unwrap_or(&usual), root);
        let pages = recruitment.outcomes.values_mut();
        let pages = pages.filter_map(|way| way.page.as_mut());
        pages.for_each(|page| page.read_insets(&types, root.report));
    }
    if let (Some(Some(_)), Some(recruitment)) = (&bonus, &recruitment) {
        let pay_terms = recruitment
            .as_ref()
            .map(|recruitment| &recruitment.pay_terms);
        if pay_terms.is_none_or(|pay_terms| pay_terms.currency.is_none()) {
            root.wrong_at("bonus", "pays something, but in which currency is not said; write for example `recruitment: {currency: GBP, base: 4.50}`");
        }
    }
    Some(Parts {
        about,
        recruitment,
        bonus,
        adherence,
        exclusions,
        net,
        design,
        partners,
        timeline,
        sentences,
        offline,
    })
}

fn format_of(place: &Cursor<'_>) -> Option<()> {
    if place.may(false) {
        return place.read_whole(1..=1, "").map(|_: u8| ());
    }
    if matches!(&place.node.data, Data::Plain(text) if text == "1") {
        return Some(());
    }
    place.report_problem(format!(
        "expected 1, the only format that this version reads, found {}",
        place.node.what()
    ));
    None
}

/// The stage that finds out who can take part.
fn first_stage<'a>(place: Cursor<'a>, languages: Languages<'_>) -> First<'a> {
    let kind = screening::read(&place, languages).map(StageKind::Screening);
    let id = screening::ID.to_owned();
    (place, kind.map(|kind| Stage { id, kind }))
}

/// The timeline, as far as it could be read and checked.
pub(crate) struct ReadTimeline {
    pub stages: Vec<Option<Stage>>,
    pub tree: Vec<Node>,
    /// The lobbies that make the group of each stage that people play together.
    pub lobbies: BTreeMap<u16, BTreeSet<u16>>,
    /// The values that names can stand for at each stage; `None` if the design has faults.
    pub scopes: Option<BTreeMap<u16, Scope>>,
    /// The path of each stage in the file, such as `timeline[2].block[0]`.
    pub paths: Vec<String>,
    /// The factors of participants that each stage uses.
    pub uses: Vec<FactorUse>,
}

/// The timeline while it is read.
struct Timeline<'a> {
    read: Read<'a>,
}

impl<'a> Timeline<'a> {
    fn read(source: Source<'_>, place: &Cursor<'a>, first: Option<First<'a>>) -> Option<Self> {
        let asked = first.as_ref().map(|(place, _)| place.clone());
        let read = timeline::read::read(source, place, first)?;
        if let Some(asked) = asked {
            let is_env = |stage: &Option<Stage>| {
                // One that could not be read may be one.
                (stage.as_ref()).is_none_or(|stage| matches!(stage.kind, StageKind::Env(_)))
            };
            screening::check(&asked, read.stages.iter().skip(1).any(is_env));
        }
        Some(Self { read })
    }

    /// Checks it; faults of the design do not prevent the checks that need no design.
    fn check(
        self,
        place: &Cursor<'a>,
        design: Option<&Design>,
        partners: &Partners,
        sentences: &Sentences,
        root: &Cursor<'a>,
    ) -> ReadTimeline {
        let mut read = self.read;
        timeline::check::check_ids(&read);
        if !timeline::check::check_end(&read) {
            read.tree.push(Node::Stage(read.stages.len() as u16));
            read.stages.push(Some(usual_end(sentences)));
            read.places.push(place.clone());
        }
        let usual = Design::default();
        let known = design.unwrap_or(&usual);
        check_stages(&read.places, &read.stages);
        timeline::check::check_guards(&read);
        timeline::check::check_length(&read, known, place);
        let makers = timeline::groups::list_makers(&read, known);
        timeline::groups::check_ai_partners(&mut read, &makers);
        timeline::groups::check_shared(&mut read, known);
        timeline::same::check_same(&mut read, known, &makers);
        let scopes = design.map(|design| {
            let scopes = timeline::names::check(&mut read, design, root);
            timeline::drawn::check(&mut read, &scopes, partners, &makers);
            timeline::texts::texts(&mut read, design, &scopes, root);
            scopes
        });
        timeline::language_models::check(&read, scopes.as_ref());
        let uses = timeline::uses::list_uses(&read, known);
        let lobbies = makers
            .into_iter()
            .map(|(stage, makers)| (stage, makers.lobbies))
            .collect();
        ReadTimeline {
            paths: read.places.iter().map(|place| place.path.clone()).collect(),
            stages: read.stages,
            tree: read.tree,
            lobbies,
            scopes,
            uses,
        }
    }
}

/// Makes the last page of a study that has none. No stage of a file can have its id.
fn usual_end(sentences: &Sentences) -> Stage {
    Stage {
        id: "_end".to_owned(),
        kind: StageKind::End(EndStage {
            outcome: Outcome::Completed,
            page: sentences.end_page(Outcome::Completed, false),
        }),
    }
}
