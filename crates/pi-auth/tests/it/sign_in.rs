//! Every sign-in flow from the first prompt to the stored credential, against a loopback service, with
//! snapshots of its requests.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failed setup must fail the test immediately"
)]

mod browser_flows;
mod chatgpt;
mod device_flows;
mod failures;
mod federation;
mod github_copilot;
mod request_snapshot;
mod test_user;

use pi_auth::OAuthContext;
use pi_env::Env;
use pi_http::HttpClient;
use serde_json::Value;

/// The fixed time of all sign-ins.
const NOW: i64 = 1_700_000_000_000;

fn context() -> OAuthContext {
    let env = Env::fixed([("HOME", "/nowhere")]).with_clock(|| NOW);
    OAuthContext::new(HttpClient::new(), env)
}

fn json_reply(status: u16, body: &Value) -> pi_test_support::ScriptedReply {
    pi_test_support::ScriptedReply::full(
        status,
        &[("content-type", "application/json")],
        body.to_string(),
    )
}

/// Returns a credential as stored in `auth.json`.
fn stored(credential: pi_auth::OAuthCredential) -> Value {
    serde_json::to_value(pi_auth::Credential::OAuth(credential)).unwrap()
}
