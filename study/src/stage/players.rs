//! The players of an env stage, and their seats.

use serde::Serialize;

use super::ai_partner::{self, AiPartner};
use super::drawn_partner::DrawnPartner;
use super::env::Env;
use crate::assign::Rng;
use crate::folder::Source;
use crate::limits::MAX_SEATS;
use crate::partners::NamedPartner;
use crate::problem::make_hint;
use crate::read::Cursor;
use crate::timeline::fill;
use crate::timeline::tree::Bindings;
use crate::yaml::Data;

/// The player of a seat.
#[allow(clippy::large_enum_variant, reason = "a study has few seats")]
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Player {
    /// The participant.
    #[serde(rename = "self")]
    Own,
    /// Another of the group.
    Partner,
    /// An AI partner.
    Bot(AiPartner),
    /// An AI partner that the study draws.
    Drawn(DrawnPartner),
    /// Nobody: the seat does nothing.
    Vacant,
}

impl Player {
    /// Returns whether a person takes the seat.
    pub fn is_person(&self) -> bool {
        matches!(self, Self::Own | Self::Partner)
    }

    /// Returns whether a language model can speak for the seat.
    pub(crate) fn has_language_model(&self) -> bool {
        let has = |partner: &AiPartner| partner.language_model.is_some();
        match self {
            Self::Bot(partner) => has(partner),
            Self::Drawn(drawn) => drawn.choices.values().any(has),
            Self::Own | Self::Partner | Self::Vacant => false,
        }
    }
}

/// The word for a seat that is drawn at each visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AnySeat {
    /// Each seat with equal probability.
    Random,
}

/// The seat of the participant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum SeatChoice {
    /// The same for all, from 0.
    Fixed(u8),
    /// Each seat with equal probability, drawn again at each visit.
    Random(AnySeat),
    /// A text with a name in it that stands for the number.
    Drawn(String),
}

impl Env {
    /// The AI partners that it names itself, and all that it can draw.
    pub fn ai_partners(&self) -> impl Iterator<Item = &AiPartner> {
        let seated = self.players.iter().flat_map(|player| match player {
            Player::Bot(bot) => vec![bot],
            Player::Drawn(drawn) => drawn.choices.values().collect(),
            Player::Own | Player::Partner | Player::Vacant => Vec::new(),
        });
        seated.chain(&self.on_disconnect.bot)
    }

    /// Returns the players in the order of the seats, with these values for names. `visit` is the source of a seat that
    /// is drawn at a visit.
    pub fn seat_players(&self, bindings: &Bindings, visit: &mut Rng) -> Vec<&Player> {
        let mut players: Vec<&Player> = self.players.iter().collect();
        let seat = match &self.seat {
            Some(SeatChoice::Fixed(seat)) => Some(usize::from(*seat)),
            Some(SeatChoice::Random(AnySeat::Random)) => Some(visit.draw_below(players.len())),
            Some(SeatChoice::Drawn(text)) => {
                fill::fill_text(text, bindings).and_then(|word| word.parse().ok())
            }
            None => None,
        };
        let own = players.iter().position(|player| **player == Player::Own);
        if let (Some(seat), Some(own)) = (seat.filter(|seat| *seat < players.len()), own) {
            let own = players.remove(own);
            players.insert(seat, own);
        }
        players
    }
}

impl Player {
    /// Returns its AI partner, with these values for names.
    pub fn ai_partner<'a>(&'a self, bindings: &Bindings) -> Option<&'a AiPartner> {
        match self {
            Self::Bot(bot) => Some(bot),
            Self::Drawn(drawn) => drawn.ai_partner(bindings),
            Self::Own | Self::Partner | Self::Vacant => None,
        }
    }
}

/// Reads the players of an env stage.
pub(super) fn read_players(source: Source<'_>, place: &Cursor<'_>) -> Option<Vec<Player>> {
    let places = place.list("players", usize::from(MAX_SEATS))?;
    let players: Vec<Option<Player>> = places.iter().map(|place| player(source, place)).collect();
    let players: Vec<Player> = players.into_iter().collect::<Option<_>>()?;
    let own = players
        .iter()
        .filter(|player| **player == Player::Own)
        .count();
    if own != 1 {
        place.report_problem(format!("`self` is there {own} times; write it once, and for each other seat `partner`, an AI such as `{{policy: cook}}`, or `vacant`: `[self, partner]`. A factor chooses the participant's seat by `seat: \"{{{{ side }}}}\"`, with the levels 0 and 1"));
        return None;
    }
    Some(players)
}

/// Reads the seat of the participant.
pub(super) fn read_seat(place: &Cursor<'_>) -> Option<SeatChoice> {
    let is_random = place.node.is_text("random");
    let random =
        (place.may(is_random)).then(|| place.read_word("seat", &[("random", AnySeat::Random)]));
    let random = random.map(|word| word.map(SeatChoice::Random));
    let is_text =
        matches!(&place.node.data, Data::Plain(text) | Data::Quoted(text) if text.contains("{{"));
    let drawn = (place.may(is_text)).then(|| place.text(200).map(SeatChoice::Drawn));
    let is_number = !is_text && !is_random;
    let fixed = (place.may(is_number)).then(|| place.read_whole(0..=MAX_SEATS - 1, ""));
    let fixed = fixed.map(|seat| seat.map(SeatChoice::Fixed));
    random.or(drawn).or(fixed).flatten()
}

/// The words for players that are no names.
const WORDS: [&str; 3] = ["self", "partner", "vacant"];

fn player(source: Source<'_>, place: &Cursor<'_>) -> Option<Player> {
    let is_word = WORDS.iter().any(|word| place.node.is_text(word));
    let word =
        (place.may(is_word)).then(|| place.read_word("player", &WORDS.map(|word| (word, word))));
    let named = (place.may(!is_word && !place.is_block())).then(|| named_player(source, place));
    let bot =
        (place.may(place.is_block())).then(|| ai_partner::read(source, place).map(Player::Bot));
    match word {
        Some(word) => Some(match word? {
            "self" => Player::Own,
            "partner" => Player::Partner,
            _ => Player::Vacant,
        }),
        None => named.or(bot).flatten(),
    }
}

/// A player by a name of `partners`, or by one that the study draws.
fn named_player(source: Source<'_>, place: &Cursor<'_>) -> Option<Player> {
    let text = place.text(200)?;
    if text.contains("{{") {
        return Some(Player::Drawn(DrawnPartner::of(text)));
    }
    match source.partners.get(&text) {
        Some(NamedPartner::Ai(partner)) => Some(Player::Bot(partner.clone())),
        Some(NamedPartner::Assistant(_)) => {
            place.report_problem(format!("`{text}` has no policy, so it cannot play; write `assistant: {text}` at this stage, or give it a `policy`"));
            None
        }
        // The possible partners are entered with the names of the study.
        Some(NamedPartner::Pool(_) | NamedPartner::Person) => {
            Some(Player::Drawn(DrawnPartner::of(text)))
        }
        None if source.partners.is_faulty(&text) => None,
        None => {
            let names = source.partners.names();
            let known: Vec<&str> = WORDS.into_iter().chain(names).collect();
            place.report_problem(format!(
                "unknown player `{text}`; {}",
                make_hint(&text, &known)
            ));
            None
        }
    }
}
