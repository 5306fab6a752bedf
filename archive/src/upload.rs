//! Uploads of pages: the inputs of their own person for the replica, digests to compare with it, and notes.

use std::collections::BTreeMap;

use protocol::chain::ChainError;
use protocol::change::Change;
use protocol::control::Upload;
use protocol::datagram::MAX_INPUTS;
use protocol::log::{Ending, Record};
use protocol::{Controller, Life, Seat, Tick, digest_ticks};

use super::inputs::SeatInputs;
use super::{Episode, MAX_NOTES_LEN, Refused, encoded_len};

/// The most rows of a record: those of sixteen seats fit into one.
pub(super) const ROWS_PER_RECORD: usize = 8_192;

/// The number of choices that a person may have made in a hosted world, beside a number for each tick. Nobody's hands
/// are that quick, and no page can fill the disk with choices.
const CHOICES: u64 = 1_024;
const CHOICES_PER_TICK: u64 = 16;

/// The result of an upload; everything that it reports is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppendedUpload {
    /// Ticks that are final: the inputs of everybody are durable.
    pub through: Tick,
    /// Inputs of the page's own person that are durable: those before this tick.
    pub own: Tick,
    /// The end, once the environment has ended on the last of them.
    pub over: Option<Ending>,
    /// Notes that are durable of the page that plays the seat now.
    pub notes: u32,
    /// True if it was the last upload of that page.
    pub last: bool,
    /// The digests of that page up to this tick are the replica's.
    pub agreed: Tick,
    /// The number of the last request to that page to send its digests again, if it has not done so yet.
    pub recheck: Option<u16>,
    /// True if that page simulates something else than the replica; the file then records it. Nothing more is accepted
    /// from the page.
    pub diverged: bool,
    /// True if the environment broke down: the episode cannot continue.
    pub stopped: bool,
}

impl Episode {
    /// Appends the new part of an upload of the page of a seat: what the page says about the inputs of its own person,
    /// and nobody else's. The caller checks the era. From a page that no longer plays the seat, only the notes are
    /// accepted, until another page has the seat; from a page that has diverged, nothing.
    ///
    /// # Errors
    /// [`Refused`]; the archive is then unchanged, except after [`Refused::Disk`].
    pub fn append_upload(
        &mut self,
        seat: Seat,
        upload: &Upload,
    ) -> Result<AppendedUpload, Refused> {
        self.check(seat, upload)?;
        if self.hosted.is_some() {
            return self.append_choices(seat, upload);
        }
        if !self.listens_to(seat, upload.life) {
            let last_words = self.last_words(seat, upload);
            let last_words = self.with_room(seat, last_words)?;
            self.append(last_words)?;
            return Ok(self.describe_append(seat));
        }
        let said = self.new_inputs(seat, upload)?;
        let notes = self.with_room(seat, self.new_notes(seat, upload))?;
        self.pages[seat.index()].is_back = true;
        let page = &self.pages[seat.index()];
        // Who does not know all changes and inputs speaks of states that nobody has any more.
        let is_known =
            usize::from(upload.changes) >= self.changes.len() && upload.recheck >= page.recheck;
        let mut records = Vec::new();
        if is_known {
            self.pages[seat.index()].heard = upload.recheck;
            for &(tick, digest) in &upload.digests {
                let known = *self.claims.entry((tick, seat)).or_insert(digest);
                if known != digest {
                    // Two digests of one tick cannot both be right.
                    records.extend(self.differ(seat, tick, Some(known), digest));
                }
            }
        }
        if let (Some(said), Some(block)) = (said, upload.block.clone()) {
            self.inputs[seat.index()] = Some(said);
            let life = upload.life;
            records.push(Record::Inputs { seat, life, block });
        }
        let first = self.recorded_through();
        let (rows, stopped) = self.play();
        records.extend(self.record_actions(first, rows));
        records.extend(self.compare());
        let ended = upload.ended.filter(|_| is_known);
        if let Some(end) = ended.filter(|end| !self.may_end_at(*end)) {
            records.extend(self.differ(seat, end, None, 0));
        }
        records.extend(notes);
        self.append(records)?;
        Ok(AppendedUpload {
            last: ended.is_some(),
            stopped,
            ..self.describe_append(seat)
        })
    }

    pub(super) fn describe_append(&self, seat: Seat) -> AppendedUpload {
        let page = &self.pages[seat.index()];
        AppendedUpload {
            through: self.durable_tick(),
            own: self.durable_own(seat),
            over: self.ending_so_far(),
            notes: page.notes,
            agreed: page.agreed,
            recheck: (page.heard < page.recheck).then_some(page.recheck),
            last: false,
            diverged: page.diverged,
            stopped: false,
        }
    }

    /// Refuses what no page of this episode sends.
    fn check(&self, seat: Seat, upload: &Upload) -> Result<(), Refused> {
        if self.broken {
            return Err(std::io::Error::other("an earlier write failed").into());
        }
        let is_human = |controller: &Controller| *controller == Controller::Human;
        let mut controllers = self.header.controllers.get(seat.index()).into_iter().chain(
            self.changes
                .iter()
                .filter(|change| change.seat == seat)
                .map(|change| &change.controller),
        );
        if !controllers.any(is_human) {
            return Err(Refused::Malformed("no person has this seat"));
        }
        let (seats, spec) = (self.count_seats(), self.replica.spec());
        let mut inputs = upload.block.iter().flat_map(|block| &block.inputs);
        if inputs.any(|action| usize::from(*action) >= spec.actions.len()) {
            return Err(Refused::Malformed(
                "an action that the environment does not have",
            ));
        }
        let most = u64::from(spec.horizon);
        // Inputs are given ahead of their ticks.
        let end = upload.block.as_ref().map_or(0, |block| {
            u64::from(block.first.0) + block.inputs.len() as u64
        });
        let most_inputs = match self.hosted.is_some() {
            true => CHOICES + CHOICES_PER_TICK * u64::from(self.recorded_through().0),
            false => most + 2 * MAX_INPUTS as u64,
        };
        if end > most_inputs {
            return Err(Refused::Malformed("more inputs than a person can have"));
        }
        if upload
            .digests
            .iter()
            .any(|(tick, _)| u64::from(tick.0) > most)
        {
            return Err(Refused::Malformed("a digest after the horizon"));
        }
        let Some(timing) = &upload.timing else {
            return Ok(());
        };
        let mut mispredicted = timing.mispredictions.iter();
        if timing.rtt_us.len() > seats || mispredicted.any(|wrong| wrong.seat.index() >= seats) {
            return Err(Refused::Malformed("notes of more seats than there are"));
        }
        Ok(())
    }

    /// Returns the inputs of a seat with those of an upload; `None` if it has no new ones.
    pub(super) fn new_inputs(
        &self,
        seat: Seat,
        upload: &Upload,
    ) -> Result<Option<SeatInputs>, Refused> {
        let known = self.inputs[seat.index()].as_ref();
        let (Some(block), Some(known)) = (&upload.block, known) else {
            return Ok(None);
        };
        match known.with_block(block) {
            Ok(more) => Ok(Some(more)),
            Err(ChainError::Tick { found, next }) if found > next => Err(Refused::Gap { next }),
            // Blocks that were sent over the connection before.
            Err(ChainError::Tick { .. }) => Ok(None),
            Err(ChainError::Length(_)) => Err(Refused::Malformed("a block without inputs")),
            Err(ChainError::Signature(_)) => Err(Refused::Malformed("inputs of somebody else")),
        }
    }

    /// True if rows, digests and notes of the page of a seat are accepted in a life.
    pub(super) fn listens_to(&self, seat: Seat, life: Life) -> bool {
        self.ending.is_none()
            && self.controller(seat) == Some(&Controller::Human)
            && self.life(seat) == life
            && !self.pages[seat.index()].diverged
    }

    /// The new notes of the page that was the last to play a seat for a person.
    pub(super) fn last_words(&self, seat: Seat, upload: &Upload) -> Option<Record> {
        let is_human =
            |change: &&Change| change.seat == seat && change.controller == Controller::Human;
        let life = self
            .changes
            .iter()
            .rfind(is_human)
            .map(|change| change.life);
        let is_lost = self.controller(seat) != Some(&Controller::Human) && self.ending.is_none();
        let is_last = is_lost && life.unwrap_or_default() == upload.life;
        self.new_notes(seat, upload).filter(|_| is_last)
    }

    /// The new notes of the page of a seat.
    pub(super) fn new_notes(&self, seat: Seat, upload: &Upload) -> Option<Record> {
        let timing = upload.timing.clone()?;
        let is_next = timing.number == self.pages[seat.index()].notes;
        let life = upload.life;
        is_next.then_some(Record::Timing { seat, life, timing })
    }

    /// Those of some records of a seat for which there is room.
    pub(super) fn with_room(
        &self,
        seat: Seat,
        records: impl IntoIterator<Item = Record>,
    ) -> Result<Vec<Record>, Refused> {
        let (mut len, mut fitting) = (self.pages[seat.index()].len, Vec::new());
        for record in records {
            len += encoded_len(&record)
                .map_err(|_| Refused::Malformed("more notes than a record holds"))?;
            if len <= MAX_NOTES_LEN {
                fitting.push(record);
            }
        }
        Ok(fitting)
    }

    /// Steps the replica by the ticks whose inputs are all here, and returns their rows and whether the environment
    /// failed. Without people, nothing moves: their partners do not play on to the end meanwhile.
    pub(super) fn play(&mut self) -> (Vec<u16>, bool) {
        let mut rows = Vec::new();
        let mut seats = (0..).map(Seat).take(self.count_seats());
        let is_played = seats.any(|seat| self.is_played(seat));
        while is_played && !self.replica.outcome().over {
            let tick = self.recorded_through();
            let input = |(seat, inputs): (Seat, &Option<SeatInputs>)| {
                let chosen = self.replica.chosen_action(seat);
                chosen.or_else(|| inputs.as_ref()?.action_at(tick))
            };
            let row: Option<Vec<u16>> = (0..).map(Seat).zip(&self.inputs).map(input).collect();
            let Some(row) = row else { break };
            match self.replica.step(&row) {
                Ok(()) => rows.extend(row),
                // A row that is made here fails only where the environment stops.
                Err(_) => return (rows, true),
            }
        }
        (rows, false)
    }

    /// True if a person has a seat, and their page has said something since it was given it.
    fn is_played(&self, seat: Seat) -> bool {
        let is_back = self.pages[seat.index()].is_back || self.last(seat).is_none();
        is_back && self.controller(seat) == Some(&Controller::Human)
    }

    /// Returns the records of the new rows from `first` on, and the replica's digests of them.
    pub(super) fn record_actions(&self, first: Tick, rows: Vec<u16>) -> Vec<Record> {
        if rows.is_empty() {
            return Vec::new();
        }
        let through = self.recorded_through();
        let each = digest_ticks(self.header.tick_hz);
        let over = self.replica.outcome().over;
        let marks = (first.0 + 1..=through.0).map(Tick);
        let marks = marks.filter(|tick| tick.0.is_multiple_of(each) || *tick == through && over);
        let digests = marks.map(|tick| Record::Digest {
            tick,
            seat: None,
            digest: self.replica.digest(tick).expect("the tick was played"),
        });
        let seats = self.count_seats();
        let parts = rows.chunks(ROWS_PER_RECORD * seats).enumerate();
        let actions = parts.map(|(number, rows)| Record::Actions {
            first: Tick(first.0 + (number * ROWS_PER_RECORD) as u32),
            rows: rows.to_vec(),
        });
        actions.chain(digests).collect()
    }

    /// Compares the digests that pages claim with the replica's, as far as it is. A page that differs is asked once
    /// more; returns the digests that agree, and the pages that differ again.
    pub(super) fn compare(&mut self) -> Vec<Record> {
        let (over, through) = (self.replica.outcome().over, self.recorded_through());
        let later = match over {
            true => BTreeMap::new(),
            false => self.claims.split_off(&(Tick(through.0 + 1), Seat(0))),
        };
        let due = std::mem::replace(&mut self.claims, later);
        let mut records = Vec::new();
        for ((tick, seat), found) in due {
            match self.replica.digest(tick) {
                Some(expected) if expected == found => {
                    let page = &mut self.pages[seat.index()];
                    // What is known to agree already would only take room.
                    if page.heard < page.recheck || tick <= page.agreed {
                        continue;
                    }
                    page.agreed = tick;
                    let (seat, digest) = (Some(seat), found);
                    records.push(Record::Digest { tick, seat, digest });
                }
                expected => records.extend(self.differ(seat, tick, expected, found)),
            }
        }
        records
    }

    /// Handles that a page differs from the replica. Perhaps others have sent it other inputs than the server: it gets
    /// the inputs that count, and must send its digests again. If it differs although it has got everything since its
    /// last right digest, or has never corrected the digest for which it was asked, it is named.
    fn differ(
        &mut self,
        seat: Seat,
        tick: Tick,
        expected: Option<u64>,
        found: u64,
    ) -> Option<Record> {
        // After the end, nothing is sent any more.
        let last = match self.replica.outcome().over {
            true => self.recorded_through(),
            false => Tick(u32::MAX),
        };
        // A page says the digest of an end, too, and has another end once it is corrected.
        let each = digest_ticks(self.header.tick_hz);
        let is_due = tick.0.is_multiple_of(each) && self.replica.digest(tick).is_some();
        let page = &mut self.pages[seat.index()];
        if page.diverged || page.heard < page.recheck {
            return None;
        }
        // If a page says that it was asked as often as can be counted, that is false: no further request is possible.
        let request = page.recheck.max(page.heard).checked_add(1);
        if let Some(request) = request {
            let has_corrected = page.asked <= page.agreed || page.asked > page.told;
            if page.recheck == 0 || tick.min(last) > page.told && has_corrected {
                page.recheck = request;
                page.asked = if is_due { tick } else { Tick(0) };
                self.claims.retain(|(_, claimant), _| *claimant != seat);
                return None;
            }
            if page.agreed < page.untold {
                return None;
            }
        }
        page.diverged = true;
        let expected = expected.unwrap_or_default();
        Some(Record::Diverged {
            seat,
            tick,
            expected,
            found,
        })
    }

    /// True if the environment may have ended after `end` ticks, as far as it was simulated.
    pub(super) fn may_end_at(&self, end: Tick) -> bool {
        if self.replica.outcome().over {
            end == self.recorded_through()
        } else {
            end > self.recorded_through()
        }
    }
}
