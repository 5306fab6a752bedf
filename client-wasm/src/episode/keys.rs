//! The actions that a person wants, from keys, chords and touch buttons that go down and up.
//!
//! A chord counts once all its keys are down; parts of it that have a meaning alone do not count then: the longest
//! chord wins. If several lasting actions are held together, the last pressed one counts; when it is released, the one
//! pressed before counts again. A press of a momentary action counts once, however long it is held, and so does every
//! press if the study captures presses.
//! This module must not know of browsers.

use env_core::{Action, Spec};
use protocol::rules::SharingMode;

/// An action began or ceased to be meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActionChange {
    /// The action.
    pub action: Action,
    /// True if it began.
    pub down: bool,
    /// The action that the person wants by it, if that is another than before.
    pub wanted: Option<Action>,
}

/// Something that is down.
#[derive(Debug, PartialEq)]
enum Down {
    /// A key, by its `KeyboardEvent.code`.
    Key(String),
    /// A finger on the button of an action.
    Finger(i32, Action),
}

/// By what an action is meant.
#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    Binding(usize),
    Finger(i32),
}

/// Keys that mean an action when they are down together.
#[derive(Debug)]
struct Binding {
    /// As the study writes it.
    name: String,
    action: Action,
}

impl Binding {
    fn codes(&self) -> impl Iterator<Item = &str> {
        self.name.split('+')
    }

    fn has(&self, code: &str) -> bool {
        self.codes().any(|own| own == code)
    }

    /// True if it is that chord and more.
    fn exceeds(&self, other: &Self) -> bool {
        self.codes().count() > other.codes().count() && other.codes().all(|code| self.has(code))
    }
}

/// A seat that the person shares with AI partners.
#[derive(Debug)]
struct Shared {
    mode: SharingMode,
    /// The first mark: the one by which the seat is given away, or that of the first proposal.
    first: Action,
    /// True if the partner plays.
    is_given: bool,
}

/// The keys and buttons of one person.
#[derive(Debug, Default)]
pub struct Keys {
    bindings: Vec<Binding>,
    /// By action: whether it lasts while it is held.
    lasts: Vec<bool>,
    noop: Action,
    shared: Option<Shared>,
    /// In the order in which they went down.
    down: Vec<Down>,
    /// The actions that are meant, the one completed last at the end.
    held: Vec<(By, Action)>,
}

impl Keys {
    /// Keys for an environment. `bindings` are chords with `+` between their keys, and replace the environment's own
    /// keys if there are any. With `press` every press counts once.
    pub fn new(spec: &Spec, bindings: &[(String, Action)], press: bool) -> Self {
        let own = (0..).zip(&spec.actions);
        let own = own.flat_map(|(action, of)| of.keys.iter().map(move |key| (key, action)));
        let bindings: Vec<_> = match bindings {
            [] => own.collect(),
            _ => bindings
                .iter()
                .map(|(name, action)| (name, *action))
                .collect(),
        };
        let bind = |(name, action): (&String, Action)| Binding {
            name: name.clone(),
            action,
        };
        Self {
            bindings: bindings.into_iter().map(bind).collect(),
            lasts: (spec
                .actions
                .iter()
                .map(|action| !press && !action.momentary))
            .collect(),
            noop: spec.noop,
            ..Self::default()
        }
    }

    /// The seat is shared with AI partners, whose marks are the actions from `first` on. A study that lets people choose
    /// among proposals leaves them no other keys.
    pub fn share_seat(&mut self, mode: SharingMode, first: Action, is_given: bool) {
        if mode == SharingMode::Choose {
            self.bindings.retain(|binding| binding.action >= first);
        }
        for lasts in self.lasts.iter_mut().skip(usize::from(first)) {
            *lasts = false;
        }
        let shared = Shared {
            mode,
            first,
            is_given,
        };
        self.shared = Some(shared);
    }

    /// True if a person cannot mean this action now, because an AI partner has the seat, or proposes.
    fn is_closed(&self, action: Action) -> bool {
        self.shared.as_ref().is_some_and(|shared| {
            let is_own = action < shared.first;
            is_own
                && match shared.mode {
                    SharingMode::Handover => shared.is_given,
                    SharingMode::Override => false,
                    SharingMode::Choose => true,
                }
        })
    }

    /// Gives the seat away or takes it back if that is what the person has pressed. True if so.
    fn turn_over(&mut self, changes: &mut [ActionChange]) -> bool {
        let Some(shared) = &mut self.shared else {
            return false;
        };
        let is_mark = |change: &ActionChange| change.down && change.action == shared.first;
        let pressed = changes.iter().position(is_mark);
        let Some(pressed) = pressed.filter(|_| shared.mode != SharingMode::Choose) else {
            return false;
        };
        shared.is_given = !shared.is_given;
        let now = self.lasting();
        for (at, change) in changes.iter_mut().enumerate() {
            change.wanted = (at == pressed).then_some(now);
        }
        true
    }

    /// True if a key means something, alone or with others.
    pub fn has_key(&self, code: &str) -> bool {
        self.bindings.iter().any(|binding| binding.has(code))
    }

    /// The keys and chords of an action, in the order of the bindings.
    pub fn keys_of(&self, action: Action) -> impl Iterator<Item = &str> {
        let bindings = self.bindings.iter();
        let own = bindings.filter(move |binding| binding.action == action);
        own.map(|binding| binding.name.as_str())
    }

    /// A key goes down, by its `KeyboardEvent.code`.
    pub fn press_key(&mut self, code: &str) -> Vec<ActionChange> {
        let key = Down::Key(code.to_owned());
        if self.down.contains(&key) {
            return Vec::new();
        }
        self.down.push(key);
        self.settle(|binding| binding.has(code))
    }

    /// A key goes up.
    pub fn release_key(&mut self, code: &str) -> Vec<ActionChange> {
        self.down
            .retain(|down| !matches!(down, Down::Key(key) if key == code));
        self.settle(|_| false)
    }

    /// Notes that a finger is on the button of an action from now on, or on none.
    pub fn touch_button(&mut self, finger: i32, action: Option<Action>) -> Vec<ActionChange> {
        let now = action.map(|action| Down::Finger(finger, action));
        if now.as_ref().is_none_or(|now| !self.down.contains(now)) {
            self.down
                .retain(|down| !matches!(down, Down::Finger(own, _) if *own == finger));
            self.down.extend(now);
        }
        self.settle(|_| false)
    }

    /// Everything is let go, as when the page loses the focus.
    pub fn release_all(&mut self) -> Vec<ActionChange> {
        self.down.clear();
        self.settle(|_| false)
    }

    /// The actions whose keys, buttons or points are down now, however they count.
    pub fn held_actions(&self) -> impl Iterator<Item = Action> {
        self.held.iter().map(|(_, action)| *action)
    }

    /// The lasting action that counts now.
    fn lasting(&self) -> Action {
        let counts = |action: Action| self.lasts(action) && !self.is_closed(action);
        let last = self.held.iter().rfind(|(_, action)| counts(*action));
        let given = self.shared.as_ref().filter(|shared| shared.is_given);
        let rest = given.map_or(self.noop, |shared| shared.first);
        last.map_or(rest, |&(_, action)| action)
    }

    fn lasts(&self, action: Action) -> bool {
        self.lasts.get(usize::from(action)) == Some(&true)
    }

    /// The actions meant by all that is down, the one completed last at the end.
    fn meant(&self) -> Vec<(By, Action)> {
        let at = |code: &str| {
            let is = |down: &Down| matches!(down, Down::Key(key) if key == code);
            self.down.iter().position(is)
        };
        let completed = |binding: &Binding| {
            binding
                .codes()
                .map(at)
                .try_fold(0, |last, at| Some(last.max(at?)))
        };
        let wins = |binding: &Binding| {
            let mut others = self.bindings.iter();
            !others.any(|other| other.exceeds(binding) && completed(other).is_some())
        };
        let chords = self.bindings.iter().enumerate();
        let chords = chords.filter_map(|(index, binding)| {
            let at = completed(binding).filter(|_| wins(binding))?;
            Some((at, (By::Binding(index), binding.action)))
        });
        let fingers = self.down.iter().enumerate();
        let fingers = fingers.filter_map(|(at, down)| match down {
            Down::Finger(finger, action) => Some((at, (By::Finger(*finger), *action))),
            Down::Key(_) => None,
        });
        let mut meant: Vec<_> = chords.chain(fingers).collect();
        meant.sort_by_key(|&(at, _)| at);
        meant.into_iter().map(|(_, meant)| meant).collect()
    }

    /// Computes the held actions from the pressed keys and buttons. A momentary action that is not held begins only by
    /// a finger, or by a binding that was `pressed`: when a chord is released, its parts are not pressed again.
    fn settle(&mut self, pressed: impl Fn(&Binding) -> bool) -> Vec<ActionChange> {
        let (before, meant) = (self.lasting(), self.meant());
        let old = std::mem::take(&mut self.held);
        let gone = old.iter().filter(|held| !meant.contains(held));
        let up = |&(_, action): &(By, Action)| ActionChange {
            action,
            down: false,
            wanted: None,
        };
        let mut changes: Vec<ActionChange> = gone.map(up).collect();
        for (by, action) in meant {
            let lasts = self.lasts(action);
            let begins = match by {
                By::Binding(index) => lasts || pressed(&self.bindings[index]),
                By::Finger(_) => true,
            };
            let is_held = old.contains(&(by, action));
            if begins && !is_held {
                changes.push(ActionChange {
                    action,
                    down: true,
                    wanted: (!lasts && !self.is_closed(action)).then_some(action),
                });
            }
            if begins || is_held {
                self.held.push((by, action));
            }
        }
        if self.turn_over(&mut changes) {
            return changes;
        }
        let now = self.lasting();
        if now != before {
            let began = |change: &&mut ActionChange| change.down && change.action == now;
            let by = match changes
                .iter()
                .any(|change| change.down && change.action == now)
            {
                true => changes.iter_mut().rfind(began),
                false => changes.iter_mut().rfind(|change| change.wanted.is_none()),
            };
            if let Some(change) = by {
                change.wanted = Some(now);
            }
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use env_core::contract::ActionSpec;
    use env_core::shared::make_marks;

    use super::*;

    const UP: Action = 0;
    const LEFT: Action = 1;
    const USE: Action = 2;
    const NOOP: Action = 3;
    const MARK: Action = 4;

    fn spec() -> Spec {
        let action = |name: &str, momentary, keys: &[&str]| ActionSpec {
            name: name.to_owned(),
            momentary,
            keys: keys.iter().map(|&key| key.to_owned()).collect(),
            ..ActionSpec::default()
        };
        Spec {
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
            ..Spec::default()
        }
    }

    fn keys() -> Keys {
        Keys::new(&spec(), &[], false)
    }

    fn bound(bindings: &[(&str, Action)], press: bool) -> Keys {
        let named = |&(name, action): &(&str, Action)| (name.to_owned(), action);
        Keys::new(
            &spec(),
            &bindings.iter().map(named).collect::<Vec<_>>(),
            press,
        )
    }

    fn down(action: Action, wanted: Option<Action>) -> ActionChange {
        ActionChange {
            action,
            down: true,
            wanted,
        }
    }

    fn up(action: Action, wanted: Option<Action>) -> ActionChange {
        ActionChange {
            down: false,
            ..down(action, wanted)
        }
    }

    #[test]
    fn the_last_pressed_wins_and_release_falls_back() {
        let mut keys = keys();
        assert_eq!(keys.press_key("ArrowUp"), [down(UP, Some(UP))]);
        assert_eq!(keys.press_key("ArrowLeft"), [down(LEFT, Some(LEFT))]);
        assert_eq!(keys.release_key("ArrowLeft"), [up(LEFT, Some(UP))]);
        assert_eq!(keys.release_key("ArrowUp"), [up(UP, Some(NOOP))]);
        assert_eq!(keys.release_key("ArrowUp"), []);
    }

    #[test]
    fn letting_go_of_what_does_not_count_changes_nothing() {
        let mut keys = keys();
        keys.press_key("ArrowUp");
        keys.press_key("ArrowLeft");
        assert_eq!(keys.release_key("ArrowUp"), [up(UP, None)]);
        assert_eq!(keys.lasting(), LEFT);
    }

    #[test]
    fn a_momentary_press_counts_once_and_keeps_the_lasting_one() {
        let mut keys = keys();
        keys.press_key("ArrowUp");
        assert_eq!(keys.press_key("Space"), [down(USE, Some(USE))]);
        assert_eq!(keys.press_key("Space"), []);
        assert_eq!(keys.lasting(), UP);
        assert_eq!(keys.release_key("Space"), [up(USE, None)]);
    }

    #[test]
    fn two_keys_of_one_action_hold_it_together() {
        let mut keys = keys();
        keys.press_key("ArrowUp");
        assert_eq!(keys.press_key("KeyW"), [down(UP, None)]);
        assert_eq!(keys.release_key("ArrowUp"), [up(UP, None)]);
        assert_eq!(keys.release_key("KeyW"), [up(UP, Some(NOOP))]);
    }

    #[test]
    fn losing_the_focus_lets_everything_go() {
        let mut keys = keys();
        keys.press_key("ArrowUp");
        keys.press_key("Space");
        keys.touch_button(1, Some(LEFT));
        assert_eq!(
            keys.release_all(),
            [up(UP, None), up(USE, None), up(LEFT, Some(NOOP))]
        );
        assert_eq!(keys.release_key("ArrowUp"), []);
        assert_eq!(keys.press_key("ArrowUp"), [down(UP, Some(UP))]);
    }

    #[test]
    fn a_study_may_bind_other_keys() {
        let keys = bound(&[("KeyI", UP), ("ShiftLeft+KeyI", LEFT)], false);
        assert_eq!(keys.keys_of(UP).collect::<Vec<_>>(), ["KeyI"]);
        assert_eq!(keys.keys_of(LEFT).collect::<Vec<_>>(), ["ShiftLeft+KeyI"]);
        assert!(keys.has_key("ShiftLeft") && keys.has_key("KeyI") && !keys.has_key("KeyW"));
    }

    #[test]
    fn the_longest_chord_wins() {
        let mut keys = bound(
            &[
                ("KeyI", UP),
                ("ShiftLeft+KeyI", LEFT),
                ("ShiftLeft+KeyI+KeyJ", USE),
            ],
            false,
        );
        assert_eq!(keys.press_key("ShiftLeft"), []);
        assert_eq!(keys.press_key("KeyI"), [down(LEFT, Some(LEFT))]);
        assert_eq!(
            keys.press_key("KeyJ"),
            [up(LEFT, Some(NOOP)), down(USE, Some(USE))]
        );
        assert_eq!(keys.release_key("KeyI"), [up(USE, None)]);
        // In any order.
        keys.release_all();
        assert_eq!(keys.press_key("KeyI"), [down(UP, Some(UP))]);
        assert_eq!(
            keys.press_key("ShiftLeft"),
            [up(UP, None), down(LEFT, Some(LEFT))]
        );
        // The rest of a chord counts again, and keeps its place before later presses.
        assert_eq!(
            keys.release_key("ShiftLeft"),
            [up(LEFT, None), down(UP, Some(UP))]
        );
    }

    #[test]
    fn what_is_left_of_a_chord_is_not_pressed_anew() {
        let mut keys = bound(&[("KeyI", USE), ("ShiftLeft+KeyI", LEFT)], false);
        keys.press_key("ShiftLeft");
        keys.press_key("KeyI");
        assert_eq!(keys.release_key("ShiftLeft"), [up(LEFT, Some(NOOP))]);
        assert_eq!(keys.press_key("KeyX"), []);
        assert_eq!(keys.release_key("KeyI"), []);
        assert_eq!(keys.press_key("KeyI"), [down(USE, Some(USE))]);
    }

    #[test]
    fn a_key_that_is_held_does_not_overtake_one_pressed_after_it() {
        let mut keys = bound(
            &[("KeyI", UP), ("ShiftLeft+KeyI", USE), ("KeyJ", LEFT)],
            false,
        );
        keys.press_key("ShiftLeft");
        keys.press_key("KeyI");
        keys.press_key("KeyJ");
        assert_eq!(
            keys.release_key("ShiftLeft"),
            [up(USE, None), down(UP, None)]
        );
        assert_eq!(keys.lasting(), LEFT);
    }

    fn sharing(mode: SharingMode, is_given: bool) -> Keys {
        let mut spec = spec();
        let marks = make_marks(&["KeyH".to_owned()]);
        spec.actions.extend(marks);
        let mut keys = Keys::new(&spec, &[], false);
        keys.share_seat(mode, MARK, is_given);
        keys
    }

    #[test]
    fn a_seat_is_given_away_and_taken_back_by_the_same_key() {
        let mut keys = sharing(SharingMode::Handover, false);
        assert_eq!(keys.press_key("ArrowUp"), [down(UP, Some(UP))]);
        assert_eq!(keys.press_key("KeyH"), [down(MARK, Some(MARK))]);
        // While the partner plays, the other keys do not count, and are recorded all the same.
        assert_eq!(keys.release_key("KeyH"), [up(MARK, None)]);
        assert_eq!(keys.press_key("Space"), [down(USE, None)]);
        assert_eq!(keys.release_key("ArrowUp"), [up(UP, None)]);
        assert_eq!(keys.press_key("ArrowLeft"), [down(LEFT, None)]);
        // A held key counts as soon as the seat is the person's again.
        assert_eq!(keys.press_key("KeyH"), [down(MARK, Some(LEFT))]);
        assert_eq!(keys.release_key("ArrowLeft"), [up(LEFT, Some(NOOP))]);
    }

    #[test]
    fn a_key_corrects_the_partner_while_it_is_down() {
        let mut keys = sharing(SharingMode::Override, true);
        assert_eq!(keys.press_key("ArrowUp"), [down(UP, Some(UP))]);
        assert_eq!(keys.press_key("Space"), [down(USE, Some(USE))]);
        assert_eq!(keys.release_key("Space"), [up(USE, None)]);
        assert_eq!(keys.release_key("ArrowUp"), [up(UP, Some(MARK))]);
        assert_eq!(keys.press_key("KeyH"), [down(MARK, Some(NOOP))]);
        keys.press_key("ArrowUp");
        assert_eq!(keys.release_all(), [up(MARK, None), up(UP, Some(NOOP))]);
    }

    #[test]
    fn who_chooses_among_proposals_has_no_other_keys() {
        let mut keys = sharing(SharingMode::Choose, false);
        assert!(!keys.has_key("ArrowUp"));
        assert_eq!(keys.touch_button(1, Some(UP)), [down(UP, None)]);
        assert_eq!(keys.press_key("KeyH"), [down(MARK, Some(MARK))]);
    }

    #[test]
    fn where_presses_are_captured_every_press_counts_once() {
        let mut keys = bound(&[("KeyI", UP), ("KeyJ", LEFT)], true);
        assert_eq!(keys.press_key("KeyI"), [down(UP, Some(UP))]);
        assert_eq!(keys.press_key("KeyI"), []);
        assert_eq!(keys.press_key("KeyJ"), [down(LEFT, Some(LEFT))]);
        assert_eq!(keys.release_key("KeyJ"), [up(LEFT, None)]);
        assert_eq!(keys.release_key("KeyI"), [up(UP, None)]);
        assert_eq!(keys.press_key("KeyI"), [down(UP, Some(UP))]);
        assert_eq!(keys.lasting(), NOOP);
    }

    #[test]
    fn fingers_slide_from_button_to_button_and_hold_beside_each_other() {
        let mut keys = keys();
        assert_eq!(keys.touch_button(7, Some(UP)), [down(UP, Some(UP))]);
        assert_eq!(keys.touch_button(7, Some(UP)), []);
        assert_eq!(keys.touch_button(9, Some(USE)), [down(USE, Some(USE))]);
        assert_eq!(
            keys.touch_button(7, Some(LEFT)),
            [up(UP, None), down(LEFT, Some(LEFT))]
        );
        assert_eq!(keys.touch_button(9, None), [up(USE, None)]);
        assert_eq!(keys.touch_button(7, None), [up(LEFT, Some(NOOP))]);
        assert_eq!(keys.touch_button(7, None), []);
    }
}
