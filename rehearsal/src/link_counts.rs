//! How packets travelled from person to person.

use std::fmt;
use std::iter::Sum;

use serde::Serialize;

/// Paths of packets from one person to another at the end of an episode. Two bots that play together make
/// two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LinkCounts {
    /// Over a data channel, with nothing in between.
    pub direct: usize,
    /// Over a data channel through TURN.
    pub turn: usize,
    /// Through the server's WebSockets.
    pub relay: usize,
}

impl Sum for LinkCounts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |sum, counts| Self {
            direct: sum.direct + counts.direct,
            turn: sum.turn + counts.turn,
            relay: sum.relay + counts.relay,
        })
    }
}

impl fmt::Display for LinkCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            direct,
            turn,
            relay,
        } = self;
        write!(
            f,
            "Paths from bots to other players at the end of episodes: {direct} direct, {turn} through TURN, {relay} through the \
             server's WebSockets"
        )
    }
}
