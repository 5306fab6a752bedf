//! The design of a study: factors with their levels, the unit that gets them, and the number of wanted units. In the
//! file: `design`.
//!
//! It only says what may be drawn; [`crate::assign`] draws.

use serde::Serialize;
use serde_json::Value;

use crate::limits::{MAX_FACTORS, MAX_LEVELS, MAX_QUOTA, MAX_TREATMENTS, MIN_LEVELS};
use crate::partners::Partners;
use crate::problem::make_hint;
use crate::read::{Cursor, Fields};

/// The factors, and the number of units that are wanted.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Design {
    /// The unit that gets levels and orders.
    pub unit: Unit,
    /// The seed of all draws; `None` for a seed that the server draws once and keeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The number of wanted units.
    pub quota: Quota,
    /// Factors of which a unit gets one level, in the order of the file.
    pub between: Vec<Between>,
    /// Factors of which a unit gets every level, in the order of the file.
    pub within: Vec<Within>,
    /// Pools of which a participant gets a member.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<Pool>,
}

/// AI partners of which a participant draws: the key `pool` of `partners`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// Its members; at least two.
    pub members: Vec<Level>,
    /// How often a participant draws.
    pub draw: PoolDraw,
}

/// The times at which a participant draws from a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolDraw {
    /// Once.
    Once,
    /// At each visit of a stage, each member once before any comes again.
    EachTime,
}

/// The unit that gets levels and orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Every participant, when they enter.
    #[default]
    Participant,
    /// Every group, when it is made.
    Group,
}

/// The number of wanted units.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Quota {
    /// As many as come.
    #[default]
    None,
    /// So many in all.
    Total(u32),
    /// So many of each treatment, in the order of [`Design::list_treatments`].
    Each(Vec<u32>),
}

/// A factor of which a unit gets one level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Between {
    /// Its name.
    pub name: String,
    /// Its levels; at least two.
    pub levels: Vec<Level>,
    /// The way in which the level is chosen.
    pub assign: Assign,
    /// The unit that gets a level, if it is not that of the design.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
}

/// The way in which a unit's level is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Assign {
    /// The treatment that has the fewest units.
    LeastFilled,
    /// Any, evenly.
    Random,
    /// By permuted blocks: as many units in a row as there are treatments have one each.
    Block,
}

/// A factor of which a unit gets every level, one after the other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Within {
    /// Its name.
    pub name: String,
    /// Its levels; at least two.
    pub levels: Vec<Level>,
    /// In which order.
    pub order: LevelOrder,
    /// The unit that gets an order, if it is not that of the design.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
}

/// In which order a unit gets the levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LevelOrder {
    /// As they are in the file.
    Fixed,
    /// Any, evenly.
    Random,
    /// A row of a Latin square.
    Latin,
    /// A row of a Williams design.
    Williams,
}

/// A level of a factor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Level {
    /// Its name in the data.
    pub name: String,
    /// The value of `{{ factor }}`: a text, a number, true or false, or a block of parameters.
    pub value: Value,
}

impl Design {
    /// Returns whether a factor of this name is there.
    pub fn has(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// Names of the factors.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let between = self.between.iter().map(|factor| factor.name.as_str());
        between.chain(self.within.iter().map(|factor| factor.name.as_str()))
    }

    /// The factor of this name of which a unit gets every level.
    pub fn within_factor(&self, name: &str) -> Option<&Within> {
        self.within.iter().find(|factor| factor.name == name)
    }

    /// The factor of this name of which a unit gets one level.
    pub fn between_factor(&self, name: &str) -> Option<&Between> {
        self.between.iter().find(|factor| factor.name == name)
    }

    /// The pool of this name.
    pub fn pool(&self, name: &str) -> Option<&Pool> {
        self.pools.iter().find(|pool| pool.name == name)
    }

    /// Returns the unit to which a factor gives levels or orders.
    pub fn unit_of(&self, name: &str) -> Unit {
        let between = self.between_factor(name).and_then(|factor| factor.unit);
        let own = between.or_else(|| self.within_factor(name).and_then(|factor| factor.unit));
        own.unwrap_or(self.unit)
    }

    /// The part of the design that units of a kind draw: their factors, and the pools of participants. It has the quota if
    /// it counts these units.
    pub fn of(&self, unit: Unit) -> Self {
        let is_own = |own: Option<Unit>| own.unwrap_or(self.unit) == unit;
        let between = self.between.iter().filter(|factor| is_own(factor.unit));
        let within = self.within.iter().filter(|factor| is_own(factor.unit));
        let pools = match unit {
            Unit::Participant => self.pools.clone(),
            Unit::Group => Vec::new(),
        };
        let quota = match unit == self.unit {
            true => self.quota.clone(),
            false => Quota::None,
        };
        Self {
            unit: self.unit,
            seed: self.seed,
            quota,
            between: between.cloned().collect(),
            within: within.cloned().collect(),
            pools,
        }
    }

    /// Returns whether units of a kind draw nothing but their seed.
    pub(crate) fn is_nothing_for(&self, unit: Unit) -> bool {
        let own = self.of(unit);
        unit != self.unit && own.between.is_empty() && own.within.is_empty() && own.pools.is_empty()
    }

    /// Lists every treatment: the index of a level for each factor of [`Design::between`]; the last factor varies
    /// fastest. Without factors, there is one treatment without levels.
    pub fn list_treatments(&self) -> Vec<Vec<usize>> {
        self.between.iter().fold(vec![Vec::new()], |cells, factor| {
            let longer = |cell: &Vec<usize>, level| {
                let mut cell = cell.clone();
                cell.push(level);
                cell
            };
            let more = |cell: &Vec<usize>| {
                let levels = 0..factor.levels.len();
                levels.map(|level| longer(cell, level)).collect::<Vec<_>>()
            };
            cells.iter().flat_map(more).collect()
        })
    }

    /// Returns the name of a treatment: the names of its levels, in the order of the file, with slashes between.
    pub fn treatment_name(&self, treatment: &[usize]) -> String {
        let levels = self.between.iter().zip(treatment);
        let names = levels.filter_map(|(factor, level)| factor.levels.get(*level));
        let names: Vec<&str> = names.map(|level| level.name.as_str()).collect();
        names.join("/")
    }
}

/// Reads the design. A level that is the name of one of the partners stands for that partner.
pub(crate) fn read(place: &Cursor<'_>, partners: &Partners) -> Option<Design> {
    let mut fields = place.fields("the design")?;
    let doc = "The unit of assignment, and of the quota. `participant`: each participant on entry. `group`: each group \
               when it is made. A factor can have its own `unit`.";
    let unit = fields
        .key("unit", doc)
        .or(Unit::Participant, |place| place.read_word("unit", &UNITS));
    let doc = "The seed of all random assignments. By default the server draws one at the first start and stores it.";
    let seed = fields
        .key("seed", doc)
        .maybe(|place| place.read_whole(0..=i64::MAX, "").map(i64::unsigned_abs));
    let doc = "The number of units that should complete the study: one number in total, or a number per treatment. \
               By default there is no limit.";
    let quota = fields.key("quota", doc).place;
    let doc = "Between-subjects factors, by name. Each unit gets one level.";
    let between = fields
        .key("between", doc)
        .maybe(|place| between(&place, partners))
        .map(Option::unwrap_or_default);
    let doc = "Within-subjects factors, by name. Each unit gets every level.";
    let within = fields
        .key("within", doc)
        .maybe(|place| within(&place, partners))
        .map(Option::unwrap_or_default);
    fields.done();
    let (between, within) = (between?, within?);
    if let Some(factor) = within
        .iter()
        .find(|factor| between.iter().any(|other| other.name == factor.name))
    {
        let path = format!("within.{}", factor.name);
        place.wrong_at(
            &path,
            format!(
                "`{}` is already a factor of `between`; give one of them another name",
                factor.name
            ),
        );
        return None;
    }
    let mut design = Design {
        unit: unit?,
        seed: seed?,
        quota: Quota::None,
        between,
        within,
        pools: Vec::new(),
    };
    if design.list_treatments().len() > MAX_TREATMENTS {
        let message = format!(
            "{} treatments, one for each combination of levels; there must be at most {MAX_TREATMENTS}",
            design.list_treatments().len()
        );
        place.wrong_at("between", message);
        return None;
    }
    if let Some(place) = quota {
        design.quota = read_quota(&design, &place)?;
    }
    Some(design)
}

fn read_quota(design: &Design, place: &Cursor<'_>) -> Option<Quota> {
    let design = &design.of(design.unit);
    if !place.is_block() {
        return place.read_whole(1..=MAX_QUOTA, "units").map(Quota::Total);
    }
    let treatments: Vec<String> = (design.list_treatments().iter())
        .map(|cell| design.treatment_name(cell))
        .collect();
    let known: Vec<&str> = treatments.iter().map(String::as_str).collect();
    if design.between.is_empty() {
        place.report_problem(
            "there are no treatments, as `between` has no factor of the unit that is counted; write one number: `quota: 40`",
        );
        return None;
    }
    let mut counts = vec![None; known.len()];
    let mut whole = true;
    for (name, place) in place.read_entries("treatments and how many are wanted")? {
        let count = place.read_whole(0..=MAX_QUOTA, "units");
        match known.iter().position(|treatment| *treatment == name) {
            Some(index) => counts[index] = count,
            None => place.report_problem(format!(
                "unknown treatment `{name}`; {}",
                make_hint(name, &known)
            )),
        }
        whole &= count.is_some() && known.contains(&name);
    }
    if !whole {
        return None;
    }
    if let Some(index) = counts.iter().position(Option::is_none) {
        place.report_problem(format!(
            "no number for the treatment `{0}`; write for example `{0}: 20`",
            known[index]
        ));
    }
    counts.into_iter().collect::<Option<_>>().map(Quota::Each)
}

/// Reads factors: a name and a block each.
fn factors<'a, T>(
    place: &Cursor<'a>,
    read: impl Fn(String, &Cursor<'a>) -> Option<T>,
) -> Option<Vec<T>> {
    let entries = place.read_entries("factors")?;
    if entries.is_empty() || entries.len() > MAX_FACTORS {
        place.report_problem(format!(
            "{} factors; there must be 1 to {MAX_FACTORS}",
            entries.len()
        ));
        return None;
    }
    let factor = |(name, place): &(&str, Cursor<'a>)| {
        let named = is_name(name, place);
        read((*name).to_owned(), place).filter(|_| named)
    };
    let read: Vec<Option<T>> = entries.iter().map(factor).collect();
    read.into_iter().collect()
}

/// Returns whether a name can stand in `{{ name }}` and in formulas; reports it if not.
pub(crate) fn is_name(name: &str, place: &Cursor<'_>) -> bool {
    let good = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.len() <= 40
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if !good {
        place.report_problem(format!(
            "`{name}` cannot be the name of a factor; use lower-case letters, digits and `_`, a letter first, at most 40 in all"
        ));
    }
    good
}

fn between(place: &Cursor<'_>, partners: &Partners) -> Option<Vec<Between>> {
    let choices = [
        ("least_filled", Assign::LeastFilled),
        ("random", Assign::Random),
        ("block", Assign::Block),
    ];
    factors(place, |name, place| {
        let mut fields = place.fields("a factor")?;
        let doc =
            "The levels, at least two: texts, numbers, or blocks of parameters with a `name`.";
        let levels = fields
            .key("levels", doc)
            .require_key("[slow, fast]", |place| levels(&place, partners));
        let doc = "How a unit's level is chosen. `least_filled`: by the treatment with the fewest units. `random`: \
                   each level with equal probability. `block`: by permuted blocks.";
        let assign = fields.key("assign", doc);
        let assign = assign.or(Assign::LeastFilled, |place| {
            place.read_word("way to assign", &choices)
        });
        let unit = factor_unit(&mut fields);
        fields.done();
        Some(Between {
            name,
            levels: levels?,
            assign: assign?,
            unit: unit?,
        })
    })
}

fn within(place: &Cursor<'_>, partners: &Partners) -> Option<Vec<Within>> {
    let choices = [
        ("fixed", LevelOrder::Fixed),
        ("random", LevelOrder::Random),
        ("latin", LevelOrder::Latin),
        ("williams", LevelOrder::Williams),
    ];
    factors(place, |name, place| {
        let mut fields = place.fields("a factor")?;
        let doc =
            "The levels, at least two: texts, numbers, or blocks of parameters with a `name`.";
        let levels = fields
            .key("levels", doc)
            .require_key("[slow, fast]", |place| levels(&place, partners));
        let doc = "The order of the levels for each unit. `fixed`: as listed. `random`: shuffled. `latin`: a row of \
                   a Latin square. `williams`: a row of a Williams design. The row with the fewest units is used \
                   first.";
        let order = fields.key("order", doc).or(LevelOrder::Random, |place| {
            place.read_word("order", &choices)
        });
        let unit = factor_unit(&mut fields);
        fields.done();
        Some(Within {
            name,
            levels: levels?,
            order: order?,
            unit: unit?,
        })
    })
}

/// Reads the unit of a factor that has its own.
fn factor_unit(fields: &mut Fields<'_>) -> Option<Option<Unit>> {
    let doc = "The unit of this factor, if it is not that of the design.";
    fields
        .key("unit", doc)
        .maybe(|place| place.read_word("unit", &UNITS))
}

/// The words for units.
const UNITS: [(&str, Unit); 2] = [("participant", Unit::Participant), ("group", Unit::Group)];

fn levels(place: &Cursor<'_>, partners: &Partners) -> Option<Vec<Level>> {
    if place.item_count() == Some(1) {
        place.report_problem("one level only, so nothing varies; write at least two, or no factor");
        return None;
    }
    let places = place.list_of("levels", MIN_LEVELS..=MAX_LEVELS)?;
    let mut levels: Vec<Level> = Vec::new();
    let mut whole = true;
    for place in &places {
        let Some(level) = read_level(place, partners) else {
            whole = false;
            continue;
        };
        if levels.iter().any(|other| other.name == level.name) {
            place.report_problem(format!(
                "`{}` is already the name of another level; give each its own",
                level.name
            ));
            whole = false;
        }
        levels.push(level);
    }
    whole.then_some(levels)
}

/// Reads a level: a text, a number, true or false, which is its own name; a block of parameters with a `name`; or the
/// name of one of the partners, which stands for a block of what participants may see of that partner.
pub(crate) fn read_level(place: &Cursor<'_>, partners: &Partners) -> Option<Level> {
    let value = place.json();
    let name = match &value {
        Value::Object(_) => {
            let mut fields = place.fields("a level")?;
            fields.require_key("name", "slow")?.text(60)?
        }
        Value::Null | Value::Array(_) => {
            place.report_problem(format!(
                "expected a text, a number or a block of parameters as a level, found {}",
                place.node.what()
            ));
            return None;
        }
        _ => place.text(60)?,
    };
    let partner = value.as_str().and_then(|name| partners.level(name));
    Some(partner.unwrap_or(Level { name, value }))
}
