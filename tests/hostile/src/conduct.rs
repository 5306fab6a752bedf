//! The conduct of a dishonest page in an episode: what it does as an honest page would, what it says, and what is left of
//! it.

use anyhow::Context as _;
use env_core::World as _;

use crate::player::Player;
use crate::wire::messages::EndReason;

/// The receipts of a page for the inputs of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receipts {
    /// True ones.
    True,
    /// That it has none.
    None,
    /// That it has more than were sent.
    Future,
    /// That it lacks the last ones.
    Behind,
}

/// The part of an honest page's conduct that a page shows in an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Manners {
    /// It sends datagrams at all.
    pub sends: bool,
    /// Its datagrams have its inputs.
    pub says_inputs: bool,
    /// How it acknowledges the inputs of others.
    pub receipts: Receipts,
    /// It uploads its inputs.
    pub uploads: bool,
    /// It says that it has seen the end.
    pub ends: bool,
    /// It makes no input further ahead of those of its partner than two ticks, however late these are.
    pub follows: bool,
    /// The seat whose datagrams alone have none of its inputs.
    pub withholds_from: Option<usize>,
}

impl Manners {
    /// Everything.
    pub(crate) const HONEST: Self = Self {
        sends: true,
        says_inputs: true,
        receipts: Receipts::True,
        uploads: true,
        ends: true,
        follows: false,
        withholds_from: None,
    };
}

/// The end of an episode, as the server says it.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "reports show it whole")]
pub(crate) struct Ended {
    pub reason: EndReason,
    pub ticks: u32,
    pub score: i64,
}

/// The inputs that a person's own page said, from tick 0 on.
#[derive(Clone, Debug)]
pub(crate) struct Testimony {
    pub seat: usize,
    pub inputs: Vec<u16>,
    /// Later ones were not heard.
    pub until: u32,
}

/// The input that is sent for a tick, from the tick, the input that the partner gets, and the number of actions.
pub(crate) type Twist = fn(u32, u16, u16) -> u16;

/// The inputs that a page tells the server, compared with what it tells its partner.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words {
    /// Changes them.
    pub twist: Twist,
    /// Ticks by which they come earlier than datagrams, or later if negative.
    pub ahead: i32,
    /// Ticks in an upload; 0 for a quarter of a second of them.
    pub each: u32,
    /// No inputs are sent from this tick on.
    pub until: u32,
    /// No more are sent than the others have sent, as far as they were heard.
    pub is_level: bool,
    /// The seat that gets the twisted inputs; `None` for the server.
    pub lies_to: Option<usize>,
}

impl Words {
    /// The same as the partner gets, immediately.
    pub(crate) const HONEST: Self = Self {
        twist: |_, input, _| input,
        ahead: 0,
        each: 0,
        until: u32::MAX,
        is_level: false,
        lies_to: None,
    };
}

impl Player {
    /// A whole episode of invented, skilled people: the actions of each seat, and the score.
    /// Of a world on a host no page knows the seed, so there is nothing but a choice again and again.
    pub(crate) fn invent(&self, policy: &str) -> anyhow::Result<(Vec<Vec<u16>>, i64)> {
        if self.is_hosted() {
            return Ok((vec![vec![1; 200]; self.plan.controllers.len()], 0));
        }
        let opened = env_core::envs::open(&self.plan.env, &self.plan.params);
        let mut world = opened.map_err(|error| anyhow::anyhow!("{error}"))?;
        world.reset(self.plan.seed);
        let seats = self.plan.controllers.len();
        let mut people = Vec::new();
        for seat in 0..seats {
            let mut hand = policy::by_name(policy, world.spec()).context("no such policy")?;
            hand.reset(seat, self.plan.seed);
            people.push(hand);
        }
        let (mut columns, mut seen) = (vec![Vec::new(); seats], Vec::new());
        for _ in 0..self.spec.horizon {
            let row: Vec<u16> = (people.iter_mut().enumerate())
                .map(|(seat, hand)| {
                    world.observe(seat, &mut seen);
                    hand.act(&seen)
                })
                .collect();
            world.step(&row);
            for (column, action) in columns.iter_mut().zip(row) {
                column.push(action);
            }
        }
        Ok((columns, world.score()))
    }
}
