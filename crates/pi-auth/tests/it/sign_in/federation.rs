//! Workload identity federation of Anthropic.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use pi_auth::AnthropicFederation;
use pi_env::Env;
use pi_http::HttpClient;
use pi_test_support::{ScriptedServer, TempHome};
use pretty_assertions::assert_eq;
use secrecy::ExposeSecret;
use serde_json::json;

use super::request_snapshot::requests;
use super::{NOW, json_reply};

const IDENTITY: &str = "header.claims.signature";

fn identity_file(home: &TempHome) -> PathBuf {
    home.write("identity", format!("{IDENTITY}\n"))
}

/// Returns the environment of a workload and its clock.
fn workload(file: &Path, optional: &[(&str, &str)]) -> (Env, Arc<AtomicI64>) {
    let file = file.to_str().unwrap();
    let required = [
        ("ANTHROPIC_FEDERATION_RULE_ID", "rule"),
        ("ANTHROPIC_ORGANIZATION_ID", "org"),
        ("ANTHROPIC_IDENTITY_TOKEN_FILE", file),
    ];
    let clock = Arc::new(AtomicI64::new(NOW));
    let now = Arc::clone(&clock);
    let variables = required.into_iter().chain(optional.iter().copied());
    let env = Env::fixed(variables).with_clock(move || now.load(Ordering::Relaxed));
    (env, clock)
}

fn token_reply(token: &str) -> pi_test_support::ScriptedReply {
    json_reply(200, &json!({"access_token": token, "expires_in": 600}))
}

#[tokio::test]
async fn an_identity_token_is_exchanged_once_until_it_expires() {
    let home = TempHome::new();
    let optional = [
        ("ANTHROPIC_SERVICE_ACCOUNT_ID", "account"),
        ("ANTHROPIC_WORKSPACE_ID", "workspace"),
    ];
    let (env, clock) = workload(&identity_file(&home), &optional);
    let service = ScriptedServer::start([token_reply("first"), token_reply("second")]).await;
    let federation = AnthropicFederation::new(HttpClient::new());
    let base_url = format!("{}/", service.url());
    for (passed, expected) in [(0, "first"), (479_000, "first"), (480_000, "second")] {
        clock.store(NOW + passed, Ordering::Relaxed);
        let token = federation.token(&base_url, &env).await.unwrap().unwrap();
        assert_eq!(token.expose_secret(), expected, "{passed}");
    }
    let body = r#"{"grant_type":"urn:ietf:params:oauth:grant-type:jwt-bearer","assertion":"header.claims.signature","federation_rule_id":"rule","organization_id":"org","service_account_id":"account","workspace_id":"workspace"}"#;
    let request = format!(
        "POST /v1/oauth/token\n  accept: application/json\n  \
         anthropic-beta: oauth-2025-04-20,oidc-federation-2026-04-01\n  \
         content-type: application/json\n  {body}"
    );
    assert_eq!(requests(&service, &[]), format!("{request}\n{request}"));
}

#[tokio::test]
async fn a_failed_exchange_uses_the_old_token_until_shortly_before_its_expiry() {
    let home = TempHome::new();
    let (env, clock) = workload(&identity_file(&home), &[]);
    let refusal =
        json!({"error": {"type": "authentication_error", "message": format!("bad {IDENTITY}")}});
    let replies = [
        token_reply("first"),
        json_reply(401, &refusal),
        json_reply(401, &refusal),
    ];
    let service = ScriptedServer::start(replies).await;
    let federation = AnthropicFederation::new(HttpClient::new());
    let base_url = service.url();
    let token = || federation.token(&base_url, &env);
    token().await.unwrap();
    clock.store(NOW + 569_000, Ordering::Relaxed);
    assert_eq!(token().await.unwrap().unwrap().expose_secret(), "first");
    clock.store(NOW + 570_000, Ordering::Relaxed);
    let error = token().await.unwrap_err().to_string();
    assert!(
        error.contains("HTTP 401") && error.contains("[redacted]"),
        "{error}"
    );
    assert!(!error.contains(IDENTITY), "{error}");
}

#[tokio::test]
async fn an_unusable_identity_is_never_sent() {
    let home = TempHome::new();
    let empty = home.write("empty", " \n");
    let large = home.write("large", "x".repeat(16 * 1024 + 1));
    let service = ScriptedServer::start([]).await;
    let federation = AnthropicFederation::new(HttpClient::new());
    for (file, expected) in [
        (home.path().join("missing"), "cannot read"),
        (empty, "is empty"),
        (large, "larger than 16 KiB"),
    ] {
        let (env, _clock) = workload(&file, &[]);
        let error = federation.token(&service.url(), &env).await.unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains(expected) && error.contains("ANTHROPIC_IDENTITY_TOKEN_FILE"),
            "{error}"
        );
    }
    let (env, _clock) = workload(&identity_file(&home), &[]);
    let plain = federation.token("http://api.example", &env).await;
    assert!(plain.unwrap_err().to_string().contains("https"));
    let unset = Env::fixed([("ANTHROPIC_ORGANIZATION_ID", "org")]);
    assert!(
        federation
            .token(&service.url(), &unset)
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!(service.requests(), vec![]);
}
