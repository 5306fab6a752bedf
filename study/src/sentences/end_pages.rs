//! The last pages of studies without their own, in every language that pages speak.

use std::collections::BTreeSet;

use super::{BUILT_IN, Sentences};
use crate::outcome::Outcome;
use crate::page::TextPage;

impl Sentences {
    /// The page at the end of a session with an outcome; `says_close` if its text ends with the sentence that the page
    /// can be closed.
    pub(crate) fn end_page(&self, outcome: Outcome, says_close: bool) -> TextPage {
        let keys = [
            format!("end_{outcome}_heading"),
            format!("end_{outcome}_text"),
            "end_close".to_owned(),
        ];
        // A language without its own text shows that of its main language, else English.
        let own = self.0.iter();
        let own = own.filter(|(_, own)| keys.iter().any(|key| own.contains_key(key)));
        let own = own.map(|(tag, _)| tag.as_str());
        let languages: BTreeSet<&str> = own.chain(BUILT_IN).filter(|tag| *tag != "en").collect();
        let page = |language: &str| self.write_end_page(language, outcome, says_close);
        let others: Vec<(&str, String)> =
            languages.into_iter().map(|tag| (tag, page(tag))).collect();
        let others = others.iter().map(|(tag, page)| (*tag, page.as_str()));
        TextPage::of(&page("en"), &others.collect::<Vec<_>>())
    }

    /// The Markdown of the page in a language. A sentence that the study made empty is left out.
    fn write_end_page(&self, language: &str, outcome: Outcome, says_close: bool) -> String {
        let heading = self.find(language, &format!("end_{outcome}_heading"));
        let text = self.find(language, &format!("end_{outcome}_text"));
        let close = says_close.then(|| self.find(language, "end_close"));
        let heading = (!heading.is_empty()).then(|| format!("# {heading}\n\n"));
        let text: Vec<&str> = [text, close.unwrap_or_default()]
            .into_iter()
            .filter(|sentence| !sentence.is_empty())
            .collect();
        heading.unwrap_or_default() + &text.join(" ") + "\n"
    }
}
