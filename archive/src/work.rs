//! The work that the arbiter asks of an episode's log, and its result.

use protocol::control::Upload;
use protocol::log::Header;
use protocol::{Controller, Era, Seat};
use server_core::arbiter::{Appended, Event, HostedReport, RecordWork, Work};

use crate::Episode;
use crate::OpenError;
use crate::Refused;

/// Does a piece of work of an episode and reports the result; `create` makes the file.
pub fn perform_work(
    era: Era,
    episode: &mut Option<Episode>,
    work: Work,
    create: impl FnOnce(Header) -> Result<Episode, OpenError>,
) -> Event {
    match work {
        Work::Open(header) => {
            let made = create(*header);
            if let Err(error) = &made {
                tracing::error!(%error, era = era.0, "an episode file cannot be made");
            }
            *episode = made.ok();
            Event::Opened(era, episode.is_some())
        }
        Work::Append(seat, upload) => {
            let appended = match episode {
                Some(episode) => append(episode, seat, &upload),
                None => Appended::Failed,
            };
            Event::Appended(era, seat, appended)
        }
        Work::Read { of, to } => {
            let known = episode.as_ref().map(|episode| episode.known_inputs(of));
            known.map_or(Event::Noted, |known| Event::Inputs(era, to, known))
        }
        Work::Recount(by, recount) => {
            let appended = episode
                .as_mut()
                .map(|episode| episode.apply_recount(by, *recount));
            if let Some(Err(error)) = appended {
                tracing::warn!(%error, era = era.0, seat = by.0, "a recount proves nothing");
            }
            Event::Noted
        }
        Work::Recheck(seat) => {
            let recheck = episode.as_mut().map(|episode| episode.recheck(seat));
            recheck.map_or(Event::Noted, |recheck| Event::Recheck(era, seat, recheck))
        }
        Work::Describe { number, view, seat } => {
            let described = (episode.as_mut()).map(|episode| episode.describe(view, seat));
            Event::Described(era, number, described.map(Box::new))
        }
        Work::Host(work) => {
            let report = episode.as_mut().map(|episode| episode.host(work));
            let failed = || HostedReport {
                failed: true,
                ..HostedReport::default()
            };
            Event::Hosted(era, report.unwrap_or_else(failed))
        }
        Work::Record(record) => {
            let failed = record.failure_event(era);
            let Some(episode) = episode else {
                return failed;
            };
            append_record(era, episode, record).unwrap_or_else(|error| {
                tracing::error!(%error, era = era.0, "an episode file lacks what was to be added");
                failed
            })
        }
    }
}

/// Runs a hosted world again, once its episode has ended.
pub fn repeat_ended(event: &Event, episode: &mut Option<Episode>) {
    if let (Event::Ended(era, Some(_)), Some(episode)) = (event, episode)
        && let Err(error) = episode.repeat_steps()
    {
        tracing::error!(%error, era = era.0, "it is not known whether a hosted world repeats itself");
    }
}

/// Appends a record of the server's own.
fn append_record(era: Era, episode: &mut Episode, record: RecordWork) -> Result<Event, Refused> {
    Ok(match record {
        RecordWork::End(reason) => {
            episode.end(reason)?;
            Event::Ended(era, episode.poll_end())
        }
        RecordWork::Take { seat, controller } => {
            Event::Changed(era, seat, Some(episode.take_seat(seat, controller)?))
        }
        RecordWork::Give {
            seat,
            controller,
            key,
            due,
        } => {
            let is_human = controller == Controller::Human;
            let change = episode.give_seat(seat, controller, key, due)?;
            match is_human {
                true => Event::Given(era, seat, Some(Box::new((change, episode.snapshot())))),
                false => Event::Changed(era, seat, Some(change)),
            }
        }
        RecordWork::Direct {
            seat,
            directive,
            due,
        } => Event::Directed(era, seat, episode.apply_directive(seat, &directive, due)?),
        RecordWork::Note(record) => {
            episode.append_note(*record)?;
            Event::Noted
        }
    })
}

fn append(episode: &mut Episode, seat: Seat, upload: &Upload) -> Appended {
    match episode.append_upload(seat, upload) {
        Ok(taken) if taken.stopped => Appended::Failed,
        Ok(taken) => Appended::Durable {
            through: taken.through,
            own: taken.own,
            over: taken.over.is_some(),
            last: taken.last,
            notes: taken.notes,
            agreed: taken.agreed,
            recheck: taken.recheck,
            diverged: taken.diverged,
        },
        Err(Refused::Gap { next }) => Appended::Gap(next),
        Err(Refused::Disk(error)) => {
            tracing::error!(%error, "the disk failed under an episode");
            Appended::Failed
        }
        Err(error) => {
            tracing::warn!(%error, seat = seat.0, "an upload is refused");
            Appended::Malformed
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::change::Presence;
    use protocol::control::EndReason;
    use protocol::log::Record;
    use server_core::arbiter::EpisodeEnd;

    use super::*;
    use crate::fixtures::{PERSON, PageScript, ZERO, ai_controller, header, pages, play_episode};

    /// Does the work one piece after the other, and returns the reports.
    fn reports(work: Vec<Work>) -> Vec<Event> {
        let dir = tempfile::tempdir().unwrap();
        let mut episode = None;
        let report = |work| {
            perform_work(Era(7), &mut episode, work, |header| {
                Episode::create(dir.path(), header)
            })
        };
        work.into_iter().map(report).collect()
    }

    #[test]
    fn every_piece_of_work_is_answered_by_its_event() {
        let header = header([PERSON, PERSON], 20);
        let (all, [mut own, mut other]) = (play_episode(&header), pages(&header));
        let take = |seat| {
            Work::from(RecordWork::Take {
                seat,
                controller: Controller::Vacant,
            })
        };
        let give = |seat, controller| {
            Work::from(RecordWork::Give {
                seat,
                controller,
                key: Some([7; 32]),
                due: Some(protocol::Tick(4)),
            })
        };
        let one = Seat(1);
        let presence = Record::Presence {
            seat: one,
            at_us: 5,
            presence: Presence::Gone,
        };
        let mut gap = own.upload_part(&all, 4, 4);
        let mut ahead = PageScript::from(&header, ZERO, protocol::Life(0), protocol::Tick(9));
        gap.block = ahead.sign_block(9, vec![0; 3]);
        let events = reports(vec![
            Work::Open(Box::new(header)),
            Work::Append(ZERO, Box::new(own.upload_part(&all, 0, 4))),
            Work::Append(one, Box::new(other.upload_part(&all, 0, 4))),
            take(one),
            RecordWork::Note(Box::new(presence)).into(),
            give(one, ai_controller("idle")),
            give(one, PERSON),
            give(one, PERSON),
            take(Seat(9)),
            give(Seat(9), ai_controller("idle")),
            Work::Append(ZERO, Box::new(gap)),
            RecordWork::End(EndReason::PartnerLeft).into(),
        ]);
        let [
            Event::Opened(Era(7), true),
            Event::Appended(Era(7), ZERO, _),
            Event::Appended(Era(7), Seat(1), durable),
            Event::Changed(Era(7), Seat(1), Some(taken)),
            Event::Noted,
            Event::Changed(Era(7), Seat(1), Some(moved)),
            Event::Given(Era(7), Seat(1), Some(given)),
            Event::Given(Era(7), Seat(1), None),
            Event::Changed(Era(7), Seat(9), None),
            Event::Changed(Era(7), Seat(9), None),
            Event::Appended(Era(7), ZERO, Appended::Gap(protocol::Tick(4))),
            Event::Ended(Era(7), Some(EpisodeEnd { ending, seats })),
        ] = &events[..]
        else {
            panic!("{events:?}")
        };
        let expected = Appended::Durable {
            through: protocol::Tick(4),
            own: protocol::Tick(4),
            over: false,
            last: false,
            notes: 0,
            agreed: protocol::Tick(4),
            recheck: None,
            diverged: false,
        };
        assert_eq!(*durable, expected);
        let (back, snapshot) = &**given;
        assert_eq!([taken.number, moved.number, back.number], [0, 1, 2]);
        assert_eq!((back.from, snapshot.tick), (ending.ticks, ending.ticks));
        assert_eq!(
            (&seats.scores[..], seats.rewards.len()),
            (&[ending.score; 2][..], 2)
        );
    }

    #[test]
    fn without_a_file_every_piece_of_work_fails_with_its_event() {
        let seat = ZERO;
        let give = |controller| {
            Work::from(RecordWork::Give {
                seat,
                controller,
                key: None,
                due: None,
            })
        };
        let header = header([PERSON, PERSON], 20);
        let upload = PageScript::new(&header, ZERO).upload_part(&play_episode(&header), 0, 20);
        let events = reports(vec![
            Work::Append(seat, Box::new(upload)),
            give(PERSON),
            give(Controller::Vacant),
            RecordWork::End(EndReason::Played).into(),
        ]);
        assert!(
            matches!(
                events[..],
                [
                    Event::Appended(Era(7), ZERO, Appended::Failed),
                    Event::Given(Era(7), ZERO, None),
                    Event::Changed(Era(7), ZERO, None),
                    Event::Ended(Era(7), None),
                ]
            ),
            "{events:?}"
        );
    }
}
