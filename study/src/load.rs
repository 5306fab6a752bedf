//! Reads a study folder.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use serde_json::json;

use crate::canonical::{canonical, sha256};
use crate::design::{self, Design};
use crate::page::{self, Page};
use crate::problem::{At, Problem, Report};
use crate::read::Place;
use crate::stage::{End, Kind, Lobby, Outcome, Stage};
use crate::terms::{self, Net};
use crate::timeline::check::Scope;
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
    /// Its title, in its language.
    pub title: String,
    /// Whom participants can write to.
    pub contact: String,
    /// The language of its texts, such as `en` or `pt-BR`.
    pub language: String,
    /// How pages reach each other.
    pub net: Net,
    /// The stages, in the order of the file; the last one is an end stage. What is stored of a stage is stored by its
    /// index here.
    pub timeline: Vec<Stage>,
    /// How they are walked.
    pub tree: Vec<Node>,
    /// What varies between participants.
    pub design: Design,
    /// All of the above as canonical JSON, defaults and the texts of files written in.
    pub canonical: String,
    /// SHA-256 of `canonical`, lower-case hex.
    pub hash: String,
    /// The lobby before each env stage that has one.
    pub(crate) lobbies: BTreeMap<u16, u16>,
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

    /// The lobby that makes the group of an env stage.
    pub fn lobby_before(&self, stage: u16) -> Option<&Lobby> {
        let lobby = self.lobbies.get(&stage)?;
        match &self.timeline.get(usize::from(*lobby))?.kind {
            Kind::Lobby(lobby) => Some(lobby),
            _ => None,
        }
    }
}

/// The block `study` of the file.
#[derive(Serialize)]
struct About {
    id: String,
    version: String,
    title: String,
    contact: String,
    language: String,
}

/// Reads the study of a folder: `study.yaml` and the files that it names.
///
/// # Errors
/// Every [`Problem`] that was found, in the order of the lines; those of other files follow.
pub fn load(dir: &Path) -> Result<Study, Vec<Problem>> {
    let report = Report::new(FILE);
    let study = file(dir, &report).and_then(|text| read(dir, &text, &report));
    report.result(study)
}

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

fn read(dir: &Path, text: &str, report: &Report) -> Option<Study> {
    let source = yaml::parse(text.trim_start_matches('\u{feff}'), report)?;
    let mut fields = Place::root(&source, report).fields("a study file")?;
    let format = fields.need("format", "1").and_then(|place| format(&place));
    let about = fields.need(
        "study",
        "{id: my-study, version: 1.0.0, title: …, contact: …}",
    );
    let about = about.and_then(|place| about_of(&place));
    let language = about.as_ref().map_or("en", |about| about.language.as_str());
    let net = fields.or("net", Net::default(), |place| terms::net(&place));
    let design = fields.or("design", Design::default(), |place| design::read(&place));
    let walked = fields
        .need("timeline", "a list of stages")
        .and_then(|place| timeline(dir, language, &place, design.as_ref(), &fields.whole));
    fields.done();
    let (about, net, design, walked, _) = (about?, net?, design?, walked?, format?);
    let Walked {
        timeline,
        tree,
        lobbies,
        scopes,
        paths,
    } = walked;
    let mut whole =
        json!({ "format": 1, "study": about, "net": net, "timeline": timeline, "tree": tree });
    if source.get("design").is_some() {
        whole["design"] = json!(design);
    }
    let canonical = canonical(&whole);
    let hash = sha256(&canonical);
    let About {
        id,
        version,
        title,
        contact,
        language,
    } = about;
    Some(Study {
        id,
        version,
        title,
        contact,
        language,
        net,
        timeline,
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

fn format(place: &Place<'_>) -> Option<()> {
    if matches!(&place.node.data, Data::Plain(text) if text == "1") {
        return Some(());
    }
    place.wrong(format!(
        "expected 1, the only format that this version reads, found {}",
        place.node.what()
    ));
    None
}

fn about_of(place: &Place<'_>) -> Option<About> {
    let mut fields = place.fields("what the study is")?;
    let id = fields.need("id", "my-study").and_then(|place| place.id());
    let version = fields
        .need("version", "1.0.0")
        .and_then(|place| place.text(40));
    let language = fields.or("language", "en".to_owned(), |place| language(&place));
    let chosen = language.as_deref().unwrap_or("en");
    let title = fields
        .need("title", "Cooking together")
        .and_then(|place| title(&place, chosen));
    let contact = fields
        .need("contact", "lab@example.edu")
        .and_then(|place| place.text(200));
    fields.done();
    Some(About {
        id: id?,
        version: version?,
        title: title?,
        contact: contact?,
        language: language?,
    })
}

/// A language tag: `en`, `de`, `pt-BR`.
///
/// Source: BCP 47; only the shape is checked.
fn language(place: &Place<'_>) -> Option<String> {
    let text = place.text(35)?;
    let mut parts = text.split('-');
    let main = parts
        .next()
        .is_some_and(|p| matches!(p.len(), 2 | 3) && p.chars().all(|c| c.is_ascii_lowercase()));
    let good = main
        && parts.all(|p| matches!(p.len(), 2..=8) && p.chars().all(|c| c.is_ascii_alphanumeric()));
    if !good {
        place.wrong(format!(
            "`{text}` is not a language tag; write one like en, de or pt-BR"
        ));
    }
    good.then_some(text)
}

/// Text, or text by language, of which the study's language is taken.
fn title(place: &Place<'_>, language: &str) -> Option<String> {
    if !matches!(place.node.data, Data::Map(_)) {
        return place.text(200);
    }
    let mut chosen = None;
    for (tag, place) in place.entries("text by language")? {
        let text = place.text(200);
        if tag == language {
            chosen = Some(text);
        }
    }
    chosen.unwrap_or_else(|| {
        place.wrong(format!(
            "no text for `{language}`, the language of the study; add a line `{language}: …`"
        ));
        None
    })
}

/// The timeline as it was read and checked.
struct Walked {
    timeline: Vec<Stage>,
    tree: Vec<Node>,
    lobbies: BTreeMap<u16, u16>,
    scopes: BTreeMap<u16, Scope>,
    paths: Vec<String>,
}

/// Reads and checks the timeline; a design that has faults of its own takes nothing from the checks that need none.
fn timeline<'a>(
    dir: &Path,
    language: &str,
    place: &Place<'a>,
    design: Option<&Design>,
    root: &Place<'a>,
) -> Option<Walked> {
    let mut read = timeline::read::read(dir, language, place)?;
    timeline::check::ids(&read);
    if !timeline::check::ends(&read) {
        read.tree.push(Node::Stage(read.stages.len() as u16));
        read.stages.push(Some(usual_end()));
        read.places.push(place.clone());
    }
    let usual = Design::default();
    let known = design.unwrap_or(&usual);
    timeline::check::length(&read, known, place);
    let lobbies = timeline::check::groups(&read, known);
    timeline::check::bots(&mut read, &lobbies);
    timeline::check::shared(&mut read, known);
    let scopes = timeline::check::names(&mut read, design?, root);
    Some(Walked {
        timeline: read.stages.into_iter().collect::<Option<_>>()?,
        tree: read.tree,
        lobbies,
        scopes,
        paths: read.places.iter().map(|place| place.path.clone()).collect(),
    })
}

/// The last page of a study that has none of its own. No stage of a file can have its id.
fn usual_end() -> Stage {
    let markdown = "# Thank you\n\nThat was all. You can close this page now.\n";
    let page = Page {
        file: String::new(),
        markdown: markdown.to_owned(),
        html: page::html(markdown),
    };
    Stage {
        id: "_end".to_owned(),
        kind: Kind::End(End {
            outcome: Outcome::Completed,
            page,
        }),
    }
}
