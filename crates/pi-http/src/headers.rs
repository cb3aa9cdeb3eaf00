//! Merges request headers of all layers, and converts response headers for hooks.

use std::collections::BTreeMap;

use http::{HeaderMap, HeaderName, HeaderValue};
use pi_protocol::ProviderError;

/// Headers to add; `None` deletes a header that would otherwise be sent.
pub type HeaderOverrides = BTreeMap<String, Option<String>>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseHead {
    pub status: u16,
    /// Headers by lowercase name.
    pub headers: BTreeMap<String, String>,
}

/// Substrings of header names whose values are secrets.
const SECRET_NAMES: &[&str] = &["auth", "key", "token", "cookie", "secret", "signature"];

/// Sets a header, replacing any with the same name in different case.
pub fn set_header(headers: &mut HeaderOverrides, name: &str, value: Option<String>) {
    headers.retain(|other, _| !other.eq_ignore_ascii_case(name));
    headers.insert(name.to_owned(), value);
}

/// Merges headers over others. Names are compared and stored in lower case; an entry without a value
/// is kept, so that it also deletes a header that a lower layer adds later.
pub fn merge_headers(base: &mut HeaderOverrides, upper: HeaderOverrides) {
    // If one map has a name in two cases, the one that is not lower case was added on purpose.
    let (lower_case, mixed_case): (Vec<_>, Vec<_>) = upper
        .into_iter()
        .partition(|(name, _)| !name.contains(|letter: char| letter.is_ascii_uppercase()));
    for (name, value) in lower_case.into_iter().chain(mixed_case) {
        base.insert(name.to_ascii_lowercase(), value);
    }
}

pub fn to_header_map(headers: &HeaderOverrides) -> Result<HeaderMap, ProviderError> {
    let mut map = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let Some(value) = value else {
            continue;
        };
        let header = HeaderName::try_from(name)
            .map_err(|_invalid| ProviderError::invalid(format!("Invalid header name {name:?}")))?;
        // The value may be a secret, so the message leaves it out.
        let mut value = HeaderValue::try_from(value.trim()).map_err(|_invalid| {
            ProviderError::invalid(format!(
                "The value of the header {name:?} contains invalid characters"
            ))
        })?;
        value.set_sensitive(
            SECRET_NAMES
                .iter()
                .any(|name| header.as_str().contains(name)),
        );
        map.insert(header, value);
    }
    Ok(map)
}

/// Copies status and headers of a response; values of a repeated header are joined with commas.
pub fn response_head(status: u16, headers: &HeaderMap) -> ResponseHead {
    let mut head = ResponseHead {
        status,
        headers: BTreeMap::new(),
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
    fn upper_layers_replace_and_delete_ignoring_case() {
        let mut headers = overrides(&[("user-agent", Some("pi")), ("x-a", Some("1"))]);
        merge_headers(
            &mut headers,
            overrides(&[("X-A", Some("2")), ("User-Agent", None)]),
        );
        merge_headers(
            &mut headers,
            overrides(&[("x-b", Some("lower_case")), ("X-B", Some("theirs"))]),
        );
        let map = to_header_map(&headers).unwrap();
        assert_eq!(map.len(), 2);
        assert_eq!(map["x-a"], "2");
        assert_eq!(map["x-b"], "theirs");
    }

    #[test]
    fn an_invalid_header_is_an_error_without_its_value() {
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
