//! One thread an episode, which does the archive's work in order and reports what became of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc;

use protocol::control::Upload;
use protocol::log::Header;
use protocol::{Controller, Era, Seat};
use tokio::sync::mpsc::UnboundedSender;

use crate::archive::{Episode, OpenError, Refused};
use crate::hub::{Absorbed, Event, Work};

/// To the thread of an episode.
#[derive(Debug)]
pub struct Keeper {
    work: mpsc::Sender<Work>,
    thread: std::thread::JoinHandle<()>,
}

impl Keeper {
    /// Starts the thread of an episode. `open` gives the episode, or nothing: its file is then made by
    /// [`Work::Open`] in `dir`. Results are reported as events; each answers one piece of work.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn start(
        era: Era,
        dir: PathBuf,
        open: impl FnOnce() -> Option<Episode> + Send + 'static,
        results: UnboundedSender<Event>,
    ) -> std::io::Result<Self> {
        let (work, todo) = mpsc::channel();
        let name = format!("episode-{}", era.0);
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            let mut episode = open();
            for work in todo {
                let result = guarded(era, &mut episode, work, |episode, work| {
                    perform(era, episode, work, |header| Episode::create(&dir, header))
                });
                let is_end = matches!(result, Event::Ended(..));
                // The driver drops its end only when the server has stopped.
                if results.send(result).is_err() || is_end {
                    return;
                }
            }
        })?;
        Ok(Self { work, thread })
    }

    /// Hands over work; false if the thread is gone.
    pub fn hand(&self, work: Work) -> bool {
        self.work.send(work).is_ok()
    }

    /// Waits until all work is done.
    pub fn finish(self) {
        drop(self.work);
        if self.thread.join().is_err() {
            tracing::error!("the thread of an episode panicked");
        }
    }
}

/// Does a piece of work; a panic in it is a failure of this episode, so that nobody waits for a result for ever.
fn guarded<E>(
    era: Era,
    episode: &mut Option<E>,
    work: Work,
    perform: impl FnOnce(&mut Option<E>, Work) -> Event,
) -> Event {
    let failed = failure(era, &work);
    let done = catch_unwind(AssertUnwindSafe(|| perform(episode, work)));
    done.unwrap_or_else(|_| {
        tracing::error!(era = era.0, "the archive of an episode panicked");
        // What it left half-done must not be written on.
        *episode = None;
        failed
    })
}

/// What is reported of work that could not be done.
pub fn failure(era: Era, work: &Work) -> Event {
    match work {
        Work::Open(_) => Event::Opened(era, false),
        Work::Absorb(seat, _) => Event::Absorbed(era, *seat, Absorbed::Failed),
        Work::End(_) => Event::Ended(era, None),
        Work::Take { seat, .. } => Event::Changed(era, *seat, None),
        Work::Give {
            seat,
            controller: Controller::Human,
        } => Event::Given(era, *seat, None),
        Work::Give { seat, .. } => Event::Changed(era, *seat, None),
        Work::Note(_) => Event::Noted,
    }
}

/// Does a piece of work of an episode and reports what became of it; `create` makes the file.
pub fn perform(
    era: Era,
    episode: &mut Option<Episode>,
    work: Work,
    create: impl FnOnce(Header) -> Result<Episode, OpenError>,
) -> Event {
    let failed = failure(era, &work);
    match (work, episode) {
        (Work::Open(header), episode) => {
            let made = create(*header);
            if let Err(error) = &made {
                tracing::error!(%error, era = era.0, "an episode file cannot be made");
            }
            *episode = made.ok();
            Event::Opened(era, episode.is_some())
        }
        (_, None) => failed,
        (Work::Absorb(seat, upload), Some(episode)) => {
            Event::Absorbed(era, seat, absorb(episode, seat, &upload))
        }
        (work, Some(episode)) => write(era, episode, work).unwrap_or_else(|error| {
            tracing::error!(%error, era = era.0, "an episode file lacks what was to be added");
            failed
        }),
    }
}

/// Does work that adds a record of the server's own.
fn write(era: Era, episode: &mut Episode, work: Work) -> Result<Event, Refused> {
    Ok(match work {
        Work::Open(_) | Work::Absorb(..) => unreachable!("not a record of the server's own"),
        Work::End(reason) => Event::Ended(era, Some(episode.end(reason)?)),
        Work::Take {
            seat,
            controller,
            reports,
        } => Event::Changed(era, seat, Some(episode.take(seat, controller, &reports)?)),
        Work::Give {
            seat,
            controller: Controller::Human,
        } => {
            let change = episode.give(seat, Controller::Human)?;
            Event::Given(era, seat, Some(Box::new((change, episode.snapshot()))))
        }
        Work::Give { seat, controller } => {
            Event::Changed(era, seat, Some(episode.give(seat, controller)?))
        }
        Work::Note(record) => {
            episode.note(*record)?;
            Event::Noted
        }
    })
}

fn absorb(episode: &mut Episode, seat: Seat, upload: &Upload) -> Absorbed {
    match episode.absorb(seat, upload) {
        Ok(taken) if taken.stopped => Absorbed::Failed,
        Ok(taken) => Absorbed::Durable {
            through: taken.through,
            over: taken.over.is_some(),
            last: taken.last,
            notes: taken.notes,
            diverged: taken.diverged,
        },
        Err(Refused::Gap { through }) => Absorbed::Gap(through),
        Err(Refused::Disk(error)) => {
            tracing::error!(%error, "the disk failed under an episode");
            Absorbed::Failed
        }
        Err(error) => {
            tracing::warn!(%error, seat = seat.0, "an upload is refused");
            Absorbed::Malformed
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::change::Presence;
    use protocol::control::EndReason;
    use protocol::log::Record;

    use super::*;
    use crate::archive::tests::{PERSON, ZERO, ai, header, part, played};

    /// Has the work done one piece after the other, and gives what was reported.
    fn reports(work: Vec<Work>) -> Vec<Event> {
        let dir = tempfile::tempdir().unwrap();
        let mut episode = None;
        let report = |work| {
            perform(Era(7), &mut episode, work, |header| {
                Episode::create(dir.path(), header)
            })
        };
        work.into_iter().map(report).collect()
    }

    #[test]
    fn every_piece_of_work_is_answered_by_its_event() {
        let header = header([PERSON, PERSON], 20);
        let all = played(&header);
        let take = |seat| Work::Take {
            seat,
            controller: Controller::Vacant,
            reports: Vec::new(),
        };
        let give = |seat, controller| Work::Give { seat, controller };
        let one = Seat(1);
        let presence = Record::Presence {
            seat: one,
            at_us: 5,
            presence: Presence::Gone,
        };
        let events = reports(vec![
            Work::Open(Box::new(header)),
            Work::Absorb(ZERO, Box::new(part(&all, 0, 4))),
            take(one),
            Work::Note(Box::new(presence)),
            give(one, ai("idle")),
            give(one, PERSON),
            give(one, PERSON),
            take(Seat(9)),
            give(Seat(9), ai("idle")),
            Work::Absorb(ZERO, Box::new(part(&all, 9, 12))),
            Work::End(EndReason::PartnerLeft),
        ]);
        let [
            Event::Opened(Era(7), true),
            Event::Absorbed(Era(7), ZERO, durable),
            Event::Changed(Era(7), Seat(1), Some(taken)),
            Event::Noted,
            Event::Changed(Era(7), Seat(1), Some(moved)),
            Event::Given(Era(7), Seat(1), Some(given)),
            Event::Given(Era(7), Seat(1), None),
            Event::Changed(Era(7), Seat(9), None),
            Event::Changed(Era(7), Seat(9), None),
            Event::Absorbed(Era(7), ZERO, Absorbed::Gap(protocol::Tick(4))),
            Event::Ended(Era(7), Some(ending)),
        ] = &events[..]
        else {
            panic!("{events:?}")
        };
        let expected = Absorbed::Durable {
            through: protocol::Tick(4),
            over: false,
            last: false,
            notes: 0,
            diverged: false,
        };
        assert_eq!(*durable, expected);
        let (back, snapshot) = &**given;
        assert_eq!([taken.number, moved.number, back.number], [0, 1, 2]);
        assert_eq!((back.from, snapshot.tick), (ending.ticks, ending.ticks));
    }

    #[test]
    fn without_a_file_every_piece_of_work_fails_with_its_event() {
        let seat = ZERO;
        let give = |controller| Work::Give { seat, controller };
        let events = reports(vec![
            Work::Absorb(seat, Box::new(played(&header([PERSON, PERSON], 20)))),
            give(PERSON),
            give(Controller::Vacant),
            Work::End(EndReason::Played),
        ]);
        assert!(
            matches!(
                events[..],
                [
                    Event::Absorbed(Era(7), ZERO, Absorbed::Failed),
                    Event::Given(Era(7), ZERO, None),
                    Event::Changed(Era(7), ZERO, None),
                    Event::Ended(Era(7), None),
                ]
            ),
            "{events:?}"
        );
    }

    #[test]
    fn a_panic_is_reported_as_a_failure_of_the_episode() {
        let work = Work::End(EndReason::Played);
        let mut episode = Some(());
        let event = guarded(Era(7), &mut episode, work, |_, _| {
            panic!("a fault of the environment")
        });
        assert!(matches!(event, Event::Ended(Era(7), None)), "{event:?}");
        assert_eq!(episode, None);
    }
}
