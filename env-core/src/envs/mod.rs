//! The environments, and how to open one by its id.

pub mod dual_destination;
pub mod goal_finding;
pub mod goal_seeking;
pub mod grid;
pub mod hanabi;
pub mod kitchen;
pub mod overcooked;
pub mod overcooked_ai;
pub mod overcooked_jaxmarl_v2;
pub mod overcooked_v2;
pub mod search_rescue;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde_json::Value;

use self::grid::GridFile;
use crate::contract::{Environment, ParamError, World};
use crate::draw::Sprite;
use crate::grid::{CogridRules, Grid, GridWorld, tell_unknown};
use crate::instance::{Built, Instance};
use crate::observer::BatchObserver;
use dual_destination::DualDestination;
use goal_finding::GoalFinding;
use goal_seeking::GoalSeeking;
use hanabi::Hanabi;
use overcooked::Overcooked;
use overcooked_ai::OvercookedAi;
use overcooked_jaxmarl_v2::OvercookedJaxmarlV2;
use overcooked_v2::OvercookedV2;
use search_rescue::SearchRescue;

macro_rules! environments {
    (grids: $($grid:ty),+; kitchens: $kitchen:ty, $second:ty; others: $($other:ty),+ $(,)?) => {
        /// The ids that [`open`] knows.
        pub const IDS: &[&str] = &[$(<$grid>::ID,)+ <$kitchen>::ID, $(<$other>::ID,)+ <$second>::ID];

        /// Builds the environment with this id and these parameters (JSON), and hands it to a visitor with its own type.
        ///
        /// # Errors
        /// [`ParamError`], also for an unknown id.
        pub fn visit<V: Visitor>(id: &str, params: &str, visitor: V) -> Result<V::Output, ParamError> {
            Ok(match id {
                $(<$grid>::ID => visitor.visit_grid(build_environment::<$grid>(params.as_bytes())?),)+
                <$kitchen>::ID => visitor.visit_kitchen(build_environment::<$kitchen>(params.as_bytes())?),
                <$second>::ID => visitor.visit_kitchen_v2(build_environment::<$second>(params.as_bytes())?),
                $(<$other>::ID => visitor.visit(build_environment::<$other>(params.as_bytes())?),)+
                _ => {
                    return Err(ParamError {
                        field: "environment".into(),
                        reason: tell_unknown("environment", id, IDS.iter().copied()),
                    });
                }
            })
        }
    };
}

environments![
    grids: Overcooked, OvercookedV2, GoalFinding, GoalSeeking, SearchRescue, GridFile;
    kitchens: OvercookedAi, OvercookedJaxmarlV2;
    others: DualDestination, Hanabi,
];

/// Opens an environment natively, at the first state of seed 0.
///
/// # Errors
/// [`ParamError`], also for an unknown id.
pub fn open(id: &str, params: &str) -> Result<Box<dyn World + Send>, ParamError> {
    Ok(find_opener(id, params)?())
}

/// Opens a world of an environment that is built already, at the first state of seed 0.
pub type Opener = Box<dyn Fn() -> Box<dyn World + Send> + Send + Sync>;

/// Builds an environment natively, to open any number of its worlds: building costs as much as a hundred steps or more.
///
/// # Errors
/// [`ParamError`], also for an unknown id.
pub fn find_opener(id: &str, params: &str) -> Result<Opener, ParamError> {
    struct Find;
    impl Visitor for Find {
        type Output = Opener;
        fn visit<E: NativeEnvironment>(self, env: E) -> Self::Output {
            let built = Built::new(env);
            Box::new(move || Box::new(Instance::of(built.clone())))
        }
    }
    visit(id, params, Find)
}

/// An environment from [`visit`]: several threads may step its states at the same time, and a batch observes it.
pub trait NativeEnvironment: BatchObserver<State: Send> + Send + Sync + 'static {}

impl<E: BatchObserver<State: Send> + Send + Sync + 'static> NativeEnvironment for E {}

/// Code that is compiled for each environment.
pub trait Visitor {
    /// The result of a visit.
    type Output;
    /// Works with the environment that was asked for.
    fn visit<E: NativeEnvironment>(self, env: E) -> Self::Output;
    /// Works with an environment that is a grid.
    fn visit_grid<W, C>(self, grid: Grid<W, C>) -> Self::Output
    where
        W: GridWorld<Extra: Send> + Send + Sync + 'static,
        C: CogridRules<W>,
        Self: Sized,
    {
        self.visit(grid)
    }
    /// Works with a kitchen of the published agents.
    fn visit_kitchen(self, kitchen: OvercookedAi) -> Self::Output
    where
        Self: Sized,
    {
        self.visit(kitchen)
    }
    /// Works with a kitchen of JaxMARL's Overcooked V2.
    fn visit_kitchen_v2(self, kitchen: OvercookedJaxmarlV2) -> Self::Output
    where
        Self: Sized,
    {
        self.visit(kitchen)
    }
}

/// The pictures that the draw lists of the environment with this id name.
///
/// # Errors
/// [`ParamError`] for an unknown id.
pub fn sprites_of(id: &str) -> Result<&'static [Sprite], ParamError> {
    struct Sprites;
    impl Visitor for Sprites {
        type Output = &'static [Sprite];
        fn visit<E: NativeEnvironment>(self, _: E) -> Self::Output {
            E::sprites()
        }
    }
    visit(id, "", Sprites)
}

/// Builds an environment from its parameters as JSON; an empty text means the defaults.
///
/// # Errors
/// [`ParamError`] with the field that is refused.
pub fn build_environment<E: Environment>(json: &[u8]) -> Result<E, ParamError> {
    if json.is_empty() {
        return E::new(E::Params::default());
    }
    let refused = |field: String, reason: String| ParamError { field, reason };
    let value: Value = serde_json::from_slice(json)
        .map_err(|error| refused("params".into(), error.to_string()))?;
    if !value.is_object() {
        return Err(refused(
            "params".into(),
            "must be an object, such as {}".into(),
        ));
    }
    let params = serde_json::from_value(value.clone()).map_err(|error| {
        let (field, pointer) =
            refused_field::<E>(&value).unwrap_or_else(|| ("params".into(), "".into()));
        refused(
            field,
            mended(&error.to_string(), &pointer, value.pointer(&pointer)),
        )
    })?;
    E::new(params)
}

/// An error of serde in plain words: with the name that was probably meant, and numbers by their range. `pointer` leads to
/// the value that is refused.
fn mended(error: &str, pointer: &str, refused: Option<&Value>) -> String {
    if error.starts_with("invalid type: unit variant, expected ")
        && let Some(Value::String(choice)) = refused
    {
        return format!("`{choice}` needs a value; write `{{{choice}: …}}`");
    }
    if error.ends_with("expected unit")
        && let Some((_, choice)) = pointer.rsplit_once('/')
    {
        return format!("`{choice}` takes no value; write `{choice}` alone");
    }
    if error.ends_with("expected map with a single key") {
        return "expected one key, which says what it is".into();
    }
    let mut names = error.split('`').skip(1).step_by(2);
    let mut told = |what: &str| {
        let (name, known) = (names.next()?, names.clone());
        Some(crate::grid::tell_unknown(what, name, known))
    };
    let sentence = match error.split_once(" `") {
        Some(("unknown field", _)) => told("parameter"),
        Some(("unknown variant", _)) => told("choice"),
        _ => None,
    };
    let ranged = || {
        NUMBERS.iter().find_map(|(name, range)| {
            let found = error.strip_suffix(name)?.strip_suffix("expected ")?;
            Some(format!("{found}expected {range}"))
        })
    };
    sentence.or_else(ranged).unwrap_or_else(|| error.into())
}

/// The types of numbers in words for people.
const NUMBERS: [(&str, &str); 6] = [
    ("u8", "a whole number from 0 to 255"),
    ("u16", "a whole number from 0 to 65535"),
    ("u32", "a whole number, 0 or more"),
    ("u64", "a whole number, 0 or more"),
    ("usize", "a whole number, 0 or more"),
    ("f32", "a number"),
];

/// Returns the path to the refused parameter, for people and as a JSON pointer: on each level, the part without which
/// the error is another one.
fn refused_field<E: Environment>(value: &Value) -> Option<(String, String)> {
    let error = |value: &Value| {
        let read = serde_json::from_value::<E::Params>(value.clone());
        read.err().map(|error| error.to_string())
    };
    let first = error(value)?;
    let is_missing = |error: &str| error.starts_with("missing field");
    let guilty = |pointer: &str, key: &Value| {
        let mut without = value.clone();
        match (without.pointer_mut(pointer), key) {
            (Some(Value::Object(map)), Value::String(key)) => drop(map.remove(key)),
            (Some(Value::Array(list)), Value::Number(index)) => {
                drop(list.remove(index.as_u64().unwrap_or(0) as usize));
            }
            _ => return false,
        }
        // What is missing is not mended by taking more away.
        error(&without)
            .is_none_or(|other| other != first && !(is_missing(&first) && is_missing(&other)))
    };
    let (mut path, mut pointer) = (String::new(), String::new());
    loop {
        let keys: Vec<Value> = match value.pointer(&pointer)? {
            Value::Object(map) => map.keys().map(|key| key.as_str().into()).collect(),
            Value::Array(list) => (0..list.len()).map(Value::from).collect(),
            _ => Vec::new(),
        };
        match keys.into_iter().find(|key| guilty(&pointer, key)) {
            Some(Value::String(key)) => {
                let dot = if path.is_empty() { "" } else { "." };
                path += &format!("{dot}{key}");
                pointer += &format!("/{}", key.replace('~', "~0").replace('/', "~1"));
            }
            Some(index) => {
                path += &format!("[{index}]");
                pointer += &format!("/{index}");
            }
            None => return Some((path, pointer)).filter(|(path, _)| !path.is_empty()),
        }
    }
}
