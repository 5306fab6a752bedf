//! A YAML document as a tree in which every key and value knows its line and column.
//!
//! The subset is the part of YAML on which all programs agree: one document, no anchors, no tags,
//! no key twice, and no bare `yes`, `no`, `on` or `off` where a value has no declared type.

use granit_parser::{Event, Parser, ScalarStyle, Span};
use serde_json::{Map, Number, Value};

use crate::problem::{LineColumn, ProblemReport};

mod mend;

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub at: LineColumn,
    pub data: Data,
}

/// The content of a value. A plain scalar gets its type from the field that reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Data {
    /// A scalar without quotes.
    Plain(String),
    /// A scalar in quotes or a block of text: always text.
    Quoted(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// A key and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub at: LineColumn,
    pub name: String,
}

impl Node {
    /// The kind of value, for messages.
    pub(crate) fn what(&self) -> String {
        match &self.data {
            Data::Plain(text) if is_null(text) => "nothing".into(),
            Data::Plain(text) | Data::Quoted(text) => format!("`{}`", shortened(text)),
            Data::List(_) => "a list".into(),
            Data::Map(_) => "a block of keys".into(),
        }
    }

    /// Returns whether a word is anywhere in it; keys do not count.
    pub(crate) fn mentions(&self, word: &str) -> bool {
        match &self.data {
            Data::Plain(text) | Data::Quoted(text) => {
                let is_word = |c: char| c.is_alphanumeric() || c == '_';
                text.split(|c| !is_word(c)).any(|found| found == word)
            }
            Data::List(items) => items.iter().any(|node| node.mentions(word)),
            Data::Map(entries) => entries.iter().any(|(_, node)| node.mentions(word)),
        }
    }

    /// The value of a key, if this is a block that has it.
    pub(crate) fn get(&self, name: &str) -> Option<&Node> {
        let Data::Map(entries) = &self.data else {
            return None;
        };
        let entry = entries.iter().find(|(key, _)| key.name == name);
        entry.map(|(_, node)| node)
    }

    /// Returns whether it is this text.
    pub(crate) fn is_text(&self, wanted: &str) -> bool {
        matches!(&self.data, Data::Plain(text) | Data::Quoted(text) if text == wanted)
    }

    /// Returns whether it is a block with this name.
    fn is_called(&self, name: &str) -> bool {
        self.get("name").is_some_and(|own| own.is_text(name))
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(&self.data, Data::Plain(text) if is_null(text))
    }

    /// The value as JSON, for parts that belong to others: environment parameters and forms.
    pub(crate) fn json(&self, path: &str, report: &ProblemReport) -> Value {
        match &self.data {
            Data::Quoted(text) => Value::String(text.clone()),
            Data::Plain(text) => plain_json(text).unwrap_or_else(|why| {
                report.add(self.at, path, why);
                Value::String(text.clone())
            }),
            Data::List(items) => {
                let item = |(i, node): (usize, &Node)| node.json(&format!("{path}[{i}]"), report);
                Value::Array(items.iter().enumerate().map(item).collect())
            }
            Data::Map(entries) => Value::Object(
                entries
                    .iter()
                    .map(|(key, node)| {
                        (key.name.clone(), node.json(&join(path, &key.name), report))
                    })
                    .collect::<Map<_, _>>(),
            ),
        }
    }

    /// Returns whether there is a value at a path of keys and indices.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.at(path).is_some()
    }

    /// The value at a path of keys and indices; an item of a list can be called by its `name`, too.
    pub(crate) fn at(&self, path: &str) -> Option<&Node> {
        self.walk(path).1
    }

    /// Returns the place of a path such as `timeline[2].config.layout`, or of the nearest thing above it that exists.
    pub(crate) fn locate(&self, path: &str) -> LineColumn {
        self.walk(path).0
    }

    /// Returns how far a path leads, and the node if it leads to its end.
    fn walk(&self, path: &str) -> (LineColumn, Option<&Node>) {
        let mut node = self;
        let mut at = self.at;
        for step in path.split(['.', '[']).filter(|step| !step.is_empty()) {
            let next = match &node.data {
                Data::List(items) => match step.trim_end_matches(']').parse::<usize>() {
                    Ok(index) => items.get(index),
                    Err(_) => items.iter().find(|item| item.is_called(step)),
                }
                .map(|item| (item.at, item)),
                Data::Map(entries) => entries
                    .iter()
                    .find(|(key, _)| key.name == step)
                    .map(|(key, node)| (key.at, node)),
                _ => None,
            };
            match next {
                Some((place, inner)) => (at, node) = (place, inner),
                None => return (at, None),
            }
        }
        (at, Some(node))
    }
}

/// The path of a key below a path.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A plain scalar as JSON, by the core schema of YAML 1.2 where all programs agree on it.
fn plain_json(text: &str) -> Result<Value, String> {
    if is_null(text) {
        return Ok(Value::Null);
    }
    if let Some(flag) = read_flag(text) {
        return Ok(Value::Bool(flag));
    }
    if is_switch_word(text) {
        return Err(format!(
            "`{text}` without quotes is a word for some programs and true or false for others; \
             write \"{text}\" in quotes, or true or false"
        ));
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let leading_zero = digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.");
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') || leading_zero {
        return Ok(Value::String(text.to_owned()));
    }
    if let Ok(whole) = text.parse::<i64>() {
        return Ok(Value::Number(whole.into()));
    }
    match text.parse::<f64>().ok().and_then(Number::from_f64) {
        Some(number) => Ok(Value::Number(number)),
        None => Ok(Value::String(text.to_owned())),
    }
}

/// `true` or `false`, as YAML 1.2 spells them.
pub(crate) fn read_flag(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// The words that YAML 1.1 took for true and false.
pub(crate) fn is_switch_word(text: &str) -> bool {
    matches!(
        text.to_ascii_lowercase().as_str(),
        "yes" | "no" | "on" | "off" | "y" | "n"
    )
}

/// Parses a file. Returns the tree if the text is well-formed. Duplicate keys, tags and anchors are reported and
/// skipped, so that the rest is checked too. If a key of a text is not a key, only that is reported.
pub(crate) fn parse(text: &str, report: &ProblemReport) -> Option<Node> {
    report.keep_text(text);
    let mut build = Build {
        report,
        open: Vec::new(),
        root: None,
        documents: 0,
        is_readable: true,
    };
    for item in Parser::new_from_str(text) {
        match item {
            Ok((event, span)) => build.event(event, span),
            Err(error) => {
                let noticed = at(error.marker());
                let (at, why) = mend::find_cause(text, noticed).unwrap_or_else(|| {
                    let mend = "check the indentation, quotes and brackets of this line and the one before";
                    (noticed, format!("{}; {mend}", error.info()))
                });
                report.add(at, "", format!("this is not well-formed: {why}"));
                return None;
            }
        }
    }
    if build.root.is_none() {
        report.add(LineColumn { line: 1, column: 1 }, "", "the file is empty");
    }
    build.root.filter(|_| build.is_readable)
}

fn at(marker: &granit_parser::Marker) -> LineColumn {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    LineColumn {
        line: number(marker.line()),
        column: number(marker.col()).saturating_add(1),
    }
}

/// A list or map that is not closed yet.
enum Open {
    List(LineColumn, Vec<Node>),
    /// The key that waits for its value comes last.
    Map(LineColumn, Vec<(Key, Node)>, Option<Key>),
}

struct Build<'a> {
    report: &'a ProblemReport,
    open: Vec<Open>,
    root: Option<Node>,
    documents: u32,
    /// True if every key is one.
    is_readable: bool,
}

impl Build<'_> {
    fn event(&mut self, event: Event<'_>, span: Span) {
        let place = at(&span.start);
        match event {
            Event::DocumentStart(..) => self.document(place),
            Event::Scalar(text, style, anchor, tag) => {
                self.properties(place, anchor, tag.is_some());
                let text = text.into_owned();
                let data = if style == ScalarStyle::Plain {
                    Data::Plain(text)
                } else {
                    Data::Quoted(text)
                };
                self.value(Node { at: place, data });
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.properties(place, anchor, tag.is_some());
                self.open.push(Open::List(place, Vec::new()));
            }
            Event::MappingStart(_, anchor, tag) => {
                self.properties(place, anchor, tag.is_some());
                self.open.push(Open::Map(place, Vec::new(), None));
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(_) => {
                self.report.add(
                    place,
                    "",
                    "aliases (`*name`) are not read; write the value out",
                );
                self.value(Node {
                    at: place,
                    data: Data::Plain(String::new()),
                });
            }
            _ => {}
        }
    }

    fn document(&mut self, place: LineColumn) {
        self.documents += 1;
        if self.documents == 2 {
            self.report.add(
                place,
                "",
                "a second document starts here; a file holds one, so remove the `---`",
            );
        }
    }

    fn properties(&self, place: LineColumn, anchor: usize, tagged: bool) {
        if anchor != 0 {
            self.report
                .add(place, "", "anchors (`&name`) are not read; remove it");
        }
        if tagged {
            self.report
                .add(place, "", "tags (`!name`) are not read; remove it");
        }
    }

    fn close(&mut self) {
        let node = match self.open.pop() {
            Some(Open::List(at, items)) => Node {
                at,
                data: Data::List(items),
            },
            Some(Open::Map(at, entries, _)) => Node {
                at,
                data: Data::Map(entries),
            },
            None => return,
        };
        self.value(node);
    }

    /// The path of the block that is open now.
    fn path(&self) -> String {
        let mut path = String::new();
        for open in self.open.iter().take(self.open.len().saturating_sub(1)) {
            path = match open {
                Open::List(_, items) => format!("{path}[{}]", items.len()),
                Open::Map(_, _, Some(key)) => join(&path, &key.name),
                Open::Map(_, _, None) => path,
            };
        }
        path
    }

    fn value(&mut self, node: Node) {
        let path = self.path();
        match self.open.last_mut() {
            Some(Open::List(_, items)) => items.push(node),
            Some(Open::Map(_, entries, waiting)) => match waiting.take() {
                None => *waiting = Some(key(node, self.report, &mut self.is_readable)),
                Some(key) => match entries.iter().find(|(earlier, _)| earlier.name == key.name) {
                    Some((earlier, _)) => self.report.add(
                        key.at,
                        &join(&path, &key.name),
                        format!(
                            "this key is already on line {}; keep one of the two",
                            earlier.at.line
                        ),
                    ),
                    None => entries.push((key, node)),
                },
            },
            None if self.root.is_none() => self.root = Some(node),
            None => {}
        }
    }
}

/// Reads a key; if it is not a key, consequences of that are not reported.
fn key(node: Node, report: &ProblemReport, is_readable: &mut bool) -> Key {
    let name = match node.data {
        Data::Plain(text) | Data::Quoted(text) => text,
        Data::List(_) | Data::Map(_) => {
            report.add(
                node.at,
                "",
                "a key must be a word, not a list or a block of keys; a name in braces stands in quotes: `\"{{ name }}\"`",
            );
            *is_readable = false;
            String::new()
        }
    };
    Key { at: node.at, name }
}
