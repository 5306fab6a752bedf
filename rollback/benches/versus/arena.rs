//! A match of players of one kind on a simulated network, in virtual time.

use env_core::Action;
use env_core::rng::Rng;
use protocol::Seat;

use crate::support::network::{Conditions, Network, Partition};

/// A player's notes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    /// How often the window was used up.
    pub(crate) stalls: u32,
    /// How often the player was asked to let others catch up.
    pub(crate) waits: u32,
    /// When the player could play first, own clock, microseconds.
    pub(crate) running_us: Option<u64>,
    /// When the player heard that states differ, own clock, microseconds.
    pub(crate) found_us: Option<u64>,
}

/// Somebody who plays.
pub(crate) trait Contestant {
    /// A packet has come. Times are of the player's own clock, microseconds.
    fn hear(&mut self, now_us: u64, from: usize, bytes: &[u8]);
    /// Time has passed, and the person wants this.
    fn wake(&mut self, now_us: u64, wish: Action);
    /// The next packet to send.
    fn sent(&mut self) -> Option<(usize, Vec<u8>)>;
    /// Ticks simulated.
    fn frame(&self) -> u32;
    /// The notes.
    fn marks(&self) -> Marks;
}

/// A match to be played.
pub(crate) struct Arena {
    pub(crate) seed: u64,
    pub(crate) conditions: Conditions,
    pub(crate) partitions: Vec<Partition>,
    /// The rate error of each player's clock, millionths; positive if the clock is fast.
    pub(crate) drift_ppm: Vec<i64>,
    pub(crate) seconds: u64,
}

/// The result of a match, apart from what the players know.
#[derive(Debug, Default)]
pub(crate) struct Played {
    /// Payload that player 0 sent while playing, bytes, and packets; from the first second of play.
    pub(crate) bytes: u64,
    pub(crate) packets: u64,
    /// How many seconds that was.
    pub(crate) seconds: f64,
    /// The distance of the first from the last player, ticks, every sixtieth of a second.
    pub(crate) spread: Vec<f64>,
}

/// How often each player calls its session, microseconds; each at its own moment.
const BEAT_US: u64 = 4_000;

impl Arena {
    /// Plays. `also` is called every beat with the true time.
    pub(crate) fn play<P: Contestant>(
        &self,
        players: &mut [P],
        mut also: impl FnMut(u64, &mut [P]),
    ) -> Played {
        let (conditions, partitions) = (self.conditions, self.partitions.clone());
        let mut network = Network::new(self.seed, conditions, partitions, u64::MAX);
        let mut people = Rng::new(!self.seed);
        let mut wishes = vec![(0, 0); players.len()];
        let mut played = Played::default();
        let (mut began_us, mut sampled_us) = (None, 0);
        for beat in 0..self.seconds * 1_000_000 / BEAT_US * players.len() as u64 {
            let now_us = beat * BEAT_US / players.len() as u64;
            let at = (beat % players.len() as u64) as usize;
            let clock_us = |at: usize, true_us: u64| {
                true_us.saturating_add_signed(true_us as i64 * self.drift_ppm[at] / 1_000_000)
            };
            while network.next_us().is_some_and(|due_us| due_us <= now_us) {
                let packet = network.arrive().expect("it was just seen");
                let to = usize::from(packet.to);
                players[to].hear(
                    clock_us(to, packet.arrives_us),
                    packet.from.into(),
                    &packet.bytes,
                );
            }
            let (wish, until_us) = &mut wishes[at];
            if *until_us <= now_us {
                // A person acts four times a second.
                *wish = people.below(5) as Action;
                *until_us = now_us + 125_000 + u64::from(people.below(250_000));
            }
            players[at].wake(clock_us(at, now_us), *wish);
            let plays = players.iter().all(|player| player.frame() > 0);
            if plays {
                began_us.get_or_insert(now_us);
            }
            while let Some((to, bytes)) = players[at].sent() {
                if at == 0 && began_us.is_some() {
                    played.bytes += bytes.len() as u64;
                    played.packets += 1;
                }
                network.send(now_us, Seat(at as u8), Seat(to as u8), &bytes);
            }
            if plays && now_us >= sampled_us + 16_667 {
                sampled_us = now_us;
                let frames = players.iter().map(Contestant::frame);
                let (least, most) = (frames.clone().min(), frames.max());
                played
                    .spread
                    .push(f64::from(most.unwrap_or(0) - least.unwrap_or(0)));
            }
            also(now_us, players);
        }
        let end_us = self.seconds * 1_000_000;
        played.seconds = (end_us - began_us.unwrap_or(end_us)) as f64 / 1e6;
        played
    }
}
