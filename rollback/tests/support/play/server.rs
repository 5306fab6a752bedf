//! The server, and the mail between it and the pages.

use super::*;

/// An event at the server, or on the way to a page or from it.
pub(super) enum Mail {
    ToPage(u32, u32, Word),
    Upload(u32, u32, Life, u32, Vec<Action>),
    Trouble(u8, Trouble),
    Suspect(u8),
    Back(u8),
    Ready(u32),
    Online(u32),
}

pub(super) struct Post {
    pub(super) at_us: u64,
    pub(super) number: u64,
    pub(super) mail: Mail,
}

impl PartialEq for Post {
    fn eq(&self, other: &Self) -> bool {
        (self.at_us, self.number) == (other.at_us, other.number)
    }
}

impl Eq for Post {}

impl PartialOrd for Post {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Post {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at_us, self.number).cmp(&(other.at_us, other.number))
    }
}

impl<'a, W: World> Match<'a, W> {
    /// A page tells the server its own inputs.
    pub(super) fn upload(&mut self, at: usize, now_us: u64) {
        let delay_us = self.way_us();
        let peer = &mut self.peers[at];
        let said = Tick(self.arbiter.said(peer.seat.index()));
        if peer.uploads_us > now_us {
            return;
        }
        peer.uploads_us = now_us + 250_000;
        if !peer.is_online || !peer.is_member {
            return;
        }
        let Some(session) = &peer.session else { return };
        let (first, words) = session.own_inputs(said);
        let (page, connection, words) = (peer.page, peer.connection, words.collect());
        let mail = Mail::Upload(page, connection, peer.life, first.0, words);
        self.put(now_us + delay_us, mail);
    }

    /// How long a message to the server or from it takes.
    pub(super) fn way_us(&mut self) -> u64 {
        1_000 + u64::from(self.rng.below(60_000))
    }

    fn at(&self, page: u32) -> Option<usize> {
        self.peers.iter().position(|peer| peer.page == page)
    }

    /// Seats whose pages the server expects and reaches, except one.
    fn members(&self, but: usize) -> u16 {
        let members = self
            .peers
            .iter()
            .filter(|peer| peer.is_member && peer.is_online);
        let members = members.filter(|peer| peer.seat.index() != but);
        members.fold(0, |members, peer| members | 1 << peer.seat.0)
    }

    pub(super) fn open(&mut self, now_us: u64, mail: Mail) -> Result<(), String> {
        match mail {
            Mail::ToPage(page, connection, word) => {
                return self.hear(now_us, page, connection, word);
            }
            Mail::Upload(page, connection, life, first, words) => {
                let at = self.connected(page, connection);
                let seat = at.map(|at| self.peers[at].seat.index());
                if let Some(seat) = seat.filter(|&seat| self.arbiter.life(seat) == life)
                    && self.arbiter.hear(seat, first, &words)
                {
                    self.tell_archived(now_us);
                }
            }
            Mail::Trouble(seat, trouble) => self.trouble(now_us, seat, trouble),
            Mail::Suspect(seat) => self.take(now_us, Seat(seat)),
            Mail::Back(seat) => {
                self.enter(Seat(seat), None, now_us);
                let page = self.pages;
                self.put(now_us, Mail::Ready(page));
            }
            Mail::Ready(page) => self.give(now_us, page)?,
            Mail::Online(page) => self.online(now_us, page),
        }
        Ok(())
    }

    fn connected(&self, page: u32, connection: u32) -> Option<usize> {
        let at = self.at(page)?;
        let peer = &self.peers[at];
        (peer.is_online && peer.connection == connection).then_some(at)
    }

    fn tell_archived(&mut self, now_us: u64) {
        let through = Tick(self.arbiter.durable());
        self.tell(now_us, self.members(MAX_SEATS), &Word::Archived(through));
    }

    fn trouble(&mut self, now_us: u64, seat: u8, trouble: Trouble) {
        let is_here = |peer: &Peer<W>| peer.seat.0 == seat && peer.session.is_some();
        let Some(at) = self.peers.iter().position(is_here) else {
            return;
        };
        let soon_us = now_us + u64::from(self.rng.below(600_000));
        match trouble {
            Trouble::Killed(back_us) => {
                let peer = self.peers.remove(at);
                self.screens.push((peer.seat, peer.screen));
                self.put(soon_us, Mail::Suspect(seat));
                if let Some(back_us) = back_us {
                    self.put(now_us + back_us, Mail::Back(seat));
                }
            }
            Trouble::Evicted => self.put(soon_us, Mail::Suspect(seat)),
            Trouble::Offline(for_us) => {
                let peer = &mut self.peers[at];
                (peer.is_online, peer.connection) = (false, peer.connection + 1);
                let page = peer.page;
                self.put(now_us + for_us, Mail::Online(page));
            }
        }
    }

    fn online(&mut self, now_us: u64, page: u32) {
        let Some(at) = self.at(page) else { return };
        let peer = &mut self.peers[at];
        if std::mem::replace(&mut peer.is_online, true) {
            return;
        }
        let running = Word::Running(Tick(self.arbiter.durable()), self.arbiter.changes.clone());
        self.tell_page(now_us, at, running);
    }

    /// A page wants its seat back.
    fn give(&mut self, now_us: u64, page: u32) -> Result<(), String> {
        let Some(at) = self.at(page) else {
            return Ok(());
        };
        let seat = self.peers[at].seat.index();
        if self.arbiter.ended.is_some() {
            return Ok(());
        }
        if self.arbiter.is_person(seat) || !self.peers[at].is_online {
            // It has to be taken from the page before first.
            self.put(now_us + 1, Mail::Suspect(seat as u8));
            self.put(now_us + 100_000, Mail::Ready(page));
            return Ok(());
        }
        let t0_us = READY_US + 500_000;
        let since_us = now_us.saturating_sub(t0_us);
        let present = since_us * u64::from(self.scenario.tick_hz) / 1_000_000;
        let present = (!self.scenario.turns).then_some(present as u32);
        let change = self.arbiter.give(seat, present);
        let start = self.arbiter.state(self.scenario.input_delay);
        self.tell(now_us, self.members(seat), &Word::Change(change));
        self.peers[at].is_member = true;
        self.tell_page(now_us, at, Word::Return(Box::new(start)));
        Ok(())
    }

    /// The server takes a seat from its page.
    fn take(&mut self, now_us: u64, seat: Seat) {
        let then = if self.rng.below(3) == 0 {
            Controller::Vacant
        } else {
            Controller::Ai {
                policy: "toy".into(),
            }
        };
        let Some(change) = self.arbiter.take(seat.index(), then) else {
            return;
        };
        self.tell(now_us, self.members(MAX_SEATS), &Word::Change(change));
        for peer in self.peers.iter_mut().filter(|peer| peer.seat == seat) {
            peer.is_member = false;
        }
        self.told[seat.index()] = [0; MAX_SEATS];
        self.tell_archived(now_us);
    }

    fn tell(&mut self, now_us: u64, members: u16, word: &Word) {
        for at in 0..self.peers.len() {
            if members >> self.peers[at].seat.0 & 1 == 1 && self.peers[at].is_online {
                self.tell_page(now_us, at, word.clone());
            }
        }
    }

    fn tell_page(&mut self, now_us: u64, at: usize, word: Word) {
        let way_us = self.way_us();
        let peer = &mut self.peers[at];
        peer.mailed_us = (peer.mailed_us + 1).max(now_us + way_us);
        let (at_us, page, connection) = (peer.mailed_us, peer.page, peer.connection);
        self.put(at_us, Mail::ToPage(page, connection, word));
    }

    /// A page hears from the server.
    fn hear(&mut self, now_us: u64, page: u32, connection: u32, word: Word) -> Result<(), String> {
        let Some(at) = self.connected(page, connection) else {
            return Ok(());
        };
        let clock = self.peers[at].clock(now_us);
        if let Word::Return(start) = word {
            let seat = self.peers[at].seat;
            let (config, world) = (
                config(self.scenario, Some(seat)),
                (self.world)(Some(seat.index())),
            );
            let toy = |_: &str| Some(Box::new(Partner::new(false)) as Box<dyn Policy>);
            let session = Session::resume(config, world, toy, &start);
            let session = session.map_err(|error| format!("resume: {error}"))?;
            let peer = &mut self.peers[at];
            peer.settled = start.tick.0;
            peer.session = Some(session);
            let own = start.changes.iter().rfind(|change| change.seat == seat);
            peer.life = own.map_or(Life(0), |change| change.life);
            peer.set_alarm(now_us);
            return Ok(());
        }
        let Some(session) = &mut self.peers[at].session else {
            return Ok(());
        };
        match word {
            Word::Change(change) => change_hands(session, clock, &change)?,
            Word::Archived(through) => session.handle_durable(through, through),
            Word::Running(through, changes) => {
                for change in &changes {
                    change_hands(session, clock, change)?;
                }
                session.handle_durable(through, through);
            }
            Word::Return(_) => {}
        }
        self.drain(at, now_us)
    }
}

fn change_hands<W: World>(
    session: &mut Session<W>,
    clock: u64,
    change: &Change,
) -> Result<(), String> {
    let partner = partner(&change.controller, false);
    session
        .handle_change(clock, change, partner)
        .map_err(|error| match error {
            ChangeError::Settled { .. } => format!("retraction: {error}"),
            error => format!("change: {error}"),
        })
}
