//! The study's rules for people who are away, and the server's patience with pages that do not answer.

use protocol::{Controller, Tick};
use study::disconnect::{Meanwhile, Then};
use study::stage::{Env, Mode};

use crate::limits::Limits;

/// A year, microseconds: who plays in turns alone keeps nobody waiting, and only the end of their session ends their
/// episode.
pub(super) const UNHURRIED_US: u64 = 365 * 24 * 3_600 * 1_000_000;

/// The study's rules for people who are away, and the server's patience, microseconds.
#[derive(Clone, Debug)]
pub(super) struct AbsenceRules {
    /// True if nothing moves while somebody thinks.
    pub turns: bool,
    /// True if the world is stepped on a host.
    pub is_hosted: bool,
    /// True if that keeps nobody else waiting.
    pub is_alone: bool,
    /// The time that somebody may think, microseconds; 0 in an episode by the clock.
    pub choice_us: u64,
    pub grace_us: u64,
    pub meanwhile: Meanwhile,
    first_half: Then,
    second_half: Then,
    /// First tick of the second half.
    half: Tick,
    bot: Option<String>,
    pub warn_us: u64,
    pub drop_us: u64,
    pub helped_us: u64,
    pub ready_us: u64,
    pub still_us: u64,
}

impl AbsenceRules {
    pub(super) fn new(env: &Env, horizon: u32, limits: &Limits) -> Self {
        let (gone, hidden) = (&env.on_disconnect, &env.hidden_tab);
        let us = |seconds: u32| u64::from(seconds) * 1_000_000;
        let turns = env.course.mode == Mode::Turns;
        let is_alone = env.people() == 1;
        Self {
            turns,
            is_hosted: env.env_way() == protocol::EnvWay::Host,
            is_alone,
            choice_us: match env.course.turn_limit_s {
                _ if !turns => 0,
                Some(limit_s) if !is_alone => us(limit_s),
                _ => UNHURRIED_US,
            },
            grace_us: if turns && is_alone {
                UNHURRIED_US
            } else {
                us(gone.grace_s)
            },
            meanwhile: gone.meanwhile,
            first_half: gone.first_half,
            second_half: gone.second_half,
            half: Tick(horizon / 2),
            bot: gone.bot.as_ref().map(|bot| bot.policy.clone()),
            warn_us: us(hidden.warn_s),
            drop_us: us(hidden.drop_s),
            helped_us: limits.helped.as_micros() as u64,
            ready_us: limits.ready.as_micros() as u64,
            still_us: limits.no_progress_page_gone_after.as_micros() as u64,
        }
    }

    /// The consequence when a person stays away, at this point of the episode.
    pub(super) fn consequence_at(&self, through: Tick) -> Then {
        if through < self.half {
            self.first_half
        } else {
            self.second_half
        }
    }

    pub(super) fn partner_controller(&self) -> Controller {
        let policy = self.bot.clone();
        policy.map_or(Controller::Vacant, |policy| Controller::Ai { policy })
    }

    /// The controller while the person may still come back.
    pub(super) fn meanwhile_controller(&self) -> Controller {
        match self.meanwhile {
            Meanwhile::Bot => self.partner_controller(),
            Meanwhile::Stand | Meanwhile::Hold => Controller::Vacant,
        }
    }
}
