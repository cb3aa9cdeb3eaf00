//! Recognizes responses of providers that have received too many requests.

use pi_http::{ResponseHead, classify_status};
use pi_protocol::{ErrorClass, Model, RateLimitLine};

/// Returns the rate limit that a response to a request for a model reports.
pub fn rate_limit_of(response: &ResponseHead, model: &Model) -> Option<RateLimitLine> {
    let ErrorClass::RateLimited { retry_after } = classify_status(response, "") else {
        return None;
    };
    let retry_after = retry_after.map(|delay| delay.as_millis());
    Some(RateLimitLine {
        model: format!("{}/{}", model.provider, model.id),
        retry_after_ms: retry_after.and_then(|delay| u64::try_from(delay).ok()),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn only_rate_limits_are_recognized() {
        let model = Model {
            id: "m".to_owned(),
            provider: "p".to_owned(),
            ..Model::unknown()
        };
        let retry_after = || BTreeMap::from([("retry-after".to_owned(), "2".to_owned())]);
        let limit = |retry_after_ms| {
            Some(RateLimitLine {
                model: "p/m".to_owned(),
                retry_after_ms,
            })
        };
        for (status, headers, expected) in [
            (200, BTreeMap::new(), None),
            (500, retry_after(), None),
            (429, retry_after(), limit(Some(2000))),
            (429, BTreeMap::new(), limit(None)),
        ] {
            let response = ResponseHead { status, headers };
            assert_eq!(rate_limit_of(&response, &model), expected);
        }
    }
}
