//! Formats the requests of a sign-in for snapshots, with placeholders for random values.

use pi_test_support::{RecordedRequest, ScriptedServer};

/// Headers that every request has and that are irrelevant here.
const COMMON_HEADERS: [&str; 4] = ["host", "accept-encoding", "content-length", "user-agent"];

/// Formats all requests; each must have our user agent.
pub(crate) fn requests(service: &ScriptedServer, random: &[(&str, &str)]) -> String {
    let requests: Vec<String> = service.requests().iter().map(format_request).collect();
    let mut text = requests.join("\n");
    for (value, name) in random {
        if !value.is_empty() {
            text = text.replace(value, &format!("<{name}>"));
        }
    }
    text
}

fn format_request(request: &RecordedRequest) -> String {
    let agent = request.header("user-agent").unwrap_or_default();
    assert!(agent.starts_with("pi/"), "unexpected user agent {agent:?}");
    let mut lines = vec![format!("{} {}", request.method, request.target)];
    let mut headers: Vec<String> = request
        .headers
        .iter()
        .filter(|(name, _)| !COMMON_HEADERS.contains(&name.as_str()))
        .map(|(name, value)| format!("  {name}: {value}"))
        .collect();
    headers.sort();
    lines.extend(headers);
    let body = String::from_utf8(request.body.clone()).unwrap();
    if request.header("content-type") == Some("application/x-www-form-urlencoded") {
        lines.extend(
            url::form_urlencoded::parse(body.as_bytes())
                .map(|(name, value)| format!("  {name}={value}")),
        );
    } else if !body.is_empty() {
        lines.push(format!("  {body}"));
    }
    lines.join("\n")
}
