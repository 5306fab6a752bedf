//! Datagrams between pages, bit by bit.

use super::VERSION;

/// The most inputs of a datagram.
pub(crate) const MAX_INPUTS: usize = 40;

/// A datagram.
#[derive(Clone, Debug, Default)]
pub(crate) struct Datagram {
    pub from: u8,
    pub era: u16,
    pub life: u8,
    pub delay_ms: u32,
    pub changes: u8,
    pub first: u32,
    pub inputs: Vec<u16>,
    /// For every seat, the first tick whose input the sender lacks.
    pub have: Vec<u32>,
    pub sent_ms: u16,
    pub echo: Option<(u16, u8)>,
    pub done: bool,
}

/// The facts of an episode that a datagram leaves out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub seats: u8,
    pub actions: u16,
}

impl Layout {
    fn bits(self) -> u32 {
        u16::BITS - self.actions.saturating_sub(1).leading_zeros()
    }
}

/// The bytes of a datagram.
pub(crate) fn encode_datagram(datagram: &Datagram, layout: Layout) -> Vec<u8> {
    let mut out = vec![VERSION | datagram.from << 4];
    out.extend(datagram.era.to_le_bytes());
    let delayed = u8::from(datagram.delay_ms > 0) << 7;
    out.push(datagram.life | delayed);
    if delayed != 0 {
        out.extend(&datagram.delay_ms.to_le_bytes()[..3]);
    }
    out.push(datagram.changes);
    out.extend(&datagram.first.to_le_bytes()[..3]);
    let echo = u8::from(datagram.echo.is_some()) << 6;
    out.push(datagram.inputs.len() as u8 | echo | u8::from(datagram.done) << 7);
    let end = datagram.first + datagram.inputs.len() as u32;
    for seat in (0..layout.seats).filter(|seat| *seat != datagram.from) {
        let have = datagram.have.get(usize::from(seat)).copied().unwrap_or(0);
        match i8::try_from(i64::from(have) - i64::from(end)) {
            Ok(distance) if distance != i8::MIN => out.push(distance as u8),
            _ => {
                out.push(i8::MIN as u8);
                out.extend(&have.to_le_bytes()[..3]);
            }
        }
    }
    out.extend(datagram.sent_ms.to_le_bytes());
    if let Some((sent_ms, held_ms)) = datagram.echo {
        out.extend(sent_ms.to_le_bytes());
        out.push(held_ms);
    }
    let mut bits = Vec::new();
    let mut last = 0;
    for &input in &datagram.inputs {
        bits.push(input == last);
        if input != last {
            bits.extend((0..layout.bits()).map(|bit| input >> bit & 1 == 1));
        }
        last = input;
    }
    let byte = |bits: &[bool]| (0..).zip(bits).map(|(at, bit)| u8::from(*bit) << at).sum();
    out.extend(bits.chunks(8).map(byte as fn(&[bool]) -> u8));
    out
}

/// Reads a datagram; `None` for bytes that are none.
pub(crate) fn decode_datagram(bytes: &[u8], layout: Layout) -> Option<Datagram> {
    let mut rest = bytes;
    let mut take = |count: usize| -> Option<u32> {
        let (taken, left) = rest.split_at_checked(count)?;
        rest = left;
        Some(
            (0..)
                .zip(taken)
                .map(|(at, byte)| u32::from(*byte) << (8 * at))
                .sum(),
        )
    };
    let head = take(1)? as u8;
    if head & 0x0f != VERSION {
        return None;
    }
    let mut datagram = Datagram {
        from: head >> 4,
        era: take(2)? as u16,
        ..Datagram::default()
    };
    let life = take(1)? as u8;
    datagram.life = life & 0x7f;
    if life & 0x80 != 0 {
        datagram.delay_ms = take(3)?;
    }
    datagram.changes = take(1)? as u8;
    datagram.first = take(3)?;
    let flags = take(1)? as u8;
    datagram.done = flags & 0x80 != 0;
    let count = usize::from(flags & 0x3f);
    let end = datagram.first + count as u32;
    for seat in 0..layout.seats {
        let have = match seat == datagram.from {
            true => end,
            false => match take(1)? as u8 as i8 {
                i8::MIN => take(3)?,
                distance => end.checked_add_signed(i32::from(distance))?,
            },
        };
        datagram.have.push(have);
    }
    datagram.sent_ms = take(2)? as u16;
    if flags & 0x40 != 0 {
        datagram.echo = Some((take(2)? as u16, take(1)? as u8));
    }
    let mut at = 0;
    let mut bits = |count: u32| -> Option<u16> {
        let mut value = 0;
        for bit in 0..count {
            let byte = rest.get((at / 8) as usize)?;
            value |= u16::from(byte >> (at % 8) & 1) << bit;
            at += 1;
        }
        Some(value)
    };
    let mut last = 0;
    for _ in 0..count {
        if bits(1)? == 0 {
            last = bits(layout.bits())?;
        }
        datagram.inputs.push(last);
    }
    Some(datagram)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_comes_back_as_it_was_sent() {
        let layout = Layout {
            seats: 3,
            actions: 7,
        };
        let far = Datagram {
            from: 1,
            era: 0x1234,
            life: 5,
            delay_ms: 70_000,
            changes: 3,
            first: 300,
            inputs: vec![0, 0, 6, 6, 1, 0],
            have: vec![7, 306, 310],
            sent_ms: 60_000,
            echo: Some((4_321, 9)),
            done: true,
        };
        let near = Datagram {
            have: vec![0; 3],
            ..Datagram::default()
        };
        for datagram in [far, near] {
            let bytes = encode_datagram(&datagram, layout);
            let read = decode_datagram(&bytes, layout);
            assert_eq!(format!("{read:?}"), format!("{:?}", Some(datagram)));
        }
    }

    #[test]
    fn bytes_that_are_no_datagram_are_none() {
        let layout = Layout {
            seats: 2,
            actions: 7,
        };
        assert!(decode_datagram(&[], layout).is_none());
        assert!(decode_datagram(&[VERSION + 1; 40], layout).is_none());
        assert!(decode_datagram(&[VERSION; 12], layout).is_none());
    }
}
