//! Reads a study folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::json;

use crate::about::{self, About, Keeping};
use crate::canonical::{canonical, sha256};
use crate::check::Hosted;
use crate::design::{self, Design};
use crate::formula::{Formula, Type, Types};
use crate::media::Media;
use crate::page::{Page, Source};
use crate::problem::{At, Problem, Report};
use crate::read::Place;
use crate::recruitment::{self, Recruitment};
use crate::screening::{self, Screening};
use crate::stage::Network;
use crate::stage::{self, End, Kind, Lobby, Outcome, Stage};
use crate::terms::{self, Net};
use crate::text::{Languages, Text};
use crate::timeline::names::Scope;
use crate::timeline::read::First;
use crate::timeline::{self, Node};
use crate::yaml::{self, Data};

/// Name of the study file in its folder.
pub const FILE: &str = "study.yaml";

/// The longest study file, bytes.
const MAX_FILE: usize = 1024 * 1024;

/// A study that was read and checked.
#[derive(Clone, Debug)]
pub struct Study {
    /// Its id.
    pub id: String,
    /// Its version, as the researcher counts.
    pub version: String,
    /// Its title, in its languages.
    pub title: Text,
    /// Whom participants can write to.
    pub contact: String,
    /// The language of its texts, such as `en` or `pt-BR`.
    pub language: String,
    /// The languages that participants can choose from, its own among them; none if there is but that one.
    pub languages: Vec<String>,
    /// The number that the ethics board gave it.
    pub protocol: Option<String>,
    /// How long data are kept, and a session waits.
    pub keeping: Keeping,
    /// Whence participants come, and what they are paid.
    pub recruitment: Recruitment,
    /// What they are paid beside the base, by what was played and answered.
    pub bonus: Option<Formula>,
    /// How pages reach each other.
    pub net: Net,
    /// The stages, in the order of the file, after the screening if there is one; the last one is an end stage. What is
    /// stored of a stage is stored by its index here.
    pub timeline: Vec<Stage>,
    /// What the models of its AI partners became, once the host has made it ([`Study::call`]).
    pub networks: Vec<Network>,
    /// How they are walked.
    pub tree: Vec<Node>,
    /// What varies between participants.
    pub design: Design,
    /// All of the above as canonical JSON, defaults and the texts of files written in.
    pub canonical: String,
    /// SHA-256 of `canonical`, lower-case hex.
    pub hash: String,
    /// The lobbies that make the group of each stage that people play together.
    pub(crate) lobbies: BTreeMap<u16, BTreeSet<u16>>,
    /// What names can stand for at each stage.
    pub(crate) scopes: BTreeMap<u16, Scope>,
    /// Where each stage stands in the file, such as `timeline[2].block[0]`.
    pub(crate) paths: Vec<String>,
    /// The file as read, to say where a field stands.
    pub(crate) source: yaml::Node,
}

impl Study {
    /// The last stage, which is an end stage.
    pub(crate) fn last(&self) -> &Stage {
        self.timeline
            .last()
            .expect("a timeline that was checked has an end stage")
    }

    /// Who can take part; none for everybody.
    pub fn screening(&self) -> Option<&Screening> {
        match &self.timeline.first()?.kind {
            Kind::Screening(screening) => Some(screening),
            _ => None,
        }
    }

    /// The pictures and videos that pages and forms show.
    pub fn media(&self) -> impl Iterator<Item = &Media> {
        let forms = self.timeline.iter().filter_map(|stage| match &stage.kind {
            Kind::Survey(survey) => Some(survey.pictures()),
            _ => None,
        });
        let pages = pages(&self.timeline, Some(&self.recruitment));
        pages.flat_map(Page::media).chain(forms.flatten())
    }

    /// Whether something of a participant may be recorded at a stage: not if a consent comes after it.
    pub fn may_record(&self, stage: u16) -> bool {
        let after = self.timeline.iter().skip(usize::from(stage) + 1);
        !after
            .into_iter()
            .any(|stage| matches!(stage.kind, Kind::Consent(_)))
    }

    /// The lobby at an index.
    pub fn lobby(&self, stage: u16) -> Option<&Lobby> {
        match &self.timeline.get(usize::from(stage))?.kind {
            Kind::Lobby(lobby) => Some(lobby),
            _ => None,
        }
    }

    /// Whether people play a stage together, as the group that a lobby made.
    pub fn is_together(&self, stage: u16) -> bool {
        let stage = self.timeline.get(usize::from(stage));
        stage.is_some_and(|stage| stage.kind.is_together())
    }
}

/// Every page that participants may read.
fn pages<'a>(
    timeline: &'a [Stage],
    recruitment: Option<&'a Recruitment>,
) -> impl Iterator<Item = &'a Page> {
    let stages = timeline.iter().flat_map(|stage| stage.kind.pages());
    let ends = recruitment.into_iter().flat_map(|it| it.outcomes.values());
    stages.chain(ends.filter_map(|end| end.page.as_ref()))
}

/// The languages in which the title and every page are there; none if that is but the study's own.
fn common_languages(
    about: &About,
    timeline: &[Stage],
    recruitment: Option<&Recruitment>,
) -> Vec<String> {
    let is_common = |language: &&String| {
        **language == about.language
            || pages(timeline, recruitment).all(|page| page.speaks(language))
    };
    let common: Vec<String> = about.title.languages().filter(is_common).cloned().collect();
    if common.len() > 1 { common } else { Vec::new() }
}

/// Reads the study of a folder: `study.yaml` and the files that it names.
///
/// # Errors
/// Every [`Problem`] that was found, in the order of the lines; those of other files follow.
pub fn load(dir: &Path) -> Result<Study, Vec<Problem>> {
    load_on(dir, |_| Ok(())).map(|(study, ())| study)
}

/// Reads the study of a folder, and lets a host judge what of it depends on the host; of a study with faults, what could
/// be read of it.
///
/// # Errors
/// Every [`Problem`] that was found here and by the host, in the order of the lines; those of other files follow.
pub fn load_on<T>(
    dir: &Path,
    mut host: impl FnMut(&Hosted<'_>) -> Result<T, Vec<Problem>>,
) -> Result<(Study, T), Vec<Problem>> {
    let report = Report::new(FILE);
    let mut judged = None;
    let mut judge = |hosted: &Hosted<'_>| match host(hosted) {
        Ok(found) => judged = Some(found),
        Err(problems) => problems
            .into_iter()
            .for_each(|problem| report.note(problem)),
    };
    let text = file(dir, &report);
    let study = text.and_then(|text| read(dir, &text, &report, &mut judge));
    report.result(study.zip(judged))
}

/// Who judges what of a study depends on its host.
pub(crate) type Judge<'a> = &'a mut dyn FnMut(&Hosted<'_>);

fn file(dir: &Path, report: &Report) -> Option<String> {
    let message = match std::fs::read(dir.join(FILE)).map(String::from_utf8) {
        Ok(Ok(text)) if text.len() <= MAX_FILE => return Some(text),
        Ok(Ok(text)) => format!("{} bytes; the limit is {MAX_FILE}", text.len()),
        Ok(Err(_)) => "not UTF-8 text; save it as UTF-8".to_owned(),
        Err(error) => format!(
            "cannot be read in {} ({error}); name a folder that holds a {FILE}, such as examples/overcooked-dyad",
            dir.display()
        ),
    };
    report.add(At::default(), "", message);
    None
}

/// What the keys at the top of the file say.
pub(crate) struct Parts {
    about: About,
    recruitment: Option<Recruitment>,
    bonus: Option<Formula>,
    net: Net,
    design: Design,
    walked: Walked,
}

/// Reads the keys at the top of the file.
pub(crate) fn parts(dir: &Path, root: &Place<'_>, judge: Judge<'_>) -> Option<Parts> {
    let mut fields = root.fields("a study file")?;
    let format = fields.key("format", "The format of the file.");
    let format = format.need("1", |place| format_of(&place));
    let about = fields.key(
        "study",
        "Name, contact, languages and data rules of the study.",
    );
    let example = "{id: my-study, version: 1.0.0, title: …, contact: …}";
    let about = about.need(example, |place| about::read(&place));
    let languages = about.as_ref().map_or(Languages::ENGLISH, About::languages);
    let source = Source { dir, languages };
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
    let net = net.or(Net::default(), |place| terms::net(&place));
    let design = fields.key(
        "design",
        "The experimental design: what varies between participants or groups.",
    );
    let design = design
        .maybe(|place| design::read(&place))
        .map(Option::unwrap_or_default);
    let walked = fields.key(
        "timeline",
        "The stages and blocks that participants go through, in order.",
    );
    let mut facts = Types::new();
    let walked = walked.need("a list of stages", |place| {
        let first = screening.flatten();
        timeline(
            source,
            &place,
            first,
            design.as_ref(),
            root,
            (&mut facts, judge),
        )
    });
    let doc = "The bonus: a formula over episodes and answers.";
    let bonus = fields.key("bonus", doc);
    let has_bonus = bonus.place.is_some();
    let bonus = bonus.maybe(|place| Formula::read(&place, &facts, &Type::Number));
    let recruitment =
        recruitment.maybe(|place| recruitment::read(source, &place, &facts, has_bonus));
    fields.done();
    if let (Some(Some(_)), Some(recruitment)) = (&bonus, &recruitment) {
        let wage = recruitment.as_ref().map(|recruitment| &recruitment.wage);
        if wage.is_none_or(|wage| wage.currency.is_none()) {
            root.wrong_at("bonus", "pays something, but in which currency is not said; write for example `recruitment: {currency: GBP, base: 4.50}`");
            return None;
        }
    }
    format?;
    Some(Parts {
        about: about?,
        recruitment: recruitment?,
        bonus: bonus?,
        net: net?,
        design: design?,
        walked: walked?,
    })
}

fn read(dir: &Path, text: &str, report: &Report, judge: Judge<'_>) -> Option<Study> {
    let source = yaml::parse(text.trim_start_matches('\u{feff}'), report)?;
    let Parts {
        mut about,
        recruitment,
        bonus,
        net,
        design,
        walked,
    } = parts(dir, &Place::root(&source, report), judge)?;
    let Walked {
        timeline,
        tree,
        lobbies,
        scopes,
        paths,
    } = walked;
    if about.languages.is_empty() {
        about.languages = common_languages(&about, &timeline, recruitment.as_ref());
    }
    about.title = about.title.within(&about.languages);
    let mut whole =
        json!({ "format": 1, "study": about, "net": net, "timeline": timeline, "tree": tree });
    if source.get("design").is_some() {
        whole["design"] = json!(design);
    }
    if let Some(recruitment) = &recruitment {
        whole["recruitment"] = json!(recruitment);
    }
    if let Some(bonus) = &bonus {
        whole["bonus"] = json!(bonus);
    }
    let canonical = canonical(&whole);
    let hash = sha256(&canonical);
    let About {
        id,
        version,
        title,
        contact,
        language,
        languages,
        protocol,
        keeping,
    } = about;
    Some(Study {
        id,
        version,
        title,
        contact,
        language,
        languages,
        protocol,
        keeping,
        recruitment: recruitment.unwrap_or_default(),
        bonus,
        net,
        timeline,
        networks: Vec::new(),
        tree,
        design,
        canonical,
        hash,
        lobbies,
        scopes,
        paths,
        source,
    })
}

fn format_of(place: &Place<'_>) -> Option<()> {
    if place.may(false) {
        return place.whole(1..=1, "").map(|_: u8| ());
    }
    if matches!(&place.node.data, Data::Plain(text) if text == "1") {
        return Some(());
    }
    place.wrong(format!(
        "expected 1, the only format that this version reads, found {}",
        place.node.what()
    ));
    None
}

/// The stage in which it is found out who can take part.
fn first_stage<'a>(place: Place<'a>, languages: Languages<'_>) -> First<'a> {
    let kind = screening::read(&place, languages).map(Kind::Screening);
    let id = screening::ID.to_owned();
    (place, kind.map(|kind| Stage { id, kind }))
}

/// The timeline as it was read and checked.
struct Walked {
    timeline: Vec<Stage>,
    tree: Vec<Node>,
    lobbies: BTreeMap<u16, BTreeSet<u16>>,
    scopes: BTreeMap<u16, Scope>,
    paths: Vec<String>,
}

/// Reads and checks the timeline, and tells what formulas about a whole visit can ask; a design that has faults of its
/// own takes nothing from the checks that need none.
fn timeline<'a>(
    source: Source<'_>,
    place: &Place<'a>,
    first: Option<First<'a>>,
    design: Option<&Design>,
    root: &Place<'a>,
    (facts, judge): (&mut Types, Judge<'_>),
) -> Option<Walked> {
    let asked = first.as_ref().map(|(place, _)| place.clone());
    let mut read = timeline::read::read(source, place, first)?;
    if let Some(asked) = asked {
        let is_env = |stage: &Option<Stage>| {
            // One that could not be read may be one.
            (stage.as_ref()).is_none_or(|stage| matches!(stage.kind, Kind::Env(_)))
        };
        screening::check(&asked, read.stages.iter().skip(1).any(is_env));
    }
    *facts = timeline::names::visit(&read, design);
    timeline::check::ids(&read);
    if !timeline::check::ends(&read) {
        read.tree.push(Node::Stage(read.stages.len() as u16));
        read.stages.push(Some(usual_end()));
        read.places.push(place.clone());
    }
    let usual = Design::default();
    let known = design.unwrap_or(&usual);
    stage::check(&read.places, &read.stages);
    timeline::check::guards(&read);
    timeline::check::length(&read, known, place);
    let makers = timeline::groups::groups(&read, known);
    timeline::groups::bots(&mut read, &makers);
    timeline::groups::shared(&mut read, known);
    let lobbies = makers
        .into_iter()
        .map(|(stage, makers)| (stage, makers.lobbies))
        .collect();
    let scopes = design.map(|design| timeline::names::check(&mut read, design, root));
    let paths: Vec<String> = read.places.iter().map(|place| place.path.clone()).collect();
    judge(&Hosted {
        timeline: read.stages.iter().map(Option::as_ref).collect(),
        paths: &paths,
        scopes: scopes.as_ref().unwrap_or(&BTreeMap::new()),
        lobbies: &lobbies,
        source: root.node,
    });
    Some(Walked {
        timeline: read.stages.into_iter().collect::<Option<_>>()?,
        tree: read.tree,
        lobbies,
        scopes: scopes?,
        paths,
    })
}

/// The last page of a study that has none of its own. No stage of a file can have its id.
fn usual_end() -> Stage {
    let page = Page::of(
        "# Thank you\n\nThat was all. You can close this page now.\n",
        &[(
            "de",
            "# Vielen Dank\n\nDas war alles. Sie können diese Seite jetzt schließen.\n",
        )],
    );
    Stage {
        id: "_end".to_owned(),
        kind: Kind::End(End {
            outcome: Outcome::Completed,
            page,
        }),
    }
}
