//! The description of the world for a language model, and the directives by which it changes what an AI partner does.
//!
//! Both come from the replica, so from durable ticks alone. A directive is a change of the seat's controller: pages and
//! replays follow it without knowing where it came from.

use protocol::change::Change;
use protocol::{Controller, Life, Seat, Tick};

use server_core::arbiter::{Description, Directed, OfferedDirective};

use super::handover::lead_ticks;
use super::{Episode, Refused};

/// The longest description, bytes.
const MAX_DESCRIPTION: usize = 16 << 10;

impl Episode {
    /// Describes the world after the last durable tick from the view of a seat, with the directives for another seat.
    pub fn describe(&mut self, view: Seat, seat: Option<Seat>) -> Description {
        let policy = seat.and_then(|seat| Some((seat, self.policy_of(seat)?.to_owned())));
        let tick = self.recorded_through();
        let world = self.replica.world();
        let mut text = String::new();
        world.describe(view.index(), &mut text);
        let end = text.floor_char_boundary(MAX_DESCRIPTION);
        text.truncate(end);
        let mut directives = Vec::new();
        if let Some((seat, policy)) = policy {
            for known in policy::directives(&policy, world.spec(), seat.index()) {
                let is_possible =
                    policy::can_follow(&policy, &known.word, &mut *world, seat.index());
                directives.push(OfferedDirective {
                    word: known.word,
                    means: known.means,
                    is_possible,
                });
            }
        }
        Description {
            tick,
            text,
            directives,
        }
    }

    /// Has an AI partner follow a directive, from a little after the tick that is `due` for others on.
    ///
    /// # Errors
    /// [`Refused`] if the log cannot take it. A directive that means nothing now is no error.
    pub fn apply_directive(
        &mut self,
        seat: Seat,
        directive: &str,
        due: Option<Tick>,
    ) -> Result<Directed, Refused> {
        let refused = |reason: String| Ok(Directed::Refused(reason));
        let Some(policy) = self.policy_of(seat).map(str::to_owned) else {
            return refused("no AI partner has the seat".to_owned());
        };
        let at = seat.index();
        let world = self.replica.world();
        let Some(name) = policy::name_with_directive(&policy, directive, world.spec(), at) else {
            return refused(format!("`{directive}` is no directive of `{policy}`"));
        };
        if !policy::can_follow(&policy, directive, world, at) {
            return refused(format!("nothing can be done for `{directive}` now"));
        }
        if self.ending_so_far().is_some() {
            return refused("the episode is over".to_owned());
        }
        let (entered, from) = (self.next_input(seat), self.recorded_through());
        let due = due.filter(|_| !self.header().rules.turns);
        let first = due.map_or(from, |due| {
            Tick(due.max(from).0.saturating_add(lead_ticks(self.header())))
        });
        let change = self.apply_change(Change {
            number: 0,
            seat,
            tick: first.max(entered),
            controller: Controller::Ai { policy: name },
            life: Life(0),
            from,
            inputs: Vec::new(),
            key: None,
        })?;
        Ok(Directed::Applied(Box::new(change)))
    }

    /// Returns the name of the policy that plays a seat, after all changes so far.
    fn policy_of(&self, seat: Seat) -> Option<&str> {
        match self.controller(seat)? {
            Controller::Ai { policy } => Some(policy),
            Controller::Human | Controller::Vacant => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::control::{EndReason, Upload};
    use protocol::{Era, log::Log};

    use super::*;
    use crate::fixtures::{PERSON, PageScript, ZERO, ai_controller, header, log_of, no_modules};

    /// Lets the page of the first seat send that its person did nothing up to a tick.
    fn play(episode: &mut Episode, page: &mut PageScript, from: u32, to: u32) {
        let noop = episode.replica.spec().noop;
        let upload = Upload {
            era: Era(1),
            life: Life(0),
            block: page.sign_block(from, vec![noop; (to - from) as usize]),
            changes: episode.changes().len() as u16,
            recheck: 0,
            digests: Vec::new(),
            timing: None,
            ended: None,
        };
        episode.append_upload(ZERO, &upload).unwrap();
    }

    /// Counts how often the second seat used its hands.
    fn used(log: &Log, hands: u16, ticks: std::ops::Range<usize>) -> usize {
        let rows = log.rows();
        let own = rows.chunks(2).map(|row| row[1]).collect::<Vec<_>>();
        own[ticks].iter().filter(|action| **action == hands).count()
    }

    #[test]
    fn a_directive_is_followed_from_its_tick_on_and_the_log_alone_repeats_it() {
        let dir = tempfile::tempdir().unwrap();
        let header = header([PERSON, ai_controller("cook:wait")], 120);
        let mut episode = Episode::create(dir.path(), header.clone()).unwrap();
        let mut actions = episode.replica.spec().actions.iter();
        let hands = actions.position(|action| action.name == "pick_up_or_drop");
        let hands = hands.unwrap() as u16;
        let mut page = PageScript::new(&header, ZERO);
        play(&mut episode, &mut page, 0, 20);
        let told = episode.describe(Seat(1), Some(Seat(1)));
        assert_eq!(told.tick, Tick(20));
        assert!(!told.text.is_empty());
        let is_possible = |word: &str| {
            let found = told.directives.iter().find(|known| known.word == word);
            found.unwrap().is_possible
        };
        assert!(is_possible("fetch_plate") && !is_possible("serve_soup"));
        assert!(episode.describe(ZERO, None).directives.is_empty());

        let mut direct =
            |seat, word: &str| episode.apply_directive(seat, word, Some(Tick(20))).unwrap();
        let refused = |directed| match directed {
            Directed::Refused(why) => why,
            Directed::Applied(change) => panic!("{change:?}"),
        };
        assert!(refused(direct(Seat(1), "serve_soup")).contains("nothing can be done"));
        assert!(refused(direct(Seat(1), "dance")).contains("is no directive"));
        assert!(refused(direct(ZERO, "wait")).contains("no AI partner"));
        let Directed::Applied(change) = direct(Seat(1), "fetch_plate") else {
            panic!("it can be followed")
        };
        assert_eq!(change.tick, Tick(20 + lead_ticks(&header)));
        assert_eq!(change.controller, ai_controller("cook:fetch_plate"));

        play(&mut episode, &mut page, 20, 80);
        episode.end(EndReason::PartnerLeft).unwrap();
        let log = log_of(&mut episode);
        let from = change.tick.0 as usize;
        assert_eq!(used(&log, hands, 0..from), 0, "it waits until it is told");
        assert_eq!(used(&log, hands, from..80), 1, "it takes a plate");
        crate::replay(&log, no_modules, |_, _| {}).unwrap();
        let recovered = Episode::recover(&crate::path(dir.path(), "e-1").unwrap()).unwrap();
        assert_eq!(
            recovered.controller(Seat(1)),
            Some(&ai_controller("cook:fetch_plate"))
        );
    }
}
