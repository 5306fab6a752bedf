//! Hanabi: two to five players build fireworks together, and everybody sees all hands except their own.
//!
//! Source: Antoine Bauza, "Hanabi", 2010; rules, numbers of actions and observations are those of JaxMARL 0.2.0.

mod describe;
mod draw;
mod observe;
mod params;
mod rules;
mod table;

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::MAX_SEATS;
use crate::contract::{Action, ActionSpec, Environment, ParamError, Spec, StepEvent, StepOutcome};
use crate::draw::{DrawList, Sprite};
use crate::observer::BatchObserver;
pub use params::{COLORS, Params, Sizes};
pub use rules::{Effect, HeldCard, LastMove, Move, State};

/// Words for the colors, in the order of [`COLORS`].
const COLOR_NAMES: [&str; 6] = ["red", "yellow", "green", "white", "blue", "multicolor"];

/// Keys of the own cards: the upper row plays, the one below discards.
const PLAY_KEYS: [&str; 5] = ["KeyQ", "KeyW", "KeyE", "KeyR", "KeyT"];
const DISCARD_KEYS: [&str; 5] = ["KeyA", "KeyS", "KeyD", "KeyF", "KeyG"];
/// Keys of the hints, by distance of the player who gets them.
const RANK_KEYS: [[&str; 5]; 4] = [
    ["Digit1", "Digit2", "Digit3", "Digit4", "Digit5"],
    ["Digit6", "Digit7", "Digit8", "Digit9", "Digit0"],
    ["KeyN", "KeyM", "Comma", "Period", "Slash"],
    ["Numpad1", "Numpad2", "Numpad3", "Numpad4", "Numpad5"],
];
const COLOR_KEYS: [[&str; 5]; 4] = [
    ["KeyZ", "KeyX", "KeyC", "KeyV", "KeyB"],
    ["KeyY", "KeyU", "KeyI", "KeyO", "KeyP"],
    ["KeyH", "KeyJ", "KeyK", "KeyL", "Semicolon"],
    ["Numpad6", "Numpad7", "Numpad8", "Numpad9", "Numpad0"],
];

/// Kinds of events.
const EVENTS: [&str; 5] = ["play", "misplay", "discard", "hint_color", "hint_rank"];
/// Parts of the reward: a card on a firework, and all of them taken back with the last life.
const COMPONENTS: [&str; 2] = ["firework", "last_life"];

/// The environment.
#[derive(Debug)]
pub struct Hanabi {
    sizes: Sizes,
    horizon: u32,
    /// The order of the deck, if the parameters fix it.
    deck: Option<Vec<u8>>,
    spec: Spec,
}

/// The name and the key of an action.
fn action_spec(of: Move) -> ActionSpec {
    let (name, key) = match of {
        Move::Discard(place) => (format!("discard_{}", place + 1), DISCARD_KEYS.get(place)),
        Move::Play(place) => (format!("play_{}", place + 1), PLAY_KEYS.get(place)),
        Move::HintColor(distance, color) => (
            format!("hint_{distance}_{}", COLOR_NAMES[color]),
            COLOR_KEYS[distance - 1].get(color),
        ),
        Move::HintRank(distance, rank) => (
            format!("hint_{distance}_rank_{}", rank + 1),
            RANK_KEYS[distance - 1].get(rank),
        ),
        Move::Wait => ("noop".to_owned(), None),
    };
    ActionSpec {
        name,
        momentary: true,
        keys: key.map(|&key| key.into()).into_iter().collect(),
        directive: false,
    }
}

fn spec(sizes: &Sizes, horizon: u32) -> Spec {
    let actions = sizes.actions() as Action;
    let least = -(sizes.cards() as f32);
    Spec {
        id: Hanabi::ID.into(),
        version: Hanabi::VERSION.into(),
        title: "Hanabi".into(),
        seats: sizes.seats as u8,
        actions: (0..actions)
            .map(|action| action_spec(sizes.read_move(action)))
            .collect(),
        noop: actions - 1,
        observation: observe::fields(sizes),
        tick_hz: 0,
        horizon,
        events: EVENTS.map(Into::into).into(),
        reward_range: Some([least, 1.0]),
        components: COMPONENTS.map(Into::into).into(),
        perfect_information: false,
        secret: true,
        pointer: true,
        ..Spec::default()
    }
}

impl Hanabi {
    /// The numbers of the game.
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    fn is_over(&self, state: &State) -> bool {
        self.sizes.is_over(state) || state.steps >= self.horizon
    }

    /// Returns the action of the player whose turn it is; an illegal action does nothing.
    fn choice(&self, state: &State, actions: &[Action]) -> Action {
        let seat = usize::from(state.turn);
        let action = actions.get(seat).copied();
        let legal = |&action: &Action| {
            self.sizes
                .is_legal(state, seat, self.sizes.read_move(action))
        };
        action.filter(legal).unwrap_or(self.spec.noop)
    }

    /// The buttons that a seat can press, a bit for each action.
    fn buttons(&self, state: &State, seat: usize) -> u64 {
        if self.is_over(state) {
            return 0;
        }
        self.mask(state, seat)
    }

    /// The event of a move: cards have the value `10 * color + rank`, colors count from 0 and ranks from 1.
    fn event(&self, seat: u8, action: Action, effect: Effect) -> Option<StepEvent> {
        let of = self.sizes.read_move(action);
        let hint = self.sizes.hint_of(seat.into(), of);
        let card = effect.card.map(|card| self.sizes.face_of(card));
        let face = card.map_or(0, |(color, rank)| 10 * color + rank + 1);
        let (kind, value) = match of {
            Move::Play(_) => (u16::from(effect.misplayed), face),
            Move::Discard(_) => (2, face),
            Move::HintColor(_, color) => (3, color),
            Move::HintRank(_, rank) => (4, rank + 1),
            Move::Wait => return None,
        };
        Some(StepEvent {
            kind,
            seat,
            to: hint.map(|(to, _)| to as u8),
            value: value as f32,
        })
    }
}

impl Environment for Hanabi {
    const ID: &'static str = "hanabi";
    const VERSION: &'static str = "1.0.0";

    type Params = Params;
    type State = State;

    fn new(params: Params) -> Result<Self, ParamError> {
        let sizes = params.sizes()?;
        Ok(Self {
            deck: params.read_deck(&sizes)?,
            horizon: params.horizon,
            spec: spec(&sizes, params.horizon),
            sizes,
        })
    }

    fn params_schema() -> &'static str {
        include_str!("params.schema.json")
    }

    fn sprites() -> &'static [Sprite] {
        &[]
    }

    fn spec(&self) -> Spec {
        self.spec.clone()
    }

    fn reset(&self, seed: u64) -> State {
        match &self.deck {
            Some(deck) => self.sizes.deal_cards(deck),
            None => self.sizes.deal_cards(&self.sizes.shuffled_deck(seed)),
        }
    }

    fn step(&self, state: &mut State, actions: &[Action], outcome: &mut StepOutcome) {
        outcome.clear();
        if !self.is_over(state) {
            let (seat, action) = (state.turn, self.choice(state, actions));
            state.steps += 1;
            let effect = self.sizes.make_move(state, action);
            outcome.events.extend(self.event(seat, action, effect));
            let everybody = u16::MAX >> (MAX_SEATS - self.sizes.seats);
            for seat in 0..self.sizes.seats {
                if effect.scored {
                    outcome.earn(&self.spec, seat, 0, 1.0);
                }
                if state.lives == 0 && state.height() > 0 {
                    outcome.earn(&self.spec, seat, 1, -(state.height() as f32));
                }
            }
            if self.sizes.is_over(state) {
                outcome.terminated = everybody;
            } else if self.is_over(state) {
                outcome.truncated = everybody;
            }
        }
        outcome.over = self.is_over(state);
    }

    fn observe(&self, state: &State, seat: usize, out: &mut [f32]) {
        observe::observe(&self.sizes, state, seat, out);
    }

    fn mask(&self, state: &State, seat: usize) -> u64 {
        let noop = 1 << self.spec.noop;
        if seat != usize::from(state.turn) {
            return noop;
        }
        let is_legal = |&action: &Action| {
            self.sizes
                .is_legal(state, seat, self.sizes.read_move(action))
        };
        let legal = (0..self.spec.noop).filter(is_legal);
        legal.fold(noop, |bits, action| bits | 1 << action)
    }

    fn acting(&self, state: &State) -> u16 {
        1 << state.turn
    }

    fn score(&self, state: &State) -> i64 {
        state.score()
    }

    fn draw(&self, state: &State, seat: Option<usize>, out: &mut DrawList) {
        let buttons = seat.map_or(0, |seat| self.buttons(state, seat));
        draw::draw(&self.sizes, state, seat, buttons, out);
    }

    fn point(&self, state: &State, seat: usize, at: [f32; 2]) -> Option<Action> {
        let meant = table::button_at(&self.sizes, seat, at)?;
        (self.buttons(state, seat) >> meant & 1 == 1).then_some(meant)
    }

    fn describe(&self, state: &State, seat: usize, out: &mut String) {
        // Writing into a String cannot fail.
        let _ = describe::describe(&self.sizes, state, seat, self.is_over(state), out);
    }

    fn valid(&self, state: &State) -> bool {
        state.steps <= self.horizon && self.sizes.is_state(state)
    }

    /// Deals another deck, given as the cards in order, before the first step.
    fn inject(&self, state: &mut State, draws: &[u32]) {
        let cards = draws.iter().map(|&card| u8::try_from(card));
        let Ok(deck) = cards.collect::<Result<Vec<u8>, _>>() else {
            return;
        };
        if state.steps == 0 && self.sizes.is_whole(&deck) {
            *state = self.sizes.deal_cards(&deck);
        }
    }
}

impl BatchObserver for Hanabi {}

impl Sizes {
    /// Checks whether a state is one of a game with these numbers.
    fn is_state(&self, state: &State) -> bool {
        let sound = |held: &HeldCard| {
            usize::from(held.card) < self.cards()
                && held.possible >> held.card & 1 == 1
                && held.possible >> self.cards() == 0
        };
        let full = usize::from(!state.deck.is_empty());
        let hand = |hand: &Vec<HeldCard>| {
            hand.len() <= self.hand && hand.len() >= self.hand * full && hand.iter().all(sound)
        };
        let last = |last: &LastMove| {
            usize::from(last.seat) < self.seats
                && usize::from(last.action) < self.actions() - 1
                && usize::from(last.touched) < 1 << self.hand
                && last
                    .card
                    .is_none_or(|card| usize::from(card) < self.cards())
        };
        let round = usize::from(state.last_round);
        usize::from(state.turn) < self.seats
            && state.hands.len() == self.seats
            && state.hands.iter().all(hand)
            && state.fireworks.len() == self.colors
            && state
                .fireworks
                .iter()
                .all(|&height| usize::from(height) <= self.ranks)
            && state.hints <= self.hints
            && state.lives <= self.lives
            && state.deck.is_empty() == (1..=self.seats + 1).contains(&round)
            && (full == 0 || round == 0)
            && state.last.as_ref().is_none_or(last)
            && self.is_whole(&self.all_cards(state))
    }

    /// Every card of a state, wherever it is.
    fn all_cards(&self, state: &State) -> Vec<u8> {
        let mut cards = vec![];
        cards.extend_from_slice(&state.deck);
        cards.extend_from_slice(&state.discards);
        cards.extend(state.hands.iter().flatten().map(|held| held.card));
        for (color, &height) in state.fireworks.iter().enumerate() {
            cards.extend((0..usize::from(height)).map(|rank| (color * self.ranks + rank) as u8));
        }
        cards
    }
}
