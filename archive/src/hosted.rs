//! An episode on a host: the archive makes the rows, from the choices that have arrived when a tick is played.
//!
//! A page sends choices, signed and numbered as other pages send inputs: the tick of a block is the number of its first
//! choice. A choice counts for the ticks after it in the file, so the file says who did what, signed by whose page.

mod views;

use std::io;

use env_core::view::SeatViewer;
use env_core::{Action, Spec};
use protocol::control::Upload;
use protocol::log::{self, Header, Record};
use protocol::{Controller, EnvWay, Seat, Tick};
use rollback::Presses;
use server_core::arbiter::{HostWork, HostedReport, ViewOrder};

use super::observations::{FreshObservations, OBSERVED_LEN, encode_observations};
use super::outcomes::note_outcome;
use super::repetition::find_repeat;
use super::replica::Replica;
use super::{AppendedUpload, Episode, Refused, controller_at};

/// The part of an episode that only a host has.
pub(super) struct Hosted {
    hands: Vec<HostedHand>,
    seats: Vec<SeatPage>,
    /// Records that are not durable, in their order.
    pending: Vec<Record>,
    fresh: FreshRows,
    /// The scores in the last record of an outcome.
    told_scores: Option<Vec<i64>>,
    /// Set if the world is too slow for its ticks: a sentence for researchers.
    pub(super) slow: Option<String>,
}

/// Rows that are in no record yet.
#[derive(Default)]
struct FreshRows {
    first: Tick,
    rows: Vec<Action>,
    hashes: Vec<u64>,
    rewards: Vec<u32>,
    /// The infos that the study names, with the tick in which they were given.
    infos: Vec<(Tick, String)>,
    /// The observations of each seat, from the state before the first row or after it on; empty if the study does not ask
    /// for them.
    observations: Vec<FreshObservations>,
    /// The outcomes of the steps, as far as they are new.
    outcomes: Vec<Record>,
    /// The views that pages got, in their order.
    views: Vec<Record>,
}

impl FreshRows {
    /// Keeps what a seat observed after some number of steps.
    fn keep_observation(&mut self, after: Tick, seat: usize, values: &[f32]) {
        if self.observations.len() <= seat {
            self.observations.resize_with(seat + 1, Default::default);
        }
        let fresh = &mut self.observations[seat];
        if fresh.bytes.is_empty() {
            (fresh.first, fresh.each) = (after, 4 * values.len());
        }
        let bytes = values.iter().flat_map(|value| value.to_le_bytes());
        fresh.bytes.extend(bytes);
    }

    /// True if what was observed needs a record of its own.
    fn is_heavy(&self) -> bool {
        let longest = self.observations.iter().map(|seat| seat.bytes.len()).max();
        longest.is_some_and(|len| len >= OBSERVED_LEN)
    }
}

/// The page of a seat, as far as views go.
#[derive(Default)]
struct SeatPage {
    viewer: SeatViewer,
    /// The tick of each choice that is in no view yet, and the number of the first.
    entered: Vec<Tick>,
    first: u32,
    /// The choices that are durable: those before this number.
    own: Tick,
    /// The tick at which words were last sent.
    told: Option<Tick>,
    /// Bytes of views that the log has of all pages of the seat.
    kept: usize,
}

/// The wishes of a person, as far as their choices have arrived.
#[derive(Clone, Debug)]
pub struct HostedHand {
    turns: bool,
    presses: Presses,
    /// In turns, the choice for the next tick.
    chosen: Option<Action>,
}

impl HostedHand {
    /// A hand that holds nothing.
    pub fn new(turns: bool, noop: Action) -> Self {
        Self {
            turns,
            presses: Presses::new(noop),
            chosen: None,
        }
    }

    /// Takes the next choice. Gives how many ticks are played before it enters, unless it changes nothing.
    /// In turns only the first choice counts, of those who act.
    pub fn take(&mut self, action: Action, spec: &Spec, acts: bool) -> Option<usize> {
        if !self.turns {
            return self.presses.add_press(action, spec);
        }
        let counts = acts && self.chosen.is_none() && usize::from(action) < spec.actions.len();
        counts.then(|| {
            self.chosen = Some(action);
            0
        })
    }

    /// The action of the next tick; `None` in turns if the person acts and has not chosen.
    pub fn next(&mut self, noop: Action, acts: bool) -> Option<Action> {
        match self.turns {
            false => Some(self.presses.next()),
            true if acts => self.chosen.take(),
            true => Some(noop),
        }
    }

    /// True if the next tick waits for this person.
    pub fn is_awaited(&self, acts: bool) -> bool {
        self.turns && acts && self.chosen.is_none()
    }
}

impl Hosted {
    pub(super) fn new(header: &Header, noop: Action) -> Option<Self> {
        let (turns, seats) = (header.rules.turns, header.controllers.len());
        (header.way == EnvWay::Host).then(|| Self {
            hands: vec![HostedHand::new(turns, noop); seats],
            seats: (0..seats).map(|_| SeatPage::default()).collect(),
            pending: Vec::new(),
            fresh: FreshRows::default(),
            told_scores: None,
            slow: None,
        })
    }
}

impl Episode {
    fn hosted(&mut self) -> (&mut Hosted, &mut Replica) {
        let hosted = self
            .hosted
            .as_mut()
            .expect("only an episode on a host gets its work");
        (hosted, &mut self.replica)
    }

    /// Ticks that are durable.
    pub fn durable_tick(&self) -> Tick {
        match self.hosted {
            Some(_) => Tick((self.rows.len() / self.header.controllers.len()) as u32),
            None => self.recorded_through(),
        }
    }

    pub(super) fn durable_own(&self, seat: Seat) -> Tick {
        match &self.hosted {
            Some(hosted) => hosted.seats[seat.index()].own,
            None => self.next_input(seat),
        }
    }

    /// Takes a record of a file that is read again, as when it was written.
    pub(super) fn apply_record(&mut self, record: &Record) {
        let Some(hosted) = &mut self.hosted else {
            return;
        };
        let acting = self.replica.world().acting();
        let (seats, spec) = (hosted.hands.len(), self.replica.spec());
        match record {
            Record::Inputs { seat, block, .. } => {
                // In turns a choice is used up by the next row, so that only those behind the last one count.
                let acts = acting >> seat.0 & 1 == 1;
                for &action in &block.inputs {
                    hosted.hands[seat.index()].take(action, spec, acts);
                }
            }
            Record::Actions { rows, .. } => {
                for _ in rows.chunks_exact(seats) {
                    for hand in &mut hosted.hands {
                        hand.next(spec.noop, true);
                    }
                }
            }
            Record::Change(change) => self.empty_hand(change.seat),
            Record::Viewed { seat, bytes, .. } => hosted.seats[seat.index()].kept += bytes.len(),
            _ => {}
        }
    }

    /// All that was read is durable.
    pub(super) fn settle_own(&mut self) {
        for seat in (0..).map(Seat).take(self.count_seats()) {
            let own = self.next_input(seat);
            if let Some(hosted) = &mut self.hosted {
                let page = &mut hosted.seats[seat.index()];
                (page.own, page.first) = (own, own.0);
            }
        }
    }

    /// Somebody else has a seat: nothing is pressed there, and their page counts its choices from here.
    pub(super) fn empty_hand(&mut self, seat: Seat) {
        let own = self.next_input(seat);
        let (turns, noop) = (self.header.rules.turns, self.replica.spec().noop);
        if let Some(hosted) = &mut self.hosted {
            hosted.hands[seat.index()] = HostedHand::new(turns, noop);
            let page = &mut hosted.seats[seat.index()];
            *page = SeatPage {
                own,
                first: own.0,
                kept: page.kept,
                ..SeatPage::default()
            };
        }
    }

    /// Takes the choices of an upload: they count from the next tick on. They are durable with the next flush.
    ///
    /// # Errors
    /// [`Refused`]; nothing is then taken, except after [`Refused::Disk`].
    pub(super) fn append_choices(
        &mut self,
        seat: Seat,
        upload: &Upload,
    ) -> Result<AppendedUpload, Refused> {
        if !self.listens_to(seat, upload.life) {
            let last_words = self.last_words(seat, upload);
            let last_words = self.with_room(seat, last_words)?;
            self.flush()?;
            self.append(last_words)?;
            return Ok(self.describe_append(seat));
        }
        let said = self.new_inputs(seat, upload)?;
        let notes = self.with_room(seat, self.new_notes(seat, upload))?;
        self.pages[seat.index()].is_back = true;
        if let (Some(mut said), Some(block)) = (said, upload.block.clone()) {
            said.forget_before(Tick(u32::MAX));
            self.inputs[seat.index()] = Some(said);
            self.close_rows();
            let (next, acting) = (self.recorded_through(), self.replica.world().acting());
            let (hosted, replica) = self.hosted();
            let (hand, page) = (
                &mut hosted.hands[seat.index()],
                &mut hosted.seats[seat.index()],
            );
            for &action in &block.inputs {
                let acts = acting >> seat.0 & 1 == 1;
                let before = hand.take(action, replica.spec(), acts).unwrap_or(0);
                page.entered.push(Tick(next.0 + before as u32));
            }
            let life = upload.life;
            hosted.pending.push(Record::Inputs { seat, life, block });
        }
        let last =
            upload.ended.is_some_and(|end| self.may_end_at(end)) && self.ending_so_far().is_some();
        if !notes.is_empty() || last {
            self.flush()?;
            self.append(notes)?;
        }
        Ok(AppendedUpload {
            last,
            ..self.describe_append(seat)
        })
    }

    /// Does a piece of work of a host.
    pub fn host(&mut self, work: HostWork) -> HostedReport {
        let failed = HostedReport {
            failed: true,
            ..HostedReport::default()
        };
        if self.hosted.is_none() || self.broken || self.ending.is_some() {
            return failed;
        }
        let slow = work.slow_step_us.map(|mean_us| self.tell_slow(mean_us));
        self.hosted().0.slow.clone_from(&slow);
        let ready = slow.map_or(Ok(()), |slow| Err(io::Error::other(slow)));
        let done = ready.and_then(|()| self.host_steps(&work)).and_then(|()| {
            let views = work.views.iter();
            let view = |order: &ViewOrder| (order.seat, self.view(order, work.tells_rewards));
            let views: Vec<_> = views.map(view).collect();
            self.keep_views(&views);
            let points = work.points.iter();
            let points: Vec<_> = points.map(|order| self.point(order)).collect();
            if self.replica.world().fault().is_some() {
                return Err(io::Error::other("the environment was stopped"));
            }
            if work.flushes || self.ending_so_far().is_some() {
                self.flush()?;
            }
            Ok((views, points))
        });
        match done {
            Ok((views, points)) => HostedReport {
                played: self.recorded_through(),
                through: self.durable_tick(),
                own: (0..)
                    .map(Seat)
                    .take(self.count_seats())
                    .map(|seat| self.durable_own(seat))
                    .collect(),
                views,
                points,
                partial: self.partial_views(),
                took_us: 0,
                over: self.ending_so_far().is_some(),
                failed: false,
            },
            Err(error) => {
                tracing::error!(%error, "an episode on a host cannot go on");
                // What was played until then is kept.
                if let Err(error) = self.flush() {
                    tracing::error!(%error, "the disk failed under an episode");
                }
                failed
            }
        }
    }

    /// Says that the steps of the world take too long.
    fn tell_slow(&self, mean_us: u64) -> String {
        let tick_ms = 1_000 / u64::from(self.header.tick_hz.max(1));
        format!(
            "the environment is too slow: a step takes {} ms on average, and a tick has {tick_ms} ms; make the step \
             faster, lower `tick_hz`, or let fewer people play at once",
            mean_us / 1_000
        )
    }

    fn host_steps(&mut self, work: &HostWork) -> io::Result<()> {
        if let Some(at_us) = work.paced_us.filter(|_| work.steps) {
            self.close_rows();
            let tick = self.recorded_through();
            self.hosted().0.pending.push(Record::Paced { tick, at_us });
        }
        let turns = self.header.rules.turns;
        while work.steps && self.ending_so_far().is_none() {
            let Some(row) = self.next_row() else { break };
            self.host_step(&row, work.keeps_observations)?;
            if !turns {
                break;
            }
        }
        Ok(())
    }

    /// Returns the row of the next tick; `None` if somebody has not yet chosen, or no person plays.
    fn next_row(&mut self) -> Option<Vec<Action>> {
        let (acting, next) = (self.replica.world().acting(), self.recorded_through());
        let seats: Vec<Seat> = (0..).map(Seat).take(self.count_seats()).collect();
        let is_person = |seat: &Seat| {
            *controller_at(&self.header, &self.changes, *seat, next) == Controller::Human
        };
        let people: Vec<bool> = seats.iter().map(is_person).collect();
        let (hosted, replica) = self.hosted();
        let acts = |seat: Seat| acting >> seat.0 & 1 == 1;
        let is_awaited = |seat: &Seat| {
            people[seat.index()] && hosted.hands[seat.index()].is_awaited(acts(*seat))
        };
        if !people.contains(&true) || seats.iter().any(is_awaited) {
            return None;
        }
        let noop = replica.spec().noop;
        let mut row = Vec::new();
        for seat in seats {
            let hand = &mut hosted.hands[seat.index()];
            let of_partner = replica
                .chosen_action(seat)
                .filter(|_| !people[seat.index()]);
            let action = of_partner.or_else(|| hand.next(noop, acts(seat)));
            row.push(action.unwrap_or(noop));
        }
        Some(row)
    }

    fn host_step(&mut self, row: &[Action], keeps_observations: bool) -> io::Result<()> {
        let first = self.recorded_through();
        let (hosted, replica) = self.hosted();
        if hosted.fresh.rows.is_empty() {
            hosted.fresh.first = first;
        }
        if keeps_observations && first == Tick(0) {
            for seat in 0..row.len() {
                replica.observe_digest(seat);
                hosted
                    .fresh
                    .keep_observation(first, seat, replica.observation());
            }
        }
        replica.step(row).map_err(io::Error::other)?;
        hosted.fresh.rows.extend(row);
        let infos = replica.world().infos();
        hosted.fresh.infos.extend(infos.map(|json| (first, json)));
        let outcome = note_outcome(first, replica, &mut hosted.told_scores);
        hosted.fresh.outcomes.extend(outcome);
        for seat in 0..row.len() {
            hosted.fresh.hashes.push(replica.observe_digest(seat));
            if keeps_observations {
                let after = Tick(first.0 + 1);
                hosted
                    .fresh
                    .keep_observation(after, seat, replica.observation());
            }
            hosted
                .fresh
                .rewards
                .push(replica.outcome().rewards[seat].to_bits());
        }
        let is_long = hosted.fresh.rows.len() >= super::upload::ROWS_PER_RECORD * row.len();
        if is_long || hosted.fresh.is_heavy() {
            self.close_rows();
        }
        Ok(())
    }

    /// Puts the rows so far into records, so that later records come after them.
    fn close_rows(&mut self) {
        let (hosted, _) = self.hosted();
        let FreshRows {
            first,
            rows,
            hashes,
            rewards,
            infos,
            observations,
            outcomes,
            views,
        } = std::mem::take(&mut hosted.fresh);
        if rows.is_empty() {
            // The first picture, or one for a page that came back.
            hosted.pending.extend(views);
            return;
        }
        let records = self.record_actions(first, rows);
        let (hosted, _) = self.hosted();
        hosted.pending.extend(records);
        hosted.pending.push(Record::Observed {
            first,
            hashes,
            rewards,
        });
        let infos = infos.into_iter();
        let infos = infos.map(|(tick, json)| Record::Infos { tick, json });
        hosted.pending.extend(infos);
        hosted.pending.extend(outcomes);
        hosted.pending.extend(encode_observations(observations));
        // Behind the rows, so that no view is of a tick that a crash has cut off.
        hosted.pending.extend(views);
    }

    /// Makes everything durable that has arrived and was played so far; does nothing for other episodes.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if self.hosted.is_none() {
            return Ok(());
        }
        self.close_rows();
        let pending = std::mem::take(&mut self.hosted().0.pending);
        self.append(pending)?;
        for seat in (0..).map(Seat).take(self.count_seats()) {
            let own = self.next_input(seat);
            self.hosted().0.seats[seat.index()].own = own;
        }
        Ok(())
    }

    /// Runs a hosted world again after the end, with the same seed and actions, and writes down whether everything was
    /// equal: digests, observations and rewards.
    ///
    /// # Errors
    /// The error of the disk.
    pub fn repeat_steps(&mut self) -> io::Result<()> {
        if self.hosted.is_none() || self.ending.is_none() {
            return Ok(());
        }
        let log = log::read_log(&self.file.read()?).map_err(io::Error::other)?;
        if log.end_repetition().is_some() {
            return Ok(());
        }
        let stored = self.replica.take_stored();
        let differs = find_repeat(&log, stored);
        self.append(vec![Record::Repeated { differs }])
    }
}

#[cfg(test)]
mod tests;
