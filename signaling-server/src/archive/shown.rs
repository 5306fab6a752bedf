//! What pages showed, from the log alone: every frame of their seen-logs, and the state behind it.

use std::collections::BTreeMap;

use env_core::World;
use protocol::change::Change;
use protocol::datagram::MAX_INPUTS;
use protocol::log::{Log, Record};
use protocol::seen::{self, Frame};
use protocol::{Era, Life, Seat};
use rollback::Config;

use super::replica::{ReplicaError, world};

/// What one page showed in one life of its seat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The seat.
    pub seat: Seat,
    /// The life.
    pub life: Life,
    /// Each frame, in order; or why what the page noted cannot be so.
    pub frames: Result<Vec<Rebuilt>, String>,
}

/// A frame that was rebuilt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebuilt {
    /// What the page noted.
    pub frame: Frame,
    /// Digest of the state after [`Frame::tick`] steps, as the page had simulated it.
    pub simulated: u64,
    /// Digest of the state that was shown, which may be some ticks ahead.
    pub shown: u64,
}

/// Rebuilds what every page showed, by seat and life.
///
/// # Errors
/// The environment cannot be simulated here.
pub fn shown(
    log: &Log,
    modules: impl Fn(&str) -> std::io::Result<Vec<u8>>,
) -> Result<Vec<Shown>, ReplicaError> {
    let changes: Vec<Change> = log.changes().cloned().collect();
    let rows = log.rows();
    let record = rollback::Record {
        changes: &changes,
        rows: &rows,
    };
    let pages = chunks(log).into_iter().map(|((seat, life), chunks)| {
        let world = world(&log.header, &modules)?;
        Ok(Shown {
            seat,
            life: Life(life),
            frames: rebuilt(log, record, world, seat, &chunks),
        })
    });
    pages.collect()
}

/// The seen-logs of every page, chunk by chunk.
fn chunks(log: &Log) -> BTreeMap<(Seat, u8), Vec<&[u8]>> {
    let mut pages: BTreeMap<_, Vec<&[u8]>> = BTreeMap::new();
    for record in &log.records {
        match record {
            Record::Timing { seat, life, timing } if !timing.seen.is_empty() => {
                let chunks = pages.entry((*seat, life.0)).or_default();
                chunks.push(&timing.seen);
            }
            _ => {}
        }
    }
    pages
}

fn rebuilt(
    log: &Log,
    record: rollback::Record<'_>,
    world: Box<dyn World + Send>,
    seat: Seat,
    chunks: &[&[u8]],
) -> Result<Vec<Rebuilt>, String> {
    let mut frames = Vec::new();
    for chunk in chunks {
        let decoded = seen::decode(chunk, log.seats());
        for frame in decoded.map_err(|error| error.to_string())? {
            // Once as simulated, and then as shown, which brings nothing new.
            let ahead = frame.ahead;
            let simulated = Frame { ahead: 0, ..frame };
            let fresh = vec![Vec::new(); simulated.fresh.len()];
            let shown = Frame {
                ahead,
                fresh,
                ..simulated.clone()
            };
            frames.extend([simulated, shown]);
        }
    }
    let header = &log.header;
    let config = Config {
        era: Era(0),
        local: Some(seat),
        controllers: header.controllers.clone(),
        seed: header.seed,
        tick_hz: header.tick_hz,
        input_delay: header.input_delay,
        // The page's own is not larger.
        window: MAX_INPUTS as u8,
        t0_us: header.t0_us,
    };
    let spec = world.spec().clone();
    let partner = |name: &str| policy::by_name(name, &spec);
    let digests = rollback::rebuild(config, world, partner, record, &frames);
    let digests = digests.map_err(|error| error.to_string())?;
    let frames = frames.chunks_exact(2).zip(digests.chunks_exact(2));
    let frames = frames.map(|(frames, digests)| Rebuilt {
        frame: Frame {
            fresh: frames[0].fresh.clone(),
            ..frames[1].clone()
        },
        simulated: digests[0],
        shown: digests[1],
    });
    Ok(frames.collect())
}

#[cfg(test)]
pub(crate) mod tests;
