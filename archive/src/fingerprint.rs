//! Fingerprints of the logs of ended episodes: a person who keeps one notices every later change of the log.

use protocol::hash::sha256_hex;
use protocol::log;

/// The length of a log up to and with its end, and the SHA-256 of these bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// Bytes. After them, the log of a hosted world may have its repetition.
    pub len: usize,
    /// 64 hex digits.
    pub sha256: String,
}

impl Fingerprint {
    /// The fingerprint of a log; `None` if it is damaged, or has no end.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let len = log::read_log(bytes).ok()?.ended_len()?;
        let sha256 = sha256_hex(bytes.get(..len)?);
        Some(Self { len, sha256 })
    }

    /// True if a log is the one that had this fingerprint.
    pub fn fits(&self, bytes: &[u8]) -> bool {
        let ended = bytes.get(..self.len);
        ended.is_some_and(|ended| sha256_hex(ended) == self.sha256)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use protocol::Seat;
    use protocol::control::EndReason;
    use protocol::log::{LogWriter, Record};

    use super::*;
    use crate::Episode;
    use crate::fixtures::{PERSON, header, pages, play_episode};

    #[test]
    fn a_fingerprint_fits_its_own_log_alone_and_leaves_room_for_a_repetition() {
        let dir = tempfile::tempdir().unwrap();
        let header = header([PERSON, PERSON], 12);
        let mut episode = Episode::create(dir.path(), header.clone()).unwrap();
        for (seat, page) in (0..).map(Seat).zip(&mut pages(&header)) {
            let upload = page.upload_part(&play_episode(&header), 0, 12);
            episode.append_upload(seat, &upload).unwrap();
        }
        let path = crate::path(dir.path(), "e-1").unwrap();
        let running = fs::read(&path).unwrap();
        assert_eq!(Fingerprint::of(&running), None, "it has no end");
        episode.end(EndReason::Played).unwrap();
        let ended = fs::read(&path).unwrap();
        let fingerprint = Fingerprint::of(&ended).unwrap();
        assert_eq!(fingerprint.len, ended.len());
        assert!(fingerprint.fits(&ended) && !fingerprint.fits(&running));

        let mut repeated = ended.clone();
        let mut writer = LogWriter::resume(&log::read_log(&ended).unwrap());
        let record = Record::Repeated { differs: None };
        writer.append(&record, &mut repeated).unwrap();
        assert_eq!(Fingerprint::of(&repeated), Some(fingerprint.clone()));
        assert!(fingerprint.fits(&repeated));

        let mut changed = ended;
        *changed.last_mut().unwrap() ^= 1;
        assert!(!fingerprint.fits(&changed));
    }
}
