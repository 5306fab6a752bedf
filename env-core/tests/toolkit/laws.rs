//! Things are made or lost only where that is declared, nobody stands on another, masks are right.

use std::collections::BTreeSet;

use env_core::conformance::check_batch;
use env_core::grid::tables::Hand;
use env_core::grid::{Agent, KindId, Motion, RuleSet, State, Tables};
use env_core::rng::Rng;
use env_core::{Action, Environment as _, Spec, StepEvent, StepOutcome};

use super::world::{Anything, Params, change};

/// An episode of random actions; acts are half of them.
struct Episode {
    env: Anything,
    params: Params,
    spec: Spec,
    rng: Rng,
    state: State<()>,
    outcome: StepOutcome,
}

impl Episode {
    fn new(params: Params, seed: u64) -> Self {
        let env = Anything::new(params.clone()).unwrap();
        let (spec, state) = (env.spec(), env.reset(seed));
        let (rng, outcome) = (Rng::new(seed), StepOutcome::default());
        Self {
            env,
            params,
            spec,
            rng,
            state,
            outcome,
        }
    }

    fn actions(&mut self) -> Vec<Action> {
        let motions = &self.env.tables().motions;
        let acts: Vec<Action> = (0..motions.len())
            .filter(|&action| matches!(motions[action], Motion::Reach | Motion::Toggle))
            .map(|action| action as Action)
            .collect();
        (0..self.spec.seats)
            .map(|_| match self.rng.flip() {
                true => acts[self.rng.below(acts.len() as u32) as usize],
                false => self.rng.below(self.spec.actions.len() as u32) as Action,
            })
            .collect()
    }

    /// Takes a step, in an order of moving that is drawn here half of the times.
    fn step(&mut self) -> Vec<Action> {
        let actions = self.actions();
        if self.rng.flip() {
            let mut ranks: Vec<u32> = (0..u32::from(self.spec.seats)).collect();
            self.rng.shuffle(&mut ranks);
            self.env.inject(&mut self.state, &ranks);
        }
        self.env.step(&mut self.state, &actions, &mut self.outcome);
        actions
    }

    fn agents(&self) -> &[Agent] {
        &self.state.agents[..usize::from(self.spec.seats)]
    }

    fn items(&self) -> Vec<KindId> {
        self.env.world().items(self.env.tables(), &self.state)
    }

    fn place(&self) -> String {
        format!("{}, step {}", self.env.world().name(), self.state.steps)
    }
}

#[test]
fn any_world_keeps_the_laws_of_environments() {
    check_batch::<Anything>(Params::many(24)).unwrap();
    let cogrid = |params: Params| Params {
        rules: RuleSet::Cogrid,
        generated: false,
        ..params
    };
    check_batch::<Anything>(Params::many(12).map(cogrid)).unwrap();
}

#[test]
fn nothing_is_made_or_lost_but_where_it_is_declared() {
    let (mut acts, plan_of) = (BTreeSet::new(), |params: &Params| params.plan());
    for params in Params::many(60) {
        let mut episode = Episode::new(params, 7);
        let plan = plan_of(&episode.params);
        for _ in 0..150 {
            let before = episode.items();
            episode.step();
            let names: Vec<&str> = episode
                .outcome
                .events
                .iter()
                .map(|&StepEvent { kind, .. }| episode.spec.events[usize::from(kind)].as_str())
                .collect();
            let changed: i64 = names.iter().map(|name| change(&plan, name)).sum();
            let after = episode.items();
            let place = episode.place();
            assert_eq!(
                after.len() as i64 - before.len() as i64,
                changed,
                "{place}: {names:?}"
            );
            let moves = |name: &&str| {
                change(&plan, name) == 0
                    && !name.starts_with("serve")
                    && !name.starts_with("take heap")
            };
            if names.iter().all(moves) {
                assert_eq!(after, before, "{place}: {names:?}");
            }
            acts.extend(names.into_iter().map(str::to_owned));
        }
    }
    for act in [
        "take heap",
        "take apple",
        "take gem",
        "take shelf",
        "place tray",
        "add oven",
        "serve press",
        "deliver bin",
        "toggle lamp",
        "toggle lock",
        "toggle gate",
        "toggle crate",
    ] {
        assert!(acts.contains(act), "{act} never happened: {acts:?}");
    }
}

#[test]
fn nobody_ever_stands_on_another_or_walks_through_a_wall() {
    for (seats, params) in Params::many(64).enumerate() {
        let mut episode = Episode::new(
            Params {
                seats: 1 + seats % 16,
                ..params
            },
            3,
        );
        for _ in 0..150 {
            let before = episode.agents().to_vec();
            let actions = episode.step();
            let place = episode.place();
            let tables = episode.env.tables();
            let cells: BTreeSet<u16> = episode.agents().iter().map(|agent| agent.cell).collect();
            assert_eq!(cells.len(), before.len(), "{place}");
            for ((was, agent), &action) in before.iter().zip(episode.agents()).zip(&actions) {
                let on = episode.state.kind(agent.cell);
                assert!(tables.walkable.has(on), "{place}: {agent:?} stands on {on}");
                let walks = matches!(
                    tables.motions[usize::from(action)],
                    Motion::Walk(_) | Motion::Forward
                );
                let went = tables.cell_in_front(was.cell, agent.facing);
                assert!(
                    agent.cell == was.cell || walks && agent.cell == went,
                    "{place}: {was:?} did {action} and is {agent:?}"
                );
            }
        }
    }
}

#[test]
fn an_agent_with_free_floor_in_front_and_nobody_near_moves() {
    for params in Params::many(16) {
        let mut episode = Episode::new(Params { seats: 1, ..params }, 5);
        for _ in 0..100 {
            let was = episode.state.agents[0];
            let before = episode.state.done;
            let action = episode.step()[0];
            let agent = episode.state.agents[0];
            let tables = episode.env.tables();
            let walks = matches!(
                tables.motions[usize::from(action)],
                Motion::Walk(_) | Motion::Forward
            );
            let target = tables.cell_in_front(was.cell, agent.facing);
            let free = before == 0 && walks && tables.walkable.has(episode.state.kind(target));
            assert_eq!(
                agent.cell,
                if free { target } else { was.cell },
                "{}",
                episode.place()
            );
        }
    }
}

/// Checks whether a row of actions does something else than no-ops would.
fn matters(episode: &Episode, row: &[Action]) -> bool {
    let after = |row: &[Action]| {
        let (mut state, mut outcome) = (episode.state.clone(), StepOutcome::default());
        episode.env.step(&mut state, row, &mut outcome);
        (state, outcome)
    };
    after(row) != after(&vec![episode.spec.noop; row.len()])
}

#[test]
fn an_act_has_an_effect_exactly_if_its_mask_says_so() {
    let (mut allowed, mut barred) = (0, 0);
    for params in Params::many(40) {
        let mut episode = Episode::new(params, 11);
        for _ in 0..100 {
            for seat in (0..usize::from(episode.spec.seats))
                .filter(|seat| episode.state.done >> seat & 1 == 0)
            {
                let mask = episode.env.mask(&episode.state, seat);
                for (action, motion) in episode.env.tables().motions.iter().enumerate() {
                    if matches!(motion, Motion::Reach | Motion::Toggle) {
                        let mut row = vec![episode.spec.noop; usize::from(episode.spec.seats)];
                        row[seat] = action as Action;
                        let may = mask >> action & 1 == 1;
                        let place = episode.place();
                        assert_eq!(
                            matters(&episode, &row),
                            may,
                            "{place}, seat {seat}, {motion:?}"
                        );
                        *if may { &mut allowed } else { &mut barred } += 1;
                    }
                }
            }
            episode.step();
            if episode.outcome.over {
                break;
            }
        }
    }
    assert!(allowed > 1_000 && barred > 1_000, "{allowed} and {barred}");
}

#[test]
fn containers_count_down_and_switches_go_out() {
    for params in Params::many(40) {
        let mut episode = Episode::new(params, 13);
        for _ in 0..150 {
            let tables = episode.env.tables().clone();
            let before: Vec<(u8, u8, u8)> = episode
                .state
                .fixtures(&tables)
                .map(|fixture| (fixture.timer(), fixture.count(), fixture.kind()))
                .collect();
            episode.step();
            for (fixture, (timer, count, kind)) in episode.state.fixtures(&tables).zip(before) {
                let place = episode.place();
                assert_eq!(
                    fixture.kind(),
                    kind,
                    "{place}: fixtures stay where they are"
                );
                assert!(fixture.count() <= fixture.capacity(), "{place}");
                match tables.hands[usize::from(kind)] {
                    Hand::Switch(time) => {
                        let left = fixture.timer();
                        assert!(
                            left + 1 == timer || left == timer && timer == 0 || left == time,
                            "{place}"
                        );
                    }
                    Hand::Container(index) => {
                        let container = &tables.containers[usize::from(index)];
                        let full = fixture.count() == fixture.capacity();
                        assert_eq!(
                            tables.dish(fixture).is_some(),
                            full,
                            "{place}: what is full makes something"
                        );
                        if full && count == fixture.capacity() {
                            assert_eq!(fixture.timer(), timer.saturating_sub(1), "{place}");
                        }
                        if !full {
                            assert_eq!(fixture.timer(), container.idle, "{place}");
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}

/// The kinds that a kind may turn into by one act, nothing included.
fn turns(tables: &Tables, kind: KindId) -> Vec<KindId> {
    let carried = (1..=tables.kinds.len() as KindId)
        .filter(|&kind| tables.hands[usize::from(kind)] == Hand::Loose);
    match tables.hands[usize::from(kind)] {
        Hand::Floor => carried.collect(),
        Hand::Loose | Hand::Collect => vec![0],
        Hand::Becomes { into, .. } => vec![into],
        _ => Vec::new(),
    }
}

#[test]
fn the_ground_changes_only_as_it_is_declared() {
    let mut changes = BTreeSet::new();
    for params in Params::many(40) {
        let mut episode = Episode::new(params, 17);
        for _ in 0..150 {
            let before = episode.state.clone();
            episode.step();
            let tables = episode.env.tables();
            for cell in 0..tables.cells as u16 {
                let (was, is) = (before.kind(cell), episode.state.kind(cell));
                // Several agents may act on a cell in one step, one after the other.
                let mut reached = BTreeSet::from([was]);
                for _ in 0..tables.seats {
                    let next: Vec<KindId> = reached
                        .iter()
                        .flat_map(|&kind| turns(tables, kind))
                        .collect();
                    reached.extend(next);
                }
                let place = episode.place();
                assert!(reached.contains(&is), "{place}: {was} became {is}");
                if was != is {
                    let name = |kind| tables.kind(kind).map_or("", |kind| kind.name.as_str());
                    changes.insert(format!("{} {}", name(was), name(is)));
                }
            }
        }
    }
    for change in [
        "lock gate",
        "door gate",
        "gate door",
        "crate ",
        "gem ",
        "apple ",
        " apple",
    ] {
        assert!(
            changes.contains(change),
            "{change} never happened: {changes:?}"
        );
    }
}
