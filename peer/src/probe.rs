//! Before an episode: is a peer there, how long does a round trip take, and how many packets are lost?
//!
//! Probes are datagrams without inputs, so that they may meet a session that has begun already. Where the datagrams of
//! a session count changes of seats, a probe has its own number, modulo 256: the receiver knows from it which probes
//! are missing. A session takes nothing from it, because a probe has no receipts. This module must not know how packets
//! travel.

use protocol::datagram::{Datagram, DatagramLayout, Echo};
use protocol::{Era, Life, Seat, Tick};

/// Pause between probes, microseconds.
const PAUSE_US: u64 = 50_000;
/// The same where the loss is measured.
const LOSS_PAUSE_US: u64 = 20_000;
/// Round trips looked back on.
const KEPT: usize = 40;
/// Round trips that are enough to estimate the slowest ones.
pub const ENOUGH: usize = 10;
/// Probes of a peer among which the arrived ones are counted: two seconds of them.
pub const COUNTED: u8 = 100;

/// The probes to one peer.
#[derive(Debug)]
pub struct Probe {
    era: Era,
    own: Seat,
    life: Life,
    layout: DatagramLayout,
    pause_us: u64,
    due_us: u64,
    /// The number of the next probe.
    number: u8,
    last: Option<(u16, u64)>,
    rtts_ms: Vec<u16>,
    /// The result of the peer's probes; `None` if the loss is not measured.
    count: Option<Count>,
}

/// Which of the peer's probes came.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    /// The number of the first one.
    first: Option<u8>,
    /// Those of the [`COUNTED`] from the first one on that came, by bit.
    came: u128,
    /// The number of probes that must have been sent by now.
    sent: u8,
}

impl Count {
    fn add(&mut self, number: u8) {
        let since = number.wrapping_sub(*self.first.get_or_insert(number));
        // A probe that was on the way for longer than the first one is not among these.
        if since.cast_signed() < 0 {
            return;
        }
        self.sent = self.sent.max((since + 1).min(COUNTED));
        if since < COUNTED {
            self.came |= 1 << since;
        }
    }
}

impl Probe {
    /// Probes from the seat `own` in this life.
    pub fn new(era: Era, own: Seat, life: Life, layout: DatagramLayout) -> Self {
        Self {
            pause_us: PAUSE_US,
            number: 0,
            count: None,
            era,
            own,
            life,
            layout,
            due_us: 0,
            last: None,
            rtts_ms: Vec::new(),
        }
    }

    /// The same, measuring the loss too. At most one probe goes out in `least_pause_us`.
    #[must_use]
    pub fn with_counting(self, least_pause_us: u64) -> Self {
        Self {
            pause_us: LOSS_PAUSE_US.max(least_pause_us),
            count: Some(Count::default()),
            ..self
        }
    }

    /// The next probe, if it is time.
    pub fn poll(&mut self, now_us: u64) -> Option<Vec<u8>> {
        if now_us < self.due_us {
            return None;
        }
        self.due_us = now_us + self.pause_us;
        let number = self.number;
        self.number = number.wrapping_add(1);
        let echo = self.last.take().map(|(sent_ms, at_us)| Echo {
            sent_ms,
            held_ms: u8::try_from(now_us.saturating_sub(at_us) / 1_000).unwrap_or(u8::MAX),
        });
        let probe = Datagram {
            era: self.era,
            from: self.own,
            life: self.life,
            have: vec![Tick(0); usize::from(self.layout.seats)],
            changes: number,
            sent_ms: clock_ms(now_us),
            echo,
            ..Datagram::default()
        };
        let mut bytes = Vec::new();
        probe.encode(self.layout, &mut bytes);
        Some(bytes)
    }

    /// Takes a packet of the peer; one of another episode, or malformed, counts for nothing.
    pub fn handle_probe(&mut self, now_us: u64, bytes: &[u8]) {
        let Ok(datagram) = Datagram::decode(bytes, self.layout) else {
            return;
        };
        if datagram.era != self.era {
            return;
        }
        self.last = Some((datagram.sent_ms, now_us));
        if let Some(count) = &mut self.count {
            count.add(datagram.changes);
        }
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

    /// Forgets the measurements, because the link has changed.
    pub fn restart(&mut self) {
        self.rtts_ms.clear();
        self.count = self.count.map(|_| Count::default());
    }

    /// True if enough is known.
    pub fn is_enough(&self) -> bool {
        let is_counted = self.count.is_none_or(|count| count.sent == COUNTED);
        self.rtts_ms.len() >= ENOUGH && is_counted
    }

    /// Returns how many of a thousand packets of the peer were lost on the way here; `None` if that is not measured, or
    /// nothing came.
    pub fn loss_permille(&self) -> Option<u16> {
        let count = self.count.filter(|count| count.sent > 0)?;
        let (sent, came) = (u32::from(count.sent), count.came.count_ones());
        u16::try_from((sent - came) * 1_000 / sent).ok()
    }

    /// Returns the 95th percentile of the round trips, microseconds; 0 if there are none. The delay of inputs should
    /// cover the usual time of a packet, which a median does not show.
    pub fn rtt_us(&self) -> u32 {
        let mut sorted = self.rtts_ms.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * 95).div_ceil(100);
        // A round trip below the resolution is given as half of it, because 0 means none.
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

    const LAYOUT: DatagramLayout = DatagramLayout {
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
                    b.handle_probe(now + skew, &bytes)
                } else {
                    a.handle_probe(now, &bytes)
                }
            }
        }
        assert!(a.is_enough() && b.is_enough());
        for rtt in [a.rtt_us(), b.rtt_us()] {
            assert!((58_000..=64_000).contains(&rtt), "{rtt}");
        }
    }

    #[test]
    fn packets_that_do_not_come_are_counted_in_each_direction() {
        let [mut a, mut b] =
            [0, 1].map(|seat| Probe::new(Era(9), Seat(seat), Life(1), LAYOUT).with_counting(0));
        let (mut now, mut sent) = (0, 0);
        while !(a.is_enough() && b.is_enough()) {
            now += 4_000;
            assert!(now < 4_000_000, "it takes two seconds");
            let from_a = a.poll(now);
            sent += u32::from(from_a.is_some());
            // Every tenth packet of one side is lost, and none of the other.
            if let Some(bytes) = from_a.filter(|_| sent % 10 != 5) {
                b.handle_probe(now, &bytes);
            }
            if let Some(bytes) = b.poll(now) {
                a.handle_probe(now, &bytes);
            }
        }
        assert_eq!((a.loss_permille(), b.loss_permille()), (Some(0), Some(100)));
        b.restart();
        assert_eq!((b.loss_permille(), b.is_enough()), (None, false));
    }

    #[test]
    fn late_double_and_wrapping_probes_are_no_loss() {
        let mut probe = Probe::new(Era(9), Seat(0), Life(1), LAYOUT).with_counting(0);
        let mut other = Probe::new(Era(9), Seat(1), Life(1), LAYOUT).with_counting(0);
        other.number = 200;
        let mut all: Vec<Vec<u8>> = (0..150).map(|k| other.poll(k * 20_000).unwrap()).collect();
        all.swap(3, 7);
        all.insert(20, all[18].clone());
        for bytes in &all {
            probe.handle_probe(0, bytes);
        }
        assert_eq!(probe.loss_permille(), Some(0));
        // Before the first one that came nothing is known.
        let mut count = Count::default();
        [5, 4, 6, 8]
            .into_iter()
            .for_each(|number| count.add(number));
        assert_eq!((count.sent, count.came.count_ones()), (4, 3));
    }

    #[test]
    fn other_episodes_and_noise_count_for_nothing() {
        let mut other = Probe::new(Era(8), Seat(1), Life(0), LAYOUT);
        let mut probe = Probe::new(Era(9), Seat(0), Life(0), LAYOUT);
        probe.handle_probe(1, &other.poll(0).unwrap());
        probe.handle_probe(2, &[1, 2, 3]);
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
