//! Directives: the one thing that a policy must do, in the name under which it plays.
//!
//! `cook:fetch_plate` is the cook that takes a plate and holds it. A seat follows another directive by changing its
//! controller at a tick, so pages, replicas and replays need nothing else to repeat the directive. This module must not
//! know who gives it, and why.

use env_core::{Policy, Spec, World};

use crate::basic::Follow;
use crate::cook::Cook;
use crate::{FOLLOW, Imperfection, sha256_of};

/// Between the name of a policy and its directive.
const TELLS: char = ':';

/// The name of the scripted cook.
const COOK: &str = "cook";

/// A directive that a policy can follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// Its word, such as `fetch_plate`.
    pub word: String,
    /// Its meaning, for people and language models.
    pub means: String,
}

/// The script in a name, without directive and imperfections.
fn script_of(name: &str) -> &str {
    let end = name.find(['~', TELLS]).unwrap_or(name.len());
    &name[..end]
}

/// The directives that the policy of a name can follow in a seat of an environment; empty for most policies.
pub fn directives(name: &str, spec: &Spec, seat: usize) -> Vec<Directive> {
    if sha256_of(name).is_some() {
        return Vec::new();
    }
    match script_of(name) {
        COOK if Cook::new(spec).is_some() => {
            let all = Cook::list_errands();
            all.map(|(word, means)| Directive {
                word: word.to_owned(),
                means: means.to_owned(),
            })
            .collect()
        }
        FOLLOW => {
            let all = (0..).zip(&spec.actions);
            let own = all.filter(|(at, action)| action.directive && spec.has_action(seat, *at));
            own.map(|(_, action)| Directive {
                word: action.name.clone(),
                means: action.name.replace('_', " "),
            })
            .collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the name under which the policy of a name plays with another directive; its imperfections stay. `None` if
/// the word means nothing to it there.
pub fn name_with_directive(name: &str, word: &str, spec: &Spec, seat: usize) -> Option<String> {
    let known = directives(name, spec, seat);
    known.iter().find(|known| known.word == word)?;
    let (_, how) = Imperfection::split(name);
    let script = script_of(name);
    Some(match how == Imperfection::default() {
        true => format!("{script}{TELLS}{word}"),
        false => {
            let (delay, noise) = (how.delay_ticks, how.noise_permille);
            format!("{script}{TELLS}{word}~d{delay}n{noise}")
        }
    })
}

/// Returns whether a directive can be followed in the current state of a world.
pub fn can_follow(name: &str, word: &str, world: &mut dyn World, seat: usize) -> bool {
    if name_with_directive(name, word, world.spec(), seat).is_none() {
        return false;
    }
    match script_of(name) {
        COOK => {
            let Some(cook) = Cook::with_errand(world.spec(), word) else {
                return false;
            };
            let mut observation = Vec::new();
            world.observe(seat, &mut observation);
            cook.can_do_errand(seat, &observation)
        }
        _ => {
            let mut actions = (0_u32..).zip(&world.spec().actions);
            let at = actions.find(|(_, action)| action.name == word);
            let at = at.map(|(at, _)| at);
            // The mask has room for this many actions.
            at.is_some_and(|at| at >= u64::BITS || world.mask(seat) >> at & 1 == 1)
        }
    }
}

/// Returns whether the second name is the policy of the first one with a directive.
pub fn is_told(before: &str, after: &str) -> bool {
    let front = after.split('~').next().unwrap_or_default();
    let is_same = Imperfection::split(before).1 == Imperfection::split(after).1;
    front.contains(TELLS) && is_same && script_of(before) == script_of(after)
}

/// The policy of a name with a directive.
pub(crate) fn open(name: &str, spec: &Spec) -> Option<Box<dyn Policy>> {
    let (script, word) = name.split_once(TELLS)?;
    match script {
        COOK => Some(Box::new(Cook::with_errand(spec, word)?)),
        FOLLOW => Some(Box::new(Follow::new(spec, Some(word))?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use env_core::contract::ActionSpec;

    use super::*;

    fn kitchen() -> Box<dyn World> {
        let world = env_core::envs::open("overcooked", r#"{"layout": "cramped_room"}"#);
        let mut world = world.unwrap();
        world.reset(7);
        world
    }

    #[test]
    fn a_directive_is_in_the_name_and_imperfections_stay() {
        let kitchen = kitchen();
        let spec = kitchen.spec();
        let told = |name: &str, word: &str| name_with_directive(name, word, spec, 1);
        assert_eq!(told("cook", "wait").as_deref(), Some("cook:wait"));
        assert_eq!(
            told("cook:wait~d3n50", "fetch_plate").as_deref(),
            Some("cook:fetch_plate~d3n50")
        );
        assert_eq!(told("cook", "dance"), None);
        assert_eq!(told("idle", "wait"), None);
        assert!(directives("random", spec, 0).is_empty());
        for Directive { word, .. } in directives("cook", spec, 0) {
            assert!(crate::by_name(&format!("cook:{word}"), spec).is_some());
        }
        assert!(crate::by_name("cook:dance", spec).is_none());
        assert!(is_told("cook~d3n50", "cook:wait~d3n50"));
        assert!(!is_told("cook~d3n50", "cook:wait"), "it is another cook");
        assert!(!is_told("cook:wait", "cook") && !is_told("random", "cook:wait"));
    }

    /// Plays both seats, and gives the words of the second one's state at the end.
    fn play(world: &mut dyn World, name: &str, ticks: u32) -> String {
        let mut policy = crate::by_name(name, world.spec()).unwrap();
        policy.reset(1, 7);
        let noop = world.spec().noop;
        let mut observation = Vec::new();
        for _ in 0..ticks {
            let action = env_core::choose_action(world, &mut *policy, 1, &mut observation);
            world.step(&[noop, action]);
        }
        let mut words = String::new();
        world.describe(1, &mut words);
        words
    }

    #[test]
    fn a_cook_fetches_what_it_is_told_and_keeps_it() {
        let mut world = kitchen();
        let world = &mut *world;
        assert!(can_follow("cook:wait", "fetch_plate", world, 1));
        assert!(
            !can_follow("cook:wait", "serve_soup", world, 1),
            "there is no soup"
        );
        assert!(
            !can_follow("cook:wait", "put_down", world, 1),
            "the hands are empty"
        );
        let before = world.score();
        let held = play(world, "cook:fetch_plate", 60);
        assert!(held.contains("plate"), "{held}");
        assert!(can_follow("cook", "put_down", world, 1));
        play(world, "cook:fill_pot", 400);
        assert!(can_follow("cook", "serve_soup", world, 1));
        assert!(!can_follow("cook", "fill_pot", world, 1), "the pot is full");
        play(world, "cook:serve_soup", 200);
        assert!(world.score() > before, "it has delivered a soup");
    }

    #[test]
    fn a_directive_of_the_environment_is_pressed_once() {
        let action = |name: &str, directive| ActionSpec {
            name: name.to_owned(),
            directive,
            ..ActionSpec::default()
        };
        let spec = Spec {
            seats: 1,
            actions: vec![
                action("stay", false),
                action("go_a", true),
                action("go_b", true),
            ],
            ..Spec::default()
        };
        assert_eq!(directives("follow", &spec, 0).len(), 2);
        assert_eq!(name_with_directive("follow", "stay", &spec, 0), None);
        let name = name_with_directive("follow", "go_b", &spec, 0).unwrap();
        let mut policy = crate::by_name(&name, &spec).unwrap();
        policy.reset(0, 1);
        policy.save(0);
        let acted: Vec<_> = (0..3).map(|_| policy.act(&[])).collect();
        assert_eq!(acted, [2, 0, 0]);
        policy.load(0);
        assert_eq!(policy.act(&[]), 2, "a rollback presses it again");
    }
}
