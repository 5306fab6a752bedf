//! The faults of a run: pages that end, pause and hide, and servers that die.

use std::collections::VecDeque;

use protocol::Seat;

use crate::bounds::MISSED_WITHIN_US;
use crate::scenario::{Fault, Victim};
use crate::tab::Tab;

use super::{Happening, Run, WAITING};

impl Run {
    pub(super) fn kill(&mut self, victim: Victim) -> Result<(), String> {
        self.trace.line(self.now_us, || format!("kill {victim:?}"));
        match victim {
            Victim::Person(person) => self.inject_fault(Fault::Reload {
                person,
                farewell: false,
                away_us: 300_000,
            }),
            Victim::ForGood(person) => self.inject_fault(Fault::Crash {
                person,
                told: true,
                away_us: None,
            }),
            Victim::Server => self.inject_fault(Fault::Restart { away_us: 500_000 }),
        }
    }

    // What goes wrong.

    pub(super) fn open(&mut self, person: usize) {
        let number = self.pages.len();
        let token = self.tokens[person].clone();
        let machine = &self.scenario.people[person];
        let page = Tab::new(
            self.scenario.seed,
            number,
            person,
            machine,
            token,
            self.now_us,
        );
        self.trace.line(self.now_us, || {
            format!("person {person} opens page {number}")
        });
        self.pages.push(page);
    }

    /// The newest page of a person.
    pub(super) fn current_tab(&self, person: usize) -> Option<usize> {
        let own = self.pages.iter().rev();
        let mut own =
            own.filter(|page| page.person == person && page.is_alive && !page.page.is_stopped());
        own.next().map(|page| page.number)
    }

    /// Removes a page and its channels; `told` says whether the server learns it immediately.
    pub(super) fn bury_tab(&mut self, at: usize, told: bool) {
        let page = &mut self.pages[at];
        page.is_alive = false;
        page.channels.clear();
        if let Some(conn) = page.conn.take() {
            if told {
                self.hang_up(conn);
            } else if let Some(wire) = self.wires.get(conn) {
                // The server's pings find it out.
                wire.at_page = false;
                let [least_us, most_us] = MISSED_WITHIN_US;
                let at_us = self.now_us + self.rng.draw_between(least_us, most_us);
                self.later(at_us, Happening::Gone(conn));
            }
        }
        self.channels.forget(at);
        for channel in self.channels.channels_of(at) {
            if let Some(ended) = self.channels.end(channel) {
                let side = ended.side_of(at).unwrap_or(0);
                // ICE finds out after some seconds that nobody is there.
                let at_us = self.now_us + self.rng.draw_between(100_000, 6_000_000);
                self.later(
                    at_us,
                    Happening::ChannelGone(ended.pages[1 - side], ended.seats[side].0),
                );
            }
        }
    }

    pub(super) fn inject_fault(&mut self, fault: Fault) -> Result<(), String> {
        self.trace.line(self.now_us, || format!("{fault:?}"));
        let now_us = self.now_us;
        match fault {
            Fault::Reload {
                person,
                farewell,
                away_us,
            } => {
                if let Some(at) = self.current_tab(person) {
                    if farewell {
                        self.pages[at].handle_leaving(now_us);
                        self.drain(at)?;
                    }
                    self.bury_tab(at, true);
                    self.later(now_us + away_us, Happening::Reopen(person));
                }
            }
            Fault::Crash {
                person,
                told,
                away_us,
            } => {
                if let Some(at) = self.current_tab(person) {
                    self.bury_tab(at, told);
                    match away_us {
                        Some(away_us) => self.later(now_us + away_us, Happening::Reopen(person)),
                        None => self.gone[person] = true,
                    }
                }
            }
            Fault::SecondTab { person } => {
                if self.current_tab(person).is_some() {
                    self.open(person);
                }
            }
            Fault::Freeze { person, for_us } => {
                if let Some(at) = self.current_tab(person) {
                    let frozen_us = &mut self.pages[at].frozen_us;
                    *frozen_us = (*frozen_us).max(now_us + for_us);
                }
            }
            Fault::Hide { person, for_us } => {
                if let Some(at) = self.current_tab(person) {
                    self.pages[at].handle_hidden(now_us, true);
                    self.drain(at)?;
                    self.later(now_us + for_us, Happening::Show(at));
                }
            }
            Fault::DropSocket { person } => {
                if let Some(conn) = self.current_tab(person).and_then(|at| self.pages[at].conn) {
                    let soon_us = now_us + self.rng.draw_below(300_000);
                    self.later(soon_us, Happening::Lost(conn));
                    self.hang_up(conn);
                }
            }
            Fault::DropChannels { person } => {
                if let Some(at) = self.current_tab(person) {
                    let seats: Vec<Seat> = self.pages[at].channels.keys().copied().collect();
                    for seat in seats {
                        self.close_channel(at, seat);
                        self.later(now_us, Happening::ChannelGone(at, seat.0));
                    }
                }
            }
            Fault::Leave { person } => {
                if let Some(at) = self.current_tab(person) {
                    self.pages[at].handle_leave(now_us);
                    self.drain(at)?;
                }
            }
            Fault::Restart { away_us } => self.restart(away_us)?,
        }
        Ok(())
    }

    pub(super) fn restart(&mut self, away_us: u64) -> Result<(), String> {
        if !self.server.is_up() {
            return Ok(());
        }
        self.server.crash_and_restart(self.now_us)?;
        for conn in self.wires.accepted_sockets() {
            if let Some(wire) = self.wires.get(conn) {
                wire.at_server = false;
            }
            // A process that dies closes its sockets; a machine that dies is missed when it is back.
            let silent_us = if self.rng.one_in(2) { away_us } else { 0 };
            let at_us = self.now_us + silent_us + self.rng.draw_between(1_000, 400_000);
            self.later(at_us, Happening::Lost(conn));
        }
        self.later(self.now_us + away_us, Happening::Start);
        Ok(())
    }

    /// Something of a frozen page waits until it thaws, behind what waits already; whether it does.
    pub(super) fn must_wait(&mut self, at: usize, happening: &Happening) -> bool {
        let page = &self.pages[at];
        let is_frozen = page.is_alive && page.frozen_us > self.now_us;
        let is_first = !self.backlogs.contains_key(&at);
        if is_first && !is_frozen {
            return false;
        }
        if is_first {
            self.later(page.frozen_us, Happening::Thaw(at));
        }
        let backlog = self.backlogs.entry(at).or_default();
        if !matches!(happening, Happening::Datagram { .. }) || backlog.len() < WAITING {
            backlog.push_back(happening.clone());
        }
        true
    }

    /// Delivers the first waiting event of a page, unless it was frozen again; the next one follows immediately.
    pub(super) fn thaw_tab(&mut self, at: usize) -> Result<(), String> {
        let page = &self.pages[at];
        if page.is_alive && page.frozen_us > self.now_us {
            self.later(page.frozen_us, Happening::Thaw(at));
            return Ok(());
        }
        let backlog = self.backlogs.get_mut(&at);
        let Some(happening) = backlog.and_then(VecDeque::pop_front) else {
            self.backlogs.remove(&at);
            return Ok(());
        };
        self.later(self.now_us, Happening::Thaw(at));
        self.carry_out(happening)
    }

    /// The page that something happens to.
    pub(super) fn tab_that_meets(&mut self, happening: &Happening) -> Option<usize> {
        match happening {
            Happening::Opened(conn) | Happening::Down(conn, _) | Happening::Lost(conn) => {
                self.tab_with_connection(*conn)
            }
            Happening::ChannelOpen(channel, side) => self
                .channels
                .get(*channel)
                .map(|channel| channel.pages[*side]),
            Happening::ChannelGone(page, _)
            | Happening::Datagram { page, .. }
            | Happening::Loaded(page, _)
            | Happening::Show(page) => Some(*page),
            _ => None,
        }
    }
}
