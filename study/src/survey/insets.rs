//! Values in the texts of a form: formulas in double braces, filled in when a participant reaches the form.

use std::collections::BTreeMap;

use serde_json::Value;

use super::TEXTS;
use crate::formula::Types;
use crate::inset::{Braces, Inset, InsetScope, replace_braces};
use crate::page::escape_text;
use crate::problem::ProblemReport;

/// The values that are set into the texts of a form.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FormInsets {
    /// The text in the braces, until it is known what there is to name.
    unread: Vec<Braces>,
    /// The values, by the content of the braces.
    read: BTreeMap<String, Inset>,
}

impl FormInsets {
    /// Adds the braces of more texts.
    pub(crate) fn extend(&mut self, braces: Vec<Braces>) {
        self.unread.extend(braces);
    }

    /// Reads the content of the braces; reports its faults.
    pub(crate) fn read(&mut self, types: &Types, report: &ProblemReport) {
        for braces in &self.unread {
            if let Some(inset) = Inset::read(braces, types, report) {
                self.read.insert(braces.source.clone(), inset);
            }
        }
    }

    /// Sets the values of a participant into the texts of a document in their language.
    pub(crate) fn fill_in(&self, document: &mut Value, scope: &InsetScope<'_>) {
        if !self.read.is_empty() {
            self.fill_value(document, scope);
        }
    }

    fn fill_value(&self, value: &mut Value, scope: &InsetScope<'_>) {
        match value {
            Value::Array(items) => items
                .iter_mut()
                .for_each(|item| self.fill_value(item, scope)),
            Value::Object(map) => {
                for (key, value) in map.iter_mut().filter(|(key, _)| *key != "defaultValue") {
                    match value {
                        Value::String(text) if TEXTS.contains(&key.as_str()) => {
                            *text = self.fill_text(text, key == "html", scope);
                        }
                        value => self.fill_value(value, scope),
                    }
                }
            }
            _ => {}
        }
    }

    fn fill_text(&self, text: &str, is_html: bool, scope: &InsetScope<'_>) -> String {
        replace_braces(text, |source| {
            let written = match is_html {
                true => unescape(source),
                false => source.to_owned(),
            };
            let Some(inset) = self.read.get(&written) else {
                return format!("{{{{{source}}}}}");
            };
            let value = inset.write(scope);
            match is_html {
                true => escape_text(&value),
                false => value,
            }
        })
    }
}

/// A text that HTML shows.
fn unescape(html: &str) -> String {
    html.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&amp;", "&")
}
