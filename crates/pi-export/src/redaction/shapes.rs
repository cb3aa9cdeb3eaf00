//! Patterns of secrets: key prefixes of each service, and positions where secrets occur.
//!
//! The tables are data. A key with a distinctive prefix is found anywhere; one without is found by
//! its context, such as the name of a variable or header.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Match, Regex};

use super::{REPLACEMENT, names};

/// Key prefix of a service.
struct KeyShape {
    prefix: &'static str,
    /// Minimum number of characters after the prefix.
    least: usize,
}

const fn key(prefix: &'static str, least: usize) -> KeyShape {
    KeyShape { prefix, least }
}

/// Known key prefixes. Longer prefixes come before shorter ones.
#[rustfmt::skip]
const KEYS: &[KeyShape] = &[
    // Anthropic: API keys, OAuth tokens, refresh tokens, admin keys.
    key("sk-ant-", 16),
    // OpenRouter, OpenAI, and many that use OpenAI's format: DeepSeek, Moonshot, Kimi, Qwen,
    // OpenCode, MiniMax.
    key("sk-or-", 16), key("sk-proj-", 16), key("sk-svcacct-", 16), key("sk-admin-", 16),
    key("sk-kimi-", 16), key("sk-api-", 16), key("sk-", 20), key("sess-", 30), key("rt_", 30),
    // Google: API keys, access tokens, refresh tokens.
    key("AIza", 30), key("ya29.", 20), key("AQ.", 30), key("1//0", 20),
    // xAI, Groq, Cerebras, NVIDIA, Hugging Face, Fireworks, Together, Vercel, Perplexity, Replicate, Cloudflare.
    key("xai-", 20), key("gsk_", 20), key("csk-", 20), key("nvapi-", 20), key("hf_", 20),
    key("api_org_", 20), key("fw_", 20), key("tgp_v1_", 16), key("vck_", 16), key("pplx-", 20),
    key("r8_", 20), key("cfut_", 20), key("cfat_", 20), key("tp-", 32),
    // GitHub and GitHub Copilot.
    key("github_pat_", 20), key("ghp_", 20), key("gho_", 20), key("ghu_", 20), key("ghs_", 20),
    key("ghr_", 20), key("tid=", 20),
    // Amazon: access key IDs and Bedrock API keys.
    key("AKIA", 16), key("ASIA", 16), key("ABSK", 30), key("bedrock-api-key-", 20),
    // Other keys common on developer machines.
    key("glpat-", 16), key("npm_", 30), key("pypi-", 30), key("xoxb-", 16), key("xoxp-", 16),
    key("xoxa-", 16), key("xapp-", 16), key("sk_live_", 16), key("rk_live_", 16), key("SG.", 30),
    key("dop_v1_", 20), key("shpat_", 20), key("AccountKey=", 20),
];

/// Keys with a special format: Meta, the Z.AI plans, Baseten, and signed tokens (JWT), which many
/// sign-ins use.
const FORMS: &[&str] = &[
    r"\bLLM\|[0-9]{6,}\|[A-Za-z0-9_-]{16,}",
    r"\b[0-9a-f]{32}\.[A-Za-z0-9]{16}\b",
    r"\b[A-Za-z0-9]{8}\.[A-Za-z0-9]{32}\b",
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
];

/// A private key, up to its end or the end of the text.
static PRIVATE_KEY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile(
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)",
    )
});

/// Keys with a known prefix or a special format.
static KEY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let beginnings = KEYS.iter().map(|key| {
        let prefix = regex::escape(key.prefix);
        format!(r"{prefix}[A-Za-z0-9_./+=~;:-]{{{},}}", key.least)
    });
    let beginnings: Vec<String> = beginnings.collect();
    compile(&format!(
        r"(?P<before>^|[^A-Za-z0-9_-])(?:{})|{}",
        beginnings.join("|"),
        FORMS.join("|")
    ))
});

/// The value after `Bearer` or `Basic`.
static SCHEME: LazyLock<Option<Regex>> =
    LazyLock::new(|| compile(r"(?i)\b(?:bearer|basic)\s+(?P<value>[A-Za-z0-9._~+/=|-]{8,})"));

/// The password in a URL.
static ADDRESS: LazyLock<Option<Regex>> =
    LazyLock::new(|| compile(r"(?i)\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@?#]*:(?P<value>[^\s/@?#]+)@"));

/// A name and the start of its value: `NAME=value`, `"name": "value"`, `name: value`, also with
/// escaped quotes.
static ASSIGNMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile(concat!(
        r#"\b(?P<name>[A-Za-z][A-Za-z0-9_.-]{1,60})\\*["']?\s*(?:=>|:=|[:=])\s*"#,
        r#"(?:\\*["'`](?:(?i:bearer|basic|token)\s+)?(?P<quoted>[^"'`\\\r\n]{8,64})"#,
        r#"|(?:(?i:bearer|basic|token)\s+)?(?P<value>[^\s"'`\\]{8,64}))"#,
    ))
});

fn compile(pattern: &str) -> Option<Regex> {
    match Regex::new(pattern) {
        Ok(regex) => Some(regex),
        Err(error) => {
            tracing::error!(%error, "invalid secret pattern");
            None
        }
    }
}

/// Replaces everything that looks like a secret. Returns the number of replacements.
pub(super) fn redact(text: Cow<'_, str>) -> (Cow<'_, str>, usize) {
    let mut found = 0;
    let mut text = text;
    for (pattern, is_secret) in [
        (&PRIVATE_KEY, always as fn(&Captures<'_>) -> bool),
        (&KEY, is_complete),
        (&SCHEME, is_complete_value),
        (&ADDRESS, always),
        (&ASSIGNMENT, is_named_secret),
    ] {
        if let Some(pattern) = pattern.as_ref()
            && let Some(redacted_text) = replace(pattern, &text, is_secret, &mut found)
        {
            text = Cow::Owned(redacted_text);
        }
    }
    (text, found)
}

fn replace(
    pattern: &Regex,
    text: &str,
    is_secret: fn(&Captures<'_>) -> bool,
    found: &mut usize,
) -> Option<String> {
    let mut redacted_text = String::new();
    let (mut kept, mut at) = (0, 0);
    while let Some(captures) = pattern.captures_at(text, at) {
        let Some(whole) = captures.get(0) else {
            break;
        };
        if whole.as_str().contains(REPLACEMENT) || !is_secret(&captures) {
            // The matched value may itself start with a name and a value.
            let name = captures.name("name").map_or(whole.end(), |name| name.end());
            at = name.max(at + 1);
            continue;
        }
        let secret = secret_in(text, &captures, &whole);
        *found += 1;
        redacted_text.push_str(text.get(kept..secret.start).unwrap_or_default());
        redacted_text.push_str(REPLACEMENT);
        (kept, at) = (secret.end, secret.end);
    }
    if kept == 0 {
        return None;
    }
    redacted_text.push_str(text.get(kept..).unwrap_or_default());
    Some(redacted_text)
}

/// Returns the range of the secret in a match, extended to its end.
fn secret_in(text: &str, captures: &Captures<'_>, whole: &Match<'_>) -> Range<usize> {
    let until = |part: Match<'_>, is_end: fn(char) -> bool| {
        let rest = text.get(part.end()..).unwrap_or_default();
        part.start()..part.end() + rest.find(is_end).unwrap_or(rest.len())
    };
    let is_quote = |character| matches!(character, '"' | '\'' | '`' | '\\' | '\r' | '\n');
    match (captures.name("quoted"), captures.name("value")) {
        (Some(quoted), _) => until(quoted, is_quote),
        (None, Some(value)) if captures.name("name").is_some() => until(value, |character| {
            character.is_whitespace() || matches!(character, '"' | '\'' | '`' | '\\')
        }),
        (None, Some(value)) => value.range(),
        (None, None) => {
            let before = captures.name("before");
            before.map_or(whole.start(), |before| before.end())..whole.end()
        }
    }
}

fn always(_captures: &Captures<'_>) -> bool {
    true
}

/// Hyphenated words can start like keys: a key contains digits, or letters of both cases.
fn is_complete(captures: &Captures<'_>) -> bool {
    let whole = captures.get(0).map_or("", |whole| whole.as_str());
    whole.bytes().any(|byte| byte.is_ascii_digit())
        || (whole.bytes().any(|byte| byte.is_ascii_uppercase())
            && whole.bytes().any(|byte| byte.is_ascii_lowercase()))
}

/// Distinguishes a credential from the word after "basic" or "bearer" in prose.
fn is_complete_value(captures: &Captures<'_>) -> bool {
    let value = captures.name("value").map_or("", |value| value.as_str());
    value.len() >= 20
        || value
            .bytes()
            .any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
}

fn is_named_secret(captures: &Captures<'_>) -> bool {
    let part = |name| captures.name(name).map(|part| part.as_str());
    let name = part("name").unwrap_or_default();
    match (part("quoted"), part("value")) {
        (Some(value), _) => names::holds_secret(name, value),
        (None, Some(value)) => names::holds_secret(name, value) && names::is_literal(name, value),
        (None, None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted_text(text: &str) -> String {
        redact(Cow::Borrowed(text)).0.into_owned()
    }

    #[test]
    fn secrets_are_replaced_and_surrounding_text_stays() {
        for (text, expected) in [
            ("export HF_TOKEN=plainvalue1", "export HF_TOKEN=[redacted]"),
            (
                r#"{"apiKey": "abcdefgh", "id": 1}"#,
                r#"{"apiKey": "[redacted]", "id": 1}"#,
            ),
            (
                r#"{\"refresh\":\"abcd1234abcd1234\"}"#,
                r#"{\"refresh\":\"[redacted]\"}"#,
            ),
            (
                "curl -H 'Authorization: Bearer abcdefgh'",
                "curl -H 'Authorization: Bearer [redacted]'",
            ),
            (
                "Authorization: Basic dXNlcjpwYXNz",
                "Authorization: Basic [redacted]",
            ),
            (
                "postgres://me:hunter2@db/x",
                "postgres://me:[redacted]@db/x",
            ),
            (
                "https://x/?api_key=12345678&a=b",
                "https://x/?api_key=[redacted]",
            ),
            (
                "password: \"correct horse battery\"",
                "password: \"[redacted]\"",
            ),
            ("DB_PASSWORD=ab,cd&ef;gh", "DB_PASSWORD=[redacted]"),
            ("see sk-ant-api03-0123456789abcdef.", "see [redacted]"),
        ] {
            assert_eq!(redacted_text(text), expected);
        }
        let pem = "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb";
        assert_eq!(redacted_text(pem), "a\n[redacted]\nb");
        assert_eq!(
            redacted_text("-----BEGIN PRIVATE KEY-----\nMIIE"),
            "[redacted]"
        );
    }

    #[test]
    fn ordinary_text_is_unchanged() {
        for text in [
            "sk-learn-is-a-library-for-machine-learning",
            "const API_KEY = process.env.API_KEY;",
            "max_tokens: 16384, temperature: 0.7",
            "token = get_token()",
            "https://example.com:8080/path",
            "see https://user@example.com/",
            "the bearer of news",
            "commit 6e959b8a1f0c4e3d2b1a09f8e7d6c5b4a3928170",
            "let key = event.key.to_string();",
            "fn access(key: &str) -> Option<String>",
            "api_key: Option<SecretString>,",
            "token: Promise<string>;",
            "a basic understanding of things",
        ] {
            assert_eq!(redacted_text(text), text);
        }
    }

    #[test]
    fn redaction_is_idempotent() {
        let (text, found) = redact(Cow::Borrowed("API_KEY=sk-ant-api03-0123456789abcdef"));
        assert_eq!((text.as_ref(), found), ("API_KEY=[redacted]", 1));
    }
}
