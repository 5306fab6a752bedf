//! Checks of an episode on a host: that every row follows from what people's own pages have said, and that the world gives
//! the recorded observations and rewards again.

use std::collections::{BTreeMap, VecDeque};
use std::io;

use archive::{
    HostedHand, RecordedObservations, Replica, controller_at, find_repeat, hash_observation,
    open_past_episode, replay_from,
};
use env_core::Spec;
use protocol::change::Change;
use protocol::log::{Log, Record};
use protocol::{Controller, EnvWay, Seat, Tick};

use super::EpisodeVerdict;
use super::inputs::Pages;

/// The choices that the pages of the seats have said, up to some record of the log.
struct Hands<'a> {
    log: &'a Log,
    spec: &'a Spec,
    changes: Vec<Change>,
    /// In ticks, what each person holds and has pressed.
    hands: Vec<HostedHand>,
    /// In turns, the choices that no row has used up.
    said: Vec<VecDeque<u16>>,
    /// True for a seat of which choices were erased, or whose person withdrew: nothing more is known of it.
    erased: Vec<bool>,
    through: u32,
}

/// Refuses the first action of a person that does not follow from what their own page has said, and the first block that
/// does not belong to its page.
pub(super) fn check_choices(log: &Log, spec: &Spec) -> Result<(), String> {
    let mut pages = Pages::new(log)?;
    let seats = log.count_seats();
    let mut hands = Hands {
        log,
        spec,
        changes: Vec::new(),
        hands: vec![HostedHand::new(false, spec.noop); seats],
        said: vec![VecDeque::new(); seats],
        erased: (0..)
            .map(|seat| log.header.is_withdrawn(Seat(seat)))
            .take(seats)
            .collect(),
        through: 0,
    };
    for record in &log.records {
        match record {
            Record::Inputs { seat, life, block } => {
                pages.accept_block(*seat, *life, block)?;
                let at = seat.index();
                hands.said[at].extend(&block.inputs);
                for &action in &block.inputs {
                    hands.hands[at].take(action, spec, true);
                }
            }
            Record::Erased {
                seat,
                life,
                first,
                len,
                leaf,
                signature,
            } => {
                pages.hear_erased(*seat, *life, (*first, *len), *leaf, signature)?;
                hands.erased[seat.index()] = true;
            }
            Record::Actions { rows, .. } => hands.play(rows)?,
            Record::Change(change) => {
                pages.apply_change(change)?;
                hands.change(change);
            }
            _ => {}
        }
    }
    pages.check_signed()
}

/// Refuses recorded observations that are not those whose hashes are recorded.
pub(super) fn check_observations(log: &Log, spec: &Spec) -> Result<(), String> {
    let observations = RecordedObservations::read(log, spec.observation_len())?;
    if observations.is_empty() {
        return Ok(());
    }
    for record in &log.records {
        let Record::Observed { first, hashes, .. } = record else {
            continue;
        };
        for (after, row) in (first.0 + 1..).zip(hashes.chunks_exact(log.count_seats())) {
            for (seat, hash) in (0..).map(Seat).zip(row) {
                let values = observations.get(seat, Tick(after));
                if values.is_some_and(|values| hash_observation(&values) != *hash) {
                    let seat = seat.0;
                    return Err(format!(
                        "seat {seat}: the observation after {after} ticks does not have the recorded hash"
                    ));
                }
            }
        }
    }
    Ok(())
}

impl Hands<'_> {
    fn play(&mut self, rows: &[u16]) -> Result<(), String> {
        for row in rows.chunks_exact(self.log.count_seats()) {
            let tick = Tick(self.through);
            for (seat, &played) in (0..).map(Seat).zip(row) {
                let controller = controller_at(&self.log.header, &self.changes, seat, tick);
                let is_person = *controller == Controller::Human;
                let follows = self.follows(seat, played);
                if is_person && !self.erased[seat.index()] && !follows {
                    let (tick, seat) = (tick.0, seat.0);
                    return Err(format!(
                        "tick {tick}: seat {seat}: {played}, which does not follow from what its own page has said"
                    ));
                }
            }
            self.through += 1;
        }
        Ok(())
    }

    /// True if an action follows from the choices; uses the choice up.
    fn follows(&mut self, seat: Seat, played: u16) -> bool {
        let (noop, said) = (self.spec.noop, &mut self.said[seat.index()]);
        if !self.log.header.rules.turns {
            return self.hands[seat.index()].next(noop, true) == Some(played);
        }
        // A choice out of turn does not count; silence while others act does not count either.
        let Some(at) = said.iter().position(|said| *said == played) else {
            return played == noop;
        };
        if played != noop || at == 0 {
            said.drain(..=at);
        }
        true
    }

    fn change(&mut self, change: &Change) {
        let at = change.seat.index();
        self.hands[at] = HostedHand::new(false, self.spec.noop);
        self.said[at].clear();
        self.changes.push(change.clone());
    }
}

/// Runs the world of a host again, and compares what each seat observed and earned.
pub(super) fn compare_observations(
    log: &Log,
    stored: impl Fn(&str) -> io::Result<Vec<u8>> + Send + 'static,
) -> EpisodeVerdict {
    if log.header.way == EnvWay::Module {
        return EpisodeVerdict::Equal;
    }
    match find_repeat(log, Box::new(stored)) {
        None => EpisodeVerdict::Equal,
        Some(tick) => {
            let because = format!("run again, the world differs after {} ticks", tick.0);
            judge(log, because)
        }
    }
}

/// Counts the events of the last tick, by their names.
pub(super) fn count_events(replica: &Replica, events: &mut BTreeMap<String, u32>) {
    for event in &replica.outcome().events {
        let name = replica.spec().events.get(usize::from(event.kind));
        *events.entry(name.cloned().unwrap_or_default()).or_default() += 1;
    }
}

/// Counts the events of an episode as its log has them; a log of an older version has none.
pub(super) fn count_recorded_events(
    log: &Log,
    stored: impl Fn(&str) -> io::Result<Vec<u8>> + Send + Clone + 'static,
) -> BTreeMap<String, u32> {
    let mut events = BTreeMap::new();
    let Ok((replica, _)) = open_past_episode(log, stored) else {
        return events;
    };
    let count = |_: &[u16], replica: &mut Replica| count_events(replica, &mut events);
    match replay_from(replica, log, count) {
        Ok(_) => events,
        Err(_) => BTreeMap::new(),
    }
}

/// Returns the verdict on an episode whose world comes out differently. If it was on a host and also differed right
/// after its end, it was recorded, and nothing more was ever claimed about it; the same holds if it has not ended.
pub(super) fn judge(log: &Log, because: String) -> EpisodeVerdict {
    let is_over = log.ending.is_some();
    match (log.header.way, log.end_repetition()) {
        (EnvWay::Host, Some(Some(_))) => EpisodeVerdict::Recorded(because),
        (EnvWay::Host, None) if !is_over => EpisodeVerdict::Recorded(because),
        _ => EpisodeVerdict::Differs(because),
    }
}
