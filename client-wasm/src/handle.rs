//! The handle of the page: few methods, called by `web/boot.js`, tests and the demonstration.

use std::cell::RefCell;
use std::rc::Rc;

use wasm_bindgen::prelude::*;
use web_sys::{Element, Event, KeyboardEvent};

use crate::app::App;
use crate::dom;
use crate::entry::Door;
use crate::post::{Input, Post};
use crate::rescue;

/// A participant's page.
#[wasm_bindgen]
pub struct Coplay {
    post: Post,
}

#[wasm_bindgen]
impl Coplay {
    /// Takes over the element with this id and begins to connect.
    ///
    /// # Errors
    /// A sentence, if the page has no such element.
    #[wasm_bindgen(constructor)]
    pub fn new(root: &str) -> Result<Coplay, JsValue> {
        rescue::install();
        let post = Post::default();
        let app = App::new(post.clone(), root, session_url()?, Door::read())?;
        post.open(app);
        subscribe(&post);
        post.send(Input::Tick);
        Ok(Self { post })
    }

    /// One beat of the Worker.
    pub fn tick(&self) {
        // A page that is busy at a beat has failed: the beats after that must not pile up.
        if self.post.ask(|_| ()).is_some() {
            self.post.send(Input::Tick);
        }
    }

    /// Everything that a test or a demonstration asks of the page, as JSON.
    pub fn report(&self) -> String {
        self.post
            .ask(|app| app.report().to_string())
            .unwrap_or_else(|| "{}".to_owned())
    }

    /// The action that a scripted cook would take now in the seat of this page; -1 for none.
    pub fn advise(&self) -> i32 {
        self.post.ask(App::advise).flatten().map_or(-1, i32::from)
    }

    /// The first key of an action, as `KeyboardEvent.code`; empty for none.
    pub fn key_for(&self, action: u16) -> String {
        self.post
            .ask(|app| app.key_for(action))
            .flatten()
            .unwrap_or_default()
    }

    /// Tells what is printed on a key of the person's keyboard, by its `KeyboardEvent.code`.
    pub fn name_key(&self, code: String, name: String) {
        self.post.send(Input::Printed { code, name });
    }

    /// The page failed outside of this module, or inside an environment module: tells the person and the server.
    pub fn fail(&self, message: &str) {
        rescue::fail(message);
    }
}

fn session_url() -> Result<String, JsValue> {
    let location = dom::window().location();
    let scheme = if location.protocol()? == "https:" {
        "wss"
    } else {
        "ws"
    };
    Ok(format!("{scheme}://{}/session", location.host()?))
}

fn subscribe(post: &Post) {
    for name in ["pointerdown", "pointermove", "keydown"] {
        let alive = post.clone();
        dom::listen(&dom::window(), name, move |_: Event| {
            alive.send(Input::Alive)
        });
    }
    for (name, down) in [("keydown", true), ("keyup", false)] {
        let post = post.clone();
        dom::listen(&dom::window(), name, move |event: KeyboardEvent| {
            key(&post, &event, down)
        });
    }
    let blurred = post.clone();
    dom::listen(&dom::window(), "blur", move |_: Event| {
        blurred.send(Input::Blurred)
    });
    let typing = post.clone();
    dom::listen(&dom::window(), "focusin", move |event: Event| {
        if is_elsewhere(&event) {
            typing.send(Input::Blurred);
        }
    });
    let leaving = post.clone();
    dom::listen(&dom::window(), "pagehide", move |_: Event| {
        leaving.send(Input::Leaving)
    });
    // A page that is frozen is out of sight even if its window is not.
    for name in ["visibilitychange", "freeze", "resume"] {
        let seen = post.clone();
        dom::listen(&dom::document(), name, move |event: Event| {
            let hidden = dom::document().hidden() || event.type_() == "freeze";
            seen.send(Input::Hidden(hidden));
        });
    }
}

/// A key goes down or up. Keys of the world do nothing else on the page; those that are typed somewhere, and what the
/// browser has them for, are none of the world's.
fn key(post: &Post, event: &KeyboardEvent, down: bool) {
    let code = event.code();
    // While the command key is down, macOS tells of no other key that goes up.
    if !down && code.starts_with("Meta") {
        post.send(Input::Blurred);
    }
    let shortcut = event.ctrl_key() || event.alt_key() || event.meta_key();
    let is_typed = event.is_composing() || is_elsewhere(event);
    let is_own = !is_typed && post.ask(|app| app.owns(&code)) == Some(true);
    if is_own && !(down && shortcut) {
        event.prevent_default();
    }
    if down && !is_own && !is_typed && !shortcut && opens_chat(post, event) {
        event.prevent_default();
        return post.send(Input::ToChat);
    }
    // A key that goes up is let go wherever that happens.
    if !down || (is_own && !shortcut && !event.repeat()) {
        post.send(Input::Key {
            code,
            down,
            at_ms: event.time_stamp(),
        });
    }
}

/// Whether a key that means nothing in the world leads to the chat beside it. On a button it presses that.
fn opens_chat(post: &Post, event: &KeyboardEvent) -> bool {
    let target = event
        .target()
        .and_then(|target| target.dyn_into::<Element>().ok());
    let is_free = target.is_none_or(|target| matches!(target.closest("a, button"), Ok(None)));
    event.key() == "Enter" && is_free && post.ask(|app| app.may_write()) == Some(true)
}

/// What has keys of its own.
const ELSEWHERE: &str = "input, textarea, select, form, dialog, [role=dialog], [role=textbox], \
                         [contenteditable]:not([contenteditable=false]), .ask, .chat";

/// Whether an event is about something that has keys of its own.
fn is_elsewhere(event: &Event) -> bool {
    let target = event
        .target()
        .and_then(|target| target.dyn_into::<Element>().ok());
    target.is_some_and(|target| matches!(target.closest(ELSEWHERE), Ok(Some(_))))
}

type Frames = Rc<RefCell<Option<Closure<dyn FnMut(f64)>>>>;

/// Asks for frames for as long as an episode is on the page.
pub(crate) fn animate(post: Post) {
    if post.set_animated(true) {
        return;
    }
    let frames: Frames = Rc::default();
    let again = Rc::clone(&frames);
    *frames.borrow_mut() = Some(Closure::new(move |at_ms: f64| {
        post.send(Input::Frame(at_ms));
        if post.ask(|app| app.is_playing()) == Some(true) {
            request(&again);
        } else {
            post.set_animated(false);
        }
    }));
    request(&frames);
}

fn request(frames: &Frames) {
    if let Some(frame) = &*frames.borrow() {
        // Without frames the page still plays; it only shows nothing.
        dom::window()
            .request_animation_frame(frame.as_ref().unchecked_ref())
            .ok();
    }
}
