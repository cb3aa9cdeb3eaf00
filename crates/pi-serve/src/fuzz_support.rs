//! Internals exposed for the fuzz checks. Not part of the public API; may change at any time.

use http::{HeaderMap, HeaderName, HeaderValue, Method};

use crate::guard::{HostNames, Peer, check_headers};
use crate::routes::{self, Match, ROUTES};

/// The head of a request.
#[derive(Debug, Clone, Copy)]
pub struct RequestHead<'head> {
    pub method: &'head str,
    pub path: &'head str,
    pub headers: &'head [(&'head str, &'head str)],
}

/// Whether a server on this port accepts the headers of a request over TCP; `None` if they are no HTTP.
pub fn admits(head: &RequestHead<'_>, port: u16, host_names: &[String]) -> Option<bool> {
    let method: Method = head.method.parse().ok()?;
    let mut headers = HeaderMap::new();
    for (name, value) in head.headers {
        let name: HeaderName = name.parse().ok()?;
        // As the parser of requests does.
        let value: HeaderValue = value.trim_matches([' ', '\t']).parse().ok()?;
        headers.append(name, value);
    }
    let names = HostNames::new(Some(port), host_names);
    Some(check_headers(&method, head.path, &headers, Peer::Tcp, &names).is_ok())
}

/// Returns the path of the route that a request leads to, as written in the table, and the parts that it names.
pub fn find_route(method: &str, path: &str) -> Option<(&'static str, Vec<String>)> {
    let method: Method = method.parse().ok()?;
    match routes::find(&method, path) {
        Match::Route(route, parts) => {
            let row = ROUTES.iter().find(|row| row.route == route)?;
            Some((row.path, parts))
        }
        Match::OtherMethod | Match::Unknown => None,
    }
}
