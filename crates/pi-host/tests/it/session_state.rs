//! What clients see of a session: its state, and the order of changes.

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use pi_host::{EventHook, Participants, SessionListener};
use pi_protocol::SessionEvent;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::test_env::RuntimeTestEnv;

#[derive(Default)]
struct CallOrder(Mutex<Vec<&'static str>>);

impl CallOrder {
    fn note(&self, caller: &'static str, event: &SessionEvent) -> BoxFuture<'static, ()> {
        if matches!(event, SessionEvent::SessionInfoChanged { .. }) {
            self.0.lock().unwrap().push(caller);
        }
        Box::pin(std::future::ready(()))
    }
}

impl EventHook for CallOrder {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        self.note("hook", event)
    }
}

impl SessionListener for CallOrder {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        self.note("client", event)
    }
}

#[tokio::test]
async fn hooks_see_a_new_name_before_clients() {
    let env = RuntimeTestEnv::new();
    let order = Arc::new(CallOrder::default());
    let participants = Participants::builder().events(Arc::clone(&order));
    let runtime = env
        .options()
        .with(|_, session| session.participants = Arc::new(participants.build()))
        .start()
        .await
        .unwrap();
    let listener = Arc::clone(&order) as Arc<dyn SessionListener>;
    let _subscription = runtime.session().subscribe(listener);
    runtime
        .session()
        .history()
        .set_name("a name")
        .await
        .unwrap();
    assert_eq!(*order.0.lock().unwrap(), ["hook", "client"]);
}

#[tokio::test]
async fn the_state_has_a_placeholder_if_no_model_is_available() {
    let env = RuntimeTestEnv::new();
    let runtime = env.plain_options().start().await.unwrap();
    let state = serde_json::to_value(runtime.session().status()).unwrap();
    assert_eq!(
        state["model"],
        json!({"id": "unknown", "name": "unknown", "api": "unknown", "provider": "unknown",
            "baseUrl": "", "reasoning": false, "input": [],
            "cost": {"input": 0.0, "output": 0.0, "cacheRead": 0.0, "cacheWrite": 0.0},
            "contextWindow": 0, "maxTokens": 0})
    );
}
