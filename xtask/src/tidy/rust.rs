//! A Rust file as its tokens show it: summaries, functions, public types and imports.
//!
//! This module reads one file at a time, and must not know any rule.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// The parts of a file that rules and figures ask for.
#[derive(Debug, Default)]
pub(super) struct RustFile {
    /// The first lines of its doc comments.
    pub(super) summaries: Vec<Named>,
    /// Its functions outside of tests.
    pub(super) functions: Vec<Function>,
    /// Its types that other crates may name: structs, enums, unions, traits and aliases.
    pub(super) public_types: Vec<Named>,
    /// Paths within the crate that its code names, outside of tests.
    pub(super) paths: Vec<Vec<String>>,
    /// Names that `use` gives to paths, outside of tests.
    pub(super) uses: Vec<Use>,
    /// The child modules that it declares in separate files; true for modules only of tests.
    pub(super) children: BTreeMap<String, bool>,
    /// Lines of code that only tests have.
    pub(super) test_lines: usize,
}

/// A text at a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) text: String,
    pub(super) line: usize,
}

/// A function, and its length from `fn` to the closing brace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) lines: usize,
}

/// A name from a `use`; `*` for a glob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) name: String,
    pub(super) path: Vec<String>,
}

impl RustFile {
    /// Reads a file.
    ///
    /// # Errors
    /// The text is not made of Rust tokens.
    pub(super) fn read(text: &str) -> Result<Self> {
        let tokens: TokenStream = text.parse().map_err(|error| anyhow!("not Rust: {error}"))?;
        let mut file = Self::default();
        file.walk(tokens, &mut Vec::new(), false);
        Ok(file)
    }

    /// Reads the tokens of a file, a block or a macro call. `inside` names the modules around it that have no file of
    /// their own.
    fn walk(&mut self, tokens: TokenStream, inside: &mut Vec<String>, is_test: bool) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        // The line of the last doc comment, and whether it was an inner one.
        let mut last_doc = None;
        let mut for_tests = false;
        let mut at = 0;
        while at < tokens.len() {
            if let Some((attribute, length)) = attribute(&tokens[at..]) {
                let line = tokens[at].span().start().line;
                let is_inner = length == 3;
                if let Some(text) = doc(&attribute) {
                    if last_doc != Some((line - 1, is_inner)) {
                        self.summaries.push(Named { text, line });
                    }
                    last_doc = Some((line, is_inner));
                }
                for_tests |= is_for_tests(&attribute);
                at += length;
                continue;
            }
            let rest = &tokens[at..];
            at += match word(rest, 0).as_deref() {
                Some("mod") => self.module(rest, inside, is_test || for_tests),
                Some("fn") => self.function(rest, inside, is_test || for_tests),
                Some("use") => self.import(rest, inside, is_test || for_tests),
                Some("pub") => {
                    if !is_test && !for_tests {
                        self.public_type(rest);
                    }
                    // The attributes before it are those of what follows.
                    at += 1;
                    continue;
                }
                _ => self.other(rest, inside, is_test || for_tests),
            };
            let ended = matches!(&tokens[at - 1], TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
                || is_punct(&tokens[at - 1], ';');
            for_tests &= !ended;
        }
    }

    fn module(&mut self, rest: &[TokenTree], inside: &mut Vec<String>, is_test: bool) -> usize {
        let Some(name) = word(rest, 1) else { return 1 };
        match rest.get(2) {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                if is_test {
                    self.test_lines += lines(rest, 3);
                }
                inside.push(name);
                self.walk(group.stream(), inside, is_test);
                inside.pop();
                3
            }
            _ => {
                if inside.is_empty() {
                    self.children.insert(name, is_test);
                }
                2
            }
        }
    }

    fn function(&mut self, rest: &[TokenTree], inside: &mut Vec<String>, is_test: bool) -> usize {
        let Some(name) = word(rest, 1) else { return 1 };
        let body = rest.iter().position(|token| {
            is_punct(token, ';')
                || matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
        });
        let length = body.map_or(rest.len(), |at| at + 1);
        if !is_test {
            self.functions.push(Function {
                name,
                line: rest[0].span().start().line,
                lines: lines(rest, length),
            });
        }
        let mut at = 2;
        while at < length {
            at += self.other(&rest[at..], inside, is_test);
        }
        length
    }

    fn public_type(&mut self, rest: &[TokenTree]) {
        // `pub(crate)` has a group there.
        let mut words = (1..4).map_while(|at| word(rest, at));
        let kinds = ["struct", "enum", "union", "trait", "type"];
        let Some(kind) = words.next() else { return };
        let kind = if kind == "unsafe" {
            words.next()
        } else {
            Some(kind)
        };
        if kind.is_some_and(|kind| kinds.contains(&kind.as_str()))
            && let Some(text) = words.next()
        {
            let line = rest[0].span().start().line;
            self.public_types.push(Named { text, line });
        }
    }

    fn import(&mut self, rest: &[TokenTree], inside: &[String], is_test: bool) -> usize {
        let end = rest.iter().position(|token| is_punct(token, ';'));
        let Some(end) = end else { return 1 };
        if !is_test {
            let mut found = Vec::new();
            tree(&rest[1..end], &[], &mut found);
            for mut name in found {
                name.path = from_the_file(name.path, inside);
                self.paths.push(name.path.clone());
                if inside.is_empty() {
                    self.uses.push(name);
                }
            }
        }
        end + 1
    }

    /// Reads a path, a group, or a token that says nothing here; gives how many tokens that was.
    fn other(&mut self, rest: &[TokenTree], inside: &mut Vec<String>, is_test: bool) -> usize {
        if let TokenTree::Group(group) = &rest[0] {
            self.walk(group.stream(), inside, is_test);
            return 1;
        }
        let mut path = Vec::from_iter(word(rest, 0));
        let mut at = 1;
        while !path.is_empty()
            && is_colons(&rest[at..])
            && let Some(next) = word(rest, at + 2)
        {
            path.push(next);
            at += 3;
        }
        if path.len() > 1 && !is_test {
            self.paths.push(from_the_file(path, inside));
        }
        at
    }
}

/// A path that is written in a module without a file, as the file would write it.
fn from_the_file(path: Vec<String>, inside: &[String]) -> Vec<String> {
    let ups = path.iter().take_while(|part| *part == "super").count();
    if ups == 0 || inside.is_empty() {
        return path;
    }
    let inner = inside.len().saturating_sub(ups);
    let above = ups.saturating_sub(inside.len());
    let mut whole = vec!["self".to_owned()];
    whole.extend(inside[..inner].iter().cloned());
    if above > 0 {
        whole = vec!["super".to_owned(); above];
    }
    whole.extend(path[ups..].iter().cloned());
    whole
}

/// The attribute that these tokens begin with, and how many tokens it has: 2, or 3 if it is an inner one.
fn attribute(tokens: &[TokenTree]) -> Option<(Group, usize)> {
    if !is_punct(tokens.first()?, '#') {
        return None;
    }
    let at = if is_punct(tokens.get(1)?, '!') { 2 } else { 1 };
    match tokens.get(at)? {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
            Some((group.clone(), at + 1))
        }
        _ => None,
    }
}

/// The text of a doc comment.
fn doc(attribute: &Group) -> Option<String> {
    let tokens: Vec<TokenTree> = attribute.stream().into_iter().collect();
    let [_, equals, TokenTree::Literal(text)] = &tokens[..] else {
        return None;
    };
    let text = text.to_string();
    let is_doc = word(&tokens, 0).as_deref() == Some("doc") && is_punct(equals, '=');
    is_doc.then(|| text.trim_matches('"').trim().to_owned())
}

/// True if an attribute keeps what follows for tests: `#[test]`, `#[cfg(test)]`.
fn is_for_tests(attribute: &Group) -> bool {
    let text = attribute.stream().to_string();
    let words: Vec<&str> = text
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .collect();
    words == ["test"]
        || words.first() == Some(&"cfg") && words.contains(&"test") && !words.contains(&"not")
}

/// The names that a tree of `use` gives, under a path.
fn tree(tokens: &[TokenTree], before: &[String], found: &mut Vec<Use>) {
    for branch in tokens.split(|token| is_punct(token, ',')) {
        let mut path = before.to_vec();
        let mut name = None;
        for (at, token) in branch.iter().enumerate() {
            match token {
                TokenTree::Ident(_) if name.is_some() => {}
                TokenTree::Ident(ident) if ident == "as" => name = word(branch, at + 1),
                TokenTree::Ident(ident) => path.push(ident.to_string()),
                TokenTree::Punct(punct) if punct.as_char() == '*' => name = Some("*".to_owned()),
                TokenTree::Group(group) => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    tree(&inner, &path, found);
                    path.clear();
                }
                _ => {}
            }
        }
        if path.len() > before.len().max(1) && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        if let Some(last) = path.last().cloned() {
            let name = name.unwrap_or(last);
            found.push(Use { name, path });
        }
    }
}

fn word(tokens: &[TokenTree], at: usize) -> Option<String> {
    match tokens.get(at)? {
        TokenTree::Ident(ident) => Some(ident.to_string()),
        _ => None,
    }
}

fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

fn is_colons(tokens: &[TokenTree]) -> bool {
    matches!(tokens, [one, other, ..] if is_punct(one, ':') && is_punct(other, ':'))
}

/// Lines from the first of this many tokens to the last.
fn lines(tokens: &[TokenTree], count: usize) -> usize {
    let last = &tokens[count.min(tokens.len()) - 1];
    last.span().end().line + 1 - tokens[0].span().start().line
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r##"
//! A file.
//! More.

use std::fmt;
use crate::{one::{self, Two as Other}, three::*};

mod child;
#[cfg(test)]
mod laws;

/// A thing.
/// It goes on.
#[derive(Debug)]
pub struct Thing {
    /// Its part.
    pub(crate) part: u8,
}

pub(crate) struct Inner;

impl Thing {
    /// Does it.
    pub fn do_it(&self) -> [u8; 2] {
        let text = r#"pub struct Never; fn never() {}"#;
        crate::four::five(super::six, text)
    }
}

macro_rules! laws { () => { /// Holds.
    fn law() {} } }

#[cfg(test)]
mod tests {
    use crate::seven;
    /// Tested.
    pub struct Mock;
    #[test]
    fn it_works() {}
}

pub enum Last { A }
"##;

    fn texts(named: &[Named]) -> Vec<&str> {
        named.iter().map(|named| named.text.as_str()).collect()
    }

    #[test]
    fn the_first_line_of_every_doc_comment_is_a_summary() {
        let file = RustFile::read(FILE).unwrap();
        assert_eq!(
            texts(&file.summaries),
            [
                "A file.",
                "A thing.",
                "Its part.",
                "Does it.",
                "Holds.",
                "Tested."
            ]
        );
        assert_eq!(file.summaries[1].line, 12);
    }

    #[test]
    fn functions_and_types_of_tests_and_texts_do_not_count() {
        let file = RustFile::read(FILE).unwrap();
        let names: Vec<&str> = file.functions.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["do_it", "law"]);
        assert_eq!((file.functions[0].line, file.functions[0].lines), (24, 4));
        assert_eq!(texts(&file.public_types), ["Thing", "Last"]);
        assert_eq!(file.test_lines, 7);
        let children = [("child".to_owned(), false), ("laws".to_owned(), true)];
        assert_eq!(file.children, BTreeMap::from(children));
    }

    #[test]
    fn paths_are_read_from_trees_and_from_code() {
        let file = RustFile::read(FILE).unwrap();
        let paths: Vec<String> = file.paths.iter().map(|path| path.join("::")).collect();
        let wanted = [
            "std::fmt",
            "crate::one",
            "crate::one::Two",
            "crate::three",
            "crate::four::five",
            "super::six",
        ];
        assert_eq!(paths, wanted);
        let names: Vec<&str> = file.uses.iter().map(|name| name.name.as_str()).collect();
        assert_eq!(names, ["fmt", "one", "Other", "*"]);
    }

    #[test]
    fn a_path_up_from_a_module_without_a_file_is_one_of_the_file() {
        let text = "mod inner { use super::own; use super::super::above; }";
        let file = RustFile::read(text).unwrap();
        assert_eq!(file.paths, [["self", "own"], ["super", "above"]]);
    }

    #[test]
    fn a_text_that_is_not_rust_is_an_error() {
        assert!(RustFile::read("fn open( {").is_err());
    }
}
