//! Frames that pages showed, from the log alone: every frame of their seen-logs, and the state behind it.

use std::collections::BTreeMap;
use std::vec;

use env_core::guest::Sprite;
use env_core::tally::TalliedWorld;
use env_core::{Policy, World};
use protocol::change::Change;
use protocol::datagram::MAX_INPUTS;
use protocol::log::{Header, Log, Record};
use protocol::seen::{self, Frame};
use protocol::{Controller, Era, Life, Seat};
use rollback::{Config, RebuildError, Rebuilder};

use super::replica::{ReplicaError, add_network, open_world, world};
use super::stored::Stored;

/// The frames that the pages of an episode showed.
pub struct Screens<'a> {
    log: &'a Log,
    changes: Vec<Change>,
    rows: Vec<u16>,
}

/// The frames that one page showed in one life of its seat.
pub struct ShownPage<'a> {
    /// The seat.
    pub seat: Seat,
    /// The life.
    pub life: Life,
    /// Each frame, in order.
    pub frames: Frames<'a>,
}

/// The frames of a page, each rebuilt on demand: there may be many. They end at the first note that cannot be right,
/// with the reason.
pub struct Frames<'a> {
    seats: usize,
    chunks: vec::IntoIter<&'a [u8]>,
    /// The frames of a chunk, and the next one of them.
    chunk: Vec<Frame>,
    at: usize,
    /// `None` after a note that cannot be right.
    rebuilder: Option<FrameRebuilder<'a>>,
}

type FrameRebuilder<'a> = Rebuilder<'a, Box<dyn World + Send>, Partners>;

/// Makes policies by their names.
type Partners = Box<dyn Fn(&str) -> Option<Box<dyn Policy>>>;

/// A frame that was rebuilt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebuilt {
    /// The frame as the page noted it.
    pub frame: Frame,
    /// Digest of the state after [`Frame::tick`] steps, as the page had simulated it.
    pub simulated: u64,
    /// Digest of the state that was shown, which may be some ticks ahead.
    pub shown: u64,
}

impl<'a> Screens<'a> {
    /// Prepares the frames of an episode from its log.
    pub fn new(log: &'a Log) -> Self {
        Self {
            log,
            changes: log.changes().cloned().collect(),
            rows: log.rows(),
        }
    }

    /// The frames of every page, by seat and life.
    ///
    /// # Errors
    /// The environment cannot be simulated here.
    pub fn pages(
        &self,
        stored: impl Fn(&str) -> std::io::Result<Vec<u8>> + Send + 'static,
    ) -> Result<Vec<ShownPage<'_>>, ReplicaError> {
        let partners = find_partners(self.log, &stored)?;
        let page = |((seat, life), chunks): ((Seat, u8), Vec<_>)| {
            let mut world = world(&self.log.header, &stored)?;
            if self.log.header.rules.ask_rewards() {
                world = TalliedWorld::boxed(world);
            }
            let life = Life(life);
            let frames = Frames {
                seats: self.log.count_seats(),
                chunks: chunks.into_iter(),
                chunk: Vec::new(),
                at: 0,
                rebuilder: Some(self.rebuilder(seat, world, partners.clone())),
            };
            Ok(ShownPage { seat, life, frames })
        };
        self.chunks().into_iter().map(page).collect()
    }

    /// The seen-logs of every page, chunk by chunk.
    fn chunks(&self) -> BTreeMap<(Seat, u8), Vec<&[u8]>> {
        let mut pages: BTreeMap<_, Vec<&[u8]>> = BTreeMap::new();
        for record in &self.log.records {
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

    fn rebuilder(
        &self,
        seat: Seat,
        world: Box<dyn World + Send>,
        networks: policy::Partners,
    ) -> FrameRebuilder<'_> {
        let header = &self.log.header;
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
            rules: header.rules.clone(),
        };
        let record = rollback::EpisodeRecord {
            changes: &self.changes,
            rows: &self.rows,
        };
        let spec = world.spec().clone();
        let partners: Partners = Box::new(move |name| networks.open(name, &spec));
        Rebuilder::new(config, world, partners, record)
    }
}

impl Iterator for Frames<'_> {
    type Item = Result<Rebuilt, String>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.find_frame().transpose()?;
        let next = next.and_then(|at| self.rebuilt(self.chunk[at].clone()));
        if next.is_err() {
            self.rebuilder = None;
        }
        Some(next)
    }
}

impl<'a> Frames<'a> {
    /// Rebuilds the next frame and returns the result of `look` for it and the state that it showed; `None` after the
    /// last one. The frames end at the first note that cannot be right, with the reason.
    pub fn next_with<T>(
        &mut self,
        look: impl FnOnce(&Frame, &mut (dyn World + Send)) -> T,
    ) -> Option<Result<T, String>> {
        self.next_by(|rebuilder, frame| {
            rebuilder.show_world(frame, |world| look(frame, &mut **world))
        })
    }

    /// The same for the state that the page had simulated, before the ticks that it showed ahead.
    pub fn next_simulated<T>(
        &mut self,
        look: impl FnOnce(&Frame, &mut (dyn World + Send)) -> T,
    ) -> Option<Result<T, String>> {
        self.next_by(|rebuilder, frame| {
            rebuilder.simulate(frame, |world| look(frame, &mut **world))
        })
    }

    /// Returns the result of `rebuild` for the next frame.
    fn next_by<T>(
        &mut self,
        rebuild: impl FnOnce(&mut FrameRebuilder<'a>, &Frame) -> Result<T, RebuildError>,
    ) -> Option<Result<T, String>> {
        let next = self.find_frame().transpose()?.and_then(|at| {
            let rebuilder = self.rebuilder.as_mut();
            let rebuilder = rebuilder.expect("after a frame that cannot be there is none");
            rebuild(rebuilder, &self.chunk[at]).map_err(|error| error.to_string())
        });
        if next.is_err() {
            self.rebuilder = None;
        }
        Some(next)
    }

    /// The place of the next frame in its chunk, if there is one.
    fn find_frame(&mut self) -> Result<Option<usize>, String> {
        if self.rebuilder.is_none() {
            return Ok(None);
        }
        while self.at == self.chunk.len() {
            let Some(chunk) = self.chunks.next() else {
                return Ok(None);
            };
            self.at = 0;
            seen::decode_into(chunk, self.seats, &mut self.chunk)
                .map_err(|error| error.to_string())?;
        }
        self.at += 1;
        Ok(Some(self.at - 1))
    }

    /// Rebuilds a frame: once as simulated, and then as shown, which brings nothing new.
    fn rebuilt(&mut self, frame: Frame) -> Result<Rebuilt, String> {
        let simulated = Frame {
            ahead: 0,
            ..frame.clone()
        };
        let shown = Frame {
            fresh: vec![Vec::new(); frame.fresh.len()],
            ..frame.clone()
        };
        let rebuilder = self.rebuilder.as_mut();
        let rebuilder = rebuilder.expect("after a frame that cannot be there is none");
        let mut show = |frame: &Frame| rebuilder.show(frame).map_err(|error| error.to_string());
        Ok(Rebuilt {
            simulated: show(&simulated)?,
            shown: show(&shown)?,
            frame,
        })
    }
}

/// Opens the world of an episode, in any state, with the pictures that its draw lists name.
///
/// # Errors
/// [`ReplicaError`]
pub fn open_past_world(
    header: &Header,
    stored: &Stored,
) -> Result<(Box<dyn World + Send>, Vec<Sprite>), ReplicaError> {
    let (world, sprites) = open_world(header, stored)?;
    let Some(sprites) = sprites else {
        let native = env_core::envs::sprites_of(&header.env)?.iter();
        let sprites = native.map(|sprite| Sprite {
            name: sprite.name.into(),
            svg: sprite.svg.into(),
        });
        return Ok((world, sprites.collect()));
    };
    Ok((world, sprites))
}

/// Reads the models of all AI partners that played in an episode.
///
/// # Errors
/// [`ReplicaError::Network`]
pub fn find_partners(log: &Log, stored: &Stored) -> Result<policy::Partners, ReplicaError> {
    let mut partners = policy::Partners::default();
    let changes = log.changes().map(|change| &change.controller);
    for controller in log.header.controllers.iter().chain(changes) {
        if let Controller::Ai { policy } = controller {
            add_network(&mut partners, policy, stored)?;
        }
    }
    Ok(partners)
}

#[cfg(test)]
mod tests;
