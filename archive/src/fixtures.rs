//! Episodes that tests write: here, and in the crates that read what this one writes.

#![allow(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "only tests play with these, and a panic fails them"
)]

use std::collections::VecDeque;

use env_core::World;
use env_core::shared::count_own_actions;
use protocol::chain::{Chain, PageKey, SigningKey};
use protocol::control::{Block, Timing, Upload};
use protocol::log::{self, Header, Record};
use protocol::seen::{self, Frame};
use protocol::{Controller, Era, Life, Seat, Tick};
use rollback::{Config, Session};

use crate::Episode;
use crate::Replica;
use crate::observations::{FreshObservations, encode_observations};

/// A seat that a person plays.
pub const PERSON: Controller = Controller::Human;
/// The first seat.
pub const ZERO: Seat = Seat(0);

/// A seat that a policy plays.
pub fn ai_controller(policy: &str) -> Controller {
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
        keys: [ZERO, Seat(1)]
            .map(|seat| key(seat).verifying_key().to_bytes())
            .into(),
        way: protocol::EnvWay::Module,
        shared: None,
    }
}

/// The environment comes with the program.
pub fn no_modules(_hash: &str) -> std::io::Result<Vec<u8>> {
    unreachable!("no module is needed")
}

/// A whole episode, as everybody plays it.
#[derive(Clone, Debug)]
pub struct PlayedEpisode {
    /// All actions, `[tick, seat]`.
    pub rows: Vec<u16>,
    /// Digests at each second and at the end.
    pub digests: Vec<(Tick, u64)>,
    /// Ticks played.
    pub ended: Tick,
}

/// Plays a whole episode.
pub fn play_episode(header: &Header) -> PlayedEpisode {
    let mut replica = Replica::open(header, no_modules).unwrap();
    let actions = replica.spec().actions.len() as u32;
    let (mut rows, mut digests) = (Vec::new(), Vec::new());
    while !replica.outcome().over {
        let pressed = |seat: u32| ((replica.ticks().0 * 7 + seat * 3) / 2 % actions) as u16;
        let row = [0, 1].map(|seat| {
            replica
                .chosen_action(Seat(seat))
                .unwrap_or_else(|| pressed(seat.into()))
        });
        replica.step(&row).unwrap();
        rows.extend(row);
        let tick = replica.ticks();
        if tick.0.is_multiple_of(header.tick_hz.into()) || replica.outcome().over {
            digests.push((tick, replica.digest(tick).unwrap()));
        }
    }
    let ended = replica.ticks();
    PlayedEpisode {
        rows,
        digests,
        ended,
    }
}

/// The key of the page of a seat in the first life.
pub fn key(seat: Seat) -> SigningKey {
    SigningKey::from_bytes(&[seat.0 + 1; 32])
}

/// A page that sends the archive the inputs of its person, in one life of its seat.
pub struct PageScript {
    seat: Seat,
    life: Life,
    chain: Chain,
    blocks: Vec<Block>,
}

impl PageScript {
    /// The page that plays a seat from the start.
    pub fn new(header: &Header, seat: Seat) -> Self {
        Self::from(header, seat, Life(0), Tick(0))
    }

    /// The page that plays a seat in a later life, from a tick on.
    pub fn from(header: &Header, seat: Seat, life: Life, first: Tick) -> Self {
        Self {
            seat,
            life,
            chain: Chain::new(&header.episode, seat, life, first),
            blocks: Vec::new(),
        }
    }

    /// The page that plays a seat now, after the blocks that the archive has of it.
    pub fn resume(episode: &mut Episode, seat: Seat) -> Self {
        let entered = episode.changes().iter().rfind(|change| change.seat == seat);
        let (life, first) = entered.map_or((Life(0), Tick(0)), |change| (change.life, change.tick));
        let mut page = Self::from(episode.header(), seat, life, first);
        let public = PageKey::new(&key(seat).verifying_key().to_bytes());
        for record in log_of(episode).records {
            if let Record::Inputs {
                seat: of,
                life: in_life,
                block,
            } = record
                && (of, in_life) == (seat, life)
            {
                page.chain.accept_block(&public, &block).unwrap();
                page.blocks.push(block);
            }
        }
        page
    }

    /// The upload that the page sends when it has played the ticks from `from` up to `to`; the same one if it is sent
    /// again.
    pub fn upload_part(&mut self, all: &PlayedEpisode, from: u32, to: u32) -> Upload {
        let of = usize::from(self.seat.0);
        let inputs = all.rows.chunks(2).map(|row| row[of]);
        let inputs: Vec<_> = inputs
            .skip(from as usize)
            .take((to - from) as usize)
            .collect();
        Upload {
            era: Era(1),
            life: self.life,
            block: self.sign_block(from, inputs),
            changes: 0,
            recheck: 0,
            digests: all
                .digests
                .iter()
                .copied()
                .filter(|(tick, _)| (from + 1..=to).contains(&tick.0))
                .collect(),
            timing: None,
            ended: Some(all.ended).filter(|end| end.0 <= to),
        }
    }

    /// Returns a signed block of these inputs; the earlier block if there was one from this tick on.
    pub fn sign_block(&mut self, from: u32, inputs: Vec<u16>) -> Option<Block> {
        if inputs.is_empty() {
            return None;
        }
        if self.chain.next() == Tick(from) {
            let salt = [self.blocks.len() as u8; 16];
            let block = self.chain.sign(&key(self.seat), inputs, salt);
            self.blocks.push(block);
        }
        let block = self.blocks.iter().find(|block| block.first == Tick(from));
        Some(block.expect("a block begins there").clone())
    }
}

/// The pages that play both seats from the start.
pub fn pages(header: &Header) -> [PageScript; 2] {
    [ZERO, Seat(1)].map(|seat| PageScript::new(header, seat))
}

/// The record of what a seat observed after some number of steps.
pub fn observation_record(seat: Seat, after: Tick, values: &[f32]) -> Record {
    let mut seats = Vec::new();
    seats.resize_with(seat.index(), FreshObservations::default);
    seats.push(FreshObservations {
        first: after,
        each: 4 * values.len(),
        bytes: values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect(),
    });
    let records = encode_observations(seats);
    records.into_iter().next().expect("there are values")
}

/// The log of an episode, read back from its file.
pub fn log_of(episode: &mut Episode) -> protocol::log::Log {
    log::read_log(&episode.file.read().unwrap()).unwrap()
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
    let world = crate::replica::world(header, &no_modules).unwrap();
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
            upload: PageScript::new(header, seat).upload_part(&play_episode(header), 0, 0),
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
        self.frames.push(self.session.record_frame(at_ms, false));
    }

    fn finish(mut self, header: &Header) -> PlayedPage {
        let (mut seen, upload) = (Vec::new(), &mut self.page.upload);
        seen::encode(&self.frames, header.controllers.len(), &mut seen);
        upload.timing = Some(Timing {
            seen,
            ..Timing::default()
        });
        let seat = self.session.config().local.unwrap();
        let (first, inputs) = self.session.own_inputs(Tick(0));
        upload.block = PageScript::new(header, seat).sign_block(first.0, inputs.collect());
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
            // The person who shares the seat gives it away every other second.
            let mark = count_own_actions(peer.session.world().spec()) as u32;
            let is_given = header.shared.is_some() && at_ms / 1_000 % 2 == 0;
            let wanted = if is_given { mark } else { wanted };
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
    peers.map(|peer| peer.finish(header))
}
