//! The page that a participant reads at the end of an early way out.

use crate::outcome::Outcome;
use crate::page::TextPage;
use crate::recruitment::Provider;
use crate::study::Study;

/// Returns the page for an outcome that has one: the study's own, else the built-in one for participants who have not
/// begun the main part of the study. Everybody else reads the last page of the study.
pub(super) fn way_out(study: &Study, outcome: Outcome) -> Option<TextPage> {
    let own = study.recruitment.outcomes.get(&outcome);
    if let Some(page) = own.and_then(|way| way.page.as_ref()) {
        return Some(page.clone());
    }
    let is_built_in = match outcome {
        Outcome::NoConsent
        | Outcome::FailedQuiz
        | Outcome::Ineligible
        | Outcome::LobbyTimeout
        | Outcome::StudyFull
        | Outcome::LeftEarly
        | Outcome::Withdrew
        | Outcome::PageFailed
        | Outcome::TimedOut => true,
        Outcome::Completed | Outcome::PartnerLeft | Outcome::Technical => false,
    };
    // Who is paid elsewhere goes there by the button below.
    let has_button = matches!(
        study.recruitment.provider,
        Provider::Prolific | Provider::Mturk
    );
    is_built_in.then(|| study.sentences.end_page(outcome, !has_button))
}
