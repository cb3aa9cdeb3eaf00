//! Known secrets, and a corpus: a key of every provider in every typical position.

use pi_auth::{Credential, InMemoryCredentialStore, KeySource};
use pi_env::Env;
use pi_providers::{Models, ModelsOptions};
use pretty_assertions::assert_eq;
use std::sync::Arc;

use super::*;

fn redaction(secrets: &[&str]) -> Redactor {
    Redactor::new(secrets.iter().map(|secret| SecretString::from(*secret)))
}

#[test]
fn secrets_are_replaced_in_text_and_in_json() {
    let redaction = redaction(&["sk-abcdefgh", "sk-abcdefgh-longer", "two\nlines\"", "short"]);
    let text = "a sk-abcdefgh-longer b sk-abcdefgh c short d two\nlines\" e";
    let expected = "a [redacted] b [redacted] c short d [redacted] e";
    assert_eq!(redaction.redact(text), expected);
    assert_eq!(redaction.replaced(), 3);
    let line = serde_json::json!({ "text": text, text: [1] }).to_string() + "\n";
    let redacted_text = redaction.redact_lines(line.repeat(2).into_bytes());
    let expected = serde_json::json!({ "text": expected, expected: [1] }).to_string() + "\n";
    assert_eq!(
        String::from_utf8(redacted_text).unwrap(),
        expected.repeat(2)
    );
    assert_eq!(redaction.replaced(), 15);
}

#[test]
fn escapes_that_resemble_a_secret_are_unchanged() {
    let redaction = redaction(&["12345678", "notes-are-here"]);
    let line = r#"{"time":12345678,"text":"\notes-are-here"}"#;
    let mut json = line.as_bytes().to_vec();
    redaction.redact_json(&mut json);
    assert_eq!(String::from_utf8(json).unwrap(), line);
}

#[test]
fn merged_redactors_replace_both_sets() {
    let both =
        redaction(&["one-secret"]).merge(redaction(&["other-secret"]).with_pattern_detection());
    let text = "one-secret other-secret Bearer abcdef1234567890";
    assert_eq!(both.redact(text), "[redacted] [redacted] Bearer [redacted]");
}

#[test]
fn image_data_is_unchanged() {
    let redaction = Redactor::default().with_pattern_detection();
    let key = "AIzaSyZq3vT8mW1kR5xB7nY2cL9pD4uF6hJ0gSe";
    let image = format!("{}+{key}+{}", "A".repeat(20_000), "B".repeat(20_000));
    assert_eq!(redaction.redact(&image), image);
    let text = format!("{} {key} ", "A".repeat(20_000));
    assert!(!redaction.redact(&text).contains(key));
}

#[tokio::test]
async fn stored_keys_and_tokens_are_redacted() {
    let oauth = serde_json::json!({
        "type": "oauth", "access": "access-token", "refresh": "refresh-token", "expires": 1,
        "idToken": "identity-token"
    });
    let store = InMemoryCredentialStore::new([
        ("one".to_owned(), Credential::api_key("key-of-one")),
        (
            "literal".to_owned(),
            Credential::api_key("key-with-$$-sign"),
        ),
        ("two".to_owned(), Credential::from_value(oauth).unwrap()),
    ]);
    let redaction = stored_secrets(&store).await;
    assert_eq!(
        redaction.redact(
            "key-of-one key-with-$-sign access-token refresh-token identity-token other-token"
        ),
        "[redacted] [redacted] [redacted] [redacted] [redacted] other-token"
    );
}

#[tokio::test]
async fn environment_secrets_are_redacted_by_name() {
    let env = Env::fixed([
        ("GITHUB_TOKEN", "no-shape-at-all"),
        ("AWS_SECRET_ACCESS_KEY", "another one"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/key.json"),
        ("EDITOR", "a-plain-value"),
    ]);
    let models = Models::new(ModelsOptions {
        env: env.clone(),
        ..ModelsOptions::default()
    });
    let redaction = secrets_in_use(&models, &env).await;
    assert_eq!(
        redaction.redact("no-shape-at-all, another one, /home/me/key.json, a-plain-value"),
        "[redacted], [redacted], /home/me/key.json, a-plain-value"
    );
}

/// Returns a made-up key in the provider's format; providers without a format get a plain one.
fn specimen(provider: &str) -> String {
    let random = "Zq3vT8mW1kR5xB7nY2cL9pD4";
    let (prefix, rest) = match provider {
        "anthropic" => ("sk-ant-api03-", random),
        "openai" => ("sk-proj-", random),
        "openrouter" => ("sk-or-v1-", random),
        "google" | "google-vertex" => ("AIzaSy", "Zq3vT8mW1kR5xB7nY2cL9pD4uF6hJ0gSe"),
        "xai" => ("xai-", random),
        "groq" => ("gsk_", random),
        "cerebras" => ("csk-", random),
        "nvidia" => ("nvapi-", random),
        "huggingface" => ("hf_", random),
        "fireworks" => ("fw_", random),
        "together" => ("tgp_v1_", random),
        "vercel-ai-gateway" => ("vck_", random),
        "github-copilot" => ("ghu_", random),
        "amazon-bedrock" => ("ABSK", "Zq3vT8mW1kR5xB7nY2cL9pD4uF6hJ0gSe"),
        "openai-codex" => (
            "eyJhbGciOiJSUzI1NiJ9.",
            "eyJzdWIiOiJtZSJ9.Zq3vT8mW1kR5xB7nY2cL9pD4",
        ),
        "meta" => ("LLM|123456789|", random),
        "zai" | "zai-coding-cn" => ("0123456789abcdef0123456789abcdef.", "Zq3vT8mW1kR5xB7n"),
        "baseten" => ("Zq3vT8mW.", "1kR5xB7nY2cL9pD4uF6hJ0gSeA1b2C3d"),
        "deepseek"
        | "moonshotai"
        | "moonshotai-cn"
        | "kimi-coding"
        | "opencode"
        | "opencode-go"
        | "qwen-token-plan"
        | "qwen-token-plan-cn"
        | "qwen-token-plan-individual"
        | "minimax"
        | "minimax-cn" => ("sk-", random),
        _ => ("", random),
    };
    format!("{prefix}{rest}")
}

fn variable(source: Option<KeySource>) -> String {
    match source {
        Some(KeySource::Variables([first, ..])) => (*first).to_owned(),
        Some(KeySource::Bedrock) => "AWS_BEARER_TOKEN_BEDROCK".to_owned(),
        Some(KeySource::Vertex) => "GOOGLE_CLOUD_API_KEY".to_owned(),
        Some(KeySource::CloudflareWorkersAi | KeySource::CloudflareAiGateway) => {
            "CLOUDFLARE_API_KEY".to_owned()
        }
        _ => "ANTHROPIC_AUTH_TOKEN".to_owned(),
    }
}

#[test]
fn keys_of_all_providers_are_found_in_all_positions() {
    let redaction = Redactor::default().with_pattern_detection();
    for provider in pi_providers::builtin_providers() {
        let key = specimen(provider.id);
        let name = variable(provider.key.map(|key| key.source));
        let has_look = !key.starts_with("Zq3");
        let mut texts = vec![
            format!("{name}={key}"),
            format!("export {name}=\"{key}\"\n"),
            format!("{name}: {key}"),
            format!("{{\"{name}\": \"{key}\"}}"),
            format!("Authorization: Bearer {key}"),
            format!("curl -H \"x-api-key: {key}\" https://example.com"),
            format!("curl -H 'cf-aig-authorization: Bearer {key}'"),
            format!("https://example.com/v1?key={key}"),
            format!("{{\\\"apiKey\\\":\\\"{key}\\\"}}"),
            format!("https://me:{key}@example.com/"),
            format!("{{\"type\":\"oauth\",\"access\":\"{key}\",\"refresh\":\"{key}\"}}"),
        ];
        if has_look {
            texts.extend([
                format!("it printed {key}"),
                format!("`{key}`"),
                format!("({key})"),
            ]);
        }
        for text in texts {
            let redacted_text = redaction.redact(&text);
            assert!(
                !redacted_text.contains(&key),
                "{}: {text} -> {redacted_text}",
                provider.id
            );
            let mut json = serde_json::json!({"a": [text]}).to_string().into_bytes();
            redaction.redact_json(&mut json);
            let json = String::from_utf8(json).unwrap();
            assert!(!json.contains(&key), "{}: {json}", provider.id);
        }
        let mut fields = serde_json::json!({ name: key, "arguments": {"token": key} });
        redaction.redact_value(&mut fields);
        assert!(
            !fields.to_string().contains(&key),
            "{}: {fields}",
            provider.id
        );
    }
}

#[tokio::test]
async fn stored_keys_are_found_without_patterns() {
    let store =
        InMemoryCredentialStore::new(pi_providers::builtin_providers().iter().map(|provider| {
            (
                provider.id.to_owned(),
                Credential::api_key(specimen(provider.id)),
            )
        }));
    let models = Models::new(ModelsOptions {
        credentials: Arc::new(store),
        env: Env::fixed::<&str, &str>([]),
        ..ModelsOptions::default()
    });
    let redaction = secrets_in_use(&models, &Env::fixed::<&str, &str>([])).await;
    for provider in pi_providers::builtin_providers() {
        let key = specimen(provider.id);
        let redacted_text = redaction.redact(&format!("x{key}y")).into_owned();
        assert!(
            !redacted_text.contains(&key),
            "{}: {redacted_text}",
            provider.id
        );
    }
}
