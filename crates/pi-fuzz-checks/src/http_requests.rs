//! Heads of HTTP requests to `pi serve`: a line with method and path, and lines of headers.

use std::fmt::Write as _;

use pi_serve::fuzz_support::{RequestHead, admits, find_route};
use pretty_assertions::assert_eq;

/// The names of the server.
const NAMES: [&str; 4] = [
    "127.0.0.1:4141",
    "localhost:4141",
    "[::1]:4141",
    "proxy.example:8443",
];

/// A name that is valid with any port.
const ANY_PORT: &str = "box.example";

/// Checks that requests pass as rules that are written down here say, that those of other sites never do, and that
/// paths lead to one route with the parts that they contain.
pub fn http_requests(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.lines();
    let (method, path) = lines
        .next()
        .and_then(|line| line.split_once(' '))
        .unwrap_or(("GET", "/"));
    let headers = lines.filter_map(|line| line.split_once(": "));
    let headers: Vec<(&str, &str)> = headers.collect();
    let passes = |headers: &[(&str, &str)]| {
        let configured = ["proxy.example:8443".to_owned(), ANY_PORT.to_owned()];
        let head = RequestHead {
            method,
            path,
            headers,
        };
        admits(&head, 4141, &configured)
    };
    // Other methods and headers are no HTTP.
    if let Some(passes) = passes(&headers) {
        assert_eq!(passes, may_pass(method, path, &headers), "{text:?}");
    }
    for other in [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("host", "evil.example:4141"),
    ] {
        let mut others = headers.clone();
        others.retain(|(name, _)| !name.eq_ignore_ascii_case(other.0));
        others.push(other);
        assert_ne!(passes(&others), Some(true), "{other:?}: {text:?}");
    }
    route(method, path);
}

/// Whether the rules of the server allow a request over TCP.
fn may_pass(method: &str, path: &str, headers: &[(&str, &str)]) -> bool {
    let all = |name: &str| -> Vec<&str> {
        let values = headers
            .iter()
            .filter(|(known, _)| known.eq_ignore_ascii_case(name));
        values
            .map(|(_, value)| value.trim_matches([' ', '\t']))
            .collect()
    };
    let [host] = all("host")[..] else {
        return false;
    };
    let host = host.to_ascii_lowercase();
    let without_port = host.trim_end_matches(|c: char| c.is_ascii_digit());
    let name = without_port.strip_suffix(':').unwrap_or(&host);
    if !NAMES.contains(&&*host) && name != ANY_PORT {
        return false;
    }
    let is_same_origin = match all("origin")[..] {
        [] => true,
        [origin] => ["http://", "https://"].into_iter().any(|scheme| {
            let name = origin.strip_prefix(scheme);
            name.is_some_and(|name| name.eq_ignore_ascii_case(&host))
        }),
        _ => false,
    };
    let is_same_site = matches!(all("sec-fetch-site")[..], [] | ["same-origin" | "none"]);
    if !is_same_origin || !is_same_site {
        return false;
    }
    if matches!(method, "GET" | "HEAD") {
        return true;
    }
    let is_mcp = path == "/mcp" && !all("authorization").is_empty();
    let is_json = match all("content-type")[..] {
        [kind] if kind.is_ascii() => {
            let kind = kind.split(';').next().unwrap_or_default();
            kind.trim().eq_ignore_ascii_case("application/json")
        }
        _ => false,
    };
    (is_mcp && method == "DELETE") || (is_json && (is_mcp || all("x-pi") == ["1"]))
}

fn route(method: &str, path: &str) {
    let Some((pattern, parts)) = find_route(method, path) else {
        return;
    };
    let (expected, actual): (Vec<&str>, Vec<&str>) =
        (pattern.split('/').collect(), path.split('/').collect());
    assert_eq!(actual.len(), expected.len(), "{path:?}: {pattern}");
    let mut parts = parts.iter();
    for (expected, actual) in expected.into_iter().zip(actual) {
        if expected.starts_with('{') {
            let part = parts.next().unwrap();
            assert_eq!(escaped(part), normalized(actual), "{path:?}");
        } else {
            assert_eq!(actual, expected, "{path:?}");
        }
    }
    assert_eq!(parts.next(), None);
}

/// Escapes everything but letters and digits.
fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

/// Escapes a part of a path that may have escapes.
fn normalized(part: &str) -> String {
    let mut pieces = part.split('%');
    let mut text = escaped(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (digits, rest) = piece.split_at(2);
        let byte = u8::from_str_radix(digits, 16).unwrap();
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => text.push(char::from(byte)),
            _ => write!(text, "%{byte:02X}").unwrap(),
        }
        text.push_str(&escaped(rest));
    }
    text
}
