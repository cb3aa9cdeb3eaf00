//! Timestamps in session files: ISO 8601 in UTC with milliseconds, as JavaScript writes them.

use jiff::Timestamp;

/// Formats milliseconds since the epoch, such as `2026-01-01T00:00:00.000Z`.
pub fn to_iso(milliseconds: i64) -> String {
    let timestamp = Timestamp::from_millisecond(milliseconds).unwrap_or_default();
    timestamp.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

/// Parses a timestamp into milliseconds since the epoch.
pub fn parse_iso(text: &str) -> Option<i64> {
    parse_canonical(text.as_bytes()).or_else(|| {
        text.parse::<Timestamp>()
            .ok()
            .map(Timestamp::as_millisecond)
    })
}

/// Fast path for the canonical format: opening a long session parses a hundred thousand timestamps.
fn parse_canonical(text: &[u8]) -> Option<i64> {
    let text: &[u8; 24] = text.try_into().ok()?;
    let [
        y1,
        y2,
        y3,
        y4,
        b'-',
        m1,
        m2,
        b'-',
        d1,
        d2,
        b'T',
        h1,
        h2,
        b':',
        n1,
        n2,
        b':',
        s1,
        s2,
        b'.',
        f1,
        f2,
        f3,
        b'Z',
    ] = *text
    else {
        return None;
    };
    let year = number(&[y1, y2, y3, y4])?;
    let month = number(&[m1, m2])?;
    let day = number(&[d1, d2])?;
    let (hour, minute, second) = (number(&[h1, h2])?, number(&[n1, n2])?, number(&[s1, s2])?);
    let milliseconds = number(&[f1, f2, f3])?;
    if !(1..=12).contains(&month)
        || !(1..=28).contains(&day)
        || hour > 23
        || minute > 59
        || second > 59
    {
        // The last days of a month depend on the month; the library handles them.
        return None;
    }
    let days = days_since_epoch(year, month, day);
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + milliseconds)
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |number, digit| {
        digit
            .is_ascii_digit()
            .then(|| number * 10 + i64::from(digit - b'0'))
    })
}

/// Counts days in a year that starts in March, so that the leap day is the last day.
/// See <https://howardhinnant.github.io/date_algorithms.html#days_from_civil>.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn timestamps_round_trip() {
        for milliseconds in [
            0,
            1,
            951_782_400_000,
            1_767_225_600_000,
            1_772_323_199_999,
            -1,
        ] {
            assert_eq!(parse_iso(&to_iso(milliseconds)), Some(milliseconds));
        }
        assert_eq!(to_iso(1_767_225_600_007), "2026-01-01T00:00:00.007Z");
    }

    #[test]
    fn the_fast_path_agrees_with_the_library() {
        for day in 0..12_000 {
            let text = to_iso(day * 86_400_000 + 12_345_678);
            let expected = text.parse::<Timestamp>().unwrap().as_millisecond();
            assert_eq!(parse_iso(&text), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_formats_and_invalid_input() {
        assert_eq!(parse_iso("1970-01-01T00:00:01Z"), Some(1000));
        assert_eq!(parse_iso("1970-01-01T01:00:00+01:00"), Some(0));
        for text in [
            "",
            "yesterday",
            "2026-13-01T00:00:00.000Z",
            "2026-02-30T00:00:00.000Z",
        ] {
            assert_eq!(parse_iso(text), None, "{text}");
        }
    }
}
