//! What the person wants, from keys and touch buttons that go down and up.
//!
//! Of several lasting actions held at once, the one pressed last counts; when it is let go, the one pressed
//! before it counts again. A press of a momentary action counts once, however long it is held.
//! This module must not know of browsers: a source is any text that names a key or a button.

use env_core::{Action, Spec};

/// A source that is down.
#[derive(Debug)]
struct Held {
    source: String,
    action: Action,
}

/// The state of the keys of one person.
#[derive(Debug, Default)]
pub struct Keys {
    bindings: Vec<(String, Action)>,
    momentary: Vec<bool>,
    noop: Action,
    held: Vec<Held>,
}

impl Keys {
    /// Keys for an environment; `bindings` replaces the environment's own if it is not empty.
    pub fn new(spec: &Spec, bindings: &[(String, Action)]) -> Self {
        let own = || {
            let of = |(action, spec): (usize, &env_core::contract::ActionSpec)| {
                spec.keys
                    .iter()
                    .map(move |key| (key.clone(), action as Action))
                    .collect::<Vec<_>>()
            };
            spec.actions.iter().enumerate().flat_map(of).collect()
        };
        Self {
            bindings: if bindings.is_empty() {
                own()
            } else {
                bindings.to_vec()
            },
            momentary: spec.actions.iter().map(|action| action.momentary).collect(),
            noop: spec.noop,
            held: Vec::new(),
        }
    }

    /// The action of a key, by its `KeyboardEvent.code`.
    pub fn action_of(&self, code: &str) -> Option<Action> {
        self.bindings
            .iter()
            .find(|(key, _)| key == code)
            .map(|&(_, action)| action)
    }

    /// The keys of an action, in the order of the bindings.
    pub fn keys_of(&self, action: Action) -> impl Iterator<Item = &str> {
        self.bindings
            .iter()
            .filter(move |&&(_, bound)| bound == action)
            .map(|(key, _)| key.as_str())
    }

    /// A source goes down. Gives the action that is wanted from now on, or none if it was down already.
    pub fn press(&mut self, source: &str, action: Action) -> Option<Action> {
        if self.held.iter().any(|held| held.source == source) {
            return None;
        }
        self.held.push(Held {
            source: source.to_owned(),
            action,
        });
        Some(action)
    }

    /// A source goes up. Gives what it meant and, if the wish changed, the action wanted from now on.
    pub fn release(&mut self, source: &str) -> Option<(Action, Option<Action>)> {
        let before = self.lasting();
        let index = self.held.iter().position(|held| held.source == source)?;
        let action = self.held.remove(index).action;
        let now = self.lasting();
        Some((action, (now != before).then_some(now)))
    }

    /// Everything is let go, as when the page loses the focus. Gives what was held.
    pub fn release_all(&mut self) -> Vec<Action> {
        self.held.drain(..).map(|held| held.action).collect()
    }

    /// The lasting action that counts now.
    pub fn lasting(&self) -> Action {
        let lasts = |held: &&Held| {
            !self
                .momentary
                .get(usize::from(held.action))
                .copied()
                .unwrap_or(true)
        };
        self.held
            .iter()
            .rev()
            .find(lasts)
            .map_or(self.noop, |held| held.action)
    }
}

#[cfg(test)]
mod tests {
    use env_core::contract::ActionSpec;

    use super::*;

    const UP: Action = 0;
    const LEFT: Action = 1;
    const USE: Action = 2;
    const NOOP: Action = 3;

    fn keys() -> Keys {
        let action = |name: &str, momentary, keys: &[&str]| ActionSpec {
            name: name.to_owned(),
            momentary,
            keys: keys.iter().map(|&key| key.to_owned()).collect(),
        };
        let spec = Spec {
            id: "test".to_owned(),
            version: "1.0.0".to_owned(),
            title: "Test".to_owned(),
            seats: 2,
            actions: vec![
                action("up", false, &["ArrowUp", "KeyW"]),
                action("left", false, &["ArrowLeft"]),
                action("use", true, &["Space"]),
                action("noop", false, &[]),
            ],
            noop: NOOP,
            observation: Vec::new(),
            tick_hz: 10,
            horizon: 10,
            events: Vec::new(),
            compact: false,
        };
        Keys::new(&spec, &[])
    }

    #[test]
    fn the_last_pressed_wins_and_release_falls_back() {
        let mut keys = keys();
        assert_eq!(keys.press("ArrowUp", UP), Some(UP));
        assert_eq!(keys.press("ArrowLeft", LEFT), Some(LEFT));
        assert_eq!(keys.release("ArrowLeft"), Some((LEFT, Some(UP))));
        assert_eq!(keys.release("ArrowUp"), Some((UP, Some(NOOP))));
        assert_eq!(keys.release("ArrowUp"), None);
    }

    #[test]
    fn letting_go_of_what_does_not_count_changes_nothing() {
        let mut keys = keys();
        keys.press("ArrowUp", UP);
        keys.press("ArrowLeft", LEFT);
        assert_eq!(keys.release("ArrowUp"), Some((UP, None)));
        assert_eq!(keys.lasting(), LEFT);
    }

    #[test]
    fn a_momentary_press_counts_once_and_keeps_the_lasting_one() {
        let mut keys = keys();
        keys.press("ArrowUp", UP);
        assert_eq!(keys.press("Space", USE), Some(USE));
        assert_eq!(keys.press("Space", USE), None);
        assert_eq!(keys.lasting(), UP);
        assert_eq!(keys.release("Space"), Some((USE, None)));
    }

    #[test]
    fn two_keys_of_one_action_hold_it_together() {
        let mut keys = keys();
        keys.press("ArrowUp", UP);
        keys.press("KeyW", UP);
        assert_eq!(keys.release("ArrowUp"), Some((UP, None)));
        assert_eq!(keys.release("KeyW"), Some((UP, Some(NOOP))));
    }

    #[test]
    fn losing_the_focus_lets_everything_go() {
        let mut keys = keys();
        keys.press("ArrowUp", UP);
        keys.press("Space", USE);
        assert_eq!(keys.release_all(), [UP, USE]);
        assert_eq!(keys.lasting(), NOOP);
        assert_eq!(keys.press("ArrowUp", UP), Some(UP));
    }

    #[test]
    fn a_study_may_bind_other_keys() {
        let mut keys = keys();
        assert_eq!(keys.action_of("KeyW"), Some(UP));
        assert_eq!(keys.keys_of(UP).collect::<Vec<_>>(), ["ArrowUp", "KeyW"]);
        keys.bindings = vec![("KeyI".to_owned(), UP)];
        assert_eq!(keys.action_of("KeyI"), Some(UP));
        assert_eq!(keys.action_of("KeyW"), None);
    }
}
