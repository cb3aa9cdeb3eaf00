//! Every sign-in from the first question to the stored credential, against a loopback service, with
//! the requests it makes.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a set-up that fails must fail the test at once"
)]

mod browser_flows;
mod device_flows;
mod failures;
mod github_copilot;
mod person;
mod recorded;

use pi_ai::{Env, HttpClient, OAuthContext};
use serde_json::Value;

/// The time at which all these sign-ins take place.
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

/// Returns a credential as `auth.json` would hold it.
fn stored(credential: pi_ai::OAuthCredential) -> Value {
    serde_json::to_value(pi_ai::Credential::OAuth(credential)).unwrap()
}
