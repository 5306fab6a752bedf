//! The part of a file that a request asks for.
//!
//! Source: RFC 9110, section 14; of several parts the first one is given.

use http_range_header::{RangeUnsatisfiableError, parse_range_header};

/// The requested part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Range {
    /// The whole file, also if the request for a range cannot be read.
    All,
    /// These bytes.
    Part(std::ops::Range<usize>),
    /// Nothing that is there.
    Beyond,
}

/// Reads the value of a `Range` header for a file of `len` bytes.
pub(crate) fn find_range(header: Option<&str>, len: usize) -> Range {
    let Some(header) = header else {
        return Range::All;
    };
    let parts = parse_range_header(header).and_then(|ranges| ranges.validate(len as u64));
    match parts.map(|parts| parts.into_iter().next()) {
        Ok(Some(part)) => Range::Part(*part.start() as usize..*part.end() as usize + 1),
        Ok(None) | Err(RangeUnsatisfiableError::Unsatisfiable) => Range::Beyond,
        // A header that cannot be read is ignored, and so is one that asks for overlapping parts.
        Err(_) => Range::All,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_as_players_ask_for_them() {
        let of = |header| find_range(Some(header), 100);
        assert_eq!(find_range(None, 100), Range::All);
        assert_eq!(of("bytes=0-"), Range::Part(0..100));
        assert_eq!(of("bytes=10-19"), Range::Part(10..20));
        assert_eq!(of("bytes=90-500, 0-1"), Range::Part(90..100));
        assert_eq!(of("bytes=-5"), Range::Part(95..100));
        assert_eq!(of("bytes=-500"), Range::Part(0..100));
        for beyond in ["bytes=100-", "bytes=-0", "bytes=200-300"] {
            assert_eq!(of(beyond), Range::Beyond, "{beyond}");
        }
        let garbled = ["lines=1-2", "bytes=", "bytes=a-b", "bytes=5", "bytes=9-2"];
        for odd in garbled {
            assert_eq!(of(odd), Range::All, "{odd}");
        }
        assert_eq!(find_range(Some("bytes=0-"), 0), Range::Beyond);
        assert_eq!(
            find_range(Some("bytes=0-18446744073709551615"), 9),
            Range::Part(0..9)
        );
    }
}
