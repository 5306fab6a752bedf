//! The checks of every run, made after every step: each has a name, which begins its findings.
//!
//! | Name | What holds |
//! | --- | --- |
//! | `log` | all pages come to the same final actions, and the archive has the same |
//! | `said` | no input of a person is final unless their own page has sent it |
//! | `digest` | equal states at every final tick, on every page and in the replica |
//! | `retraction` | nothing final is taken back |
//! | `receipts` | no tick is confirmed that somebody lacks and the server has not made final, through all changes of
//! seats |
//! | `window` | nobody plays further beyond the confirmed ticks than the study says |
//! | `change` | a seat changes hands at the same tick for everybody, and in the archive |
//! | `replay` | the archive replays to the states, the score and the end that pages were sent |
//! | `end` | an episode ends once, for all alike, at a tick at which its environment ends |
//! | `durable` | nothing acknowledged is lost |
//! | `pace` | the pages of people with slow machines are at most two ticks apart |
//! | `stall` | played ticks are confirmed, once the network has healed |
//! | `liveness` | everybody reaches the end of the study |
//! | `draft` | typed text stays on the person's page, and text that the server promised to keep comes back with every
//! later page |
//! | `answers` | whatever dies meanwhile, a person's answers are stored once, as they were typed |
//! | `messages` | shown chat messages are stored, and none twice |
//! | `blame` | everybody who did not leave on purpose is paid; if one page is dishonest, nobody else is named, or has a
//! page that failed |
//! | `seen` | shown frames are rebuilt from the archive, and take at most 300 bytes a second with up to ten people |

mod pages;
mod rule;
mod truth;

use std::collections::BTreeMap;

use client_core::Peer;
use protocol::change::Change;
use protocol::control::{ClientMessage, EndReason, Plan, ServerMessage, Upload};
use protocol::datagram::Datagram;
use protocol::log::Record;
use protocol::seal::Seal;
use protocol::{Era, Life, Seat, Tick};

use crate::database::Database;
use crate::disk::Disk;
use crate::native::Native;
use crate::tab::{Sender, ShownFrame};
use pages::Typing;
use truth::Truth;

/// The progress of a page's session, as it was seen.
#[derive(Debug, Default)]
struct Watch {
    confirmed: u32,
    current: u32,
    settled: u32,
}

/// Figures of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Episodes that ended.
    pub episodes: u64,
    /// Ticks in their archives.
    pub ticks: u64,
    /// Seats that changed hands.
    pub changes: u64,
    /// Ticks of shared seats in which an AI partner played for the person.
    pub handed_over: u64,
    /// Frames that were shown and rebuilt.
    pub frames: u64,
    /// Episodes by reason: played, partner left, technical.
    pub reasons: [u64; 3],
    /// The most bytes of seen-log that a page sent in a second, on average.
    pub seen_per_s: u64,
    /// The longest that a page which could play confirmed nothing, once the network had healed, microseconds.
    pub stalled_us: u64,
    /// The longest time from then to the end of the study for everybody, microseconds.
    pub late_us: u64,
}

/// The checks.
#[derive(Debug, Default)]
pub struct Oracle {
    truths: BTreeMap<u16, Truth>,
    typing: Typing,
    watches: BTreeMap<(usize, u16, u8), Watch>,
    /// True if one page is dishonest, so that others may have been sent other inputs.
    is_lied_to: bool,
    /// The figures of the run.
    pub figures: Figures,
}

impl Oracle {
    /// Nothing seen yet. `is_lied_to`: one page is dishonest.
    pub fn new(is_lied_to: bool) -> Self {
        Self {
            is_lied_to,
            ..Self::default()
        }
    }

    /// A page of a person sends a message.
    pub fn record_typed(&mut self, person: usize, page: usize, message: &ClientMessage) {
        self.typing.record_sent(person, page, message);
    }

    /// Checks a message to a page about what its person typed.
    ///
    /// # Errors
    /// The check that fails.
    pub fn record_promise(&mut self, page: usize, message: &ServerMessage) -> Result<(), String> {
        self.typing.record_told(page, message)
    }

    /// Judges the typed texts in the database.
    ///
    /// # Errors
    /// The check that fails.
    pub fn judge_typing(&self, database: &Database) -> Result<(), String> {
        self.typing.judge(database)
    }

    /// Checks that no page is asked for its digests again if nobody lies.
    ///
    /// # Errors
    /// A page is asked.
    pub fn is_right(&self, message: &ServerMessage) -> Result<(), String> {
        match message {
            ServerMessage::Recheck { agreed, .. } => Err(format!(
                "digest: a page has another than the replica, later than after {} ticks",
                agreed.0
            )),
            _ => Ok(()),
        }
    }

    /// Judges the participants that the logs name if the page of a participant is dishonest.
    ///
    /// # Errors
    /// Somebody else is named.
    pub fn judge_blame(&self, disk: &Disk, liar: Option<&str>) -> Result<(), String> {
        for truth in self.truths.values() {
            let Some(file) = disk.open(&truth.episode) else {
                continue;
            };
            let log = protocol::log::read_log(&file.copy()).map_err(|error| error.to_string())?;
            for record in &log.records {
                let named = match record {
                    Record::Diverged { seat, .. } => *seat,
                    Record::Recount { recount, .. } => recount.seat,
                    _ => continue,
                };
                let participant = &log.header.participants[named.index()];
                if liar != Some(participant.as_str()) {
                    return Err(format!(
                        "blame: {participant} is named, and was honest: {record:?}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Checks a message to a page.
    ///
    /// # Errors
    /// The check that fails.
    pub fn check_told(
        &mut self,
        plays: Option<(Era, Seat, Life)>,
        message: &ServerMessage,
    ) -> Result<(), String> {
        if let Some((era, through)) = durable(message) {
            self.acknowledge(era, through);
        }
        match message {
            ServerMessage::Match(plan) => {
                let truth = self.truths.entry(plan.era.0).or_default();
                truth.episode.clone_from(&plan.episode);
                truth.window = u32::from(plan.window);
                truth.tick_hz = match plan.rules.turns {
                    // Nobody acts more often.
                    true => 50,
                    false => u32::from(plan.tick_hz),
                };
                truth.controllers.clone_from(&plan.controllers);
            }
            ServerMessage::Start { era, .. } => {
                if let Some(truth) = self.truths.get_mut(&era.0) {
                    truth.is_started = true;
                }
            }
            ServerMessage::Change { era, change } => self.change(*era, change)?,
            ServerMessage::Running { era, changes, .. } => {
                let mut changes = changes.iter();
                changes.try_for_each(|change| self.change(*era, change))?;
            }
            ServerMessage::Return(back) => {
                let mut changes = back.changes.iter();
                changes.try_for_each(|change| self.change(back.era, change))?;
            }
            ServerMessage::Archived { era, notes, .. } => {
                if let Some((of, seat, life)) = plays
                    && of == *era
                    && let Some(truth) = self.truths.get_mut(&era.0)
                {
                    let known = truth.notes.entry((seat, life.0)).or_default();
                    *known = (*notes).max(*known);
                }
            }
            ServerMessage::Ended {
                era,
                reason,
                ticks,
                score,
                digest,
            } => {
                let verdict = (*reason, *ticks, *score, *digest);
                if let Some(truth) = self.truths.get_mut(&era.0) {
                    let known = *truth.verdict.get_or_insert(verdict);
                    if known != verdict {
                        return Err(format!(
                            "end: told {known:?} to one and {verdict:?} to another"
                        ));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn acknowledge(&mut self, era: Era, through: Tick) {
        if let Some(truth) = self.truths.get_mut(&era.0) {
            truth.acknowledged = truth.acknowledged.max(through);
        }
    }

    fn change(&mut self, era: Era, change: &Change) -> Result<(), String> {
        let Some(truth) = self.truths.get_mut(&era.0) else {
            return Ok(());
        };
        let known = truth
            .changes
            .entry(change.number)
            .or_insert_with(|| change.clone());
        if known != change {
            return Err(format!(
                "change: {known:?} for one and {change:?} for another"
            ));
        }
        Ok(())
    }

    /// A frame was on a screen.
    pub fn record_shown(&mut self, shown: ShownFrame) {
        if let Some(truth) = self.truths.get_mut(&shown.era.0) {
            let page = truth.shown.entry((shown.seat, shown.life.0));
            page.or_default().push(shown);
        }
    }

    /// Takes an upload of the page of a seat, with its own person's inputs.
    pub fn record_upload(&mut self, seat: Seat, upload: &Upload) {
        let truth = self.truths.get_mut(&upload.era.0);
        if let (Some(truth), Some(block)) = (truth, &upload.block) {
            for (tick, &input) in (block.first.0..).map(Tick).zip(&block.inputs) {
                truth.said.insert((seat, upload.life.0, tick), input);
            }
        }
    }

    /// Checks changes of seats in a message to a page with its episode in memory: none of them is before its final
    /// ticks.
    ///
    /// # Errors
    /// The change, and what was confirmed.
    pub fn check_telling(
        &self,
        peer: &Peer<Native>,
        message: &ServerMessage,
    ) -> Result<(), String> {
        let changes = match message {
            ServerMessage::Change { era, change } if *era == peer.plan().era => {
                std::slice::from_ref(change)
            }
            ServerMessage::Running { era, changes, .. } if *era == peer.plan().era => changes,
            _ => return Ok(()),
        };
        let Some(session) = peer.session() else {
            return Ok(());
        };
        let settled = session.settled();
        let mut news = changes
            .iter()
            .filter(|change| change.number >= session.changes());
        match news.find(|change| change.tick < settled) {
            Some(change) => Err(format!(
                "retraction: {} ticks are final, and then {change:?}",
                settled.0
            )),
            None => Ok(()),
        }
    }

    /// A page that knows this many changes sends a datagram.
    ///
    /// # Errors
    /// It is malformed.
    pub fn check_sent(&mut self, sender: &Sender, bytes: &[u8]) -> Result<(), String> {
        let Some(truth) = self.truths.get_mut(&sender.era.0) else {
            return Ok(());
        };
        if Seal::decode(bytes).is_some() {
            return Ok(());
        }
        let datagram = Datagram::decode(bytes, sender.layout)
            .map_err(|error| format!("packet: a page sends what is none: {error}"))?;
        truth.claims.note_datagram(&datagram, sender.changes);
        Ok(())
    }

    /// Looks at a page's session.
    ///
    /// # Errors
    /// The check that fails.
    pub fn watch_peer(&mut self, page: usize, peer: &mut Peer<Native>) -> Result<(), String> {
        let Plan {
            era, seat, life, ..
        } = *peer.plan();
        let Some(session) = peer.session_mut() else {
            return Ok(());
        };
        let Some(truth) = self.truths.get_mut(&era.0) else {
            return Ok(());
        };
        let watch = self.watches.entry((page, era.0, life.0)).or_default();
        let (confirmed, current) = (session.confirmed().0, session.current().0);
        let settled = session.settled().0;
        if settled < watch.settled {
            return Err(format!(
                "retraction: from tick {} back to {settled}",
                watch.settled
            ));
        }
        // If a seat was cut behind it, a page waits until it is within the window again.
        let window = u32::from(session.config().window);
        let plays_on = current > watch.current;
        if plays_on && current > confirmed + window || window > truth.window {
            return Err(format!(
                "window: {current} simulated, {confirmed} confirmed, window {window}"
            ));
        }
        if confirmed > watch.confirmed {
            let agreed = u32::from(session.config().input_delay).max(session.first_tick().0);
            let news = agreed.max(watch.confirmed)..confirmed;
            truth.check_settled(seat, news, session.changes())?;
        }
        truth.compare(session, watch.settled, settled, self.is_lied_to)?;
        for &(tick, digest) in session
            .digests()
            .iter()
            .filter(|(tick, _)| tick.0 <= settled)
        {
            truth.digest(tick, digest)?;
        }
        (watch.confirmed, watch.current, watch.settled) = (confirmed, current, settled);
        if let Some(ended) = session.ended().filter(|ended| ended.0 <= settled) {
            let known = *truth.ended.get_or_insert(ended);
            if known != ended || ended.0 != confirmed {
                return Err(format!(
                    "end: at {ended:?} for one, at {known:?} for another"
                ));
            }
        }
        Ok(())
    }

    /// Checks, after a restart of the server, that everything acknowledged is durable.
    ///
    /// # Errors
    /// The ticks that are lost.
    pub fn check_restart(&self, disk: &Disk) -> Result<(), String> {
        self.truths
            .values()
            .filter(|truth| !truth.is_judged)
            .try_for_each(|truth| match disk.open(&truth.episode) {
                None if truth.acknowledged > Tick(0) => {
                    Err(format!("durable: the file of {} is gone", truth.episode))
                }
                None => Ok(()),
                Some(file) => {
                    let log = protocol::log::read_log(&file.copy());
                    let log =
                        log.map_err(|error| format!("durable: {}: {error}", truth.episode))?;
                    truth.check_durable(&log)
                }
            })
    }

    /// Judges the archive of every episode; every one that has a file must have its end.
    ///
    /// # Errors
    /// The check that fails.
    pub fn judge(&mut self, disk: &Disk) -> Result<(), String> {
        for truth in self.truths.values_mut() {
            let Some(file) = disk.open(&truth.episode) else {
                if truth
                    .verdict
                    .is_some_and(|(reason, ..)| reason == EndReason::Played)
                {
                    return Err(format!("durable: the file of {} is gone", truth.episode));
                }
                continue;
            };
            let log = protocol::log::read_log(&file.copy());
            let log = log.map_err(|error| format!("durable: {}: {error}", truth.episode))?;
            // The server died when it had the file, but not yet the episode.
            if log.ending.is_none() && log.through == Tick(0) && !truth.is_started {
                continue;
            }
            truth.judge(&log)?;
            self.figures.handed_over += truth.handed_over;
            self.figures.frames += truth.rebuild_frames(&log)?;
            self.figures.seen_per_s = self.figures.seen_per_s.max(truth.seen_per_s(&log)?);
            self.figures.episodes += 1;
            self.figures.ticks += u64::from(log.through.0);
            self.figures.changes += log.changes().count() as u64;
            if let Some(ending) = log.ending {
                self.figures.reasons[ending.reason as usize] += 1;
            }
            truth.is_judged = true;
        }
        Ok(())
    }
}

/// The ticks that a message calls durable.
fn durable(message: &ServerMessage) -> Option<(Era, Tick)> {
    match message {
        ServerMessage::Running { era, through, .. }
        | ServerMessage::Archived { era, through, .. } => Some((*era, *through)),
        ServerMessage::Return(back) => Some((back.era, back.tick)),
        _ => None,
    }
}

impl std::ops::AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        self.episodes += other.episodes;
        self.ticks += other.ticks;
        self.changes += other.changes;
        self.handed_over += other.handed_over;
        self.frames += other.frames;
        for (own, other) in self.reasons.iter_mut().zip(other.reasons) {
            *own += other;
        }
        self.seen_per_s = self.seen_per_s.max(other.seen_per_s);
        self.stalled_us = self.stalled_us.max(other.stalled_us);
        self.late_us = self.late_us.max(other.late_us);
    }
}
