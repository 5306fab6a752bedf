//! The sans-IO rollback session of Coplay: people at the ends of a network play one deterministic world together,
//! each at full rate, and all end with the same log.
//!
//! # The story
//!
//! Every peer simulates the same [`World`](env_core::World). Tick `k` is due at `T0 + delay + k / hz` on a clock that
//! all share. The wish of a person at that moment is *sampled* into an input for tick `k + input_delay`, on every
//! machine alike; the inputs before tick `input_delay` are the no-op by agreement.
//!
//! The input is sent immediately. If a tick is due before a peer's input has arrived, the session *predicts* it from
//! the last known one (a lasting action again, the no-op after a press), *saves* the state before the tick, and
//! simulates. When true inputs arrive and differ, the session *rolls back*: it loads the state before the first wrong
//! tick and simulates again up to where it was. It does so once for all packets that arrived, before the next tick and
//! before anybody reads the world, so the shown world is never known to be wrong; until then no wrong tick counts as
//! confirmed. The simulation follows only from the known inputs and changes: [`rebuild`] computes from a record what a
//! page showed, frame by frame.
//!
//! A tick is *confirmed* when every person has every person's input for it. All packets carry receipts, which show
//! this: for each seat the minimum over everyone's receipts, and over the seats the minimum of those. If a seat has
//! lost its person, the server must also have made durable all but the last two seconds. A page's own receipts would be
//! enough to know the state, but not to know that everybody will know it. Only the cut of a seat takes confirmed ticks
//! back, and only ticks that the server has not made final: up to those, [`Session::rows`] and [`Session::digests`]
//! only grow, and they are the data.
//!
//! At most `window` ticks are simulated beyond the confirmed ones. At the end of the window, the session *holds*: it
//! simulates nothing and keeps sending, and [`Session::waiting_for`] says whom it waits for. When the missing inputs
//! arrive, the ticks that have become due are run as fast as allowed; none is left out. After a hold or a sleep of more
//! than 250 ms, the session does not catch up. It raises the *delay* of all ticks by its lateness and reports the delay
//! in its packets, and everybody adopts the greatest delay. A page that cannot keep up does the same, so that nobody
//! gets far ahead of it.
//!
//! AI partners are [`Policy`](env_core::Policy) values inside the simulation, on every peer alike. They see the state
//! before the tick, are saved and loaded with the world, and need no packets; the log has their choices.
//!
//! Seats change hands while the episode continues. Only the server decides it; [`Session::handle_change`] applies it at
//! its tick, whether that is past or still to come. If a person is gone, the server cuts the seat at a tick up to which
//! their inputs count; a partner or nobody plays from there. [`Session::resume`] begins a session in the middle, from
//! the server's state; its person plays from the tick that the server names. The head of `session/confirm.rs` explains
//! how confirmed ticks and these changes fit together.
//!
//! An episode ends when a *confirmed* tick ends it. At a predicted end, the session waits, and continues if the end
//! turns out to be wrong. A session that knows the end keeps sending until all peers have said that they know it too.
//!
//! If the only person plays a tick with every action, nothing is ever due: [`Session::handle_action`] immediately
//! simulates and confirms the tick, in which the partners act too.
//!
//! # Packets
//!
//! There is one kind ([`protocol::datagram`]), one per peer and tick, which may be lost, doubled, late or out of order.
//! It carries all inputs that this peer has not acknowledged, the sender's receipts for all seats, and a clock with its
//! echo for the round trip. No separate timer resends anything, and there are no separate acknowledgements: the next
//! packet repeats everything. With `window + input_delay` at most 40, the unacknowledged inputs always fit; only a page
//! that comes back gets several packets together. A packet counts only if it comes by the channel of the seat that it
//! names, and belongs to this episode and to the current life of that seat.
//!
//! # Use
//!
//! A shell calls `handle_*` with the shared clock, then drains [`Session::poll_transmit`] and [`Session::poll_event`],
//! and calls [`Session::handle_timeout`] again at [`Session::poll_timeout`]. Packets have the state after the last
//! `handle_*`.
//!
//! This crate must not know of sockets, clocks, threads, browsers or studies. In steady state it allocates nothing.
#![forbid(unsafe_code)]

mod checkpoints;
mod config;
mod effects;
mod inputs;
mod link;
mod live;
mod pace;
mod presses;
mod rebuild;
mod roster;
mod schedule;
mod session;

pub use config::{Config, Predictor};
pub use effects::{
    ChangeError, DatagramError, Refusals, ResumeError, SessionEvent, Stats, Transmit,
};
pub use live::Live;
pub use presses::Presses;
pub use rebuild::{EpisodeRecord, RebuildError, Rebuilder, rebuild};
pub use session::Session;
