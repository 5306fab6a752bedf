//! A grid world that is written as a file of the study folder: its contents are parameters of the environment `grid`.

use std::fs;
use std::path::Path;

use protocol::hash::sha256_hex;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::folder::{self, Source};
use crate::limits::MAX_WORLD;
use crate::problem::{LineColumn, Problem, ProblemReport};
use crate::read::Cursor;
use crate::yaml::{self, Node};

/// The environment that plays such files, and its version.
pub(super) const GRID: [&str; 2] = ["grid", "1.0.0"];

/// A grid world in the study folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorldFile {
    /// The file, relative to the study folder.
    pub file: String,
    /// SHA-256 of its text, lower-case hex.
    pub sha256: String,
    /// Its contents, each with its place.
    #[serde(skip)]
    node: Node,
}

impl WorldFile {
    /// Reads a grid world outside of a study, and its parameters.
    ///
    /// # Errors
    /// Every [`Problem`] of the file.
    pub fn open(path: &Path) -> Result<(Self, Map<String, Value>), Vec<Problem>> {
        let file = path.display().to_string();
        let report = ProblemReport::new(&file);
        let text = fs::read_to_string(path)
            .map_err(|error| vec![report.problem(LineColumn::default(), "", error.to_string())])?;
        let world = parse(file, &text, &report);
        report.result(world)
    }

    /// Returns a problem of the parameter at a path, at its place in the file.
    pub fn make_problem(&self, path: &str, message: &str) -> Problem {
        let report = ProblemReport::new(&self.file);
        report.problem(self.node.locate(path), path, message)
    }
}

/// Reads the file of a grid world, and its parameters.
pub(super) fn read(
    source: Source<'_>,
    place: &Cursor<'_>,
) -> Option<(WorldFile, Map<String, Value>)> {
    let mut fields = place.fields("a grid world")?;
    let doc = "The file of the grid world in the study folder; see \
               [without-code.md](environments/without-code.md).";
    let file = fields
        .key("grid", doc)
        .require_key("my_world.yaml", |place| {
            let file = place.file("YAML file of a grid world")?;
            let text = folder::read_text(source.dir, &place, &file, MAX_WORLD, "my_world.yaml")?;
            Some((file, text))
        });
    fields.done();
    let (file, text) = file?;
    let report = ProblemReport::new(&file);
    let world = parse(file, &text, &report);
    place.report.add_problems(report);
    world
}

/// Reads the text of a grid world.
fn parse(
    file: String,
    text: &str,
    report: &ProblemReport,
) -> Option<(WorldFile, Map<String, Value>)> {
    let node = yaml::parse(text, report)?;
    let whole = Cursor::root(&node, report);
    whole.read_entries("a grid world")?;
    let Value::Object(parameters) = whole.json() else {
        return None;
    };
    let sha256 = sha256_hex(text.as_bytes());
    Some((WorldFile { file, sha256, node }, parameters))
}
