//! The archive of an episode: an append-only file, and the replica that its rows step.
//!
//! Nothing is acknowledged before it is durable, and nothing that is durable changes. Calls block on the disk.
//! Only one program may write to a folder of episodes; `DataDir` of the crate `store` sees to that.
//! This module must not know of sockets, sessions or the database.

#![forbid(unsafe_code)]

mod advisers;
mod clips;
mod directive;
mod file;
mod fingerprint;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixtures;
mod handover;
mod hosted;
mod inputs;
mod known;
mod observations;
mod outcomes;
mod recorded;
mod recount;
mod repetition;
mod replica;
mod restore;
mod shown;
mod stored;
#[cfg(test)]
mod tests;
mod upload;
mod withdrawal;
pub mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use protocol::change::Change;
use protocol::control::EndReason;
use protocol::log::{self, Ending, Header, LogError, LogWriter, Record};
use protocol::{Controller, EnvWay, Life, Seat, Tick};
use server_core::arbiter::EpisodeEnd;

use hosted::Hosted;
use inputs::SeatInputs;

pub use advisers::open_advisers;
pub use clips::{ClipError, PlayedClip, play_again, play_clips};
pub use file::{DiskFile, LogFile};
pub use fingerprint::Fingerprint;
pub use handover::{is_directive, lead_ticks};
pub use hosted::HostedHand;
pub use known::cut;
pub use observations::RecordedObservations;
pub use outcomes::{RecordedOutcome, list_recorded_outcomes};
pub use policy::ActionShares;
pub use recorded::{list_recorded_rewards, not_repeatable, open_past_episode};
pub use recount::is_proven;
pub use repetition::{find_repeat, is_only_recorded};
pub use replica::{
    ReplayError, Replica, ReplicaError, RowError, hash_observation, replay, replay_from,
};
pub use restore::{StageGone, restore_episode};
pub use shown::{Frames, Rebuilt, Screens, ShownPage, find_partners, open_past_world};
pub use stored::{Stored, open_stored};
pub use upload::AppendedUpload;
pub use withdrawal::{
    PreparedWithdrawal, Rewriting, WithdrawError, WithdrawnFile, prepare_withdrawal, withdraw_seats,
};

/// Folder of the episode files in a data folder.
pub const FOLDER: &str = "episodes";

/// Extension of an episode file.
pub const EXTENSION: &str = "coplay";

/// The most bytes of notes, digests, presence and routes that are stored of a seat: four hours at 1 kB a second. Later
/// ones are not stored, and not acknowledged.
pub const MAX_NOTES_LEN: usize = 16 << 20;

/// The most bytes of changes in an episode, so that all of them fit into one message beside a state.
pub const MAX_CHANGES_LEN: usize = 64 << 10;

/// An episode file that is being written, and the replica of the episode.
pub struct Episode {
    file: Box<dyn LogFile>,
    writer: LogWriter,
    header: Header,
    replica: Replica,
    /// All actions, `[tick, seat]`.
    rows: Vec<u16>,
    changes: Vec<Change>,
    changes_len: usize,
    /// For each seat that a person plays, what their page has said that is in no row yet.
    inputs: Vec<Option<SeatInputs>>,
    pages: Vec<Page>,
    /// Digests that pages claim of ticks that the replica has not played.
    claims: BTreeMap<(Tick, Seat), u64>,
    /// Lives of seats that were proven to have sent the page of another seat something else, by that seat.
    recounts: BTreeSet<(Seat, Seat, u8)>,
    ending: Option<Ending>,
    /// The part that only an episode on a host has.
    hosted: Option<Hosted>,
    /// A write failed: the contents of the disk are known again only after [`Self::recover`].
    broken: bool,
    /// The bytes that are to be written in one piece with others.
    held: Option<Vec<u8>>,
    /// True if written bytes may not be durable.
    is_unsynced: bool,
}

/// The archive's record of the page that plays a seat, or played it last.
#[derive(Clone, Default)]
struct Page {
    /// Notes that are stored of its life.
    notes: u32,
    /// Its digests up to this tick are the replica's.
    agreed: Tick,
    /// The number of the last request to send digests again, the last one that the page has followed, and the tick up
    /// to which it got the inputs of all others with it.
    recheck: u16,
    heard: u16,
    told: Tick,
    /// The tick of the wrong digest for which it was asked last, if every page must say that digest; otherwise 0.
    asked: Tick,
    /// Until its digests agree from this tick on, they prove nothing: there are final inputs that it cannot know.
    untold: Tick,
    /// True if it simulates something else than the replica.
    diverged: bool,
    /// True once it has said something in its life.
    is_back: bool,
    /// Bytes that are stored of all pages of the seat, beside rows and changes.
    len: usize,
}

/// The reason why an episode cannot be created or recovered.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The disk refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The id is not made of 1 to 64 ASCII letters, digits, `-` and `_`.
    #[error("`{0}` is not the id of an episode")]
    Name(String),
    /// The file is no episode log, or damaged.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The episode cannot be simulated here, or comes out differently.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

/// The reason why nothing was taken.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The inputs begin after the durable ones.
    #[error("inputs from a tick after {}, which is the first that is missing", next.0)]
    Gap {
        /// The first missing tick: the page is to upload from here on.
        next: Tick,
    },
    /// Not an upload of a page of this episode, or a record that only the archive writes.
    #[error("malformed: {0}")]
    Malformed(&'static str),
    /// The seat cannot be transferred.
    #[error("the seat cannot change hands: {0}")]
    Change(&'static str),
    /// The replica cannot play the seat.
    #[error(transparent)]
    Replica(#[from] ReplicaError),
    /// The environment has not ended, so the episode was not played to its end.
    #[error("the environment has not ended after {} ticks", through.0)]
    NotOver {
        /// Ticks that are durable.
        through: Tick,
    },
    /// The disk failed. The episode accepts nothing more; [`Episode::recover`] finds what it has.
    #[error(transparent)]
    Disk(#[from] io::Error),
}

impl Episode {
    /// Makes the file `<dir>/<episode>.coplay` with its header.
    ///
    /// # Errors
    /// [`OpenError`]; also if the episode cannot be simulated here, or its file is there.
    pub fn create(dir: &Path, header: Header) -> Result<Self, OpenError> {
        let replica = Replica::open(&header, open_stored(dir)).map_err(ReplayError::from)?;
        let path = path(dir, &header.episode)?;
        let (writer, bytes) = LogWriter::begin(&header)?;
        let file = DiskFile::create(&path, &bytes)?;
        Ok(Self::new(Box::new(file), writer, header, replica))
    }

    /// Begins an empty file with its header. `stored` returns the modules and networks that it is played with.
    ///
    /// # Errors
    /// [`OpenError`]; also if the episode cannot be simulated here.
    pub fn create_in(
        mut file: Box<dyn LogFile>,
        header: Header,
        stored: impl Fn(&str) -> io::Result<Vec<u8>> + Send + 'static,
    ) -> Result<Self, OpenError> {
        let replica = Replica::open(&header, stored).map_err(ReplayError::from)?;
        let (writer, bytes) = LogWriter::begin(&header)?;
        file.append(&bytes)?;
        Ok(Self::new(file, writer, header, replica))
    }

    fn new(file: Box<dyn LogFile>, writer: LogWriter, header: Header, replica: Replica) -> Self {
        let pages = vec![Page::default(); header.controllers.len()];
        let seats = (0..).map(Seat).zip(&header.controllers);
        let inputs = seats.map(|(seat, controller)| {
            let key = header.keys.get(seat.index()).copied();
            let inputs = |key| SeatInputs::new(&header.episode, seat, Life(0), Tick(0), key);
            key.filter(|_| *controller == Controller::Human).map(inputs)
        });
        let hosted = Hosted::new(&header, replica.spec().noop);
        Self {
            inputs: inputs.collect(),
            file,
            writer,
            header,
            replica,
            rows: Vec::new(),
            changes: Vec::new(),
            changes_len: 0,
            pages,
            claims: BTreeMap::new(),
            recounts: BTreeSet::new(),
            ending: None,
            hosted,
            broken: false,
            held: None,
            is_unsynced: false,
        }
    }

    /// Opens a file again, cuts off what a crash left of its last write, and simulates it up to its last tick. If a
    /// world on a host does not repeat the record, its episode continues anyway.
    ///
    /// # Errors
    /// [`OpenError`]; the file is then unchanged.
    pub fn recover(path: &Path) -> Result<Self, OpenError> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let file = DiskFile::open(path)?;
        Self::recover_from(Box::new(file), open_stored(folder))
    }

    /// [`Self::recover`] for any file. `stored` returns the modules and networks that it is played with.
    ///
    /// # Errors
    /// [`OpenError`]; the file is then unchanged.
    pub fn recover_from(
        mut file: Box<dyn LogFile>,
        stored: impl Fn(&str) -> io::Result<Vec<u8>> + Send + 'static,
    ) -> Result<Self, OpenError> {
        let log = log::read_log(&file.read()?)?;
        let replica = match log.header.way {
            EnvWay::Module => replay(&log, stored, |_, _| ())?,
            EnvWay::Host => Replica::resume(&log, stored)?,
        };
        if log.torn {
            file.truncate(log.valid_len)?;
        }
        // What a killed program wrote last may not be durable, and is about to be called so.
        file.sync()?;
        let writer = LogWriter::resume(&log);
        let mut episode = Self::new(file, writer, log.header, replica);
        for record in log.records {
            let len = encoded_len(&record)?;
            episode.apply_record(&record);
            episode.remember(record, len);
        }
        episode.settle_own();
        // A crash may have cut off the rows that follow from the inputs before it. Digests are said again.
        if episode.ending.is_none() && episode.hosted.is_none() {
            let first = episode.recorded_through();
            let (rows, _) = episode.play();
            let records = episode.record_actions(first, rows);
            episode.append(records)?;
        }
        Ok(episode)
    }

    /// Writes records, waits for the disk, and applies them.
    fn append(&mut self, records: Vec<Record>) -> io::Result<()> {
        if self.broken {
            return Err(io::Error::other("an earlier write failed"));
        }
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        let mut writer = self.writer.clone();
        for record in &records {
            writer
                .append(record, &mut bytes)
                .map_err(io::Error::other)?;
            ends.push(bytes.len());
        }
        if bytes.is_empty() {
            return Ok(());
        }
        match &mut self.held {
            Some(held) => held.append(&mut bytes),
            None => {
                let durable = self.file.append(&bytes);
                self.note_failure(durable)?;
            }
        }
        self.writer = writer;
        let mut start = 0;
        for (record, end) in records.into_iter().zip(ends) {
            self.remember(record, end - start);
            start = end;
        }
        Ok(())
    }

    /// Notes whether the disk has failed.
    fn note_failure(&mut self, done: io::Result<()>) -> io::Result<()> {
        self.broken |= done.is_err();
        done
    }

    /// Holds all bytes back from now on, so that [`Self::write_held`] writes them in one piece. Until then, nothing is
    /// durable of what the episode reports as durable.
    pub fn hold_writes(&mut self) {
        self.held.get_or_insert_default();
    }

    /// Writes the bytes that were held back, and holds no more. They are durable once [`Self::sync`] has returned, or a
    /// `syncfs` of the file system.
    ///
    /// # Errors
    /// The disk failed: all that was reported since [`Self::hold_writes`] is void. The episode accepts nothing more.
    pub fn write_held(&mut self) -> io::Result<()> {
        match self.held.take() {
            Some(held) if !held.is_empty() => {
                self.is_unsynced = true;
                let written = self.file.write(&held);
                self.note_failure(written)
            }
            _ => Ok(()),
        }
    }

    /// Waits until everything that was written is durable.
    ///
    /// # Errors
    /// The disk failed, now or earlier: what was reported since the bytes were held is void. The episode accepts nothing
    /// more.
    pub fn sync(&mut self) -> io::Result<()> {
        if self.broken {
            return Err(io::Error::other("an earlier write failed"));
        }
        if !std::mem::take(&mut self.is_unsynced) {
            return Ok(());
        }
        let durable = self.file.sync();
        self.note_failure(durable)
    }

    /// Applies a record that is durable and `len` bytes long.
    fn remember(&mut self, record: Record, len: usize) {
        match record {
            Record::Actions { rows, .. } => {
                self.rows.extend(rows);
                let through = Tick((self.rows.len() / self.count_seats()) as u32);
                let inputs = self.inputs.iter_mut().flatten();
                inputs.for_each(|inputs| inputs.forget_before(through));
            }
            Record::Inputs { seat, block, .. } => {
                let inputs = self.inputs[seat.index()].as_mut();
                if let Some((inputs, more)) =
                    inputs.and_then(|of| Some((of.with_block(&block).ok()?, of)))
                {
                    *more = inputs;
                }
                if let (Some(_), Some(inputs)) = (&self.hosted, &mut self.inputs[seat.index()]) {
                    inputs.forget_before(Tick(u32::MAX));
                }
            }
            Record::Erased { .. } => {}
            Record::Change(change) => self.remember_change(change, len),
            Record::Digest {
                tick,
                seat: Some(seat),
                ..
            } => {
                let page = &mut self.pages[seat.index()];
                page.agreed = page.agreed.max(tick);
                page.len += len;
            }
            Record::Digest { seat: None, .. } => {}
            Record::Timing { seat, timing, .. } => {
                let page = &mut self.pages[seat.index()];
                page.notes = timing.number.saturating_add(1);
                page.len += len;
            }
            Record::Presence { seat, .. } | Record::Route { seat, .. } => {
                self.pages[seat.index()].len += len;
            }
            Record::Diverged { seat, .. } => self.pages[seat.index()].diverged = true,
            Record::Recount { by, recount } => {
                self.recounts.insert((by, recount.seat, recount.life.0));
            }
            Record::Equivocation { .. }
            | Record::Observed { .. }
            | Record::Paced { .. }
            | Record::Infos { .. }
            | Record::Viewed { .. }
            | Record::Observations { .. }
            | Record::Outcome { .. }
            | Record::Repeated { .. } => {}
            Record::End(ending) => self.ending = Some(ending),
        }
    }

    /// Adds how a person is, or which way the datagrams of a page travel; beyond [`MAX_NOTES_LEN`] nothing is added.
    ///
    /// # Errors
    /// [`Refused::Malformed`] for another record, or of a seat that is not there; [`Refused::Disk`].
    pub fn append_note(&mut self, record: Record) -> Result<(), Refused> {
        let seat = match record {
            Record::Presence { seat, .. } if seat.index() < self.count_seats() => seat,
            Record::Route { seat, other, .. } if seat.max(other).index() < self.count_seats() => {
                seat
            }
            _ => return Err(Refused::Malformed("not a note on somebody here")),
        };
        let has_room = self.pages[seat.index()].len < MAX_NOTES_LEN;
        if has_room && self.ending.is_none() {
            self.append(vec![record])?;
        }
        Ok(())
    }

    /// Writes the end, or returns it if it is already written. If the environment has ended, the reason is
    /// [`EndReason::Played`], whatever the caller says.
    ///
    /// # Errors
    /// [`Refused::NotOver`] if the reason is [`EndReason::Played`] and the environment has not ended;
    /// [`Refused::Disk`].
    pub fn end(&mut self, reason: EndReason) -> Result<Ending, Refused> {
        if let Some(ending) = self.ending {
            return Ok(ending);
        }
        if reason == EndReason::Played && self.ending_so_far().is_none() && !self.broken {
            return Err(Refused::NotOver {
                through: self.recorded_through(),
            });
        }
        self.flush()?;
        let ending = self.replica.read_ending(reason);
        self.append(vec![Record::End(ending)])?;
        Ok(ending)
    }

    /// The end, once written, with what each seat made.
    pub fn poll_end(&mut self) -> Option<EpisodeEnd> {
        let ending = self.ending?;
        let seats = self.replica.seat_totals();
        Some(EpisodeEnd { ending, seats })
    }

    /// Ticks that are durable.
    pub fn recorded_through(&self) -> Tick {
        self.replica.ticks()
    }

    /// The end, once the environment has ended on the last durable tick.
    pub fn ending_so_far(&self) -> Option<Ending> {
        self.replica
            .outcome()
            .over
            .then(|| self.replica.read_ending(EndReason::Played))
    }

    /// The reason why the environment was stopped, if it broke down or was too slow.
    pub fn world_fault(&self) -> Option<String> {
        let slow = || self.hosted.as_ref()?.slow.clone();
        self.replica.world_fault().or_else(slow)
    }

    /// The end, once written.
    pub fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// The header of the file.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns every change of a seat so far, by number; some may be ahead.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// The controller of each seat in a tick, as far as it is decided.
    pub fn controllers_at(&self, tick: Tick) -> Vec<Controller> {
        let seats = (0..).map(Seat).take(self.count_seats());
        seats
            .map(|seat| controller_at(&self.header, &self.changes, seat, tick).clone())
            .collect()
    }

    /// The life of a seat after all changes so far.
    pub fn life(&self, seat: Seat) -> Life {
        self.last(seat).map_or(Life(0), |change| change.life)
    }

    /// The controller of a seat after all changes so far; `None` if there is no such seat.
    pub fn controller(&self, seat: Seat) -> Option<&Controller> {
        match self.last(seat) {
            Some(change) => Some(&change.controller),
            None => self.header.controllers.get(seat.index()),
        }
    }

    /// The last change of a seat.
    fn last(&self, seat: Seat) -> Option<&Change> {
        self.changes.iter().rfind(|change| change.seat == seat)
    }

    /// Returns the first tick of the present stint of a seat for which its page has not sent an input; the stint's
    /// first tick if it has no person.
    pub fn next_input(&self, seat: Seat) -> Tick {
        let entered = self.last(seat).map_or(Tick(0), |change| change.tick);
        let inputs = self.inputs.get(seat.index()).and_then(Option::as_ref);
        inputs.map_or(entered, SeatInputs::next)
    }

    fn count_seats(&self) -> usize {
        self.header.controllers.len()
    }
}

/// The bytes that a record takes in a log.
fn encoded_len(record: &Record) -> Result<usize, LogError> {
    let mut bytes = Vec::new();
    LogWriter::default().append(record, &mut bytes)?;
    Ok(bytes.len())
}

/// The controller of a seat in a tick, by the header and then by the changes.
pub fn controller_at<'a>(
    header: &'a Header,
    changes: &'a [Change],
    seat: Seat,
    tick: Tick,
) -> &'a Controller {
    let mut changes = changes.iter();
    let last = changes.rfind(|change| change.seat == seat && change.tick <= tick);
    last.map_or(&header.controllers[seat.index()], |change| {
        &change.controller
    })
}

/// The file of an episode.
///
/// # Errors
/// [`OpenError::Name`]
pub fn path(dir: &Path, episode: &str) -> Result<PathBuf, OpenError> {
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !(1..=64).contains(&episode.len()) || !episode.bytes().all(fine) {
        return Err(OpenError::Name(episode.into()));
    }
    Ok(dir.join(episode).with_extension(EXTENSION))
}

/// The episode files of a data folder, by name; empty if it has no folder of them.
///
/// # Errors
/// The error of the disk.
pub fn list_logs(data: &Path) -> io::Result<Vec<PathBuf>> {
    let dir = data.join(FOLDER);
    if !dir.try_exists()? {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(dir)?.map(|entry| entry.map(|entry| entry.path()));
    let mut files = entries.collect::<io::Result<Vec<_>>>()?;
    files.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == EXTENSION)
    });
    files.sort();
    Ok(files)
}
