//! The page that a participant reads at the end of an early way out.

use crate::outcome::Outcome;
use crate::page::TextPage;
use crate::recruitment::Provider;
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
            "# You chose not to take part\n\nNothing has been recorded.",
            "# Sie nehmen nicht teil\n\nEs wurde nichts aufgezeichnet.",
        ),
        Outcome::FailedQuiz => (
            "# Thank you for your time\n\nSome of the questions about the instructions weren't answered correctly, so you can't continue.",
            "# Vielen Dank für Ihre Zeit\n\nEinige Fragen zur Anleitung wurden nicht richtig beantwortet, darum können Sie nicht weitermachen.",
        ),
        Outcome::Ineligible => (
            "# Thank you for your interest\n\nThis device or connection doesn't work with the study.",
            "# Vielen Dank für Ihr Interesse\n\nMit diesem Gerät oder dieser Verbindung ist die Studie nicht möglich.",
        ),
        Outcome::LobbyTimeout => (
            "# We couldn't find you a partner\n\nNobody was there to play with, so the study ends here. Thank you for waiting.",
            "# Wir haben niemanden gefunden, der mit Ihnen spielt\n\nDarum endet die Studie hier. Vielen Dank, dass Sie gewartet haben.",
        ),
        Outcome::StudyFull => (
            "# There is no free place at the moment\n\nAll places in this study are taken right now. A place becomes free if somebody does not finish: you are welcome to come back later, by the same link.",
            "# Im Moment ist kein Platz frei\n\nAlle Plätze dieser Studie sind gerade vergeben. Ein Platz wird frei, wenn jemand nicht bis zum Ende teilnimmt: Sie können gern später wiederkommen, mit demselben Link.",
        ),
        Outcome::LeftEarly => (
            "# You have left the study\n\nThank you for your time.",
            "# Sie haben die Studie verlassen\n\nVielen Dank für Ihre Zeit.",
        ),
        Outcome::Withdrew => (
            "# You have withdrawn your data\n\nYour answers are deleted. Thank you for your time.",
            "# Sie haben Ihre Daten zurückgezogen\n\nIhre Antworten sind gelöscht. Vielen Dank für Ihre Zeit.",
        ),
        Outcome::PageFailed => (
            "# The study can't go on here\n\nSomething about the game did not work in this browser, so the study ends here for you. We are sorry, and thank you for your time.",
            "# Hier geht es leider nicht weiter\n\nEtwas am Spiel hat in diesem Browser nicht funktioniert, darum endet die Studie hier für Sie. Das tut uns leid. Vielen Dank für Ihre Zeit.",
        ),
        Outcome::TimedOut => (
            "# Time is up\n\nThis study had to be finished within a certain time, which has passed.",
            "# Die Zeit ist um\n\nDiese Studie musste in einer bestimmten Zeit beendet werden, und die ist vorbei.",
        ),
        _ => return None,
    };
    // Who is paid elsewhere goes there by the button below.
    let has_button = matches!(
        study.recruitment.provider,
        Provider::Prolific | Provider::Mturk
    );
    let [close, schliessen] = match has_button {
        true => ["", ""],
        false => [
            " You can close this page now.",
            " Sie können diese Seite jetzt schließen.",
        ],
    };
    let (english, german) = (
        format!("{english}{close}\n"),
        format!("{german}{schliessen}\n"),
    );
    Some(TextPage::of(&english, &[("de", &german)]))
}
