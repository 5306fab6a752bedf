//! The parameters of a grid world that is written as data.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::map::MapParams;
use crate::art;
use crate::contract::ParamError;
use crate::grid::{
    ActionSet, Appearance, Chart, Fog, Kind, Layout, Names, Reward, When, WorldPlan,
};

/// The name of the layout that is made for each episode.
const GENERATED: &str = "generated";
/// The most letters of a name, and of words for people.
const MAX_WORDS: usize = 60;

/// Parameters. Without kinds, a layout and rewards they are a room with a goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Name for people.
    pub title: String,
    /// Number of agents.
    pub seats: u8,
    /// How agents move.
    pub actions: ActionSet,
    /// Steps after which the episode is truncated.
    pub horizon: u32,
    /// Steps per second; 0 for turns.
    pub tick_hz: u16,
    /// The kinds of thing, in the order of their numbers.
    pub kinds: Vec<Kind>,
    /// Rows of symbols, the name of one of `layouts`, or `generated`.
    pub layout: Chart,
    /// Layouts by their names.
    pub layouts: BTreeMap<String, Vec<String>>,
    /// The contents of a generated layout.
    pub map: Option<MapParams>,
    /// The rewards, in order.
    pub rewards: Vec<Reward>,
    /// The ends of an episode before the horizon, besides terminal kinds.
    pub ends: Ends,
    /// The observation: names of features, in order.
    pub features: Vec<String>,
    /// Cells that `local_view` sees in each direction; `None` for the whole grid.
    pub view_radius: Option<u8>,
    /// The seats whose people see no farther than `view_radius` either.
    pub fog: Fog,
    /// The figures of the agents.
    pub figures: art::FigureKind,
    /// Its look and its names; changes no rule, state or observation.
    pub appearance: Appearance,
}

/// Ends of an episode for everyone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ends {
    /// The episode ends when nothing of these kinds is left: in no cell, on no surface, in no hand.
    pub when_gone: Vec<String>,
    /// The episode ends when the score reaches this.
    pub at_score: Option<f32>,
}

impl Default for Params {
    fn default() -> Self {
        let WorldPlan {
            seats,
            actions,
            horizon,
            tick_hz,
            features,
            ..
        } = WorldPlan::default();
        Self {
            title: "Grid world".into(),
            seats: seats as u8,
            actions,
            horizon,
            tick_hz,
            kinds: Vec::new(),
            layout: Chart::Rows(Vec::new()),
            layouts: BTreeMap::new(),
            map: None,
            rewards: Vec::new(),
            ends: Ends::default(),
            features,
            view_radius: None,
            fog: Fog::default(),
            figures: art::FigureKind::Robot,
            appearance: Appearance::default(),
        }
    }
}

pub(super) fn refuse<T>(field: &str, reason: impl Into<String>) -> Result<T, ParamError> {
    Err(ParamError {
        field: field.into(),
        reason: reason.into(),
    })
}

impl Params {
    /// The same world, or a room with a goal where there is none.
    pub(super) fn or_room(mut self) -> Self {
        let Self {
            kinds,
            layout,
            rewards,
            ..
        } = &mut self;
        let is_blank = kinds.is_empty() && rewards.is_empty() && *layout == Chart::Rows(Vec::new());
        if is_blank {
            let goal = Kind::new("goal").symbol('g').sprite("goal");
            let wall = Kind::new("wall").symbol('#').sprite("wall");
            let rows = ["########", "#   g  #", "#      #", "# + ++ #", "########"];
            let reached = When::Stands(Names::of(&["goal"]));
            *kinds = Vec::from([goal.walkable().terminal(), wall.wall()]);
            *layout = Chart::Rows(rows.map(Into::into).into());
            *rewards = Vec::from([Reward::new("goal", 1.0, reached).scored()]);
        }
        self
    }

    /// Refuses what the toolkit does not refuse: worlds of the toolkit are programs, and this one is a file.
    pub(super) fn check(&self) -> Result<(), ParamError> {
        check_words("title", &self.title)?;
        if self.kinds.is_empty() {
            return refuse("kinds", "there is no kind: declare one, such as a wall");
        }
        if self.layout == Chart::Rows(Vec::new()) {
            return refuse("layout", "there is none: draw rows of symbols");
        }
        for (index, kind) in self.kinds.iter().enumerate() {
            let field = format!("kinds.{}", kind.name);
            check_name(&format!("kinds[{index}].name"), &kind.name)?;
            if Names::RESERVED.contains(&kind.name.as_str()) {
                return refuse(
                    &field,
                    format!(
                        "`{}` is no name for a kind: it stands for several in `with`, `item` and `at`",
                        kind.name
                    ),
                );
            }
            if !kind.words.is_empty() {
                check_words(&format!("{field}.words"), &kind.words)?;
            }
            if kind.by.as_ref().is_some_and(Vec::is_empty) {
                return refuse(
                    &format!("{field}.by"),
                    "names no seat: leave it out if every seat may use it",
                );
            }
        }
        for (index, reward) in self.rewards.iter().enumerate() {
            check_name(&format!("rewards[{index}].name"), &reward.name)?;
            let twin = self.rewards[..index].iter();
            if twin.clone().any(|other| other.name == reward.name) {
                let field = format!("rewards.{}", reward.name);
                return refuse(&field, "another reward has this name: rename one");
            }
        }
        if self.fog != Fog::default() && self.view_radius.is_none() {
            return refuse("fog", "needs `view_radius`: how many cells people see");
        }
        Ok(())
    }

    /// The ground of the world.
    pub(super) fn ground(&self) -> Result<Layout, ParamError> {
        let name = match &self.layout {
            Chart::Rows(rows) => return Ok(Layout::Fixed(rows.clone())),
            Chart::Name(name) => name,
        };
        if let Some(rows) = self.layouts.get(name) {
            return Ok(Layout::Fixed(rows.clone()));
        }
        if name == GENERATED {
            return match &self.map {
                Some(map) => map.layout(&self.kinds, self.seats.into()),
                None => refuse(
                    "map",
                    "a generated layout needs `map`: its size and its things",
                ),
            };
        }
        let known = self.layouts.keys().map(String::as_str).chain([GENERATED]);
        let reason = crate::grid::tell_unknown("layout", name, known);
        refuse("layout", reason)
    }
}

/// Refuses a name that is no name in tables and formulas.
fn check_name(field: &str, name: &str) -> Result<(), ParamError> {
    let is_word =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    if name.is_empty() || name.len() > MAX_WORDS || !name.chars().all(is_word) {
        let reason =
            format!("`{name}` is no name: take small letters, digits and `_`, at most {MAX_WORDS}");
        return refuse(field, reason);
    }
    Ok(())
}

fn check_words(field: &str, words: &str) -> Result<(), ParamError> {
    let count = words.chars().count();
    if !(1..=MAX_WORDS).contains(&count) || words.chars().any(char::is_control) {
        let reason = format!("must have 1 to {MAX_WORDS} letters in one line");
        return refuse(field, reason);
    }
    Ok(())
}
