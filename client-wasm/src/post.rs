//! The way in: everything that happens is posted, and handled one after the other, never nested.
//!
//! This module must not know what is done with an input.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use env_core::Action;
use protocol::Era;
use protocol::control::{Answer, ClientMessage, Draft};

use crate::app::App;
use policy::Partners;

use crate::module::Module;
use crate::socket::News;

/// What comes in.
pub(crate) enum Input {
    /// The socket has news; the number tells its connections apart.
    Socket(u32, News),
    /// The Worker's beat.
    Tick,
    /// The screen wants a frame.
    Frame(f64),
    /// A module is loaded, or could not be.
    Loaded(Era, Box<Result<(Module, Partners), String>>),
    /// A key that means something, alone or with others.
    Key {
        /// `KeyboardEvent.code`.
        code: String,
        /// Down or up.
        down: bool,
        /// `event.timeStamp`.
        at_ms: f64,
    },
    /// A finger went to a touch button, or away from one.
    Pad {
        /// Which finger.
        finger: i32,
        /// What its button means.
        action: Option<Action>,
        /// `event.timeStamp`.
        at_ms: f64,
    },
    /// What is printed on a key of the person's keyboard.
    Printed {
        /// `KeyboardEvent.code`.
        code: String,
        /// What it is called.
        name: String,
    },
    /// The page lost the focus.
    Blurred,
    /// The page went out of sight or came back.
    Hidden(bool),
    /// The page is about to go.
    Leaving,
    /// The person did something, wherever on the page.
    Alive,
    /// The person has answered what the server asks in a lobby.
    Say(ClientMessage),
    /// The person is done with a stage, after so many milliseconds on each of its pages; none if it has but one, whose
    /// time is that of the stage.
    StageDone(Vec<Answer>, Vec<u32>),
    /// What the person has done of a stage so far.
    Drafted(Draft),
    /// The person turns to the chat, to write.
    ToChat,
    /// The person sends what they have written.
    Write,
    /// The person has read the outcome of an episode.
    Onward,
    /// The person leaves the study.
    Quit,
    /// The person goes on in the frame of another site.
    Here,
}

/// The way in, for listeners and tasks.
#[derive(Clone, Default)]
pub(crate) struct Post(Rc<Core>);

#[derive(Default)]
struct Core {
    queue: RefCell<VecDeque<Input>>,
    app: RefCell<Option<App>>,
    /// Whether frames are being asked for.
    is_animated: Cell<bool>,
}

impl Post {
    /// Takes over the page.
    pub(crate) fn open(&self, app: App) {
        *self.0.app.borrow_mut() = Some(app);
    }

    /// Handles an input now, or after the one that is being handled.
    pub(crate) fn send(&self, input: Input) {
        self.0.queue.borrow_mut().push_back(input);
        let Ok(mut app) = self.0.app.try_borrow_mut() else {
            return;
        };
        let Some(app) = app.as_mut() else { return };
        loop {
            let Some(input) = self.0.queue.borrow_mut().pop_front() else {
                return;
            };
            app.handle(input);
        }
    }

    /// Notes whether frames are being asked for. Gives what was noted before.
    pub(crate) fn set_animated(&self, is_animated: bool) -> bool {
        self.0.is_animated.replace(is_animated)
    }

    /// Asks the page something; none while it is busy.
    pub(crate) fn ask<T>(&self, question: impl FnOnce(&mut App) -> T) -> Option<T> {
        self.0.app.try_borrow_mut().ok()?.as_mut().map(question)
    }
}
