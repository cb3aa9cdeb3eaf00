//! Credential tests against a loopback server that impersonates Google.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use pi_protocol::ErrorClass;
use pi_test_support::{RecordingProxy, ScriptedReply, ScriptedServer, TempHome};
use pretty_assertions::assert_eq;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::*;

const NOW: i64 = 1_700_000_000_000;

fn token(name: &str, expires_in: i64) -> ScriptedReply {
    let response = json!({"access_token": name, "expires_in": expires_in, "token_type": "Bearer"});
    ScriptedReply::full(200, &[], response.to_string())
}

fn token_error(status: u16, body: &Value) -> ScriptedReply {
    ScriptedReply::full(status, &[], body.to_string())
}

fn token_uri(google: &ScriptedServer) -> String {
    format!("{}/token", google.url())
}

struct GoogleTest {
    home: TempHome,
    clock: Arc<AtomicI64>,
    credentials: GoogleCredentials,
}

impl GoogleTest {
    fn new() -> Self {
        Self {
            home: TempHome::new(),
            clock: Arc::new(AtomicI64::new(NOW)),
            credentials: GoogleCredentials::new(HttpClient::new()),
        }
    }

    fn write(&self, name: &str, content: &Value) -> String {
        let path = self.home.write(name, content.to_string());
        path.to_str().unwrap().to_owned()
    }

    fn env(&self, variables: &[(&str, &str)]) -> Env {
        let home = self.home.path().to_str().unwrap();
        let clock = Arc::clone(&self.clock);
        Env::fixed([("HOME", home)].iter().chain(variables).copied())
            .with_clock(move || clock.load(Ordering::Relaxed))
    }

    fn advance_seconds(&self, seconds: i64) {
        self.clock.fetch_add(seconds * 1000, Ordering::Relaxed);
    }

    async fn token(&self, env: &Env) -> String {
        let token = self.credentials.token(env).await.unwrap();
        token.access_token.expose_secret().to_owned()
    }

    async fn error(&self, env: &Env) -> ProviderError {
        self.credentials.token(env).await.unwrap_err()
    }
}

fn user_file(token_uri: &str) -> Value {
    json!({"type": "authorized_user", "client_id": "client", "client_secret": "hush & hush",
        "refresh_token": "1//refresh", "quota_project_id": "billed", "token_uri": token_uri})
}

#[tokio::test]
async fn user_token_is_cached_until_shortly_before_expiry() {
    let google = ScriptedServer::start([token("one", 3600), token("two", 3600)]).await;
    let test = GoogleTest::new();
    test.write(
        ".config/gcloud/application_default_credentials.json",
        &user_file(&token_uri(&google)),
    );
    let env = test.env(&[]);
    assert_eq!(test.token(&env).await, "one");
    test.advance_seconds(3600 - 226);
    assert_eq!(test.token(&env).await, "one");
    test.advance_seconds(1);
    assert_eq!(test.token(&env).await, "two");
    assert_eq!(test.token(&env).await, "two");

    let requests = google.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(
        (requests[0].method.as_str(), requests[0].target.as_str()),
        ("POST", "/token")
    );
    assert!(requests[0].header("user-agent").unwrap().starts_with("pi/"));
    assert_eq!(
        String::from_utf8_lossy(&requests[0].body),
        "grant_type=refresh_token&client_id=client&client_secret=hush+%26+hush&refresh_token=1%2F%2Frefresh"
    );
}

#[tokio::test]
async fn tokens_are_fetched_through_the_proxy() {
    let google = ScriptedServer::start([token("one", 3600)]).await;
    let proxy = RecordingProxy::start(google.address()).await;
    let test = GoogleTest::new();
    let file = test.write("user.json", &user_file("http://oauth.test/token"));
    let env = test.env(&[
        ("GOOGLE_APPLICATION_CREDENTIALS", &file),
        ("HTTP_PROXY", &proxy.url()),
    ]);
    assert_eq!(test.token(&env).await, "one");
    assert_eq!(proxy.requests()[0].target, "http://oauth.test/token");
}

#[tokio::test]
async fn concurrent_requests_share_one_fetch() {
    let google = ScriptedServer::start([token("one", 3600)]).await;
    let test = GoogleTest::new();
    let file = test.write("user.json", &user_file(&token_uri(&google)));
    let env = test.env(&[("GOOGLE_APPLICATION_CREDENTIALS", &file)]);
    let (left, right) = tokio::join!(test.token(&env), test.token(&env));
    assert_eq!((left.as_str(), right.as_str()), ("one", "one"));
    assert_eq!(google.requests().len(), 1);
}

#[tokio::test]
async fn replaced_file_is_a_new_credential() {
    let google = ScriptedServer::start([token("one", 3600), token("two", 3600)]).await;
    let test = GoogleTest::new();
    let mut content = user_file(&token_uri(&google));
    let file = test.write("user.json", &content);
    let env = test.env(&[("GOOGLE_APPLICATION_CREDENTIALS", &file)]);
    assert_eq!(test.token(&env).await, "one");
    content["refresh_token"] = "another".into();
    test.write("user.json", &content);
    assert_eq!(test.token(&env).await, "two");
}

#[tokio::test]
async fn billed_project_comes_from_the_environment_then_the_file() {
    let google = ScriptedServer::start([token("one", 3600)]).await;
    let test = GoogleTest::new();
    let file = test.write("user.json", &user_file(&token_uri(&google)));
    let named = ("GOOGLE_APPLICATION_CREDENTIALS", file.as_str());
    let project = async |env: Env| test.credentials.token(&env).await.unwrap().quota_project;
    assert_eq!(project(test.env(&[named])).await.as_deref(), Some("billed"));
    let other = test.env(&[named, ("GOOGLE_CLOUD_QUOTA_PROJECT", "mine")]);
    assert_eq!(project(other).await.as_deref(), Some("mine"));
}

fn pem(der: &[u8]) -> String {
    format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        BASE64_STANDARD.encode(der)
    )
}

fn decoded_part(part: &str) -> Value {
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

#[tokio::test]
async fn service_account_signs_its_assertion() {
    let google = ScriptedServer::start([token("sa", 3600)]).await;
    let test = GoogleTest::new();
    let key = KeyPair::generate(KeySize::Rsa2048).unwrap();
    let der = AsDer::<aws_lc_rs::encoding::Pkcs8V1Der<'_>>::as_der(&key).unwrap();
    let file = test.write(
        "account.json",
        &json!({"type": "service_account", "client_email": "robot@project", "private_key_id": "k1",
            "private_key": pem(der.as_ref()), "token_uri": token_uri(&google)}),
    );
    let env = test.env(&[("GOOGLE_APPLICATION_CREDENTIALS", &file)]);
    assert_eq!(test.token(&env).await, "sa");

    let requests = google.requests();
    let form = String::from_utf8_lossy(&requests[0].body);
    let grant = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=";
    let assertion = form.strip_prefix(grant).unwrap();
    let (signed_part, signature) = assertion.rsplit_once('.').unwrap();
    let (header, claims) = signed_part.split_once('.').unwrap();
    assert_eq!(
        decoded_part(header),
        json!({"alg": "RS256", "typ": "JWT", "kid": "k1"})
    );
    assert_eq!(
        decoded_part(claims),
        json!({"iss": "robot@project", "scope": "https://www.googleapis.com/auth/cloud-platform",
            "aud": token_uri(&google), "iat": NOW / 1000, "exp": NOW / 1000 + 3600})
    );
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public_key().as_ref())
        .verify(
            signed_part.as_bytes(),
            &BASE64_URL_SAFE_NO_PAD.decode(signature).unwrap(),
        )
        .unwrap();
}

#[tokio::test]
async fn metadata_server_is_used_without_a_file() {
    let google = ScriptedServer::start([token("machine", 3600)]).await;
    let test = GoogleTest::new();
    let env = test.env(&[("GCE_METADATA_HOST", &google.address().to_string())]);
    assert_eq!(test.token(&env).await, "machine");
    assert_eq!(test.token(&env).await, "machine");
    let requests = google.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(
        requests[0].target,
        "/computeMetadata/v1/instance/service-accounts/default/token\
         ?scopes=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform"
    );
    assert_eq!(requests[0].header("metadata-flavor"), Some("Google"));
}

#[test]
fn gcloud_file_location_follows_the_environment() {
    let home = ("HOME", "/home/me");
    let file = |variables: &[(&str, &str)]| {
        credentials_file(&Env::fixed(variables.iter().copied())).unwrap()
    };
    let name = "application_default_credentials.json";
    if cfg!(unix) {
        assert_eq!(
            file(&[home]),
            Path::new("/home/me/.config/gcloud").join(name)
        );
    }
    let moved = ("CLOUDSDK_CONFIG", "/etc/gcloud");
    assert_eq!(file(&[home, moved]), Path::new("/etc/gcloud").join(name));
    let named = ("GOOGLE_APPLICATION_CREDENTIALS", "/key.json");
    assert_eq!(file(&[home, moved, named]), Path::new("/key.json"));
}

#[tokio::test]
async fn unusable_files_are_named_with_a_setup_hint() {
    let test = GoogleTest::new();
    let cases = [
        (
            json!({"type": "external_account"}),
            "has the unsupported type \"external_account\"",
        ),
        (json!({"client_id": "x"}), "missing \"type\""),
        (
            json!({"type": "service_account"}),
            "missing \"client_email\"",
        ),
        (
            json!({"type": "service_account", "client_email": "e"}),
            "missing \"private_key\"",
        ),
        (
            json!({"type": "service_account", "client_email": "e", "private_key": "nonsense"}),
            "not in PEM format",
        ),
        (
            json!({"type": "service_account", "client_email": "e", "private_key": pem(b"junk")}),
            "not an RSA key",
        ),
        (
            json!({"type": "authorized_user", "client_id": "c", "client_secret": "s"}),
            "missing \"refresh_token\"",
        ),
        (json!([]), "is malformed"),
    ];
    for (content, problem) in cases {
        let file = test.write("key.json", &content);
        let env = test.env(&[("GOOGLE_APPLICATION_CREDENTIALS", &file)]);
        let error = test.error(&env).await;
        assert_eq!(error.class, ErrorClass::Auth);
        assert!(error.message.contains(&file), "{error}");
        assert!(error.message.contains(problem), "{error}");
    }
    let external = test.write("key.json", &json!({"type": "external_account"}));
    let env = test.env(&[("GOOGLE_APPLICATION_CREDENTIALS", &external)]);
    let error = test.error(&env).await;
    assert!(
        error
            .message
            .contains("gcloud auth application-default login"),
        "{error}"
    );

    let missing = test.env(&[("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/key.json")]);
    let error = test.error(&missing).await;
    assert!(error.message.contains("/nowhere/key.json"), "{error}");
    assert!(
        error.message.contains("GOOGLE_APPLICATION_CREDENTIALS"),
        "{error}"
    );
}

#[tokio::test]
async fn rejected_token_is_not_cached_and_leaks_no_secret() {
    let google = ScriptedServer::start([
        token_error(
            400,
            &json!({"error": "invalid_grant", "error_description": "Token has been expired or revoked."}),
        ),
        token_error(503, &json!({"error": {"code": 503}})),
        token_error(200, &json!({"id_token": "x"})),
        token("ya29.renewed", 3600),
    ])
    .await;
    let test = GoogleTest::new();
    let file = test.write("user.json", &user_file(&token_uri(&google)));
    let env = test.env(&[("GOOGLE_APPLICATION_CREDENTIALS", &file)]);
    let refused = test.error(&env).await;
    assert_eq!(
        (refused.class, refused.status),
        (ErrorClass::Auth, Some(400))
    );
    assert_eq!(
        refused.message,
        format!(
            "Google rejected the access token request for the credentials in {file}: HTTP 400, invalid_grant, Token has been \
             expired or revoked.; set GOOGLE_CLOUD_API_KEY, point GOOGLE_APPLICATION_CREDENTIALS to a service account \
             key, or run `gcloud auth application-default login`"
        )
    );
    assert_eq!(test.error(&env).await.class, ErrorClass::Overloaded);
    assert_eq!(test.error(&env).await.class, ErrorClass::Protocol);
    assert_eq!(test.token(&env).await, "ya29.renewed");
    let debug = format!("{:?}", test.credentials);
    assert!(
        !debug.contains("ya29") && !debug.contains("hush"),
        "{debug}"
    );
}

#[tokio::test]
async fn missing_credentials_include_a_setup_hint() {
    let test = GoogleTest::new();
    let unused = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = unused.local_addr().unwrap().to_string();
    drop(unused);
    let unreachable = test.env(&[("GCE_METADATA_HOST", &host)]);
    let switched_off = test.env(&[("METADATA_SERVER_DETECTION", "none")]);
    for env in [unreachable, switched_off] {
        let error = test.error(&env).await;
        assert_eq!(error.class, ErrorClass::Auth);
        assert!(
            error.message.starts_with("no Google credentials found"),
            "{error}"
        );
        assert!(error.message.contains("GOOGLE_CLOUD_API_KEY"), "{error}");
    }
}
