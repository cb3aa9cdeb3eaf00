//! The ChatGPT sign-in of the provider `openai`.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pi_auth::{OAuthContext, OAuthCredential, OAuthError, OAuthFlow, OpenAiChatGptOAuth};
use pi_test_support::ScriptedServer;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::request_snapshot::requests;
use super::test_user::{Browser, TestUser};
use super::{NOW, context, json_reply, stored};

const DEVICE_ID: &str = "7d444840-9dc0-11d1-b245-5ffdce74fad2";
const CALLBACK: &str = "{redirect}?code=the+code&state={state}&client_id=agent_42";

fn chatgpt(service: &ScriptedServer, callback_port: u16) -> OpenAiChatGptOAuth {
    OpenAiChatGptOAuth {
        authorize_url: format!("{}/authorize", service.url()),
        token_url: format!("{}/token", service.url()),
        callback_port,
        ..OpenAiChatGptOAuth::default()
    }
}

fn with_device() -> OAuthContext {
    OAuthContext {
        device_id: Some(DEVICE_ID.to_owned()),
        ..context()
    }
}

fn id_token(claims: &Value) -> String {
    format!("h.{}.s", URL_SAFE_NO_PAD.encode(claims.to_string()))
}

fn tokens(claims: &Value) -> Value {
    json!({
        "access_token": "acc",
        "refresh_token": "ref",
        "id_token": id_token(claims),
        "expires_in": 3600,
        "scope": "openid chatgpt.tokens.use.direct",
    })
}

async fn sign_in(
    response: &Value,
    user: &TestUser,
) -> (Result<OAuthCredential, OAuthError>, ScriptedServer) {
    let service = ScriptedServer::start([json_reply(200, response)]).await;
    let credential = chatgpt(&service, 0)
        .login(&with_device(), user, &CancellationToken::new())
        .await;
    (credential, service)
}

#[tokio::test]
async fn the_issued_client_is_stored_with_the_tokens() {
    let user = TestUser::new(Browser::Visits(CALLBACK), &[]);
    let (credential, service) = sign_in(&tokens(&json!({"sub": "u"})), &user).await;
    assert_eq!(
        stored(credential.unwrap()),
        json!({
            "type": "oauth", "access": "acc", "refresh": "ref", "expires": NOW + 3_600_000 - 180_000,
            "clientId": "agent_42", "scopes": ["openid", "chatgpt.tokens.use.direct"],
        })
    );
    let redirect = user.opened_with("redirect_uri");
    assert!(redirect.starts_with("http://127.0.0.1:") && redirect.ends_with("/auth/callback"));
    let body = String::from_utf8(service.requests()[0].body.clone()).unwrap();
    let verifier = url::form_urlencoded::parse(body.as_bytes())
        .find(|(name, _)| name == "code_verifier")
        .unwrap()
        .1
        .into_owned();
    insta::assert_snapshot!(requests(&service, &[(&redirect, "redirect"), (&verifier, "verifier")]), @r#"
    POST /token
      accept: application/json
      content-type: application/x-www-form-urlencoded
      grant_type=authorization_code
      client_id=agent_42
      code=the code
      code_verifier=<verifier>
      redirect_uri=<redirect>
      resource=https://api.openai.com/v1
    "#);
    for (name, value) in [
        ("client_id", "dynamic_agent_client"),
        ("agent_name_hint", "Pi"),
        ("ext_agent_host_id", &format!("urn:uuid:{DEVICE_ID}")),
        ("response_type", "code"),
        ("resource", "https://api.openai.com/v1"),
        (
            "scope",
            "openid profile email offline_access resource.invoke chatgpt.tokens.use.direct",
        ),
        ("code_challenge_method", "S256"),
    ] {
        assert_eq!(user.opened_with(name), value, "{name}");
    }
    assert_ne!(user.opened_with("nonce"), "");
    assert_ne!(user.opened_with("state"), user.opened_with("nonce"));
}

#[tokio::test]
async fn a_pasted_url_replaces_the_callback() {
    let user = TestUser::new(Browser::Pastes(CALLBACK), &[]);
    let (credential, _service) = sign_in(&tokens(&json!({})), &user).await;
    assert_eq!(credential.unwrap().extra["clientId"], "agent_42");
    for incomplete in ["the code", "{redirect}?code=c&state={state}"] {
        let user = TestUser::new(Browser::Pastes(incomplete), &[]);
        let (outcome, service) = sign_in(&tokens(&json!({})), &user).await;
        assert!(
            matches!(outcome, Err(OAuthError::InvalidInput(_))),
            "{incomplete}"
        );
        assert_eq!(service.requests(), vec![], "the code is not used");
    }
}

#[tokio::test]
async fn invalid_grants_are_rejected() {
    let mut narrow = tokens(&json!({}));
    narrow["scope"] = "openid".into();
    let mut anonymous = tokens(&json!({}));
    anonymous["id_token"] = Value::Null;
    for (response, expected) in [
        (narrow, "does not grant chatgpt.tokens.use.direct"),
        (anonymous, "has no valid \"id_token\""),
        (
            tokens(&json!({"nonce": "of another sign-in"})),
            "state mismatch",
        ),
    ] {
        let user = TestUser::new(Browser::Visits(CALLBACK), &[]);
        let (outcome, _service) = sign_in(&response, &user).await;
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(
            !error.contains("ref") && !error.contains("the code"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_used_port_is_an_error() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = taken.local_addr().unwrap().port();
    let service = ScriptedServer::start([]).await;
    let user = TestUser::new(Browser::Never, &[]);
    let outcome = chatgpt(&service, port)
        .login(&with_device(), &user, &CancellationToken::new())
        .await;
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains(&port.to_string()), "{error}");
    assert!(user.events().is_empty());
}

fn expired(extra: &Value) -> OAuthCredential {
    let mut stored = json!({"type": "oauth", "access": "acc", "refresh": "ref", "expires": 1});
    for (name, value) in extra.as_object().unwrap() {
        stored[name] = value.clone();
    }
    match pi_auth::Credential::from_value(stored).unwrap() {
        pi_auth::Credential::OAuth(credential) => credential,
        pi_auth::Credential::ApiKey(_) => panic!("expected an OAuth credential"),
    }
}

#[tokio::test]
async fn a_refresh_names_the_issued_client() {
    let refreshed = json!({"access_token": "acc2", "refresh_token": "ref2", "expires_in": 600});
    let service = ScriptedServer::start([json_reply(200, &refreshed)]).await;
    let scopes = json!(["chatgpt.tokens.use.direct"]);
    let old = expired(&json!({"clientId": "agent_42", "scopes": scopes}));
    let credential = chatgpt(&service, 0)
        .refresh(&old, &context())
        .await
        .unwrap();
    insta::assert_snapshot!(requests(&service, &[]), @r#"
    POST /token
      accept: application/json
      content-type: application/x-www-form-urlencoded
      grant_type=refresh_token
      client_id=agent_42
      refresh_token=ref
      resource=https://api.openai.com/v1
    "#);
    assert_eq!(
        stored(credential),
        json!({
            "type": "oauth", "access": "acc2", "refresh": "ref2", "expires": NOW + 600_000 - 180_000,
            "clientId": "agent_42", "scopes": scopes,
        })
    );
    let error = chatgpt(&service, 0)
        .refresh(&expired(&json!({})), &context())
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the stored sign-in has no clientId; sign in again"
    );
    assert!(error.is_rejection());
}
