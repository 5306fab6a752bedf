//! What must reach the archive: confirmed rows, digests and timing, kept until the server says they are durable.
//!
//! This module must not know of sockets: it makes uploads and is told what was archived.

use env_core::Action;
use protocol::control::{KeyEvent, Timing, Upload};
use protocol::{Era, Tick};

/// The most ticks of one upload, so that a long absence of the server makes several messages and not one too long.
const TICKS_AT_ONCE: u32 = 4_096;
/// The most key events of one upload, for the same reason.
const KEYS_AT_ONCE: usize = 2_048;

/// The memory of one episode.
#[derive(Debug)]
pub struct Recorder {
    era: Era,
    seats: usize,
    rows: Vec<Action>,
    digests: Vec<(Tick, u64)>,
    ended: Option<Tick>,
    sent: Tick,
    sent_digests: usize,
    end_sent: bool,
    archived: Tick,
    timing: Timing,
    flying: Vec<(Tick, Timing)>,
}

impl Recorder {
    /// An empty memory of an episode.
    pub fn new(era: Era, seats: u8) -> Self {
        Self {
            era,
            seats: usize::from(seats),
            rows: Vec::new(),
            digests: Vec::new(),
            ended: None,
            sent: Tick(0),
            sent_digests: 0,
            end_sent: false,
            archived: Tick(0),
            timing: Timing::default(),
            flying: Vec::new(),
        }
    }

    /// Takes what was confirmed since the last call, from all of it.
    pub fn absorb(&mut self, rows: &[Action], digests: &[(Tick, u64)], ended: Option<Tick>) {
        self.rows
            .extend_from_slice(rows.get(self.rows.len()..).unwrap_or_default());
        self.digests
            .extend_from_slice(digests.get(self.digests.len()..).unwrap_or_default());
        self.ended = ended;
    }

    /// What is to be told of time and network, open for additions.
    pub fn timing(&mut self) -> &mut Timing {
        &mut self.timing
    }

    /// Takes a key event whose frame was presented, or that had none.
    pub fn key(&mut self, event: KeyEvent) {
        self.timing.keys.push(event);
    }

    /// The next upload, if there is something to tell.
    pub fn upload(&mut self) -> Option<Upload> {
        let confirmed = Tick((self.rows.len() / self.seats) as u32);
        let through = Tick(confirmed.0.min(self.sent.0 + TICKS_AT_ONCE));
        let whole = through == confirmed;
        let ended = self.ended.filter(|_| whole && !self.end_sent);
        if through == self.sent && ended.is_none() && self.timing == Timing::default() {
            return None;
        }
        let first = self.sent;
        let timing = self.take_timing();
        let digests = self.digests[self.sent_digests..]
            .iter()
            .take_while(|(tick, _)| *tick <= through);
        let digests: Vec<_> = digests.copied().collect();
        self.sent_digests += digests.len();
        self.sent = through;
        self.end_sent |= ended.is_some();
        self.flying.push((through, timing.clone()));
        let rows =
            self.rows[first.0 as usize * self.seats..through.0 as usize * self.seats].to_vec();
        Some(Upload {
            era: self.era,
            life: protocol::Life(0),
            first,
            rows,
            digests,
            timing: Some(timing),
            ended,
        })
    }

    /// The server has everything before this tick.
    pub fn archived(&mut self, through: Tick) {
        self.archived = self.archived.max(through);
        let archived = self.archived;
        self.flying.retain(|(tick, _)| *tick > archived);
    }

    /// The connection is new: what flew over the old one goes out again, from what the server has.
    pub fn resume(&mut self, through: Tick) {
        self.archived(through);
        let confirmed = (self.rows.len() / self.seats) as u32;
        self.sent = Tick(self.archived.0.min(confirmed));
        self.sent_digests = self
            .digests
            .iter()
            .take_while(|(tick, _)| *tick <= self.sent)
            .count();
        self.end_sent = false;
        let mut all = Timing::default();
        for (_, timing) in self.flying.drain(..) {
            append(&mut all, timing);
        }
        append(&mut all, std::mem::take(&mut self.timing));
        self.timing = all;
    }

    /// Ticks that are confirmed here and not known to be durable.
    pub fn unsaved(&self) -> u32 {
        ((self.rows.len() / self.seats) as u32).saturating_sub(self.archived.0)
    }

    fn take_timing(&mut self) -> Timing {
        let mut timing = std::mem::take(&mut self.timing);
        if timing.keys.len() > KEYS_AT_ONCE {
            self.timing.keys = timing.keys.split_off(KEYS_AT_ONCE);
        }
        timing
    }
}

/// Adds later timing to earlier timing.
fn append(all: &mut Timing, later: Timing) {
    all.keys.extend(later.keys);
    all.rollbacks.extend(later.rollbacks);
    all.holds.extend(later.holds);
    all.hidden.extend(later.hidden);
    if !later.rtt_us.is_empty() {
        all.rtt_us = later.rtt_us;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ERA: Era = Era(3);

    fn key(tick: u32) -> KeyEvent {
        KeyEvent {
            tick: Tick(tick),
            action: 1,
            down: true,
            at_us: 5,
            shown_us: 9,
        }
    }

    #[test]
    fn rows_go_out_once_in_order() {
        let mut recorder = Recorder::new(ERA, 2);
        assert_eq!(recorder.upload(), None);
        recorder.absorb(&[1, 2, 3, 4], &[], None);
        let first = recorder.upload().unwrap();
        assert_eq!((first.first, first.rows), (Tick(0), vec![1, 2, 3, 4]));
        recorder.absorb(&[1, 2, 3, 4, 5, 6], &[(Tick(3), 77)], Some(Tick(3)));
        let last = recorder.upload().unwrap();
        assert_eq!(
            (last.first, last.rows, last.ended),
            (Tick(2), vec![5, 6], Some(Tick(3)))
        );
        assert_eq!(last.digests, [(Tick(3), 77)]);
        assert_eq!(recorder.upload(), None);
    }

    #[test]
    fn a_new_connection_repeats_what_is_not_durable() {
        let mut recorder = Recorder::new(ERA, 1);
        recorder.absorb(
            &[0, 1, 2, 3],
            &[(Tick(1), 11), (Tick(4), 44)],
            Some(Tick(4)),
        );
        recorder.key(key(2));
        recorder.upload().unwrap();
        recorder.archived(Tick(1));
        assert_eq!(recorder.unsaved(), 3);
        recorder.resume(Tick(2));
        recorder.key(key(3));
        let again = recorder.upload().unwrap();
        assert_eq!(
            (again.first, again.rows, again.ended),
            (Tick(2), vec![2, 3], Some(Tick(4)))
        );
        assert_eq!(again.digests, [(Tick(4), 44)]);
        assert_eq!(again.timing.unwrap().keys, [key(2), key(3)]);
        recorder.archived(Tick(4));
        assert_eq!(recorder.unsaved(), 0);
    }

    #[test]
    fn archived_timing_is_not_told_twice() {
        let mut recorder = Recorder::new(ERA, 1);
        recorder.absorb(&[0, 1], &[], None);
        recorder.key(key(1));
        recorder.upload().unwrap();
        recorder.archived(Tick(2));
        recorder.resume(Tick(2));
        assert_eq!(recorder.upload(), None);
    }

    #[test]
    fn a_long_absence_makes_several_messages() {
        let mut recorder = Recorder::new(ERA, 1);
        let ticks = TICKS_AT_ONCE + 10;
        recorder.absorb(&vec![2; ticks as usize], &[], Some(Tick(ticks)));
        let first = recorder.upload().unwrap();
        assert_eq!(
            (first.rows.len() as u32, first.ended),
            (TICKS_AT_ONCE, None)
        );
        let second = recorder.upload().unwrap();
        assert_eq!((second.rows.len(), second.ended), (10, Some(Tick(ticks))));
    }

    #[test]
    fn a_server_ahead_of_this_page_is_not_answered_with_rows_from_nowhere() {
        let mut recorder = Recorder::new(ERA, 1);
        recorder.absorb(&[0, 1], &[], None);
        recorder.resume(Tick(9));
        assert_eq!(recorder.upload(), None);
        recorder.absorb(&[0, 1, 2], &[], None);
        assert_eq!(recorder.upload().unwrap().first, Tick(2));
    }
}
