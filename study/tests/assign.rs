//! Random assignment of treatments and orders: balance, and that nothing is drawn twice.

use std::collections::BTreeMap;

use proptest::prelude::*;
use study::assign::{self, Counts, Standing, UnitAssignment};
use study::design::{Assign, Between, Design, Level, LevelOrder, Quota, Unit, Within};
use study::{Progress, StudyFull};

use crate::folder::Folder;

fn levels(count: usize) -> Vec<Level> {
    let level = |index: usize| Level {
        name: format!("level{index}"),
        value: index.into(),
    };
    (0..count).map(level).collect()
}

fn between(name: &str, count: usize, assign: Assign) -> Between {
    Between {
        name: name.into(),
        levels: levels(count),
        assign,
        unit: None,
    }
}

fn within(name: &str, count: usize, order: LevelOrder) -> Within {
    Within {
        name: name.into(),
        levels: levels(count),
        order,
        unit: None,
    }
}

fn draw(design: &Design, number: u64, counts: &Counts) -> Result<UnitAssignment, StudyFull> {
    assign::assign(design, Unit::Participant, 42, number, counts)
}

/// Draws for this many participants, each of whom completes the study before the next one comes.
fn one_by_one(design: &Design, count: u64) -> Vec<UnitAssignment> {
    let mut counts = Counts::default();
    let next = |number| {
        let draw = draw(design, number, &counts).expect("no quota");
        counts.add(design, &draw, Standing::Completed);
        draw
    };
    (0..count).map(next).collect()
}

/// Counts each thing.
fn tally<T: Ord>(of: impl IntoIterator<Item = T>) -> BTreeMap<T, u32> {
    of.into_iter().fold(BTreeMap::new(), |mut all, one| {
        *all.entry(one).or_default() += 1;
        all
    })
}

fn spread<T: Ord>(all: &BTreeMap<T, u32>) -> u32 {
    let values = || all.values().copied();
    values().max().unwrap_or(0) - values().min().unwrap_or(0)
}

/// The statistic of Pearson against even cells.
fn chi_squared<T: Ord>(all: &BTreeMap<T, u32>, cells: u32) -> f64 {
    let expected = f64::from(all.values().sum::<u32>()) / f64::from(cells);
    let missing = f64::from(cells) - all.len() as f64;
    let off = |count: &u32| f64::from(*count) - expected;
    let cell = |count: &u32| off(count) * off(count) / expected;
    all.values().map(cell).sum::<f64>() + missing * expected
}

#[test]
fn random_orders_are_uniform_over_a_thousand_participants() {
    let design = Design {
        within: vec![within("layout", 4, LevelOrder::Random)],
        ..Design::default()
    };
    let draws = one_by_one(&design, 1_000);
    let orders = tally(draws.iter().map(|draw| draw.orders["layout"].clone()));
    // 24 orders; the value that chi-squared with 23 degrees of freedom exceeds once in a thousand is 49.73.
    let found = chi_squared(&orders, 24);
    assert!(found < 49.73, "{found}: {orders:?}");
    for position in 0..4 {
        let first = tally(
            draws
                .iter()
                .map(|draw| draw.orders["layout"][position].clone()),
        );
        // 3 degrees of freedom, once in a thousand: 16.27.
        assert!(chi_squared(&first, 4) < 16.27, "{first:?}");
    }
}

#[test]
fn counts_of_a_thousand_participants_differ_by_one_at_most() {
    for assign in [Assign::LeastFilled, Assign::Block] {
        let design = Design {
            between: vec![between("speed", 3, assign), between("partner", 2, assign)],
            ..Design::default()
        };
        let draws = one_by_one(&design, 1_000);
        for upto in [1, 7, 100, 999, 1_000] {
            let cells = tally(draws[..upto].iter().map(|draw| draw.levels.clone()));
            let empty = u32::from(cells.len() < 6);
            let most = cells.values().max().copied().unwrap_or(0);
            assert!(
                spread(&cells) <= 1 && (empty == 0 || most == 1),
                "{assign:?} after {upto}: {cells:?}"
            );
        }
        // Not in a fixed turn: the next level cannot be predicted from the earlier ones.
        let turns = tally(draws.chunks_exact(6).map(|turn| {
            turn.iter()
                .map(|draw| draw.levels.clone())
                .collect::<Vec<_>>()
        }));
        assert!(turns.len() > 100, "{}", turns.len());
    }
}

#[test]
fn random_treatments_are_uniform_and_not_forced_to_be_even() {
    let design = Design {
        between: vec![between("speed", 4, Assign::Random)],
        ..Design::default()
    };
    let cells = tally(
        one_by_one(&design, 1_000)
            .into_iter()
            .map(|draw| draw.levels),
    );
    assert!(chi_squared(&cells, 4) < 16.27, "{cells:?}");
    assert!(spread(&cells) > 1, "{cells:?}");
}

#[test]
fn sequences_are_least_filled_within_each_treatment() {
    let design = Design {
        between: vec![between("speed", 2, Assign::LeastFilled)],
        within: vec![
            within("layout", 5, LevelOrder::Williams),
            within("fixed", 2, LevelOrder::Fixed),
        ],
        ..Design::default()
    };
    let draws = one_by_one(&design, 200);
    let cells = tally(
        draws
            .iter()
            .map(|draw| (draw.levels.clone(), draw.orders["layout"].clone())),
    );
    assert_eq!((cells.len(), spread(&cells)), (20, 0), "{cells:?}");
    assert!(
        draws
            .iter()
            .all(|draw| draw.orders["fixed"] == ["level0", "level1"])
    );
}

/// 1,000 arrivals, up to `waiting` of them at the same time; three in ten give up: completed units by cell.
fn with_dropout(
    design: &Design,
    waiting: usize,
    seed: u64,
) -> BTreeMap<(BTreeMap<String, String>, Vec<String>), u32> {
    let mut random = seed;
    let mut below = |bound: usize| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % bound
    };
    let (mut under_way, mut completed): (Vec<UnitAssignment>, Vec<UnitAssignment>) =
        Default::default();
    let (mut arrived, mut refused) = (0, 0);
    while refused == 0 || !under_way.is_empty() {
        let mut counts = Counts::default();
        completed
            .iter()
            .for_each(|draw| counts.add(design, draw, Standing::Completed));
        under_way
            .iter()
            .for_each(|draw| counts.add(design, draw, Standing::UnderWay));
        let comes = under_way.is_empty() || (under_way.len() < waiting && below(2) == 0);
        let drawn = comes.then(|| draw(design, arrived, &counts));
        match drawn {
            Some(Ok(draw)) => {
                under_way.push(draw);
                arrived += 1;
            }
            Some(Err(StudyFull)) if under_way.is_empty() => refused += 1,
            _ => {
                let leaves = under_way.swap_remove(below(under_way.len()));
                completed.extend((below(10) >= 3).then_some(leaves));
            }
        }
    }
    tally(
        completed
            .into_iter()
            .map(|draw| (draw.levels, draw.orders.into_values().flatten().collect())),
    )
}

#[test]
fn with_thirty_percent_dropout_cells_differ_by_one_completed_unit_at_most() {
    for (seed, waiting) in [(1, 1), (2, 12), (3, 60)] {
        let design = Design {
            quota: Quota::Total(101),
            between: vec![between("speed", 4, Assign::LeastFilled)],
            ..Design::default()
        };
        let cells = with_dropout(&design, waiting, seed);
        assert_eq!(cells.values().sum::<u32>(), 101);
        assert!(spread(&cells) <= 1, "{waiting} at once: {cells:?}");

        let orders = Design {
            quota: Quota::Total(40),
            between: Vec::new(),
            within: vec![within("layout", 5, LevelOrder::Williams)],
            ..Design::default()
        };
        let cells = with_dropout(&orders, waiting, seed);
        assert_eq!(
            (cells.len(), spread(&cells)),
            (10, 0),
            "{waiting} at once: {cells:?}"
        );
    }
}

#[test]
fn quotas_of_treatments_are_reached_and_not_passed() {
    let design = Design {
        quota: Quota::Each(vec![30, 5, 0]),
        between: vec![between("speed", 3, Assign::Random)],
        ..Design::default()
    };
    let cells = with_dropout(&design, 8, 9);
    let counts: Vec<_> = cells
        .into_iter()
        .map(|((levels, _), count)| (levels["speed"].clone(), count))
        .collect();
    assert_eq!(
        counts,
        [("level0".to_owned(), 30), ("level1".to_owned(), 5)]
    );
}

#[test]
fn a_place_is_one_of_the_units_own_treatment() {
    let each = Design {
        quota: Quota::Each(vec![1, 1]),
        between: vec![between("speed", 2, Assign::LeastFilled)],
        ..Design::default()
    };
    let mut counts = Counts::default();
    let first = draw(&each, 0, &counts).expect("a place");
    counts.add(&each, &first, Standing::UnderWay);
    let second = draw(&each, 1, &counts).expect("a place");
    assert!(!assign::has_place(&each, &counts, &first));
    assert!(assign::has_place(&each, &counts, &second));
    let total = Design {
        quota: Quota::Total(2),
        ..each.clone()
    };
    // Who was drawn by another version of the study has a place all the same.
    let other = UnitAssignment::default();
    assert!(assign::has_place(&total, &counts, &other));
    counts.add(&total, &second, Standing::Completed);
    assert!(!assign::has_place(&total, &counts, &other));
    let unlimited = Design {
        quota: Quota::None,
        ..each
    };
    assert!(assign::has_place(&unlimited, &counts, &other));
}

#[test]
fn a_full_study_is_told_before_anybody_is_let_in() {
    let design = Design {
        quota: Quota::Total(2),
        ..Design::default()
    };
    let mut counts = Counts::default();
    for number in 0..2 {
        assert!(assign::places_left(&design, &counts) > Some(0));
        let draw = draw(&design, number, &counts).expect("a place");
        counts.add(&design, &draw, Standing::UnderWay);
    }
    assert_eq!(assign::places_left(&design, &counts), Some(0));
    assert_eq!(draw(&design, 2, &counts), Err(StudyFull));
    assert_eq!(StudyFull.to_string(), "the study is full");
}

/// Counts each level at each position, and each ordered pair side by side.
fn balance(order: LevelOrder, count: usize) -> [BTreeMap<(usize, usize), u32>; 2] {
    let rows: Vec<Vec<usize>> = (0..assign::rows(order, count))
        .map(|row| assign::level_sequence(order, count, row.into()))
        .collect();
    let places = rows.iter().flat_map(|row| row.iter().copied().enumerate());
    let pairs = rows
        .iter()
        .flat_map(|row| row.windows(2).map(|pair| (pair[0], pair[1])));
    [tally(places), tally(pairs)]
}

proptest! {
    #[test]
    fn williams_designs_are_balanced_for_position_and_neighbour(count in 2_usize..65) {
        prop_assert_eq!(usize::from(assign::rows(LevelOrder::Williams, count)), if count % 2 == 0 { count } else { 2 * count });
        let [places, pairs] = balance(LevelOrder::Williams, count);
        let each = if count % 2 == 0 { 1 } else { 2 };
        prop_assert_eq!(places.len(), count * count);
        prop_assert!(places.values().all(|often| *often == each));
        prop_assert_eq!(pairs.len(), count * (count - 1));
        prop_assert!(pairs.values().all(|often| *often == each));
    }

    #[test]
    fn latin_squares_have_every_level_once_in_each_position(count in 2_usize..65) {
        let [places, pairs] = balance(LevelOrder::Latin, count);
        prop_assert_eq!(places.len(), count * count);
        prop_assert!(places.values().all(|often| *often == 1));
        if count % 2 == 0 {
            prop_assert_eq!(pairs.len(), count * (count - 1), "Bradley balances neighbours");
        }
    }

    #[test]
    fn the_same_inputs_give_the_same_draw(seed: u64, number in 0_u64..5_000) {
        let design = Design {
            between: vec![between("speed", 3, Assign::LeastFilled), between("partner", 2, Assign::Block), between("colour", 2, Assign::Random)],
            within: vec![within("layout", 5, LevelOrder::Williams), within("task", 4, LevelOrder::Random)],
            ..Design::default()
        };
        let counts = Counts::default();
        let drawn = || assign::assign(&design, Unit::Participant, seed, number, &counts).expect("no quota");
        let draw = drawn();
        prop_assert_eq!(&draw, &drawn());
        let kept = serde_json::to_string(&draw).expect("plain data");
        prop_assert_eq!(serde_json::from_str::<UnitAssignment>(&kept).expect("as written"), draw);
    }
}

#[test]
fn what_is_drawn_never_changes_with_the_version() {
    let design = Design {
        between: vec![between("speed", 3, Assign::LeastFilled)],
        within: vec![
            within("layout", 4, LevelOrder::Random),
            within("task", 3, LevelOrder::Latin),
        ],
        ..Design::default()
    };
    let draw = draw(&design, 5, &Counts::default()).expect("no quota");
    assert_eq!(
        serde_json::to_string(&draw).expect("plain data"),
        "{\"seed\":3661920063069524372,\"levels\":{\"speed\":\"level2\"},\
         \"orders\":{\"layout\":[\"level1\",\"level2\",\"level3\",\"level0\"],\"task\":[\"level2\",\"level0\",\"level1\"]},\
         \"sequences\":{\"task\":2}}"
    );
}

#[test]
fn a_unit_that_is_not_the_designs_gets_a_seed_alone() {
    let design = Design {
        unit: Unit::Group,
        between: vec![between("speed", 3, Assign::LeastFilled)],
        ..Design::default()
    };
    let own = draw(&design, 0, &Counts::default()).expect("no quota");
    assert!(own.levels.is_empty());
    let group = assign::assign(&design, Unit::Group, 42, 0, &Counts::default()).expect("no quota");
    assert_eq!(group.levels.len(), 1);
    assert_ne!(own.seed, group.seed);
}

const COUNTERBALANCED: &str = "format: 1
study: {id: orders, version: 1.0.0, title: Orders, contact: lab@example.edu}
design:
  between:
    speed: {levels: [slow, fast]}
  within:
    layout: {levels: [ring, room, circuit, hall], order: latin}
timeline:
  - {id: how, type: instructions, pages: [how.md]}
  - id: play
    type: env
    env: overcooked@2.0.0
    for_each: layout
    config: {layout: '{{ layout }}', pace: '{{ speed }}'}
  - id: late
    shuffle: true
    choose: 2
    block:
      - {id: first, type: instructions, pages: [how.md]}
      - {id: second, type: instructions, pages: [how.md]}
      - {id: third, type: instructions, pages: [how.md]}
";

/// MUG: condition order changed in 39 of 40 reloads. Here it is drawn once, stored, and follows only from what is
/// stored.
#[test]
fn condition_order_and_assignment_are_identical_after_every_reload_and_restart() {
    let folder = Folder::new("reloads");
    folder.write("study.yaml", COUNTERBALANCED);
    let study = study::load(&folder.path).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let mut orders = std::collections::BTreeSet::new();
    for number in 0..40 {
        let draw = assign::assign(
            &study.design,
            Unit::Participant,
            3,
            number,
            &Counts::default(),
        )
        .expect("no quota");
        let mut at = Progress::new(&study, draw);
        let route = |at: &Progress, study: &study::Study| {
            let route = study::timeline::make_route(study, at.assignment());
            route
                .iter()
                .map(|visit| (visit.stage, visit.bindings.clone()))
                .collect::<Vec<_>>()
        };
        let first = route(&at, &study);
        orders.insert(format!("{first:?}"));
        // A restart: the study is read again, and the place comes from the database.
        let again = study::load(&folder.path).expect("a good study");
        for _ in 0..3 {
            let kept = serde_json::to_string(&at).expect("plain data");
            at = serde_json::from_str(&kept).expect("as written");
            assert_eq!(route(&at, &again), first);
        }
    }
    assert!(orders.len() > 20, "{}", orders.len());
}
