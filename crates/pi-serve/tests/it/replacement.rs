//! A session that another one replaces.

use pi_providers::FauxProvider;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::support::TestServer;

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_attaches_at_the_replacement_receives_events() {
    let server = TestServer::start(FauxProvider::echo()).await;
    for kind in ["clone", "new_session", "clone", "clone"] {
        let id = server.open_session().await;
        let (_snapshot, mut events) = server.follow(&id).await;
        let commands = format!("/v1/sessions/{id}/commands");
        let prompt = |text: &str| json!({"type": "prompt", "message": text});
        server.call("POST", &commands, &prompt("first")).await;
        events.next_of("agent_settled").await;
        let replace = json!({"type": kind});
        let replacing = server.call("POST", &commands, &replace);
        let attaching = async {
            let replaced = events.next_of("session_replaced").await;
            let next = replaced.data["session"].as_str().unwrap().to_owned();
            let (snapshot, attached) = server.follow(&next).await;
            assert_eq!(snapshot.data["session"], next.as_str(), "{kind}");
            (next, attached)
        };
        let (replaced, (next, mut attached)) = tokio::join!(replacing, attaching);
        assert_eq!(replaced.json()["success"], true, "{}", replaced.text);
        // The client that stayed and the one that came use the same session.
        let commands = format!("/v1/sessions/{next}/commands");
        server.call("POST", &commands, &prompt("second")).await;
        for events in [&mut events, &mut attached] {
            events.next_of("agent_settled").await;
        }
        let health = server.get("/v1/health").await.json();
        assert_eq!(health["sessions"], 1, "{kind}");
        server
            .call("DELETE", &format!("/v1/sessions/{next}"), &json!(null))
            .await;
    }
}
