//! Hanabi on the native host: the views of a seat do not depend on the cards that its person must not see.
//!
//! Two games are played with the same moves. They differ in the whole hand of one seat, which is swapped with cards
//! from the end of the deck that nobody draws. If a card were in a view, a picture, a text or an answer in any form,
//! the bytes to that seat would differ.

use env_core::draw::{DrawList, Shape};
use protocol::control::{HostView, ServerMessage};
use server_core::arbiter::PointOrder;

use super::*;

/// Moves of a game: the last cards of the deck stay in it.
const MOVES: usize = 10;

/// The cards of a deck in an order of this seed, as the parameters name them.
fn deck_of(seed: u64) -> Vec<String> {
    let mut deck: Vec<String> = Vec::new();
    for color in ["R", "Y", "G", "W", "B"] {
        for (rank, copies) in [3, 2, 2, 2, 1].into_iter().enumerate() {
            deck.extend(vec![format!("{color}{}", rank + 1); copies]);
        }
    }
    let mut state = seed;
    for last in (1..deck.len()).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        deck.swap(last, (state >> 33) as usize % (last + 1));
    }
    deck
}

/// The header of a game of this many people with this deck.
fn game(seats: usize, deck: &[String]) -> Header {
    let all: Vec<Seat> = (0..seats as u8).map(Seat).collect();
    let mut header = Header {
        env: "hanabi".into(),
        env_version: "1.0.0".into(),
        params: format!(r#"{{"seats":{seats},"deck":{deck:?}}}"#),
        controllers: vec![PERSON; seats],
        participants: all.iter().map(|seat| format!("P-{}", seat.0)).collect(),
        keys: all
            .iter()
            .map(|seat| key(*seat).verifying_key().to_bytes())
            .collect(),
        ..hosted([PERSON, PERSON], 200)
    };
    header.rules.turns = true;
    header
}

/// A game on the native host, and everything that each page was sent of it.
struct Table {
    episode: Episode,
    choosers: Vec<Chooser>,
    /// The messages to the page of each seat, as they go over the wire.
    sent: Vec<Vec<Vec<u8>>>,
    views: Vec<ViewWorld>,
    _dir: tempfile::TempDir,
}

impl Table {
    fn new(seats: usize, deck: &[String]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let header = game(seats, deck);
        let episode = Episode::create(dir.path(), header.clone()).unwrap();
        let spec = episode.replica.spec().clone();
        let mut table = Self {
            episode,
            choosers: (0..seats as u8)
                .map(|seat| Chooser::new(&header, Seat(seat)))
                .collect(),
            sent: vec![Vec::new(); seats],
            views: vec![ViewWorld::new(spec); seats],
            _dir: dir,
        };
        table.play(None);
        table
    }

    /// Plays a move of a seat, or of nobody; every page then gets its view, and asks what is under its pointer.
    fn play(&mut self, act: Option<(usize, Action)>) {
        if let Some((seat, action)) = act {
            self.choosers[seat].say(&mut self.episode, Seat(seat as u8), action);
        }
        let seats = (0..self.sent.len() as u8).map(Seat);
        let report = self.episode.host(HostWork {
            steps: true,
            views: seats
                .clone()
                .map(|seat| ViewOrder {
                    seat,
                    is_new: false,
                    size: [0; 2],
                })
                .collect(),
            points: seats
                .map(|seat| PointOrder {
                    seat,
                    number: 1,
                    at: [30_000, 62_000],
                })
                .collect(),
            ..HostWork::default()
        });
        assert!(!report.failed);
        for (seat, view) in report.views {
            self.views[seat.index()].restore(&view.bytes).unwrap();
            let view = HostView {
                era: Era(1),
                ..view
            };
            self.send(seat, &ServerMessage::View(view));
        }
        for (seat, number, action) in report.points {
            let era = Era(1);
            self.send(
                seat,
                &ServerMessage::Pointed {
                    era,
                    number,
                    action,
                },
            );
        }
    }

    fn send(&mut self, seat: Seat, message: &ServerMessage) {
        self.sent[seat.index()].push(protocol::control::encode(message));
    }

    /// The seat whose turn it is.
    fn turn(&mut self) -> usize {
        self.episode.replica.world().acting().trailing_zeros() as usize
    }

    /// The texts on the picture of a seat's page, and the state in words there.
    fn words(&mut self, seat: usize) -> String {
        let (mut list, mut words) = (DrawList::default(), String::new());
        self.views[seat].draw(Some(seat), &mut list);
        self.views[seat].describe(seat, &mut words);
        let texts = list.items.into_iter().filter_map(|item| match item.shape {
            Shape::Text { text, .. } => Some(text),
            _ => None,
        });
        texts.fold(words, |all, text| all + "\n" + &text)
    }
}

/// Returns a move that both games allow and that reveals nothing about the hand of `secret`: its own person only gives
/// hints to others, and nobody gives it hints.
fn next_move(one: &mut Table, other: &mut Table, secret: usize) -> Option<(usize, Action)> {
    let seat = one.turn();
    assert_eq!(seat, other.turn());
    let seats = one.sent.len();
    let legal = one.episode.replica.world().mask(seat) & other.episode.replica.world().mask(seat);
    let spec = one.episode.replica.spec().clone();
    let to_secret = format!("hint_{}_", (secret + seats - seat) % seats);
    let is_open = |name: &str| match name.starts_with("hint_") {
        true => !name.starts_with(&to_secret),
        false => seat != secret && name != spec.actions[usize::from(spec.noop)].name,
    };
    let mut moves = (0..spec.actions.len())
        .filter(|&action| legal >> action & 1 == 1 && is_open(&spec.actions[action].name));
    moves.next().map(|action| (seat, action as Action))
}

#[test]
fn no_byte_to_a_page_of_hanabi_depends_on_the_hand_of_its_own_person() {
    for seats in 2..=5 {
        let hand = if seats <= 3 { 5 } else { 4 };
        for secret in 0..seats {
            let deck = deck_of(7 * seats as u64 + secret as u64);
            let mut changed = deck.clone();
            let (first, end) = (secret * hand, deck.len());
            (0..hand).for_each(|at| changed.swap(first + at, end - 1 - at));
            assert_ne!(deck[first..first + hand], changed[first..first + hand]);
            let (mut one, mut other) = (Table::new(seats, &deck), Table::new(seats, &changed));
            let mut moves = 0;
            while moves < MOVES
                && let Some(act) = next_move(&mut one, &mut other, secret)
            {
                one.play(Some(act));
                other.play(Some(act));
                moves += 1;
            }
            assert!(moves >= 2, "{seats} people: {moves} moves");
            assert_eq!(
                one.sent[secret], other.sent[secret],
                "{seats} people, seat {secret}"
            );
            // The others see the hand, so the test would find a card.
            for seat in (0..seats).filter(|seat| *seat != secret) {
                assert_ne!(one.sent[seat], other.sent[seat]);
                assert!(
                    one.words(seat).contains(&deck[first]),
                    "{}",
                    one.words(seat)
                );
            }
        }
    }
}

#[test]
fn a_page_that_comes_back_or_uploads_learns_no_card() {
    let (seats, hand, secret) = (2, 5, 1);
    let deck = deck_of(3);
    let mut changed = deck.clone();
    let end = deck.len();
    (0..hand).for_each(|at| changed.swap(secret * hand + at, end - 1 - at));
    let told = [deck, changed].map(|deck| {
        let mut table = Table::new(seats, &deck);
        let seat = Seat(secret as u8);
        let upload = table.choosers[secret].say(&mut table.episode, seat, 0);
        let snapshot = table.episode.snapshot();
        let report = table.episode.host(HostWork {
            views: vec![ViewOrder {
                seat,
                is_new: true,
                size: [400, 300],
            }],
            ..HostWork::default()
        });
        let views = report.views;
        format!(
            "{upload:?} {:?} {:?} {views:?}",
            snapshot.state, snapshot.partners
        )
    });
    assert_eq!(told[0], told[1]);
}
