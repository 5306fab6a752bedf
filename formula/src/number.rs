//! Functions of numbers, written out, so that they give the same bits everywhere.

use alloc::format;
use alloc::string::String;

/// From here on every `f64` is whole.
const WHOLE: f64 = 4_503_599_627_370_496.0;

/// The whole number of a number, if it is one and exact: at most 2^53 in size.
#[allow(clippy::cast_possible_truncation, reason = "checked before")]
pub(crate) fn as_whole(number: f64) -> Option<i64> {
    let exact = number.abs() <= 2.0 * WHOLE;
    let whole = if exact { number as i64 } else { return None };
    #[allow(clippy::cast_precision_loss, reason = "at most 2^53")]
    let same = whole as f64 == number;
    same.then_some(whole)
}

/// The greatest whole number that is not above.
pub(crate) fn floor(number: f64) -> f64 {
    if !number.is_finite() || number.abs() >= WHOLE {
        return number;
    }
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "below 2^52"
    )]
    let cut = number as i64 as f64;
    if cut > number { cut - 1.0 } else { cut }
}

/// The least whole number that is not below.
pub(crate) fn ceil(number: f64) -> f64 {
    -floor(-number)
}

/// Two decimals: the multiple of 0.01 that is nearest to the exact value of the number, away from zero if two are.
pub fn round2(number: f64) -> f64 {
    let size = number.abs();
    // At 2^46 neighbours are 1/64 apart, so rounding has nothing to do above, and 100 times the fraction fits below.
    if !size.is_finite() || size >= 70_368_744_177_664.0 {
        return number;
    }
    let bits = size.to_bits();
    let exponent = bits >> 52;
    // The number is `fraction / 2^shift`, exactly; the shift is above 6.
    let fraction = (bits & ((1 << 52) - 1)) | (1 << 52);
    let shift = 1075_u64.saturating_sub(exponent);
    if exponent == 0 || shift > 61 {
        return 0.0;
    }
    let hundredths = (100 * fraction + (1 << (shift - 1))) >> shift;
    #[allow(clippy::cast_precision_loss, reason = "below 2^53")]
    let rounded = hundredths as f64 / 100.0;
    if number < 0.0 { -rounded } else { rounded }
}

/// A number as people read it: at most six decimals, no zeros at the end, `2` and not `2.0`.
pub fn show_number(number: f64) -> String {
    if number.abs() >= 1e15 {
        return format!("{number:e}");
    }
    let text = format!("{number:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".into()
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floor_and_ceil_are_whole_and_next_to_the_number() {
        for (number, below, above) in [
            (2.5, 2.0, 3.0),
            (-2.5, -3.0, -2.0),
            (3.0, 3.0, 3.0),
            (-3.0, -3.0, -3.0),
            (0.999_999_999_999_999_9, 0.0, 1.0),
            (WHOLE - 0.5, WHOLE - 1.0, WHOLE),
            (1e300, 1e300, 1e300),
            (-1e300, -1e300, -1e300),
        ] {
            assert_eq!((floor(number), ceil(number)), (below, above), "{number}");
        }
    }

    #[test]
    fn round2_rounds_the_exact_value() {
        for (number, rounded) in [
            (0.125, 0.13),
            (-0.125, -0.13),
            (0.375, 0.38),
            // The f64 that 1.005 names is a little below it, and that of 1.115 too, though 100 times it is not.
            (1.005, 1.0),
            (1.115, 1.11),
            (2.675, 2.67),
            (0.005, 0.01),
            (0.004_999, 0.0),
            (4.9999, 5.0),
            (5e-324, 0.0),
            (1e-10, 0.0),
            (123_456_789.987, 123_456_789.99),
            (1e300, 1e300),
        ] {
            assert_eq!(round2(number), rounded, "{number}");
        }
    }

    #[test]
    fn numbers_are_shown_without_what_nobody_reads() {
        for (number, text) in [
            (2.0, "2"),
            (0.1 + 0.2, "0.3"),
            (1.0 / 3.0, "0.333333"),
            (-1.50, "-1.5"),
            (-1e-9, "0"),
            (100.0, "100"),
            (1e20, "1e20"),
        ] {
            assert_eq!(show_number(number), text);
        }
    }

    #[test]
    fn whole_numbers_are_exact_or_none() {
        assert_eq!(as_whole(3.0), Some(3));
        assert_eq!(
            as_whole(-9_007_199_254_740_992.0),
            Some(-9_007_199_254_740_992)
        );
        assert_eq!(as_whole(9_007_199_254_740_994.0), None);
        assert_eq!(as_whole(0.5), None);
        assert_eq!(as_whole(f64::NAN), None);
    }
}
