//! Reads a study folder.

use std::path::Path;

use serde::Serialize;
use serde_json::json;

use crate::canonical::{canonical, sha256};
use crate::check;
use crate::problem::{At, Problem, Report};
use crate::read::Place;
use crate::stage::{self, Stage};
use crate::terms::{self, Net};
use crate::yaml::{self, Data, Node};

/// Name of the study file in its folder.
pub const FILE: &str = "study.yaml";

/// The longest study file, bytes.
const MAX_FILE: usize = 1024 * 1024;

/// The most stages of a timeline.
const MAX_STAGES: usize = 200;

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
    /// The stages, in order; the last one is an end stage.
    pub timeline: Vec<Stage>,
    /// All of the above as canonical JSON, defaults and the texts of files written in.
    pub canonical: String,
    /// SHA-256 of `canonical`, lower-case hex.
    pub hash: String,
    /// The file as read, to say where a field stands.
    pub(crate) source: Node,
}

impl Study {
    /// The last stage, which is an end stage.
    pub(crate) fn last(&self) -> &Stage {
        self.timeline
            .last()
            .expect("a timeline that was checked has an end stage")
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
    let stages = fields
        .need("timeline", "a list of stages")
        .and_then(|place| timeline(dir, language, &place));
    fields.done();
    let (about, net, timeline, _) = (about?, net?, stages?, format?);
    let whole = json!({ "format": 1, "study": about, "net": net, "timeline": timeline });
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
        canonical,
        hash,
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

fn timeline(dir: &Path, language: &str, place: &Place<'_>) -> Option<Vec<Stage>> {
    let places = place.list("stages", MAX_STAGES)?;
    let read: Vec<_> = places
        .iter()
        .map(|place| stage::read(dir, language, place))
        .collect();
    check::ids(&places, &read);
    let mut stages: Vec<Option<Stage>> = read.into_iter().map(|(_, stage)| stage).collect();
    check::order(&places, &stages);
    check::bots(&places, &mut stages);
    stages.into_iter().collect()
}
