//! Two pages of one episode, and a server and a network that do to them anything at any time, driven by bytes.

use std::collections::VecDeque;

use env_core::contract::Environment as _;
use env_core::envs::overcooked::{Overcooked, Params};
use env_core::{Action, Instance, World as _};
use peer::{Effect, Now, Peer};
use protocol::change::{Change, Presence};
use protocol::control::{self, ClientMessage, EndReason, Link, Plan, Return, ServerMessage};
use protocol::{Controller, Era, Life, Seat, Tick};

use crate::input::Input;
use crate::seeds::page_key;

const HORIZON: u32 = 60;
const ERA: Era = Era(7);
/// The page's clock is so much ahead of the server's, microseconds.
const AHEAD_US: u64 = 5_000_000;
/// When tick 0 is due, server clock.
const T0_US: u64 = 4_000_000;
/// The most commands that are carried out: the rest of a long input teaches nothing new.
const COMMANDS: usize = 1_500;
/// Packets on the way; more are lost.
const QUEUE: usize = 64;
/// The most effects of one call: packets for what was missed, uploads, and a few words.
const EFFECTS: usize = 100;

struct Page {
    peer: Peer<Instance<Overcooked>>,
    /// The rows of its session that are final so far.
    kept: Vec<Action>,
    inbox: VecDeque<(Link, Vec<u8>)>,
}

fn world() -> Instance<Overcooked> {
    let params = Params {
        horizon: HORIZON,
        ..Params::default()
    };
    Instance::new(Overcooked::new(params).expect("the parameters are allowed"))
}

fn plan(seat: usize, how: u8) -> Plan {
    Plan {
        era: ERA,
        episode: "e-1".into(),
        seat: Seat(seat as u8),
        controllers: vec![Controller::Human; 2],
        env: "overcooked".into(),
        env_version: "2.0.0".into(),
        module: String::new(),
        networks: Vec::new(),
        params: format!(r#"{{"horizon":{HORIZON}}}"#),
        seed: 1,
        tick_hz: 10,
        window: how >> 4,
        keys: Vec::new(),
        disclose_ai: true,
        ice: Vec::new(),
        touch: true,
        fullscreen: false,
        relay_only: false,
        measures_loss: false,
        life: Life(how >> 1 & 3),
        running: how & 1 == 1,
        rules: Default::default(),
        round: (0, 1),
        countdown_s: None,
        hud: Vec::new(),
        chat: false,
        turn: None,
        way: protocol::EnvWay::Module,
        shared: None,
    }
}

struct Match {
    now_us: u64,
    pages: [Page; 2],
}

/// Lets two pages load, start, play, hide, lose connections and channels, be told what others have said, lose and take seats; and tells
/// them what no server and no page would. Nothing panics, effects and timeouts are bounded, and what is final
/// for a page only grows.
pub fn peer(bytes: &[u8]) {
    play(bytes);
}

fn play(bytes: &[u8]) -> Match {
    let mut input = Input(bytes);
    let how = input.byte() & !1;
    let mut game = Match {
        now_us: 0,
        pages: [0, 1].map(|seat| page(0, seat, how)),
    };
    for _ in 0..COMMANDS {
        if input.0.is_empty() {
            break;
        }
        game.command(&mut input);
        game.settle();
    }
    game
}

fn page(now_us: u64, seat: usize, how: u8) -> Page {
    Page {
        peer: Peer::new(plan(seat, how), page_key(), moment(now_us)),
        kept: Vec::new(),
        inbox: VecDeque::new(),
    }
}

fn moment(now_us: u64) -> Now {
    Now {
        page_us: now_us + AHEAD_US,
        server_us: now_us,
        is_set: true,
    }
}

impl Match {
    fn command(&mut self, input: &mut Input<'_>) {
        let command = input.byte();
        let (who, value) = (usize::from(command >> 4 & 1), command >> 5);
        let (now, from) = (moment(self.now_us), Seat(1 - who as u8));
        let page = &mut self.pages[who];
        let peer = &mut page.peer;
        match command & 15 {
            0 => self.wait(30_000 << value),
            1 => peer.handle_world(now, world()),
            2 => {
                let (key, wanted) = (u16::from(value), u16::from(value) % 7);
                peer.handle_key(now, key, value & 1 == 0, now.page_us, Some(wanted));
            }
            3 => match page.inbox.pop_front() {
                Some((Link::Direct, bytes)) => peer.handle_datagram(now, from, &bytes),
                Some((Link::Relay, bytes)) => {
                    peer.handle_message(now, ServerMessage::Relay { from, bytes });
                }
                None => {}
            },
            4 => drop(page.inbox.pop_front()),
            5 => peer.handle_channel(now, from, value & 1 == 0),
            6 => {
                let bytes = input.take(4 * usize::from(value));
                peer.handle_datagram(now, Seat(input.byte() % 3), bytes);
            }
            7 => peer.handle_connection(now, value & 1 == 0),
            8 => peer.handle_hidden(now, value & 1 == 0),
            9 => {
                peer.view(|_| ());
                peer.handle_shown(now, now.page_us.saturating_sub(u64::from(value) * 9_000));
            }
            10 => {
                let len = usize::from(input.byte());
                if let Ok(message) = control::decode(input.take(len)) {
                    peer.handle_message(now, message);
                }
            }
            11 => peer.handle_message(now, told(value, input)),
            12 => peer.handle_message(now, change(value, input)),
            13 => peer.handle_message(now, come_back(value, input)),
            14 => *page = page_again(self.now_us, who, input.byte()),
            _ => peer.flush(now),
        }
    }

    /// Lets time pass, with every timeout on the way; each page is called when it wants to be.
    fn wait(&mut self, us: u64) {
        let until_us = self.now_us + us;
        loop {
            let now = moment(self.now_us);
            let wanted = self
                .pages
                .each_ref()
                .map(|page| page.peer.poll_timeout(now).0);
            // A page is called a millisecond late, as pages are.
            let next_us = wanted[0].min(wanted[1]).saturating_sub(AHEAD_US);
            let next_us = next_us.max(self.now_us).saturating_add(1_000);
            if next_us > until_us {
                break;
            }
            self.now_us = next_us;
            for page in &mut self.pages {
                page.peer.handle_timeout(moment(self.now_us));
            }
            self.settle();
        }
        self.now_us = until_us;
    }

    /// Puts what is sent on the way, and watches.
    fn settle(&mut self) {
        for who in 0..2 {
            let mut effects = 0;
            while let Some(effect) = self.pages[who].peer.poll_effect() {
                effects += 1;
                assert!(effects <= EFFECTS, "a call has no end of effects");
                let packet = match effect {
                    Effect::Datagram { bytes, .. } => (Link::Direct, bytes),
                    Effect::Send(ClientMessage::Relay { bytes, .. }) => (Link::Relay, bytes),
                    _ => continue,
                };
                let inbox = &mut self.pages[1 - who].inbox;
                if inbox.len() < QUEUE {
                    inbox.push_back(packet);
                }
            }
            let page = &mut self.pages[who];
            page.peer.status(moment(self.now_us));
            // What is not final may still be another.
            let rows = page.peer.session().map_or(&[][..], |session| {
                let ticks = session.settled().0.saturating_sub(session.first_tick().0);
                &session.rows()[..2 * ticks as usize]
            });
            if rows.is_empty() {
                page.kept.clear();
            }
            assert!(rows.starts_with(&page.kept), "final rows changed");
            page.kept.extend(&rows[page.kept.len()..]);
        }
    }
}

/// A page of the seat that is loaded, in place of the one that was there.
fn page_again(now_us: u64, seat: usize, how: u8) -> Page {
    let mut page = page(now_us, seat, how);
    page.peer.handle_world(moment(now_us), world());
    page
}

/// A small number, or one of the greatest.
fn number(input: &mut Input<'_>) -> u32 {
    match input.byte() {
        small @ 0..250 => u32::from(small),
        large => u32::MAX - u32::from(255 - large),
    }
}

fn told(what: u8, input: &mut Input<'_>) -> ServerMessage {
    let (era, seat) = (ERA, Seat(input.byte() % 3));
    match what {
        0..3 => ServerMessage::Start {
            era,
            t0_us: T0_US,
            input_delay: seat.0,
        },
        3 => ServerMessage::Archived {
            era,
            through: Tick(number(input)),
            own: Tick(number(input)),
            agreed: Tick(number(input)),
            notes: number(input),
        },
        4 => match input.byte() & 3 {
            0 => ServerMessage::Recheck {
                era,
                number: u16::from(input.byte()),
                agreed: Tick(number(input)),
            },
            _ => ServerMessage::Inputs {
                era,
                seat,
                life: Life(input.byte() & 3),
                first: Tick(number(input)),
                inputs: (0..input.byte() % 50).map(|k| u16::from(k) % 7).collect(),
            },
        },
        5 => ServerMessage::Peer {
            era,
            seat,
            presence: Presence::Gone,
            left_ms: number(input),
        },
        6 => ServerMessage::Running {
            era,
            through: Tick(number(input)),
            own: Tick(number(input)),
            changes: Vec::new(),
        },
        _ => ServerMessage::Ended {
            era,
            reason: EndReason::Technical,
            ticks: Tick(9),
            score: 0,
            digest: 0,
        },
    }
}

fn seat_change(number_of: u16, input: &mut Input<'_>) -> Change {
    let controllers = [
        Controller::Human,
        Controller::Vacant,
        Controller::Ai {
            policy: "random".into(),
        },
    ];
    Change {
        number: number_of,
        seat: Seat(input.byte() % 3),
        tick: Tick(number(input)),
        controller: controllers[usize::from(input.byte() % 3)].clone(),
        life: Life(input.byte() & 3),
        from: Tick(number(input)),
        inputs: (0..input.byte() % 12).map(|k| u16::from(k) % 7).collect(),
        key: None,
    }
}

fn change(number_of: u8, input: &mut Input<'_>) -> ServerMessage {
    ServerMessage::Change {
        era: ERA,
        change: seat_change(number_of.into(), input),
    }
}

/// The first state, or one in which a byte is another, or a part of one; after none to three changes.
fn come_back(how: u8, input: &mut Input<'_>) -> ServerMessage {
    let mut world = world();
    world.reset(1);
    let (mut state, digest) = (Vec::new(), world.digest());
    world.state(&mut state);
    if how & 4 != 0 {
        let (at, bits) = (usize::from(input.byte()), input.byte());
        state
            .iter_mut()
            .skip(at)
            .take(1)
            .for_each(|byte| *byte ^= bits);
    }
    if how == 7 {
        return ServerMessage::Part {
            era: ERA,
            bytes: state,
        };
    }
    ServerMessage::Return(Return {
        era: ERA,
        t0_us: T0_US,
        delay_ms: 40 * u32::from(how & 1),
        input_delay: how & 1,
        changes: (0..u16::from(how & 3))
            .map(|k| seat_change(k, input))
            .collect(),
        tick: Tick(if how == 6 { number(input) } else { 0 }),
        digest,
        state,
        partners: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use peer::Status;

    use super::*;

    fn seed(name: &str) -> Match {
        let seeds = crate::seeds("peer");
        play(&seeds.iter().find(|(seed, _)| seed == name).unwrap().1)
    }

    #[test]
    fn the_seeds_reach_what_they_are_for() {
        let ended = |name| {
            let game = seed(name);
            let ended = |page: &Page| page.peer.session().is_some_and(|s| s.ended().is_some());
            game.pages.iter().all(ended)
        };
        assert!(ended("direct") && ended("relayed"));
        let gone = seed("gone");
        assert!(gone.pages[0].kept.len() >= 2 * HORIZON as usize);
        let status = gone.pages[1].peer.status(moment(gone.now_us));
        assert_eq!(status, Status::Lost);
        let back = seed("back");
        assert!(back.pages[1].peer.session().is_some());
    }
}
