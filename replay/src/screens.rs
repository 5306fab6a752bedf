//! The frames that the pages of an episode showed, as numbers of pictures.

use std::collections::BTreeSet;

use archive::{Replica, ReplicaError, Screens};
use env_core::draw::DrawList;
use protocol::Seat;
use protocol::log::Log;
use serde::Serialize;

use crate::pictures::{PictureStream, PictureTable};

/// The frames of a seat, column by column, in their order.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct SeatFrames {
    /// When each was presented, milliseconds since the one before; the first one since tick 0 was due.
    at_ms: Vec<i64>,
    /// Ticks that each showed, more than the one before.
    tick: Vec<i64>,
    /// The picture of each: its number less that of the confirmed picture of the tick.
    picture: Vec<i64>,
    /// The frames during which the page was out of sight, by their place.
    hidden: Vec<usize>,
    /// The reason why the frames end before the episode does.
    fault: Option<String>,
    #[serde(skip)]
    last: (i64, i64),
}

/// The confirmed pictures of a seat: their numbers after 0, 1, 2, … ticks.
pub(crate) type Confirmed = Vec<u32>;

/// Rebuilds the frames of every seat, except omitted ones.
///
/// # Errors
/// The environment cannot be simulated here.
pub(crate) fn rebuild_screens(
    log: &Log,
    replica: &Replica,
    confirmed: &[Confirmed],
    table: &mut PictureTable,
    left_out: &BTreeSet<Seat>,
    stored: impl Fn(&str) -> std::io::Result<Vec<u8>> + Send + 'static,
) -> Result<Vec<SeatFrames>, ReplicaError> {
    let mut all: Vec<SeatFrames> = Vec::new();
    all.resize_with(log.count_seats(), SeatFrames::default);
    let screens = Screens::new(log);
    let mut list = DrawList::default();
    for mut page in screens.pages(stored)? {
        if left_out.contains(&page.seat) {
            continue;
        }
        let seat = page.seat.index();
        let (frames, truth) = (&mut all[seat], &confirmed[seat]);
        let mut stream = PictureStream::default();
        loop {
            let next = page.frames.next_with(|frame, world| {
                let tick = protocol::Tick(frame.ticks_shown());
                let same = replica.digest(tick) == Some(world.digest());
                let known = truth.get(tick.0 as usize).filter(|_| same).copied();
                let picture = known.unwrap_or_else(|| {
                    world.draw(Some(seat), &mut list);
                    table.add_picture(&mut stream, &list)
                });
                (tick.0, frame.at_ms, frame.hidden, picture)
            });
            match next {
                None => break,
                Some(Ok((tick, at_ms, is_hidden, picture))) => {
                    let tick = i64::from(tick);
                    let known = truth.get(tick as usize).or(truth.last());
                    let known = known.copied().unwrap_or_default();
                    frames.add(
                        i64::from(at_ms),
                        tick,
                        i64::from(picture) - i64::from(known),
                    );
                    if is_hidden {
                        frames.hidden.push(frames.tick.len() - 1);
                    }
                }
                Some(Err(fault)) => {
                    frames.fault = Some(fault);
                    break;
                }
            }
        }
    }
    Ok(all)
}

impl SeatFrames {
    fn add(&mut self, at_ms: i64, tick: i64, picture: i64) {
        self.at_ms.push(at_ms - self.last.0);
        self.tick.push(tick - self.last.1);
        self.picture.push(picture);
        self.last = (at_ms, tick);
    }
}
