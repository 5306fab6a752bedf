//! Before an episode: is a peer there, and how long does a round trip take?
//!
//! Probes are datagrams without inputs, so that they may meet a session that has begun already.
//! This module must not know how packets travel.

use protocol::datagram::{Datagram, Echo, Layout};
use protocol::{Era, Life, Seat, Tick};

/// Pause between probes, microseconds.
const PAUSE_US: u64 = 50_000;
/// Round trips looked back on.
const KEPT: usize = 40;
/// Round trips that say something of the slowest ones.
pub const ENOUGH: usize = 10;

/// The probes to one peer.
#[derive(Debug)]
pub struct Probe {
    era: Era,
    own: Seat,
    life: Life,
    layout: Layout,
    due_us: u64,
    last: Option<(u16, u64)>,
    rtts_ms: Vec<u16>,
}

impl Probe {
    /// Probes from the seat `own` in this life.
    pub fn new(era: Era, own: Seat, life: Life, layout: Layout) -> Self {
        Self {
            era,
            own,
            life,
            layout,
            due_us: 0,
            last: None,
            rtts_ms: Vec::new(),
        }
    }

    /// The next probe, if it is time.
    pub fn poll(&mut self, now_us: u64) -> Option<Vec<u8>> {
        if now_us < self.due_us {
            return None;
        }
        self.due_us = now_us + PAUSE_US;
        let echo = self.last.take().map(|(sent_ms, at_us)| Echo {
            sent_ms,
            held_ms: u8::try_from(now_us.saturating_sub(at_us) / 1_000).unwrap_or(u8::MAX),
        });
        let probe = Datagram {
            era: self.era,
            from: self.own,
            life: self.life,
            have: vec![Tick(0); usize::from(self.layout.seats)],
            sent_ms: clock_ms(now_us),
            echo,
            ..Datagram::default()
        };
        let mut bytes = Vec::new();
        probe.encode(self.layout, &mut bytes);
        Some(bytes)
    }

    /// Takes a packet of the peer; one of another episode, or malformed, counts for nothing.
    pub fn heard(&mut self, now_us: u64, bytes: &[u8]) {
        let Ok(datagram) = Datagram::decode(bytes, self.layout) else {
            return;
        };
        if datagram.era != self.era {
            return;
        }
        self.last = Some((datagram.sent_ms, now_us));
        let Some(echo) = datagram.echo.filter(|echo| echo.held_ms < u8::MAX) else {
            return;
        };
        let rtt_ms = clock_ms(now_us)
            .wrapping_sub(echo.sent_ms)
            .saturating_sub(u16::from(echo.held_ms));
        if self.rtts_ms.len() == KEPT {
            self.rtts_ms.remove(0);
        }
        self.rtts_ms.push(rtt_ms);
    }

    /// Forgets the round trips: the way has changed.
    pub fn restart(&mut self) {
        self.rtts_ms.clear();
    }

    /// Whether enough round trips are known.
    pub fn is_enough(&self) -> bool {
        self.rtts_ms.len() >= ENOUGH
    }

    /// The round trip that 95 of 100 stay within, microseconds; 0 for none. The delay of inputs is meant to cover
    /// what a packet usually takes, which a median does not say.
    pub fn rtt_us(&self) -> u32 {
        let mut sorted = self.rtts_ms.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * 95).div_ceil(100);
        // A round trip below the resolution is told as half of it, because 0 means none.
        rank.checked_sub(1)
            .map_or(0, |last| (u32::from(sorted[last]) * 1_000).max(500))
    }
}

fn clock_ms(now_us: u64) -> u16 {
    (now_us / 1_000) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout = Layout {
        seats: 2,
        actions: 7,
    };

    #[test]
    fn two_probes_measure_the_way_between_them() {
        let [mut a, mut b] = [0, 1].map(|seat| Probe::new(Era(9), Seat(seat), Life(1), LAYOUT));
        // Clocks that have nothing to do with each other, near the wrap of the milliseconds.
        let (skew, one_way) = (77_000_000_000, 30_000);
        let mut now = 65_400_000;
        let mut flying: Vec<(u64, bool, Vec<u8>)> = Vec::new();
        for _ in 0..600 {
            now += 2_000;
            flying.extend(a.poll(now).map(|bytes| (now + one_way, true, bytes)));
            flying.extend(
                b.poll(now + skew)
                    .map(|bytes| (now + one_way, false, bytes)),
            );
            for (_, to_b, bytes) in flying.extract_if(.., |(at, ..)| *at <= now) {
                if to_b {
                    b.heard(now + skew, &bytes)
                } else {
                    a.heard(now, &bytes)
                }
            }
        }
        assert!(a.is_enough() && b.is_enough());
        for rtt in [a.rtt_us(), b.rtt_us()] {
            assert!((58_000..=64_000).contains(&rtt), "{rtt}");
        }
    }

    #[test]
    fn other_episodes_and_noise_count_for_nothing() {
        let mut other = Probe::new(Era(8), Seat(1), Life(0), LAYOUT);
        let mut probe = Probe::new(Era(9), Seat(0), Life(0), LAYOUT);
        probe.heard(1, &other.poll(0).unwrap());
        probe.heard(2, &[1, 2, 3]);
        assert_eq!((probe.last, probe.rtt_us()), (None, 0));
    }

    #[test]
    fn the_slowest_of_twenty_is_not_told_and_the_second_slowest_is() {
        let mut probe = Probe::new(Era(9), Seat(0), Life(0), LAYOUT);
        probe.rtts_ms = vec![20; 18];
        probe.rtts_ms.extend([300, 90]);
        assert_eq!(probe.rtt_us(), 90_000);
    }
}
