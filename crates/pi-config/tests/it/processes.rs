//! Several processes share one `auth.json`, with a service that accepts every refresh token once.
//!
//! The processes are this test binary, started with the name of an ignored test and configured by
//! an environment variable.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use pi_auth::{
    AuthOverrides, Authenticator, ConfiguredAuth, Credential, CredentialStore, KimiCodingOAuth,
    LoginInteraction, OAuthError, ProviderAuth, SignInRequest, XaiOAuth,
};
use pi_config::AuthFile;
use pi_env::Env;
use pi_http::HttpClient;
use pi_protocol::{AuthKind, LoginEvent, LoginPrompt};
use pi_test_support::{ScriptedReply, ScriptedServer, TempHome};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

const FILE: &str = "TEST_AUTH_FILE";
const SERVICE: &str = "TEST_SERVICE";

/// Starts a process that runs one of the ignored tests below.
fn start(role: &str, home: &TempHome, service: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture"])
        .arg(format!("processes::{role}"))
        .env(FILE, home.path().join("agent/auth.json"))
        .env(SERVICE, service)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

/// Returns the result line that the process prints.
async fn result_of(mut child: Child) -> String {
    let mut output = String::new();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_to_string(&mut output).await.unwrap();
    child.wait().await.unwrap();
    output
        .lines()
        .find_map(|line| line.split_once("RESULT "))
        .unwrap_or_else(|| panic!("no result in {output:?}"))
        .1
        .to_owned()
}

async fn wait_for_line(child: &mut Child, expected: &str) {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.contains(expected) {
            child.stdout = Some(lines.into_inner().into_inner());
            return;
        }
    }
    panic!("the process never printed {expected}");
}

#[tokio::test]
#[ignore = "run by other tests as a child process"]
async fn renew() {
    let (Ok(file), Ok(service)) = (std::env::var(FILE), std::env::var(SERVICE)) else {
        return;
    };
    println!("READY");
    let provider = ProviderAuth {
        provider: "xai".to_owned(),
        api_key: None,
        oauth: Some(Arc::new(XaiOAuth {
            token_url: format!("{service}/token"),
            ..XaiOAuth::default()
        })),
        configured: ConfiguredAuth::default(),
    };
    let authenticator = Authenticator::new(Arc::new(AuthFile::new(file)), HttpClient::new());
    let env = Env::process();
    let auth = authenticator
        .resolve(&provider, &env, &AuthOverrides::default())
        .await;
    let result = match auth {
        Ok(auth) => {
            use secrecy::ExposeSecret;
            auth.unwrap().api_key.unwrap().expose_secret().to_owned()
        }
        Err(error) => error.to_string(),
    };
    println!("RESULT {result}");
}

#[tokio::test]
#[ignore = "run by another test as a child process"]
async fn create_without_umask() {
    let Ok(file) = std::env::var(FILE) else {
        return;
    };
    rustix::process::umask(rustix::fs::Mode::empty());
    let auth = AuthFile::new(file);
    auth.create_if_missing().await.unwrap();
    auth.put("x", Credential::api_key("k")).await.unwrap();
    println!("RESULT done");
}

#[tokio::test]
#[ignore = "run by another test as a child process"]
async fn sign_in() {
    let (Ok(file), Ok(service)) = (std::env::var(FILE), std::env::var(SERVICE)) else {
        return;
    };
    let person = NoPrompts;
    // The process ID makes each provider name unique.
    let provider = ProviderAuth {
        provider: format!("kimi-{}", std::process::id()),
        api_key: None,
        oauth: Some(Arc::new(KimiCodingOAuth {
            auth_base_url: service,
        })),
        configured: ConfiguredAuth::default(),
    };
    let authenticator = Authenticator::new(Arc::new(AuthFile::new(file)), HttpClient::new());
    let (env, cancel) = (Env::process(), CancellationToken::new());
    let request = SignInRequest {
        provider: &provider,
        kind: AuthKind::OAuth,
        env: &env,
        device_id: None,
    };
    let signed_in = authenticator.sign_in(request, &person, &cancel);
    let result = match signed_in.await {
        Ok(()) => provider.provider.clone(),
        Err(error) => error.to_string(),
    };
    println!("RESULT {result}");
}

/// Fails on any prompt.
struct NoPrompts;

impl LoginInteraction for NoPrompts {
    fn prompt(&self, _prompt: LoginPrompt) -> BoxFuture<'_, Result<String, OAuthError>> {
        Box::pin(std::future::ready(Err(OAuthError::Cancelled)))
    }

    fn notify(&self, _event: LoginEvent) {}
}

fn home_with_expired_sign_in() -> TempHome {
    let home = TempHome::new();
    let stored = json!({"xai": {"type": "oauth", "access": "a1", "refresh": "r1", "expires": 1, "note": "kept"}});
    fs::create_dir(home.path().join("agent")).unwrap();
    home.write("agent/auth.json", stored.to_string());
    home
}

fn stored(home: &TempHome) -> Value {
    let file: Value = serde_json::from_str(&home.read("agent/auth.json")).unwrap();
    file["xai"].clone()
}

fn tokens(number: u32) -> String {
    json!({
        "access_token": format!("a{number}"),
        "refresh_token": format!("r{number}"),
        "expires_in": 3600,
    })
    .to_string()
}

fn refusal() -> ScriptedReply {
    ScriptedReply::full(400, &[], json!({"error": "invalid_grant"}).to_string())
}

/// Backdates a lock, as if its holder had crashed.
fn age(lock: &Path, seconds: u64) {
    let then = SystemTime::now() - Duration::from_secs(seconds);
    fs::File::open(lock).unwrap().set_modified(then).unwrap();
}

#[tokio::test]
async fn racing_processes_share_one_refresh() {
    let home = home_with_expired_sign_in();
    let length = tokens(2).len().to_string();
    let service = ScriptedServer::start([
        ScriptedReply::new()
            .gate("exchange")
            .head(200, &[("content-length", &length)])
            .chunk(tokens(2)),
        // A second refresh would be rejected, because the token is used up.
        refusal(),
        refusal(),
    ])
    .await;
    let mut racers: Vec<Child> = (0..3)
        .map(|_| start("renew", &home, &service.url()))
        .collect();
    for racer in &mut racers {
        wait_for_line(racer, "READY").await;
    }
    service.wait_for_gate("exchange").await;
    service.open_gate("exchange");
    for racer in racers {
        assert_eq!(result_of(racer).await, "a2");
    }
    assert_eq!(service.requests().len(), 1);
    let body = String::from_utf8(service.wait_for_request(0).await.body).unwrap();
    assert!(body.contains("refresh_token=r1"), "{body}");
    let stored = stored(&home);
    assert_eq!(
        (&stored["access"], &stored["refresh"], &stored["note"]),
        (&json!("a2"), &json!("r2"), &json!("kept"))
    );
    assert_eq!(stored.get("refreshStartedAt"), None);
    assert!(!home.path().join("agent/auth.json.lock").exists());
}

#[tokio::test]
async fn concurrent_sign_ins_and_refresh_are_all_saved() {
    let home = home_with_expired_sign_in();
    let renewing = ScriptedServer::start([ScriptedReply::full(200, &[], tokens(2))]).await;
    let device = json!({
        "device_code": "d", "user_code": "u", "verification_uri": "https://example.com",
        "interval": 1, "expires_in": 60,
    });
    let services: Vec<ScriptedServer> = futures_util::future::join_all((0..3).map(|number| {
        let replies = [device.to_string(), tokens(10 + number)];
        ScriptedServer::start(replies.map(|body| ScriptedReply::full(200, &[], body)))
    }))
    .await;
    let signing_in: Vec<Child> = services
        .iter()
        .map(|service| start("sign_in", &home, &service.url()))
        .collect();
    let renewal = start("renew", &home, &renewing.url());
    assert_eq!(result_of(renewal).await, "a2");
    let mut providers = Vec::new();
    for process in signing_in {
        providers.push(result_of(process).await);
    }
    let file: Value = serde_json::from_str(&home.read("agent/auth.json")).unwrap();
    assert_eq!(file.as_object().unwrap().len(), 4, "{file}");
    assert_eq!(file["xai"]["refresh"], "r2");
    for provider in providers {
        assert!(file[&provider]["refresh"].is_string(), "{provider}: {file}");
    }
    assert!(!home.path().join("agent/auth.json.lock").exists());
}

#[tokio::test]
async fn crash_between_exchange_and_save_is_reported() {
    let home = home_with_expired_sign_in();
    let service =
        ScriptedServer::start([ScriptedReply::new().gate("spent").stall(), refusal()]).await;
    let mut victim = start("renew", &home, &service.url());
    // The service has consumed the token; its response is still pending.
    service.wait_for_gate("spent").await;
    victim.kill().await.unwrap();

    let left = stored(&home);
    assert_eq!(left["refresh"], "r1", "what is known is still stored");
    assert!(left["refreshStartedAt"].is_number(), "and marked as sent");
    let lock = home.path().join("agent/auth.json.lock");
    assert!(lock.is_dir(), "the lock is left behind too");
    age(&lock, 31);

    let result = result_of(start("renew", &home, &service.url())).await;
    assert_eq!(
        result,
        "cannot refresh the OAuth token for xai: token refresh rejected (HTTP 400): invalid_grant; \
         an earlier refresh was interrupted before its result was saved, sign in again"
    );
    assert_eq!(stored(&home)["refresh"], "r1", "nothing is deleted");
    assert!(!lock.exists());
}

#[tokio::test]
async fn crash_before_the_exchange_is_harmless() {
    let home = home_with_expired_sign_in();
    let service = ScriptedServer::start([
        ScriptedReply::new().gate("lost").stall(),
        ScriptedReply::full(200, &[], tokens(2)),
    ])
    .await;
    let mut victim = start("renew", &home, &service.url());
    service.wait_for_gate("lost").await;
    victim.kill().await.unwrap();
    age(&home.path().join("agent/auth.json.lock"), 31);
    assert_eq!(result_of(start("renew", &home, &service.url())).await, "a2");
    let stored = stored(&home);
    assert_eq!(stored["refresh"], "r2");
    assert_eq!(stored.get("refreshStartedAt"), None);
}

#[tokio::test]
async fn credentials_are_private_with_any_umask() {
    let home = TempHome::new();
    assert_eq!(
        result_of(start("create_without_umask", &home, "")).await,
        "done"
    );
    let mode = |path: &str| {
        let metadata = fs::metadata(home.path().join(path)).unwrap();
        metadata.permissions().mode() & 0o7777
    };
    assert_eq!(mode("agent"), 0o700);
    assert_eq!(mode("agent/auth.json"), 0o600);
    // Another program may have created the file.
    let shared = fs::Permissions::from_mode(0o644);
    fs::set_permissions(home.path().join("agent/auth.json"), shared).unwrap();
    let again = result_of(start("create_without_umask", &home, "")).await;
    assert_eq!((again.as_str(), mode("agent/auth.json")), ("done", 0o600));
}
