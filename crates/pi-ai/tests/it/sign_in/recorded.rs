//! Requests of a sign-in as text, with what is random named.

use pi_test_support::{ScriptedServer, RecordedRequest};

/// Headers that every request has and that say nothing about the sign-in.
const PLAIN: [&str; 4] = ["host", "accept-encoding", "content-length", "user-agent"];

/// Shows all requests; every one must be signed with our own name.
pub(crate) fn requests(service: &ScriptedServer, random: &[(&str, &str)]) -> String {
    let shown: Vec<String> = service.requests().iter().map(show).collect();
    let mut text = shown.join("\n");
    for (value, name) in random {
        if !value.is_empty() {
            text = text.replace(value, &format!("<{name}>"));
        }
    }
    text
}

fn show(request: &RecordedRequest) -> String {
    let agent = request.header("user-agent").unwrap_or_default();
    assert!(agent.starts_with("pi/"), "signed as {agent:?}");
    let mut lines = vec![format!("{} {}", request.method, request.target)];
    let mut headers: Vec<String> = request
        .headers
        .iter()
        .filter(|(name, _)| !PLAIN.contains(&name.as_str()))
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
