//! The way to one peer: its round trip, and whether it has the whole episode.

use protocol::datagram::{Datagram, Echo};

/// Samples above this are a stopped clock, not a network.
const LONGEST_MS: u16 = 20_000;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Link {
    /// Smoothed round trip, microseconds; 0 before the first sample.
    pub(crate) rtt_us: u32,
    /// The peer has confirmed the end.
    pub(crate) done: bool,
    /// The sender's clock of the packet that came last, and when it came; taken by the next echo.
    heard: Option<(u16, u64)>,
}

impl Link {
    /// A packet came.
    pub(crate) fn handle_echo(&mut self, now_us: u64, datagram: &Datagram) {
        self.heard = Some((datagram.sent_ms, now_us));
        self.done |= datagram.done;
        if let Some(echo) = datagram.echo {
            let trip_ms = clock_ms(now_us)
                .wrapping_sub(echo.sent_ms)
                .wrapping_sub(u16::from(echo.held_ms));
            if trip_ms <= LONGEST_MS {
                self.smooth(u32::from(trip_ms) * 1_000);
            }
        }
    }

    /// Returns the echo for the next packet, once for each packet that came; `None` if that was too long ago to say.
    pub(crate) fn poll_echo(&mut self, now_us: u64) -> Option<Echo> {
        let (sent_ms, heard_us) = self.heard.take()?;
        let held_ms = u8::try_from(now_us.saturating_sub(heard_us) / 1_000).ok()?;
        Some(Echo { sent_ms, held_ms })
    }

    /// Source: RFC 6298, section 2, smoothing by an eighth.
    fn smooth(&mut self, sample_us: u32) {
        self.rtt_us = match self.rtt_us {
            0 => sample_us.max(1),
            rtt => rtt - rtt / 8 + sample_us / 8,
        };
    }
}

/// The sixteen bits of the clock that travel.
pub(crate) fn clock_ms(now_us: u64) -> u16 {
    (now_us / 1_000) as u16
}
