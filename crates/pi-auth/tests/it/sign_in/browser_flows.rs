//! Browser sign-ins of Anthropic, ChatGPT, OpenRouter and Radius.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pi_auth::{
    AnthropicOAuth, OAuthContext, OAuthError, OAuthFlow, OpenAiCodexOAuth, OpenRouterOAuth,
    RadiusOAuth,
};
use pi_env::Env;
use pi_http::HttpClient;
use pi_test_support::ScriptedServer;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use super::request_snapshot::requests;
use super::test_user::{Browser, TestUser};
use super::{NOW, context, json_reply, stored};

fn tokens() -> Value {
    json!({"access_token": "acc", "refresh_token": "ref", "expires_in": 3600})
}

fn anthropic(service: &ScriptedServer, callback_port: u16) -> AnthropicOAuth {
    AnthropicOAuth {
        authorize_url: format!("{}/authorize", service.url()),
        token_url: format!("{}/token", service.url()),
        code_page_url: "https://code.example/callback".to_owned(),
        callback_port,
    }
}

/// Asserts that the PKCE verifier matches the challenge.
fn assert_pkce(user: &TestUser, verifier: &str) {
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
    assert_eq!(user.opened_with("code_challenge"), challenge);
    assert_eq!(user.opened_with("code_challenge_method"), "S256");
}

#[tokio::test]
async fn anthropic_signs_in_through_the_browser() {
    let service = ScriptedServer::start([json_reply(200, &tokens())]).await;
    let user = TestUser::new(Browser::Returns("the code"), &["browser"]);
    let credential = anthropic(&service, 0)
        .login(&context(), &user, &CancellationToken::new())
        .await
        .unwrap();
    let body = service.wait_for_request(0).await.json();
    assert_pkce(&user, body["code_verifier"].as_str().unwrap());
    let redirect = user.opened_with("redirect_uri");
    assert!(redirect.starts_with("http://localhost:") && redirect.ends_with("/callback"));
    let random = [
        (redirect.as_str(), "redirect"),
        (body["code_verifier"].as_str().unwrap(), "verifier"),
    ];
    insta::assert_snapshot!(requests(&service, &random), @r#"
    POST /token
      accept: application/json
      content-type: application/json
      {"grant_type":"authorization_code","client_id":"9d1c250a-e61b-44d9-88ed-5944d1962f5e","code":"the code","state":"<verifier>","redirect_uri":"<redirect>","code_verifier":"<verifier>"}
    "#);
    assert_eq!(
        stored(credential),
        json!({"type": "oauth", "access": "acc", "refresh": "ref", "expires": NOW + 3_600_000 - 300_000})
    );
    let opened = user.opened();
    let parameters: Vec<_> = opened.query_pairs().map(|(name, _)| name).collect();
    assert_eq!(
        parameters,
        [
            "code",
            "client_id",
            "response_type",
            "redirect_uri",
            "scope",
            "code_challenge",
            "code_challenge_method",
            "state"
        ]
    );
}

#[tokio::test]
async fn anthropic_uses_another_port_if_its_own_is_taken() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = taken.local_addr().unwrap().port();
    let service = ScriptedServer::start([json_reply(200, &tokens())]).await;
    let user = TestUser::new(Browser::Returns("c0de"), &["browser"]);
    anthropic(&service, port)
        .login(&context(), &user, &CancellationToken::new())
        .await
        .unwrap();
    let redirect: url::Url = user.opened_with("redirect_uri").parse().unwrap();
    assert_ne!(redirect.port(), Some(port));
    let body = service.wait_for_request(0).await.json();
    assert_eq!(body["redirect_uri"], redirect.as_str());
}

#[tokio::test]
async fn anthropic_accepts_a_code_copied_from_its_page() {
    for pasted in ["c0de#{state}", "{redirect}?code=c0de&state={state}", "c0de"] {
        let service = ScriptedServer::start([json_reply(200, &tokens())]).await;
        let user = TestUser::new(Browser::Pastes(pasted), &["copy_code"]);
        anthropic(&service, 0)
            .login(&context(), &user, &CancellationToken::new())
            .await
            .unwrap();
        let body = service.wait_for_request(0).await.json();
        assert_eq!(body["code"], "c0de", "{pasted}");
        let page = "https://code.example/callback";
        assert_eq!(body["redirect_uri"], page);
        assert_eq!(user.opened_with("redirect_uri"), page);
        assert_pkce(&user, body["code_verifier"].as_str().unwrap());
    }
    let service = ScriptedServer::start([]).await;
    let user = TestUser::new(Browser::Pastes("c0de#another"), &["copy_code"]);
    let error = anthropic(&service, 0)
        .login(&context(), &user, &CancellationToken::new())
        .await;
    assert_eq!(error.unwrap_err(), OAuthError::StateMismatch);
}

#[tokio::test]
async fn a_used_port_falls_back_to_pasting() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = taken.local_addr().unwrap().port();
    for pasted in ["c0de#{state}", "{redirect}?code=c0de&state={state}", "c0de"] {
        let response =
            json!({"access_token": access_token("a"), "refresh_token": "r", "expires_in": 60});
        let service = ScriptedServer::start([json_reply(200, &response)]).await;
        let user = TestUser::new(Browser::Pastes(pasted), &["browser"]);
        let sign_in = OpenAiCodexOAuth {
            auth_base_url: service.url(),
            callback_port: port,
        };
        sign_in
            .login(&context(), &user, &CancellationToken::new())
            .await
            .unwrap();
        let body = String::from_utf8(service.wait_for_request(0).await.body).unwrap();
        assert!(body.contains("&code=c0de&"), "{pasted}: {body}");
        assert_eq!(
            user.opened_with("redirect_uri"),
            format!("http://localhost:{port}/auth/callback")
        );
    }
}

#[tokio::test]
async fn a_callback_with_another_state_is_rejected() {
    let service = ScriptedServer::start([]).await;
    let user = TestUser::new(Browser::Pastes("c0de#another"), &["browser"]);
    let error = anthropic(&service, 0)
        .login(&context(), &user, &CancellationToken::new())
        .await;
    assert_eq!(error.unwrap_err(), OAuthError::StateMismatch);
    assert_eq!(service.requests(), vec![], "the code is not used");
}

#[tokio::test]
async fn the_callback_host_follows_the_environment() {
    let service = ScriptedServer::start([]).await;
    let env = Env::fixed([("PI_OAUTH_CALLBACK_HOST", "127.0.0.2")]);
    let context = OAuthContext::new(HttpClient::new(), env);
    let user = TestUser::new(Browser::Never, &[]);
    let cancel = CancellationToken::new();
    let sign_in = OpenRouterOAuth {
        authorize_url: format!("{}/auth", service.url()),
        key_url: format!("{}/keys", service.url()),
    };
    let login = sign_in.login(&context, &user, &cancel);
    tokio::pin!(login);
    while user.events().is_empty() {
        tokio::select! {
            biased;
            _ = &mut login => panic!("the sign-in finished without a callback"),
            () = tokio::task::yield_now() => {}
        }
    }
    let callback: url::Url = user.opened_with("callback_url").parse().unwrap();
    assert_eq!(callback.host_str(), Some("127.0.0.2"));
    let address = ("127.0.0.2", callback.port().unwrap());
    assert!(tokio::net::TcpStream::connect(address).await.is_ok());
    cancel.cancel();
    assert_eq!(login.await.unwrap_err(), OAuthError::Cancelled);
    assert!(
        tokio::net::TcpStream::connect(address).await.is_err(),
        "the server is closed"
    );
}

#[tokio::test(start_paused = true)]
async fn an_unused_browser_sign_in_times_out() {
    let service = ScriptedServer::start([]).await;
    let user = TestUser::new(Browser::Never, &["browser"]);
    let started = tokio::time::Instant::now();
    let outcome = anthropic(&service, 0)
        .login(&context(), &user, &CancellationToken::new())
        .await;
    assert_eq!(
        outcome.unwrap_err().to_string(),
        "browser sign-in took longer than 900 s"
    );
    assert_eq!(started.elapsed(), Duration::from_mins(15));
}

#[tokio::test]
async fn a_rejected_code_shows_the_error_of_the_service() {
    let refusal = json!({"error": "invalid_grant", "error_description": "Code is stale"});
    let service = ScriptedServer::start([json_reply(400, &refusal)]).await;
    let user = TestUser::new(Browser::Returns("c"), &["browser"]);
    let error = anthropic(&service, 0)
        .login(&context(), &user, &CancellationToken::new())
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "code exchange rejected (HTTP 400): invalid_grant: Code is stale"
    );
}

#[tokio::test]
async fn anthropic_refreshes() {
    let refreshed = json!({"access_token": "acc2", "refresh_token": "ref2", "expires_in": 60});
    let service = ScriptedServer::start([json_reply(200, &refreshed)]).await;
    let old =
        json!({"type": "oauth", "access": "acc", "refresh": "ref", "expires": 1, "note": "kept"});
    let pi_auth::Credential::OAuth(old) = pi_auth::Credential::from_value(old).unwrap() else {
        panic!("expected an OAuth credential");
    };
    let credential = anthropic(&service, 0)
        .refresh(&old, &context())
        .await
        .unwrap();
    insta::assert_snapshot!(requests(&service, &[]), @r#"
    POST /token
      accept: application/json
      content-type: application/json
      {"grant_type":"refresh_token","client_id":"9d1c250a-e61b-44d9-88ed-5944d1962f5e","refresh_token":"ref"}
    "#);
    assert_eq!(
        stored(credential),
        json!({"type": "oauth", "access": "acc2", "refresh": "ref2", "expires": NOW + 60_000 - 300_000, "note": "kept"})
    );
}

fn access_token(account: &str) -> String {
    let claims = json!({"https://api.openai.com/auth": {"chatgpt_account_id": account}});
    format!("h.{}.s", URL_SAFE_NO_PAD.encode(claims.to_string()))
}

#[tokio::test]
async fn chatgpt_in_a_browser() {
    let token = access_token("acct-1");
    let response = json!({"access_token": token, "refresh_token": "ref", "expires_in": 3600});
    let service = ScriptedServer::start([json_reply(200, &response)]).await;
    let user = TestUser::new(Browser::Returns("c"), &["browser"]);
    let sign_in = OpenAiCodexOAuth {
        auth_base_url: service.url(),
        callback_port: 0,
    };
    let credential = sign_in
        .login(&context(), &user, &CancellationToken::new())
        .await
        .unwrap();
    let body = String::from_utf8(service.wait_for_request(0).await.body).unwrap();
    let verifier = url::form_urlencoded::parse(body.as_bytes())
        .find(|(name, _)| name == "code_verifier")
        .unwrap()
        .1
        .into_owned();
    assert_pkce(&user, &verifier);
    let redirect = user.opened_with("redirect_uri");
    assert!(redirect.ends_with("/auth/callback"));
    assert_eq!(user.opened_with("originator"), "pi");
    assert_eq!(
        user.opened_with("scope"),
        "openid profile email offline_access"
    );
    let random = [(redirect.as_str(), "redirect"), (&verifier, "verifier")];
    insta::assert_snapshot!(requests(&service, &random), @r#"
    POST /oauth/token
      accept: application/json
      content-type: application/x-www-form-urlencoded
      grant_type=authorization_code
      client_id=app_EMoamEEZ73f0CkXaXp7hrann
      code=c
      code_verifier=<verifier>
      redirect_uri=<redirect>
    "#);
    assert_eq!(
        stored(credential),
        json!({"type": "oauth", "access": token, "refresh": "ref", "expires": NOW + 3_600_000, "accountId": "acct-1"})
    );
}

#[tokio::test]
async fn a_chatgpt_token_without_account_is_an_error_without_the_token() {
    let response =
        json!({"access_token": "s3cret.s3cret.s3cret", "refresh_token": "s3cret", "expires_in": 1});
    let service = ScriptedServer::start([json_reply(200, &response)]).await;
    let user = TestUser::new(Browser::Returns("c"), &["browser"]);
    let sign_in = OpenAiCodexOAuth {
        auth_base_url: service.url(),
        callback_port: 0,
    };
    let error = sign_in
        .login(&context(), &user, &CancellationToken::new())
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "code exchange: the response has an access token without an account ID"
    );
}

#[tokio::test]
async fn openrouter_returns_a_permanent_key() {
    let service = ScriptedServer::start([json_reply(200, &json!({"key": "sk-or-1"}))]).await;
    let user = TestUser::new(Browser::Returns("c#1"), &[]);
    let sign_in = OpenRouterOAuth {
        authorize_url: format!("{}/auth", service.url()),
        key_url: format!("{}/keys", service.url()),
    };
    let credential = sign_in
        .login(&context(), &user, &CancellationToken::new())
        .await
        .unwrap();
    let verifier = service.wait_for_request(0).await.json()["code_verifier"].clone();
    assert_pkce(&user, verifier.as_str().unwrap());
    let random = [(verifier.as_str().unwrap(), "verifier")];
    insta::assert_snapshot!(requests(&service, &random), @r#"
    POST /keys
      accept: application/json
      content-type: application/json
      {"code":"c#1","code_verifier":"<verifier>","code_challenge_method":"S256"}
    "#);
    let unchanged = sign_in.refresh(&credential, &context()).await.unwrap();
    assert_eq!(unchanged, credential);
    assert_eq!(
        stored(credential),
        json!({"type": "oauth", "access": "sk-or-1", "refresh": "", "expires": 9_007_199_254_740_991_i64})
    );
}

#[tokio::test]
async fn radius_provides_its_authorization_endpoint() {
    let service = ScriptedServer::start([
        json_reply(200, &json!({"authorizationEndpoint": "https://accounts.example/authorize?tenant=1"})),
        json_reply(
            200,
            &json!({"access_token": "acc", "refresh_token": "ref", "expires_in": 3600, "scope": "gateway"}),
        ),
    ])
    .await;
    let user = TestUser::new(Browser::Returns("c"), &["browser"]);
    let mut sign_in = RadiusOAuth::new("Radius", &service.url());
    sign_in.callback_port = 0;
    let credential = sign_in
        .login(&context(), &user, &CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(user.opened().host_str(), Some("accounts.example"));
    assert_eq!(user.opened_with("tenant"), "1");
    let redirect = user.opened_with("redirect_uri");
    assert!(redirect.starts_with("http://127.0.0.1:") && redirect.ends_with("/oauth/callback"));
    let body = String::from_utf8(service.wait_for_request(1).await.body).unwrap();
    let verifier = body.split("code_verifier=").nth(1).unwrap();
    let verifier = verifier.split('&').next().unwrap();
    assert_pkce(&user, verifier);
    let random = [(redirect.as_str(), "redirect"), (verifier, "verifier")];
    insta::assert_snapshot!(requests(&service, &random), @r#"
    GET /v1/oauth
      accept: application/json
    POST /v1/oauth/token
      accept: application/json
      content-type: application/x-www-form-urlencoded
      grant_type=authorization_code
      client_id=pi-gateway
      code=c
      code_verifier=<verifier>
      redirect_uri=<redirect>
    "#);
    assert_eq!(
        stored(credential),
        json!({"type": "oauth", "access": "acc", "refresh": "ref", "expires": NOW + 3_600_000 - 60_000, "scope": "gateway"})
    );
}

#[tokio::test]
async fn a_gateway_can_only_open_web_pages() {
    let response = json!({"authorizationEndpoint": "file:///etc/passwd"});
    let service = ScriptedServer::start([json_reply(200, &response)]).await;
    let user = TestUser::new(Browser::Returns("c"), &["browser"]);
    let mut sign_in = RadiusOAuth::new("Radius", &service.url());
    sign_in.callback_port = 0;
    let error = sign_in
        .login(&context(), &user, &CancellationToken::new())
        .await;
    assert!(error.is_err());
    assert_eq!(user.events(), vec![]);
}
