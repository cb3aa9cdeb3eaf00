//! Failures that all sign-ins share: no network, a revoked token, an unavailable service, invalid
//! responses.

use pi_auth::{
    AnthropicOAuth, Credential, GithubCopilotOAuth, KimiCodingOAuth, MetaOAuth, OAuthCredential,
    OAuthFlow, OpenAiCodexOAuth, RadiusOAuth, XaiOAuth,
};
use pi_test_support::ScriptedServer;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::test_user::{Browser, TestUser};
use super::{NOW, context, json_reply};

/// Every sign-in that refreshes its tokens, with one base URL.
fn flows(url: &str) -> Vec<(&'static str, Box<dyn OAuthFlow>)> {
    let radius = RadiusOAuth::new("Radius", url);
    vec![
        (
            "anthropic",
            Box::new(AnthropicOAuth {
                authorize_url: format!("{url}/authorize"),
                token_url: format!("{url}/token"),
                code_page_url: format!("{url}/code"),
                callback_port: 0,
            }),
        ),
        (
            "openai-codex",
            Box::new(OpenAiCodexOAuth {
                auth_base_url: url.to_owned(),
                callback_port: 0,
            }),
        ),
        (
            "xai",
            Box::new(XaiOAuth {
                device_code_url: format!("{url}/device"),
                token_url: format!("{url}/token"),
            }),
        ),
        (
            "kimi-coding",
            Box::new(KimiCodingOAuth {
                auth_base_url: url.to_owned(),
            }),
        ),
        (
            "meta",
            Box::new(MetaOAuth {
                device_code_url: format!("{url}/device"),
                token_url: format!("{url}/token"),
                key_url: format!("{url}/key"),
            }),
        ),
        (
            "github-copilot",
            Box::new(GithubCopilotOAuth {
                device_code_url: format!("{url}/{{domain}}/device"),
                access_token_url: format!("{url}/{{domain}}/access_token"),
                copilot_token_url: format!("{url}/api.{{domain}}/token"),
                api_base_url: Some(format!("{url}/copilot")),
                knows_model: |_| true,
            }),
        ),
        ("radius", Box::new(radius)),
    ]
}

fn expired() -> OAuthCredential {
    let stored =
        json!({"type": "oauth", "access": "old", "refresh": "revoked-token", "expires": 1});
    match Credential::from_value(stored).unwrap() {
        Credential::OAuth(credential) => credential,
        Credential::ApiKey(_) => panic!("expected an OAuth credential"),
    }
}

#[tokio::test]
async fn a_revoked_token_requires_a_new_sign_in_and_is_not_shown() {
    let names: Vec<&str> = flows("http://x").iter().map(|(name, _)| *name).collect();
    for name in names {
        // Some services repeat what they reject.
        let refusal = json!({"error": "invalid_grant",
            "error_description": "it was revoked: revoked-token (cmV2b2tlZC10b2tlbg==)"});
        let service = ScriptedServer::start([json_reply(401, &refusal)]).await;
        let (_, flow) = flows(&service.url())
            .into_iter()
            .find(|(known, _)| *known == name)
            .unwrap();
        let error = flow.refresh(&expired(), &context()).await.unwrap_err();
        assert!(error.is_rejection(), "{name}: {error:?}");
        assert!(
            !error.to_string().contains("revoked-token"),
            "{name}: {error}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_network_failure_is_reported_and_keeps_the_credential() {
    let service = ScriptedServer::start([]).await;
    let url = service.url();
    drop(service);
    for (name, flow) in flows(&url) {
        let error = flow.refresh(&expired(), &context()).await.unwrap_err();
        assert!(error.is_network(), "{name}: {error:?}");
        assert!(
            !error.to_string().contains("revoked-token"),
            "{name}: {error}"
        );
    }
}

#[tokio::test]
async fn invalid_responses_are_errors() {
    for body in [
        json!({}),
        json!({"access_token": 7}),
        json!([]),
        Value::Null,
    ] {
        let names: Vec<&str> = flows("http://x").iter().map(|(name, _)| *name).collect();
        for name in names {
            let service = ScriptedServer::start([json_reply(200, &body)]).await;
            let (_, flow) = flows(&service.url())
                .into_iter()
                .find(|(known, _)| *known == name)
                .unwrap();
            let refreshed = flow.refresh(&expired(), &context()).await;
            assert!(refreshed.is_err(), "{name}: {body}");
        }
    }
}

#[tokio::test]
async fn a_sign_in_that_cannot_start_fails_and_can_be_canceled() {
    let service = ScriptedServer::start([]).await;
    let url = service.url();
    drop(service);
    for (name, flow) in flows(&url) {
        // These open a page before they send a request.
        if matches!(name, "anthropic" | "openai-codex") {
            continue;
        }
        let replies: &[&str] = match name {
            "radius" => &["device-code"],
            "github-copilot" => &[""],
            _ => &[],
        };
        let user = TestUser::new(Browser::Never, replies);
        let (context, cancel) = (context(), CancellationToken::new());
        let error = flow.login(&context, &user, &cancel).await.unwrap_err();
        assert!(error.is_network(), "{name}: {error:?}");
    }
    for (name, flow) in flows("http://127.0.0.1:9") {
        let cancel = CancellationToken::new();
        cancel.cancel();
        let user = TestUser::new(Browser::Never, &["browser", ""]);
        let error = flow.login(&context(), &user, &cancel).await.unwrap_err();
        assert!(error.is_cancelled(), "{name}: {error:?}");
    }
}

#[tokio::test]
async fn a_wrong_clock_does_not_expire_a_token_early() {
    // Token expiry is computed from the local clock, even if that is wrong.
    for now in [0, NOW, i64::MAX / 4] {
        let tokens = json!({"access_token": "a", "refresh_token": "r", "expires_in": 3600});
        let service = ScriptedServer::start([json_reply(200, &tokens)]).await;
        let flow = XaiOAuth {
            device_code_url: format!("{}/device", service.url()),
            token_url: format!("{}/token", service.url()),
        };
        let env = pi_env::Env::fixed([("HOME", "/nowhere")]).with_clock(move || now);
        let context = pi_auth::OAuthContext::new(pi_http::HttpClient::new(), env);
        let refreshed = flow.refresh(&expired(), &context).await.unwrap();
        assert!(!refreshed.expires_within(60_000, now), "{now}");
        assert!(refreshed.expires_within(3_600_000, now), "{now}");
    }
}
