//! One match: the people of a group, or one person alone, from their linking up to the end of their episode.

use std::collections::BTreeSet;
use std::time::Duration;

use protocol::control::{EndReason, Timing, Upload};
use protocol::log::Header;
use protocol::{Controller, Seat, Tick};
use study::disconnect::Then;
use study::timeline::Bindings;
use study::{EnvFacts, PartnerKind, UnitAssignment};

use super::absence_rules::AbsenceRules;
use super::button_play::ButtonPlay;
use super::group::GroupId;
use super::hosting::Hosting;
use super::model_play::ModelPlay;
use super::path_table::PathTable;
use super::seat_network::SeatNetwork;
use super::seats::{Moment, Page, Seats};
use super::session::SessionId;
use super::signal_rates::SignalRates;
use super::timeouts::Timeout;
use crate::limits::Limits;

/// A page's report when it was ready to play.
#[derive(Clone, Debug, Default)]
pub(super) struct Ready {
    /// Round trip to each seat, microseconds; 0 for none.
    pub rtt_us: Vec<u32>,
    /// How many of a thousand packets of each seat were lost on the way to it; `None` if it was not measured.
    pub loss_permille: Vec<Option<u16>>,
}

/// People matched for an episode, and where it stands.
#[derive(Debug)]
pub(super) struct EpisodeState {
    /// Index of the env stage.
    pub stage: u16,
    /// The header of its file; without time and input delay until its pages are ready.
    pub header: Header,
    /// Facts of its environment, which stay while the study around it changes.
    pub facts: EnvFacts,
    /// The group that a lobby made; `None` for somebody who plays alone.
    pub group: Option<GroupId>,
    /// Its random assignment.
    pub draw: UnitAssignment,
    /// The values of names at its stage.
    pub bindings: Bindings,
    /// Seats that an AI partner has taken from their people.
    pub aided: BTreeSet<Seat>,
    /// The session of each seat; `None` for an AI partner.
    pub members: Vec<Option<SessionId>>,
    /// The input delay that the study allows, ticks: least and most.
    pub delay: (u8, u8),
    /// The phase of the episode.
    pub phase: Phase,
    /// Which ways datagrams travel between its pages.
    pub paths: PathTable,
    /// How often its pages send signals.
    pub signals: SignalRates,
    /// The language model that speaks with the person; `None` if there is none.
    pub model: Option<Box<ModelPlay>>,
    /// The buttons by which its people tell AI partners what to do.
    pub buttons: ButtonPlay,
}

/// The phase of an episode.
#[derive(Debug)]
pub(super) enum Phase {
    /// Pages load the module and link up.
    Linking {
        until_us: u64,
        ready: Vec<Option<Ready>>,
    },
    /// Tick 0 has its time.
    Playing(Box<Play>),
    /// The archive writes the end.
    Ending {
        reason: EndReason,
        /// True if the database knows the episode: it does not if the episode ends before its file was durable.
        open: bool,
        /// Seats whose people did not come back to it.
        lost: Vec<Seat>,
        /// Seats whose people were away at its end, and until when they might have come back, microseconds.
        away: Vec<(Seat, u64)>,
    },
}

/// A running episode.
#[derive(Debug)]
pub(super) struct Play {
    /// The time at which tick 0 is due, microseconds.
    pub t0_us: u64,
    /// Input delay of every seat, ticks.
    pub input_delay: u8,
    /// True if the episode file is durable, so that pages may start.
    pub open: bool,
    /// Ticks that are durable.
    pub through: Tick,
    /// The time at which `through` last grew, or that of tick 0.
    pub moved_us: u64,
    /// The state of its seats.
    pub seats: Seats,
    /// The delay of due ticks so far, milliseconds: the longest that pages have reported.
    pub delay_ms: u32,
    /// Uploads of each seat that the archive has not yet taken.
    pub flying: Vec<usize>,
    /// Seats of which uploads were dropped since, to be asked for again.
    pub dropped: Vec<bool>,
    /// Seats whose page has uploaded the end.
    pub finished: Vec<bool>,
    /// Once one page has uploaded the end: until when the others may.
    pub closing_us: Option<u64>,
    /// True if nobody has come back since a restart of the server.
    pub recovered: bool,
    /// How often the page of each seat simulated something else than the replica.
    pub diverged: Vec<u32>,
    /// How often the presence of each person has changed.
    pub presences: Vec<usize>,
    /// The reports of each seat's page on its network.
    pub network: Vec<SeatNetwork>,
    /// Bytes of notes of the pages of each seat.
    noted: Vec<usize>,
    /// The pace of a hosted world; `None` if pages step it.
    pub hosting: Option<Hosting>,
}

impl Play {
    pub(super) fn new(t0_us: u64, input_delay: u8, seats: Seats) -> Self {
        let count = seats.list.len();
        Self {
            t0_us,
            input_delay,
            open: false,
            through: Tick(0),
            moved_us: t0_us,
            seats,
            delay_ms: 0,
            flying: vec![0; count],
            dropped: vec![false; count],
            finished: vec![false; count],
            closing_us: None,
            recovered: false,
            diverged: vec![0; count],
            presences: vec![0; count],
            network: vec![SeatNetwork::default(); count],
            noted: vec![0; count],
            hosting: None,
        }
    }

    /// True if there is room for a note of the page of a seat; it then counts. Nobody's notes fill the disk.
    pub(super) fn has_room_for(
        &mut self,
        now_us: u64,
        seat: Seat,
        note: Option<&Timing>,
        limits: &Limits,
    ) -> bool {
        let elapsed_s = now_us.saturating_sub(self.t0_us) / 1_000_000;
        let elapsed_s = usize::try_from(elapsed_s).unwrap_or(usize::MAX);
        let more = limits.note_bytes_per_s.saturating_mul(elapsed_s);
        let most = limits.note_bytes.saturating_add(more);
        let noted = &mut self.noted[seat.index()];
        let len = note.map_or(0, estimate_len);
        let has_room = *noted + len <= most;
        if has_room {
            *noted += len;
        }
        has_room
    }

    /// Now, for the seats.
    pub(super) fn moment_at(&self, now_us: u64) -> Moment {
        Moment {
            now_us,
            through: self.through,
            moved_us: self.moved_us,
        }
    }

    /// Records how late ticks are, by a page's upload; it cannot be more than the time that has passed.
    pub(super) fn note_delay(&mut self, now_us: u64, upload: &Upload) {
        let delays = upload.timing.iter().flat_map(|timing| &timing.delays);
        let told_ms = delays.map(|(_, delay_ms)| *delay_ms).max().unwrap_or(0);
        let most_ms = now_us.saturating_sub(self.t0_us) / 1_000;
        let told_ms = u32::try_from(most_ms.min(u64::from(told_ms))).unwrap_or(u32::MAX);
        self.delay_ms = self.delay_ms.max(told_ms);
    }

    /// Returns the delay of due ticks for a page that comes back to a seat, milliseconds. Pages say how long it is, and
    /// the durable ticks say how long it can be at most: a tick whose inputs are there was due. Otherwise, a page that
    /// claims too much would make the other wait for ticks that are long past, until it counts as gone.
    pub(super) fn delay_for(&self, now_us: u64, seat: Seat, tick_hz: u16) -> u32 {
        let others = self.seats.playing().filter(|other| *other != seat);
        let own = others.map(|other| self.seats.list[other.index()].own.0);
        // Inputs are given ahead of their ticks.
        let ahead = u32::from(self.input_delay) + 1;
        let played = own.map(|own| own.saturating_sub(ahead)).max();
        let played = played.unwrap_or(0).max(self.through.0);
        let due_us = self.t0_us + u64::from(played) * 1_000_000 / u64::from(tick_hz.max(1));
        let most_ms = now_us.saturating_sub(due_us) / 1_000;
        (self.delay_ms).min(u32::try_from(most_ms).unwrap_or(u32::MAX))
    }

    /// Records archived ticks.
    pub(super) fn record_through(&mut self, now_us: u64, through: Tick) {
        if through > self.through {
            self.through = through;
            self.moved_us = now_us;
        }
    }
}

/// The bytes that a note takes in a log, roughly.
fn estimate_len(note: &Timing) -> usize {
    let pairs = [&note.holds, &note.delays].map(Vec::len);
    let pairs = pairs.into_iter().sum::<usize>()
        + note.rollbacks.len()
        + note.hidden.len()
        + note.screens.len();
    let wide = note.keys.len() + note.mispredictions.len();
    let single = note.rtt_us.len() + note.frames_us.len();
    16 + note.seen.len() + 5 * pairs + 16 * wide + 4 * single
}

impl EpisodeState {
    /// The people of the match and their seats.
    pub(super) fn people(&self) -> impl Iterator<Item = (Seat, SessionId)> + '_ {
        self.members
            .iter()
            .enumerate()
            .filter_map(|(seat, who)| Some((Seat(seat as u8), (*who)?)))
    }

    /// The kind of partners that have, or had, the other seats.
    pub(super) fn partners_of(&self, own: Seat) -> PartnerKind {
        let seats = (0..).map(Seat).zip(&self.header.controllers);
        let others: Vec<_> = seats.filter(|(seat, _)| *seat != own).collect();
        let is_ai = |(seat, controller): &(Seat, &Controller)| {
            matches!(controller, Controller::Ai { .. }) || self.aided.contains(seat)
        };
        let human = others.iter().any(|(_, of)| **of == Controller::Human);
        PartnerKind::of(human, others.iter().any(is_ai))
    }

    /// The number of a request to its language model, or of a press of a button, that comes next.
    pub(super) fn take_call_number(&mut self) -> u32 {
        match &mut self.model {
            Some(model) => model.take_number(),
            None => {
                let number = self.buttons.next;
                self.buttons.next += 1;
                number
            }
        }
    }

    /// The seat of a person.
    pub(super) fn seat_of(&self, who: SessionId) -> Option<Seat> {
        self.people()
            .find(|&(_, member)| member == who)
            .map(|(seat, _)| seat)
    }

    /// The session of a seat, if a person has it.
    pub(super) fn session_at(&self, seat: Seat) -> Option<SessionId> {
        self.members.get(seat.index()).copied().flatten()
    }

    /// Takes note that a page is ready; true once every page is.
    pub(super) fn handle_ready(&mut self, seat: Seat, said: Ready) -> bool {
        let Phase::Linking { ready, .. } = &mut self.phase else {
            return false;
        };
        if let Some(slot) = ready.get_mut(seat.index()) {
            *slot = Some(said);
        }
        self.members
            .iter()
            .zip(ready.iter())
            .all(|(who, ready)| who.is_none() || ready.is_some())
    }

    /// Returns for how long its pages have been getting ready, at most the time that they have, microseconds.
    pub(super) fn linked_for_us(&self, now_us: u64, within: Duration) -> u64 {
        match &self.phase {
            Phase::Linking { until_us, .. } => {
                (now_us + within.as_micros() as u64).saturating_sub(*until_us)
            }
            Phase::Playing(_) | Phase::Ending { .. } => 0,
        }
    }

    /// Fixes time, input delay and the keys of the pages, and begins to play. Gives the header of its file.
    pub(super) fn begin_play(
        &mut self,
        t0_us: u64,
        rules: AbsenceRules,
        keys: Vec<[u8; 32]>,
    ) -> Header {
        let input_delay = self.input_delay();
        (self.header.t0_us, self.header.input_delay) = (t0_us, input_delay);
        let mut seats = Seats::new(rules, &self.header.controllers);
        seats.begin_at(t0_us);
        seats.set_keys(&keys);
        self.header.keys = keys;
        let mut play = Play::new(t0_us, input_delay, seats);
        if let Phase::Linking { ready, .. } = &self.phase {
            let network = |said: &Option<Ready>| match said {
                Some(said) => SeatNetwork::new(&said.rtt_us, &said.loss_permille),
                None => SeatNetwork::default(),
            };
            play.network = ready.iter().map(network).collect();
        }
        self.phase = Phase::Playing(Box::new(play));
        self.begin_hosting(t0_us);
        self.header.clone()
    }

    /// People whose page is not ready.
    pub(super) fn unready_people(&self) -> Vec<SessionId> {
        let Phase::Linking { ready, .. } = &self.phase else {
            return Vec::new();
        };
        let people = self.people();
        people
            .filter(|(seat, _)| ready[seat.index()].is_none())
            .map(|(_, who)| who)
            .collect()
    }

    /// Returns the round trip between the pages of two people as they measured it before the start, microseconds: the
    /// longer one, or that of one page if the other was ready before it could measure; `None` if neither measured.
    pub(super) fn round_trip(&self, one: Seat, other: Seat) -> Option<u32> {
        let Phase::Linking { ready, .. } = &self.phase else {
            return None;
        };
        let told = |from: Seat, to: Seat| {
            let said = ready.get(from.index())?.as_ref()?;
            let rtt_us = said.rtt_us.get(to.index()).copied();
            rtt_us.filter(|rtt_us| *rtt_us > 0)
        };
        told(one, other).max(told(other, one))
    }

    /// How many of a thousand packets were lost between the pages of two people before the start, in the worse
    /// direction; `None` if a page heard nothing of the other, or did not measure it.
    pub(super) fn loss_permille(&self, one: Seat, other: Seat) -> Option<u16> {
        let Phase::Linking { ready, .. } = &self.phase else {
            return None;
        };
        let told = |by: Seat, of: Seat| {
            let said = ready.get(by.index())?.as_ref()?;
            said.loss_permille.get(of.index()).copied().flatten()
        };
        Some(told(one, other)?.max(told(other, one)?))
    }

    /// The input delay for the round trips that the pages measured: the worst pair decides for all, so that
    /// nobody has an advantage. Two ticks less than the way takes, because rollback hides those.
    fn input_delay(&self) -> u8 {
        let Phase::Linking { ready, .. } = &self.phase else {
            return self.delay.0;
        };
        let is_human =
            |seat: usize| matches!(self.header.controllers.get(seat), Some(Controller::Human));
        let worst_us = (ready.iter().flatten())
            .flat_map(|said| {
                said.rtt_us
                    .iter()
                    .enumerate()
                    .filter(|(seat, _)| is_human(*seat))
                    .map(|(_, rtt)| *rtt)
            })
            .max()
            .unwrap_or(0);
        let tick_us = 1_000_000 / u64::from(self.header.tick_hz.max(1));
        let ticks = u64::from(worst_us / 2).div_ceil(tick_us).saturating_sub(2);
        let (least, most) = self.delay;
        (ticks.min(u64::from(most)) as u8).max(least)
    }

    /// The time at which it must decide next even if nothing comes in, once it is settled; `None` if only an event does
    /// that.
    pub(super) fn next_timeout(&self, now_us: u64, stalled_us: u64) -> Option<Timeout> {
        let is_to_come = |(at_us, _): &Timeout| *at_us > now_us;
        let timeout = match &self.phase {
            Phase::Linking { until_us, .. } => Some((*until_us, "pages that are not ready")),
            Phase::Playing(play) => match play.closing_us {
                Some(closing_us) => Some((closing_us, "last uploads")),
                None => {
                    let stalls = Some((play.stalls_at(stalled_us), "no progress"));
                    let seats = play.seats.poll_timeout(play.moment_at(now_us));
                    let host = play.hosting.as_ref().filter(|_| play.open);
                    let host = host.and_then(|host| host.poll_timeout(&play.seats));
                    let model = self.model.as_ref().filter(|_| play.open);
                    let model = model.and_then(|model| model.poll_timeout(play.t0_us));
                    let others = seats.into_iter().chain(stalls.filter(is_to_come));
                    others.chain(host).chain(model.filter(is_to_come)).min()
                }
            },
            Phase::Ending { .. } => None,
        };
        // All that was due by now is done.
        timeout.filter(is_to_come)
    }

    /// Returns how a running episode ends now, if it does: all pages are done, the study ends it because of somebody
    /// who is away, nobody is left, or nothing moves.
    pub(super) fn end_due(&self, now_us: u64, stalled_us: u64) -> Option<EndReason> {
        let Phase::Playing(play) = &self.phase else {
            return None;
        };
        if let Some(closing_us) = play.closing_us {
            let done = |seat: Seat| {
                play.finished[seat.index()] || play.seats.list[seat.index()].page != Page::Plays
            };
            let all = self.people().all(|(seat, _)| done(seat));
            return (all || closing_us <= now_us).then_some(EndReason::Played);
        }
        if let Some(reason) = play.verdict(now_us) {
            let recovered = play.recovered;
            return Some(if recovered {
                EndReason::Technical
            } else {
                reason
            });
        }
        (play.stalls_at(stalled_us) <= now_us).then_some(EndReason::Technical)
    }
}

impl Play {
    /// Seats whose people were away for longer than the study grants, and did not come back.
    pub(super) fn lost_seats(&self) -> Vec<Seat> {
        let people = self.seats.people();
        let is_back = |page| matches!(page, Page::Waiting | Page::Loading | Page::Ready);
        let lost = people.filter(|(_, state)| state.verdict.is_some() && !is_back(state.page));
        lost.map(|(seat, _)| seat).collect()
    }

    /// The seats of people who are away and may still come back, and until when, microseconds.
    pub(super) fn granted_seats(&self) -> Vec<(Seat, u64)> {
        let people = self.seats.people();
        let away = people.filter(|(_, state)| state.verdict.is_none() && state.page == Page::Away);
        away.filter_map(|(seat, state)| Some((seat, state.gone?)))
            .collect()
    }

    /// Returns how the episode ends because of people who are away, if it does.
    fn verdict(&self, now_us: u64) -> Option<EndReason> {
        let verdicts = self
            .seats
            .all_seats()
            .filter_map(|(_, state)| state.verdict);
        for then in verdicts {
            match then {
                Then::PartnerLeft => return Some(EndReason::PartnerLeft),
                Then::Technical => return Some(EndReason::Technical),
                Then::Bot => {}
            }
        }
        let abandoned = self.seats.is_abandoned(now_us);
        abandoned.then_some(EndReason::PartnerLeft)
    }

    /// Returns when it ends because nothing moves. Nothing has to move while the others wait for somebody.
    fn stalls_at(&self, stalled_us: u64) -> u64 {
        let waits_until = self.seats.granted_until().unwrap_or(0);
        self.moved_us.max(waits_until) + self.seats.rules.choice_us + stalled_us
    }
}
