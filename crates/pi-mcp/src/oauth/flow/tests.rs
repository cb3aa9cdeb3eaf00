use pretty_assertions::assert_eq;

use super::*;
use crate::oauth::endpoint::OAuthResponse;

fn response(status: u16, json: Value) -> OAuthResponse {
    OAuthResponse {
        status,
        text: json.to_string(),
        json: Some(json),
    }
}

#[test]
fn tokens_are_parsed() {
    let json = json!({"access_token": "a", "token_type": "Bearer", "expires_in": "60", "x": 1});
    let tokens = parse_tokens(response(200, json)).unwrap();
    assert_eq!(
        Value::Object(tokens),
        json!({"access_token": "a", "token_type": "Bearer", "expires_in": 60})
    );
    let error = parse_tokens(response(400, json!({"error": "invalid_grant"}))).unwrap_err();
    assert!(matches!(error, OAuthFailure::Rejected { code, .. } if code == "invalid_grant"));
    for json in [
        json!({"access_token": "a"}),
        json!(null),
        json!({"error": "server_error"}),
    ] {
        let failure = parse_tokens(response(200, json)).unwrap_err();
        assert!(matches!(failure, OAuthFailure::Other(_)));
    }
}

#[test]
fn the_issuer_of_a_response_is_checked() {
    let discovery = |supported: bool| Discovery {
        server: "https://a".to_owned(),
        metadata: json!({
            "issuer": "https://a",
            "authorization_response_iss_parameter_supported": supported,
        })
        .as_object()
        .cloned(),
        resource: None,
    };
    for (supported, received, expected) in [
        (true, Some("https://a"), true),
        (true, None, false),
        (true, Some("https://b"), false),
        (false, None, true),
        (false, Some("https://b"), false),
    ] {
        let outcome = check_issuer(&discovery(supported), received);
        assert_eq!(outcome.is_ok(), expected, "{supported} {received:?}");
    }
}

#[test]
fn a_client_authenticates_as_the_server_supports() {
    let client = |secret: Option<&str>, method: Option<&str>| Client {
        id: "c".to_owned(),
        secret: secret.map(str::to_owned),
        method: method.map(str::to_owned),
    };
    for (secret, method, supported, expected) in [
        (None, None, vec![], AuthMethod::None),
        (Some("s"), None, vec![], AuthMethod::Basic),
        (
            Some("s"),
            None,
            vec!["client_secret_post"],
            AuthMethod::Post,
        ),
        (Some("s"), Some("none"), vec!["none"], AuthMethod::None),
        (
            Some("s"),
            Some("none"),
            vec!["client_secret_basic"],
            AuthMethod::Basic,
        ),
    ] {
        assert_eq!(client(secret, method).auth_method(&supported), expected);
    }
}
