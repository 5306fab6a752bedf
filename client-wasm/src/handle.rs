//! The handle of the page: few methods, called by `web/boot.js`, tests and the demonstration.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use js_sys::Function;
use wasm_bindgen::prelude::*;
use web_sys::{AbortSignal, Element, Event, KeyboardEvent};

use crate::app::App;
use crate::shell::inbox::{Inbox, Input};
use crate::shell::{dom, lifetime, panic_handler};

/// A beat that would come this much later than wanted is requested again, microseconds.
const BEAT_EARLIER_US: u64 = 1_000;
/// The time to the next beat where something stays due, milliseconds.
const OVERDUE_MS: u32 = 4;

/// A participant's page.
#[wasm_bindgen]
pub struct Coplay {
    page: Rc<SharedApp>,
}

/// The app and its inbox.
struct SharedApp {
    inbox: Inbox,
    app: RefCell<App>,
    /// Asks for the next beat, in this many milliseconds.
    ask_for_beat: RefCell<Option<Function>>,
    /// The time of the next beat, by the last request, page clock, microseconds.
    beat_us: Cell<u64>,
}

impl SharedApp {
    /// Handles the waiting inputs; while one is handled, the others keep waiting.
    fn handle_inputs(&self) {
        let Ok(mut app) = self.app.try_borrow_mut() else {
            return;
        };
        while let Some(input) = self.inbox.poll() {
            app.handle_input(input);
        }
        self.want_beat(&mut app);
    }

    /// Asks for the next beat, if the one before has come, or comes too late.
    fn want_beat(&self, app: &mut App) {
        let (now_us, wanted_us) = (dom::page_us(), app.next_beat_us());
        let beat_us = self.beat_us.get();
        let is_ahead = beat_us > now_us && beat_us <= wanted_us + BEAT_EARLIER_US;
        let ask = self.ask_for_beat.borrow();
        if let Some(ask) = ask.as_ref().filter(|_| !is_ahead) {
            let in_us = wanted_us.checked_sub(now_us).filter(|in_us| *in_us > 0);
            // Browsers count whole milliseconds, and leave out the rest.
            let in_ms = in_us.map_or(OVERDUE_MS, |in_us| in_us.div_ceil(1_000) as u32);
            self.beat_us.set(now_us + u64::from(in_ms) * 1_000);
            ask.call1(&JsValue::NULL, &in_ms.into()).ok();
        }
    }

    /// Asks the page something; `None` while it is busy.
    fn ask<T>(&self, question: impl FnOnce(&mut App) -> T) -> Option<T> {
        self.app
            .try_borrow_mut()
            .ok()
            .map(|mut app| question(&mut app))
    }
}

#[wasm_bindgen]
impl Coplay {
    /// Takes over the element with this id and begins to connect.
    ///
    /// # Errors
    /// A sentence, if the page has no such element.
    #[wasm_bindgen(constructor)]
    pub fn new(root: &str) -> Result<Coplay, JsValue> {
        panic_handler::install_hook();
        let inbox = Inbox::default();
        let app = App::new(inbox.clone(), root, session_url()?)?;
        let page = Rc::new(SharedApp {
            inbox: inbox.clone(),
            app: RefCell::new(app),
            ask_for_beat: RefCell::default(),
            beat_us: Cell::default(),
        });
        let woken = Rc::clone(&page);
        inbox.open(Rc::new(move || woken.handle_inputs()));
        subscribe(&page);
        inbox.send(Input::Tick);
        Ok(Self { page })
    }

    /// Has `ask` called with the milliseconds after which the page wants a beat.
    pub fn ask_for_beats(&self, ask: Function) {
        self.page.ask_for_beat.replace(Some(ask));
        self.page.inbox.send(Input::Tick);
    }

    /// One beat of the Worker.
    pub fn tick(&self) {
        // A page that is busy at a beat has failed: the beats after that must not pile up.
        match self.page.ask(|_| ()) {
            Some(()) => self.page.inbox.send(Input::Tick),
            None => panic_handler::end_failed_page(),
        }
    }

    /// Everything that a test or a demonstration asks of the page, as JSON.
    pub fn report(&self) -> String {
        self.page
            .ask(|app| app.report().to_string())
            .unwrap_or_else(|| "{}".to_owned())
    }

    /// The action that a scripted cook would take now in the seat of this page; -1 for none.
    pub fn advise(&self) -> i32 {
        self.page.ask(App::advise).flatten().map_or(-1, i32::from)
    }

    /// The first key of an action, as `KeyboardEvent.code`; empty for none.
    pub fn key_for(&self, action: u16) -> String {
        self.page
            .ask(|app| app.key_for(action))
            .flatten()
            .unwrap_or_default()
    }

    /// Takes the label of a key on the person's keyboard, by its `KeyboardEvent.code`.
    pub fn name_key(&self, code: String, name: String) {
        self.page.inbox.send(Input::Printed { code, name });
    }

    /// The signal of the page's end, after which nothing of it continues. `None` in a browser without such signals.
    #[wasm_bindgen(getter)]
    pub fn signal(&self) -> Option<AbortSignal> {
        lifetime::end_signal()
    }

    /// Reports to the person and the server that the page failed outside of this module, or inside an environment
    /// module.
    pub fn fail(&self, message: &str) {
        panic_handler::report_failure(message);
    }
}

/// The address of the session: that of the server that the page of a site names, or else of the server of the page.
fn session_url() -> Result<String, JsValue> {
    let named = dom::find_meta("coplay-server");
    if let Some(server) = named {
        return Ok(format!("{server}/session"));
    }
    let location = dom::window().location();
    let scheme = if location.protocol()? == "https:" {
        "wss"
    } else {
        "ws"
    };
    Ok(format!("{scheme}://{}/session", location.host()?))
}

fn subscribe(page: &Rc<SharedApp>) {
    let inbox = &page.inbox;
    for name in ["pointerdown", "pointermove", "keydown"] {
        let alive = inbox.clone();
        dom::add_listener(&dom::window(), name, move |_: Event| {
            alive.send(Input::Alive)
        });
    }
    for (name, down) in [("keydown", true), ("keyup", false)] {
        let page = Rc::clone(page);
        dom::add_listener(&dom::window(), name, move |event: KeyboardEvent| {
            key(&page, &event, down)
        });
    }
    let blurred = inbox.clone();
    dom::add_listener(&dom::window(), "blur", move |_: Event| {
        blurred.send(Input::Blurred)
    });
    let typing = inbox.clone();
    dom::add_listener(&dom::window(), "focusin", move |event: Event| {
        if is_elsewhere(&event) {
            typing.send(Input::Blurred);
        }
    });
    let leaving = inbox.clone();
    dom::add_listener(&dom::window(), "pagehide", move |_: Event| {
        leaving.send(Input::Leaving)
    });
    // A page that is frozen is out of sight even if its window is not.
    for name in ["visibilitychange", "freeze", "resume"] {
        let seen = inbox.clone();
        dom::add_listener(&dom::document(), name, move |event: Event| {
            let hidden = dom::document().hidden() || event.type_() == "freeze";
            seen.send(Input::Hidden(hidden));
        });
    }
}

/// Handles a key that goes down or up. Keys of the world do nothing else on the page; keys that are typed into an
/// element, and shortcuts of the browser, do not belong to the world.
fn key(page: &SharedApp, event: &KeyboardEvent, down: bool) {
    let inbox = &page.inbox;
    let code = event.code();
    // While the command key is down, macOS reports no other key that goes up.
    if !down && code.starts_with("Meta") {
        inbox.send(Input::Blurred);
    }
    let shortcut = event.ctrl_key() || event.alt_key() || event.meta_key();
    let is_typed = event.is_composing() || is_elsewhere(event);
    let is_own = !is_typed && page.ask(|app| app.owns_key(&code)) == Some(true);
    if is_own && !(down && shortcut) {
        event.prevent_default();
    }
    if down && !is_own && !is_typed && !shortcut && opens_chat(page, event) {
        event.prevent_default();
        return inbox.send(Input::ToChat);
    }
    // A key that goes up is let go wherever that happens.
    if !down || (is_own && !shortcut && !event.repeat()) {
        inbox.send(Input::Key {
            code,
            down,
            at_ms: event.time_stamp(),
        });
    }
}

/// True if a key that means nothing in the world leads to the chat beside it. On a button it presses that.
fn opens_chat(page: &SharedApp, event: &KeyboardEvent) -> bool {
    let target = event
        .target()
        .and_then(|target| target.dyn_into::<Element>().ok());
    let is_free = target.is_none_or(|target| matches!(target.closest("a, button"), Ok(None)));
    event.key() == "Enter" && is_free && page.ask(|app| app.may_write()) == Some(true)
}

/// Elements that use keys themselves.
const ELSEWHERE: &str = "input, textarea, select, form, dialog, [role=dialog], [role=textbox], \
                         [contenteditable]:not([contenteditable=false]), .ask, .chat";

/// True if an event is about an element that uses keys itself.
fn is_elsewhere(event: &Event) -> bool {
    let target = event
        .target()
        .and_then(|target| target.dyn_into::<Element>().ok());
    target.is_some_and(|target| matches!(target.closest(ELSEWHERE), Ok(Some(_))))
}
