//! The observations of the originals.

mod distance;
mod features;
mod maps;
mod names;
mod tables;

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use self::distance::Distances;
use self::maps::Map;
use super::ground::{KitchenGround, Tile};
use super::kitchen::{CEC_SIDE, Kitchen};
use super::params::{Dialect, Encoding};
use super::recipes::MOST_INGREDIENTS;
use super::state::{Item, Pot, State};
use crate::contract::{FieldSpec, ParamError};
use crate::observer::{Marker, Trail};
use crate::value::Value;
pub use names::name_channel;
pub use tables::{
    COOK_CHANNELS, ITEM_NUMBERS, MapSide, MapTables, POT_LOOKS, RECIPE_NUMBERS, item_of,
    number_item, number_recipe, recipe_of,
};

/// Urgency begins when fewer steps than these are left.
const URGENT: u32 = 40;

/// The observations of a kitchen, and the facts that they need.
#[derive(Clone, Debug)]
pub(super) struct Observer {
    parts: Vec<Part>,
    horizon: u32,
    counter_goals: bool,
    distances: Option<Distances>,
}

/// A part of an observation.
#[derive(Clone, Debug)]
struct Part {
    encoding: Encoding,
    /// The map, unless it is a list of numbers.
    map: Option<Map>,
    /// Number of values.
    len: usize,
}

impl Part {
    fn new(kitchen: &Kitchen, encoding: Encoding) -> Self {
        let map = Map::new(kitchen, encoding);
        let numbers = || shape(kitchen, encoding).iter().product::<u32>() as usize;
        Self {
            encoding,
            len: map.as_ref().map_or_else(numbers, Map::len),
            map,
        }
    }
}

/// A moment that is observed, and the seat whose list of numbers is written.
#[derive(Clone, Copy)]
pub(super) struct Scene<'a> {
    kitchen: &'a Kitchen,
    ground: &'a KitchenGround,
    state: &'a State,
    seat: usize,
    urgent: bool,
}

impl Scene<'_> {
    /// The other cooks.
    fn others(&self) -> impl Iterator<Item = &super::state::Cook> {
        let cooks = self.state.cooks.iter().enumerate();
        cooks.filter_map(|(seat, cook)| (seat != self.seat).then_some(cook))
    }

    /// The steps until the soup in a pot is done, if it cooks.
    fn left(&self, pot: &Pot) -> Option<u16> {
        let time = self.kitchen.recipes.time(pot.contents);
        pot.tick().map(|tick| time.saturating_sub(tick))
    }
}

impl Observer {
    /// Checks that the kitchen can be observed so.
    ///
    /// # Errors
    /// [`ParamError`] with the reason why it cannot.
    pub(super) fn new(
        kitchen: &Kitchen,
        rules: Dialect,
        encodings: &[Encoding],
        horizon: u32,
        counter_goals: bool,
    ) -> Result<Self, ParamError> {
        let encodings = match encodings {
            [] => Vec::from([default_encoding(kitchen, rules)]),
            some => some.to_vec(),
        };
        for (at, encoding) in encodings.iter().enumerate() {
            let reason = match encodings[..at].contains(encoding) {
                true => Some(format!("`{}` comes twice", encoding.name())),
                false => obstacle(kitchen, *encoding),
            };
            if let Some(reason) = reason {
                let field = format!("observation[{at}]");
                return Err(ParamError { field, reason });
            }
        }
        let looks_around = |encoding: &Encoding| {
            matches!(encoding, Encoding::Features | Encoding::Neurips2019Features)
        };
        let fixed = encodings.iter().any(looks_around) && !kitchen.generated;
        let distances = fixed.then(|| Distances::new(&kitchen.ground, counter_goals));
        let part = |encoding| Part::new(kitchen, encoding);
        Ok(Self {
            parts: encodings.into_iter().map(part).collect(),
            horizon,
            counter_goals,
            distances,
        })
    }

    /// The fields of an observation.
    pub(super) fn fields(&self, kitchen: &Kitchen) -> Vec<FieldSpec> {
        let field = |&Part { encoding, .. }: &Part| FieldSpec {
            name: encoding.name().into(),
            shape: shape(kitchen, encoding),
            range: Some(range(kitchen, encoding)),
        };
        self.parts.iter().map(field).collect()
    }

    /// True if every value is a whole number from -128 to 127.
    pub(super) fn is_compact(&self, kitchen: &Kitchen) -> bool {
        let wide = |part: &Part| {
            matches!(
                part.encoding,
                Encoding::LosslessX255 | Encoding::Neurips2019X255 | Encoding::ZscEval
            )
        };
        kitchen.recipes.longest_cook() <= 127 && !self.parts.iter().any(wide)
    }

    /// Writes the observation of a seat.
    pub(super) fn observe<V: Value>(
        &self,
        kitchen: &Kitchen,
        ground: &KitchenGround,
        state: &State,
        seat: usize,
        out: &mut [V],
    ) {
        if seat >= state.cooks.len() {
            return out.fill(V::ZERO);
        }
        let scene = self.scene(kitchen, ground, state);
        self.write(&scene, seat..seat + 1, None, out);
    }

    /// Writes the observations of all seats, one after the other.
    pub(super) fn observe_all<V: Value>(
        &self,
        kitchen: &Kitchen,
        ground: &KitchenGround,
        state: &State,
        trail: Option<&mut Trail<V>>,
        out: &mut [V],
    ) {
        // Each episode has its own ground there.
        let trail = Trail::worth(trail, self.len()).filter(|_| !kitchen.generated);
        let scene = self.scene(kitchen, ground, state);
        self.write(&scene, 0..state.cooks.len(), trail, out);
    }

    /// Number of values of a seat.
    fn len(&self) -> usize {
        self.parts.iter().map(|part| part.len).sum()
    }

    fn scene<'a>(
        &self,
        kitchen: &'a Kitchen,
        ground: &'a KitchenGround,
        state: &'a State,
    ) -> Scene<'a> {
        Scene {
            kitchen,
            ground,
            state,
            seat: 0,
            urgent: self.horizon.saturating_sub(state.steps) < URGENT,
        }
    }

    /// Writes what these seats see, one after the other; the trail is that of the array.
    fn write<V: Value>(
        &self,
        scene: &Scene<'_>,
        seats: Range<usize>,
        mut trail: Option<&mut Trail<V>>,
        out: &mut [V],
    ) {
        let len = self.len();
        if out.len() < len * seats.len() {
            return;
        }
        let is_laid = match &mut trail {
            Some(trail) => trail.take_back(scene.urgent.into(), out),
            None => false,
        };
        let mut first = 0;
        for part in &self.parts {
            let own = |number: usize| number * len + first..number * len + first + part.len;
            match &part.map {
                Some(map) => {
                    if !is_laid {
                        (0..seats.len()).for_each(|number| {
                            map.write_ground(scene.urgent, &mut out[own(number)])
                        });
                    }
                    let place = [first, len];
                    let marker = Marker::of_all(out, trail.as_deref_mut(), place, seats.len());
                    map.write(scene, seats.clone(), marker);
                }
                None => {
                    for (number, seat) in seats.clone().enumerate() {
                        let scene = Scene { seat, ..*scene };
                        V::floats(&mut out[own(number)], |out| {
                            self.list(part.encoding, &scene, out);
                        });
                    }
                }
            }
            first += part.len;
        }
    }

    /// Writes a list of numbers.
    fn list(&self, encoding: Encoding, scene: &Scene<'_>, out: &mut [f32]) {
        out.fill(0.0);
        let distances = self.distances(scene.ground);
        match encoding {
            Encoding::Neurips2019Features => features::features_2019(scene, &distances, out),
            _ => features::features(scene, &distances, out),
        }
    }

    /// The distances on the ground of an episode.
    fn distances(&self, ground: &KitchenGround) -> Cow<'_, Distances> {
        match &self.distances {
            Some(distances) => Cow::Borrowed(distances),
            None => Cow::Owned(Distances::new(ground, self.counter_goals)),
        }
    }
}

/// The observation of the rules; for other numbers of cooks than two the one that the original has.
fn default_encoding(kitchen: &Kitchen, rules: Dialect) -> Encoding {
    let own = Encoding::of_rules(rules);
    match obstacle(kitchen, own) {
        Some(_) if obstacle(kitchen, Encoding::Features).is_none() => Encoding::Features,
        Some(_) => Encoding::Lossless,
        None => own,
    }
}

/// The sides of a map, `[columns, rows]`, without the ring around the ground.
fn sides(kitchen: &Kitchen) -> [u32; 2] {
    let ring = 2 * kitchen.margin;
    [kitchen.ground.cols - ring, kitchen.ground.rows - ring].map(|side| side as u32)
}

fn shape(kitchen: &Kitchen, encoding: Encoding) -> Vec<u32> {
    let [cols, rows] = sides(kitchen);
    let cooks = kitchen.start.cooks.len() as u32;
    let side = CEC_SIDE as u32;
    match encoding {
        Encoding::Lossless | Encoding::LosslessX255 => [cols, rows, 26].into(),
        Encoding::Jaxmarl => [rows, cols, 26].into(),
        Encoding::Cec => [side, side, 26].into(),
        Encoding::Neurips2019 | Encoding::Neurips2019X255 => [cols, rows, 20].into(),
        Encoding::ZscEval => [cols, rows, 25].into(),
        Encoding::Features => [48 * cooks].into(),
        Encoding::Neurips2019Features => [62].into(),
    }
}

/// The least and the greatest value: flags, counts of ingredients and steps of a pot in a map; ways, too, among the numbers.
fn range(kitchen: &Kitchen, encoding: Encoding) -> [f32; 2] {
    let recipes = &kitchen.recipes;
    let most = recipes.longest_cook().max(MOST_INGREDIENTS.into());
    let side = kitchen.ground.cols.max(kitchen.ground.rows) as u16;
    match encoding {
        Encoding::Lossless | Encoding::Neurips2019 => [0.0, most.into()],
        Encoding::LosslessX255 | Encoding::Neurips2019X255 | Encoding::ZscEval => {
            [0.0, 255.0 * f32::from(most)]
        }
        // A counter with something on it is no wall, and a pot may have something on it too.
        Encoding::Jaxmarl | Encoding::Cec => [-1.0, most.into()],
        Encoding::Features | Encoding::Neurips2019Features => {
            [-f32::from(side), most.max(side).into()]
        }
    }
}

/// Returns why a kitchen cannot be observed with an encoding, if it cannot.
fn obstacle(kitchen: &Kitchen, encoding: Encoding) -> Option<String> {
    let (name, cooks) = (encoding.name(), kitchen.start.cooks.len());
    let is_map = !matches!(
        encoding,
        Encoding::Cec | Encoding::Features | Encoding::Neurips2019Features
    );
    if kitchen.generated && is_map {
        return Some(format!(
            "`{name}` has the size of the kitchen, which changes from episode to episode: take `cec`"
        ));
    }
    let counts = match encoding {
        Encoding::Features => 2..=super::ground::MOST_COOKS,
        // For one cook the partner's layers are empty; in `lossless`, several partners share them.
        Encoding::Lossless | Encoding::Neurips2019 => 1..=super::ground::MOST_COOKS,
        _ => 2..=2,
    };
    if !counts.contains(&cooks) {
        return Some(format!(
            "`{name}` is for two cooks, and this kitchen has {cooks}: take {}",
            if cooks > 2 {
                "`features`"
            } else {
                "`lossless`"
            }
        ));
    }
    let sees_tomatoes = matches!(
        encoding,
        Encoding::Lossless | Encoding::LosslessX255 | Encoding::ZscEval | Encoding::Features
    );
    if !sees_tomatoes && has_tomatoes(kitchen) {
        return Some(format!(
            "`{name}` has no tomatoes, and this kitchen has: take `lossless`, `features` or `zsc_eval`"
        ));
    }
    let [cols, rows] = sides(kitchen);
    if encoding == Encoding::Cec && (cols > CEC_SIDE as u32 || rows > CEC_SIDE as u32) {
        return Some(format!(
            "`cec` has {CEC_SIDE} by {CEC_SIDE} cells, and this kitchen {cols} by {rows}"
        ));
    }
    None
}

fn has_tomatoes(kitchen: &Kitchen) -> bool {
    let start = &kitchen.start;
    let in_pots = start.pots.iter().any(|pot| pot.contents.tomatoes > 0);
    let is_tomato = |item| match item {
        Item::Tomato => true,
        Item::Soup(contents) => contents.tomatoes > 0,
        _ => false,
    };
    kitchen.ground.tiles().contains(&Tile::Tomatoes)
        || in_pots
        || start.items().any(|(_, item)| is_tomato(item))
}
