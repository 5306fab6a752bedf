//! Finds the features by their names.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::agent::{Closest, Items};
use super::feature::{Feature, LOCAL_VIEW, Part, Reach};
use super::masks::{Frame, Masks};
use super::own::{ContainerSet, OwnFeature};
use super::pots::Pots;
use super::scene::{Facts, hand_of, kinds, set};
use super::view::{self, View};
use super::{ingredients, map};
use crate::contract::ParamError;
use crate::grid::kind::{KindId, KindSet};
use crate::grid::layout::MAX_SIDE;
use crate::grid::plan::WorldPlan;
use crate::grid::refusal::refuse;
use crate::grid::tables::{Hand, Tables};
use crate::grid::{GridWorld, tell_unknown};

/// The features of the toolkit; there is also one `closest_` for each kind.
const NAMES: [&str; 10] = [
    "agent_dir",
    "agent_position",
    "can_move_direction",
    "dist_to_other_players",
    "full_map_encoding",
    "inventory",
    LOCAL_VIEW,
    "next_to_counter",
    "next_to_pot",
    "ordered_pot_features",
];
/// The longest time that a byte holds.
const BYTE: u8 = 127;

/// Finds features.
pub(super) struct Builder<'a, W> {
    world: &'a W,
    tables: &'a Tables,
    plan: &'a WorldPlan,
    facts: &'a Facts,
}

/// The most slots of a container.
const MAX_SLOTS: f32 = 8.0;

/// The greatest of some numbers.
fn greatest(numbers: [f32; 3]) -> f32 {
    let larger = |one, other| if other > one { other } else { one };
    numbers.into_iter().fold(f32::MIN, larger)
}

type Found = (Feature, Reach, Vec<usize>, bool);

impl<'a, W: GridWorld> Builder<'a, W> {
    pub(super) fn new(
        world: &'a W,
        tables: &'a Tables,
        plan: &'a WorldPlan,
        facts: &'a Facts,
    ) -> Self {
        Self {
            world,
            tables,
            plan,
            facts,
        }
    }

    /// The feature with a name.
    ///
    /// # Errors
    /// [`ParamError`] if there is none, or if it asks for something that the world does not have.
    pub(super) fn part(&self, name: &str) -> Result<Part, ParamError> {
        // A world may have its own idea of a name.
        let (feature, reach, shape, compact) = match self.world.feature(self.tables, name) {
            Some(own) => self.own(name, own)?,
            None => self.toolkit(name)?,
        };
        Ok(Part {
            name: name.into(),
            range: self.range(name, &feature),
            feature,
            reach,
            start: 0,
            len: shape.iter().product(),
            shape: shape.iter().map(|&side| side as u32).collect(),
            compact,
        })
    }

    /// The least and the greatest value of a feature.
    fn range(&self, name: &str, feature: &Feature) -> Option<[f32; 2]> {
        let tables = self.tables;
        let side = (tables.rows.max(tables.cols) - 1) as f32;
        let longest = f32::from(tables.longest_time());
        let kinds = tables.kinds.len() as f32;
        Some(match feature {
            Feature::Direction
            | Feature::Beside(_)
            | Feature::Items(_)
            | Feature::PotsBeside(_)
            | Feature::Masks(_)
            | Feature::OneOf(_) => [0.0, 1.0],
            Feature::Position => [0.0, side],
            // The number of a kind, and one more.
            Feature::Inventory => [0.0, kinds + 1.0],
            Feature::Distances | Feature::Closest(_) => [-side, side],
            // No time left is -1; a container has eight slots.
            Feature::Pots(_) => [
                if side > 1.0 { -side } else { -1.0 },
                greatest([side, longest, MAX_SLOTS]),
            ],
            // CoGrid: bytes with a sign, of whatever a cell shows.
            Feature::Map if tables.is_cogrid() => [i8::MIN.into(), i8::MAX.into()],
            Feature::Map => [0.0, greatest([kinds, longest, MAX_SLOTS])],
            Feature::World(_) => return self.world.feature_range(tables, name),
            Feature::View(view) => {
                let own = match view.has_own_channels() {
                    true => self.world.feature_range(tables, name)?,
                    false => [0.0, 1.0],
                };
                let most = match tables.is_cogrid() {
                    true => view::COGRID_MOST,
                    false => 1.0,
                };
                [own[0], greatest([own[1], most, 1.0])]
            }
        })
    }

    fn toolkit(&self, name: &str) -> Result<Found, ParamError> {
        let tables = self.tables;
        let each = |feature, shape| Ok((feature, Reach::Each, shape, true));
        match name {
            "agent_dir" => each(Feature::Direction, vec![4]),
            "agent_position" => each(Feature::Position, vec![2]),
            "can_move_direction" => each(Feature::Beside(tables.walkable), vec![4]),
            "inventory" => each(Feature::Inventory, vec![1]),
            "next_to_counter" => each(Feature::Beside(self.counters(name)?), vec![4]),
            "next_to_pot" => Self::pots_beside(&self.containers(name)?),
            "ordered_pot_features" => self.ordered_pots(&self.containers(name)?),
            "dist_to_other_players" => self.distances(name),
            "full_map_encoding" => self.map(name),
            LOCAL_VIEW => self.view(|radius| View::plain(tables, radius)),
            _ => match name
                .strip_prefix("closest_")
                .and_then(|kind| tables.id(kind))
            {
                Some(kind) => Ok(self.closest(&[kind])),
                None => self.unknown(name),
            },
        }
    }

    /// A feature as the world declares it.
    fn own(&self, name: &str, own: OwnFeature) -> Result<Found, ParamError> {
        let tables = self.tables;
        let written = |reach, shape: Vec<u32>| {
            let shape = shape.iter().map(|&side| side as usize).collect();
            Ok((Feature::World(name.into()), reach, shape, false))
        };
        match own {
            OwnFeature::Agent(shape) => written(Reach::Each, shape),
            OwnFeature::Grid(shape) => written(Reach::Grid, shape),
            OwnFeature::Held(kinds) => {
                let shape = vec![kinds.len()];
                let items = Feature::Items(Items::new(&kinds));
                Ok((items, Reach::Each, shape, true))
            }
            OwnFeature::Closest(kinds) => Ok(self.closest(&kinds)),
            OwnFeature::Containers(set) => self.ordered_pots(&set),
            OwnFeature::ContainersBeside(set) => Self::pots_beside(&set),
            OwnFeature::Masks {
                kinds,
                cogrid,
                lying,
            } => self.masks(name, &kinds, cogrid, lying),
            OwnFeature::OneOf { index, len } => {
                let one = Feature::OneOf(index);
                Ok((one, Reach::Grid, vec![usize::from(len)], true))
            }
            OwnFeature::View {
                ingredients,
                channels,
            } => self.view(|radius| View::own(tables, radius, ingredients, channels)),
            OwnFeature::Refused(reason) => Self::refuse(name, &reason),
        }
    }

    fn unknown(&self, name: &str) -> Result<Found, ParamError> {
        let names = NAMES.iter().chain(W::features());
        let mut known: Vec<String> = names.map(|&name| name.into()).collect();
        if name.starts_with("closest_") {
            let kinds = self.tables.kinds.iter();
            known.extend(kinds.map(|kind| format!("closest_{}", kind.name)));
        }
        refuse(
            "features",
            tell_unknown("feature", name, known.iter().map(String::as_str)),
        )
    }

    /// Refuses a feature.
    fn refuse<T>(name: &str, reason: &str) -> Result<T, ParamError> {
        refuse("features", format!("`{name}` {reason}"))
    }

    fn counters(&self, name: &str) -> Result<KindSet, ParamError> {
        let is_surface = |kind: &KindId| matches!(hand_of(self.tables, *kind), Hand::Surface(_));
        let counters = set(kinds(self.tables).filter(is_surface));
        if counters == KindSet::default() {
            return Self::refuse(name, "is about surfaces, and no kind is one: take it out");
        }
        Ok(counters)
    }

    fn containers(&self, name: &str) -> Result<ContainerSet, ParamError> {
        let tables = self.tables;
        let containers = tables.containers.iter().map(|container| container.kind);
        let kinds = set(containers);
        let count = match &tables.ground {
            Some(ground) => {
                let pots = ground.kinds.iter().filter(|&&kind| kinds.has(kind));
                pots.count()
            }
            None if kinds == KindSet::default() => 0,
            None => tables.fixtures,
        };
        if count == 0 {
            return Self::refuse(name, "is about containers, and there is none: take it out");
        }
        Ok(ContainerSet {
            kinds,
            count,
            ingredients: ingredients(tables),
        })
    }

    fn pots_beside(set: &ContainerSet) -> Result<Found, ParamError> {
        let pots = Feature::PotsBeside(Pots::new(set));
        Ok((pots, Reach::Each, vec![4, 4], true))
    }

    fn ordered_pots(&self, set: &ContainerSet) -> Result<Found, ParamError> {
        let pots = Pots::new(set);
        let shape = vec![pots.count, pots.len()];
        let compact = self.times_are_short();
        Ok((Feature::Pots(pots), Reach::Each, shape, compact))
    }

    /// Checks whether a byte holds every time of a container and a switch.
    fn times_are_short(&self) -> bool {
        let short = |hand: &Hand| !matches!(hand, Hand::Switch(time) if *time > BYTE);
        let mut containers = self.tables.containers.iter();
        containers.all(|container| container.idle <= BYTE) && self.tables.hands.iter().all(short)
    }

    fn distances(&self, name: &str) -> Result<Found, ParamError> {
        let others = match self.tables.seats {
            1 => return Self::refuse(name, "needs another seat: take it out"),
            // CoGrid: every agent describes the first two agents, and each of those describes the other.
            _ if self.tables.is_cogrid() => self.tables.seats.min(3) - 1,
            seats => seats - 1,
        };
        Ok((Feature::Distances, Reach::Each, vec![others, 2], true))
    }

    fn closest(&self, kinds: &[KindId]) -> Found {
        // Source: CoGrid 0.3.2, `envs/overcooked/features.py:575`: four of what can be carried and of counters.
        let count = |kind| match hand_of(self.tables, kind) {
            Hand::Loose | Hand::Surface(_) => 4,
            _ => 2,
        };
        let specs: Vec<_> = kinds.iter().map(|&kind| (kind, count(kind))).collect();
        let closest = Closest::new(&specs);
        let shape = vec![closest.len(), 2];
        (
            Feature::Closest(Box::new(closest)),
            Reach::Each,
            shape,
            true,
        )
    }

    /// `cogrid` is the size of a mask in CoGrid, which there ends a row after the columns of the size whatever it
    /// holds.
    fn masks(
        &self,
        name: &str,
        kinds: &[KindId],
        cogrid: [usize; 2],
        lying: bool,
    ) -> Result<Found, ParamError> {
        let tables = self.tables;
        let [rows, cols] = if tables.is_cogrid() {
            cogrid
        } else {
            [tables.rows, tables.cols]
        };
        let frame = Frame {
            size: rows * cols,
            stride: cols,
        };
        let last = (tables.rows - 1) * cols + tables.cols;
        if last > frame.size || (lying && tables.cols > cols) {
            let reason = format!(
                "has {rows} rows and {cols} columns in CoGrid, and this layout does not fit: take the corrected rules"
            );
            return Self::refuse(name, &reason);
        }
        let masks = Masks::new(tables, self.facts, kinds, frame, lying);
        let shape = vec![kinds.len(), rows, cols];
        Ok((Feature::Masks(Box::new(masks)), Reach::Grid, shape, true))
    }

    fn map(&self, name: &str) -> Result<Found, ParamError> {
        let Tables { rows, cols, .. } = *self.tables;
        let cogrid = self.tables.is_cogrid();
        if cogrid && rows.max(cols) > map::COGRID_SIDE {
            return Self::refuse(
                name,
                "has 12 rows and columns in CoGrid, and this layout does not fit: take the corrected rules",
            );
        }
        let shape = map::shape(cogrid, rows, cols).to_vec();
        let compact = cogrid || self.times_are_short();
        Ok((Feature::Map, Reach::Grid, shape, compact))
    }

    fn view(&self, of: impl FnOnce(Option<u8>) -> View) -> Result<Found, ParamError> {
        let radius = self.plan.view_radius;
        if radius.is_some_and(|radius| usize::from(radius) > MAX_SIDE) {
            return refuse("view_radius", format!("must be 0 to {MAX_SIDE}"));
        }
        let view = of(radius);
        let shape = view.shape().to_vec();
        Ok((Feature::View(Box::new(view)), Reach::Own, shape, false))
    }
}
