//! Durations as users write them: `90s`, `45m`, `2h`.

use std::time::Duration;

use serde::{Deserialize as _, Deserializer, Serializer};

/// Parses a number with the unit `s`, `m` or `h`.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let unit = text.chars().next_back()?;
    let seconds: u64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        _ => return None,
    };
    let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
    Some(Duration::from_secs(number.checked_mul(seconds)?))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let invalid = || serde::de::Error::custom(format!("`{text}` is not a duration like `45m`"));
    parse(&text).map(Some).ok_or_else(invalid)
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
pub(crate) fn serialize<S: Serializer>(
    duration: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match duration {
        Some(duration) => serializer.serialize_str(&format!("{}s", duration.as_secs())),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit() {
        for (text, seconds) in [
            ("90s", Some(90)),
            ("45m", Some(2700)),
            ("2h", Some(7200)),
            ("0s", Some(0)),
            ("45", None),
            ("m", None),
            ("-1m", None),
            ("1d", None),
            ("", None),
            ("99999999999999999999h", None),
            ("5124095576030432h", None),
        ] {
            assert_eq!(parse(text), seconds.map(Duration::from_secs), "{text}");
        }
    }
}
