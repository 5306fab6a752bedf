//! Holds the people of an episode file against the database, and asks whether the database knows the episode at all.

use std::collections::{BTreeMap, BTreeSet};

use protocol::log::{Log, Record, WITHDRAWN};
use store::Withdrawn;

use super::record::SIGNED;
use super::{EpisodeVerdict, Verified, VerifyReport};

/// The people of an episode, as its file has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EpisodePeople {
    version: u8,
    group: String,
    /// Pseudonym of the participant of each seat; empty for an AI partner.
    participants: Vec<String>,
    /// The seats of which inputs were erased.
    erased: BTreeSet<u8>,
}

impl EpisodePeople {
    pub(super) fn new(log: &Log) -> Self {
        let erased = log.records.iter().filter_map(|record| match record {
            Record::Erased { seat, .. } => Some(seat.0),
            _ => None,
        });
        Self {
            version: log.version,
            group: log.header.group.clone(),
            participants: log.header.participants.clone(),
            erased: erased.collect(),
        }
    }

    /// Returns the first difference from the database.
    fn compare(&self, known: &store::Episode, withdrawn: &Withdrawn) -> Result<(), String> {
        let is_older = self.version < SIGNED && known.participants.is_empty();
        let seats = self.participants.len().max(known.participants.len());
        for seat in (0..seats).filter(|_| !is_older) {
            let name = |names: &[String]| match names.get(seat).map(String::as_str) {
                None | Some("") => "nobody".to_owned(),
                Some(name) => name.to_owned(),
            };
            let (in_database, in_file) = (name(&known.participants), name(&self.participants));
            if in_file == WITHDRAWN {
                let has_left = withdrawn.participants.contains(&in_database);
                if !has_left && !withdrawn.groups.contains(&self.group) {
                    return Err(format!(
                        "the file says that the person of seat {seat} withdrew; the database does not"
                    ));
                }
            } else if in_database != in_file {
                return Err(format!(
                    "the database has {in_database} in seat {seat}; the file has {in_file}"
                ));
            }
        }
        for seat in &self.erased {
            let person = self.participants.get(usize::from(*seat));
            let has_left = person.is_some_and(|person| withdrawn.participants.contains(person));
            if !has_left && !withdrawn.groups.contains(&self.group) {
                return Err(format!(
                    "inputs of seat {seat} were erased, and its person has not withdrawn"
                ));
            }
        }
        Ok(())
    }
}

/// Adds the differences of the database about the people of each episode. An episode in which something was played must
/// be in `known`, the episodes that the database had before or after the files were read.
pub(super) fn check_people(
    report: &mut VerifyReport,
    known: &[store::Episode],
    withdrawn: &Withdrawn,
) {
    let known: BTreeMap<&str, &store::Episode> =
        known.iter().map(|it| (it.id.as_str(), it)).collect();
    let follows = |found: &&mut Verified| found.follows_its_file();
    for found in report.episodes.iter_mut().filter(follows) {
        let compared = match known.get(found.episode.as_str()) {
            Some(known) => found.people.compare(known, withdrawn),
            None if found.ticks > 0 => Err("the database does not know this episode".to_owned()),
            None => Ok(()),
        };
        if let Err(because) = compared {
            found.verdict = EpisodeVerdict::Differs(because);
        }
    }
}
