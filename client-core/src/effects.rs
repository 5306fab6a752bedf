//! The work that a page has for its shell, and its news.

use peer::{Peer, Verdict, World};
use protocol::change::{Change, Presence};
use protocol::control::{Absent, ClientMessage, Draft, Refusal, Waiting};
use protocol::{Era, Seat};

use crate::connection::SocketId;

/// Work for the shell.
#[derive(Clone, Debug, PartialEq)]
#[allow(
    clippy::large_enum_variant,
    reason = "an effect is moved once, from a short queue to a socket"
)]
pub enum PageEffect {
    /// Open a connection to the server, and report its events under this number.
    OpenSocket(SocketId),
    /// Close the connection to the server, open or not; nothing that comes of it counts any more.
    CloseSocket,
    /// Send a message over the connection to the server, which is open.
    Send(ClientMessage),
    /// Send a datagram over the data channel to a seat.
    Datagram {
        /// The seat.
        to: Seat,
        /// The datagram.
        bytes: Vec<u8>,
    },
    /// Build the data channel to a seat; replace it if there is one already.
    OpenChannel {
        /// The seat.
        seat: Seat,
    },
    /// Close the data channel to a seat: its page is gone.
    CloseChannel {
        /// The seat.
        seat: Seat,
    },
    /// Give a signal to the data channel to a seat.
    Signal {
        /// The seat that it comes from.
        from: Seat,
        /// The signal, as [`protocol::signal`] encodes it.
        data: String,
    },
    /// Load the environment and the models of the episode's plan; see [`crate::Page::handle_world`].
    LoadWorld(Era),
    /// Remember this session for the next page in the same tab, or none.
    RememberSession(Option<String>),
}

/// News for the shell and its display.
pub enum PageEvent<W: World> {
    /// The server has let the page in.
    Welcomed {
        /// Title of the study.
        title: String,
        /// The language in which the participant reads the study, as a tag.
        language: String,
        /// The languages that they can choose from; empty if there is but one.
        languages: Vec<String>,
        /// The researchers' contact for participants.
        contact: String,
        /// SHA-256 of the modules that the study plays: to be fetched while there is time.
        modules: Vec<String>,
    },
    /// The connection is gone, or could not be made; the page keeps trying.
    ConnectionLost {
        /// Failed attempts in a row.
        failures: usize,
    },
    /// The server is stopping, and will be back; the page keeps trying.
    ServerStopping,
    /// Bytes came that are not a message; the server was informed.
    Garbled(String),
    /// Nothing more will happen on this page, unless it is loaded again or [`crate::Page::connect_again`] is called.
    Stopped(StopReason),
    /// Another stage is on the page: [`crate::Page::stage`].
    StageShown {
        /// The part that was done, on this page or another one.
        draft: Option<Draft>,
        /// True if it comes again because answers to a quiz were not right.
        again: bool,
    },
    /// The server does not take the person's action; they can repeat it.
    NotTaken,
    /// The state of the wait in a lobby or a rest.
    Waiting(Waiting),
    /// People of the group have not come yet.
    Missing {
        /// Those who are awaited.
        absent: Vec<Absent>,
        /// Places in the group.
        of: u8,
        /// Milliseconds until the study's choice for those who do not come.
        left_ms: u32,
    },
    /// An episode is on the page: [`crate::Page::peer`].
    EpisodeBegan {
        /// True if it is the same as before, which takes this page in again.
        is_return: bool,
    },
    /// The presence of another person in the episode changed.
    PresenceChanged {
        /// The person's seat.
        seat: Seat,
        /// Their presence.
        presence: Presence,
        /// Milliseconds until the study's choice for people who stay away; 0 if nothing is awaited.
        left_ms: u32,
    },
    /// Seats of the episode changed hands; known changes may be reported again.
    SeatsChanged(Vec<Change>),
    /// The buttons that tell AI partners what to do have changed, or a press has had a result:
    /// [`crate::Page::buttons`].
    ButtonsChanged,
    /// The server's verdict on the episode is there: the shell must show the outcome.
    Judged(Verdict),
    /// The episode left the page.
    EpisodeLeft(Box<Peer<W>>),
    /// The text that an earlier page had in the field of the chat, to be put into it.
    TypedRestored(String),
    /// The server answered a question for its time that was sent then, page clock.
    ClockAnswered {
        /// The time of the question, page clock, microseconds.
        sent_us: u64,
    },
}

/// The reason for which a page stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Another page of the same session continues.
    Superseded,
    /// The server refuses the page permanently.
    Refused(Refusal),
    /// The person only previews the work.
    Preview {
        /// Title of the study.
        title: String,
    },
}
