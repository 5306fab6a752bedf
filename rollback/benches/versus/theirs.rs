//! GGRS: a session of N players over a post of bytes, driven as its own example drives it.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use env_core::{Action, World as _};
use ggrs::{
    DesyncDetection, GgrsError, GgrsEvent, GgrsRequest, Message, NonBlockingSocket, P2PSession,
    PlayerType, PredictRepeatLast, SessionBuilder, SessionState,
};

use super::Clocks;
use super::arena::{Contestant, Marks};
use crate::support::toy::{State, Toy};

/// A session of GGRS.
pub(crate) type Theirs = P2PSession<Yardstick>;

/// Its types.
pub(crate) struct Yardstick;

impl ggrs::Config for Yardstick {
    type Input = Action;
    type InputPredictor = PredictRepeatLast;
    type State = State;
    type Address = usize;
}

/// Packets with the seat at the other end, first come, first served.
type Parcels = VecDeque<(usize, Vec<u8>)>;

/// The packets that the sessions of one process have sent and not yet received, by seat.
#[derive(Clone)]
pub(crate) struct Post {
    sent: Rc<RefCell<Vec<Parcels>>>,
    come: Rc<RefCell<Vec<Parcels>>>,
}

impl Post {
    pub(crate) fn new(players: usize) -> Self {
        let boxes = || Rc::new(RefCell::new(vec![Parcels::new(); players]));
        Self {
            sent: boxes(),
            come: boxes(),
        }
    }

    /// The next packet that a seat sent, and its receiver.
    pub(crate) fn take(&self, seat: usize) -> Option<(usize, Vec<u8>)> {
        self.sent.borrow_mut()[seat].pop_front()
    }

    /// Puts a packet before a seat.
    pub(crate) fn deliver(&self, from: usize, to: usize, bytes: Vec<u8>) {
        self.come.borrow_mut()[to].push_back((from, bytes));
    }
}

struct Socket {
    seat: usize,
    post: Post,
}

impl NonBlockingSocket<usize> for Socket {
    fn send_to(&mut self, message: &Message, &to: &usize) {
        // As its own UDP socket encodes.
        let bytes = bincode::serialize(message).expect("a message is plain data");
        self.post.sent.borrow_mut()[self.seat].push_back((to, bytes));
    }

    fn receive_all_messages(&mut self) -> Vec<(usize, Message)> {
        let packets = std::mem::take(&mut self.post.come.borrow_mut()[self.seat]);
        let decode = |bytes: Vec<u8>| bincode::deserialize(&bytes).expect("it was written by GGRS");
        packets
            .into_iter()
            .map(|(from, bytes)| (from, decode(bytes)))
            .collect()
    }
}

/// How a session is set up.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) window: u8,
    pub(crate) delay: u8,
    /// Frames between two checksums that are compared; 0 for none.
    pub(crate) interval: u32,
}

impl Terms {
    pub(crate) fn of(window: u8, delay: u8) -> Self {
        Self {
            window,
            delay,
            interval: 0,
        }
    }
}

pub(crate) fn session(seat: usize, players: usize, post: &Post, terms: Terms) -> Theirs {
    let detection = match terms.interval {
        0 => DesyncDetection::Off,
        interval => DesyncDetection::On { interval },
    };
    let builder = SessionBuilder::<Yardstick>::new()
        .with_num_players(players)
        .expect("there is somebody")
        .with_max_prediction_window(usize::from(terms.window))
        .with_input_delay(usize::from(terms.delay))
        .with_desync_detection_mode(detection)
        .with_disconnect_timeout(Duration::from_millis(2_000));
    let builder = (0..players).fold(builder, |builder, player| {
        let kind = if player == seat {
            PlayerType::Local
        } else {
            PlayerType::Remote(player)
        };
        builder.add_player(kind, player).expect("each player once")
    });
    let socket = Socket {
        seat,
        post: post.clone(),
    };
    builder
        .start_p2p_session(socket)
        .expect("all players are there")
}

/// Does what GGRS asks, and counts the steps. `checksum` gets each saved state.
pub(crate) fn obey(
    world: &mut Toy,
    requests: Vec<GgrsRequest<Yardstick>>,
    mut checksum: impl FnMut(&mut Toy) -> Option<u128>,
) -> u64 {
    let mut steps = 0;
    for request in requests {
        match request {
            GgrsRequest::SaveGameState { cell, frame } => {
                let sum = checksum(world);
                cell.save(frame, Some(world.state), sum);
            }
            GgrsRequest::LoadGameState { cell, .. } => {
                world.state = cell.load().expect("it was saved");
            }
            GgrsRequest::AdvanceFrame { inputs } => {
                let actions: Vec<Action> = inputs.iter().map(|(action, _)| *action).collect();
                world.step(&actions);
                steps += 1;
            }
        }
    }
    steps
}

/// A player of a match: a session in a loop as in GGRS's own example of a game.
pub(crate) struct Player {
    seat: usize,
    session: Theirs,
    post: Post,
    world: Toy,
    clocks: Clocks,
    /// Time not yet played, and when it was counted last, microseconds.
    owed_us: f64,
    counted_us: Option<u64>,
    /// Frames to wait, as GGRS recommends.
    waits: u32,
    is_stalled: bool,
    checks: bool,
    marks: Marks,
    /// The digest before each frame, as simulated last.
    digests: BTreeMap<u32, u64>,
}

impl Player {
    pub(crate) fn new(seat: usize, players: usize, terms: Terms, clocks: Clocks) -> Self {
        let post = Post::new(players);
        // A session notes the time already when it is made.
        (clocks.set_us)(0);
        let mut world = Toy::new(players as u8, 1 << 20, 1 << 20);
        world.reset(1);
        Self {
            seat,
            session: session(seat, players, &post, terms),
            post,
            world,
            clocks,
            owed_us: 0.0,
            counted_us: None,
            waits: 0,
            is_stalled: false,
            checks: terms.interval > 0,
            marks: Marks::default(),
            digests: BTreeMap::new(),
        }
    }

    /// The world from now on, for a test that breaks it.
    pub(crate) fn world(&mut self) -> &mut Toy {
        &mut self.world
    }

    /// Frames that GGRS calls confirmed.
    pub(crate) fn confirmed(&self) -> u32 {
        self.session.confirmed_frame().max(0).cast_unsigned()
    }

    /// The digests before each frame, as simulated last.
    pub(crate) fn digests(&self) -> &BTreeMap<u32, u64> {
        &self.digests
    }

    fn advance(&mut self, wish: Action) {
        if self.waits > 0 {
            self.waits -= 1;
            return;
        }
        self.session
            .add_local_input(self.seat, wish)
            .expect("the local player's");
        match self.session.advance_frame() {
            Ok(requests) => {
                let (checks, digests) = (self.checks, &mut self.digests);
                obey(&mut self.world, requests, |world| {
                    let digest = world.digest();
                    digests.insert(world.state.steps, digest);
                    checks.then_some(u128::from(digest))
                });
                self.is_stalled = false;
            }
            Err(GgrsError::PredictionThreshold) => {
                self.marks.stalls += u32::from(!self.is_stalled);
                self.is_stalled = true;
            }
            Err(error) => panic!("{error:?}"),
        }
    }
}

impl Contestant for Player {
    fn hear(&mut self, _now_us: u64, from: usize, bytes: &[u8]) {
        self.post.deliver(from, self.seat, bytes.to_vec());
    }

    fn wake(&mut self, now_us: u64, wish: Action) {
        (self.clocks.set_us)(now_us);
        self.session.poll_remote_clients();
        for event in self.session.events() {
            match event {
                GgrsEvent::WaitRecommendation { skip_frames } => {
                    self.waits = skip_frames;
                    self.marks.waits += 1;
                }
                GgrsEvent::DesyncDetected { .. } => {
                    self.marks.found_us.get_or_insert(now_us);
                }
                _ => {}
            }
        }
        if self.session.current_state() != SessionState::Running {
            return;
        }
        self.marks.running_us.get_or_insert(now_us);
        let before_us = self.counted_us.replace(now_us).unwrap_or(now_us);
        self.owed_us += (now_us - before_us) as f64;
        let frame_us = 1e6 / 60.0;
        while self.owed_us >= frame_us {
            self.owed_us -= frame_us;
            self.advance(wish);
        }
    }

    fn sent(&mut self) -> Option<(usize, Vec<u8>)> {
        self.post.take(self.seat)
    }

    fn frame(&self) -> u32 {
        self.session.current_frame().max(0).cast_unsigned()
    }

    fn marks(&self) -> Marks {
        self.marks
    }
}
