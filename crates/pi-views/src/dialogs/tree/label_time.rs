//! Formats when an entry was appended or a label was set.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Returns the time of day, with the date unless it is today.
pub(super) fn label_time(timestamp: &str, now_ms: i64, zone: &TimeZone) -> Option<String> {
    entry_time(timestamp.parse().ok()?, now_ms, zone)
}

/// Returns the time of day, with the date unless it is today.
pub(super) fn entry_time(then: Timestamp, now_ms: i64, zone: &TimeZone) -> Option<String> {
    let then = then.to_zoned(zone.clone());
    let now = Timestamp::from_millisecond(now_ms)
        .ok()?
        .to_zoned(zone.clone());
    let format = if then.date() == now.date() {
        "%H:%M"
    } else if then.year() == now.year() {
        "%-m/%-d %H:%M"
    } else {
        "%y/%-m/%-d %H:%M"
    };
    Some(then.strftime(format).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_is_omitted_for_today() {
        let now = "2026-03-05T12:00:00Z".parse::<Timestamp>().unwrap();
        let shown = |timestamp| label_time(timestamp, now.as_millisecond(), &TimeZone::UTC);
        assert_eq!(shown("2026-03-05T09:07:00.000Z").unwrap(), "09:07");
        assert_eq!(shown("2026-01-02T09:07:00Z").unwrap(), "1/2 09:07");
        assert_eq!(shown("2025-11-12T23:59:00Z").unwrap(), "25/11/12 23:59");
        assert_eq!(shown("yesterday"), None);
    }
}
