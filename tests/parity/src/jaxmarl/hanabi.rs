//! Hanabi of JaxMARL.

use anyhow::{Context as _, Result, ensure};
use env_core::envs::hanabi::{COLORS, Hanabi, HeldCard, Params, Sizes, State};
use env_core::{Action, Environment as _};

use super::{Dialect, Fields, Header, Step, Way, check_settings, setting};
use crate::translate::supported;

/// A game of cards.
pub(super) struct Cards {
    params: Params,
    env: Hanabi,
}

impl Cards {
    pub(super) fn new(header: &Header) -> Result<Self> {
        check_settings(
            header,
            &[
                "num_agents",
                "num_colors",
                "num_ranks",
                "hand_size",
                "max_info_tokens",
                "max_life_tokens",
                "num_cards_of_rank",
            ],
        )?;
        let plain = Params::default();
        let params = Params {
            seats: header.n_agents as u8,
            colors: setting(header, "num_colors")?.unwrap_or(plain.colors),
            copies: setting(header, "num_cards_of_rank")?.unwrap_or(plain.copies),
            hand_size: setting(header, "hand_size")?,
            hints: setting(header, "max_info_tokens")?.unwrap_or(plain.hints),
            lives: setting(header, "max_life_tokens")?.unwrap_or(plain.lives),
            ..Params::default()
        };
        let env = supported(Hanabi::new(params.clone()))?;
        Ok(Self { params, env })
    }

    fn sizes(&self) -> &Sizes {
        self.env.sizes()
    }
}

/// A card of a deck of ours, such as `R1`.
fn name(sizes: &Sizes, card: u32) -> Result<String> {
    let card = u8::try_from(card)?;
    ensure!(
        usize::from(card) < sizes.cards(),
        "field `deck`: {card} is no card"
    );
    let (color, rank) = sizes.face_of(card);
    Ok(format!("{}{}", COLORS[color], rank + 1))
}

fn wide<T: Copy + Into<i64>>(values: &[T]) -> Vec<i64> {
    values.iter().map(|&value| value.into()).collect()
}

impl Dialect for Cards {
    fn id(&self) -> &'static str {
        Hanabi::ID
    }

    fn ways(&self, header: &Header, _steps: &[Step]) -> Result<Vec<Way>> {
        let deck = header.deck.clone().context("field `deck` is missing")?;
        let names = deck.iter().map(|&card| name(self.sizes(), card));
        let with_deck = Params {
            deck: Some(names.collect::<Result<_>>()?),
            ..self.params.clone()
        };
        Ok(vec![
            Way {
                words: "with the deck as a parameter",
                params: serde_json::to_string(&with_deck)?,
                start: None,
                draws: Vec::new(),
                starts_alike: true,
            },
            Way {
                words: "with the deck injected",
                params: serde_json::to_string(&self.params)?,
                start: None,
                draws: vec![deck],
                starts_alike: false,
            },
        ])
    }

    fn show(&self, state: &[u8]) -> Result<Fields> {
        let state: State = postcard::from_bytes(state).context("the state cannot be read back")?;
        let sizes = self.sizes();
        let cards = |of: &dyn Fn(&HeldCard) -> i64, none: i64| -> Vec<i64> {
            let hands = state.hands.iter();
            hands
                .flat_map(|hand| (0..sizes.hand).map(move |at| hand.get(at).map_or(none, of)))
                .collect()
        };
        let faces = |held: &HeldCard| sizes.face_of(held.card);
        let told = |is_told: bool, value: usize| if is_told { value as i64 } else { -1 };
        let over = sizes.is_over(&state);
        let mut deck = wide(&state.deck);
        deck.reverse();
        let fields: [(&str, Vec<i64>); 15] = [
            ("hands", cards(&|held| held.card.into(), -1)),
            ("known", cards(&|held| held.possible.into(), 0)),
            (
                "color",
                cards(&|held| told(held.color_told, faces(held).0), -1),
            ),
            (
                "rank",
                cards(&|held| told(held.rank_told, faces(held).1), -1),
            ),
            ("fireworks", wide(&state.fireworks)),
            ("info", vec![state.hints.into()]),
            ("lives", vec![state.lives.into()]),
            ("turn", vec![state.turn.into()]),
            ("last_round", vec![state.last_round.into()]),
            ("score", vec![self.env.score(&state)]),
            ("step", vec![state.steps.into()]),
            ("done", vec![over.into()]),
            ("out_of_lives", vec![(state.lives == 0).into()]),
            ("deck", deck),
            ("discards", wide(&state.discards)),
        ];
        Ok(fields
            .map(|(name, values)| (name.to_owned(), values))
            .into())
    }

    fn noop(&self) -> Action {
        self.sizes().actions() as Action - 1
    }

    fn observation_len(&self) -> usize {
        self.env.spec().observation_len()
    }
}
