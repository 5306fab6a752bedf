//! Braces in the texts of a form: double braces contain a formula, whose value is known when the form begins; single
//! braces contain an answer to the same form, which pages fill in.

use std::collections::BTreeSet;

use ::survey::{AnswerWords, Form, Values, names_in_braces};

use crate::inset::{Braces, OPEN, next_braces};
use crate::problem::make_hint;
use crate::read::Cursor;
use crate::survey::TEXTS;
use crate::yaml::{self, Data, Key, Node};

/// The keys whose values are messages, which pages show as they are.
const NOT_FILLED: [&str; 4] = [
    "requiredErrorText",
    "minErrorText",
    "maxErrorText",
    "otherErrorText",
];

/// A walk through a form, in the order in which it is asked.
struct Walk<'a> {
    place: &'a Cursor<'a>,
    form: &'a Form,
    /// The names of the elements that come before.
    before: BTreeSet<String>,
    found: Vec<Braces>,
}

/// The formulas in double braces in the texts of a form. Names in single braces that no earlier element has are
/// reported.
pub(super) fn find_braces(place: &Cursor<'_>, form: &Form) -> Vec<Braces> {
    let mut walk = Walk {
        place,
        form,
        before: BTreeSet::new(),
        found: Vec::new(),
    };
    walk.node(place.node, &place.path, "");
    walk.found
}

impl Walk<'_> {
    /// Walks through the value of a key.
    fn node(&mut self, node: &Node, path: &str, under: &str) {
        match &node.data {
            Data::List(items) => {
                for (number, item) in items.iter().enumerate() {
                    self.node(item, &format!("{path}[{number}]"), under);
                }
            }
            Data::Map(entries) => self.map(entries, path, under),
            Data::Plain(_) | Data::Quoted(_) => {}
        }
    }

    /// Walks through a part of the form: its own texts are read before the parts inside it, wherever they are written.
    fn map(&mut self, entries: &[(Key, Node)], path: &str, under: &str) {
        let is_text = |(key, _): &&(Key, Node)| TEXTS.contains(&key.name.as_str());
        for (key, value) in entries.iter().filter(is_text) {
            let is_filled = under != "validators" && !NOT_FILLED.contains(&key.name.as_str());
            self.text(value, &yaml::join(path, &key.name), is_filled);
        }
        for (key, value) in entries.iter().filter(|entry| !is_text(entry)) {
            if key.name != "defaultValue" {
                self.node(value, &yaml::join(path, &key.name), &key.name);
            }
        }
        let name = entries.iter().find(|(key, _)| key.name == "name");
        if let (Some((_, value)), "elements") = (name, under)
            && let Data::Plain(name) | Data::Quoted(name) = &value.data
        {
            self.before.insert(format!("{name}-Comment"));
            self.before.insert(name.clone());
        }
    }

    /// Looks at a text, or at one text for each language.
    fn text(&mut self, node: &Node, path: &str, is_filled: bool) {
        let text = match &node.data {
            Data::Plain(text) | Data::Quoted(text) => text,
            Data::Map(entries) => {
                for (key, value) in entries {
                    self.text(value, &yaml::join(path, &key.name), is_filled);
                }
                return;
            }
            Data::List(_) => return,
        };
        let mut rest = text.as_str();
        while let Some((open, source, end)) = next_braces(rest) {
            self.single(node, path, &rest[..open], is_filled);
            let place = self.place.report.problem(node.at, path, "");
            let source = source.to_owned();
            self.found.push(Braces { source, place });
            rest = &rest[end..];
        }
        if rest.contains("{{") {
            return self.place.report.add(node.at, path, OPEN.to_owned());
        }
        self.single(node, path, rest, is_filled);
    }

    /// Reports the first name in single braces that is not filled in.
    fn single(&self, node: &Node, path: &str, text: &str, is_filled: bool) {
        let fault = names_in_braces(text).find_map(|name| self.fault(name, is_filled));
        if let Some(message) = fault {
            self.place.report.add(node.at, path, message);
        }
    }

    /// The fault of a name in single braces, if it has one.
    fn fault(&self, name: &str, is_filled: bool) -> Option<String> {
        let is_it = |asked: &str| {
            let left = name.strip_prefix(asked);
            left.is_some_and(|left| left.is_empty() || left.starts_with('.'))
        };
        let known: Vec<&str> = self
            .form
            .items()
            .filter(|item| item.is_asked())
            .map(|item| item.name.as_str())
            .collect();
        let Some(asked) = known.iter().find(|asked| is_it(asked)) else {
            return Some(format!(
                "the form has no element `{name}`; {}. For the answer to an earlier form, write `{{{{ answers.STAGE.{name} }}}}`; \
                 otherwise leave the braces out",
                make_hint(name, &known)
            ));
        };
        if !is_filled {
            return Some(format!(
                "`{{{name}}}` is not filled in here, as messages are shown as they are; leave the braces out"
            ));
        }
        if !self.before.iter().any(|before| is_it(before)) {
            return Some(format!(
                "`{{{name}}}` is not answered yet where this is read; move `{asked}` up, or leave the braces out"
            ));
        }
        let nobody = AnswerWords {
            yes: "",
            no: "",
            none: "",
            other: "",
            decimal: ".",
        };
        let is_one = self
            .form
            .write_answer(name, &Values::new(), nobody)
            .is_some();
        (!is_one).then(|| {
            format!(
                "`{{{name}}}` is no single answer; name a row or a part of `{asked}` behind a dot, such as `{{{asked}.ROW}}`"
            )
        })
    }
}
