//! Checks of stages beside those that come before them.

use super::{Stage, StageKind};
use crate::problem::hint;
use crate::read::Cursor;

/// Reports what only shows beside the stages before.
pub(crate) fn check_stages(places: &[Cursor<'_>], stages: &[Option<Stage>]) {
    check_consent(places, stages);
    check_quizzes(places, stages);
}

/// Reports stages that would record something of a participant before the consent.
fn check_consent(places: &[Cursor<'_>], stages: &[Option<Stage>]) {
    let is_consent = |stage: &Option<Stage>| {
        matches!(
            stage,
            Some(Stage {
                kind: StageKind::Consent(_),
                ..
            })
        )
    };
    let Some(last) = stages.iter().rposition(is_consent) else {
        return;
    };
    for (place, stage) in places.iter().zip(stages).take(last) {
        let records = |kind: &StageKind| {
            matches!(
                kind,
                StageKind::Quiz(_) | StageKind::Survey(_) | StageKind::Env(_) | StageKind::Chat(_)
            )
        };
        if stage.as_ref().is_some_and(|stage| records(&stage.kind)) {
            place.wrong_at("type", "records something of the participant, and a consent stage comes after it; move the consent stage before this one");
        }
    }
}

/// Reports quizzes that send people back to a stage that is not before them.
fn check_quizzes(places: &[Cursor<'_>], stages: &[Option<Stage>]) {
    // A stage that has faults of its own may be the one.
    let before = |at: usize| {
        stages[..at]
            .iter()
            .map(Option::as_ref)
            .collect::<Option<Vec<_>>>()
    };
    for (at, (place, stage)) in places.iter().zip(stages).enumerate() {
        let Some(StageKind::Quiz(quiz)) = stage.as_ref().map(|stage| &stage.kind) else {
            continue;
        };
        let (Some(from), Some(before)) = (&quiz.retry_from, before(at)) else {
            continue;
        };
        let known: Vec<&str> = before.iter().map(|stage| stage.id.as_str()).collect();
        if !known.contains(&from.as_str()) {
            let known = match known.is_empty() {
                true => "none comes before".to_owned(),
                false => hint(from, &known),
            };
            place.wrong_at(
                "retry_from",
                format!("there is no stage `{from}` before this one; {known}"),
            );
        }
    }
}
