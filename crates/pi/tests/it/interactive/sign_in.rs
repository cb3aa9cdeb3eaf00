//! Signing in on the screen, against services on the loopback: a browser with paste, a code, a key.

use pi_test_support::ScriptedReply;
use serde_json::{Value, json};

use crate::process::World;
use crate::terminal::Terminal;

fn told(body: &Value) -> ScriptedReply {
    refused(200, body)
}

fn refused(status: u16, body: &Value) -> ScriptedReply {
    let headers = [("content-type", "application/json")];
    ScriptedReply::full(status, &headers, body.to_string())
}

fn stored(world: &World) -> Value {
    let text = std::fs::read_to_string(world.home.path().join("agent/auth.json"));
    serde_json::from_str(&text.unwrap_or_default()).unwrap_or_default()
}

/// Types the command, takes the name that is completed, and sends it.
fn open_login(terminal: &Terminal, provider: &str) {
    let offered = format!("→ {provider}");
    terminal.send(format!("/login {provider}"));
    terminal.wait(&offered);
    terminal.send("\r");
    terminal.wait_gone(&offered);
    terminal.send("\r");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_that_does_not_come_back_is_helped_by_pasting() {
    let discovery = json!({"authorizationEndpoint": "http://127.0.0.1:9/authorize"});
    let tokens = json!({"access_token": "a-1", "refresh_token": "r-1", "expires_in": 3600});
    let world = World::new([told(&discovery), told(&discovery), told(&tokens)]).await;
    let gateway = [("PI_RADIUS_GATEWAY", world.server.url())];
    let gateway = gateway
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    let terminal = Terminal::start_with(&world, &[], &gateway);
    terminal.wait("alpha");
    // The first time, what is pasted says that the user refused.
    for (pasted, seen) in [
        ("http://127.0.0.1/?error=access_denied\r", "It failed"),
        ("the-code\r", "Signed in to radius"),
    ] {
        open_login(&terminal, "radius");
        terminal.wait("With an API key");
        terminal.send("\r");
        terminal.wait("Browser on this machine");
        terminal.send("\r");
        terminal.wait("9/authorize");
        terminal.wait("final URL here");
        terminal.send(pasted);
        terminal.wait(seen);
        if seen == "It failed" {
            assert_eq!(stored(&world)["radius"], Value::Null);
            terminal.send("\x1b");
            terminal.wait_gone("It failed");
        }
    }
    let exchange = String::from_utf8_lossy(&world.server.requests()[2].body).into_owned();
    assert!(exchange.contains("code=the-code"), "{exchange}");
    assert_eq!(stored(&world)["radius"]["refresh"], "r-1");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_is_shown_and_can_be_given_up_denied_and_used() {
    let device = |interval: u64| {
        json!({
            "device_code": "d", "user_code": "WDJB-MJHT", "expires_in": 600, "interval": interval,
            "verification_uri": "http://127.0.0.1:9/device",
        })
    };
    let denied = json!({"error": "access_denied", "error_description": "you said no"});
    let tokens = json!({"access_token": "a-1", "refresh_token": "r-1", "expires_in": 3600});
    let world = World::new([
        // Nobody waits for an answer to the first.
        told(&device(300)),
        told(&device(1)),
        refused(400, &denied),
        told(&device(1)),
        told(&tokens),
    ])
    .await;
    let host = world.server.url();
    let terminal = Terminal::start_with(&world, &[], &[("KIMI_CODE_OAUTH_HOST", &host)]);
    terminal.wait("alpha");
    let begin = || {
        open_login(&terminal, "kimi-coding");
        terminal.wait("With an API key");
        terminal.send("\r");
    };
    begin();
    terminal.wait("WDJB-MJHT");
    terminal.send("\x1b");
    terminal.wait_gone("WDJB-MJHT");
    begin();
    terminal.wait("It failed");
    terminal.wait("you said no");
    terminal.send("\x1b");
    terminal.wait_gone("It failed");
    begin();
    terminal.wait("Signed in to kimi-coding");
    assert_eq!(stored(&world)["kimi-coding"]["access"], "a-1");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_kept_unseen_and_deleted_again() {
    let world = World::new([]).await;
    let terminal = Terminal::start(&world, &[]);
    terminal.wait("alpha");
    open_login(&terminal, "groq");
    terminal.wait("API key of Groq");
    terminal.send("gsk_typed-by-hand");
    terminal.send("\r");
    terminal.wait("Signed in to groq");
    assert!(!terminal.screen().contains("gsk_typed"));
    assert_eq!(stored(&world)["groq"]["key"], "gsk_typed-by-hand");
    open_login(&terminal, "cloudflare-workers-ai");
    terminal.wait("Cloudflare API key:");
    terminal.send("cf-key\r");
    terminal.wait("Cloudflare account ID:");
    terminal.send("account\r");
    terminal.wait("Signed in to cloudflare-workers-ai");
    let kept = &stored(&world)["cloudflare-workers-ai"];
    assert_eq!(kept["env"]["CLOUDFLARE_ACCOUNT_ID"], "account");
    terminal.submit("/logout");
    terminal.wait("Groq");
    terminal.send("\x1b[B\r");
    terminal.wait("is deleted");
    terminal.quit();
}
