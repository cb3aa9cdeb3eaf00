//! Request headers from all who have a say, and response headers as hooks see them.

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::error::ProviderError;
use crate::options::{HeaderOverrides, ResponseHead};

/// Words in the names of headers whose values are secrets.
const SECRET_NAMES: &[&str] = &["auth", "key", "token", "cookie", "secret", "signature"];

/// Lays headers over others. Names are compared, and kept, in lower case; an entry without a value
/// stays, so that it also deletes what a lower layer adds later.
pub(crate) fn lay_over(base: &mut HeaderOverrides, upper: HeaderOverrides) {
    // Where one map spells a name twice, the spelling that is not ours was added on purpose.
    let (ours, foreign): (Vec<_>, Vec<_>) = upper
        .into_iter()
        .partition(|(name, _)| !name.contains(|letter: char| letter.is_ascii_uppercase()));
    for (name, value) in ours.into_iter().chain(foreign) {
        base.insert(name.to_ascii_lowercase(), value);
    }
}

/// Turns the headers into what is sent.
pub(crate) fn to_header_map(headers: &HeaderOverrides) -> Result<HeaderMap, ProviderError> {
    let mut map = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let Some(value) = value else {
            continue;
        };
        let header = HeaderName::try_from(name).map_err(|_invalid| {
            ProviderError::invalid(format!("{name:?} cannot be the name of a header"))
        })?;
        // The value may be a secret and stays out of the message.
        let mut value = HeaderValue::try_from(value.trim()).map_err(|_invalid| {
            ProviderError::invalid(format!(
                "The value of the header {name:?} has characters that cannot be sent"
            ))
        })?;
        value.set_sensitive(
            SECRET_NAMES
                .iter()
                .any(|word| header.as_str().contains(word)),
        );
        map.insert(header, value);
    }
    Ok(map)
}

/// Copies status and headers of a response; values of a repeated header are joined by commas.
pub(crate) fn response_head(status: u16, headers: &HeaderMap) -> ResponseHead {
    let mut head = ResponseHead {
        status,
        headers: std::collections::BTreeMap::new(),
    };
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        head.headers
            .entry(name.as_str().to_owned())
            .and_modify(|joined| {
                joined.push_str(", ");
                joined.push_str(&value);
            })
            .or_insert_with(|| value.into_owned());
    }
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overrides(entries: &[(&str, Option<&str>)]) -> HeaderOverrides {
        entries
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned)))
            .collect()
    }

    #[test]
    fn upper_layers_replace_and_delete_whatever_the_case() {
        let mut headers = overrides(&[("user-agent", Some("pi")), ("x-a", Some("1"))]);
        lay_over(
            &mut headers,
            overrides(&[("X-A", Some("2")), ("User-Agent", None)]),
        );
        lay_over(
            &mut headers,
            overrides(&[("x-b", Some("ours")), ("X-B", Some("theirs"))]),
        );
        let map = to_header_map(&headers).unwrap();
        assert_eq!(map.len(), 2);
        assert_eq!(map["x-a"], "2");
        assert_eq!(map["x-b"], "theirs");
    }

    #[test]
    fn a_header_that_cannot_be_sent_is_an_error_without_its_value() {
        let error = to_header_map(&overrides(&[("a b", Some("x"))])).unwrap_err();
        assert!(error.message.contains("\"a b\""), "{}", error.message);
        let error = to_header_map(&overrides(&[("x-key", Some("sec\nret"))])).unwrap_err();
        assert!(error.message.contains("x-key") && !error.message.contains("sec"));
        let map = to_header_map(&overrides(&[("authorization", Some("Bearer s"))])).unwrap();
        assert!(!format!("{map:?}").contains("Bearer"));
    }

    #[test]
    fn repeated_response_headers_are_joined() {
        let mut headers = HeaderMap::new();
        headers.append("x-a", HeaderValue::from_static("1"));
        headers.append("x-a", HeaderValue::from_static("2"));
        assert_eq!(response_head(200, &headers).headers["x-a"], "1, 2");
    }
}
