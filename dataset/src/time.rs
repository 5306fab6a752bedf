//! Points in time: microseconds since the Unix epoch, as tables have them, from ISO 8601 in UTC, as the database has them.

/// Reads `2026-11-25`, `2026-11-25T14:30Z` or `2026-11-25T14:30:00.123Z` as microseconds since the Unix epoch; `None` if it is
/// no such text.
#[must_use]
pub fn parse_unix_us(text: &str) -> Option<u64> {
    let (date, clock) = text.split_once(['T', ' ']).unwrap_or((text, ""));
    let mut date = date.splitn(3, '-').map(parse_number);
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let is_date =
        (1970..10_000).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    let mut clock = clock.strip_suffix('Z').unwrap_or(clock).splitn(3, ':');
    let hour = clock
        .next()
        .filter(|hour| !hour.is_empty())
        .map_or(Some(0), parse_number)?;
    let minute = clock.next().map_or(Some(0), parse_number)?;
    let (second, fraction) = clock
        .next()
        .map(|second| second.split_once('.').unwrap_or((second, "")))
        .unwrap_or(("0", ""));
    let second = parse_number(second)?;
    let is_clock = hour < 24 && minute < 60 && second < 61 && fraction.len() <= 6;
    if !is_date || !is_clock {
        return None;
    }
    let micros = parse_number(&format!("{fraction:0<6}"))?;
    let seconds = ((days_since_epoch(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    Some(seconds * 1_000_000 + micros)
}

fn parse_number(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

/// Source: Hinnant, "chrono-compatible low-level date algorithms": years begin in March, so that leap days come last.
fn days_since_epoch(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_microseconds_since_the_epoch() {
        let known = [
            ("1970-01-01", 0),
            ("2000-03-01T00:00:00Z", 951_868_800_000_000),
            ("2023-11-14T22:13:20.123Z", 1_700_000_000_123_000),
            ("2024-02-29T12:00Z", 1_709_208_000_000_000),
            ("2026-11-25", 1_795_564_800_000_000),
        ];
        for (text, us) in known {
            assert_eq!(parse_unix_us(text), Some(us), "{text}");
        }
        for text in [
            "",
            "yesterday",
            "2026-13-01",
            "2026-11-25T25:00",
            "1969-12-31",
            "2026-11-25T1:2:3+01:00",
        ] {
            assert_eq!(parse_unix_us(text), None, "{text}");
        }
    }
}
