//! Uploads of pages: rows for the replica, digests to compare with it, and notes.

use std::collections::{BTreeMap, BTreeSet};

use protocol::change::Change;
use protocol::control::Upload;
use protocol::log::{Ending, MAX_RECORD, Record};
use protocol::{Controller, Life, Seat, Tick, digest_ticks};

use super::{Episode, MAX_NOTES_LEN, Refused, RowError, encoded};

/// The result of an upload; everything that it reports is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppendedUpload {
    /// Ticks that are durable.
    pub through: Tick,
    /// The end, once the environment has ended on the last of them.
    pub over: Option<Ending>,
    /// Notes that are durable of the page that plays the seat now.
    pub notes: u32,
    /// True if it was the last upload of that page.
    pub last: bool,
    /// True if that page simulates something else than the replica; the file then records it. Nothing more is accepted
    /// from the page.
    pub diverged: bool,
    /// True if the environment broke down: the episode cannot continue.
    pub stopped: bool,
}

impl Episode {
    /// Appends the new part of an upload of the page of a seat. The caller checks the era. Of a page that does not play
    /// the seat any more only the notes are accepted, until another page has the seat; of one that has diverged,
    /// nothing.
    ///
    /// # Errors
    /// [`Refused`]; the archive is then unchanged, but for [`Refused::Disk`].
    pub fn append_upload(
        &mut self,
        seat: Seat,
        upload: &Upload,
    ) -> Result<AppendedUpload, Refused> {
        self.check(seat, upload)?;
        if !self.listens_to(seat, upload.life) {
            let last_words = self.last_words(seat, upload);
            let last_words = self.with_room(seat, last_words)?;
            self.append(last_words)?;
            return Ok(self.appended(seat));
        }
        let first = self.through();
        if upload.first > first {
            return Err(Refused::Gap { through: first });
        }
        let notes = self.new_claims(seat, upload);
        let notes = self.with_room(seat, notes.chain(self.new_notes(seat, upload)))?;
        let claims = upload.digests.iter();
        let claims = claims.map(|&(tick, digest)| (tick, seat, digest)).collect();
        let (rows, wrong, stopped) = self.play(upload);
        let mut records = self.played(first, rows);
        let mut diverged = self.unlike(first, &claims);
        if let Some(tick) = wrong {
            records.extend(self.accuse(seat, tick, upload, &mut diverged));
        }
        records.extend(diverged.into_values());
        records.extend(notes);
        self.append(records)?;
        Ok(AppendedUpload {
            last: upload.ended.is_some(),
            stopped,
            ..self.appended(seat)
        })
    }

    fn appended(&self, seat: Seat) -> AppendedUpload {
        let page = &self.pages[seat.index()];
        AppendedUpload {
            through: self.through(),
            over: self.over(),
            notes: page.notes,
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
        let (seats, spec) = (self.seats(), self.replica.spec());
        // Three bytes are the longest encoding of an action.
        if !upload.rows.len().is_multiple_of(seats) || upload.rows.len() > MAX_RECORD / 4 {
            return Err(Refused::Malformed("rows that are not whole, or too many"));
        }
        let mut rows = upload.rows.iter();
        if rows.any(|action| usize::from(*action) >= spec.actions.len()) {
            return Err(Refused::Malformed(
                "an action that the environment does not have",
            ));
        }
        // What a page played beyond the horizon shows that it has diverged; it cannot know what it did not play.
        let played = u64::from(upload.first.0) + (upload.rows.len() / seats) as u64;
        let most = played.max(u64::from(spec.horizon));
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

    /// True if rows, digests and notes of the page of a seat are accepted in a life.
    fn listens_to(&self, seat: Seat, life: Life) -> bool {
        self.ending.is_none()
            && self.controller(seat) == Some(&Controller::Human)
            && self.life(seat) == life
            && !self.pages[seat.index()].diverged
    }

    /// The new notes of the page that was the last to play a seat for a person.
    fn last_words(&self, seat: Seat, upload: &Upload) -> Option<Record> {
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
    fn new_notes(&self, seat: Seat, upload: &Upload) -> Option<Record> {
        let timing = upload.timing.clone()?;
        let is_next = timing.number == self.pages[seat.index()].notes;
        let life = upload.life;
        is_next.then_some(Record::Timing { seat, life, timing })
    }

    /// The digests that the page of a seat has not claimed before.
    fn new_claims(&self, seat: Seat, upload: &Upload) -> impl Iterator<Item = Record> {
        let claims: BTreeSet<_> = upload
            .digests
            .iter()
            .filter(|&&(tick, digest)| !self.claims.contains(&(tick, seat, digest)))
            .collect();
        claims
            .into_iter()
            .map(move |&(tick, digest)| Record::Digest {
                tick,
                seat: Some(seat),
                digest,
            })
    }

    /// Those of some records of a seat for which there is room.
    fn with_room(
        &self,
        seat: Seat,
        records: impl IntoIterator<Item = Record>,
    ) -> Result<Vec<Record>, Refused> {
        let (mut len, mut fitting) = (self.pages[seat.index()].len, Vec::new());
        for record in records {
            len += encoded(&record)
                .map_err(|_| Refused::Malformed("more notes than a record holds"))?
                .len();
            if len <= MAX_NOTES_LEN {
                fitting.push(record);
            }
        }
        Ok(fitting)
    }

    /// Steps the replica by the new rows, as far as they can be played, and gives those rows. Gives also the first
    /// tick in which the page does not agree with what is durable or with the replica, and whether the environment
    /// broke down.
    fn play(&mut self, upload: &Upload) -> (Vec<u16>, Option<Tick>, bool) {
        let seats = self.seats();
        let known = &self.rows[upload.first.0 as usize * seats..];
        let (old, new) = upload.rows.split_at(known.len().min(upload.rows.len()));
        let mut rows = Vec::new();
        if let Some(at) = old
            .iter()
            .zip(known)
            .position(|(told, known)| told != known)
        {
            let wrong = Tick(upload.first.0 + (at / seats) as u32);
            return (rows, Some(wrong), false);
        }
        for row in new.chunks_exact(seats) {
            match self.replica.step(row) {
                Ok(()) => rows.extend(row),
                Err(RowError::Stopped) => return (rows, None, true),
                Err(_) => return (rows, Some(self.through()), false),
            }
        }
        let wrong = upload.ended.filter(|end| !self.may_end_at(*end));
        (rows, wrong, false)
    }

    /// Finds who is at fault that an upload is wrong from a tick on: the page itself, or another page that sent it
    /// other inputs.
    fn accuse(
        &self,
        by: Seat,
        tick: Tick,
        upload: &Upload,
        diverged: &mut BTreeMap<Seat, Record>,
    ) -> Vec<Record> {
        let equivocations = self.equivocations(by, tick, upload);
        let is_of_others =
            |record: &Record| matches!(record, Record::Equivocation { seat, .. } if *seat != by);
        if equivocations.is_empty() || !equivocations.iter().all(is_of_others) {
            diverged.entry(by).or_insert(Record::Diverged {
                seat: by,
                tick,
                expected: 0,
                found: 0,
            });
        } else if diverged
            .get(&by)
            .is_some_and(|record| is_after(record, tick))
        {
            // With other inputs it has other states after them.
            diverged.remove(&by);
        }
        equivocations
    }

    /// Finds the seats whose inputs differ from the durable ones in the first wrong tick of an upload. There are none
    /// if the page has other inputs for an AI partner or a vacant seat: nobody sent it those. If it has other inputs
    /// for its own person, its word for the rest counts for nothing.
    fn equivocations(&self, by: Seat, tick: Tick, upload: &Upload) -> Vec<Record> {
        let Some(told) = self.row(&upload.rows, upload.first, tick) else {
            return Vec::new();
        };
        let entered = self.last(by).map_or(Tick(0), |change| change.tick);
        let may_lie = |seat: Seat, controller: &Controller| {
            *controller == Controller::Human && (seat != by || entered <= tick)
        };
        let mut found = Vec::new();
        let controllers = self.controllers_at(tick);
        for ((seat, controller), &told) in (0..).map(Seat).zip(&controllers).zip(told) {
            let Some(durable) = self.durable(seat, tick).filter(|known| *known != told) else {
                continue;
            };
            if !may_lie(seat, controller) {
                return Vec::new();
            }
            found.push((seat, durable, told));
        }
        if found.iter().any(|(seat, ..)| *seat == by) {
            found.retain(|(seat, ..)| *seat == by);
        }
        let record = |(seat, durable, told)| Record::Equivocation {
            seat,
            tick,
            by,
            durable,
            told,
        };
        found.into_iter().map(record).collect()
    }

    /// The row of a tick among rows from `first` on.
    fn row<'a>(&self, rows: &'a [u16], first: Tick, tick: Tick) -> Option<&'a [u16]> {
        let at = tick.0.checked_sub(first.0)? as usize * self.seats();
        rows.get(at..at + self.seats())
    }

    /// The input of a seat in a tick up to the next one to come, as far as it is decided.
    fn durable(&self, seat: Seat, tick: Tick) -> Option<u16> {
        match self.row(&self.rows, Tick(0), tick) {
            Some(row) => Some(row[seat.index()]),
            None if self.replica.outcome().over || tick != self.through() => None,
            None => self.replica.chosen(seat),
        }
    }

    /// The new rows from `first` on, and the replica's digests of them.
    fn played(&self, first: Tick, rows: Vec<u16>) -> Vec<Record> {
        if rows.is_empty() {
            return Vec::new();
        }
        let through = self.through();
        let each = digest_ticks(self.header.tick_hz);
        let over = self.replica.outcome().over;
        let marks = (first.0 + 1..=through.0).map(Tick);
        let marks = marks.filter(|tick| tick.0.is_multiple_of(each) || *tick == through && over);
        let digests = marks.map(|tick| Record::Digest {
            tick,
            seat: None,
            digest: self.replica.digest(tick).expect("the tick was played"),
        });
        std::iter::once(Record::Actions { first, rows })
            .chain(digests)
            .collect()
    }

    /// The pages that are not yet known to simulate something else than the replica and claim another digest,
    /// among the new claims and those that waited for the ticks from `first` on.
    pub(super) fn unlike(
        &self,
        first: Tick,
        new: &BTreeSet<(Tick, Seat, u64)>,
    ) -> BTreeMap<Seat, Record> {
        let over = self.replica.outcome().over;
        let waited = self.claims.range((Tick(first.0 + 1), Seat(0), 0)..);
        let mut unlike = BTreeMap::new();
        for &(tick, seat, found) in waited.chain(new) {
            let expected = self.replica.digest(tick);
            let differs = expected.map_or(over, |expected| expected != found);
            if differs && !self.pages[seat.index()].diverged {
                unlike.entry(seat).or_insert(Record::Diverged {
                    seat,
                    tick,
                    expected: expected.unwrap_or_default(),
                    found,
                });
            }
        }
        unlike
    }

    /// True if the environment may have ended after `end` ticks, as far as it was simulated.
    fn may_end_at(&self, end: Tick) -> bool {
        if self.replica.outcome().over {
            end == self.through()
        } else {
            end > self.through()
        }
    }
}

/// True if a page was found to have another state only after the step of a tick.
fn is_after(record: &Record, tick: Tick) -> bool {
    matches!(record, Record::Diverged { tick: found, .. } if *found > tick)
}
