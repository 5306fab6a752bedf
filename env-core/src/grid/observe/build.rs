//! Finds the features by their names.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::agent::{Closest, Items};
use super::feature::{Feature, Part, Reach};
use super::kitchen::{Kitchen, Orders};
use super::masks::{Frame, Masks};
use super::pots::Pots;
use super::scene::{Facts, hand, kinds, set};
use super::view::View;
use super::{ingredients, map};
use crate::contract::{FieldSpec, ParamError};
use crate::grid::kind::{KindId, KindSet};
use crate::grid::layout::MAX_SIDE;
use crate::grid::plan::{Plan, refuse};
use crate::grid::tables::{Hand, Tables};
use crate::grid::{GridWorld, unknown};

/// The features of the toolkit; there is also one `closest_` for each kind.
const NAMES: [&str; 16] = [
    "agent_dir",
    "agent_position",
    "can_move_direction",
    "closest_objects",
    "dist_to_other_players",
    "environment_layout",
    "full_map_encoding",
    "inventory",
    "layout_id",
    "local_view",
    "next_to_counter",
    "next_to_pot",
    "object_type_masks",
    "order_observation",
    "ordered_pot_features",
    "overcooked_inventory",
];
/// Source: CoGrid 0.3.2, `envs/overcooked/features.py:461`.
const ITEMS: [&str; 5] = ["onion", "onion_soup", "plate", "tomato", "tomato_soup"];
/// Source: CoGrid 0.3.2, `envs/overcooked/features.py:611`.
const MASKS: [&str; 10] = [
    "counter",
    "delivery_zone",
    "onion",
    "onion_soup",
    "onion_stack",
    "plate",
    "plate_stack",
    "tomato",
    "tomato_soup",
    "tomato_stack",
];
/// Source: CoGrid 0.3.2, `envs/overcooked/features.py:773`.
const GROUND: [&str; 6] = [
    "counter",
    "pot",
    "onion",
    "plate",
    "onion_stack",
    "plate_stack",
];
/// Source: CoGrid 0.3.2, `envs/overcooked/features.py:199`.
const CLOSEST: [&str; 7] = [
    "counter",
    "delivery_zone",
    "onion",
    "onion_soup",
    "onion_stack",
    "plate",
    "plate_stack",
];
/// Rows and columns of CoGrid's masks, of its `environment_layout`, and its layouts.
const COGRID_MASK: [usize; 2] = [7, 11];
const COGRID_GROUND: [usize; 2] = [11, 7];
const COGRID_LAYOUTS: u8 = 7;
/// Pots that CoGrid tells of.
const COGRID_POTS: usize = 2;
/// The longest time that a byte holds.
const BYTE: u8 = 127;

/// Finds features.
pub(super) struct Builder<'a, W> {
    world: &'a W,
    tables: &'a Tables,
    plan: &'a Plan,
    facts: &'a Facts,
    kitchen: Option<Kitchen>,
}

type Found = (Feature, Reach, Vec<usize>, bool);

impl<'a, W: GridWorld> Builder<'a, W> {
    pub(super) fn new(world: &'a W, tables: &'a Tables, plan: &'a Plan, facts: &'a Facts) -> Self {
        Self {
            world,
            tables,
            plan,
            facts,
            kitchen: world.kitchen(tables),
        }
    }

    /// The feature with a name.
    ///
    /// # Errors
    /// [`ParamError`] if there is none, or if it asks for something that the world does not have.
    pub(super) fn part(&self, name: &str) -> Result<Part, ParamError> {
        // A world may have its own idea of a name.
        let (feature, reach, shape, compact) = match self.world.feature(self.tables, name) {
            Some(FieldSpec { shape, .. }) => {
                let shape = shape.iter().map(|&side| side as usize).collect();
                (Feature::World(name.into()), Reach::Each, shape, false)
            }
            None => self.toolkit(name)?,
        };
        Ok(Part {
            name: name.into(),
            feature,
            reach,
            start: 0,
            len: shape.iter().product(),
            shape: shape.iter().map(|&side| side as u32).collect(),
            compact,
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
            "overcooked_inventory" => self.items(name),
            "next_to_counter" => each(Feature::Beside(self.counters(name)?), vec![4]),
            "next_to_pot" => each(Feature::PotsBeside(self.pots(name)?), vec![4, 4]),
            "ordered_pot_features" => self.ordered_pots(name),
            "dist_to_other_players" => self.distances(name),
            "closest_objects" => self.closest(name, &CLOSEST),
            "object_type_masks" => self.masks(name, &MASKS, COGRID_MASK, true),
            "environment_layout" => self.masks(name, &GROUND, COGRID_GROUND, false),
            "layout_id" => self.layout(name),
            "order_observation" => self.orders(name),
            "full_map_encoding" => self.map(name),
            "local_view" => self.view(),
            _ => match name.strip_prefix("closest_") {
                Some(kind) if tables.id(kind).is_some() => self.closest(name, &[kind]),
                _ => self.unknown(name),
            },
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
            unknown("feature", name, known.iter().map(String::as_str)),
        )
    }

    /// Refuses a feature.
    fn refuse<T>(name: &str, reason: &str) -> Result<T, ParamError> {
        refuse("features", format!("`{name}` {reason}"))
    }

    /// The kind that a feature is about.
    fn kind(&self, name: &str, kind: &str) -> Result<KindId, ParamError> {
        self.tables.id(kind).map_or_else(
            || {
                let reason = format!(
                    "is about the kind `{kind}`, which this world does not have: take the feature out, or declare the kind"
                );
                Self::refuse(name, &reason)
            },
            Ok,
        )
    }

    fn kinds(&self, name: &str, kinds: &[&str]) -> Result<Vec<KindId>, ParamError> {
        kinds.iter().map(|kind| self.kind(name, kind)).collect()
    }

    fn kitchen(&self, name: &str) -> Result<&Kitchen, ParamError> {
        self.kitchen.as_ref().map_or_else(
            || Self::refuse(name, "is for kitchens, and this world is none: take it out"),
            Ok,
        )
    }

    fn items(&self, name: &str) -> Result<Found, ParamError> {
        let items = match &self.kitchen {
            Some(kitchen) if !kitchen.items.is_empty() => Items::new(&kitchen.items),
            _ => Items::new(&self.kinds(name, &ITEMS)?),
        };
        let shape = vec![items.len];
        Ok((Feature::Items(items), Reach::Each, shape, true))
    }

    fn counters(&self, name: &str) -> Result<KindSet, ParamError> {
        let is_surface = |kind: &KindId| matches!(hand(self.tables, *kind), Hand::Surface(_));
        let counters = set(kinds(self.tables).filter(is_surface));
        if counters == KindSet::default() {
            return Self::refuse(name, "is about surfaces, and no kind is one: take it out");
        }
        Ok(counters)
    }

    fn pots(&self, name: &str) -> Result<Pots, ParamError> {
        let tables = self.tables;
        if tables.is_cogrid() {
            let kinds = KindSet::default().with(self.kind(name, "pot")?);
            let ingredients = self.kinds(name, &["onion", "tomato"])?;
            return Ok(Pots::new(kinds, COGRID_POTS, ingredients));
        }
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
        Ok(Pots::new(kinds, count, ingredients(tables)))
    }

    fn ordered_pots(&self, name: &str) -> Result<Found, ParamError> {
        let pots = self.pots(name)?;
        let shape = vec![pots.count, pots.len()];
        Ok((
            Feature::Pots(pots),
            Reach::Each,
            shape,
            self.times_are_short(),
        ))
    }

    /// Whether a byte holds every time of a container and a switch.
    fn times_are_short(&self) -> bool {
        let short = |hand: &Hand| !matches!(hand, Hand::Switch(time) if *time > BYTE);
        let mut containers = self.tables.containers.iter();
        containers.all(|container| container.idle <= BYTE) && self.tables.hands.iter().all(short)
    }

    fn distances(&self, name: &str) -> Result<Found, ParamError> {
        let others = match self.tables.seats {
            1 => return Self::refuse(name, "needs another seat: take it out"),
            // CoGrid: every agent tells of the first two, and each of those of the other.
            _ if self.tables.is_cogrid() => self.tables.seats.min(3) - 1,
            seats => seats - 1,
        };
        Ok((Feature::Distances, Reach::Each, vec![others, 2], true))
    }

    fn closest(&self, name: &str, kinds: &[&str]) -> Result<Found, ParamError> {
        let mut specs = Vec::new();
        for kind in self.kinds(name, kinds)? {
            // Source: CoGrid 0.3.2, `envs/overcooked/features.py:575`: four of what can be carried and of counters.
            let count = match hand(self.tables, kind) {
                Hand::Loose | Hand::Surface(_) => 4,
                _ => 2,
            };
            specs.push((kind, count));
        }
        let closest = Closest::new(&specs);
        let shape = vec![closest.len(), 2];
        Ok((
            Feature::Closest(Box::new(closest)),
            Reach::Each,
            shape,
            true,
        ))
    }

    /// `cogrid` is the size of a mask in CoGrid, which there ends a row after the columns of the size whatever it
    /// holds.
    fn masks(
        &self,
        name: &str,
        kinds: &[&str],
        cogrid: [usize; 2],
        lying: bool,
    ) -> Result<Found, ParamError> {
        let tables = self.tables;
        let ids = self.kinds(name, kinds)?;
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
        let masks = Masks::new(tables, self.facts, &ids, frame, lying);
        let shape = vec![ids.len(), rows, cols];
        Ok((Feature::Masks(Box::new(masks)), Reach::Grid, shape, true))
    }

    fn layout(&self, name: &str) -> Result<Found, ParamError> {
        let kitchen = self.kitchen(name)?;
        let layouts = if self.tables.is_cogrid() {
            COGRID_LAYOUTS
        } else {
            kitchen.layouts
        };
        if kitchen.layout >= layouts {
            return Self::refuse(
                name,
                "tells known layouts apart, and this is none of them: take it out",
            );
        }
        let shape = vec![usize::from(layouts)];
        Ok((Feature::Layout(kitchen.layout), Reach::Grid, shape, true))
    }

    fn orders(&self, name: &str) -> Result<Found, ParamError> {
        let kitchen = self.kitchen(name)?;
        // CoGrid: a kitchen without orders shows empty ones.
        if kitchen.orders == 0 && !self.tables.is_cogrid() {
            return Self::refuse(
                name,
                "is about orders, and there are none: take it out, or add orders",
            );
        }
        let orders = Orders::new(kitchen);
        let shape = vec![orders.places, orders.recipes + 1];
        Ok((Feature::Orders(orders), Reach::Grid, shape, false))
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

    fn view(&self) -> Result<Found, ParamError> {
        let radius = self.plan.view_radius;
        if radius.is_some_and(|radius| usize::from(radius) > MAX_SIDE) {
            return refuse("view_radius", format!("must be 0 to {MAX_SIDE}"));
        }
        let view = View::new(self.tables, self.kitchen.as_ref(), radius);
        let shape = view.shape().to_vec();
        Ok((Feature::View(Box::new(view)), Reach::Own, shape, false))
    }
}
