//! The records that must reach the archive: confirmed rows, digests and notes of time and network, kept until the
//! server says that they are durable.
//!
//! This module must not know of sockets: it makes uploads and is told what was archived.

use std::collections::VecDeque;

use env_core::Action;
use protocol::control::{KeyEvent, Timing, Upload};
use protocol::seen::{self, Frame};
use protocol::{Era, Life, Tick};

/// The most ticks of one upload, so that a long absence of the server makes several messages and not one too long.
const TICKS_AT_ONCE: u32 = 4_096;
/// Entries that fill a note, for the same reason.
const NOTE_ENTRIES: usize = 2_048;
/// Frames that fill a chunk.
const CHUNK_FRAMES: usize = 1_024;

/// The memory of one page in one episode.
#[derive(Debug)]
pub struct Recorder {
    era: Era,
    life: Life,
    seats: usize,
    /// The tick of the first row.
    base: Tick,
    rows: Vec<Action>,
    digests: Vec<(Tick, u64)>,
    ended: Option<Tick>,
    sent: Tick,
    sent_digests: usize,
    end_sent: bool,
    archived: Tick,
    /// The note that is open for additions; its number is that of the next one to be closed.
    timing: Timing,
    /// Frames that are in no note yet.
    frames: Vec<Frame>,
    /// Refused datagrams and contradicting inputs that are in some note.
    counted: (u64, u64),
    /// Notes that were not sent over this connection.
    waiting: VecDeque<Timing>,
    /// Notes that were sent, and may not be durable.
    flying: VecDeque<Timing>,
}

impl Recorder {
    /// An empty memory of a page that plays in this life of its seat.
    pub fn new(era: Era, life: Life, seats: u8) -> Self {
        Self {
            era,
            life,
            seats: usize::from(seats).max(1),
            base: Tick(0),
            rows: Vec::new(),
            digests: Vec::new(),
            ended: None,
            sent: Tick(0),
            sent_digests: 0,
            end_sent: false,
            archived: Tick(0),
            timing: Timing::default(),
            frames: Vec::new(),
            counted: (0, 0),
            waiting: VecDeque::new(),
            flying: VecDeque::new(),
        }
    }

    /// The page came into a running episode in this life: everything before this tick is durable already.
    pub fn begin_at(&mut self, base: Tick, life: Life) {
        (self.base, self.sent, self.archived) = (base, base, base);
        self.life = life;
    }

    /// Takes what was confirmed since the last call, from all of it.
    pub fn absorb(&mut self, rows: &[Action], digests: &[(Tick, u64)], ended: Option<Tick>) {
        self.rows
            .extend_from_slice(rows.get(self.rows.len()..).unwrap_or_default());
        self.digests
            .extend_from_slice(digests.get(self.digests.len()..).unwrap_or_default());
        self.ended = ended;
    }

    /// True if the end is among what is to be told, or was told.
    pub fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// The open note of time and network.
    pub fn timing(&mut self) -> &mut Timing {
        if self.frames.len() >= CHUNK_FRAMES {
            self.close_chunk();
        }
        if self.is_full() {
            self.close();
        }
        &mut self.timing
    }

    /// Takes how many datagrams were refused, and inputs contradicted earlier ones, in all.
    pub fn count(&mut self, refused: u64, equivocations: u64) {
        let (refused_before, equivocations_before) = self.counted;
        self.counted = (refused, equivocations);
        self.timing.refused += (refused - refused_before) as u32;
        self.timing.equivocations += (equivocations - equivocations_before) as u32;
    }

    /// Takes a key event whose frame was presented, or that had none; what the person saw then had been on the screen
    /// since `frame_us`.
    pub fn key(&mut self, event: KeyEvent, frame_us: Option<i64>) {
        let timing = self.timing();
        timing.keys.push(event);
        timing.frames_us.push(frame_us);
    }

    /// Takes a frame that was presented.
    pub fn seen(&mut self, frame: Frame) {
        self.timing();
        self.frames.push(frame);
    }

    /// Puts the frames so far into the open note, as a chunk. The longer it is, the fewer bytes each frame takes: what
    /// is likely is learnt anew in every chunk.
    pub fn close_chunk(&mut self) {
        if self.frames.is_empty() {
            return;
        }
        if !self.timing.seen.is_empty() {
            self.close();
        }
        seen::encode(&self.frames, self.seats, &mut self.timing.seen);
        self.frames.clear();
    }

    /// The next upload, if there is something to tell. Frames wait for their chunk to be closed.
    pub fn upload(&mut self) -> Option<Upload> {
        self.close();
        let confirmed = self.confirmed();
        let first = self.sent;
        let through = Tick(confirmed.0.min(first.0.saturating_add(TICKS_AT_ONCE)));
        let ended = self
            .ended
            .filter(|_| through == confirmed && !self.end_sent);
        let timing = self.waiting.pop_front();
        if through <= first && ended.is_none() && timing.is_none() {
            return None;
        }
        self.flying.extend(timing.clone());
        let digests = self.digests[self.sent_digests..].iter();
        let digests: Vec<_> = digests
            .take_while(|(tick, _)| *tick <= through)
            .copied()
            .collect();
        self.sent_digests += digests.len();
        self.sent = through.max(first);
        self.end_sent |= ended.is_some();
        Some(Upload {
            era: self.era,
            life: self.life,
            first,
            rows: self.rows[self.row(first)..self.row(self.sent)].to_vec(),
            digests,
            timing,
            ended,
        })
    }

    /// The server has every tick before `through` and every note before the one of number `notes`.
    pub fn archived(&mut self, through: Tick, notes: u32) {
        self.archived = self.archived.max(through);
        for kept in [&mut self.flying, &mut self.waiting] {
            kept.retain(|note| note.number >= notes);
        }
    }

    /// The connection is new: what flew over the old one goes out again, from what the server has.
    pub fn resume(&mut self, through: Tick) {
        self.archived = self.archived.max(through);
        self.sent = self.archived.min(self.confirmed());
        self.sent_digests = self
            .digests
            .iter()
            .take_while(|(tick, _)| *tick <= self.sent)
            .count();
        self.end_sent = false;
        self.flying.append(&mut self.waiting);
        std::mem::swap(&mut self.flying, &mut self.waiting);
    }

    /// Ticks that are confirmed here and not known to be durable.
    pub fn unsaved(&self) -> u32 {
        self.confirmed().0.saturating_sub(self.archived.0)
    }

    fn confirmed(&self) -> Tick {
        Tick(self.base.0 + (self.rows.len() / self.seats) as u32)
    }

    /// Where the row of a tick begins; of one before the first row, the first row.
    fn row(&self, tick: Tick) -> usize {
        tick.0.saturating_sub(self.base.0) as usize * self.seats
    }

    /// Gives the open note away, if there is something in it.
    fn close(&mut self) {
        let number = self.timing.number;
        let empty = Timing {
            number,
            ..Timing::default()
        };
        if self.timing != empty {
            let next = Timing {
                number: number + 1,
                ..Timing::default()
            };
            self.waiting
                .push_back(std::mem::replace(&mut self.timing, next));
        }
    }

    fn is_full(&self) -> bool {
        let note = &self.timing;
        let entries = note.keys.len()
            + note.rollbacks.len()
            + note.holds.len()
            + note.hidden.len()
            + note.delays.len()
            + note.mispredictions.len()
            + note.screens.len();
        entries >= NOTE_ENTRIES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ERA: Era = Era(3);

    fn key(tick: u32) -> KeyEvent {
        KeyEvent {
            tick: Some(Tick(tick)),
            action: 1,
            down: true,
            at_us: 5,
            shown_us: 9,
        }
    }

    #[test]
    fn rows_go_out_once_in_order() {
        let mut recorder = Recorder::new(ERA, Life(3), 2);
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
        let mut recorder = Recorder::new(ERA, Life(3), 1);
        recorder.absorb(
            &[0, 1, 2, 3],
            &[(Tick(1), 11), (Tick(4), 44)],
            Some(Tick(4)),
        );
        recorder.key(key(2), None);
        recorder.upload().unwrap();
        recorder.archived(Tick(1), 0);
        assert_eq!(recorder.unsaved(), 3);
        recorder.resume(Tick(2));
        recorder.key(key(3), None);
        let again = recorder.upload().unwrap();
        assert_eq!(
            (again.first, again.rows, again.ended),
            (Tick(2), vec![2, 3], Some(Tick(4)))
        );
        assert_eq!(again.digests, [(Tick(4), 44)]);
        let notes = [
            again.timing.unwrap(),
            recorder.upload().unwrap().timing.unwrap(),
        ];
        assert_eq!(notes.each_ref().map(|note| note.number), [0, 1]);
        assert_eq!(notes.map(|note| note.keys), [[key(2)], [key(3)]]);
        recorder.archived(Tick(4), 2);
        assert_eq!(recorder.unsaved(), 0);
    }

    #[test]
    fn archived_timing_is_not_told_twice() {
        let mut recorder = Recorder::new(ERA, Life(3), 1);
        recorder.absorb(&[0, 1], &[], None);
        recorder.key(key(1), None);
        recorder.upload().unwrap();
        recorder.archived(Tick(2), 1);
        recorder.resume(Tick(2));
        assert_eq!(recorder.upload(), None);
    }

    #[test]
    fn a_long_absence_makes_several_messages() {
        let mut recorder = Recorder::new(ERA, Life(3), 1);
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
        let mut recorder = Recorder::new(ERA, Life(3), 1);
        recorder.absorb(&[0, 1], &[], None);
        recorder.resume(Tick(9));
        assert_eq!(recorder.upload(), None);
        recorder.absorb(&[0, 1, 2], &[], None);
        assert_eq!(recorder.upload().unwrap().first, Tick(2));
    }

    #[test]
    fn notes_are_numbered_and_the_same_number_always_says_the_same() {
        let mut recorder = Recorder::new(ERA, Life(3), 1);
        let mut told = Vec::new();
        for tick in 0..4 {
            recorder.key(key(tick), None);
            told.push(recorder.upload().unwrap().timing.unwrap());
        }
        recorder.archived(Tick(0), 2);
        recorder.key(key(9), None);
        recorder.resume(Tick(0));
        let again: Vec<Timing> = std::iter::from_fn(|| recorder.upload())
            .filter_map(|upload| upload.timing)
            .collect();
        assert_eq!(again[..2], told[2..]);
        assert_eq!((again.len(), again[2].number), (3, 4));
    }

    #[test]
    fn a_page_that_came_later_begins_where_it_came_in() {
        let mut recorder = Recorder::new(ERA, Life(3), 2);
        recorder.begin_at(Tick(100), Life(5));
        recorder.absorb(&[1, 2, 3, 4], &[(Tick(101), 7)], None);
        let upload = recorder.upload().unwrap();
        assert_eq!((upload.life, upload.first), (Life(5), Tick(100)));
        assert_eq!(upload.rows, [1, 2, 3, 4]);
        recorder.resume(Tick(101));
        assert_eq!(recorder.upload().unwrap().rows, [3, 4]);
        assert_eq!(recorder.unsaved(), 1);
    }

    #[test]
    fn frames_wait_for_their_chunk_while_the_rest_goes_out() {
        let mut recorder = Recorder::new(ERA, Life(3), 1);
        let mut told = Vec::new();
        for tick in 0..8 {
            recorder.seen(Frame {
                at_ms: 17 * tick,
                tick: Tick(tick),
                have: vec![Tick(tick)],
                fresh: vec![Vec::new()],
                ..Frame::default()
            });
            recorder.key(key(tick), None);
            if tick % 4 == 3 {
                recorder.close_chunk();
            }
            let note = recorder.upload().unwrap().timing.unwrap();
            told.push((note.keys.len(), seen::decode(&note.seen, 1).unwrap().len()));
        }
        let second = [(1, 0), (1, 0), (1, 0), (1, 4)];
        assert_eq!(told, [second, second].concat());
        recorder.close_chunk();
        assert_eq!(recorder.upload(), None);
    }

    #[test]
    fn hours_without_a_server_fill_many_notes_of_which_each_fits_into_a_message() {
        let mut recorder = Recorder::new(ERA, Life(3), 1);
        let times = 10 * NOTE_ENTRIES;
        for tick in 0..times as u32 {
            recorder.timing().rollbacks.push((Tick(tick), 3));
            recorder.seen(Frame {
                at_ms: tick << 10,
                tick: Tick(tick),
                have: vec![Tick(tick ^ 0x5a5a)],
                fresh: vec![vec![1, 2, 3]],
                ..Frame::default()
            });
        }
        recorder.close_chunk();
        recorder.resume(Tick(0));
        let (mut rollbacks, mut frames) = (0, 0);
        while let Some(upload) = recorder.upload() {
            let note = upload.timing.as_ref().unwrap();
            rollbacks += note.rollbacks.len();
            frames += seen::decode(&note.seen, 1).unwrap().len();
            let bytes =
                protocol::control::encode(&protocol::control::ClientMessage::Upload(upload));
            assert!(bytes.len() < protocol::control::MAX_MESSAGE / 2);
        }
        assert_eq!((rollbacks, frames), (times, times));
    }
}
