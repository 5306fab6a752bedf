//! Kinds of thing in a grid, and their uses by hands.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

/// Index of a kind, in the order of declaration; [`EMPTY`] is nothing, and the first declared kind is 1.
pub type KindId = u8;

/// Nothing: no thing in a cell, nothing in a hand.
pub const EMPTY: KindId = 0;

/// The most kinds of a world, [`EMPTY`] included: sets of kinds are 64 bits.
pub const MAX_KINDS: usize = 64;

/// A set of kinds: bit `k` for kind `k`. Bit 0 ([`EMPTY`]) is the empty hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindSet(pub u64);

impl KindSet {
    /// Every kind but the empty hand.
    pub const ANY: Self = Self(!1);
    /// The empty hand alone.
    pub const EMPTY_HAND: Self = Self(1);

    /// Checks whether a kind is in the set.
    #[inline]
    pub const fn has(self, kind: KindId) -> bool {
        self.0 >> (kind & 63) & 1 == 1
    }

    /// The set with one more kind.
    pub const fn with(self, kind: KindId) -> Self {
        Self(self.0 | 1 << (kind & 63))
    }
}

/// Kinds by their names, before they have numbers.
///
/// As data: a name, a list of names, or one of `any`, `empty_hand` and `any_hand`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "NamesText", into = "NamesText")]
pub enum Names {
    /// Every kind.
    Any,
    /// These.
    Of(Vec<String>),
    /// The empty hand.
    EmptyHand,
    /// Every kind, and the empty hand.
    AnyHand,
}

/// Kinds by their names, as data.
#[derive(Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected the name of a kind, a list of names, `any`, `empty_hand` or `any_hand`"
)]
enum NamesText {
    One(String),
    Many(Vec<String>),
}

impl From<NamesText> for Names {
    fn from(text: NamesText) -> Self {
        match text {
            NamesText::Many(names) => Self::Of(names),
            NamesText::One(word) => match word.as_str() {
                "any" => Self::Any,
                "empty_hand" => Self::EmptyHand,
                "any_hand" => Self::AnyHand,
                _ => Self::Of(Vec::from([word])),
            },
        }
    }
}

impl From<Names> for NamesText {
    fn from(names: Names) -> Self {
        match names {
            Names::Of(names) => Self::Many(names),
            Names::Any => Self::One("any".into()),
            Names::EmptyHand => Self::One("empty_hand".into()),
            Names::AnyHand => Self::One("any_hand".into()),
        }
    }
}

impl Names {
    /// The words that stand for no single kind.
    pub const RESERVED: [&str; 3] = ["any", "empty_hand", "any_hand"];

    fn empty_hand() -> Self {
        Self::EmptyHand
    }

    pub(super) fn any_hand() -> Self {
        Self::AnyHand
    }

    /// The kinds with these names.
    pub fn of<S: AsRef<str>>(names: &[S]) -> Self {
        Self::Of(names.iter().map(|name| name.as_ref().into()).collect())
    }
}

/// A recipe of a container: the ingredients, the result, and the time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Names of the ingredients, as many as the container holds.
    pub ingredients: Vec<String>,
    /// Name of the result.
    pub result: String,
    /// Steps from the last ingredient until it is ready, 0 to 255.
    pub time: u8,
}

/// The effect of a pick-up-or-drop or a toggle on a thing of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Use {
    /// Nothing.
    #[default]
    Inert,
    /// It can be picked up from its cell, and dropped on free floor.
    Loose,
    /// A pick-up removes it permanently, whatever the hand holds.
    Collect,
    /// It holds one thing of these kinds: place on it, take from it.
    Surface(Names),
    /// It gives things of this kind without end.
    Source(String),
    /// It takes ingredients, works, and gives the result to a hand that holds `with`.
    Container {
        /// The number of ingredients that it holds, 1 to 8.
        capacity: u8,
        /// The kinds of which a hand must hold one to take the result, which replaces it.
        #[serde(default = "Names::empty_hand")]
        with: Names,
        /// The recipes.
        recipes: Vec<Recipe>,
    },
    /// It consumes things of these kinds.
    Sink(Names),
    /// A toggle with an empty hand lights it for this many steps.
    Switch {
        /// Steps, 1 to 255.
        time: u8,
    },
    /// A toggle with one of `with` in the hand turns it into another kind.
    Becomes {
        /// The kinds of which the hand must hold one; [`Names::EmptyHand`] for nothing.
        #[serde(default = "Names::any_hand")]
        with: Names,
        /// True if the hand keeps it.
        #[serde(default = "keeps")]
        keeps: bool,
        /// Name of the kind that it becomes; empty for none at all.
        #[serde(default)]
        into: String,
    },
}

fn keeps() -> bool {
    true
}

/// A kind of thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    /// Name, unique in the world: `onion_stack`.
    pub name: String,
    /// Its symbol in layouts, if it has one.
    #[serde(default)]
    pub symbol: Option<char>,
    /// True if agents can stand on it.
    #[serde(default)]
    pub walkable: bool,
    /// True if it is a wall: part of the ground that nothing ever changes.
    #[serde(default)]
    pub wall: bool,
    /// True if an agent that stands on it is done.
    #[serde(default)]
    pub terminal: bool,
    /// The acts that hands can do with it.
    #[serde(default, rename = "use")]
    pub usage: Use,
    /// The seats whose hands can do them; `None` for every seat.
    #[serde(default)]
    pub by: Option<Vec<u8>>,
    /// Name of its picture; without one it is a block in its colour.
    #[serde(default, rename = "picture")]
    pub sprite: Option<String>,
    /// Name of the picture of what it stands on, as high as a counter; `None` for the floor.
    #[serde(default, rename = "stands_on")]
    pub on: Option<String>,
    /// Name of its picture inside a container; for a result, the picture of the complete contents.
    #[serde(default)]
    pub inside: Option<String>,
    /// Name of its picture while it is lit.
    #[serde(default)]
    pub lit: Option<String>,
    /// Colour, `0xRRGGBBAA`, if there is no picture.
    #[serde(default = "gray", with = "color")]
    pub color: u32,
    /// Name for people, with its article: `an onion`. As data: empty for the name.
    #[serde(default)]
    pub words: String,
}

/// A name as people say it: `locked_door` is a locked door.
fn with_article(name: &str) -> String {
    let words = name.replace('_', " ");
    let vowel = words.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {words}", if vowel { "an" } else { "a" })
}

fn gray() -> u32 {
    0x7788_99ff
}

/// Colours as data: `"#rrggbb"`.
mod color {
    use alloc::format;
    use alloc::string::String;

    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(color: &u32, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(&format_args!("#{:06x}", color >> 8))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
        let text = String::deserialize(from)?;
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6);
        let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let wrong = || {
            D::Error::custom(format!(
                "`{text}` is no colour: write red, green and blue as in \"#3366cc\""
            ))
        };
        number.map(|rgb| rgb << 8 | 0xff).ok_or_else(wrong)
    }
}

impl Kind {
    /// A kind with a name, in the way and of no use.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            symbol: None,
            walkable: false,
            wall: false,
            terminal: false,
            usage: Use::Inert,
            by: None,
            sprite: None,
            on: None,
            inside: None,
            lit: None,
            color: gray(),
            words: with_article(name),
        }
    }

    /// Returns the same kind, which is called by its name if it has no words.
    pub fn called(mut self) -> Self {
        if self.words.is_empty() {
            self.words = with_article(&self.name);
        }
        self
    }

    /// Gives it a symbol in layouts.
    pub fn symbol(mut self, symbol: char) -> Self {
        self.symbol = Some(symbol);
        self
    }

    /// Lets agents stand on it.
    pub fn walkable(mut self) -> Self {
        self.walkable = true;
        self
    }

    /// Makes it a wall.
    pub fn wall(mut self) -> Self {
        self.wall = true;
        self
    }

    /// Ends the episode of an agent that stands on it.
    pub fn terminal(mut self) -> Self {
        self.terminal = true;
        self
    }

    /// Says what a hand can do with it.
    pub fn usage(mut self, usage: Use) -> Self {
        self.usage = usage;
        self
    }

    /// Lets only the hands of these seats use it.
    pub fn by(mut self, seats: &[u8]) -> Self {
        self.by = Some(seats.into());
        self
    }

    /// Gives it a picture.
    pub fn sprite(mut self, name: &str) -> Self {
        self.sprite = Some(name.into());
        self
    }

    /// Raises it from the floor, onto this picture: `counter`. If there is a `counter_front`, it shows that too.
    pub fn on(mut self, name: &str) -> Self {
        self.on = Some(name.into());
        self
    }

    /// Gives it a picture for inside a container.
    pub fn inside(mut self, name: &str) -> Self {
        self.inside = Some(name.into());
        self
    }

    /// Gives it a picture for while it is lit.
    pub fn lit(mut self, name: &str) -> Self {
        self.lit = Some(name.into());
        self
    }

    /// Checks whether it is a part of the floor, which is neither described nor drawn: agents walk on it, and it has
    /// neither picture nor symbol.
    pub fn is_floor(&self) -> bool {
        self.walkable && self.sprite.is_none() && self.symbol.is_none()
    }

    /// Checks whether it is as high as a counter: it throws a shadow on the floor, and hides things behind it.
    pub fn is_raised(&self) -> bool {
        self.wall || self.on.is_some()
    }

    /// Gives it a colour, `0xRRGGBBAA`.
    pub fn color(mut self, color: u32) -> Self {
        self.color = color;
        self
    }

    /// Says what people call it, with its article.
    pub fn words(mut self, words: &str) -> Self {
        self.words = words.into();
        self
    }
}
