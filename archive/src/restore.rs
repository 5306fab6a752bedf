//! A running episode, read from its log after a restart.

use env_core::view::ViewFacts;
use protocol::{Era, Seat};
use server_core::arbiter::{EpisodeRow, RestoredEpisode};
use study::{EnvFacts, StageKind, Study, UnitAssignment};

use crate::Episode;

/// The study has no env stage of the name in the log any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the study has no such stage any more")]
pub struct StageGone;

/// Reads a running episode from its log, as the arbiter takes it up.
///
/// # Errors
/// [`StageGone`]
pub fn restore_episode(
    study: &Study,
    era: Era,
    visits: Vec<u16>,
    draw: UnitAssignment,
    file: &mut Episode,
) -> Result<RestoredEpisode, StageGone> {
    let end = file.poll_end();
    let header = file.header();
    let timeline = &study.timeline;
    let stage = timeline
        .iter()
        .position(|stage| stage.id == header.stage && matches!(stage.kind, StageKind::Env(_)));
    let stage = stage
        .and_then(|stage| u16::try_from(stage).ok())
        .ok_or(StageGone)?;
    let row = EpisodeRow {
        episode: header.episode.clone(),
        era,
        group: header.group.clone(),
        stage,
        participants: header.participants.clone(),
        visits,
        draw,
        // They were stored when it began, and nothing asks for them any more.
        bindings: study::timeline::Bindings::new(),
    };
    Ok(RestoredEpisode {
        row,
        header: header.clone(),
        facts: env_facts(file),
        changes: file.changes().to_vec(),
        through: file.recorded_through(),
        own: (0..)
            .map(Seat)
            .take(header.controllers.len())
            .map(|seat| file.next_input(seat))
            .collect(),
        end,
    })
}

/// Facts of the environment of an episode: those of its file, because the study may have others by now.
fn env_facts(file: &Episode) -> EnvFacts {
    let spec = file.replica.spec();
    EnvFacts {
        seats: spec.seats,
        tick_hz: file.header().tick_hz,
        horizon: spec.horizon,
        actions: (spec.actions.iter())
            .map(|action| action.name.clone())
            .collect(),
        noop: spec.noop,
        is_old: false,
        page_facts: file.replica.page_facts().map(ViewFacts::to_json),
        is_secret: spec.secret,
    }
}
