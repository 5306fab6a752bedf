//! The inbox: everything that happens is posted here, and handled one after the other, never nested.
//!
//! This module must not know what is done with an input.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use client_core::SocketId;
use env_core::Action;
use policy::Partners;
use protocol::control::{Answer, ClientMessage, Draft};
use protocol::{Era, Seat};

use super::lifetime;
use crate::episode::module::LoadedWorld;
use crate::episode::pointer::PointerChange;

/// An input of the page.
#[allow(clippy::large_enum_variant, reason = "an input is dealt with at once")]
pub(crate) enum Input {
    /// News of the connection with this number.
    Socket(SocketId, SocketNews),
    /// The Worker's beat.
    Tick,
    /// The screen wants a frame.
    Frame(f64),
    /// A part of a module has arrived, of 1.
    Loading(Era, f64),
    /// A module is loaded, or could not be.
    Loaded(Era, Box<Result<(LoadedWorld, Partners), String>>),
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
    Touch {
        /// The number of the finger.
        finger: i32,
        /// The action of its button.
        action: Option<Action>,
        /// `event.timeStamp`.
        at_ms: f64,
    },
    /// Something happened to a pointer on the picture.
    Pointer {
        /// Its place on the canvas, CSS pixels.
        at: [f64; 2],
        /// The change.
        change: PointerChange,
        /// The number of the pointer.
        finger: i32,
        /// `event.timeStamp`.
        at_ms: f64,
    },
    /// The letter printed on a key of the person's keyboard.
    Printed {
        /// `KeyboardEvent.code`.
        code: String,
        /// The letter.
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
    /// The person has answered the server's question in a lobby.
    Say(ClientMessage),
    /// The person is done with a stage, after this many milliseconds on each of its pages; empty if it has only one,
    /// whose time is that of the stage.
    StageDone(Vec<Answer>, Vec<u32>),
    /// The part of a stage that the person has done so far.
    Drafted(Draft),
    /// The person presses a button that gives a directive to the AI partner in a seat.
    Direct {
        /// The seat.
        seat: Seat,
        /// The button.
        button: u8,
    },
    /// The person turns to the chat, to write.
    ToChat,
    /// The person sends their text.
    Write,
    /// The page around this frame wants a text to be written to the group.
    ParentWrites(String),
    /// The person opens the messages with the researchers, or closes them.
    Help,
    /// The person opens the messages to read new ones.
    HelpNews,
    /// The person sends a message to the researchers.
    HelpWritten,
    /// The person answers a question of the researchers.
    HelpAnswered,
    /// The person has read the outcome of an episode.
    Onward,
    /// The person leaves the study.
    Quit,
    /// The person continues in the frame of another site.
    Here,
}

/// News of the connection to the server.
pub(crate) enum SocketNews {
    /// The connection is open.
    Opened,
    /// Bytes came.
    Bytes(Vec<u8>),
    /// The connection is gone, or did not come about.
    Closed,
}

/// The way in, for listeners and tasks.
#[derive(Clone, Default)]
pub(crate) struct Inbox(Rc<Shared>);

#[derive(Default)]
struct Shared {
    queue: RefCell<VecDeque<Input>>,
    /// Called after each input.
    wake: RefCell<Option<Rc<dyn Fn()>>>,
}

impl Inbox {
    /// Has inputs handled from now on: `wake` takes them by [`Self::poll`], unless that is happening already.
    pub(crate) fn open(&self, wake: Rc<dyn Fn()>) {
        *self.0.wake.borrow_mut() = Some(wake);
    }

    /// Has an input handled now, or after the one that is being handled.
    pub(crate) fn send(&self, input: Input) {
        // A page that has failed stays busy for ever: nothing may pile up behind it.
        if lifetime::is_over() {
            return;
        }
        self.0.queue.borrow_mut().push_back(input);
        let wake = self.0.wake.borrow().clone();
        if let Some(wake) = wake {
            wake();
        }
    }

    /// The next input to handle.
    pub(crate) fn poll(&self) -> Option<Input> {
        self.0.queue.borrow_mut().pop_front()
    }
}
