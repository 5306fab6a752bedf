//! The archive of an episode: an append-only file, and the replica that its rows step.
//!
//! Nothing is acknowledged before it is durable, and nothing that is durable changes. Calls block on the disk.
//! Only one program may write to a folder of episodes; [`crate::data::DataDir`] sees to that.
//! This module must not know of sockets, sessions or the database.

mod replica;
mod seen;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use protocol::control::{EndReason, Upload};
use protocol::log::{self, Ending, Header, LogError, MAX_RECORD, Record};
use protocol::{Controller, Seat, Tick};

pub use replica::{ReplayError, Replica, ReplicaError, RowError, replay};
use seen::Seen;

/// Folder of the episode files in a data folder.
pub const FOLDER: &str = "episodes";

/// Extension of an episode file.
pub const EXTENSION: &str = "coplay";

/// An episode file that is being written, and the replica of the episode.
pub struct Episode {
    file: File,
    path: PathBuf,
    header: Header,
    replica: Replica,
    /// All actions, `[tick, seat]`.
    rows: Vec<u16>,
    /// The digests that pages claim.
    claims: BTreeMap<(Tick, Seat), u64>,
    seen: Vec<Seen>,
    ending: Option<Ending>,
    /// A write failed: what the disk has is known again only after [`Self::recover`].
    broken: bool,
}

/// What became of an upload; everything that it tells is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absorbed {
    /// Ticks that are durable.
    pub through: Tick,
    /// The end, once the environment has ended on the last of them.
    pub over: Option<Ending>,
    /// Seats whose page simulates something else than the replica, as found by this upload.
    pub diverged: Vec<Seat>,
    /// Whether the upload contradicts what is durable. None of its rows are then taken.
    pub disagreed: bool,
    /// Whether the environment broke down: the episode cannot go on.
    pub stopped: bool,
}

/// Why an episode cannot be created or recovered.
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

/// Why nothing was taken.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The rows begin after what is durable.
    #[error("rows from a tick after {}, which is the first that is missing", through.0)]
    Gap {
        /// Ticks that are durable: the page is to upload from here on.
        through: Tick,
    },
    /// Not an upload of a page of this episode.
    #[error("malformed upload: {0}")]
    Malformed(&'static str),
    /// The environment has not ended, so the episode was not played to its end.
    #[error("the environment has not ended after {} ticks", through.0)]
    NotOver {
        /// Ticks that are durable.
        through: Tick,
    },
    /// The disk failed. The episode takes nothing more; [`Episode::recover`] tells what it has.
    #[error(transparent)]
    Disk(#[from] io::Error),
}

impl Episode {
    /// Makes the file `<dir>/<episode>.coplay` with its header.
    ///
    /// # Errors
    /// [`OpenError`]; also if the episode cannot be simulated here, or its file is there.
    pub fn create(dir: &Path, header: Header) -> Result<Self, OpenError> {
        let replica =
            Replica::open(&header, |hash| stored(dir, hash)).map_err(ReplayError::from)?;
        let bytes = log::begin(&header)?;
        let path = path(dir, &header.episode)?;
        if path.try_exists()? {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                format!("{} is there", path.display()),
            )
            .into());
        }
        // A file under its own name always has a whole header.
        let part = path.with_extension("part");
        let mut file = File::create(&part)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&part, &path)?;
        File::open(dir)?.sync_all()?;
        Ok(Self::new(file, path, header, replica))
    }

    fn new(file: File, path: PathBuf, header: Header, replica: Replica) -> Self {
        let seen = header.controllers.iter().map(|_| Seen::default()).collect();
        let (rows, claims) = (Vec::new(), BTreeMap::new());
        Self {
            file,
            path,
            header,
            replica,
            rows,
            claims,
            seen,
            ending: None,
            broken: false,
        }
    }

    /// Opens a file again, cuts off what a crash left of its last write, and simulates it up to its last tick.
    ///
    /// # Errors
    /// [`OpenError`]; the file is then unchanged.
    pub fn recover(path: &Path) -> Result<Self, OpenError> {
        let mut file = OpenOptions::new().read(true).write(true).open(path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let log = log::read(&bytes)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let replica = replay(&log, |hash| stored(folder, hash), |_, _| ())?;
        if log.torn {
            file.set_len(log.valid_len as u64)?;
            file.sync_all()?;
        }
        file.seek(SeekFrom::End(0))?;
        let mut episode = Self::new(file, path.into(), log.header.clone(), replica);
        episode.rows = log.rows();
        episode.ending = log.ending;
        for record in log.records {
            match record {
                Record::Digest {
                    tick,
                    seat: Some(seat),
                    digest,
                } => {
                    episode.claims.insert((tick, seat), digest);
                }
                Record::Timing { seat, timing, .. } => episode.seen[seat.index()].take(&timing),
                _ => {}
            }
        }
        Ok(episode)
    }

    /// Takes what is new in an upload of the page of a seat. The era is the caller's to check.
    ///
    /// # Errors
    /// [`Refused`]; the archive is then unchanged, but for [`Refused::Disk`].
    pub fn absorb(&mut self, seat: Seat, upload: &Upload) -> Result<Absorbed, Refused> {
        self.check(seat, upload)?;
        let (mut disagreed, rows) = self.new_rows(upload);
        let mut notes = Vec::new();
        let mut claims = BTreeMap::new();
        for &(tick, digest) in &upload.digests {
            let known = self.claims.get(&(tick, seat)).copied();
            let known = known.unwrap_or_else(|| *claims.entry((tick, seat)).or_insert(digest));
            disagreed |= known != digest;
        }
        let timing = upload.timing.as_ref();
        let news = timing.and_then(|timing| self.seen[seat.index()].news(timing));
        if self.ending.is_none() {
            self.note(seat, &claims, news.as_ref(), &mut notes)?;
        }
        let first = self.replica.ticks();
        let (mut diverged, mut stopped) = (BTreeSet::new(), false);
        let rows = if disagreed || self.ending.is_some() {
            &[]
        } else {
            rows
        };
        match self.step(rows) {
            Ok(()) => {}
            Err(RowError::Stopped) => stopped = true,
            Err(_) => drop(diverged.insert(seat)),
        }
        self.append(first, &notes)?;
        if self.ending.is_none() {
            self.claims.extend(&claims);
            news.iter()
                .for_each(|news| self.seen[seat.index()].take(news));
        }
        diverged.extend(self.unlike(first, &claims));
        if !disagreed && upload.ended.is_some_and(|end| !self.may_end_at(end)) {
            diverged.insert(seat);
        }
        Ok(Absorbed {
            through: self.through(),
            over: self.over(),
            diverged: diverged.into_iter().collect(),
            stopped,
            disagreed,
        })
    }

    /// Refuses what no page of this episode sends.
    fn check(&self, seat: Seat, upload: &Upload) -> Result<(), Refused> {
        if self.broken {
            return Err(io::Error::other("an earlier write failed").into());
        }
        if self.header.controllers.get(seat.index()) != Some(&Controller::Human) {
            return Err(Refused::Malformed("no person has this seat"));
        }
        let (seats, spec) = (self.seats(), self.replica.spec());
        // Three bytes are the longest encoding of an action.
        if !upload.rows.len().is_multiple_of(seats) || upload.rows.len() > MAX_RECORD / 4 {
            return Err(Refused::Malformed("rows that are not whole, or too many"));
        }
        if upload
            .rows
            .iter()
            .any(|action| usize::from(*action) >= spec.actions.len())
        {
            return Err(Refused::Malformed(
                "an action that the environment does not have",
            ));
        }
        if upload.digests.iter().any(|(tick, _)| tick.0 > spec.horizon) {
            return Err(Refused::Malformed("a digest after the horizon"));
        }
        if upload
            .timing
            .as_ref()
            .is_some_and(|timing| timing.rtt_us.len() > seats)
        {
            return Err(Refused::Malformed(
                "round trips to more seats than there are",
            ));
        }
        match self.through() {
            through if upload.first > through => Err(Refused::Gap { through }),
            _ => Ok(()),
        }
    }

    /// Whether the upload contradicts the rows that are durable, and its rows beyond them.
    fn new_rows<'a>(&self, upload: &'a Upload) -> (bool, &'a [u16]) {
        let known = &self.rows[upload.first.0 as usize * self.seats()..];
        let (old, new) = upload.rows.split_at(known.len().min(upload.rows.len()));
        (old != &known[..old.len()], new)
    }

    /// Encodes what is new beside the rows.
    fn note(
        &self,
        seat: Seat,
        claims: &BTreeMap<(Tick, Seat), u64>,
        news: Option<&protocol::control::Timing>,
        notes: &mut Vec<u8>,
    ) -> Result<(), Refused> {
        let claims = claims
            .iter()
            .map(|(&(tick, seat), &digest)| Record::Digest {
                tick,
                seat: Some(seat),
                digest,
            });
        let news = news.map(|timing| Record::Timing {
            seat,
            life: protocol::Life(0),
            timing: timing.clone(),
        });
        for record in claims.chain(news) {
            log::append(&record, notes)
                .map_err(|_| Refused::Malformed("more timing than a record holds"))?;
        }
        Ok(())
    }

    /// Steps the replica by new rows, as far as they can be played.
    fn step(&mut self, rows: &[u16]) -> Result<(), RowError> {
        for row in rows.chunks_exact(self.seats()) {
            self.replica.step(row)?;
            self.rows.extend(row);
        }
        Ok(())
    }

    /// Writes the rows from `first` on, the replica's digests of them, and the notes; waits for the disk.
    fn append(&mut self, first: Tick, notes: &[u8]) -> Result<(), Refused> {
        let through = self.through();
        let mut bytes = Vec::new();
        let mut add =
            |record: Record| log::append(&record, &mut bytes).expect("the rows of an upload fit");
        if first < through {
            add(Record::Actions {
                first,
                rows: self.rows[first.0 as usize * self.seats()..].to_vec(),
            });
        }
        let each = u32::from(self.header.tick_hz.max(1));
        let marks = (first.0 + 1..=through.0).map(Tick);
        for tick in marks.filter(|tick| {
            tick.0.is_multiple_of(each) || *tick == through && self.replica.outcome().over
        }) {
            add(Record::Digest {
                tick,
                seat: None,
                digest: self.replica.digest(tick).expect("the tick was played"),
            });
        }
        bytes.extend(notes);
        Ok(self.write(&bytes)?)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let written = self
            .file
            .write_all(bytes)
            .and_then(|()| self.file.sync_data());
        self.broken = written.is_err();
        written
    }

    /// Seats that claim another digest than the replica's, among the new claims and those that waited for
    /// the ticks from `first` on.
    fn unlike(&self, first: Tick, new: &BTreeMap<(Tick, Seat), u64>) -> Vec<Seat> {
        let over = self.replica.outcome().over;
        let waited = self.claims.range((Tick(first.0 + 1), Seat(0))..);
        let unlike =
            waited
                .chain(new)
                .filter(|((tick, _), claim)| match self.replica.digest(*tick) {
                    Some(digest) => digest != **claim,
                    None => over,
                });
        unlike.map(|((_, seat), _)| *seat).collect()
    }

    /// Whether the environment may have ended after so many ticks, as far as it was simulated.
    fn may_end_at(&self, end: Tick) -> bool {
        if self.replica.outcome().over {
            end == self.through()
        } else {
            end > self.through()
        }
    }

    /// Writes the end; once written, gives it again. If the environment has ended, the reason is
    /// [`EndReason::Played`], whatever the caller says.
    ///
    /// # Errors
    /// [`Refused::NotOver`] if the reason is [`EndReason::Played`] and the environment has not ended;
    /// [`Refused::Disk`].
    pub fn end(&mut self, reason: EndReason) -> Result<Ending, Refused> {
        if let Some(ending) = self.ending {
            return Ok(ending);
        }
        if self.broken {
            return Err(io::Error::other("an earlier write failed").into());
        }
        if reason == EndReason::Played && self.over().is_none() {
            return Err(Refused::NotOver {
                through: self.through(),
            });
        }
        let ending = self.replica.ending(reason);
        let mut bytes = Vec::new();
        log::append(&Record::End(ending), &mut bytes).expect("an end is short");
        self.write(&bytes)?;
        self.ending = Some(ending);
        Ok(ending)
    }

    /// Ticks that are durable.
    pub fn through(&self) -> Tick {
        self.replica.ticks()
    }

    /// The end, once the environment has ended on the last durable tick.
    pub fn over(&self) -> Option<Ending> {
        self.replica
            .outcome()
            .over
            .then(|| self.replica.ending(EndReason::Played))
    }

    /// The end, once written.
    pub fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// The header of the file.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn seats(&self) -> usize {
        self.header.controllers.len()
    }
}

/// Reads the environment module with a hash, which lies beside the folder of the episodes.
///
/// # Errors
/// What the disk says, or that this is no hash.
pub fn stored(episodes: &Path, hash: &str) -> io::Result<Vec<u8>> {
    let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hash {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "this is no SHA-256",
        ));
    }
    let data = episodes.parent().unwrap_or(Path::new(""));
    fs::read(data.join("modules").join(format!("{hash}.wasm")))
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

/// The episode files of a data folder, by name; none if it has no folder of them.
///
/// # Errors
/// What the disk says.
pub fn files(data: &Path) -> io::Result<Vec<PathBuf>> {
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
