//! GitHub Copilot: device code, token, models, policy consent.

use pi_auth::{Credential, GithubCopilotOAuth, OAuthFlow};
use pi_test_support::{ScriptedReply, ScriptedServer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::request_snapshot::requests;
use super::test_user::{Browser, TestUser};
use super::{context, json_reply, stored};

const TOKEN: &str = "tid=1;exp=2;proxy-ep=proxy.business.githubcopilot.com;st=x";

fn sign_in(service: &ScriptedServer) -> GithubCopilotOAuth {
    let url = service.url();
    GithubCopilotOAuth {
        device_code_url: format!("{url}/{{domain}}/device"),
        access_token_url: format!("{url}/{{domain}}/access_token"),
        copilot_token_url: format!("{url}/api.{{domain}}/token"),
        api_base_url: Some(format!("{url}/copilot")),
        knows_model: |id| id != "unknown",
    }
}

fn device() -> Value {
    json!({
        "device_code": "dev",
        "user_code": "ABCD",
        "verification_uri": "https://github.com/login/device",
        "interval": 1,
        "expires_in": 900,
    })
}

fn model(id: &str, in_picker: bool, policy: &str) -> Value {
    json!({"id": id, "model_picker_enabled": in_picker, "policy": {"state": policy}})
}

fn copilot_token() -> Value {
    json!({"token": TOKEN, "expires_at": 1_700_003_600})
}

#[tokio::test]
async fn copilot_end_to_end() {
    let models = json!({"data": [
        model("gpt", true, "enabled"),
        model("claude", true, "unconfigured"),
        model("unknown", true, "unconfigured"),
        model("off", true, "disabled"),
        model("hidden", false, "enabled"),
        {"id": "no-tools", "model_picker_enabled": true, "capabilities": {"supports": {"tool_calls": false}}},
        "nonsense",
    ]});
    let service = ScriptedServer::start([
        json_reply(200, &device()),
        // GitHub reports this with status 200.
        json_reply(200, &json!({"error": "authorization_pending"})),
        json_reply(200, &json!({"access_token": "gho_1"})),
        json_reply(200, &copilot_token()),
        json_reply(200, &models),
        json_reply(200, &json!({})),
    ])
    .await;
    let user = TestUser::new(Browser::Never, &[""]);
    let credential = sign_in(&service)
        .login(&context(), &user, &CancellationToken::new())
        .await
        .unwrap();
    insta::assert_snapshot!(requests(&service, &[]), @r#"
    POST /github.com/device
      accept: application/json
      content-type: application/x-www-form-urlencoded
      client_id=Iv1.b507a08c87ecfe98
      scope=read:user
    POST /github.com/access_token
      accept: application/json
      content-type: application/x-www-form-urlencoded
      grant_type=urn:ietf:params:oauth:grant-type:device_code
      client_id=Iv1.b507a08c87ecfe98
      device_code=dev
    POST /github.com/access_token
      accept: application/json
      content-type: application/x-www-form-urlencoded
      grant_type=urn:ietf:params:oauth:grant-type:device_code
      client_id=Iv1.b507a08c87ecfe98
      device_code=dev
    GET /api.github.com/token
      accept: application/json
      authorization: Bearer gho_1
    GET /copilot/models
      accept: application/json
      authorization: Bearer tid=1;exp=2;proxy-ep=proxy.business.githubcopilot.com;st=x
      x-github-api-version: 2026-06-01
    POST /copilot/models/claude/policy
      accept: application/json
      authorization: Bearer tid=1;exp=2;proxy-ep=proxy.business.githubcopilot.com;st=x
      content-type: application/json
      openai-intent: chat-policy
      x-interaction-type: chat-policy
      {"state":"enabled"}
    "#);
    assert_eq!(
        stored(credential),
        json!({
            "type": "oauth",
            "access": TOKEN,
            "refresh": "gho_1",
            "expires": 1_700_003_600_000_i64 - 300_000,
            "availableModelIds": ["gpt", "claude", "unknown"],
        })
    );
}

#[tokio::test]
async fn an_enterprise_has_its_own_host() {
    let service = ScriptedServer::start([
        json_reply(200, &device()),
        json_reply(200, &json!({"access_token": "gho_1"})),
        json_reply(
            200,
            &json!({"token": "opaque", "expires_at": 1_700_003_600}),
        ),
        ScriptedReply::full(429, &[("retry-after", "60")], "{}"),
    ])
    .await;
    let user = TestUser::new(Browser::Never, &[" https://Corp.ghe.com/login "]);
    let credential = sign_in(&service)
        .login(&context(), &user, &CancellationToken::new())
        .await
        .unwrap();
    let targets: Vec<_> = service
        .requests()
        .into_iter()
        .map(|request| request.target)
        .collect();
    assert_eq!(
        targets,
        [
            "/corp.ghe.com/device",
            "/corp.ghe.com/access_token",
            "/api.corp.ghe.com/token",
            "/copilot/models"
        ]
    );
    // The model list failed; the sign-in succeeds without it.
    let value = stored(credential.clone());
    assert_eq!(value["enterpriseUrl"], "corp.ghe.com");
    assert_eq!(value.get("availableModelIds"), None);
    let default = GithubCopilotOAuth::new(|_| true);
    assert_eq!(
        default.request_auth(&credential).base_url.as_deref(),
        Some("https://copilot-api.corp.ghe.com")
    );

    let user = TestUser::new(Browser::Never, &["not a host"]);
    let error = sign_in(&service)
        .login(&context(), &user, &CancellationToken::new())
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "not a valid host or URL");
}

#[test]
fn the_token_determines_the_api_url() {
    for (token, expected) in [
        (TOKEN, "https://api.business.githubcopilot.com"),
        ("proxy-ep=other.example:8443", "https://other.example:8443"),
        ("tid=1;exp=2", "https://api.individual.githubcopilot.com"),
        (
            "proxy-ep=evil.example/path;x",
            "https://api.individual.githubcopilot.com",
        ),
        ("proxy-ep=;x", "https://api.individual.githubcopilot.com"),
    ] {
        let value = json!({"type": "oauth", "access": token, "refresh": "r", "expires": 1});
        let Credential::OAuth(credential) = Credential::from_value(value).unwrap() else {
            panic!("expected an OAuth credential");
        };
        let auth = GithubCopilotOAuth::new(|_| true).request_auth(&credential);
        assert_eq!(auth.base_url.as_deref(), Some(expected), "{token}");
    }
}

#[tokio::test]
async fn a_refreshed_token_is_usable_before_the_models_are_known() {
    let service = ScriptedServer::start([
        json_reply(200, &copilot_token()),
        json_reply(200, &json!({"data": [model("a", true, "enabled")]})),
        json_reply(500, &json!({})),
    ])
    .await;
    let flow = sign_in(&service);
    let old = json!({"type": "oauth", "access": "x", "refresh": "gho_1", "expires": 1, "availableModelIds": ["old"]});
    let Credential::OAuth(old) = Credential::from_value(old).unwrap() else {
        panic!("expected an OAuth credential");
    };
    let refreshed = flow.refresh(&old, &context()).await.unwrap();
    assert_eq!(
        stored(refreshed.clone())["availableModelIds"],
        json!(["old"])
    );
    let enriched = flow.enrich(&refreshed, &context()).await.unwrap().unwrap();
    assert_eq!(stored(enriched)["availableModelIds"], json!(["a"]));
    assert!(flow.enrich(&refreshed, &context()).await.is_err());
}
