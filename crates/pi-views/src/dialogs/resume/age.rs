//! Short relative times.

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Formats the time between two timestamps in the largest unit that fits.
pub(super) fn of(then_ms: i64, now_ms: i64) -> String {
    let passed = now_ms.saturating_sub(then_ms);
    let (count, unit) = match passed {
        ..MINUTE => return "now".to_owned(),
        MINUTE..HOUR => (passed / MINUTE, "m"),
        HOUR..DAY => (passed / HOUR, "h"),
        _ if passed < 7 * DAY => (passed / DAY, "d"),
        _ if passed < 30 * DAY => (passed / (7 * DAY), "w"),
        _ if passed < 365 * DAY => (passed / (30 * DAY), "mo"),
        _ => (passed / (365 * DAY), "y"),
    };
    format!("{count}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_unit_that_fits_is_used() {
        let cases = [
            (-5, "now"),
            (59_999, "now"),
            (MINUTE, "1m"),
            (HOUR - 1, "59m"),
            (DAY - 1, "23h"),
            (6 * DAY, "6d"),
            (29 * DAY, "4w"),
            (364 * DAY, "12mo"),
            (800 * DAY, "2y"),
        ];
        for (passed, shown) in cases {
            assert_eq!(of(0, passed), shown);
        }
        assert_eq!(of(i64::MIN, i64::MAX), "292471208y");
    }
}
