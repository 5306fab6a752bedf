//! The table of scores in `docs/agents.md`, played again: the clone of the example study beside cooks and alone.

#![allow(
    clippy::unwrap_used,
    reason = "clippy knows the helpers of a test only inside its function"
)]

use env_core::{Policy, World, envs};
use onnx::read;
use policy::Partners;
use policy::network::ActionChoice;

const CLONE: &[u8] = include_bytes!("../../examples/overcooked-coord/cook_clone.onnx");
const PAGE: &str = include_str!("../../docs/agents.md");

/// As the page says: episodes of each mean, their ticks, and how the clone decides.
const EPISODES: u64 = 40;
const TICKS: u32 = 600;
const CHOICE: ActionChoice = ActionChoice {
    every: 2,
    temperature: Some(0.5),
    is_masked: false,
};
/// Seed of the first episode; training never saw these.
const FIRST_SEED: u64 = 1_000_000;

/// A player of a seat.
#[derive(Clone, Copy, PartialEq)]
enum Player {
    Cook,
    Clone,
    Nobody,
}

/// The columns of the table: who sits in the clone's seat, and who in the other.
const COLUMNS: [[Player; 2]; 4] = [
    [Player::Cook, Player::Cook],
    [Player::Clone, Player::Cook],
    [Player::Clone, Player::Clone],
    [Player::Clone, Player::Nobody],
];

/// The mean scores of a kitchen, by column.
fn mean_scores(layout: &str) -> [i64; 4] {
    let params = format!(r#"{{"layout": "{layout}", "horizon": {TICKS}}}"#);
    let mut world = envs::open("overcooked", &params).unwrap();
    let sha256 = "0".repeat(64);
    let mut partners = Partners::default();
    let model = read(CLONE, world.spec(), CHOICE).unwrap();
    partners
        .add_model(&sha256, &model.encode().unwrap())
        .unwrap();
    let open = |player| match player {
        Player::Cook => partners.open("cook", world.spec()),
        Player::Clone => partners.open(&policy::policy_name("clone", &sha256), world.spec()),
        Player::Nobody => None,
    };
    let mut teams = COLUMNS.map(|team| team.map(open));
    teams.each_mut().map(|team| {
        let scores = (0..EPISODES).map(|seed| play(&mut *world, team, FIRST_SEED + seed));
        (scores.sum::<i64>() as f64 / EPISODES as f64).round() as i64
    })
}

/// The score of an episode; in odd episodes the players change seats.
fn play(world: &mut dyn World, team: &mut [Option<Box<dyn Policy>>; 2], seed: u64) -> i64 {
    let noop = world.spec().noop;
    let seat_of = |place: usize| (place as u64 + seed) as usize % 2;
    world.reset(seed);
    for (place, player) in team.iter_mut().enumerate() {
        if let Some(player) = player {
            player.reset(seat_of(place), seed);
        }
    }
    let mut seen = Vec::new();
    loop {
        let mut actions = [noop; 2];
        for (place, player) in team.iter_mut().enumerate() {
            let Some(player) = player else { continue };
            world.observe(seat_of(place), &mut seen);
            actions[seat_of(place)] = player.act(&seen);
        }
        if world.step(&actions).over {
            return world.score();
        }
    }
}

/// A row of the table: the kitchen, and the number that each cell begins with.
fn read_row(line: &str) -> Option<(String, [i64; 4])> {
    let mut cells = line.strip_prefix("| `")?.split('|');
    let kitchen = cells.next()?.trim().trim_end_matches('`').to_owned();
    let number = |cell: &str| {
        let digits = cell.trim().split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok()
    };
    let numbers: Vec<i64> = cells.take(4).map_while(number).collect();
    Some((kitchen, numbers.try_into().ok()?))
}

#[test]
fn the_clone_scores_what_the_page_says() {
    assert!(PAGE.contains("In forty episodes of 600 ticks a kitchen, played with `temperature: 0.5` and `every_ticks: 2`"));
    let printed: Vec<_> = PAGE.lines().filter_map(read_row).collect();
    assert_eq!(printed.len(), 5, "{printed:?}");
    let found: Vec<_> = std::thread::scope(|scope| {
        let play = |(kitchen, _): &(String, _)| {
            let kitchen = kitchen.clone();
            scope.spawn(move || (mean_scores(&kitchen), kitchen))
        };
        let games: Vec<_> = printed.iter().map(play).collect();
        let ends = games.into_iter().map(|game| game.join().unwrap());
        ends.map(|(scores, kitchen)| (kitchen, scores)).collect()
    });
    assert_eq!(found, printed, "correct the table of docs/agents.md");
}
