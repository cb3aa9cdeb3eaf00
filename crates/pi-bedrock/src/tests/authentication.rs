use std::path::Path;

use bytes::Bytes;
use http::HeaderMap;
use pi_env::Env;
use pi_http::{HttpClient, user_agent};
use pi_protocol::{ErrorClass, ProviderError};
use pi_providers::wire::testing::{self, NOW};
use pi_providers::wire::{HttpProtocol, OutgoingRequest};
use pi_providers::{ModelRequest, StreamOptions};
use pi_test_support::{ScriptedReply, ScriptedServer, TempHome};
use pretty_assertions::assert_eq;
use secrecy::SecretString;
use serde_json::json;

use crate::BedrockConverse;

/// An expiry after any test run.
const FAR_FUTURE: &str = "2199-01-01T00:00:00Z";

fn request(variables: &[(&str, &str)], options: StreamOptions) -> ModelRequest {
    let model = testing::model(
        "bedrock-converse-stream",
        json!({"id": "us.anthropic.claude-sonnet-4-5-v1:0",
            "baseUrl": "https://bedrock-runtime.eu-west-1.amazonaws.com"}),
    );
    let mut request = testing::request(model, json!([]), options);
    request.env = Env::fixed(variables.iter().copied()).with_clock(|| NOW);
    request
}

async fn sign_with(
    protocol: &BedrockConverse,
    request: &ModelRequest,
    headers: &[(&'static str, &'static str)],
) -> Result<HeaderMap, ProviderError> {
    let mut outgoing = OutgoingRequest {
        url: protocol.prepare(request).await?.url,
        headers: headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect(),
        body: Bytes::from_static(br#"{"messages":[]}"#),
    };
    protocol
        .sign(request, &mut outgoing, &HttpClient::new())
        .await?;
    Ok(outgoing.headers)
}

async fn signed(request: &ModelRequest) -> Result<HeaderMap, ProviderError> {
    sign_with(&BedrockConverse::default(), request, &[]).await
}

fn text<'headers>(headers: &'headers HeaderMap, name: &str) -> &'headers str {
    headers[name].to_str().unwrap()
}

/// Returns the ID of the key that a request was signed with.
async fn key_id(variables: &[(&str, &str)]) -> String {
    let headers = signed(&request(variables, StreamOptions::default()))
        .await
        .unwrap();
    let (_, scope) = text(&headers, "authorization")
        .split_once("Credential=")
        .unwrap();
    scope.split_once('/').unwrap().0.to_owned()
}

/// The expected signature was calculated independently, with HMAC-SHA256 alone.
#[tokio::test]
async fn a_request_is_signed_as_aws_documents_it() {
    let request = request(
        &[
            ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
            (
                "AWS_SECRET_ACCESS_KEY",
                "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
            ),
            ("AWS_SESSION_TOKEN", "TOKEN"),
        ],
        StreamOptions::default(),
    );
    let headers = sign_with(
        &BedrockConverse::default(),
        &request,
        &[
            ("accept", "application/vnd.amazon.eventstream"),
            ("content-type", "application/json"),
            ("user-agent", "changes/on-the-way"),
            ("x-team", "pi"),
            ("host", "forged.example"),
            ("authorization", "forged"),
            ("x-amz-date", "forged"),
            ("x-amz-anything", "forged"),
        ],
    )
    .await
    .unwrap();
    assert_eq!(
        text(&headers, "authorization"),
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20231114/eu-west-1/bedrock/aws4_request, \
         SignedHeaders=accept;content-type;host;x-amz-date;x-amz-security-token;x-team, \
         Signature=55e8b9329f07d5f3e4450a4b84c7fc8ee8270024ff47436b71cf923d5fb1b69b"
    );
    assert_eq!(text(&headers, "x-amz-date"), "20231114T221320Z");
    assert_eq!(text(&headers, "x-amz-security-token"), "TOKEN");
    assert!(headers.get("x-amz-anything").is_none());
    assert!(
        !format!("{headers:?}").contains("55e8b932"),
        "secrets stay out of Debug"
    );
}

#[tokio::test]
async fn a_bearer_token_replaces_the_signature() {
    let keys = [
        ("AWS_ACCESS_KEY_ID", "AKID"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
    ];
    let in_environment = [keys[0], keys[1], ("AWS_BEARER_TOKEN_BEDROCK", "ambient")];
    let by_key = StreamOptions {
        api_key: Some(SecretString::from("stored")),
        ..StreamOptions::default()
    };
    let by_option = StreamOptions {
        provider_options: [("bearerToken".to_owned(), "requested".into())]
            .into_iter()
            .collect(),
        ..by_key.clone()
    };
    let cases = [
        (StreamOptions::default(), "Bearer ambient"),
        (by_key, "Bearer stored"),
        (by_option, "Bearer requested"),
    ];
    for (options, expected) in cases {
        let headers = signed(&request(&in_environment, options)).await.unwrap();
        assert_eq!(text(&headers, "authorization"), expected);
        assert!(headers.get("x-amz-date").is_none());
    }
}

#[tokio::test]
async fn a_gateway_can_skip_authentication() {
    let variables = [
        ("AWS_BEDROCK_SKIP_AUTH", "1"),
        ("AWS_BEARER_TOKEN_BEDROCK", "t"),
    ];
    let headers = signed(&request(&variables, StreamOptions::default()))
        .await
        .unwrap();
    assert!(headers.is_empty());
}

fn home(files: &[(&str, &str)]) -> TempHome {
    let home = TempHome::new();
    for (name, content) in files {
        home.write(name, content);
    }
    home
}

fn text_of(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test]
async fn profiles_are_read_from_the_shared_files() {
    let home = home(&[
        (
            ".aws/credentials",
            "[default]\naws_access_key_id = DEFAULT\naws_secret_access_key = s\n\
             [team]\naws_access_key_id = TEAM\naws_secret_access_key = s\n",
        ),
        (
            "elsewhere",
            "[default]\naws_access_key_id = ELSEWHERE\naws_secret_access_key = s\n",
        ),
    ]);
    let at_home = ("HOME", text_of(home.path()));
    assert_eq!(key_id(&[at_home]).await, "DEFAULT");
    assert_eq!(key_id(&[at_home, ("AWS_PROFILE", "team")]).await, "TEAM");
    let elsewhere = home.path().join("elsewhere");
    assert_eq!(
        key_id(&[
            at_home,
            ("AWS_SHARED_CREDENTIALS_FILE", text_of(&elsewhere))
        ])
        .await,
        "ELSEWHERE"
    );
}

#[tokio::test]
async fn a_profile_of_the_provider_overrides_keys_in_the_environment() {
    let home = home(&[(
        ".aws/credentials",
        "[team]\naws_access_key_id = TEAM\naws_secret_access_key = s\n",
    )]);
    let variables = [
        ("HOME", text_of(home.path())),
        ("AWS_PROFILE", "team"),
        ("AWS_ACCESS_KEY_ID", "AMBIENT"),
        ("AWS_SECRET_ACCESS_KEY", "s"),
    ];
    assert_eq!(key_id(&variables).await, "AMBIENT");
    let stored = StreamOptions {
        env: [("AWS_PROFILE".to_owned(), "team".to_owned())].into(),
        ..StreamOptions::default()
    };
    let requested = StreamOptions {
        provider_options: [("profile".to_owned(), "team".into())]
            .into_iter()
            .collect(),
        ..StreamOptions::default()
    };
    for options in [stored, requested] {
        let headers = signed(&request(&variables, options)).await.unwrap();
        assert!(text(&headers, "authorization").contains("Credential=TEAM/"));
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_profile_can_use_a_process() {
    let home = home(&[(
        ".aws/config",
        "[default]\ncredential_process = printf '{\"Version\":1,\"AccessKeyId\":\"PROCESS\",\
         \"SecretAccessKey\":\"s\"}'\n",
    )]);
    assert_eq!(key_id(&[("HOME", text_of(home.path()))]).await, "PROCESS");
}

fn json_found(body: String) -> ScriptedReply {
    ScriptedReply::full(200, &[], body)
}

fn temporary_credentials(key: &str) -> String {
    json!({"Code": "Success", "AccessKeyId": key, "SecretAccessKey": "s", "Token": "t",
        "Expiration": FAR_FUTURE})
    .to_string()
}

fn assumed_role(operation: &str, key: &str) -> String {
    format!(
        "<{operation}Response><{operation}Result><Credentials><AccessKeyId>{key}</AccessKeyId>\
         <SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>\
         <Expiration>{FAR_FUTURE}</Expiration></Credentials><AssumedRoleUser><Arn>arn:aws:sts::1:assumed_role-role/r/s</Arn>\
         <AssumedRoleId>id</AssumedRoleId></AssumedRoleUser></{operation}Result></{operation}Response>"
    )
}

#[tokio::test]
async fn container_credentials_are_cached() {
    let server = ScriptedServer::start([
        json_found(temporary_credentials("CONTAINER")),
        json_found(temporary_credentials("CONTAINER")),
    ])
    .await;
    let uri = format!("{}/credentials", server.url());
    let variables = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", uri.as_str()),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic letmein"),
        ("HOME", "/nonexistent"),
    ];
    let request = request(&variables, StreamOptions::default());
    let protocol = BedrockConverse::default();
    for _ in 0..2 {
        let headers = sign_with(&protocol, &request, &[]).await.unwrap();
        assert!(text(&headers, "authorization").contains("Credential=CONTAINER/"));
        assert_eq!(text(&headers, "x-amz-security-token"), "t");
    }
    let seen = server.requests();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].header("authorization"), Some("Basic letmein"));

    let mut late = request;
    late.env = Env::fixed(variables).with_clock(|| 7_226_582_400_000 - 60_000);
    sign_with(&protocol, &late, &[]).await.unwrap();
    assert_eq!(
        server.requests().len(),
        2,
        "credentials that are about to end are renewed"
    );
}

#[tokio::test]
async fn a_web_identity_is_exchanged_for_a_role() {
    let reply = assumed_role("AssumeRoleWithWebIdentity", "WEB");
    let server = ScriptedServer::start([json_found(reply)]).await;
    let home = home(&[("token", "the-identity")]);
    let token_file = home.path().join("token");
    let variables = [
        ("HOME", text_of(home.path())),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", text_of(&token_file)),
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/r"),
        ("AWS_ENDPOINT_URL_STS", &server.url()),
    ];
    assert_eq!(key_id(&variables).await, "WEB");
    let body = server.requests().remove(0).body;
    let body = String::from_utf8(body).unwrap();
    assert!(body.contains("WebIdentityToken=the-identity"));
}

#[tokio::test]
async fn a_profile_can_assume_a_role() {
    let server = ScriptedServer::start([json_found(assumed_role("AssumeRole", "ROLE"))]).await;
    let home = home(&[
        (
            ".aws/config",
            "[default]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = base\n",
        ),
        (
            ".aws/credentials",
            "[base]\naws_access_key_id = BASE\naws_secret_access_key = s\n",
        ),
    ]);
    let variables = [
        ("HOME", text_of(home.path())),
        ("AWS_ENDPOINT_URL_STS", &server.url()),
    ];
    assert_eq!(key_id(&variables).await, "ROLE");
    let requested = server.requests().remove(0);
    assert!(
        requested
            .header("authorization")
            .unwrap()
            .contains("Credential=BASE/")
    );
    assert_eq!(requested.header("user-agent"), Some(user_agent().as_str()));
}

#[tokio::test]
async fn a_profile_can_use_single_sign_on() {
    let credentials = json!({"roleCredentials": {"accessKeyId": "SSO", "secretAccessKey": "s",
        "sessionToken": "t", "expiration": 7_226_582_400_000_i64}});
    let server = ScriptedServer::start([json_found(credentials.to_string())]).await;
    let token = json!({"accessToken": "the-token", "expiresAt": FAR_FUTURE}).to_string();
    let home = home(&[
        (
            ".aws/config",
            "[default]\nsso_session = corp\nsso_account_id = 1\nsso_role_name = r\n\
             [sso-session corp]\nsso_region = us-east-1\nsso_start_url = https://corp.example\n",
        ),
        // Named after the SHA-1 of the session's name.
        (
            ".aws/sso/cache/ee0bfd2552fbd840c02cc48b6e823320543c450f.json",
            &token,
        ),
    ]);
    let variables = [
        ("HOME", text_of(home.path())),
        ("AWS_ENDPOINT_URL_SSO", &server.url()),
    ];
    assert_eq!(key_id(&variables).await, "SSO");
    let requested = server.requests().remove(0);
    assert_eq!(
        requested.header("x-amz-sso_bearer_token"),
        Some("the-token")
    );
}

#[tokio::test]
async fn instance_metadata_is_the_last_resort() {
    let lifetime = [("x-aws-ec2-metadata-token-ttl-seconds", "21600")];
    let server = ScriptedServer::start([
        ScriptedReply::full(200, &lifetime, "token"),
        json_found("the-role".to_owned()),
        json_found(temporary_credentials("INSTANCE")),
    ])
    .await;
    let variables = [
        ("HOME", "/nonexistent"),
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT", &server.url()),
    ];
    assert_eq!(key_id(&variables).await, "INSTANCE");
    let requested: Vec<_> = server
        .requests()
        .into_iter()
        .map(|request| request.target)
        .collect();
    let role = "/latest/meta-data/iam/security-credentials/";
    assert_eq!(
        requested,
        ["/latest/api/token", role, &format!("{role}the-role")]
    );
}

#[tokio::test]
async fn missing_and_broken_credentials_have_different_errors() {
    let no_credentials = [
        ("HOME", "/nonexistent"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
    ];
    let error = signed(&request(&no_credentials, StreamOptions::default()))
        .await
        .unwrap_err();
    assert_eq!(error.class, ErrorClass::Auth);
    assert!(
        error.message.starts_with("No AWS credentials found"),
        "{error}"
    );

    let gone = [
        no_credentials[0],
        no_credentials[1],
        ("AWS_PROFILE", "gone"),
    ];
    let error = signed(&request(&gone, StreamOptions::default()))
        .await
        .unwrap_err();
    assert_eq!(error.class, ErrorClass::Auth);
    assert!(error.message.contains("profile gone"), "{error}");

    let home = home(&[(".aws/config", "[default]\ncredential_process = exit 3\n")]);
    let broken = [("HOME", text_of(home.path()))];
    let error = signed(&request(&broken, StreamOptions::default()))
        .await
        .unwrap_err();
    assert_eq!(error.class, ErrorClass::Auth);
    let prefix = "Cannot load AWS credentials: ";
    assert!(error.message.starts_with(prefix), "{error}");
}
