//! What can go wrong with every sign-in in the same way: no network, a token that was revoked, a service
//! that is down, answers that are none.

use pi_ai::{
    AnthropicSignIn, Credential, GithubCopilotSignIn, KimiCodingSignIn, MetaSignIn,
    OAuthCredential, OAuthFlow, OpenAiCodexSignIn, RadiusSignIn, XaiSignIn,
};
use pi_test_support::ScriptedServer;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::person::{Browser, Person};
use super::{NOW, context, json_reply};

/// Every sign-in that renews its tokens, at one address.
fn flows(url: &str) -> Vec<(&'static str, Box<dyn OAuthFlow>)> {
    let radius = RadiusSignIn::new("Radius", url);
    vec![
        (
            "anthropic",
            Box::new(AnthropicSignIn {
                authorize_url: format!("{url}/authorize"),
                token_url: format!("{url}/token"),
                callback_port: 0,
            }),
        ),
        (
            "openai-codex",
            Box::new(OpenAiCodexSignIn {
                auth_base_url: url.to_owned(),
                callback_port: 0,
            }),
        ),
        (
            "xai",
            Box::new(XaiSignIn {
                device_code_url: format!("{url}/device"),
                token_url: format!("{url}/token"),
            }),
        ),
        (
            "kimi-coding",
            Box::new(KimiCodingSignIn {
                auth_base_url: url.to_owned(),
            }),
        ),
        (
            "meta",
            Box::new(MetaSignIn {
                device_code_url: format!("{url}/device"),
                token_url: format!("{url}/token"),
                key_url: format!("{url}/key"),
            }),
        ),
        (
            "github-copilot",
            Box::new(GithubCopilotSignIn {
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
        Credential::ApiKey(_) => panic!("an OAuth credential"),
    }
}

#[tokio::test]
async fn a_revoked_token_asks_for_a_new_sign_in_and_is_not_shown() {
    let names: Vec<&str> = flows("http://x").iter().map(|(name, _)| *name).collect();
    for name in names {
        let refusal = json!({"error": "invalid_grant", "error_description": "it was revoked"});
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
async fn without_a_network_nothing_is_lost_and_the_cause_is_told() {
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
async fn answers_that_are_none_are_refused() {
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
async fn a_sign_in_that_cannot_begin_says_so_and_can_be_given_up() {
    let service = ScriptedServer::start([]).await;
    let url = service.url();
    drop(service);
    for (name, flow) in flows(&url) {
        // These open a page before they ask the service anything.
        if matches!(name, "anthropic" | "openai-codex") {
            continue;
        }
        let answers: &[&str] = match name {
            "radius" => &["device-code"],
            "github-copilot" => &[""],
            _ => &[],
        };
        let person = Person::new(Browser::Never, answers);
        let (context, cancel) = (context(), CancellationToken::new());
        let error = flow.login(&context, &person, &cancel).await.unwrap_err();
        assert!(error.is_network(), "{name}: {error:?}");
    }
    for (name, flow) in flows("http://127.0.0.1:9") {
        let cancel = CancellationToken::new();
        cancel.cancel();
        let person = Person::new(Browser::Never, &["browser", ""]);
        let error = flow.login(&context(), &person, &cancel).await.unwrap_err();
        assert!(error.is_cancelled(), "{name}: {error:?}");
    }
}

#[tokio::test]
async fn a_clock_that_is_wrong_does_not_end_a_token_early() {
    // A token's end is counted by the clock that asks for it, however wrong that is.
    for now in [0, NOW, i64::MAX / 4] {
        let tokens = json!({"access_token": "a", "refresh_token": "r", "expires_in": 3600});
        let service = ScriptedServer::start([json_reply(200, &tokens)]).await;
        let flow = XaiSignIn {
            device_code_url: format!("{}/device", service.url()),
            token_url: format!("{}/token", service.url()),
        };
        let env = pi_ai::Env::fixed([("HOME", "/nowhere")]).with_clock(move || now);
        let context = pi_ai::OAuthContext::new(pi_ai::HttpClient::new(), env);
        let renewed = flow.refresh(&expired(), &context).await.unwrap();
        assert!(!renewed.expires_within(60_000, now), "{now}");
        assert!(renewed.expires_within(3_600_000, now), "{now}");
    }
}
