//! Episodes that tests write: here, and in the crates that read what this one writes.

#![allow(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "only tests play with these, and a panic fails them"
)]

use std::collections::VecDeque;

use env_core::World;
use protocol::control::{Timing, Upload};
use protocol::log::{self, Header};
use protocol::seen::{self, Frame};
use protocol::{Controller, Era, Life, Seat, Tick};
use rollback::{Config, Session};

use crate::Episode;
use crate::Replica;

/// A seat that a person plays.
pub const PERSON: Controller = Controller::Human;
/// The first seat.
pub const ZERO: Seat = Seat(0);

/// A seat that a policy plays.
pub fn ai(policy: &str) -> Controller {
    Controller::Ai {
        policy: policy.into(),
    }
}

/// The header of an episode of Overcooked with two seats.
pub fn header(controllers: [Controller; 2], horizon: u32) -> Header {
    Header {
        episode: "e-1".into(),
        study: "overcooked-dyad".into(),
        study_version: "1".into(),
        study_hash: "ab".into(),
        stage: "play".into(),
        group: "G-1".into(),
        participants: vec!["P-A".into(), "P-B".into()],
        module: "cd".into(),
        env: "overcooked".into(),
        env_version: "2.0.0".into(),
        params: format!("{{\"horizon\":{horizon}}}"),
        seed: 42,
        controllers: controllers.into(),
        tick_hz: 4,
        input_delay: 0,
        t0_us: 1_700_000_000_000_000,
        rules: Default::default(),
        course: None,
    }
}

/// The environment comes with the program.
pub fn no_modules(_hash: &str) -> std::io::Result<Vec<u8>> {
    unreachable!("no module is needed")
}

/// A whole episode as the pages of all its people confirm it: rows, and digests at each second and the end.
pub fn played(header: &Header) -> Upload {
    let mut replica = Replica::open(header, no_modules).unwrap();
    let actions = replica.spec().actions.len() as u32;
    let mut upload = Upload {
        era: Era(1),
        life: Life(0),
        first: Tick(0),
        rows: Vec::new(),
        digests: Vec::new(),
        timing: None,
        ended: None,
    };
    while !replica.outcome().over {
        let pressed = |seat: u32| ((replica.ticks().0 * 7 + seat * 3) / 2 % actions) as u16;
        let row = [0, 1].map(|seat| {
            replica
                .chosen(Seat(seat))
                .unwrap_or_else(|| pressed(seat.into()))
        });
        replica.step(&row).unwrap();
        upload.rows.extend(row);
        let tick = replica.ticks();
        if tick.0.is_multiple_of(header.tick_hz.into()) || replica.outcome().over {
            upload.digests.push((tick, replica.digest(tick).unwrap()));
        }
    }
    upload.ended = Some(replica.ticks());
    upload
}

/// The part of an upload that a page sends when it has confirmed the ticks up to `to`.
pub fn part(all: &Upload, from: u32, to: u32) -> Upload {
    Upload {
        first: Tick(from),
        rows: all.rows[from as usize * 2..to as usize * 2].to_vec(),
        digests: all
            .digests
            .iter()
            .copied()
            .filter(|(tick, _)| (from + 1..=to).contains(&tick.0))
            .collect(),
        ended: all.ended.filter(|end| end.0 <= to),
        ..all.clone()
    }
}

/// The log of an episode, read back from its file.
pub fn log_of(episode: &mut Episode) -> protocol::log::Log {
    log::read(&episode.file.read().unwrap()).unwrap()
}

/// The uploads of a seat's page over a whole episode, and the digest of every frame that it showed.
pub struct PlayedPage {
    /// The upload.
    pub upload: Upload,
    /// Digests of the frames shown.
    pub shown: Vec<u64>,
    /// Digests of the states simulated when they were shown.
    pub simulated: Vec<u64>,
}

struct Peer {
    session: Session<Box<dyn World + Send>>,
    frames: Vec<Frame>,
    page: PlayedPage,
}

fn peer(header: &Header, seat: Seat) -> Peer {
    let config = Config {
        era: Era(1),
        local: Some(seat),
        controllers: header.controllers.clone(),
        seed: header.seed,
        tick_hz: header.tick_hz,
        input_delay: header.input_delay,
        window: 16,
        t0_us: header.t0_us,
        rules: header.rules.clone(),
    };
    let world = env_core::envs::open(&header.env, &header.params).unwrap();
    let partners = header
        .controllers
        .iter()
        .map(|controller| match controller {
            Controller::Ai { policy } => policy::by_name(policy, world.spec()),
            Controller::Human | Controller::Vacant => None,
        });
    let partners = partners.collect();
    Peer {
        session: Session::new(config, world, partners),
        frames: Vec::new(),
        page: PlayedPage {
            upload: part(&played(header), 0, 0),
            shown: Vec::new(),
            simulated: Vec::new(),
        },
    }
}

impl Peer {
    fn show(&mut self, at_ms: u32) {
        self.page.simulated.push(self.session.world().digest());
        let shown = &mut self.page.shown;
        self.session.preview(|world| shown.push(world.digest()));
        self.frames.push(self.session.seen(at_ms, false));
    }

    fn finish(mut self, seats: usize) -> PlayedPage {
        let (mut seen, upload) = (Vec::new(), &mut self.page.upload);
        seen::encode(&self.frames, seats, &mut seen);
        upload.timing = Some(Timing {
            seen,
            ..Timing::default()
        });
        upload.rows = self.session.rows().to_vec();
        upload.digests = self.session.digests().to_vec();
        upload.ended = self.session.ended();
        self.page
    }
}

/// Two people whose packets take 0.6 s play a whole episode and change their actions all the time.
pub fn two_pages(header: &Header) -> [PlayedPage; 2] {
    let mut peers = [ZERO, Seat(1)].map(|seat| peer(header, seat));
    let mut flying: VecDeque<(u32, Seat, Vec<u8>)> = VecDeque::new();
    for at_ms in (0..).step_by(50) {
        let now_us = header.t0_us + u64::from(at_ms) * 1_000;
        while flying.front().is_some_and(|(due, ..)| *due <= at_ms) {
            let (_, to, bytes) = flying.pop_front().unwrap();
            let session = &mut peers[to.index()].session;
            session
                .handle_datagram(now_us, Seat(1 - to.0), &bytes)
                .unwrap();
        }
        for (index, peer) in peers.iter_mut().enumerate() {
            let wanted = (at_ms / 350 + 2 * index as u32) % 5;
            peer.session.handle_action(now_us, wanted as u16);
            peer.session.handle_timeout(now_us);
            while let Some(packet) = peer.session.poll_transmit() {
                flying.push_back((at_ms + 600, packet.to, packet.bytes.to_vec()));
            }
            while peer.session.poll_event().is_some() {}
            peer.show(at_ms);
        }
        if peers.iter().all(|peer| peer.session.finished()) {
            break;
        }
        assert!(at_ms < 100_000, "the episode does not end");
    }
    assert!(peers.iter().all(|peer| peer.session.stats().rollbacks > 5));
    peers.map(|peer| peer.finish(header.controllers.len()))
}
