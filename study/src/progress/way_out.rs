//! The page that a participant reads at the end of an early way out.

use crate::outcome::Outcome;
use crate::page::TextPage;
use crate::study::Study;

/// The page at the end of a way out that has one: the study's own, else the built-in one for participants who have
/// not begun what the study is about. Everybody else reads the last page of the study.
pub(super) fn way_out(study: &Study, outcome: Outcome) -> Option<TextPage> {
    let own = study.recruitment.outcomes.get(&outcome);
    if let Some(page) = own.and_then(|way| way.page.as_ref()) {
        return Some(page.clone());
    }
    let (english, german) = match outcome {
        Outcome::NoConsent => (
            "# You did not agree\n\nSo you do not take part, and nothing was recorded. You can close this page now.\n",
            "# Sie haben nicht zugestimmt\n\nSie nehmen also nicht teil, und es wurde nichts aufgezeichnet. Sie können diese Seite jetzt schließen.\n",
        ),
        Outcome::FailedQuiz => (
            "# Thank you for your time\n\nNot all questions were answered as they should be, so the study ends here. You can close this page now.\n",
            "# Vielen Dank für Ihre Zeit\n\nNicht alle Fragen wurden richtig beantwortet; darum endet die Studie hier. Sie können diese Seite jetzt schließen.\n",
        ),
        Outcome::Ineligible => (
            "# Thank you for your interest\n\nThe study cannot be done with this device or connection. You can close this page now.\n",
            "# Vielen Dank für Ihr Interesse\n\nMit diesem Gerät oder dieser Verbindung ist die Studie nicht möglich. Sie können diese Seite jetzt schließen.\n",
        ),
        Outcome::LobbyTimeout => (
            "# Nobody came\n\nThere was nobody to play with, so the study ends here. You can close this page now.\n",
            "# Es ist niemand gekommen\n\nEs war niemand da, mit dem Sie spielen können; darum endet die Studie hier. Sie können diese Seite jetzt schließen.\n",
        ),
        Outcome::StudyFull => (
            "# There is no free place at the moment\n\nAll places in this study are taken right now. A place becomes free if somebody does not finish: you are welcome to come back later, by the same link.\n",
            "# Im Moment ist kein Platz frei\n\nAlle Plätze dieser Studie sind gerade vergeben. Ein Platz wird frei, wenn jemand nicht bis zum Ende teilnimmt: Sie können gern später wiederkommen, mit demselben Link.\n",
        ),
        Outcome::Withdrew => (
            "# You have left the study\n\nThank you for the time that you gave it. You can close this page now.\n",
            "# Sie haben die Studie verlassen\n\nVielen Dank für die Zeit, die Sie ihr gegeben haben. Sie können diese Seite jetzt schließen.\n",
        ),
        Outcome::TimedOut => (
            "# The time is over\n\nThis study had to be finished within some time, which has passed. You can close this page now.\n",
            "# Die Zeit ist um\n\nDiese Studie war innerhalb einer Frist zu beenden, die verstrichen ist. Sie können diese Seite jetzt schließen.\n",
        ),
        _ => return None,
    };
    Some(TextPage::of(english, &[("de", german)]))
}
