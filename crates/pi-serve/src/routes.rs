//! The route table.

use http::Method;

/// Names a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RouteId {
    SignIn,
    SignOut,
    ListDevices,
    RevokeDevice,
    Pair,
    ListSessions,
    OpenSession,
    ReadSession,
    ChangeSession,
    DeleteSession,
    SendCommand,
    SessionEvents,
    SessionSocket,
    ReadEntries,
    ListRequests,
    AnswerRequest,
    HostEvents,
    SearchSessions,
    FindFiles,
    Theme,
    OpenApi,
    Health,
    Acp,
    McpMessage,
    EndMcpSession,
}

impl RouteId {
    /// Whether the route reads the body of a request, or takes over the connection.
    pub(crate) fn reads_body(self) -> bool {
        matches!(
            self,
            Self::SignIn
                | Self::OpenSession
                | Self::ChangeSession
                | Self::SendCommand
                | Self::SessionSocket
                | Self::AnswerRequest
                | Self::Acp
                | Self::McpMessage
        )
    }
}

/// A route: `{name}` matches one part of the path.
#[derive(Debug, Clone)]
pub struct RouteRow {
    pub method: Method,
    pub path: &'static str,
    pub route: RouteId,
}

const fn row(method: Method, path: &'static str, route: RouteId) -> RouteRow {
    RouteRow {
        method,
        path,
        route,
    }
}

/// Every route, except for the files of the page.
pub static ROUTES: [RouteRow; 25] = [
    row(Method::POST, "/v1/login", RouteId::SignIn),
    row(Method::DELETE, "/v1/login", RouteId::SignOut),
    row(Method::GET, "/v1/devices", RouteId::ListDevices),
    row(
        Method::DELETE,
        "/v1/devices/{device}",
        RouteId::RevokeDevice,
    ),
    row(Method::POST, "/v1/pair", RouteId::Pair),
    row(Method::GET, "/v1/sessions", RouteId::ListSessions),
    row(Method::POST, "/v1/sessions", RouteId::OpenSession),
    row(Method::GET, "/v1/sessions/{id}", RouteId::ReadSession),
    row(Method::PATCH, "/v1/sessions/{id}", RouteId::ChangeSession),
    row(Method::DELETE, "/v1/sessions/{id}", RouteId::DeleteSession),
    row(
        Method::POST,
        "/v1/sessions/{id}/commands",
        RouteId::SendCommand,
    ),
    row(
        Method::GET,
        "/v1/sessions/{id}/events",
        RouteId::SessionEvents,
    ),
    row(
        Method::GET,
        "/v1/sessions/{id}/socket",
        RouteId::SessionSocket,
    ),
    row(
        Method::GET,
        "/v1/sessions/{id}/entries",
        RouteId::ReadEntries,
    ),
    row(
        Method::GET,
        "/v1/sessions/{id}/requests",
        RouteId::ListRequests,
    ),
    row(
        Method::POST,
        "/v1/sessions/{id}/requests/{request}",
        RouteId::AnswerRequest,
    ),
    row(Method::GET, "/v1/events", RouteId::HostEvents),
    row(Method::GET, "/v1/search", RouteId::SearchSessions),
    row(Method::GET, "/v1/files", RouteId::FindFiles),
    row(Method::GET, "/v1/theme", RouteId::Theme),
    row(Method::GET, "/v1/openapi.json", RouteId::OpenApi),
    row(Method::GET, "/v1/health", RouteId::Health),
    row(Method::GET, "/acp", RouteId::Acp),
    row(Method::POST, "/mcp", RouteId::McpMessage),
    row(Method::DELETE, "/mcp", RouteId::EndMcpSession),
];

/// What a path leads to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Match {
    /// A route, with the parts of the path that its row names.
    Route(RouteId, Vec<String>),
    /// The path exists with other methods.
    OtherMethod,
    /// Perhaps a file of the page.
    Unknown,
}

pub(crate) fn find(method: &Method, path: &str) -> Match {
    let mut is_known = false;
    for row in &ROUTES {
        if let Some(parts) = match_path(row.path, path) {
            // `HEAD` is answered like `GET`; the body is left out by the connection.
            let is_head = *method == Method::HEAD && row.method == Method::GET;
            if row.method == *method || is_head {
                return Match::Route(row.route, parts);
            }
            is_known = true;
        }
    }
    if is_known {
        Match::OtherMethod
    } else {
        Match::Unknown
    }
}

fn match_path(pattern: &str, path: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut segments = path.split('/');
    for expected in pattern.split('/') {
        let segment = segments.next()?;
        if expected.starts_with('{') {
            let decoded = decode(segment)?;
            if decoded.is_empty() {
                return None;
            }
            parts.push(decoded);
        } else if expected != segment {
            return None;
        }
    }
    segments.next().is_none().then_some(parts)
}

/// Decodes percent escapes; `None` if they are invalid.
fn decode(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let [high, low, tail @ ..] = rest else {
            return None;
        };
        rest = tail;
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let byte = digit(*high)? * 16 + digit(*low)?;
        bytes.push(u8::try_from(byte).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn paths_lead_to_routes() {
        let route = |method: Method, path: &str| find(&method, path);
        assert_eq!(
            route(Method::GET, "/v1/sessions/a%20b"),
            Match::Route(RouteId::ReadSession, vec!["a b".to_owned()])
        );
        assert_eq!(
            route(Method::POST, "/v1/sessions/a/requests/b"),
            Match::Route(RouteId::AnswerRequest, vec!["a".to_owned(), "b".to_owned()])
        );
        assert_eq!(
            route(Method::HEAD, "/v1/health"),
            Match::Route(RouteId::Health, vec![])
        );
        assert_eq!(route(Method::PUT, "/v1/sessions/a"), Match::OtherMethod);
        for path in [
            "/",
            "/v1",
            "/v1/sessions/",
            "/v1/sessions//events",
            "/v1/sessions/%2",
            "/v1/sessions/%ff",
            "/v1/health/",
            "//v1/health",
            "/v1/../v1/health",
        ] {
            assert_eq!(route(Method::GET, path), Match::Unknown, "{path}");
        }
    }
}
