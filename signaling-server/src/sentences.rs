//! The sentences of a study for its page, in other words or languages than Coplay's.

use serde::Serialize;
use serde_json::json;
use study::Study;
use study::sentences::Sentences;

use crate::first_page::{FirstSentences, enter_first_sentences, write_json};

/// The sentences of a study for its page.
#[derive(Clone, Debug, Serialize)]
pub struct StudySentences {
    /// All that the study replaces or adds.
    all: Sentences,
    /// Those of the first second in each language of the study, its main language first.
    first: Vec<FirstSentences>,
}

impl StudySentences {
    /// Returns the sentences of a study; `None` if its page has the usual sentences.
    pub fn of(study: &Study) -> Option<Self> {
        let all = study.page_sentences();
        (!all.is_empty()).then(|| Self {
            all,
            first: study.first_sentences(),
        })
    }

    /// The page with the sentences in it, as JSON that no browser runs and as text.
    pub(crate) fn enter(&self, page: &str) -> String {
        let all = write_json(&json!(self.all));
        let element =
            format!("<script type=\"application/json\" id=\"texts\">{all}</script></head>");
        enter_first_sentences(page, &self.first).replacen("</head>", &element, 1)
    }
}
