//! Sets of seats, as bits.

use alloc::format;

use super::refusal::refuse;
use crate::contract::ParamError;

/// The bits of all seats.
pub(super) fn all_seats(seats: usize) -> u16 {
    (u32::MAX >> (32 - seats)) as u16
}

/// The bits of a list of seats.
///
/// # Errors
/// [`ParamError`] for a seat that there is not.
pub(super) fn seat_bits(seats: &[u8], count: usize, field: &str) -> Result<u16, ParamError> {
    seats.iter().try_fold(0, |bits, &seat| {
        if usize::from(seat) < count {
            return Ok(bits | 1 << seat);
        }
        let last = count - 1;
        refuse(
            field,
            format!("there is no seat {seat}: the seats are 0 to {last}"),
        )
    })
}
