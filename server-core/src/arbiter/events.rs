//! Input and output of the arbiter: events, effects, and work for the archive.

use protocol::change::Change;
use protocol::control::{ClientMessage, EndReason, HostView, Recount, ServerMessage, Upload};
use protocol::log::{Ending, Header, Record};
use protocol::{Controller, Era, Life, Seat, Tick};
use study::SeatTotals;

use super::clients::ClientKey;
use super::descriptions::{Description, Directed};
use super::session::ConnId;
use super::writes::Write;
use crate::language_model::{ModelReply, ModelRequest};

/// The end of an episode as it is stored, and what each seat earned until then.
#[derive(Clone, Debug, PartialEq)]
pub struct EpisodeEnd {
    /// The end.
    pub ending: Ending,
    /// Scores and rewards, in order of the seats.
    pub seats: SeatTotals,
}

/// An input of the arbiter.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "an event is dealt with at once")]
pub enum Event {
    /// A connection opened, of this client. Those without one keep to no limit for clients.
    Connected(ConnId, ClientKey),
    /// A page sent a message.
    Message(ConnId, ClientMessage),
    /// A page sent bytes that are no message; its connection closes.
    Malformed(ConnId),
    /// A connection closed.
    Closed(ConnId),
    /// The file of an episode is durable, or could not be made.
    Opened(Era, bool),
    /// The archive has seen an upload.
    Appended(Era, Seat, Appended),
    /// The file of an episode is closed; `None` if it could not be.
    Ended(Era, Option<EpisodeEnd>),
    /// A change of a seat is durable; `None` if it could not be made.
    Changed(Era, Seat, Option<Change>),
    /// A seat is given back to a person, and where their page begins; `None` if it could not be.
    Given(Era, Seat, Option<Box<(Change, Snapshot)>>),
    /// The pages of some seats get inputs of another, in as many messages.
    Inputs(Era, Vec<Seat>, Vec<KnownInputs>),
    /// A page must send its digests again.
    Recheck(Era, Seat, Recheck),
    /// A hosted world was stepped or viewed.
    Hosted(Era, HostedReport),
    /// The world from the view of a seat, for the request to a language model with this number; `None` if it is not known.
    Described(Era, u32, Option<Box<Description>>),
    /// So many tries of the request to a language model with this number gave no answer, and may be billed all the same. It
    /// comes before the reply.
    Billed(Era, u32, u8),
    /// A language model has answered the request with this number, or has not.
    Answered(Era, u32, ModelReply),
    /// A directive is durable, or was refused.
    Directed(Era, Seat, Directed),
    /// A note was appended, or could not be.
    Noted,
    /// The payment of this participant was not corrected: it is marked as paid, as it is stored.
    AlreadyPaid(String, Box<study::Payment>),
    /// The server stops: nobody is let in any more.
    Stop,
}

/// Inputs of a person, as their own page has said them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownInputs {
    /// The seat.
    pub seat: Seat,
    /// Its life.
    pub life: Life,
    /// The first tick.
    pub first: Tick,
    /// All that are durable from there on.
    pub inputs: Vec<u16>,
}

/// A page whose digests differ from the replica's must send them again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recheck {
    /// The number of the request.
    pub number: u16,
    /// The last tick at which they were equal.
    pub agreed: Tick,
    /// The inputs of everybody else after it.
    pub inputs: Vec<KnownInputs>,
}

/// Work on a hosted world, in the order of its fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostWork {
    /// Set if the clock of the ticks starts again from the next one on: the time at which that was due, server clock,
    /// microseconds.
    pub paced_us: Option<u64>,
    /// True if it is stepped: by one tick, or in turns as long as everybody who acts has chosen.
    pub steps: bool,
    /// The views that pages get.
    pub views: Vec<ViewOrder>,
    /// True if views have the sums of the rewards, because the study shows them beside the picture.
    pub tells_rewards: bool,
    /// True if the study asks for the observations themselves in the record.
    pub keeps_observations: bool,
    /// The points whose meaning pages ask for.
    pub points: Vec<PointOrder>,
    /// True if everything so far becomes durable.
    pub flushes: bool,
    /// Set if the world is much slower than its ticks, so that the episode ends: the mean time of a step, microseconds.
    pub slow_step_us: Option<u64>,
}

/// A view that the page of a seat gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewOrder {
    /// The seat.
    pub seat: Seat,
    /// True if the page has none yet.
    pub is_new: bool,
    /// Width and height of the picture on the page, pixels of the screen; 0 if they are not known.
    pub size: [u16; 2],
}

/// A point on a picture whose meaning the page of a seat asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointOrder {
    /// The seat.
    pub seat: Seat,
    /// The number of the question.
    pub number: u32,
    /// The parts of the picture's width and height before it, in 65,536ths.
    pub at: [u16; 2],
}

/// The state of a hosted world after a piece of work.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostedReport {
    /// Ticks played.
    pub played: Tick,
    /// Ticks that are durable.
    pub through: Tick,
    /// For each seat, the choices of its page that are durable: those before this number.
    pub own: Vec<Tick>,
    /// Views, each for the page of a seat; the arbiter numbers them.
    pub views: Vec<(Seat, HostView)>,
    /// For each point that was asked for, the seat, the number of the question, and the action that it means.
    pub points: Vec<(Seat, u32, Option<u16>)>,
    /// The seats whose view had no room for all of the picture.
    pub partial: Vec<Seat>,
    /// The time that the work took by the clock of this machine, microseconds; 0 on a virtual clock.
    pub took_us: u64,
    /// True if the episode is over; everything is then durable.
    pub over: bool,
    /// True if the world broke down, or nothing could be written.
    pub failed: bool,
}

/// The result of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// Its new part is durable.
    Durable {
        /// Ticks that are final.
        through: Tick,
        /// Inputs of the page's own person that are durable: those before this tick.
        own: Tick,
        /// True if the episode is over, by the replica.
        over: bool,
        /// True if it was the last upload of its page.
        last: bool,
        /// Notes of time and network of this page life that are durable.
        notes: u32,
        /// The page's digests up to this tick are the replica's.
        agreed: Tick,
        /// The number of the last request to the page to send its digests again, if it has not done so yet.
        recheck: Option<u16>,
        /// True if the page simulates something else than the replica; the file then records it.
        diverged: bool,
    },
    /// It begins after the durable ticks: the page must upload from this tick on.
    Gap(Tick),
    /// Not an upload of a page of this episode.
    Malformed,
    /// The disk failed.
    Failed,
}

/// An instruction of the arbiter to its shell.
#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "an effect is carried out at once"
)]
pub enum Effect {
    /// Send a message to a page.
    Send(ConnId, ServerMessage),
    /// Close a connection once everything is sent.
    Close(ConnId),
    /// Make a change durable before anything that follows.
    Store(Write),
    /// Work for the archive of an episode.
    Archive(Era, Work),
    /// Ask a language model; [`Event::Answered`] has its answer.
    Ask(Era, Box<ModelRequest>),
}

impl Event {
    /// The connection that it is about.
    pub(super) fn find_conn(&self) -> Option<ConnId> {
        match self {
            Self::Connected(conn, _)
            | Self::Message(conn, _)
            | Self::Malformed(conn)
            | Self::Closed(conn) => Some(*conn),
            _ => None,
        }
    }
}

/// Work for the archive of an episode, in order.
#[derive(Clone, Debug)]
pub enum Work {
    /// Make its file.
    Open(Box<Header>),
    /// Append the new part of an upload.
    Append(Seat, Box<Upload>),
    /// Read the inputs of a seat that others may lack, for pages of others.
    Read {
        /// The seat.
        of: Seat,
        /// The seats whose pages get them.
        to: Vec<Seat>,
    },
    /// Check that the page of a seat was sent something else than the server, and append that.
    Recount(Seat, Box<Recount>),
    /// Read the inputs for a page that must send its digests again.
    Recheck(Seat),
    /// Describe the world for a request to a language model.
    Describe {
        /// The number of the request.
        number: u32,
        /// The seat whose view it is.
        view: Seat,
        /// The seat that the model can tell what to do.
        seat: Option<Seat>,
    },
    /// Step or view a hosted world.
    Host(HostWork),
    /// Append a record of the server's own.
    Record(RecordWork),
}

/// Work that appends a record of the server's own to the file of an episode.
#[derive(Clone, Debug)]
pub enum RecordWork {
    /// Append the end and close the file.
    End(EndReason),
    /// Take a seat from its person, after the last input that their own page has said.
    Take {
        /// The seat.
        seat: Seat,
        /// The controller from then on.
        controller: Controller,
    },
    /// Give a seat that lost its person to another controller, a little after the tick that is due:
    /// answered by [`Event::Changed`], or for a person by [`Event::Given`].
    Give {
        /// The seat.
        seat: Seat,
        /// The controller from then on.
        controller: Controller,
        /// The public key of a person's page.
        key: Option<[u8; 32]>,
        /// The furthest tick for which the page of another person who plays has sent an input; `None` if nobody else
        /// plays.
        due: Option<Tick>,
    },
    /// Have an AI partner follow a directive from a tick on that is a little after the one that is due: answered by
    /// [`Event::Directed`].
    Direct {
        /// The seat.
        seat: Seat,
        /// The word of the directive.
        directive: String,
        /// The furthest tick for which the page of somebody who plays has said an input.
        due: Option<Tick>,
    },
    /// Append a record of presence or of a route; nothing answers.
    Note(Box<Record>),
}

/// The replica's state, for a page that comes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The number of steps, all of them durable.
    pub tick: Tick,
    /// The digest of the state.
    pub digest: u64,
    /// Its canonical bytes.
    pub state: Vec<u8>,
    /// The sums of each seat's rewards, as pages that keep them have them behind the state.
    pub rewards: Vec<u8>,
    /// The state of the policy of each AI seat, before it chooses for `tick`.
    pub partners: Vec<(Seat, Vec<u8>)>,
}

impl Work {
    /// The event that reports that this work could not be done.
    pub fn failure_event(&self, era: Era) -> Event {
        match self {
            Work::Open(_) => Event::Opened(era, false),
            Work::Append(seat, _) => Event::Appended(era, *seat, Appended::Failed),
            Work::Describe { number, .. } => Event::Described(era, *number, None),
            Work::Read { .. } | Work::Recheck(_) | Work::Recount(..) => Event::Noted,
            Work::Host(_) => Event::Hosted(
                era,
                HostedReport {
                    failed: true,
                    ..HostedReport::default()
                },
            ),
            Work::Record(record) => record.failure_event(era),
        }
    }
}

impl RecordWork {
    /// The event that reports that this record could not be appended.
    pub fn failure_event(&self, era: Era) -> Event {
        match self {
            Self::End(_) => Event::Ended(era, None),
            Self::Take { seat, .. } => Event::Changed(era, *seat, None),
            Self::Give {
                seat,
                controller: Controller::Human,
                ..
            } => Event::Given(era, *seat, None),
            Self::Give { seat, .. } => Event::Changed(era, *seat, None),
            Self::Direct { seat, .. } => {
                let reason = "the log could not take it".to_owned();
                Event::Directed(era, *seat, Directed::Refused(reason))
            }
            Self::Note(_) => Event::Noted,
        }
    }
}

impl From<RecordWork> for Work {
    fn from(record: RecordWork) -> Self {
        Self::Record(record)
    }
}
