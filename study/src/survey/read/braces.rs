//! Braces in the texts of a form: what stands in double ones is a formula; what stands in single ones nobody fills in.

use crate::inset::{Braces, next_braces};
use crate::read::Cursor;
use crate::survey::TEXTS;
use crate::yaml::{self, Data, Node};

/// The formulas in double braces in the texts of a form. Names in single braces, which SurveyJS fills in, are reported.
pub(super) fn find_braces(form: &Cursor<'_>) -> Vec<Braces> {
    let mut found = Vec::new();
    find(form, form.node, &form.path, &mut found);
    found
}

fn find(form: &Cursor<'_>, node: &Node, path: &str, found: &mut Vec<Braces>) {
    match &node.data {
        Data::List(items) => {
            for (number, item) in items.iter().enumerate() {
                find(form, item, &format!("{path}[{number}]"), found);
            }
        }
        Data::Map(entries) => {
            for (key, value) in entries.iter().filter(|(key, _)| key.name != "defaultValue") {
                let path = yaml::join(path, &key.name);
                match TEXTS.contains(&key.name.as_str()) {
                    true => in_text(form, value, &path, found),
                    false => find(form, value, &path, found),
                }
            }
        }
        Data::Plain(_) | Data::Quoted(_) => {}
    }
}

/// Looks at a text, or at one text for each language.
fn in_text(form: &Cursor<'_>, node: &Node, path: &str, found: &mut Vec<Braces>) {
    let text = match &node.data {
        Data::Plain(text) | Data::Quoted(text) => text,
        Data::Map(entries) => {
            for (key, value) in entries {
                in_text(form, value, &yaml::join(path, &key.name), found);
            }
            return;
        }
        Data::List(_) => return,
    };
    let mut rest = text.as_str();
    while let Some((open, source, end)) = next_braces(rest) {
        single(form, node, path, &rest[..open]);
        let place = form.report.problem(node.at, path, "");
        let source = source.to_owned();
        found.push(Braces { source, place });
        rest = &rest[end..];
    }
    single(form, node, path, rest);
}

/// Reports a name in single braces.
fn single(form: &Cursor<'_>, node: &Node, path: &str, text: &str) {
    let mut parts = text.split('{').skip(1);
    let name = parts.find_map(|part| {
        let (name, _) = part.split_once('}')?;
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
        let begins = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        (begins && name.chars().all(is_word)).then_some(name)
    });
    if let Some(name) = name {
        let message = format!(
            "`{{{name}}}` is shown as it stands; write `{{{{ answers.STAGE.{name} }}}}` for the answer to an earlier form, \
             or leave the braces out"
        );
        form.report.add(node.at, path, message);
    }
}
