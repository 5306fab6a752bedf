//! The part of a file that a request asks for.
//!
//! Source: RFC 9110, section 14; of several parts the first one is given.

/// The requested part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Range {
    /// All of it, also if what is asked for cannot be read.
    All,
    /// These bytes.
    Part(std::ops::Range<usize>),
    /// Nothing that is there.
    Beyond,
}

/// Reads the value of a `Range` header for a file of `len` bytes.
pub(crate) fn range(header: Option<&str>, len: usize) -> Range {
    let Some(spec) = header.and_then(|header| header.strip_prefix("bytes=")) else {
        return Range::All;
    };
    let first = spec.split(',').next().unwrap_or_default().trim();
    let Some((start, end)) = first.split_once('-') else {
        return Range::All;
    };
    let number = |text: &str| text.parse::<usize>();
    let part = match (number(start), number(end)) {
        (Ok(start), Ok(end)) if start <= end => start..end.saturating_add(1).min(len),
        (Ok(start), Err(_)) if end.is_empty() => start..len,
        (Err(_), Ok(last)) if start.is_empty() => len.saturating_sub(last)..len,
        _ => return Range::All,
    };
    match part.is_empty() {
        true => Range::Beyond,
        false => Range::Part(part),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_as_players_ask_for_them() {
        let of = |header| range(Some(header), 100);
        assert_eq!(range(None, 100), Range::All);
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
        assert_eq!(range(Some("bytes=0-"), 0), Range::Beyond);
        assert_eq!(
            range(Some("bytes=0-18446744073709551615"), 9),
            Range::Part(0..9)
        );
    }
}
