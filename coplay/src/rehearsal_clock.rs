//! The clock of a server that is rehearsed: its pace comes line by line on the standard input.
//!
//! The end of the input is the sign to stop, so that no server outlives its rehearsal.

use std::pin::Pin;

use anyhow::Context as _;
use clock::Clock;
use tokio::io::{AsyncBufReadExt as _, BufReader};

/// The signal for a server to stop.
pub type Stop = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Reads the first pace; returns the clock, which follows the paces of later lines, and their end.
///
/// # Errors
/// The first line is not a pace.
pub async fn read() -> anyhow::Result<(Clock, Stop)> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let first = lines.next_line().await?;
    let first = first.context("--paced: the standard input has no line")?;
    let (set, clock) = Clock::paced(first.parse()?);
    let stop = async move {
        while let Ok(Some(line)) = lines.next_line().await {
            match line.parse() {
                Ok(pace) => drop(set.send_replace(pace)),
                Err(error) => tracing::error!(line, %error, "a pace cannot be read"),
            }
        }
    };
    let (ended, end) = tokio::sync::oneshot::channel::<()>();
    tokio::spawn(async move {
        stop.await;
        drop(ended);
    });
    // The sender is only ever dropped.
    let stop = async { drop(end.await) };
    Ok((clock, Box::pin(stop)))
}
