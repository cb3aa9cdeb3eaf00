//! Credentials of HTTP servers, as connections use them.

use futures_util::future::BoxFuture;
use secrecy::SecretString;

use crate::error::McpError;

/// Provides the token of a server.
pub trait McpAuth: Send + Sync {
    /// Returns the token to send; `None` if there is none yet.
    fn token(&self) -> BoxFuture<'_, Result<Option<SecretString>, McpError>>;

    /// Called when the server rejects a request. Returns whether to try again, with another token.
    fn rejected(
        &self,
        challenge: AuthChallenge,
        token: Option<SecretString>,
    ) -> BoxFuture<'_, Result<RejectedToken, McpError>> {
        drop((challenge, token));
        Box::pin(std::future::ready(Ok(RejectedToken::SignInNeeded)))
    }

    /// Returns what the server asked for when it last rejected a request.
    fn challenge(&self) -> Option<AuthChallenge> {
        None
    }

    /// Waits until a token that is being replaced is stored.
    fn settled(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RejectedToken {
    /// There is another token now.
    Replaced,
    SignInNeeded,
}

/// What a server states when it rejects a request (RFC 6750, RFC 9728).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuthChallenge {
    /// Where the metadata of the server is.
    pub resource_metadata: Option<String>,
    /// The scope that the request needs.
    pub scope: Option<String>,
    /// Whether the token is valid but lacks the scope.
    pub is_insufficient_scope: bool,
}

impl AuthChallenge {
    /// Parses the header `WWW-Authenticate`.
    pub(crate) fn parse(header: &str) -> Self {
        let parameters = parameters(header);
        let find = |name: &str| {
            let mut parameters = parameters.iter();
            let found = parameters.find(|(known, _)| known.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.clone())
        };
        Self {
            resource_metadata: find("resource_metadata"),
            scope: find("scope").filter(|scope| !scope.is_empty()),
            is_insufficient_scope: find("error").as_deref() == Some("insufficient_scope"),
        }
    }
}

/// Returns the `name=value` parameters of a challenge; values may be quoted.
fn parameters(header: &str) -> Vec<(String, String)> {
    let mut parameters = Vec::new();
    let mut rest = header;
    while let Some((before, after)) = rest.split_once('=') {
        let name = before.rsplit([' ', ',', '\t']).next().unwrap_or_default();
        let (value, next) = match after.trim_start().strip_prefix('"') {
            Some(quoted) => unquote(quoted),
            None => {
                let end = after.find([',', ' ']).unwrap_or(after.len());
                let (value, next) = after.split_at_checked(end).unwrap_or((after, ""));
                (value.to_owned(), next)
            }
        };
        if !name.is_empty() {
            parameters.push((name.to_owned(), value));
        }
        rest = next;
    }
    parameters
}

/// Returns the value of a quoted string and the text after it.
fn unquote(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => break,
            '\\' => value.extend(characters.next()),
            other => value.push(other),
        }
    }
    (value, characters.as_str())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn challenges_are_parsed() {
        let header = "Bearer realm=\"a, \\\"b\\\"\", resource_metadata=\"https://h/x?a=1\", error=insufficient_scope, scope=\"a b\"";
        assert_eq!(
            AuthChallenge::parse(header),
            AuthChallenge {
                resource_metadata: Some("https://h/x?a=1".to_owned()),
                scope: Some("a b".to_owned()),
                is_insufficient_scope: true,
            }
        );
        for header in [
            "",
            "Bearer",
            "Bearer =",
            "a=\"unterminated",
            "Basic realm=\"x\"",
        ] {
            assert_eq!(AuthChallenge::parse(header), AuthChallenge::default());
        }
    }
}
