//! The records that must reach the archive: the signed inputs of the local person, digests, and notes of time and
//! network, kept until the server says that they are durable.
//!
//! This module must not know of sockets: it makes uploads and learns what was archived.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use env_core::Action;
use protocol::chain::{Chain, MAX_BLOCK, SigningKey};
use protocol::control::{Block, KeyEvent, Timing, Upload};
use protocol::hash::sha256;
use protocol::seen::{self, Frame};
use protocol::{Era, Life, Seat, Tick};

/// Entries that fill a note, for the same reason.
const NOTE_ENTRIES: usize = 2_048;
/// Frames that fill a chunk.
const CHUNK_FRAMES: usize = 1_024;

/// The memory of one page in one episode.
pub struct Recorder {
    key: SigningKey,
    episode: String,
    era: Era,
    seat: Seat,
    life: Life,
    seats: usize,
    /// The signed part of the page's own inputs.
    chain: Chain,
    /// Own inputs that are in no block yet.
    inputs: Vec<Action>,
    /// Blocks that were not sent over this connection.
    waiting_blocks: VecDeque<Block>,
    /// Blocks that were sent, and may not be durable.
    flying_blocks: VecDeque<Block>,
    /// The number of changes of seats from which the digests and the end follow.
    changes: u16,
    /// The last request to send digests again.
    recheck: u16,
    digests: Vec<(Tick, u64)>,
    sent_digests: usize,
    /// Up to this tick the server has found the digests right.
    agreed: Tick,
    ended: Option<Tick>,
    end_sent: bool,
    /// The note that is open for additions; its number is the number of the next closed note.
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

/// A recorder that outlives its page: what a failed page has recorded is still uploaded.
#[derive(Clone)]
pub struct SharedRecorder(Arc<Mutex<Recorder>>);

impl SharedRecorder {
    pub(crate) fn new(recorder: Recorder) -> Self {
        Self(Arc::new(Mutex::new(recorder)))
    }

    /// The recorder, for as long as the guard lives.
    pub fn lock(&self) -> MutexGuard<'_, Recorder> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, or `None` where the page failed while it used the recorder.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, Recorder>> {
        self.0.try_lock().ok()
    }
}

impl Recorder {
    /// An empty memory of a page that plays in this life of its seat from a tick on, and signs with its own key.
    pub fn new(
        key: SigningKey,
        episode: &str,
        era: Era,
        seat: Seat,
        life: Life,
        seats: u8,
    ) -> Self {
        Self {
            key,
            chain: Chain::new(episode, seat, life, Tick(0)),
            episode: episode.into(),
            era,
            seat,
            life,
            seats: usize::from(seats).max(1),
            inputs: Vec::new(),
            waiting_blocks: VecDeque::new(),
            flying_blocks: VecDeque::new(),
            changes: 0,
            recheck: 0,
            digests: Vec::new(),
            sent_digests: 0,
            agreed: Tick(0),
            ended: None,
            end_sent: false,
            timing: Timing::default(),
            frames: Vec::new(),
            counted: (0, 0),
            waiting: VecDeque::new(),
            flying: VecDeque::new(),
        }
    }

    /// The page plays in this life of its seat from a tick on.
    pub fn begin_at(&mut self, first: Tick, life: Life) {
        self.life = life;
        self.chain = Chain::new(&self.episode, self.seat, life, first);
        self.inputs.clear();
        (self.recheck, self.agreed) = (0, Tick(0));
    }

    /// The first own input that is not here.
    pub fn next_needed(&self) -> Tick {
        Tick(self.chain.next().0 + self.inputs.len() as u32)
    }

    /// Takes the next own inputs.
    pub fn add_inputs(&mut self, inputs: impl Iterator<Item = Action>) {
        self.inputs.extend(inputs);
    }

    /// Takes the digests of all states that are confirmed, and the end, if it is; they follow from this many changes of
    /// seats. After a cut they may be others than before.
    pub fn record_confirmed(&mut self, changes: u16, digests: &[(Tick, u64)], ended: Option<Tick>) {
        let both = self.digests.iter().zip(digests);
        let same = both.take_while(|(one, other)| one == other).count();
        self.digests.truncate(same);
        self.sent_digests = self.sent_digests.min(same);
        let known = self.digests.len();
        self.digests.extend_from_slice(&digests[known..]);
        self.end_sent &= self.ended == ended;
        (self.changes, self.ended) = (changes, ended);
    }

    /// True if the end has been reported, or is waiting to be.
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

    /// Takes a key event whose frame was presented, or that had none; since `frame_us`, the screen had shown what the
    /// person saw then.
    pub fn key(&mut self, event: KeyEvent, frame_us: Option<i64>) {
        let timing = self.timing();
        timing.keys.push(event);
        timing.frames_us.push(frame_us);
    }

    /// Takes a frame that was presented.
    pub fn record_frame(&mut self, frame: Frame) {
        self.timing();
        self.frames.push(frame);
    }

    /// Puts the frames so far into the open note, as a chunk. A longer chunk takes fewer bytes per frame, because every
    /// chunk learns from the start what is likely.
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

    /// Returns the next upload, if there is something to report. Frames wait for their chunk to be closed.
    pub fn upload(&mut self) -> Option<Upload> {
        self.close();
        self.close_block();
        let block = self.waiting_blocks.pop_front();
        let timing = self.waiting.pop_front();
        let is_last = self.waiting_blocks.is_empty();
        let ended = self.ended.filter(|_| is_last && !self.end_sent);
        let digests = self.digests[self.sent_digests..].to_vec();
        if block.is_none() && ended.is_none() && timing.is_none() && digests.is_empty() {
            return None;
        }
        self.flying_blocks.extend(block.clone());
        self.flying.extend(timing.clone());
        self.sent_digests = self.digests.len();
        self.end_sent |= ended.is_some();
        Some(Upload {
            era: self.era,
            life: self.life,
            block,
            changes: self.changes,
            recheck: self.recheck,
            digests,
            timing,
            ended,
        })
    }

    /// The next upload of inputs alone, if there are some that were not sent.
    pub fn upload_inputs(&mut self) -> Option<Upload> {
        self.close_block();
        let block = self.waiting_blocks.pop_front()?;
        self.flying_blocks.push_back(block.clone());
        Some(Upload {
            era: self.era,
            life: self.life,
            block: Some(block),
            changes: self.changes,
            recheck: self.recheck,
            digests: Vec::new(),
            timing: None,
            ended: None,
        })
    }

    /// Signs the inputs that are in no block yet.
    fn close_block(&mut self) {
        while !self.inputs.is_empty() {
            let len = self.inputs.len().min(MAX_BLOCK);
            let inputs: Vec<_> = self.inputs.drain(..len).collect();
            // Nobody else knows the key, so nobody can guess the salt.
            let place = [self.seat.0, self.life.0];
            let tick = self.chain.next().0.to_le_bytes();
            let secret = [
                self.key.as_bytes().as_slice(),
                self.episode.as_bytes(),
                &place,
                &tick,
            ];
            let salt = sha256(&secret.concat());
            let salt = *salt.first_chunk().expect("a hash is longer than a salt");
            let block = self.chain.sign(&self.key, inputs, salt);
            self.waiting_blocks.push_back(block);
        }
    }

    /// The server has every own input before tick `own`, and every note before the one of number `notes`.
    pub fn handle_archived(&mut self, own: Tick, notes: u32) {
        for kept in [&mut self.flying_blocks, &mut self.waiting_blocks] {
            kept.retain(|block| block.first >= own);
        }
        for kept in [&mut self.flying, &mut self.waiting] {
            kept.retain(|note| note.number >= notes);
        }
    }

    /// The server has found the digests up to this tick right. Those after it may be lost with the connection, even if
    /// their ticks are final.
    pub fn handle_agreed(&mut self, agreed: Tick) {
        self.agreed = self.agreed.max(agreed);
    }

    /// Handles a new connection: everything under way over the old one is sent again, from what the server has: every
    /// own input before tick `own`, and the digests that it has found right.
    pub fn resume(&mut self, own: Tick) {
        self.handle_archived(own, 0);
        self.say_digests_after(self.agreed);
        self.flying.append(&mut self.waiting);
        std::mem::swap(&mut self.flying, &mut self.waiting);
        self.flying_blocks.append(&mut self.waiting_blocks);
        std::mem::swap(&mut self.flying_blocks, &mut self.waiting_blocks);
    }

    /// The digests after a tick, and the end, go out again, as the request of this number has it.
    pub fn handle_recheck(&mut self, number: u16, agreed: Tick) {
        self.recheck = number;
        self.say_digests_after(agreed);
    }

    fn say_digests_after(&mut self, agreed: Tick) {
        let known = self.digests.iter();
        self.sent_digests = known.take_while(|(tick, _)| *tick <= agreed).count();
        self.end_sent = false;
    }

    /// True if every input that was sent is durable.
    pub(crate) fn is_answered(&self) -> bool {
        self.flying_blocks.is_empty()
    }

    /// Own inputs that are not known to be durable.
    pub fn unsaved_ticks(&self) -> u32 {
        let blocks = self.flying_blocks.iter().chain(&self.waiting_blocks);
        let signed: usize = blocks.map(|block| block.inputs.len()).sum();
        (signed + self.inputs.len()) as u32
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
impl Recorder {
    /// The memory of the first of two pages, in the third life of its seat.
    pub(crate) fn for_testing() -> Self {
        let key = SigningKey::from_bytes(&[1; 32]);
        Self::new(key, "e", Era(3), Seat(0), Life(3), 1)
    }
}

#[cfg(test)]
mod tests {
    use protocol::chain::PageKey;

    use super::*;

    fn key(tick: u32) -> KeyEvent {
        KeyEvent {
            tick: Some(Tick(tick)),
            action: 1,
            down: true,
            at_us: 5,
            shown_us: 9,
        }
    }

    /// The inputs of an upload, with the first tick.
    fn said(upload: &Upload) -> Option<(u32, Vec<u16>)> {
        let block = upload.block.as_ref()?;
        Some((block.first.0, block.inputs.clone()))
    }

    #[test]
    fn inputs_go_out_once_in_order_and_signed() {
        let mut recorder = Recorder::for_testing();
        assert_eq!(recorder.upload(), None);
        recorder.add_inputs([1, 2].into_iter());
        assert_eq!(recorder.next_needed(), Tick(2));
        let first = recorder.upload().unwrap();
        assert_eq!(said(&first), Some((0, vec![1, 2])));
        recorder.add_inputs([3].into_iter());
        recorder.record_confirmed(1, &[(Tick(3), 77)], Some(Tick(3)));
        let last = recorder.upload().unwrap();
        assert_eq!(
            (said(&last), last.ended),
            (Some((2, vec![3])), Some(Tick(3)))
        );
        assert_eq!((last.changes, &last.digests[..]), (1, &[(Tick(3), 77)][..]));
        assert_eq!(recorder.upload(), None);
        let mut chain = Chain::new("e", Seat(0), Life(3), Tick(0));
        let key = SigningKey::from_bytes(&[1; 32]).verifying_key();
        let key = PageKey::new(&key.to_bytes());
        for upload in [first, last] {
            assert_eq!(chain.accept_block(&key, &upload.block.unwrap()), Ok(()));
        }
    }

    #[test]
    fn a_new_connection_repeats_what_is_not_durable() {
        let mut recorder = Recorder::for_testing();
        let mut blocks = Vec::new();
        for inputs in [[0, 1], [2, 3]] {
            recorder.add_inputs(inputs.into_iter());
            recorder.record_confirmed(0, &[(Tick(1), 11), (Tick(4), 44)], Some(Tick(4)));
            recorder.key(key(2), None);
            blocks.push(recorder.upload().unwrap().block);
        }
        recorder.handle_archived(Tick(2), 0);
        recorder.handle_agreed(Tick(1));
        assert_eq!(recorder.unsaved_ticks(), 2);
        recorder.resume(Tick(2));
        recorder.key(key(3), None);
        let again = recorder.upload().unwrap();
        assert_eq!((&again.block, again.ended), (&blocks[1], Some(Tick(4))));
        assert_eq!(again.digests, [(Tick(4), 44)]);
        let notes = [
            again,
            recorder.upload().unwrap(),
            recorder.upload().unwrap(),
        ];
        let notes = notes.map(|upload| upload.timing.unwrap());
        assert_eq!(notes.each_ref().map(|note| note.number), [0, 1, 2]);
        assert_eq!(notes.map(|note| note.keys), [[key(2)], [key(2)], [key(3)]]);
        recorder.handle_archived(Tick(4), 3);
        assert_eq!(recorder.unsaved_ticks(), 0);
    }

    #[test]
    fn digests_of_final_ticks_that_the_server_has_not_found_right_are_said_again() {
        let mut recorder = Recorder::for_testing();
        let digests = [(Tick(2), 22), (Tick(4), 44), (Tick(6), 66)];
        recorder.add_inputs([0; 6].into_iter());
        recorder.record_confirmed(0, &digests, None);
        assert_eq!(recorder.upload().unwrap().digests, digests);
        // The inputs have come, as others in other uploads, and the digests were lost with the connection.
        recorder.handle_archived(Tick(6), 0);
        recorder.handle_agreed(Tick(2));
        recorder.handle_agreed(Tick(0));
        recorder.resume(Tick(6));
        assert_eq!(recorder.upload().unwrap().digests, digests[1..]);
        assert_eq!(recorder.upload(), None);
    }

    #[test]
    fn archived_timing_is_not_told_twice() {
        let mut recorder = Recorder::for_testing();
        recorder.add_inputs([0, 1].into_iter());
        recorder.key(key(1), None);
        recorder.upload().unwrap();
        recorder.handle_archived(Tick(2), 1);
        recorder.resume(Tick(2));
        assert_eq!(recorder.upload(), None);
    }

    #[test]
    fn a_long_absence_makes_several_messages() {
        let mut recorder = Recorder::for_testing();
        let ticks = MAX_BLOCK + 10;
        recorder.add_inputs(std::iter::repeat_n(2, ticks));
        let ended = Some(Tick(ticks as u32));
        recorder.record_confirmed(0, &[], ended);
        let first = recorder.upload().unwrap();
        let len = |upload: &Upload| upload.block.as_ref().unwrap().inputs.len();
        assert_eq!((len(&first), first.ended), (MAX_BLOCK, None));
        let second = recorder.upload().unwrap();
        assert_eq!((len(&second), second.ended), (10, ended));
    }

    #[test]
    fn digests_that_a_cut_has_changed_are_said_again() {
        let mut recorder = Recorder::for_testing();
        let digests = |upload: Option<Upload>| upload.map(|upload| upload.digests);
        recorder.record_confirmed(0, &[(Tick(1), 1), (Tick(2), 2), (Tick(3), 3)], None);
        assert_eq!(digests(recorder.upload()).unwrap().len(), 3);
        recorder.record_confirmed(1, &[(Tick(1), 1), (Tick(2), 9), (Tick(3), 3)], None);
        let again = vec![(Tick(2), 9), (Tick(3), 3)];
        assert_eq!(digests(recorder.upload()), Some(again.clone()));
        assert_eq!(recorder.upload(), None);
        recorder.handle_recheck(2, Tick(1));
        let said = recorder.upload().unwrap();
        assert_eq!((said.recheck, said.digests), (2, again));
    }

    #[test]
    fn notes_are_numbered_and_the_same_number_always_says_the_same() {
        let mut recorder = Recorder::for_testing();
        let mut told = Vec::new();
        for tick in 0..4 {
            recorder.key(key(tick), None);
            told.push(recorder.upload().unwrap().timing.unwrap());
        }
        recorder.handle_archived(Tick(0), 2);
        recorder.key(key(9), None);
        recorder.resume(Tick(0));
        let again: Vec<Timing> = std::iter::from_fn(|| recorder.upload())
            .filter_map(|upload| upload.timing)
            .collect();
        assert_eq!(again[..2], told[2..]);
        assert_eq!((again.len(), again[2].number), (3, 4));
    }

    #[test]
    fn a_page_that_came_later_begins_where_it_plays() {
        let mut recorder = Recorder::for_testing();
        recorder.begin_at(Tick(100), Life(5));
        assert_eq!(recorder.next_needed(), Tick(100));
        recorder.add_inputs([1, 2].into_iter());
        let upload = recorder.upload().unwrap();
        assert_eq!(
            (upload.life, said(&upload)),
            (Life(5), Some((100, vec![1, 2])))
        );
        recorder.add_inputs([3].into_iter());
        recorder.resume(Tick(102));
        assert_eq!(said(&recorder.upload().unwrap()), Some((102, vec![3])));
        assert_eq!(recorder.unsaved_ticks(), 1);
    }

    #[test]
    fn frames_wait_for_their_chunk_while_the_rest_goes_out() {
        let mut recorder = Recorder::for_testing();
        let mut told = Vec::new();
        for tick in 0..8 {
            recorder.record_frame(Frame {
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
        let mut recorder = Recorder::for_testing();
        let times = 10 * NOTE_ENTRIES;
        for tick in 0..times as u32 {
            recorder.timing().rollbacks.push((Tick(tick), 3));
            recorder.record_frame(Frame {
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
