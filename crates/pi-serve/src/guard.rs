//! Decides whether a request may reach a route.
//!
//! Loopback is no protection: every page that a browser shows can send requests to it, also under a name that resolves to
//! this machine. The checks of a request run in this order: `Host`, `Origin` and `Sec-Fetch-Site`, rules for requests
//! that change something, credential. There is no CORS header on any response.

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use crate::body::Reply;
use crate::problem::Problem;

/// Names the header that only code of the page can set without a preflight request.
const REQUEST_MARK: &str = "x-pi";

/// Where a connection comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    /// The Unix socket; the peer is a process of the same user.
    SameUser,
    Tcp,
}

/// The names under which the server may be addressed.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostNames {
    /// With their port, in lower case.
    exact: Vec<String>,
    /// Configured names that are valid with any port, for reverse proxies.
    any_port: Vec<String>,
}

impl HostNames {
    /// Returns the names of a server on this port of the loopback interface, and configured ones.
    pub(crate) fn new(port: Option<u16>, configured: &[String]) -> Self {
        let mut names = Self::default();
        for name in ["127.0.0.1", "localhost", "[::1]"] {
            names
                .exact
                .extend(port.map(|port| format!("{name}:{port}")));
            if port == Some(80) {
                names.exact.push(name.to_owned());
            }
        }
        for name in configured {
            let name = name.to_ascii_lowercase();
            if has_port(&name) {
                names.exact.push(name);
            } else {
                names.any_port.push(name);
            }
        }
        names
    }

    fn allow(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
        let without_port = match host.rsplit_once(':') {
            Some((name, port)) if has_port(&host) && is_port(port) => name,
            _ => &host,
        };
        self.exact.contains(&host) || self.any_port.iter().any(|name| name == without_port)
    }
}

fn has_port(host: &str) -> bool {
    let after_address = host.rsplit_once(']').map_or(host, |(_, rest)| rest);
    after_address.contains(':')
}

/// Checks the headers of a request.
pub(crate) fn check_headers(
    method: &Method,
    path: &str,
    headers: &HeaderMap,
    peer: Peer,
    names: &HostNames,
) -> Result<(), Problem> {
    let host = single(headers, header::HOST.as_str())?;
    if peer == Peer::Tcp && !host.is_some_and(|host| names.allow(host)) {
        return Err(Problem::new(
            StatusCode::MISDIRECTED_REQUEST,
            "this server is not known under that name; add the name to serve.hosts in settings.json",
        ));
    }
    check_origin(headers, host)?;
    if matches!(*method, Method::GET | Method::HEAD) {
        return Ok(());
    }
    // MCP clients do not know our header. A page cannot set `Authorization` either without a preflight request, nor connect
    // to a Unix socket; and `DELETE` is always preceded by one.
    let is_mcp =
        path == "/mcp" && (peer == Peer::SameUser || headers.contains_key(header::AUTHORIZATION));
    if is_mcp && *method == Method::DELETE {
        return Ok(());
    }
    let content_type = single(headers, header::CONTENT_TYPE.as_str())?.unwrap_or_default();
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    if !media_type.eq_ignore_ascii_case("application/json") {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "send `Content-Type: application/json`",
        ));
    }
    if !is_mcp && single(headers, REQUEST_MARK)? != Some("1") {
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            "send the header `X-Pi: 1` with requests that change something",
        ));
    }
    Ok(())
}

/// Rejects requests of pages that this server did not deliver.
fn check_origin(headers: &HeaderMap, host: Option<&str>) -> Result<(), Problem> {
    let forbidden = || Problem::new(StatusCode::FORBIDDEN, "requests of other sites are refused");
    if let Some(origin) = single(headers, header::ORIGIN.as_str())? {
        let authority = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        let is_same = authority
            .zip(host)
            .is_some_and(|(authority, host)| authority.eq_ignore_ascii_case(host));
        if !is_same {
            return Err(forbidden());
        }
    }
    match single(headers, "sec-fetch-site")? {
        None | Some("same-origin" | "none") => Ok(()),
        Some(_) => Err(forbidden()),
    }
}

/// Returns a header that must not occur twice: proxies and browsers disagree about which one is meant.
fn single<'headers>(
    headers: &'headers HeaderMap,
    name: &str,
) -> Result<Option<&'headers str>, Problem> {
    let mut values = headers.get_all(name).iter();
    let (first, second) = (values.next(), values.next());
    if second.is_some() {
        return Err(Problem::bad_request(format!("{name} must not be repeated")));
    }
    first
        .map(HeaderValue::to_str)
        .transpose()
        .map_err(|_invalid| Problem::bad_request(format!("{name} is not valid text")))
}

/// Returns the credentials that a request presents: the token, and the cookie with this name.
pub(crate) fn presented<'headers>(
    headers: &'headers HeaderMap,
    cookie_name: &str,
) -> Vec<&'headers str> {
    let token = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme
                .eq_ignore_ascii_case("bearer")
                .then_some(token.trim())
        });
    let cookies = headers.get_all(header::COOKIE).iter();
    let cookies = cookies.filter_map(|value| value.to_str().ok());
    let cookies = cookies.flat_map(|value| value.split(';'));
    let cookies = cookies.filter_map(|cookie| {
        let (name, value) = cookie.trim().split_once('=')?;
        (name == cookie_name).then_some(value)
    });
    token.into_iter().chain(cookies).collect()
}

/// Adds the headers of every response.
pub(crate) fn secure(reply: &mut Reply, is_page: bool) {
    let headers = reply.headers_mut();
    let mut set = |name: &'static str, value: &'static str| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    set("x-content-type-options", "nosniff");
    set("referrer-policy", "no-referrer");
    set("cross-origin-resource-policy", "same-origin");
    set("cross-origin-opener-policy", "same-origin");
    set("content-security-policy", pi_web::POLICY);
    if !is_page {
        set("cache-control", "no-store");
    }
}

#[cfg(test)]
mod tests;
