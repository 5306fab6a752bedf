//! The checks that every reader of a log makes before it believes it: that the log is the one that the ledger has, and that every
//! action of a person is what their own page has said and signed.

use env_core::Spec;
use protocol::EnvWay;
use protocol::log::{Log, Record};
use store::{KnownLogs, LogState};

use super::{hosted, inputs};

/// The first version of the log in which pages sign their inputs.
pub(super) const SIGNED: u8 = 5;

/// Refuses the log of an episode, named by its file, if it cannot be the recorded one. `bytes` are those of the log.
pub(crate) fn check_record(
    name: &str,
    (log, bytes): (&Log, &[u8]),
    spec: &Spec,
    known: &KnownLogs,
) -> Result<(), String> {
    check_copy(name, (log, bytes), known)?;
    check_signatures(log, spec)
}

/// The same, without the checks that need the environment of a world on a host.
pub(crate) fn check_copy(
    name: &str,
    (log, bytes): (&Log, &[u8]),
    known: &KnownLogs,
) -> Result<(), String> {
    check_name(name, log)?;
    check_version(log, known)?;
    if known.compare(name, bytes) == LogState::Altered {
        return Err(UNLIKE_LEDGER.to_owned());
    }
    match log.header.way {
        EnvWay::Host => Ok(()),
        EnvWay::Module => inputs::check_inputs(log),
    }
}

/// The fault of a log that is not the one that was entered.
pub(super) const UNLIKE_LEDGER: &str = "the log is not the one that the ledger has of the end of this episode, or of a withdrawal since";

pub(super) fn check_name(name: &str, log: &Log) -> Result<(), String> {
    match log.header.episode == name {
        true => Ok(()),
        false => Err(format!(
            "the header names the episode {}",
            log.header.episode
        )),
    }
}

/// Refuses a log that claims to be from before pages signed anything, and cannot be so old.
pub(super) fn check_version(log: &Log, known: &KnownLogs) -> Result<(), String> {
    if log.version >= SIGNED {
        return Ok(());
    }
    let is_newer = |record: &Record| {
        matches!(
            record,
            Record::Inputs { .. } | Record::Erased { .. } | Record::Recount { .. }
        )
    };
    let has_newer = !log.header.keys.is_empty() || log.records.iter().any(is_newer);
    if has_newer || !known.may_lack_signatures(&log.header.episode) {
        return Err(format!(
            "the log says that it is of version {}, in which nothing is signed; the episode was recorded later, when \
             pages signed their inputs",
            log.version
        ));
    }
    Ok(())
}

/// Refuses the first action of a person that is not what their own page has said and signed, and of a host the first
/// observation that does not have its recorded hash.
pub(super) fn check_signatures(log: &Log, spec: &Spec) -> Result<(), String> {
    match log.header.way {
        EnvWay::Host => {
            hosted::check_choices(log, spec)?;
            hosted::check_observations(log, spec)
        }
        EnvWay::Module => inputs::check_inputs(log),
    }
}
