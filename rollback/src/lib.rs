//! The sans-IO rollback session of Coplay: people at the ends of a network play one deterministic world together,
//! each at full rate, and all end with the same log.
//!
//! # The story
//!
//! Every peer simulates the same [`World`](env_core::World). Tick `k` is due at `T0 + delay + k / hz` on a clock that
//! all share. What a person wants at that moment is *sampled* into an input for tick `k + input_delay`, on every machine
//! alike; the inputs before tick `input_delay` are the no-op by agreement.
//!
//! The input travels at once. If a tick is due before a peer's input is there, the session *predicts* it from the
//! last one known (a lasting action again, the no-op after a press), *saves* the state before the tick, and simulates.
//! When true inputs come and differ, the session *rolls back*: it loads the state before the first wrong tick and
//! simulates again up to where it was. It does so once for all the packets that came, before the next tick and before
//! anybody looks, so that the world shown is never known to be wrong; until then no wrong tick counts as confirmed.
//! What is simulated follows from the inputs and changes that are known, and from nothing else: [`rebuild`] shows
//! from a record what a page showed, frame by frame.
//!
//! A tick is *confirmed* when every person has every person's input for it, which is known from the receipts that
//! all packets carry: for each seat the minimum over everyone's receipts, and of those the minimum over the seats.
//! Where a seat has lost its person, the server must have made durable all but the last two seconds besides.
//! One's own receipts alone would do to know the state, but not to know that everybody will come to know it.
//! Confirmed ticks never change: [`Session::rows`] and [`Session::digests`] only grow, and they are the data.
//!
//! At most `window` ticks are simulated beyond the confirmed ones. At the end of the window the session *holds*:
//! it simulates nothing and keeps sending, and [`Session::waiting_for`] says for whom. When the missing inputs come,
//! the ticks that have become due are run as fast as allowed; none is left out. A hold or a sleep of more than 250 ms
//! is not made up for: the session raises the *delay* of all ticks by what it is behind, tells it in its packets, and
//! everybody takes on the greatest. So does a page that cannot keep up, so that nobody gets far ahead of it.
//!
//! AI partners are [`Policy`](env_core::Policy) values inside the simulation, on every peer alike. They see the state
//! before the tick, are saved and loaded with the world, and need no packets; the log holds what they chose.
//!
//! Seats change hands while the episode goes on. The server alone decides it; [`Session::handle_change`] carries it out
//! at its tick, be it past or to come. A person who is gone is *fenced* ([`Session::handle_fence`]) until the server
//! has found the tick up to which their inputs count; a partner or nobody plays from there. [`Session::resume`] begins
//! a session in the middle, from the server's state; its person plays from the tick that the server names. Why nothing
//! confirmed is ever taken back by this stands at the head of `session/confirm.rs`.
//!
//! An episode ends when a *confirmed* tick ends it. At an end that is only predicted the session waits, and goes on
//! if the end turns out to be wrong. A session that knows the end goes on sending until all peers have said so too.
//!
//! Where a tick goes by with every action of the only person, nothing is ever due: [`Session::handle_action`] simulates
//! and confirms the tick at once, in which the partners act too.
//!
//! # Packets
//!
//! There is one kind ([`protocol::datagram`]), one per peer and tick, which may be lost, doubled, late or out of order.
//! It carries all inputs that this peer has not acknowledged, the sender's receipts for all seats, and a clock with
//! its echo for the round trip. Nothing is resent on a timer of its own, and nothing is acknowledged on its own:
//! the next packet says it all again. With `window + input_delay` at most 40, the unacknowledged inputs always fit;
//! only a page that comes back is sent several packets at once. A packet counts only if it comes by the channel of the
//! seat that it names, and is of this episode and of the present life of that seat.
//!
//! # Use
//!
//! A shell calls `handle_*` with the shared clock, then drains [`Session::poll_transmit`] and [`Session::poll_event`],
//! and calls [`Session::handle_timeout`] again at [`Session::poll_timeout`]. Packets go out as of the last `handle_*`.
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
