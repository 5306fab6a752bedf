//! The local person's presses, between one tick and the next.
//!
//! A lasting action holds until another replaces it; a momentary one enters exactly one tick.
//! Nothing that was pressed is lost because a tick was too slow to see it: presses wait in order, a few at most.

use env_core::{Action, Spec};

/// Presses that may wait; more within so few ticks is nobody's intention.
const WAITING: usize = 4;

/// The presses of one person that wait for their ticks.
#[derive(Clone, Debug)]
pub struct Presses {
    held: Action,
    waiting: [Action; WAITING],
    count: usize,
}

impl Presses {
    /// Creates presses in which nothing is pressed and the no-op is held.
    pub fn new(noop: Action) -> Self {
        Self {
            held: noop,
            waiting: [noop; WAITING],
            count: 0,
        }
    }

    /// The person now wants this. An action that the environment does not have is the no-op. Gives how many ticks
    /// are given something else before it, unless it changes nothing.
    pub fn add_press(&mut self, action: Action, spec: &Spec) -> Option<usize> {
        let known = spec.actions.get(usize::from(action));
        let action = if known.is_some() { action } else { spec.noop };
        let momentary = known.is_some_and(|known| known.momentary);
        if !momentary {
            if action == self.held {
                return None;
            }
            self.held = action;
        }
        let before = self.count;
        // Releasing a key needs no separate tick.
        let needs = action != spec.noop;
        if needs && self.count < WAITING {
            self.waiting[self.count] = action;
            self.count += 1;
        } else if needs && momentary {
            return None;
        }
        Some(before)
    }

    /// Forgets the waiting presses; the held action stays.
    pub fn forget(&mut self) {
        self.count = 0;
    }

    /// The held action.
    pub(crate) fn held_action(&self) -> Action {
        self.held
    }

    /// The action that the next tick would be given.
    pub(crate) fn peek_action(&self) -> Action {
        if self.count > 0 {
            self.waiting[0]
        } else {
            self.held
        }
    }

    /// The action that the next tick is given.
    #[allow(
        clippy::should_implement_trait,
        reason = "there is always a next action"
    )]
    pub fn next(&mut self) -> Action {
        let action = self.peek_action();
        if self.count > 0 {
            self.waiting.copy_within(1.., 0);
            self.count -= 1;
        }
        action
    }
}
