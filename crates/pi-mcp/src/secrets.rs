//! The credentials in the configuration of a server, which the server may repeat in its errors.

use pi_protocol::{McpServerSpec, McpTransport};
use url::Url;

/// Parts of the names of headers, variables and parameters whose values are credentials.
const SECRET_NAMES: [&str; 7] = [
    "auth",
    "key",
    "token",
    "secret",
    "cookie",
    "password",
    "credential",
];

/// Returns the credential in a value, without the scheme of an `Authorization` header; `None` if its name is not one of a
/// credential.
pub(crate) fn secret_in<'value>(name: &str, value: &'value str) -> Option<&'value str> {
    let name = name.to_ascii_lowercase();
    let is_secret = SECRET_NAMES.iter().any(|part| name.contains(part));
    is_secret.then(|| match value.split_once(' ') {
        Some((scheme, rest)) if scheme.bytes().all(|byte| byte.is_ascii_alphabetic()) => rest,
        Some(_) | None => value,
    })
}

/// Returns the URL or the command line of a server for display, without the password of a URL.
pub(crate) fn shown_address(spec: &McpServerSpec) -> String {
    let McpTransport::Http(endpoint) = &spec.transport else {
        return spec.address();
    };
    match Url::parse(&endpoint.url) {
        Ok(mut url) if url.password().is_some() => {
            // A URL with a password has a host, so it can be set.
            url.set_password(Some("***")).ok();
            url.into()
        }
        _ => spec.address(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_scheme_of_a_header_is_no_secret() {
        for (name, value, secret) in [
            ("Authorization", "Bearer abcdefgh", Some("abcdefgh")),
            ("x-api-key", "key with-1 digit", Some("with-1 digit")),
            ("API_TOKEN", "abcdefgh", Some("abcdefgh")),
            ("accept", "abcdefgh", None),
        ] {
            assert_eq!(secret_in(name, value), secret);
        }
    }
}
