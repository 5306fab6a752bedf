//! Values by lane, turned into rows of values.

use crate::lanes::bytes::{Bytes, LANES};

/// Values that are turned together.
pub(super) const WIDTH: usize = 16;

/// The values of each lane.
pub(super) type Lines = [[u8; WIDTH]; LANES];

/// Turns values by lane into lanes of values.
#[inline(always)]
pub(super) fn turn(values: &[Bytes; WIDTH], lines: &mut Lines) {
    let (groups, _) = lines.as_chunks_mut::<WIDTH>();
    for (group, lines) in groups.iter_mut().enumerate() {
        turn_square(values, WIDTH * group, lines);
    }
}

/// Turns sixteen lanes from a first one.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[expect(
    unsafe_code,
    reason = "the compiler makes no vector instructions of this by itself"
)]
fn turn_square(values: &[Bytes; WIDTH], first: usize, lines: &mut [[u8; WIDTH]]) {
    use std::arch::x86_64::{
        __m128i, _mm_loadu_si128, _mm_storeu_si128, _mm_unpackhi_epi8, _mm_unpacklo_epi8,
    };
    /// Puts the bytes of two rows between each other; after four times, every row is a column.
    #[inline(always)]
    fn mix(rows: [__m128i; WIDTH]) -> [__m128i; WIDTH] {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = rows;
        // SAFETY: every such processor has these instructions.
        let (low, high) = (
            |one, other| unsafe { _mm_unpacklo_epi8(one, other) },
            |one, other| unsafe { _mm_unpackhi_epi8(one, other) },
        );
        [
            low(a, i),
            high(a, i),
            low(b, j),
            high(b, j),
            low(c, k),
            high(c, k),
            low(d, l),
            high(d, l),
            low(e, m),
            high(e, m),
            low(f, n),
            high(f, n),
            low(g, o),
            high(g, o),
            low(h, p),
            high(h, p),
        ]
    }
    let rows = values.each_ref().map(|value| {
        let row: &[u8; WIDTH] = value.0[first..]
            .first_chunk()
            .expect("lanes are a multiple");
        // SAFETY: as above; a row has as many bytes as a vector.
        unsafe { _mm_loadu_si128(row.as_ptr().cast()) }
    });
    for (line, column) in lines.iter_mut().zip(mix(mix(mix(mix(rows))))) {
        // SAFETY: as above.
        unsafe { _mm_storeu_si128(line.as_mut_ptr().cast(), column) };
    }
}

/// Turns sixteen lanes from a first one.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn turn_square(values: &[Bytes; WIDTH], first: usize, lines: &mut [[u8; WIDTH]]) {
    for (lane, line) in (first..).zip(lines) {
        *line = values.each_ref().map(|value| value.0[lane]);
    }
}
