//! The credentials of a request, which are removed from the errors of a service.

use pi_http::{HeaderOverrides, KnownSecrets};
use pi_stream::StreamWriter;
use secrecy::ExposeSecret as _;

use crate::options::ModelRequest;

/// Parts of header names whose values are credentials.
const SECRET_HEADERS: [&str; 6] = ["auth", "key", "token", "secret", "cookie", "password"];

pub(crate) fn request_secrets(request: &ModelRequest) -> KnownSecrets {
    let options = &request.options;
    let key = options
        .api_key
        .iter()
        .map(|key| key.expose_secret().to_owned());
    let model_headers = request.model.headers.iter().flatten();
    let model_headers = model_headers.map(|(name, value)| (name.as_str(), value.as_str()));
    let headers = secret_values(header_values(&options.headers).chain(model_headers));
    KnownSecrets::new(key.chain(headers))
}

/// Removes the secrets from the error that the stream may end with.
pub(crate) fn redact_errors(writer: &mut StreamWriter, secrets: &KnownSecrets) {
    let secrets = secrets.clone();
    writer.redact_errors(move |text| secrets.redact(text));
}

/// Returns the credentials in the headers of a prepared request.
pub(crate) fn header_secrets(headers: &HeaderOverrides) -> impl Iterator<Item = String> {
    secret_values(header_values(headers))
}

fn secret_values<'a>(
    headers: impl Iterator<Item = (&'a str, &'a str)>,
) -> impl Iterator<Item = String> {
    headers
        .filter(|(name, _)| is_secret_header(name))
        .map(|(_, value)| without_scheme(value).to_owned())
}

fn header_values(headers: &HeaderOverrides) -> impl Iterator<Item = (&str, &str)> {
    headers
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.as_deref()?)))
}

fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_HEADERS.iter().any(|part| name.contains(part))
}

/// Returns the value of an `Authorization` header without its scheme, such as `Bearer`.
fn without_scheme(value: &str) -> &str {
    match value.split_once(' ') {
        Some((scheme, rest)) if scheme.bytes().all(|byte| byte.is_ascii_alphabetic()) => rest,
        Some(_) | None => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheme_of_a_header_is_no_secret() {
        assert_eq!(without_scheme("Bearer abcdefgh"), "abcdefgh");
        assert_eq!(without_scheme("key with-1 digit"), "with-1 digit");
        assert_eq!(without_scheme("abcdefgh"), "abcdefgh");
    }
}
