//! Checks of stages against the stages before them.

use super::{ClipSource, Stage, StageKind};
use crate::problem::make_hint;
use crate::read::Cursor;

/// Reports what only shows beside the stages before.
pub(crate) fn check_stages(places: &[Cursor<'_>], stages: &[Option<Stage>]) {
    check_consent(places, stages);
    check_quizzes(places, stages);
    check_clips(places, stages);
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
                StageKind::Quiz(_)
                    | StageKind::Survey(_)
                    | StageKind::Env(_)
                    | StageKind::Chat(_)
                    | StageKind::Watch(_)
            )
        };
        if stage.as_ref().is_some_and(|stage| records(&stage.kind)) {
            place.wrong_at("type", "records something of the participant, and a consent stage comes after it; move the consent stage before this one");
        }
    }
}

/// Reports quizzes that send people back to a stage that is not before them.
fn check_quizzes(places: &[Cursor<'_>], stages: &[Option<Stage>]) {
    // A stage with faults may be the one.
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
                false => make_hint(from, &known),
            };
            place.wrong_at(
                "retry_from",
                format!("there is no stage `{from}` before this one; {known}"),
            );
        }
    }
}

/// Reports clips of episodes that are not played before they are watched.
fn check_clips(places: &[Cursor<'_>], stages: &[Option<Stage>]) {
    for (at, (place, stage)) in places.iter().zip(stages).enumerate() {
        let Some(StageKind::Watch(watch)) = stage.as_ref().map(|stage| &stage.kind) else {
            continue;
        };
        // A stage with faults may be the one.
        let before: Option<Vec<&Stage>> = stages[..at].iter().map(Option::as_ref).collect();
        let Some(before) = before else { continue };
        let is_env = |stage: &&&Stage| matches!(stage.kind, StageKind::Env(_));
        let known: Vec<&Stage> = before.iter().filter(is_env).copied().collect();
        for (number, clip) in watch.clips.iter().enumerate() {
            if let ClipSource::Own { stage, episode } = &clip.source {
                check_clip(place, number, (stage, *episode), &known);
            }
        }
    }
}

fn check_clip(
    place: &Cursor<'_>,
    number: usize,
    (wanted, episode): (&str, Option<u16>),
    known: &[&Stage],
) {
    let at = |key: &str| format!("clips[{number}].{key}");
    let Some(stage) = known.iter().find(|stage| stage.id == wanted) else {
        let names: Vec<&str> = known.iter().map(|stage| stage.id.as_str()).collect();
        let known = match names.is_empty() {
            true => "none comes before".to_owned(),
            false => make_hint(wanted, &names),
        };
        let message = format!("there is no env stage `{wanted}` before this one; {known}");
        return place.wrong_at(&at("stage"), message);
    };
    if let StageKind::Env(env) = &stage.kind
        && let Some(episode) = episode.filter(|number| *number > env.course.limit())
    {
        let most = env.course.limit();
        let message = format!("there is no episode {episode}: `{wanted}` has {most}");
        place.wrong_at(&at("episode"), message);
    }
}
