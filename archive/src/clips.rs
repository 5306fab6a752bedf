//! Clips of AI partners: an episode that they play by themselves, from its seed to its end, as a log like any other.
//!
//! The log is a pure function of the study and its models, so every server makes the same one.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use env_core::Action;
use protocol::control::EndReason;
use protocol::log::{Header, Log, LogError, LogWriter, Record};
use protocol::rules::Rules;
use protocol::{Controller, EnvWay, Seat};
use study::stage::{ClipSource, PartnerEpisode, WatchClip};
use study::{StageKind, Study};

use crate::replica::{Replica, ReplicaError, RowError, world};

/// Ticks of a record.
const TICKS_AT_ONCE: usize = 600;

/// A clip of AI partners, as it was played.
#[derive(Debug)]
pub struct PlayedClip {
    /// The id of the watch stage.
    pub stage: String,
    /// The number of the clip there, from 1.
    pub number: usize,
    /// The bytes of its log.
    pub log: Vec<u8>,
}

/// The reason why a clip cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ClipError {
    /// The world or a model cannot be opened here.
    #[error(transparent)]
    Replica(#[from] ReplicaError),
    /// The world broke down.
    #[error("tick {tick}: {error}")]
    Row {
        /// The tick.
        tick: u32,
        /// The reason.
        error: RowError,
    },
    /// The log cannot be written.
    #[error(transparent)]
    Log(#[from] LogError),
}

/// Plays every clip of AI partners of a study that is not made yet, by its stage and its number, in the order of the file.
/// Modules and models are those that the study brings.
///
/// # Errors
/// [`ClipError`] of the first one that cannot be made.
pub fn play_clips(
    study: &Study,
    is_made: impl Fn(&str, usize) -> bool,
) -> Result<Vec<PlayedClip>, ClipError> {
    let mut played = Vec::new();
    for stage in &study.timeline {
        let StageKind::Watch(watch) = &stage.kind else {
            continue;
        };
        for (number, clip) in (1..).zip(&watch.clips) {
            if let ClipSource::Partners(episode) = &clip.source
                && !is_made(&stage.id, number)
            {
                let id = format!("{}-{number}", stage.id);
                let mut header = header_of(study, [&stage.id, &id], episode);
                let brought = brought(study, episode);
                header.tick_hz = world(&header, &brought)?.spec().tick_hz;
                let until = find_end(clip, header.tick_hz);
                played.push(PlayedClip {
                    stage: stage.id.clone(),
                    number,
                    log: play(&header, until, brought)?,
                });
            }
        }
    }
    Ok(played)
}

/// Plays a clip again, as far as its log goes. The bytes are those of the log, unless somebody has changed it.
///
/// # Errors
/// [`ClipError`]
pub fn play_again(
    log: &Log,
    stored: impl Fn(&str) -> io::Result<Vec<u8>> + Send + Clone + 'static,
) -> Result<Vec<u8>, ClipError> {
    play(&log.header, log.through.0, stored)
}

/// The tick at which a clip ends, if its episode does not end before.
fn find_end(clip: &WatchClip, tick_hz: u16) -> u32 {
    let hz = u32::from(tick_hz.max(1));
    clip.to_s.map_or(u32::MAX, |to_s| to_s.saturating_mul(hz))
}

/// Reads the modules and models that a study brings, by their SHA-256.
fn brought(
    study: &Study,
    episode: &PartnerEpisode,
) -> impl Fn(&str) -> io::Result<Vec<u8>> + Send + Clone + use<> {
    let models = study.models.iter();
    let models = models.map(|model| (model.sha256.clone(), Arc::clone(&model.bytes)));
    let module = episode.module.iter();
    let module = module.map(|file| (file.sha256.clone(), file.bytes.as_slice().into()));
    let all: Arc<BTreeMap<String, Arc<[u8]>>> = Arc::new(models.chain(module).collect());
    move |sha256: &str| {
        let missing = || io::Error::other("the study brings no such file");
        all.get(sha256)
            .map(|bytes| bytes.to_vec())
            .ok_or_else(missing)
    }
}

fn header_of(study: &Study, [stage, id]: [&str; 2], episode: &PartnerEpisode) -> Header {
    let controller = |partner: &study::stage::AiPartner| Controller::Ai {
        policy: partner.policy.clone(),
    };
    let module = episode.module.as_ref();
    Header {
        episode: id.to_owned(),
        study: study.id.clone(),
        study_version: study.version.clone(),
        study_hash: study.hash.clone(),
        stage: stage.to_owned(),
        group: String::new(),
        participants: vec![String::new(); episode.players.len()],
        module: module.map_or(String::new(), |file| file.sha256.clone()),
        env: episode.env.clone(),
        env_version: episode.version.clone(),
        params: episode.config.to_string(),
        seed: episode.seed.into(),
        controllers: episode.players.iter().map(controller).collect(),
        tick_hz: 0,
        input_delay: 0,
        t0_us: 0,
        rules: Rules::default(),
        course: None,
        keys: vec![[0; 32]; episode.players.len()],
        way: EnvWay::Module,
        shared: None,
    }
}

/// Plays an episode up to a tick, or to its own end.
fn play(
    header: &Header,
    until: u32,
    stored: impl Fn(&str) -> io::Result<Vec<u8>> + Send + Clone + 'static,
) -> Result<Vec<u8>, ClipError> {
    let mut replica = Replica::open(header, stored)?;
    let (mut writer, mut log) = LogWriter::begin(header)?;
    let seats = header.controllers.len();
    while !replica.outcome().over && replica.ticks().0 < until {
        let first = replica.ticks();
        let mut rows: Vec<Action> = Vec::new();
        while !replica.outcome().over
            && replica.ticks().0 < until
            && rows.len() < TICKS_AT_ONCE * seats
        {
            let noop = replica.spec().noop;
            let chosen =
                (0..seats as u8).map(|seat| replica.chosen_action(Seat(seat)).unwrap_or(noop));
            let row: Vec<Action> = chosen.collect();
            let tick = replica.ticks().0;
            let stepped = replica.step(&row);
            stepped.map_err(|error| ClipError::Row { tick, error })?;
            rows.extend(row);
        }
        writer.append(&Record::Actions { first, rows }, &mut log)?;
    }
    let (tick, seat) = (replica.ticks(), None);
    let digest = replica.digest(tick).unwrap_or_default();
    writer.append(&Record::Digest { tick, seat, digest }, &mut log)?;
    if replica.outcome().over {
        let ending = replica.read_ending(EndReason::Played);
        writer.append(&Record::End(ending), &mut log)?;
    }
    Ok(log)
}
