//! Files of episodes after a withdrawal: written again without everything that came from the person's own page.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use protocol::EnvWay;
use protocol::log::{self, LogError};

/// The state of the file of an episode after a withdrawal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithdrawnFile {
    /// It has nothing of the participant's page, now or already before.
    Done,
    /// The world of a host may still be run again after the end, and the result be added to the file.
    Busy,
    /// There is no such file.
    Missing,
}

/// The reason why the file of an episode still has data that a participant withdrew.
#[derive(Debug, thiserror::Error)]
pub enum WithdrawError {
    /// The disk refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is damaged, or a newer program wrote it.
    #[error(transparent)]
    Log(#[from] LogError),
}

/// A withdrawal from the file of an episode before anything is written.
#[derive(Debug)]
pub enum PreparedWithdrawal {
    /// The file must be replaced, unless it has nothing of the participant's page any more.
    Ready(Rewriting),
    /// Nothing must be written.
    Settled(WithdrawnFile),
}

/// The file of an episode before a withdrawal, and as it will be.
#[derive(Debug)]
pub struct Rewriting {
    path: PathBuf,
    before: Vec<u8>,
    /// `None` if it has nothing of the participant's page.
    after: Option<Vec<u8>>,
}

impl Rewriting {
    /// The file as it is.
    pub fn bytes_before(&self) -> &[u8] {
        &self.before
    }

    /// The file as it will be.
    pub fn bytes_after(&self) -> &[u8] {
        self.after.as_ref().unwrap_or(&self.before)
    }

    /// Replaces the file whole: after a crash it is as before or done.
    ///
    /// # Errors
    /// The disk refused; the file is then unchanged.
    pub fn replace_file(&self) -> io::Result<()> {
        match &self.after {
            Some(after) => replace(&self.path, after),
            None => Ok(()),
        }
    }
}

/// Reads the file of an ended episode, and removes everything that came from a participant's own page. The confirmed
/// actions stay. `waits` leaves a file alone that the thread of its episode may still write to.
///
/// # Errors
/// [`WithdrawError`]
pub fn prepare_withdrawal(
    path: &Path,
    participant: &str,
    waits: bool,
) -> Result<PreparedWithdrawal, WithdrawError> {
    let settled = |state| Ok(PreparedWithdrawal::Settled(state));
    let before = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return settled(WithdrawnFile::Missing);
        }
        read => read?,
    };
    let mut log = match log::read_log(&before) {
        // Nothing was recorded yet.
        Err(LogError::NoHeader) => return settled(WithdrawnFile::Done),
        read => read?,
    };
    if waits && log.header.way == EnvWay::Host && log.end_repetition().is_none() {
        return settled(WithdrawnFile::Busy);
    }
    let after = match log.withdraw(participant) {
        true => Some(log.to_bytes()?),
        false => None,
    };
    Ok(PreparedWithdrawal::Ready(Rewriting {
        path: path.to_owned(),
        before,
        after,
    }))
}

/// Removes from the file of an ended episode everything that came from a participant's own page, as
/// [`prepare_withdrawal`] says.
///
/// # Errors
/// [`WithdrawError`]; the file is then unchanged.
pub fn withdraw_seats(
    path: &Path,
    participant: &str,
    waits: bool,
) -> Result<WithdrawnFile, WithdrawError> {
    match prepare_withdrawal(path, participant, waits)? {
        PreparedWithdrawal::Ready(rewriting) => {
            rewriting.replace_file()?;
            Ok(WithdrawnFile::Done)
        }
        PreparedWithdrawal::Settled(state) => Ok(state),
    }
}

/// Replaces a file by another one that is durable as soon as it has the name.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let part = path.with_extension("part");
    let mut file = File::create(&part)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&part, path)?;
    File::open(path.parent().unwrap_or(Path::new("")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use protocol::Seat;
    use protocol::control::EndReason;

    use super::*;
    use crate::Episode;
    use crate::fixtures::{PERSON, header, key, pages, play_episode};

    fn contains(bytes: &[u8], part: &[u8]) -> bool {
        bytes.windows(part.len()).any(|window| window == part)
    }

    #[test]
    fn a_withdrawn_seat_leaves_its_actions_and_nothing_that_its_page_signed() {
        let dir = tempfile::tempdir().unwrap();
        let header = header([PERSON, PERSON], 12);
        let mut episode = Episode::create(dir.path(), header.clone()).unwrap();
        for (seat, page) in (0..).map(Seat).zip(&mut pages(&header)) {
            let upload = page.upload_part(&play_episode(&header), 0, 12);
            episode.append_upload(seat, &upload).unwrap();
        }
        let ending = episode.end(EndReason::Played).unwrap();
        drop(episode);
        let path = crate::path(dir.path(), "e-1").unwrap();
        let own = key(Seat(1)).verifying_key().to_bytes();
        let before = log::read_log(&fs::read(&path).unwrap()).unwrap();
        assert!(contains(&fs::read(&path).unwrap(), &own));

        for _ in 0..2 {
            let done = withdraw_seats(&path, "P-B", true).unwrap();
            assert_eq!(done, WithdrawnFile::Done);
            let bytes = fs::read(&path).unwrap();
            let after = log::read_log(&bytes).unwrap();
            assert_eq!((after.rows(), after.ending), (before.rows(), Some(ending)));
            assert!(!contains(&bytes, &own) && !contains(&bytes, b"P-B"));
        }
        // It can still be simulated.
        let log = log::read_log(&fs::read(&path).unwrap()).unwrap();
        let replica = crate::replay(&log, crate::fixtures::no_modules, |_, _| ()).unwrap();
        assert_eq!(replica.read_ending(EndReason::Played), ending);
        let gone = dir.path().join("e-2.coplay");
        let missing = withdraw_seats(&gone, "P-B", true).unwrap();
        assert_eq!(missing, WithdrawnFile::Missing);
    }

    #[test]
    fn a_file_that_cannot_be_read_stays_and_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("e-1.coplay");
        fs::write(&path, b"something else entirely").unwrap();
        let error = withdraw_seats(&path, "P-B", true).unwrap_err();
        assert!(matches!(error, WithdrawError::Log(_)), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"something else entirely");
    }
}
