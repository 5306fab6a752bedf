//! Seals over inputs: this page seals what its person plays, about once a second, and keeps what others sent it, with
//! their seals. If the server has other inputs of somebody, the seal proves it.
//!
//! This module must not know of sockets and of the simulation.

use std::collections::VecDeque;

use env_core::Action;
use protocol::chain::SigningKey;
use protocol::control::Recount;
use protocol::datagram::{Datagram, TICK_LIMIT};
use protocol::seal::{Seal, Transcript};
use protocol::{Era, Life, Seat, Tick};

/// Inputs of each other person that are kept: twenty seconds at 60 Hz.
const KEPT_INPUTS: usize = 1_200;
/// Seals of each other person that are kept.
const KEPT_SEALS: usize = 24;
/// Proofs to try for each life of somebody's seat: a dishonest page may also seal inputs that it sent to nobody.
const PROOFS: u32 = 3;
/// Time between two seals.
const SEAL_US: u64 = 1_000_000;

/// The seals of one page in one episode.
pub(crate) struct Seals {
    key: SigningKey,
    episode: String,
    era: Era,
    own: Seat,
    life: Life,
    transcript: Transcript,
    /// When the next seal is due, page clock, and up to where the last one went.
    due_us: u64,
    sealed: Tick,
    others: Vec<Other>,
}

/// The inputs that somebody has sent this page in one life of their seat.
#[derive(Default)]
struct Other {
    life: Life,
    /// The tick after the last of `told`; `None` before the first packet.
    end: Option<u32>,
    told: VecDeque<Told>,
    seals: VecDeque<Seal>,
    /// The first tick for which the server has something else.
    differs: Option<Tick>,
    /// How many proofs went out, and the end of the seal of the last one.
    recounts: u32,
    recounted: Tick,
}

/// An input that somebody has sent this page.
#[derive(Clone, Copy)]
struct Told {
    input: Action,
    /// True if only the server has sent it so far.
    is_from_server: bool,
}

impl Seals {
    /// Creates seals without any inputs.
    pub(crate) fn new(key: SigningKey, episode: &str, era: Era, own: Seat, seats: usize) -> Self {
        Self {
            key,
            episode: episode.into(),
            era,
            own,
            life: Life(0),
            transcript: Transcript::new(episode, own, Life(0), Tick(0)),
            due_us: 0,
            sealed: Tick(0),
            others: (0..seats).map(|_| Other::default()).collect(),
        }
    }

    /// The page plays in this life of its seat from a tick on.
    pub(crate) fn begin_at(&mut self, first: Tick, life: Life) {
        self.life = life;
        self.transcript = Transcript::new(&self.episode, self.own, life, first);
        self.sealed = first;
    }

    /// The first own input that is not under the transcript.
    pub(crate) fn next_needed(&self) -> Tick {
        self.transcript.next()
    }

    /// Takes the next own inputs.
    pub(crate) fn add_inputs(&mut self, inputs: impl Iterator<Item = Action>) {
        self.transcript.extend(inputs);
    }

    /// The seal that is due, as a packet.
    pub(crate) fn poll_seal(&mut self, now_us: u64) -> Option<Vec<u8>> {
        let through = self.transcript.next();
        if now_us < self.due_us || through <= self.sealed {
            return None;
        }
        (self.due_us, self.sealed) = (now_us + SEAL_US, through);
        let seal = Seal {
            era: self.era,
            from: self.own,
            life: self.life,
            through,
            signature: self.transcript.sign(&self.key),
        };
        Some(seal.encode().to_vec())
    }

    /// Keeps the sender's inputs from a packet.
    pub(crate) fn record_packet(&mut self, from: Seat, packet: &Datagram) {
        let Some(other) = self.others.get_mut(from.index()) else {
            return;
        };
        if packet.era != self.era || packet.from != from {
            return;
        }
        if other.life != packet.life {
            *other = Other {
                life: packet.life,
                ..Other::default()
            };
        }
        other.add(packet.first.0, &packet.inputs, false);
    }

    /// Takes a packet that may be a seal of its sender; true if it is one.
    pub(crate) fn take_seal(&mut self, from: Seat, bytes: &[u8]) -> bool {
        let Some(seal) = Seal::decode(bytes) else {
            return false;
        };
        let other = self.others.get_mut(from.index());
        if let Some(other) = other
            && (seal.era, seal.from, seal.life) == (self.era, from, other.life)
        {
            if other.seals.len() == KEPT_SEALS {
                other.seals.pop_front();
            }
            other.seals.push_back(seal);
        }
        true
    }

    /// Compares the server's inputs of somebody with those that they sent this page, and keeps those that they have not
    /// sent: they no longer send them once this page has them.
    pub(crate) fn compare(&mut self, seat: Seat, life: Life, first: Tick, inputs: &[Action]) {
        let other = self.others.get_mut(seat.index());
        if let Some(other) = other.filter(|other| other.life == life) {
            other.add(first.0, inputs, true);
        }
    }

    /// Returns the next proof that somebody sent this page something else than the server.
    pub(crate) fn poll_recount(&mut self) -> Option<Recount> {
        let seats = (0..).map(Seat).zip(&mut self.others);
        let mut found = seats.filter_map(|(seat, other)| Some((seat, other.prove()?, other)));
        let (seat, (first, seal), other) = found.next()?;
        (other.recounts, other.recounted) = (other.recounts + 1, seal.through);
        let inputs = (first.0..seal.through.0).map_while(|tick| other.at(tick));
        Some(Recount {
            seat,
            life: other.life,
            first,
            inputs: inputs.collect(),
            signature: seal.signature,
        })
    }
}

impl Other {
    /// Keeps inputs from a tick on. Inputs after a gap are not kept: if a page sent more than this page has, in packets
    /// that are lost, it sends them again.
    fn add(&mut self, first: u32, inputs: &[Action], is_from_server: bool) {
        let mut end = *self.end.get_or_insert(first);
        if first > end || first >= TICK_LIMIT {
            return;
        }
        for (tick, &input) in (first..).zip(inputs) {
            let told = Told {
                input,
                is_from_server,
            };
            match self.slot(tick) {
                None if tick == end => {
                    self.told.push_back(told);
                    end += 1;
                    self.end = Some(end);
                }
                // So long ago that it was forgotten.
                None => {}
                Some(known) if known.is_from_server == is_from_server => {}
                Some(known) => {
                    let differs = known.input != input;
                    if known.is_from_server {
                        *known = told;
                    }
                    if differs {
                        let before = self.differs.unwrap_or(Tick(tick));
                        self.differs = Some(before.min(Tick(tick)));
                    }
                }
            }
        }
        while self.told.len() > KEPT_INPUTS {
            self.told.pop_front();
        }
    }

    fn slot(&mut self, tick: u32) -> Option<&mut Told> {
        let index = self.index(tick)?;
        self.told.get_mut(index)
    }

    fn index(&self, tick: u32) -> Option<usize> {
        let first = self.end?.checked_sub(self.told.len() as u32)?;
        Some(tick.checked_sub(first)? as usize)
    }

    /// The input that was sent for a tick.
    fn at(&self, tick: u32) -> Option<Action> {
        self.told.get(self.index(tick)?).map(|told| told.input)
    }

    /// The first tick that differs, and the first seal over it that was not tried.
    fn prove(&self) -> Option<(Tick, Seal)> {
        let first = self.differs.filter(|_| self.recounts < PROOFS)?;
        let after = first.max(self.recounted);
        self.at(first.0)?;
        let end = self.end?;
        let mut seals = self.seals.iter();
        let seal = seals.find(|seal| seal.through > after && seal.through.0 <= end)?;
        Some((first, *seal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EPISODE: &str = "e";
    const OTHER: Seat = Seat(1);

    fn key() -> SigningKey {
        SigningKey::from_bytes(&[3; 32])
    }

    fn seals(own: u8) -> Seals {
        Seals::new(key(), EPISODE, Era(7), Seat(own), 2)
    }

    fn packet(first: u32, inputs: &[Action]) -> Datagram {
        Datagram {
            era: Era(7),
            from: OTHER,
            life: Life(0),
            delay_ms: 0,
            changes: 0,
            first: Tick(first),
            inputs: inputs.to_vec(),
            have: vec![Tick(0); 2],
            sent_ms: 0,
            echo: None,
            done: false,
        }
    }

    #[test]
    fn a_seal_goes_out_each_second_in_which_something_was_played() {
        let mut own = seals(0);
        assert_eq!(own.poll_seal(0), None);
        own.add_inputs([1, 2].into_iter());
        assert_eq!(own.next_needed(), Tick(2));
        let seal = Seal::decode(&own.poll_seal(5).unwrap()).unwrap();
        assert_eq!((seal.through, seal.from), (Tick(2), Seat(0)));
        own.add_inputs([3].into_iter());
        assert_eq!(own.poll_seal(SEAL_US), None);
        assert!(own.poll_seal(SEAL_US + 5).is_some());
        assert_eq!(own.poll_seal(9 * SEAL_US), None);
    }

    #[test]
    fn whoever_tells_the_server_something_else_is_proven_by_their_own_seal() {
        let (mut theirs, mut own) = (seals(1), seals(0));
        let told = [1, 2, 3, 4, 5];
        theirs.add_inputs(told.into_iter());
        own.record_packet(OTHER, &packet(0, &told[..3]));
        own.record_packet(OTHER, &packet(2, &told[2..]));
        // The missing inputs in between are sent again.
        own.record_packet(OTHER, &packet(9, &[1]));
        own.compare(OTHER, Life(0), Tick(0), &[1, 2]);
        assert_eq!(own.poll_recount(), None);
        own.compare(OTHER, Life(0), Tick(1), &[2, 9, 4]);
        assert_eq!(own.poll_recount(), None, "no seal has come yet");
        assert!(own.take_seal(OTHER, &theirs.poll_seal(0).unwrap()));
        let recount = own.poll_recount().unwrap();
        assert_eq!((recount.seat, recount.first), (OTHER, Tick(2)));
        assert_eq!(recount.inputs, [3, 4, 5]);
        assert_eq!(own.poll_recount(), None, "once is enough");
        let mut transcript = Transcript::new(EPISODE, OTHER, Life(0), Tick(0));
        transcript.extend([1, 2].into_iter().chain(recount.inputs));
        let public = key().verifying_key().to_bytes();
        assert!(transcript.is_signed(&public, &recount.signature));
    }

    #[test]
    fn whoever_lies_before_and_after_the_server_has_helped_is_proven_all_the_same() {
        let (mut theirs, mut own) = (seals(1), seals(0));
        let (told, server) = ([1, 2, 3, 4, 5, 6, 7], [1, 2, 9, 4, 5, 9, 7]);
        theirs.add_inputs(told.into_iter());
        own.record_packet(OTHER, &packet(0, &told[..3]));
        // It waits for the next inputs, and gets them from the server; so nobody else sends them.
        own.compare(OTHER, Life(0), Tick(0), &server[..5]);
        own.record_packet(OTHER, &packet(5, &told[5..]));
        own.compare(OTHER, Life(0), Tick(5), &server[5..]);
        assert!(own.take_seal(OTHER, &theirs.poll_seal(0).unwrap()));
        let recount = own.poll_recount().unwrap();
        assert_eq!(
            (recount.first, &recount.inputs[..]),
            (Tick(2), &[3, 4, 5, 6, 7][..])
        );
    }

    #[test]
    fn what_somebody_tells_after_the_server_is_kept_as_they_told_it() {
        let (mut theirs, mut own) = (seals(1), seals(0));
        theirs.add_inputs([1, 2, 3, 4].into_iter());
        own.compare(OTHER, Life(0), Tick(0), &[1, 9, 3]);
        own.record_packet(OTHER, &packet(1, &[2, 3, 4]));
        assert!(own.take_seal(OTHER, &theirs.poll_seal(0).unwrap()));
        let recount = own.poll_recount().unwrap();
        assert_eq!((recount.first, recount.inputs), (Tick(1), vec![2, 3, 4]));
    }

    #[test]
    fn a_seal_over_what_nobody_was_told_does_not_use_up_the_proof() {
        let (mut theirs, mut own) = (seals(1), seals(0));
        theirs.add_inputs([5, 5].into_iter());
        own.record_packet(OTHER, &packet(0, &[1, 2]));
        assert!(own.take_seal(OTHER, &theirs.poll_seal(0).unwrap()));
        own.compare(OTHER, Life(0), Tick(0), &[9, 2]);
        assert_eq!(own.poll_recount().unwrap().inputs, [1, 2]);
        assert_eq!(own.poll_recount(), None);
        let told = [1, 2, 3, 4, 5];
        let mut next = seals(1);
        for end in 3..=told.len() {
            let known = next.next_needed().0 as usize;
            next.add_inputs(told[known..end].iter().copied());
            own.record_packet(OTHER, &packet(end as u32 - 1, &told[end - 1..end]));
            let seal = next.poll_seal(end as u64 * SEAL_US).unwrap();
            assert!(own.take_seal(OTHER, &seal));
            let is_tried = own
                .poll_recount()
                .is_some_and(|of| of.inputs == told[..end]);
            // A few are enough.
            assert_eq!(is_tried, end < 5, "{end}");
        }
    }

    #[test]
    fn what_is_no_seal_is_left_to_others_and_a_foreign_one_is_dropped() {
        let mut own = seals(0);
        assert!(!own.take_seal(OTHER, &[5, 1, 2]));
        let mut foreign = seals(0);
        foreign.add_inputs([1].into_iter());
        let bytes = foreign.poll_seal(0).unwrap();
        assert!(
            own.take_seal(OTHER, &bytes),
            "of another seat than it came from"
        );
        assert!(own.others[1].seals.is_empty());
    }
}
