//! Device-code sign-ins of ChatGPT, xAI, Kimi, Meta and Radius.

use pi_auth::{
    Credential, KimiCodingOAuth, MetaOAuth, OAuthCredential, OAuthError, OAuthFlow,
    OpenAiCodexOAuth, RadiusOAuth, XaiOAuth,
};
use pi_test_support::ScriptedServer;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::request_snapshot::requests;
use super::test_user::{Browser, TestUser};
use super::{NOW, context, json_reply, stored};

fn device() -> Value {
    json!({
        "device_code": "dev",
        "user_code": "ABCD-1234",
        "verification_uri": "https://example.com/device",
        "verification_uri_complete": "https://example.com/device?code=ABCD-1234",
        "interval": 1,
        "expires_in": 600,
    })
}

fn pending() -> Value {
    json!({"error": "authorization_pending"})
}

fn tokens() -> Value {
    json!({"access_token": "acc", "refresh_token": "ref", "expires_in": 3600})
}

fn user(replies: &[&'static str]) -> TestUser {
    TestUser::new(Browser::Never, replies)
}

fn signed_in(value: Value) -> OAuthCredential {
    match Credential::from_value(value).unwrap() {
        Credential::OAuth(credential) => credential,
        Credential::ApiKey(_) => panic!("expected an OAuth credential"),
    }
}

async fn login(flow: &dyn OAuthFlow, user: &TestUser) -> Result<Value, OAuthError> {
    flow.login(&context(), user, &CancellationToken::new())
        .await
        .map(stored)
}

fn xai(service: &ScriptedServer) -> XaiOAuth {
    XaiOAuth {
        device_code_url: format!("{}/device", service.url()),
        token_url: format!("{}/token", service.url()),
    }
}

#[tokio::test]
async fn xai_polls_until_the_code_is_used() {
    let service = ScriptedServer::start([
        json_reply(200, &device()),
        json_reply(400, &pending()),
        json_reply(200, &tokens()),
    ])
    .await;
    let user = user(&[]);
    let credential = login(&xai(&service), &user).await.unwrap();
    assert_eq!(
        user.device_code(),
        (
            "ABCD-1234".to_owned(),
            "https://example.com/device?code=ABCD-1234".to_owned()
        )
    );
    insta::assert_snapshot!(requests(&service, &[]), @r#"
    POST /device
      accept: application/json
      content-type: application/x-www-form-urlencoded
      client_id=b1a00492-073a-47ea-816f-4c329264a828
      scope=openid profile email offline_access grok-cli:access api:access
      referrer=pi
    POST /token
      accept: application/json
      content-type: application/x-www-form-urlencoded
      grant_type=urn:ietf:params:oauth:grant-type:device_code
      client_id=b1a00492-073a-47ea-816f-4c329264a828
      device_code=dev
    POST /token
      accept: application/json
      content-type: application/x-www-form-urlencoded
      grant_type=urn:ietf:params:oauth:grant-type:device_code
      client_id=b1a00492-073a-47ea-816f-4c329264a828
      device_code=dev
    "#);
    assert_eq!(
        credential,
        json!({"type": "oauth", "access": "acc", "refresh": "ref", "expires": NOW + 3_300_000})
    );
}

#[tokio::test]
async fn xai_keeps_a_refresh_token_that_is_not_replaced() {
    let service = ScriptedServer::start([json_reply(200, &json!({"access_token": "acc2"}))]).await;
    let old = signed_in(json!({"type": "oauth", "access": "a", "refresh": "ref", "expires": 1}));
    let refreshed = xai(&service).refresh(&old, &context()).await.unwrap();
    insta::assert_snapshot!(requests(&service, &[]), @r#"
    POST /token
      accept: application/json
      content-type: application/x-www-form-urlencoded
      grant_type=refresh_token
      client_id=b1a00492-073a-47ea-816f-4c329264a828
      refresh_token=ref
    "#);
    assert_eq!(
        stored(refreshed),
        json!({"type": "oauth", "access": "acc2", "refresh": "ref", "expires": NOW + 3_300_000})
    );
}

#[tokio::test]
async fn a_code_can_be_denied_or_expire() {
    for (response, expected) in [
        (
            json!({"error": "access_denied", "error_description": "no thanks"}),
            "the service denied access: no thanks",
        ),
        (
            json!({"error": "authorization_denied"}),
            "the service denied access",
        ),
        (
            json!({"error": "expired_token"}),
            "the code expired before it was used; sign in again",
        ),
        (
            json!({"error": "unsupported_grant_type"}),
            "device sign-in rejected (HTTP 400): unsupported_grant_type",
        ),
    ] {
        let service =
            ScriptedServer::start([json_reply(200, &device()), json_reply(400, &response)]).await;
        let error = login(&xai(&service), &user(&[])).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[tokio::test]
async fn an_invalid_verification_url_is_not_shown() {
    let mut response = device();
    response["verification_uri"] = json!("calc:");
    response["verification_uri_complete"] = json!("file:///bin/sh");
    let service = ScriptedServer::start([json_reply(200, &response)]).await;
    let user = user(&[]);
    let error = login(&xai(&service), &user).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "device code request: the response has an invalid \"verification_uri\""
    );
    assert_eq!(user.events(), vec![]);
}

#[tokio::test]
async fn a_canceled_sign_in_stops_polling() {
    let service = ScriptedServer::start([json_reply(200, &device())]).await;
    let user = user(&[]);
    let cancel = CancellationToken::new();
    let flow = xai(&service);
    let context = context();
    let login = flow.login(&context, &user, &cancel);
    tokio::pin!(login);
    tokio::select! {
        _ = &mut login => panic!("the sign-in finished before the code was used"),
        _ = service.wait_for_request(0) => {}
    }
    cancel.cancel();
    assert_eq!(login.await.unwrap_err(), OAuthError::Cancelled);
}

#[tokio::test]
async fn kimi_sends_its_token_as_a_bearer() {
    let service = ScriptedServer::start([
        json_reply(200, &device()),
        json_reply(200, &tokens()),
        json_reply(503, &json!({"message": "busy"})),
        json_reply(
            200,
            &json!({"access_token": "acc2", "refresh_token": "ref2", "expires_in": 60}),
        ),
    ])
    .await;
    let flow = KimiCodingOAuth {
        auth_base_url: service.url(),
    };
    let credential = login(&flow, &user(&[])).await.unwrap();
    assert_eq!(
        credential,
        json!({"type": "oauth", "access": "acc", "refresh": "ref", "expires": NOW + 3_600_000})
    );
    let credential = signed_in(credential);
    let auth = flow.request_auth(&credential);
    assert!(auth.api_key.is_none());
    assert_eq!(auth.headers["authorization"], Some("Bearer acc".to_owned()));
    let refreshed = flow.refresh(&credential, &context()).await.unwrap();
    assert_eq!(
        stored(refreshed),
        json!({"type": "oauth", "access": "acc2", "refresh": "ref2", "expires": NOW + 60_000})
    );
    insta::assert_snapshot!(requests(&service, &[]), @r#"
    POST /api/oauth/device_authorization
      accept: application/json
      content-type: application/x-www-form-urlencoded
      client_id=17e5f671-d194-4dfb-9706-5516cb48c098
    POST /api/oauth/token
      accept: application/json
      content-type: application/x-www-form-urlencoded
      grant_type=urn:ietf:params:oauth:grant-type:device_code
      client_id=17e5f671-d194-4dfb-9706-5516cb48c098
      device_code=dev
    POST /api/oauth/token
      accept: application/json
      content-type: application/x-www-form-urlencoded
      grant_type=refresh_token
      client_id=17e5f671-d194-4dfb-9706-5516cb48c098
      refresh_token=ref
    POST /api/oauth/token
      accept: application/json
      content-type: application/x-www-form-urlencoded
      grant_type=refresh_token
      client_id=17e5f671-d194-4dfb-9706-5516cb48c098
      refresh_token=ref
    "#);
}

fn meta(service: &ScriptedServer) -> MetaOAuth {
    MetaOAuth {
        device_code_url: format!("{}/device", service.url()),
        token_url: format!("{}/token", service.url()),
        key_url: format!("{}/key", service.url()),
    }
}

#[tokio::test]
async fn meta_mints_a_key_with_the_identity_token() {
    let service = ScriptedServer::start([
        json_reply(200, &device()),
        json_reply(200, &json!({"access_token": "identity"})),
        json_reply(200, &json!({"api_key": "key1"})),
        json_reply(200, &json!({"api_key": "key2"})),
        json_reply(401, &json!({"detail": "session is over"})),
        json_reply(200, &json!({"action_url": "https://meta.example/setup"})),
    ])
    .await;
    let flow = meta(&service);
    let credential = login(&flow, &user(&[])).await.unwrap();
    assert_eq!(
        credential,
        json!({"type": "oauth", "access": "key1", "refresh": "identity", "expires": NOW + 86_400_000})
    );
    insta::assert_snapshot!(requests(&service, &[]), @r#"
    POST /device
      accept: application/json
      content-type: application/x-www-form-urlencoded
      client_id=1031625952748946
    POST /token
      accept: application/json
      content-type: application/x-www-form-urlencoded
      grant_type=urn:ietf:params:oauth:grant-type:device_code
      client_id=1031625952748946
      device_code=dev
    POST /key
      accept: application/json
      authorization: Bearer identity
      content-type: application/json
      x-api-version: 1.0.0
      {}
    "#);
    let credential = signed_in(credential);
    let refreshed = flow.refresh(&credential, &context()).await.unwrap();
    assert_eq!(stored(refreshed)["access"], "key2");
    let over = flow.refresh(&credential, &context()).await.unwrap_err();
    assert!(over.is_rejection());
    assert_eq!(
        over.to_string(),
        "key request rejected (HTTP 401): session is over"
    );
    let unfinished = flow.refresh(&credential, &context()).await.unwrap_err();
    assert_eq!(
        unfinished.to_string(),
        "key request: the response has no key; complete the account setup at https://meta.example/setup"
    );
}

#[tokio::test]
async fn chatgpt_has_its_own_device_flow() {
    // {"https://api.openai.com/auth":{"chatgpt_account_id":"acct-9"}}
    let token =
        "h.eyJodHRwczovL2FwaS5vcGVuYWkuY29tL2F1dGgiOnsiY2hhdGdwdF9hY2NvdW50X2lkIjoiYWNjdC05In19.s";
    let service = ScriptedServer::start([
        json_reply(
            200,
            &json!({"device_auth_id": "d1", "user_code": "WXYZ", "interval": "1"}),
        ),
        json_reply(403, &json!({})),
        json_reply(
            400,
            &json!({"error": {"code": "deviceauth_authorization_pending"}}),
        ),
        json_reply(
            200,
            &json!({"authorization_code": "code", "code_verifier": "verifier"}),
        ),
        json_reply(
            200,
            &json!({"access_token": token, "refresh_token": "ref", "expires_in": 10}),
        ),
        json_reply(
            200,
            &json!({"access_token": "opaque", "refresh_token": "ref2", "expires_in": 10}),
        ),
    ])
    .await;
    let flow = OpenAiCodexOAuth {
        auth_base_url: service.url(),
        callback_port: 0,
    };
    let user = user(&["device_code"]);
    let credential = login(&flow, &user).await.unwrap();
    let page = format!("{}/codex/device", service.url());
    assert_eq!(user.device_code(), ("WXYZ".to_owned(), page));
    assert_eq!(
        credential,
        json!({"type": "oauth", "access": token, "refresh": "ref", "expires": NOW + 10_000, "accountId": "acct-9"})
    );
    // A refreshed token in another format does not lose the new refresh token.
    let refreshed = flow
        .refresh(&signed_in(credential), &context())
        .await
        .unwrap();
    assert_eq!(
        stored(refreshed),
        json!({"type": "oauth", "access": "opaque", "refresh": "ref2", "expires": NOW + 10_000, "accountId": "acct-9"})
    );
    insta::assert_snapshot!(requests(&service, &[(&service.url(), "service")]), @r#"
    POST /api/accounts/deviceauth/usercode
      accept: application/json
      content-type: application/json
      {"client_id":"app_EMoamEEZ73f0CkXaXp7hrann"}
    POST /api/accounts/deviceauth/token
      accept: application/json
      content-type: application/json
      {"device_auth_id":"d1","user_code":"WXYZ"}
    POST /api/accounts/deviceauth/token
      accept: application/json
      content-type: application/json
      {"device_auth_id":"d1","user_code":"WXYZ"}
    POST /api/accounts/deviceauth/token
      accept: application/json
      content-type: application/json
      {"device_auth_id":"d1","user_code":"WXYZ"}
    POST /oauth/token
      accept: application/json
      content-type: application/x-www-form-urlencoded
      grant_type=authorization_code
      client_id=app_EMoamEEZ73f0CkXaXp7hrann
      code=code
      code_verifier=verifier
      redirect_uri=<service>/deviceauth/callback
    POST /oauth/token
      accept: application/json
      content-type: application/x-www-form-urlencoded
      grant_type=refresh_token
      client_id=app_EMoamEEZ73f0CkXaXp7hrann
      refresh_token=ref
    "#);
}

#[tokio::test]
async fn radius_supports_device_codes() {
    let service = ScriptedServer::start([
        json_reply(200, &device()),
        json_reply(400, &pending()),
        json_reply(200, &tokens()),
    ])
    .await;
    let flow = RadiusOAuth::new("Radius", &service.url());
    let credential = login(&flow, &user(&["device-code"])).await.unwrap();
    assert_eq!(
        credential,
        json!({"type": "oauth", "access": "acc", "refresh": "ref", "expires": NOW + 3_540_000})
    );
    insta::assert_snapshot!(requests(&service, &[]), @r#"
    POST /v1/oauth/device
      accept: application/json
      content-type: application/x-www-form-urlencoded
      client_id=pi-gateway
      scope=gateway offline_access
    POST /v1/oauth/token
      accept: application/json
      content-type: application/x-www-form-urlencoded
      grant_type=urn:ietf:params:oauth:grant-type:device_code
      client_id=pi-gateway
      device_code=dev
    POST /v1/oauth/token
      accept: application/json
      content-type: application/x-www-form-urlencoded
      grant_type=urn:ietf:params:oauth:grant-type:device_code
      client_id=pi-gateway
      device_code=dev
    "#);
}

#[tokio::test]
async fn an_unknown_choice_and_a_rejected_response() {
    let service = ScriptedServer::start([]).await;
    let flow = RadiusOAuth::new("Radius", &service.url());
    let error = login(&flow, &user(&["carrier-pigeon"])).await.unwrap_err();
    assert_eq!(error.to_string(), "unknown choice carrier-pigeon");
    assert_eq!(
        login(&flow, &user(&[])).await.unwrap_err(),
        OAuthError::Cancelled
    );
}
