//! The life of the page: when it ends, all listeners are removed, and everything else that would continue by itself
//! ends.
//!
//! This module must not know why a page ends, and touches nothing that failed code may have left half-done.

use std::cell::{Cell, RefCell};

use web_sys::{AbortController, AbortSignal};

/// An action, under the number of its [`AtEnd`].
type Action = (u32, Box<dyn FnOnce()>);

thread_local! {
    static IS_OVER: Cell<bool> = const { Cell::new(false) };
    /// None in a browser that knows no such thing: its listeners stay, and find the inbox closed.
    static CONTROLLER: Option<AbortController> = AbortController::new().ok();
    static ACTIONS: RefCell<Vec<Action>> = RefCell::default();
    static NEXT: Cell<u32> = const { Cell::new(0) };
}

/// True if the page has ended.
pub(crate) fn is_over() -> bool {
    IS_OVER.get()
}

/// Returns the signal that removes listeners at the end of the page, and informs `web/boot.js`.
pub(crate) fn end_signal() -> Option<AbortSignal> {
    CONTROLLER.with(|controller| Some(controller.as_ref()?.signal()))
}

/// Ends the page, once.
pub(crate) fn end_page() {
    if IS_OVER.replace(true) {
        return;
    }
    CONTROLLER.with(|controller| {
        if let Some(controller) = controller {
            controller.abort();
        }
    });
    let actions =
        ACTIONS.with(|actions| Some(std::mem::take(&mut *actions.try_borrow_mut().ok()?)));
    for (_, action) in actions.into_iter().flatten() {
        action();
    }
}

/// An action for the end of the page. Dropped, it will not be taken.
#[must_use]
pub(crate) struct AtEnd(u32);

impl AtEnd {
    /// Has something done when the page ends.
    pub(crate) fn new(action: impl FnOnce() + 'static) -> Self {
        let number = NEXT.replace(NEXT.get().wrapping_add(1));
        ACTIONS.with_borrow_mut(|actions| actions.push((number, Box::new(action))));
        Self(number)
    }
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        ACTIONS.with_borrow_mut(|actions| actions.retain(|(number, _)| *number != self.0));
    }
}
