//! `/login` and `/logout` with a browser, a device code and an API key, against servers on the loopback interface.

use pi_test_support::ScriptedReply;
use serde_json::{Value, json};

use crate::harness::TestContext;
use crate::terminal::Terminal;

fn json_reply(body: &Value) -> ScriptedReply {
    json_reply_with_status(200, body)
}

fn json_reply_with_status(status: u16, body: &Value) -> ScriptedReply {
    let headers = [("content-type", "application/json")];
    ScriptedReply::full(status, &headers, body.to_string())
}

/// Returns the contents of `auth.json`.
fn stored_credentials(context: &TestContext) -> Value {
    let text = std::fs::read_to_string(context.home.path().join("agent/auth.json"));
    serde_json::from_str(&text.unwrap_or_default()).unwrap_or_default()
}

/// Types the command, accepts the completion, and submits it.
fn open_login(terminal: &Terminal, provider: &str) {
    let completion = format!("→ {provider}");
    terminal.send(format!("/login {provider}"));
    terminal.wait(&completion);
    terminal.send("\r");
    terminal.wait_gone(&completion);
}

#[tokio::test(flavor = "multi_thread")]
async fn browser_login_accepts_a_pasted_code() {
    let discovery = json!({"authorizationEndpoint": "http://127.0.0.1:9/authorize"});
    let tokens = json!({"access_token": "a-1", "refresh_token": "r-1", "expires_in": 3600});
    let context = TestContext::new([
        json_reply(&discovery),
        json_reply(&discovery),
        json_reply(&tokens),
    ])
    .await;
    let gateway = [("PI_RADIUS_GATEWAY", context.server.url())];
    let gateway = gateway
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    let terminal = Terminal::start_with(&context, &[], &gateway);
    terminal.wait("alpha");
    // The first pasted URL reports that the user denied access.
    for (pasted, shown) in [
        ("http://127.0.0.1/?error=access_denied\r", "Sign-in failed"),
        ("the-code\r", "Signed in to radius"),
    ] {
        open_login(&terminal, "radius");
        terminal.wait("API key");
        terminal.send("\r");
        terminal.wait("Browser on this machine");
        terminal.send("\r");
        terminal.wait("9/authorize");
        terminal.wait("final URL here");
        terminal.send(pasted);
        terminal.wait(shown);
        if shown == "Sign-in failed" {
            assert_eq!(stored_credentials(&context)["radius"], Value::Null);
            terminal.send("\x1b");
            terminal.wait_gone("Sign-in failed");
        }
    }
    let exchange = String::from_utf8_lossy(&context.server.requests()[2].body).into_owned();
    assert!(exchange.contains("code=the-code"), "{exchange}");
    assert_eq!(stored_credentials(&context)["radius"]["refresh"], "r-1");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn device_code_login_can_be_canceled_denied_and_completed() {
    let device = |interval: u64| {
        json!({
            "device_code": "d", "user_code": "WDJB-MJHT", "expires_in": 600, "interval": interval,
            "verification_uri": "http://127.0.0.1:9/device",
        })
    };
    let denied = json!({"error": "access_denied", "error_description": "access was denied"});
    let tokens = json!({"access_token": "a-1", "refresh_token": "r-1", "expires_in": 3600});
    let context = TestContext::new([
        // The first login is canceled before it polls.
        json_reply(&device(300)),
        json_reply(&device(1)),
        json_reply_with_status(400, &denied),
        json_reply(&device(1)),
        json_reply(&tokens),
    ])
    .await;
    let host = context.server.url();
    let terminal = Terminal::start_with(&context, &[], &[("KIMI_CODE_OAUTH_HOST", &host)]);
    terminal.wait("alpha");
    let start_login = || {
        open_login(&terminal, "kimi-coding");
        terminal.wait("API key");
        terminal.send("\r");
    };
    start_login();
    terminal.wait("WDJB-MJHT");
    terminal.send("\x1b");
    terminal.wait_gone("WDJB-MJHT");
    // Canceling a step returns to the first question.
    terminal.wait("Choose a sign-in method");
    terminal.send("\x1b");
    terminal.wait_gone("Choose a sign-in method");
    start_login();
    terminal.wait("Sign-in failed");
    terminal.wait("access was denied");
    terminal.send("\x1b");
    terminal.wait_gone("Sign-in failed");
    start_login();
    terminal.wait("Signed in to kimi-coding");
    assert_eq!(stored_credentials(&context)["kimi-coding"]["access"], "a-1");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn api_keys_are_not_shown_and_can_be_deleted() {
    let context = TestContext::new([]).await;
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    open_login(&terminal, "groq");
    terminal.wait("API key for Groq");
    terminal.send("gsk_typed-key");
    terminal.send("\r");
    terminal.wait("Signed in to groq");
    assert!(!terminal.screen().contains("gsk_typed"));
    assert_eq!(stored_credentials(&context)["groq"]["key"], "gsk_typed-key");
    open_login(&terminal, "cloudflare-workers-ai");
    terminal.wait("Cloudflare API key:");
    terminal.send("cf-key\r");
    terminal.wait("Cloudflare account ID:");
    terminal.send("account\r");
    terminal.wait("Signed in to cloudflare-workers-ai");
    let credential = &stored_credentials(&context)["cloudflare-workers-ai"];
    assert_eq!(credential["env"]["CLOUDFLARE_ACCOUNT_ID"], "account");
    terminal.submit("/logout");
    terminal.wait("Groq");
    terminal.send("\x1b[B\r");
    terminal.wait("Removed the stored credential");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_login_selects_the_default_model_of_the_provider() {
    let context = TestContext::new([]).await;
    std::fs::remove_file(context.home.path().join("agent/models.json")).unwrap();
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("/login");
    open_login(&terminal, "groq");
    terminal.wait("API key for Groq");
    terminal.send("gsk_typed-key\r");
    terminal.wait("gpt-oss-120b");
    terminal.wait("• medium");
    terminal.wait("Signed in to groq");
    terminal.quit();
}
