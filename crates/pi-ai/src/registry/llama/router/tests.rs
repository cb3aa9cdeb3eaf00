//! A router on the loopback interface that keeps models as llama.cpp's does.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use pretty_assertions::assert_eq;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::*;
use crate::registry::ModelsOptions;

/// What the fake knows of its models, and what it was asked.
#[derive(Default)]
struct Knowledge {
    states: BTreeMap<String, &'static str>,
    failing: Vec<String>,
    asked: Vec<String>,
}

struct FakeRouter {
    address: String,
    knowledge: Arc<Mutex<Knowledge>>,
    events: watch::Sender<String>,
    _serving: JoinSet<()>,
}

impl FakeRouter {
    async fn start(models: &[(&str, &'static str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let states = models
            .iter()
            .map(|(id, state)| ((*id).to_owned(), *state))
            .collect();
        let knowledge = Arc::new(Mutex::new(Knowledge {
            states,
            ..Knowledge::default()
        }));
        let (events, _) = watch::channel(String::new());
        let mut serving = JoinSet::new();
        let (known, told) = (Arc::clone(&knowledge), events.clone());
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, Arc::clone(&known), told.clone()));
            }
        });
        Self {
            address,
            knowledge,
            events,
            _serving: serving,
        }
    }

    fn tell(&self, model: &str, event: &str, data: &Value) {
        let text = json!({"model": model, "event": event, "data": data});
        self.events.send_replace(format!("data: {text}\n\n"));
    }

    fn set(&self, model: &str, state: &'static str) {
        let mut knowledge = self.knowledge.lock().unwrap();
        knowledge.states.insert(model.to_owned(), state);
    }

    fn asked(&self) -> Vec<String> {
        self.knowledge.lock().unwrap().asked.clone()
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
    knowledge: Arc<Mutex<Knowledge>>,
    events: watch::Sender<String>,
) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    // The client's requests are short: head and body fit into a few packets.
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
        let (status, answer) = answer(&line, &body, &knowledge);
        let answer = answer.to_string();
        let reply = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{answer}",
            answer.len()
        );
        stream.write_all(reply.as_bytes()).await.ok();
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

fn answer(line: &str, body: &Value, knowledge: &Mutex<Knowledge>) -> (u16, Value) {
    let mut knowledge = knowledge.lock().unwrap();
    let model = body["model"].as_str().unwrap_or_default().to_owned();
    if !model.is_empty() {
        knowledge.asked.push(format!("{line} {model}"));
    }
    let known = knowledge.states.contains_key(&model);
    match line {
        "GET /models" | "GET /models?reload=1" => {
            let failing = knowledge.failing.clone();
            let data = knowledge.states.iter().map(|(id, state)| {
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
            let failing = knowledge.failing.contains(&model);
            let state = if failing { "unloaded" } else { "loading" };
            knowledge.states.insert(model, state);
            (200, json!({"success": true}))
        }
        "POST /models/unload" => {
            knowledge.states.insert(model, "unloaded");
            (200, json!({"success": true}))
        }
        "POST /models" => {
            knowledge.states.insert(model, "downloading");
            (200, json!({"success": true}))
        }
        _ => (404, json!({"error": {"message": "no such page"}})),
    }
}

#[tokio::test]
async fn models_are_listed_with_what_they_do() {
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
async fn a_load_tells_how_far_it_is_and_ends_with_the_model() {
    let fake = FakeRouter::start(&[("a", "unloaded")]).await;
    let router = fake.router().await;
    let told = Mutex::new(Vec::new());
    let cancel = CancellationToken::new();
    let progress = |progress: LlamaProgress| {
        let is_half = progress.share == Some(0.75);
        told.lock().unwrap().push(progress.message);
        if is_half {
            fake.set("a", "loaded");
            fake.tell("a", "model_status", &json!({"status": "loaded"}));
        } else {
            let stages =
                json!({"stages": ["read_file", "warm_up"], "current": "warm_up", "value": 0.5});
            fake.tell(
                "a",
                "model_status",
                &json!({"status": "loading", "progress": stages}),
            );
        }
    };
    router.load("a", progress, &cancel).await.unwrap();
    assert_eq!(
        *told.lock().unwrap(),
        ["Loading the model", "Loading warm up"]
    );
    router.unload("a", &cancel).await.unwrap();
    assert_eq!(
        fake.asked(),
        ["POST /models/load a", "POST /models/unload a"]
    );
}

#[tokio::test]
async fn failures_are_told_in_the_servers_words() {
    let fake = FakeRouter::start(&[("a", "unloaded")]).await;
    fake.knowledge.lock().unwrap().failing.push("a".to_owned());
    let router = fake.router().await;
    let cancel = CancellationToken::new();
    let error = router.load("a", |_| {}, &cancel).await.unwrap_err();
    assert!(error.message.contains("ended with code 1"), "{error}");
    let error = router.load("nobody", |_| {}, &cancel).await.unwrap_err();
    assert_eq!(error.message, "model not found");
}

#[tokio::test]
async fn a_download_ends_when_the_server_says_so() {
    let fake = FakeRouter::start(&[]).await;
    let router = fake.router().await;
    let cancel = CancellationToken::new();
    let shares = Mutex::new(Vec::new());
    let progress = |progress: LlamaProgress| {
        shares.lock().unwrap().push(progress.share);
        if progress.share.is_none() {
            let files = json!({"one.gguf": {"done": 1 << 20, "total": 4 << 20}});
            fake.tell("o/r:Q4", "download_progress", &json!({ "progress": files }));
        } else {
            fake.set("o/r:Q4", "unloaded");
            fake.tell("o/r:Q4", "download_finished", &json!({}));
        }
    };
    router.download("o/r:Q4", progress, &cancel).await.unwrap();
    assert_eq!(*shares.lock().unwrap(), [None, Some(0.25)]);
}

#[tokio::test]
async fn giving_up_ends_the_wait() {
    let fake = FakeRouter::start(&[("a", "unloaded")]).await;
    let router = fake.router().await;
    let cancel = CancellationToken::new();
    let stop = |_| cancel.cancel();
    let error = router.load("a", stop, &cancel).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Aborted);
    router.give_up("a").await.unwrap();
    assert_eq!(fake.asked().last().unwrap(), "POST /models/unload a");
}

#[tokio::test]
async fn what_is_no_router_is_named() {
    let list = json!({"data": [{"id": "single"}]}).to_string();
    let server = pi_test_support::ScriptedServer::start([
        pi_test_support::ScriptedReply::full(200, &[], list),
        pi_test_support::ScriptedReply::full(200, &[], "hello"),
        pi_test_support::ScriptedReply::full(401, &[], r#"{"error":{"message":"Invalid API Key"}}"#),
    ])
    .await;
    let models = Models::new(ModelsOptions {
        env: Env::fixed([(env_vars::LLAMA_BASE_URL, server.url())]),
        ..ModelsOptions::default()
    });
    let router = models.llama_router().await.unwrap().unwrap();
    for expected in [
        "not in router mode",
        "does not list models",
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
