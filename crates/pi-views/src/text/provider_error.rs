//! Errors of providers as one readable sentence, with what to do next.
//!
//! Providers answer with a status and a JSON or HTML body, such as
//! `401 Unauthorized: {"error":{"message":"invalid x-api-key"}}`.

use pi_protocol::overflow::is_overflow_text;
use pi_protocol::retry::is_account_limit;
use serde_json::Value;

/// Longer messages are cut; the full text is in the raw error.
const MAX_MESSAGE_CHARS: usize = 300;

const SIGN_IN: &str = "Run /login to sign in again or to replace the API key.";
const ACCOUNT: &str =
    "Check the plan and the billing of the provider, or run /model to use another one.";
const LATER: &str = "Send the prompt again in a moment, or run /model to use another model.";
const OVERFLOW: &str = "Run /compact to shorten the conversation, or /new to start another one.";
const PROVIDER: &str = "The provider has a problem. Send the prompt again in a moment, or run /model to use another one.";

/// Returns an error as a message with its status, and what to do next on a second line. Other text is returned
/// unchanged.
pub fn readable_error(raw: &str) -> String {
    let Some((status, body)) = split(raw) else {
        return if is_overflow_text(raw) {
            format!("{raw}\n{OVERFLOW}")
        } else {
            raw.to_owned()
        };
    };
    let message = message_of(body).unwrap_or_else(|| reason(status).to_owned());
    let message: String = message.chars().take(MAX_MESSAGE_CHARS).collect();
    let message = message.trim().trim_end_matches('.');
    let line = format!("{message} ({status})");
    let hint = match status {
        _ if is_overflow_text(raw) => OVERFLOW,
        _ if is_account_limit(raw) => ACCOUNT,
        401 | 403 => SIGN_IN,
        402 => ACCOUNT,
        413 => OVERFLOW,
        408 | 429 => LATER,
        500.. => PROVIDER,
        _ => return line,
    };
    format!("{line}\n{hint}")
}

/// Whether [`readable_error`] leaves something out.
pub fn has_more(raw: &str) -> bool {
    split(raw).is_some()
}

/// Splits an error into its HTTP status and the body.
fn split(raw: &str) -> Option<(u16, &str)> {
    let digits = raw.get(..3)?;
    let status: u16 = digits.parse().ok()?;
    if !(400..600).contains(&status) {
        return None;
    }
    let rest = raw.get(3..)?;
    let (title, body) = rest.split_once(": ").or_else(|| rest.split_once('\n'))?;
    let is_title = |letter: char| letter.is_ascii_alphabetic() || " -'".contains(letter);
    title.chars().all(is_title).then_some((status, body))
}

fn message_of(body: &str) -> Option<String> {
    let body = body.trim();
    if let Ok(value) = serde_json::from_str::<Value>(body) {
        return message_in(&value);
    }
    if body.starts_with('<') {
        return title_of(body);
    }
    let line = body.lines().next()?.trim();
    (!line.is_empty() && !line.starts_with(['{', '['])).then(|| line.to_owned())
}

/// Finds the message in the formats of the providers.
fn message_in(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Array(items) => message_in(items.first()?),
        Value::Object(fields) => ["error", "message", "detail", "errors"]
            .iter()
            .find_map(|name| message_in(fields.get(*name)?)),
        _ => None,
    }
}

/// Returns the title of an HTML page.
fn title_of(page: &str) -> Option<String> {
    let start = page.find("<title>")? + "<title>".len();
    let (title, _) = page.get(start..)?.split_once('<')?;
    let title = title.trim();
    // Servers repeat the status in the title.
    let title = title
        .trim_start_matches(|letter: char| letter.is_ascii_digit())
        .trim();
    (!title.is_empty()).then(|| title.to_owned())
}

fn reason(status: u16) -> &'static str {
    match status {
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not found",
        408 => "Timed out",
        413 => "Request too large",
        429 => "Too many requests",
        502 => "Bad gateway",
        503 => "Service unavailable",
        504 => "Gateway timeout",
        529 => "Overloaded",
        500.. => "Server error",
        _ => "Request failed",
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn errors_of_providers_are_sentences_with_the_next_step() {
        let table = [
            (
                r#"401 Unauthorized: {"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
                "invalid x-api-key (401)",
                SIGN_IN,
            ),
            (
                r#"529: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                "Overloaded (529)",
                PROVIDER,
            ),
            (
                "502 Bad Gateway: <html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>",
                "Bad Gateway (502)",
                PROVIDER,
            ),
            (
                r#"429 Too Many Requests: {"message":"slow down."}"#,
                "slow down (429)",
                LATER,
            ),
            (
                r#"400 Bad Request: {"error":{"message":"prompt is too long: 250000 tokens > 200000 maximum"}}"#,
                "prompt is too long: 250000 tokens > 200000 maximum (400)",
                OVERFLOW,
            ),
            (
                "503 Service Unavailable: {}",
                "Service unavailable (503)",
                PROVIDER,
            ),
        ];
        for (raw, line, hint) in table {
            assert_eq!(readable_error(raw), format!("{line}\n{hint}"), "{raw}");
            assert!(has_more(raw));
        }
    }

    #[test]
    fn other_errors_are_unchanged() {
        for raw in [
            "connection refused",
            "404 files were found",
            "",
            "4",
            "40é: x",
            "Überlastet",
        ] {
            assert_eq!(readable_error(raw), raw);
            assert!(!has_more(raw));
        }
        let unknown = r#"404 Not Found: [{"error":{"message":"no such model"}}]"#;
        assert_eq!(readable_error(unknown), "no such model (404)");
    }
}
