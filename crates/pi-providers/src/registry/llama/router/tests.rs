//! Tests against a fake llama.cpp router on the loopback interface.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use pi_protocol::LlamaProgress;
use pretty_assertions::assert_eq;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::*;
use crate::registry::ModelsOptions;

/// The fake router's models and the requests it received.
#[derive(Default)]
struct FakeRouterState {
    models: BTreeMap<String, &'static str>,
    failing: Vec<String>,
    requests: Vec<String>,
}

struct FakeRouter {
    address: String,
    state: Arc<Mutex<FakeRouterState>>,
    events: watch::Sender<String>,
    _serving: JoinSet<()>,
}

impl FakeRouter {
    async fn start(models: &[(&str, &'static str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let models = models
            .iter()
            .map(|(id, state)| ((*id).to_owned(), *state))
            .collect();
        let state = Arc::new(Mutex::new(FakeRouterState {
            models,
            ..FakeRouterState::default()
        }));
        let (events, _) = watch::channel(String::new());
        let mut serving = JoinSet::new();
        let (shared_state, sender) = (Arc::clone(&state), events.clone());
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, Arc::clone(&shared_state), sender.clone()));
            }
        });
        Self {
            address,
            state,
            events,
            _serving: serving,
        }
    }

    fn emit(&self, model: &str, event: &str, data: &Value) {
        let text = json!({"model": model, "event": event, "data": data});
        self.events.send_replace(format!("data: {text}\n\n"));
    }

    fn set(&self, model: &str, state: &'static str) {
        let mut router = self.state.lock();
        router.models.insert(model.to_owned(), state);
    }

    fn requests(&self) -> Vec<String> {
        self.state.lock().requests.clone()
    }

    async fn router(&self) -> LlamaRouter {
        let models = Models::new(ModelsOptions {
            env: Env::fixed([
                (env_vars::LLAMA_BASE_URL, self.address.as_str()),
                (env_vars::LLAMA_API_KEY, "router-key"),
            ]),
            ..ModelsOptions::default()
        });
        models.llama_router().await.unwrap().unwrap()
    }
}

async fn serve(
    mut stream: TcpStream,
    state: Arc<Mutex<FakeRouterState>>,
    events: watch::Sender<String>,
) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    // Requests are short: head and body fit into a few packets.
    loop {
        let count = stream.read(&mut buffer).await.unwrap_or(0);
        if count == 0 {
            return;
        }
        request.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.eq_ignore_ascii_case("content-length")).then(|| value.trim().parse().unwrap())
        });
        if body.len() < length.unwrap_or(0) {
            continue;
        }
        assert!(text.contains("Bearer router-key"), "{text}");
        let mut words = head.split_whitespace();
        let line = format!("{} {}", words.next().unwrap(), words.next().unwrap());
        if line == "GET /models/sse" {
            stream_events(stream, events).await;
            return;
        }
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let (status, reply) = respond(&line, &body, &state);
        let reply = reply.to_string();
        let response = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{reply}",
            reply.len()
        );
        stream.write_all(response.as_bytes()).await.ok();
        request.clear();
    }
}

async fn stream_events(mut stream: TcpStream, events: watch::Sender<String>) {
    let mut events = events.subscribe();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    stream.write_all(head.as_bytes()).await.ok();
    loop {
        let text = events.borrow_and_update().clone();
        if stream.write_all(text.as_bytes()).await.is_err() || events.changed().await.is_err() {
            return;
        }
    }
}

fn respond(line: &str, body: &Value, router: &Mutex<FakeRouterState>) -> (u16, Value) {
    let mut router = router.lock();
    let model = body["model"].as_str().unwrap_or_default().to_owned();
    if !model.is_empty() {
        router.requests.push(format!("{line} {model}"));
    }
    let known = router.models.contains_key(&model);
    match line {
        "GET /models" | "GET /models?reload=1" => {
            let failing = router.failing.clone();
            let data = router.models.iter().map(|(id, state)| {
                let failed = failing.contains(id);
                let mut status = json!({"value": state, "args": ["llama-server", "-c", "4096"]});
                if failed && *state == "unloaded" {
                    status["failed"] = true.into();
                    status["exit_code"] = 1.into();
                }
                json!({"id": id, "object": "model", "status": status})
            });
            (
                200,
                json!({"data": data.collect::<Vec<_>>(), "object": "list"}),
            )
        }
        "POST /models/load" if !known => {
            let error =
                json!({"code": 400, "message": "model not found", "type": "invalid_request"});
            (400, json!({ "error": error }))
        }
        "POST /models/load" => {
            let failing = router.failing.contains(&model);
            let state = if failing { "unloaded" } else { "loading" };
            router.models.insert(model, state);
            (200, json!({"success": true}))
        }
        "POST /models/unload" => {
            router.models.insert(model, "unloaded");
            (200, json!({"success": true}))
        }
        "POST /models" => {
            router.models.insert(model, "downloading");
            (200, json!({"success": true}))
        }
        _ => (404, json!({"error": {"message": "no such page"}})),
    }
}

#[tokio::test]
async fn models_are_listed_with_their_state() {
    let fake = FakeRouter::start(&[("a", "loaded"), ("b", "unloaded"), ("c", "sleeping")]).await;
    let router = fake.router().await;
    assert_eq!(router.address(), fake.address);
    let models = router.models().await.unwrap();
    let facts: Vec<_> = models
        .iter()
        .map(|model| (model.id.as_str(), model.state.is_in_memory(), model.context))
        .collect();
    let length = Some(4096);
    assert_eq!(
        facts,
        [
            ("a", true, length),
            ("b", false, length),
            ("c", true, length)
        ]
    );
}

#[tokio::test]
async fn load_reports_progress_until_the_model_is_loaded() {
    let fake = FakeRouter::start(&[("a", "unloaded")]).await;
    let router = fake.router().await;
    let messages = Mutex::new(Vec::new());
    let cancel = CancellationToken::new();
    let progress = |progress: LlamaProgress| {
        let is_half = progress.fraction == Some(0.75);
        messages.lock().push(progress.message);
        if is_half {
            fake.set("a", "loaded");
            fake.emit("a", "model_status", &json!({"status": "loaded"}));
        } else {
            let stages =
                json!({"stages": ["read_file", "warm_up"], "current": "warm_up", "value": 0.5});
            fake.emit(
                "a",
                "model_status",
                &json!({"status": "loading", "progress": stages}),
            );
        }
    };
    router.load("a", progress, &cancel).await.unwrap();
    assert_eq!(*messages.lock(), ["Loading model", "Loading warm up"]);
    router.unload("a", &cancel).await.unwrap();
    assert_eq!(
        fake.requests(),
        ["POST /models/load a", "POST /models/unload a"]
    );
}

#[tokio::test]
async fn failures_carry_the_server_message() {
    let fake = FakeRouter::start(&[("a", "unloaded")]).await;
    fake.state.lock().failing.push("a".to_owned());
    let router = fake.router().await;
    let cancel = CancellationToken::new();
    let error = router.load("a", |_| {}, &cancel).await.unwrap_err();
    assert!(error.message.contains("exited with code 1"), "{error}");
    let error = router.load("unknown", |_| {}, &cancel).await.unwrap_err();
    assert_eq!(error.message, "model not found");
}

#[tokio::test]
async fn download_ends_when_the_server_finishes() {
    let fake = FakeRouter::start(&[]).await;
    let router = fake.router().await;
    let cancel = CancellationToken::new();
    let fractions = Mutex::new(Vec::new());
    let progress = |progress: LlamaProgress| {
        fractions.lock().push(progress.fraction);
        if progress.fraction.is_none() {
            let files = json!({"one.gguf": {"done": 1 << 20, "total": 4 << 20}});
            fake.emit("o/r:Q4", "download_progress", &json!({ "progress": files }));
        } else {
            fake.set("o/r:Q4", "unloaded");
            fake.emit("o/r:Q4", "download_finished", &json!({}));
        }
    };
    router.download("o/r:Q4", progress, &cancel).await.unwrap();
    assert_eq!(*fractions.lock(), [None, Some(0.25)]);
}

#[tokio::test]
async fn canceling_ends_the_wait() {
    let fake = FakeRouter::start(&[("a", "unloaded")]).await;
    let router = fake.router().await;
    let cancel = CancellationToken::new();
    let stop = |_| cancel.cancel();
    let error = router.load("a", stop, &cancel).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Aborted);
    router.cancel("a").await.unwrap();
    assert_eq!(fake.requests().last().unwrap(), "POST /models/unload a");
}

#[tokio::test]
async fn non_router_servers_are_reported() {
    let list = json!({"data": [{"id": "single"}]}).to_string();
    let server = pi_test_support::ScriptedServer::start([
        pi_test_support::ScriptedReply::full(200, &[], list),
        pi_test_support::ScriptedReply::full(200, &[], "hello"),
        pi_test_support::ScriptedReply::full(
            401,
            &[],
            r#"{"error":{"message":"Invalid API Key"}}"#,
        ),
    ])
    .await;
    let models = Models::new(ModelsOptions {
        env: Env::fixed([(env_vars::LLAMA_BASE_URL, server.url())]),
        ..ModelsOptions::default()
    });
    let router = models.llama_router().await.unwrap().unwrap();
    for expected in [
        "not in router mode",
        "does not have a llama.cpp model list",
        "Invalid API Key",
    ] {
        let error = router.models().await.unwrap_err();
        assert!(error.message.contains(expected), "{error}");
    }
    drop(server);
    let error = router.models().await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Network);
    let none = Models::new(ModelsOptions {
        env: Env::fixed::<&str, &str>([]),
        ..ModelsOptions::default()
    });
    assert!(none.llama_router().await.unwrap().is_none());
}
