//! The sentences of the first second: of the page before its program is there.

use std::collections::BTreeMap;

use super::english;
use crate::study::Study;

/// The beginning of their names.
const FIRST: &str = "first_";

impl Study {
    /// Returns the sentences of the first second by name, in each language of the study, its main language first. In a
    /// language that pages do not speak, they are in English. A study without its own sentences uses the program's; the
    /// list is then empty.
    pub fn first_sentences(&self) -> Vec<(String, BTreeMap<String, String>)> {
        let mut all: Vec<(String, BTreeMap<String, String>)> = Vec::new();
        if self.sentences.is_empty() {
            return all;
        }
        for language in [&self.language].into_iter().chain(&self.languages) {
            let tag = match self.sentences.speaks(language) {
                true => language,
                false => "en",
            };
            if all.iter().all(|(known, _)| known != tag) {
                let names = english().keys().filter(|name| name.starts_with(FIRST));
                let say = |name: &String| (name.clone(), self.sentences.find(tag, name).to_owned());
                all.push((tag.to_owned(), names.map(say).collect()));
            }
        }
        all
    }
}
