//! Declares a grid world.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::appearance::Appearance;
use super::fog::Fog;
use super::kind::{Kind, MAX_KINDS};
use super::layout::MAX_SIDE;
use super::motion::ActionSet;
use super::refusal::refuse;
use super::reward::Reward;
pub use super::rules::RuleSet;
use crate::art;
use crate::contract::{MAX_SEATS, ParamError};

/// The ground of a world.
#[derive(Clone, Debug)]
pub enum Layout {
    /// The same in every episode: one string a row.
    Fixed(Vec<String>),
    /// Made for each episode by `GridWorld::generate`.
    Generated {
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        cols: usize,
        /// The most containers and switches that it makes.
        fixtures: usize,
    },
}

impl Layout {
    /// The same ground in every episode: one string a row.
    pub fn fixed<S: AsRef<str>>(rows: &[S]) -> Self {
        Self::Fixed(rows.iter().map(|row| row.as_ref().into()).collect())
    }
}

/// The declaration of a grid world.
#[derive(Clone, Debug)]
pub struct WorldPlan {
    /// Name for people; `None` for that of the environment.
    pub title: Option<String>,
    /// Which rules hold.
    pub rules: RuleSet,
    /// Number of seats, 1 to [`MAX_SEATS`].
    pub seats: usize,
    /// How agents move.
    pub actions: ActionSet,
    /// Steps after which the episode is truncated.
    pub horizon: u32,
    /// Steps per second; 0 for turns.
    pub tick_hz: u16,
    /// The kinds, in the order of their numbers.
    pub kinds: Vec<Kind>,
    /// The ground.
    pub layout: Layout,
    /// The observation: names of features, in order.
    pub features: Vec<String>,
    /// Rows and columns that `local_view` sees in each direction; `None` for the whole grid.
    pub view_radius: Option<u8>,
    /// The seats whose people see no farther than `view_radius` either, in their pictures and words.
    pub fog: Fog,
    /// The rewards, in order; each is a kind of event and a part of the pay of a step.
    pub rewards: Vec<Reward>,
    /// The figures of the agents, if the world brings their pictures; `None` for the first that it brings.
    pub figures: Option<art::FigureKind>,
    /// Its look and its names.
    pub appearance: Appearance,
}

impl Default for WorldPlan {
    fn default() -> Self {
        Self {
            title: None,
            rules: RuleSet::default(),
            seats: 2,
            actions: ActionSet::default(),
            horizon: 1000,
            tick_hz: 10,
            kinds: Vec::new(),
            layout: Layout::Fixed(Vec::new()),
            features: [
                "agent_dir",
                "agent_position",
                "can_move_direction",
                "inventory",
            ]
            .map(Into::into)
            .into(),
            view_radius: None,
            fog: Fog::default(),
            rewards: Vec::new(),
            figures: None,
            appearance: Appearance::default(),
        }
    }
}

/// Refuses what no world can be.
pub(super) fn check_plan(plan: &WorldPlan) -> Result<(), ParamError> {
    if !(1..=MAX_SEATS).contains(&plan.seats) {
        return refuse("seats", format!("must be 1 to {MAX_SEATS}"));
    }
    if plan.horizon == 0 || plan.horizon > 1 << 24 {
        return refuse("horizon", format!("must be 1 to {} steps", 1 << 24));
    }
    if plan.tick_hz > 60 {
        return refuse(
            "tick_hz",
            "must be 1 to 60 steps per second, or 0 for turns".into(),
        );
    }
    if plan.kinds.len() >= MAX_KINDS {
        return refuse(
            "kinds",
            format!("there may be at most {} kinds", MAX_KINDS - 1),
        );
    }
    for (index, kind) in plan.kinds.iter().enumerate() {
        let taken = kind.symbol.and_then(|symbol| match symbol {
            '+' => Some("start cells"),
            ' ' | '.' => Some("free floor"),
            _ => None,
        });
        if let Some(of) = taken {
            let symbol = kind.symbol.unwrap_or_default();
            return refuse(
                &format!("kinds.{}", kind.name),
                format!("the symbol `{symbol}` is that of {of}: take another"),
            );
        }
        let twin = plan.kinds[..index].iter().find(|other| {
            other.name == kind.name || (kind.symbol.is_some() && other.symbol == kind.symbol)
        });
        if let Some(twin) = twin {
            return refuse(
                "kinds",
                format!(
                    "`{}` and `{}` have the same name or symbol: rename one",
                    twin.name, kind.name
                ),
            );
        }
    }
    if let Layout::Generated {
        rows,
        cols,
        fixtures,
    } = plan.layout
        && !((1..=MAX_SIDE).contains(&rows)
            && (1..=MAX_SIDE).contains(&cols)
            && fixtures <= rows * cols)
    {
        return refuse("layout", format!("needs 1 to {MAX_SIDE} rows and columns"));
    }
    Ok(())
}
