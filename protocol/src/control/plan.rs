//! An episode, as one of its peers gets it.

use serde::{Deserialize, Serialize};

use crate::rules::{Gauge, Rules, SharedSeats, asks_rewards};
use crate::{Controller, EnvWay, Era, Life, Seat};

/// An ICE server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct IceServer {
    /// URLs, `stun:` or `turn:`.
    pub urls: Vec<String>,
    /// For TURN.
    pub username: Option<String>,
    /// For TURN.
    pub credential: Option<String>,
}

/// An episode, as one of its peers needs it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Plan {
    /// Tells its datagrams apart.
    pub era: Era,
    /// Id in the archive.
    pub episode: String,
    /// The seat of this participant.
    pub seat: Seat,
    /// The controller of each seat.
    pub controllers: Vec<Controller>,
    /// Environment id.
    pub env: String,
    /// Environment version.
    pub env_version: String,
    /// SHA-256 of the module, lower-case hex; it is served as `/modules/<sha256>.wasm`.
    pub module: String,
    /// SHA-256 of the networks that AI partners of the episode may play with, lower-case hex; each is served as
    /// `/networks/<sha256>.network`.
    pub networks: Vec<String>,
    /// Parameters, as JSON.
    pub params: String,
    /// Seed.
    pub seed: u64,
    /// Ticks per second.
    pub tick_hz: u16,
    /// The longest prediction, ticks.
    pub window: u8,
    /// Keys for actions: `KeyboardEvent.code`, or several with `+` between them that are down together, and the action;
    /// replaces the environment's own if not empty.
    pub keys: Vec<(String, u16)>,
    /// True if there are buttons to touch.
    pub touch: bool,
    /// True if the page asks for the whole screen.
    pub fullscreen: bool,
    /// True if people learn which partner is an AI.
    pub disclose_ai: bool,
    /// ICE servers.
    pub ice: Vec<IceServer>,
    /// True if pages measure how many packets are lost before they are ready, which takes two seconds more.
    pub measures_loss: bool,
    /// True if peers may connect through a relay only, so that nobody learns another's address.
    pub relay_only: bool,
    /// The life of this participant's seat in which the page will play.
    pub life: Life,
    /// True if the episode runs already: [`super::ServerMessage::Return`] follows instead of [`super::ServerMessage::Start`]
    /// once the page is [`super::ClientMessage::Ready`].
    pub running: bool,
    /// The rules that the study adds to those of the environment.
    pub rules: Rules,
    /// Which episode of the visit it is, from 0, and how many there are at most.
    pub round: (u16, u16),
    /// Seconds of the countdown before tick 0; `None` if the study does not say.
    pub countdown_s: Option<u8>,
    /// The values shown beside the picture.
    pub hud: Vec<Gauge>,
    /// True if the people of the group write to each other meanwhile: [`super::ServerMessage::Chat`] follows once it runs.
    pub chat: bool,
    /// In turns, the time that a person may take for a choice; `None` without a limit.
    pub turn: Option<TurnLimit>,
    /// The place where the world is stepped. On a host, `module` names its facts, served as `/modules/<sha256>.facts`.
    /// There are then no networks, no parameters and no seed: they could reveal to a page what its seat must not know.
    pub way: EnvWay,
    /// How people share their seats with AI partners; `None` if they do not.
    pub shared: Option<SharedSeats>,
}

/// The limit of time for a choice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct TurnLimit {
    /// Milliseconds.
    pub limit_ms: u32,
    /// The action that is chosen for them after that.
    pub action: u16,
}

impl Plan {
    /// Checks whether its formulas ask for the sum of each seat's rewards. The page then keeps it with the state, and
    /// [`super::Return`] brings it behind the state: 8 bytes for each seat, `f64`, little-endian.
    pub fn asks_rewards(&self) -> bool {
        self.rules.ask_rewards() || self.hud.iter().any(|gauge| asks_rewards(&gauge.value))
    }

    /// A plan for tests: people in that many seats, and nothing that a study may add.
    pub fn for_testing(people: usize) -> Self {
        Self {
            era: Era(1),
            episode: String::new(),
            seat: Seat(0),
            controllers: vec![Controller::Human; people],
            env: String::new(),
            env_version: String::new(),
            module: String::new(),
            networks: Vec::new(),
            params: String::new(),
            seed: 0,
            tick_hz: 60,
            window: 16,
            keys: Vec::new(),
            touch: true,
            fullscreen: false,
            disclose_ai: false,
            ice: Vec::new(),
            measures_loss: false,
            relay_only: false,
            life: Life(0),
            running: false,
            rules: Rules::default(),
            round: (0, 1),
            countdown_s: None,
            hud: Vec::new(),
            chat: false,
            turn: None,
            way: EnvWay::Module,
            shared: None,
        }
    }
}
