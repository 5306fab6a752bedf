//! Proofs that a page told another page something else than the server.

use protocol::control::Recount;
use protocol::log::{Header, Record};
use protocol::seal::Transcript;
use protocol::{Controller, Life, Seat, Tick};

use super::{Episode, Refused};
use protocol::change::Change;

impl Episode {
    /// Appends what another page sent the page of a seat, if that other page has sealed it and sent something else
    /// here. At most once for each life of a seat and each page that received it.
    ///
    /// # Errors
    /// [`Refused::Malformed`] if it proves nothing; [`Refused::Disk`].
    pub fn apply_recount(&mut self, by: Seat, recount: Recount) -> Result<(), Refused> {
        let known = (by, recount.seat, recount.life.0);
        if self.recounts.contains(&known) || self.ending.is_some() {
            return Ok(());
        }
        let first = recount.first;
        let input = self.input(recount.seat, first);
        if by == recount.seat || input.is_none() || recount.inputs.first() == input.as_ref() {
            return Err(Refused::Malformed("a recount of what the server has"));
        }
        let seat = recount.seat;
        let before = |tick| self.input(seat, tick);
        if !is_proven(&self.header, &self.changes, before, &recount) {
            return Err(Refused::Malformed("a recount that nobody has sealed"));
        }
        self.append(vec![Record::Recount { by, recount }])?;
        Ok(())
    }

    /// Returns the input of a seat in a tick, if it is known here.
    fn input(&self, seat: Seat, tick: Tick) -> Option<u16> {
        if seat.index() >= self.count_seats() {
            return None;
        }
        let at = tick.0 as usize * self.count_seats() + seat.index();
        let ahead = || self.inputs[seat.index()].as_ref()?.action_at(tick);
        self.rows.get(at).copied().or_else(ahead)
    }
}

/// True if the seal of a recount is that of the page of its seat, over the inputs `before` its first tick, by tick, and
/// the inputs that were sent from there on.
pub fn is_proven(
    header: &Header,
    changes: &[Change],
    before: impl Fn(Tick) -> Option<u16>,
    recount: &Recount,
) -> bool {
    let Some((began, key)) = life_of(header, changes, recount.seat, recount.life) else {
        return false;
    };
    // After the cut, somebody else plays: the page had no time to send the server what it sealed there.
    let mut after = changes.iter().filter(|change| change.seat == recount.seat);
    let cut = after.find(|change| change.life == recount.life.next());
    if cut.is_some_and(|cut| recount.first >= cut.tick) {
        return false;
    }
    let inputs: Option<Vec<u16>> = (began.0..recount.first.0)
        .map(|tick| before(Tick(tick)))
        .collect();
    let Some(inputs) = inputs.filter(|_| began <= recount.first) else {
        return false;
    };
    let mut transcript = Transcript::new(&header.episode, recount.seat, recount.life, began);
    transcript.extend(inputs);
    transcript.extend(recount.inputs.iter().copied());
    transcript.is_signed(&key, &recount.signature)
}

/// The first tick of a life of a seat that a person plays, and the key of their page.
fn life_of(
    header: &Header,
    changes: &[Change],
    seat: Seat,
    life: Life,
) -> Option<(Tick, [u8; 32])> {
    if life == Life(0) {
        let is_human = header.controllers.get(seat.index()) == Some(&Controller::Human);
        let key = header.keys.get(seat.index()).filter(|_| is_human)?;
        return Some((Tick(0), *key));
    }
    let mut given = changes.iter().filter(|change| change.seat == seat);
    let change = given.find(|change| change.life == life)?;
    Some((change.tick, change.key?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{PERSON, ZERO, header, key, log_of, pages, play_episode};

    const ONE: Seat = Seat(1);

    /// Inputs that the page of seat 1 sends seat 0 from a tick on, under its seal.
    fn told(first: u32, server: &[u16], inputs: &[u16]) -> Recount {
        let mut transcript = Transcript::new("e-1", ONE, Life(0), Tick(0));
        transcript.extend(server.iter().copied().chain(inputs.iter().copied()));
        Recount {
            seat: ONE,
            life: Life(0),
            first: Tick(first),
            inputs: inputs.to_vec(),
            signature: transcript.sign(&key(ONE)),
        }
    }

    #[test]
    fn who_told_another_page_something_else_is_proven_once_and_only_by_its_seal() {
        let dir = tempfile::tempdir().unwrap();
        let header = header([PERSON, PERSON], 20);
        let (all, mut pages) = (play_episode(&header), pages(&header));
        let mut episode = Episode::create(dir.path(), header).unwrap();
        episode
            .append_upload(ZERO, &pages[0].upload_part(&all, 0, 6))
            .unwrap();
        episode
            .append_upload(ONE, &pages[1].upload_part(&all, 0, 10))
            .unwrap();
        let said: Vec<u16> = all.rows.chunks(2).map(|row| row[1]).take(8).collect();
        let lie = told(8, &said, &[(said[7] + 1) % 5 + 1, 2, 3]);
        let fine = told(4, &said[..4], &said[4..]);
        let mut unsealed = lie.clone();
        unsealed.inputs[1] = 4;
        let mut of_nobody = lie.clone();
        of_nobody.seat = Seat(9);
        let mut later = lie.clone();
        later.life = Life(1);
        for wrong in [fine, unsealed, of_nobody, later] {
            let refused = episode.apply_recount(ZERO, wrong.clone());
            assert!(matches!(refused, Err(Refused::Malformed(_))), "{wrong:?}");
        }
        assert!(
            episode.apply_recount(ONE, lie.clone()).is_err(),
            "of itself"
        );
        for _ in 0..2 {
            episode.apply_recount(ZERO, lie.clone()).unwrap();
        }
        let records = log_of(&mut episode).records;
        let proofs = records.iter().filter_map(|record| match record {
            Record::Recount { by, recount } => Some((*by, recount.clone())),
            _ => None,
        });
        assert_eq!(proofs.collect::<Vec<_>>(), [(ZERO, lie)]);
    }

    #[test]
    fn nobody_is_named_for_what_they_had_no_time_to_tell_the_server() {
        let dir = tempfile::tempdir().unwrap();
        let header = header([PERSON, PERSON], 20);
        let (all, mut pages) = (play_episode(&header), pages(&header));
        let mut episode = Episode::create(dir.path(), header).unwrap();
        episode
            .append_upload(ZERO, &pages[0].upload_part(&all, 0, 14))
            .unwrap();
        episode
            .append_upload(ONE, &pages[1].upload_part(&all, 0, 10))
            .unwrap();
        let cut = episode.take_seat(ONE, Controller::Vacant).unwrap().tick;
        assert_eq!((cut, episode.recorded_through()), (Tick(10), Tick(14)));
        let said: Vec<u16> = all.rows.chunks(2).map(|row| row[1]).take(10).collect();
        let late = episode.apply_recount(ZERO, told(10, &said, &[3, 3]));
        assert!(matches!(late, Err(Refused::Malformed(_))), "{late:?}");
        let lie = told(9, &said[..9], &[said[9] + 1, 3]);
        episode.apply_recount(ZERO, lie).unwrap();
    }
}
