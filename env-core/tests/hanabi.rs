//! Hanabi: its rules where recordings have no words for them, a playthrough, and that nobody sees their own hand.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use env_core::digest::digest;
use env_core::draw::DrawList;
use env_core::envs::hanabi::{Hanabi, HeldCard, Params, State};
use env_core::rng::Rng;
use env_core::{Action, Environment, StepOutcome};

use crate::story;

fn game(params: Params) -> Hanabi {
    Hanabi::new(params).unwrap()
}

/// Acts for the player whose turn it is.
fn act(env: &Hanabi, state: &mut State, action: Action) -> StepOutcome {
    let mut actions = vec![env.spec().noop; env.sizes().seats];
    actions[usize::from(state.turn)] = action;
    let mut outcome = StepOutcome::default();
    env.step(state, &actions, &mut outcome);
    outcome
}

fn named(env: &Hanabi, name: &str) -> Action {
    let spec = env.spec();
    let at = spec.actions.iter().position(|action| action.name == name);
    at.unwrap_or_else(|| panic!("{name}")) as Action
}

fn legal(env: &Hanabi, state: &State) -> Vec<Action> {
    let (mask, noop) = (env.mask(state, state.turn.into()), env.spec().noop);
    (0..noop).filter(|action| mask >> action & 1 == 1).collect()
}

/// Everything that a page of a seat gets of a state.
fn sight(env: &Hanabi, state: &State, seat: usize) -> (Vec<u8>, String, Vec<u32>, u64, u16, i64) {
    let (mut picture, mut words) = (DrawList::default(), String::new());
    env.draw(state, Some(seat), &mut picture);
    env.describe(state, seat, &mut words);
    let mut values = vec![0.0_f32; env.spec().observation_len()];
    env.observe(state, seat, &mut values);
    let picture = postcard::to_allocvec(&picture).unwrap();
    let values = values.into_iter().map(f32::to_bits).collect();
    (
        picture,
        words,
        values,
        env.mask(state, seat),
        env.acting(state),
        env.seat_score(state, seat),
    )
}

/// Checks whether a card could be the held one, by all hints to its owner.
fn may_be(env: &Hanabi, held: &HeldCard, card: u8) -> bool {
    let ((color, rank), (own_color, own_rank)) =
        (env.sizes().face_of(card), env.sizes().face_of(held.card));
    held.possible >> card & 1 == 1
        && (!held.color_told || color == own_color)
        && (!held.rank_told || rank == own_rank)
}

/// Returns the same state with other cards in the hand of a seat, which its owner could not distinguish: they come from
/// the deck (except the card that is drawn next, which others would see) and from other places of the hand.
fn disguised(env: &Hanabi, state: &State, seat: usize, rng: &mut Rng) -> State {
    let mut other = state.clone();
    let hidden = other.deck.len().saturating_sub(1) as u32;
    for place in 0..other.hands[seat].len() {
        let held = other.hands[seat][place];
        for _ in 0..8 {
            let at = rng.below(hidden.max(1)) as usize;
            if hidden > 0 && may_be(env, &held, other.deck[at]) {
                other.hands[seat][place].card = other.deck[at];
                other.deck[at] = held.card;
                break;
            }
        }
        let (held, with) = (
            other.hands[seat][place],
            rng.below(other.hands[seat].len() as u32) as usize,
        );
        let partner = other.hands[seat][with];
        if may_be(env, &held, partner.card) && may_be(env, &partner, held.card) {
            other.hands[seat][place].card = partner.card;
            other.hands[seat][with].card = held.card;
        }
    }
    other
}

#[test]
fn what_a_seat_gets_does_not_depend_on_its_own_hand() {
    let (mut changed, mut shown) = (0, 0);
    for seats in 2..=5_u8 {
        let env = game(Params {
            seats,
            ..Params::default()
        });
        for seed in 0..12 {
            let (mut rng, mut state) = (Rng::new(seed), env.reset(seed));
            while !env.sizes().is_over(&state) {
                for seat in 0..usize::from(seats) {
                    let other = disguised(&env, &state, seat, &mut rng);
                    assert!(env.valid(&other), "{other:?}");
                    assert_eq!(sight(&env, &state, seat), sight(&env, &other, seat));
                    changed += u32::from(other.hands != state.hands);
                    let partner = (seat + 1) % usize::from(seats);
                    let differs = sight(&env, &state, partner) != sight(&env, &other, partner);
                    assert_eq!(differs, other.hands != state.hands);
                    shown += u32::from(differs);
                }
                let choices = legal(&env, &state);
                let action = choices[rng.below(choices.len() as u32) as usize];
                // What comes of the move of another, or of a hint, is the same for a seat with another hand.
                for seat in 0..usize::from(seats) {
                    if seat == usize::from(state.turn) {
                        continue;
                    }
                    let mut one = state.clone();
                    let mut two = disguised(&env, &state, seat, &mut rng);
                    if legal(&env, &two).contains(&action) && action < 2 * env.sizes().hand as u16 {
                        assert_eq!(act(&env, &mut one, action), act(&env, &mut two, action));
                        assert_eq!(sight(&env, &one, seat), sight(&env, &two, seat));
                    }
                }
                act(&env, &mut state, action);
            }
        }
    }
    // Enough of both, or nothing is shown.
    assert!(changed > 1_000 && shown > 1_000, "{changed} {shown}");
}

#[test]
fn its_state_is_secret_and_its_players_take_turns() {
    let env = game(Params::default());
    let (spec, mut state) = (env.spec(), env.reset(1));
    assert!(spec.secret && !spec.perfect_information && spec.tick_hz == 0);
    for seat in [0, 1, 0] {
        assert_eq!(env.acting(&state), 1 << seat);
        act(&env, &mut state, named(&env, "play_1"));
    }
}

#[test]
fn a_picture_for_nobody_shows_every_hand() {
    let env = game(Params::default());
    let state = env.reset(3);
    let texts = |seat| {
        let mut picture = DrawList::default();
        env.draw(&state, seat, &mut picture);
        let text = |item: &env_core::draw::DrawItem| match &item.shape {
            env_core::draw::Shape::Text { text, .. } => Some(text.clone()),
            _ => None,
        };
        picture.items.iter().filter_map(text).collect::<Vec<_>>()
    };
    let is_open = |texts: &[String], seat: usize| {
        let hand = state.hands[seat].iter();
        hand.map(|held| env.sizes().name(held.card))
            .filter(|name| texts.contains(name))
            .count()
    };
    assert_eq!((is_open(&texts(None), 0), is_open(&texts(None), 1)), (5, 5));
    assert_eq!(is_open(&texts(Some(0)), 1), 5);
    assert_eq!(
        texts(Some(0)).iter().filter(|text| *text == "??").count(),
        5
    );
}

#[test]
fn a_deck_is_drawn_given_or_injected() {
    let plain = game(Params::default());
    assert_ne!(plain.reset(1).hands, plain.reset(2).hands);
    assert_eq!(plain.reset(1), plain.reset(1));
    let cards = plain.sizes().shuffled_deck(1);
    let given = game(Params {
        deck: Some(cards.iter().map(|&card| plain.sizes().name(card)).collect()),
        ..Params::default()
    });
    assert_eq!(given.reset(99), plain.reset(1));
    let words: Vec<u32> = cards.iter().map(|&card| card.into()).collect();
    let mut state = plain.reset(2);
    plain.inject(&mut state, &words[1..]);
    assert_eq!(state, plain.reset(2));
    plain.inject(&mut state, &words);
    assert_eq!(state, plain.reset(1));
    // A game that has begun keeps its deck.
    let first = legal(&plain, &state)[0];
    act(&plain, &mut state, first);
    let begun = state.clone();
    plain.inject(&mut state, &words);
    assert_eq!(state, begun);
}

/// A game whose deck begins with these cards.
fn stacked(first: &[&str], params: Params) -> (Hanabi, State) {
    let plain = game(params.clone());
    let mut names: Vec<String> = plain
        .sizes()
        .sorted_deck()
        .iter()
        .map(|&card| plain.sizes().name(card))
        .collect();
    for (place, name) in first.iter().enumerate() {
        let found = names[place..].iter().position(|other| other == name);
        names.swap(place, place + found.unwrap());
    }
    let env = game(Params {
        deck: Some(names),
        ..params
    });
    let state = env.reset(0);
    (env, state)
}

#[test]
fn the_last_life_takes_everything_back() {
    let hands = ["R1", "R3", "R4", "Y3", "Y4", "R2", "G3", "G4", "B3", "B4"];
    let (env, mut state) = stacked(&hands, Params::default());
    let play = named(&env, "play_1");
    assert_eq!(act(&env, &mut state, play).rewards[..2], [1.0, 1.0]);
    assert_eq!(act(&env, &mut state, play).rewards[..2], [1.0, 1.0]);
    for lives in [2, 1] {
        let outcome = act(&env, &mut state, named(&env, "play_2"));
        assert_eq!((outcome.rewards[0], outcome.events[0].kind), (0.0, 1));
        assert_eq!((state.lives, env.score(&state)), (lives, 2));
    }
    let outcome = act(&env, &mut state, named(&env, "play_2"));
    assert_eq!(outcome.rewards[..2], [-2.0, -2.0]);
    assert_eq!(outcome.components, [0.0, -2.0, 0.0, -2.0]);
    assert_eq!((outcome.terminated, outcome.over), (0b11, true));
    assert_eq!(env.score(&state), 0);
}

#[test]
fn a_completed_firework_gives_a_hint_back() {
    let small = Params {
        copies: vec![2, 1],
        hand_size: Some(2),
        hints: 1,
        ..Params::default()
    };
    let (env, mut state) = stacked(&["R1", "Y1", "R2", "Y2"], small);
    let outcome = act(&env, &mut state, named(&env, "hint_1_rank_2"));
    assert_eq!(
        (outcome.events[0].to, outcome.events[0].value),
        (Some(1), 2.0)
    );
    assert_eq!(state.hints, 0);
    // Without hints there are none to give.
    assert!(legal(&env, &state).iter().all(|&action| action < 4));
    act(&env, &mut state, named(&env, "discard_2"));
    assert_eq!(state.hints, 1);
    // With all hints, there is none to get back.
    assert!(!legal(&env, &state).contains(&named(&env, "discard_1")));
    act(&env, &mut state, named(&env, "hint_1_red"));
    assert_eq!(state.hints, 0);
    let mut other = state.clone();
    assert!(act(&env, &mut other, named(&env, "play_1")).events[0].kind == 1);
    other = state;
    other.turn = 0;
    assert_eq!(act(&env, &mut other, named(&env, "play_1")).rewards[0], 1.0);
    act(&env, &mut other, named(&env, "play_1"));
    assert_eq!((other.hints, other.fireworks[0]), (1, 2));
}

#[test]
fn after_the_last_card_everybody_moves_once_more() {
    for seats in 2..=5 {
        let env = game(Params {
            seats,
            ..Params::default()
        });
        let mut state = env.reset(5);
        let mut after = None;
        loop {
            // Discards, and hints when all of them are left, draw the whole deck and lose no life.
            let choices = legal(&env, &state);
            let discard = choices
                .first()
                .filter(|&&action| action < env.sizes().hand as u16);
            let action = discard.or(choices.last()).copied().unwrap();
            let outcome = act(&env, &mut state, action);
            after = after.map(|moves| moves + 1);
            if state.deck.is_empty() && after.is_none() {
                after = Some(0);
            }
            if outcome.over {
                break;
            }
        }
        assert_eq!((after, state.lives), (Some(seats), 3));
    }
}

#[test]
fn what_may_not_be_done_does_nothing_and_the_turn_stays() {
    let env = game(Params {
        horizon: 3,
        ..Params::default()
    });
    let mut state = env.reset(1);
    assert_eq!(env.mask(&state, 1), 1 << env.spec().noop);
    for over in [false, false, true] {
        let outcome = act(&env, &mut state, named(&env, "discard_1"));
        assert_eq!((state.turn, state.hints, outcome.over), (0, 8, over));
        assert!(outcome.events.is_empty());
        assert_eq!(outcome.truncated, if over { 0b11 } else { 0 });
    }
}

#[test]
fn a_point_on_a_button_is_its_action() {
    for seats in [2, 5] {
        let env = game(Params {
            seats,
            ..Params::default()
        });
        let mut state = env.reset(4);
        state.hints = 4;
        let mut picture = DrawList::default();
        env.draw(&state, Some(0), &mut picture);
        let mut meant = BTreeSet::new();
        for x in 0..80 {
            for y in 0..(10.0 * picture.height) as usize {
                let at = [x as f32 / 10.0, y as f32 / 10.0];
                assert_eq!(
                    env.point(&state, 1, at),
                    None,
                    "it is not the turn of seat 1"
                );
                meant.extend(env.point(&state, 0, at));
            }
        }
        assert_eq!(meant, legal(&env, &state).into_iter().collect());
    }
}

#[test]
fn bad_parameters_are_refused_with_their_place() {
    let refused = |json: &str| {
        let refused = env_core::envs::build_environment::<Hanabi>(json.as_bytes());
        refused.unwrap_err().to_string()
    };
    for (json, start) in [
        (r#"{"seats":6}"#, "seats: must be 2 to 5"),
        (r#"{"colors":7}"#, "colors: must be 1 to 6"),
        (r#"{"copies":[3,0]}"#, "copies[1]: must be 1 to 9"),
        (r#"{"hand_size":6}"#, "hand_size: must be 1 to 5"),
        (
            r#"{"copies":[1,1],"colors":5}"#,
            "copies: a deck of 10 cards is too small for 10 dealt",
        ),
        (
            r#"{"deck":["R1","X2"]}"#,
            "deck[1]: there is no card `X2`; the cards are R1 to B5",
        ),
        (
            r#"{"deck":["R1"]}"#,
            "deck: has R1 1 times and needs it 3 times",
        ),
        (
            r#"{"seat":2}"#,
            "seat: there is no parameter `seat`; did you mean `seats`?",
        ),
    ] {
        assert!(
            refused(json).starts_with(start),
            "{}\n{start}",
            refused(json)
        );
    }
}

/// The move of a player who knows all cards: plays what fits, or else discards what is gone, or gives a hint.
fn knowing(env: &Hanabi, state: &State) -> Action {
    let sizes = env.sizes();
    let hand = state.hands[usize::from(state.turn)].iter().enumerate();
    let fits =
        |card: u8| usize::from(state.fireworks[sizes.face_of(card).0]) == sizes.face_of(card).1;
    if let Some((place, _)) = hand.clone().find(|(_, held)| fits(held.card)) {
        return (sizes.hand + place) as Action;
    }
    let choices = legal(env, state);
    let gone =
        |card: u8| usize::from(state.fireworks[sizes.face_of(card).0]) > sizes.face_of(card).1;
    let useless = hand.clone().find(|(_, held)| gone(held.card));
    match useless.map(|(place, _)| place as Action) {
        Some(discard) if choices.contains(&discard) => discard,
        _ if state.hints > 2 => choices[choices.len() - 1 - usize::from(state.hints) % 3],
        _ => choices[0],
    }
}

#[test]
fn the_playthrough_is_as_recorded() {
    let env = game(Params::default());
    let (spec, mut state) = (env.spec(), env.reset(7));
    let mut told = format!("# {} {}, seed 7\n\n", spec.id, spec.version);
    for number in 1.. {
        let (turn, action) = (state.turn, knowing(&env, &state));
        let outcome = act(&env, &mut state, action);
        let name = &spec.actions[usize::from(action)].name;
        write!(told, "{number}: {turn} {name}").unwrap();
        for event in &outcome.events {
            let kind = &spec.events[usize::from(event.kind)];
            let to = event.to.map_or(String::new(), |to| format!(" to {to}"));
            write!(told, "; {kind} by {}{to} {}", event.seat, event.value).unwrap();
        }
        let (hints, lives) = (state.hints, state.lives);
        write!(
            told,
            "; fireworks {:?}, hints {hints}, lives {lives}",
            state.fireworks
        )
        .unwrap();
        if outcome.rewards[0] != 0.0 {
            write!(told, "; rewards {:?}", &outcome.rewards[..2]).unwrap();
        }
        told.push('\n');
        if number == 12 || outcome.over {
            told.push('\n');
            env.describe(&state, 0, &mut told);
            told.push('\n');
        }
        if outcome.over {
            break;
        }
    }
    let (score, digest) = (env.score(&state), digest(&state));
    writeln!(told, "score {score}, digest {digest:016x}").unwrap();
    story::check("hanabi", &told);
}
