//! Calls of the dashboard to the driver of the arbiter, each with the way of its answer.

use server_core::desk::{DeskOrder, OrderRefused};
use server_core::overview::StudyOverview;
use tokio::sync::oneshot;

/// Calls that may wait for the arbiter.
pub const CALLS: usize = 64;

/// The answer to an order.
pub type OrderAnswer = Result<(), OrderRefused>;

/// A call of the dashboard.
#[derive(Debug)]
pub enum DeskCall {
    /// Look at the study.
    Look(oneshot::Sender<Box<StudyOverview>>),
    /// Carry an order out. It is answered once everything that it changed is durable.
    Order {
        /// The name of the researcher.
        by: String,
        /// The order.
        order: DeskOrder,
        /// The way of the answer.
        answer: oneshot::Sender<OrderAnswer>,
    },
}
