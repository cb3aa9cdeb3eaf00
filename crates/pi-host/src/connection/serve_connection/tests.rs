//! Several clients of one session.

use std::sync::Arc;

use pi_config::{AgentDir, SettingsStore};
use pi_env::Env;
use pi_protocol::settings::Settings;
use pi_protocol::{AssistantBlock, Request, RequestKind};
use pi_providers::{FauxProvider, FauxResponse, Models, ModelsOptions, Registration};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;

use super::*;
use crate::connection::session_feed::FeedLine;
use crate::{Host, HostOptions, Prompt, SessionChoice, SessionOptions};

async fn open(faux: FauxProvider) -> SessionHandle {
    let env = Env::fixed::<&str, &str>([]);
    let models = Models::new(ModelsOptions {
        env: env.clone(),
        ..ModelsOptions::default()
    });
    let provider = Registration::Provider(Arc::new(faux));
    models.register("faux", provider).unwrap();
    let agent_dir = AgentDir::at(std::env::temp_dir().join("no-agent"));
    let host = Host::new(HostOptions {
        settings: Some(SettingsStore::in_memory(Settings::default())),
        model_collection: Some(models),
        offline: true,
        ..HostOptions::new(agent_dir, env)
    });
    let session = SessionOptions {
        session: SessionChoice::InMemory { id: None },
        ..SessionOptions::new(std::env::temp_dir())
    };
    host.open(session).await.unwrap()
}

struct Client {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    input: WriteHalf<DuplexStream>,
    serving: JoinHandle<ConnectionEnd>,
}

impl Client {
    fn connect(handle: &SessionHandle, options: ConnectionOptions) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(theirs);
        let serving = serve_connection(handle.clone(), reader, LineWriter::start(writer), options);
        let (reader, input) = tokio::io::split(ours);
        Self {
            lines: BufReader::new(reader).lines(),
            input,
            serving: tokio::spawn(serving),
        }
    }

    async fn greeted(handle: &SessionHandle, hello: Value) -> (Self, Value) {
        let mut client = Self::connect(handle, ConnectionOptions::default());
        let mut line = json!({"type": "hello", "protocol": 1});
        line.as_object_mut()
            .unwrap()
            .extend(hello.as_object().unwrap().clone());
        client.send(line).await;
        let response = client.read().await;
        assert_eq!(response["success"], true, "{response}");
        let first = client.read().await;
        (client, first)
    }

    async fn send(&mut self, command: Value) {
        let line = format!("{command}\n");
        self.input.write_all(line.as_bytes()).await.unwrap();
    }

    async fn read(&mut self) -> Value {
        let line = self.lines.next_line().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    async fn read_until(&mut self, kind: &str) -> Value {
        loop {
            let line = self.read().await;
            if line["type"] == kind {
                return line;
            }
        }
    }
}

#[tokio::test]
async fn clients_see_the_same_session_and_each_may_send() {
    let handle = open(FauxProvider::echo()).await;
    let (mut first, snapshot) = Client::greeted(&handle, json!({})).await;
    assert_eq!(snapshot["type"], "snapshot");
    assert_eq!(snapshot["session"], handle.id());
    assert_eq!(snapshot["status"]["kind"], "idle");
    let (mut second, _) = Client::greeted(&handle, json!({})).await;
    // Without `hello`, the lines are those of the TypeScript pi.
    let mut plain = Client::connect(&handle, ConnectionOptions::default());
    plain.send(json!({"id": 7, "type": "get_state"})).await;
    assert_eq!(plain.read().await["id"], 7);

    second
        .send(json!({"id": 1, "type": "prompt", "message": "hi"}))
        .await;
    assert_eq!(second.read().await["type"], "response");
    for client in [&mut first, &mut second] {
        let end = client.read_until("message_end").await;
        assert!(end["entryId"].is_string(), "{end}");
        client.read_until("agent_settled").await;
    }
    assert_eq!(plain.read().await["type"], "agent_start");
    let end = plain.read_until("message_end").await;
    assert_eq!(end.get("entryId"), None);
    plain.read_until("agent_settled").await;

    drop(first.input);
    drop(first.lines);
    assert_eq!(first.serving.await.unwrap(), ConnectionEnd::InputEnded);
    handle.runtime().shutdown().await;
    assert_eq!(second.serving.await.unwrap(), ConnectionEnd::SessionClosed);
}

#[tokio::test]
async fn the_first_answer_wins_and_the_others_are_notified() {
    let handle = open(FauxProvider::echo()).await;
    let (mut first, _) = Client::greeted(&handle, json!({})).await;
    let (mut second, _) = Client::greeted(&handle, json!({})).await;
    let request = Request {
        id: RequestId("q".to_owned()),
        call: None,
        kind: RequestKind::Confirm {
            title: "t".to_owned(),
            message: "m".to_owned(),
            timeout: None,
        },
    };
    let session = handle.session();
    let answer = session.requests().ask(
        request,
        Box::new(|| Box::pin(std::future::pending::<Answer>())),
    );
    for client in [&mut first, &mut second] {
        assert_eq!(
            client.read().await,
            json!({"type": "extension_ui_request", "id": "q", "method": "confirm", "title": "t", "message": "m"})
        );
    }
    // A client that connects later sees it in the snapshot, one of the TypeScript pi as a line.
    let (_, snapshot) = Client::greeted(&handle, json!({})).await;
    assert_eq!(snapshot["pending"][0]["id"], "q");
    let mut plain = Client::connect(
        &handle,
        ConnectionOptions {
            start: FeedStart::Immediate,
            ..ConnectionOptions::default()
        },
    );
    assert_eq!(plain.read().await["type"], "extension_ui_request");

    second
        .send(json!({"type": "extension_ui_response", "id": "q", "confirmed": true}))
        .await;
    assert_eq!(answer.await, Answer::Confirmed { confirmed: true });
    for client in [&mut first, &mut second, &mut plain] {
        assert_eq!(
            client.read().await,
            json!({"type": "request_resolved", "request": "q", "answer": {"type": "confirmed", "confirmed": true}})
        );
    }
    first
        .send(json!({"type": "answer", "request": "q", "answer": {"type": "cancelled"}}))
        .await;
    assert_eq!(first.read().await["success"], false);
}

#[tokio::test]
async fn a_client_that_may_only_view_cannot_change_the_session() {
    let handle = open(FauxProvider::echo()).await;
    let (mut client, _) = Client::greeted(&handle, json!({"right": "view"})).await;
    client
        .send(json!({"id": 1, "type": "prompt", "message": "hi"}))
        .await;
    let response = client.read().await;
    assert_eq!(response["success"], false);
    client.send(json!({"id": 2, "type": "get_state"})).await;
    assert_eq!(client.read().await["success"], true);
    // `hello` cannot extend what the connection allows.
    client
        .send(json!({"type": "hello", "right": "control"}))
        .await;
    client.read_until("snapshot").await;
    client
        .send(json!({"id": 3, "type": "set_session_name", "name": "n"}))
        .await;
    assert_eq!(client.read().await["success"], false);
    assert_eq!(handle.session().session_name(), None);
}

#[tokio::test]
async fn a_client_resumes_at_its_cursor_and_an_unknown_one_gets_a_snapshot() {
    let handle = open(FauxProvider::echo()).await;
    let mut feed = SessionFeed::new(handle.clone(), FeedOptions::default());
    let Some(FeedLine::Snapshot { cursor, .. }) = feed.next().await else {
        panic!("no snapshot");
    };
    handle.session().prompt(Prompt::text("hi")).await.unwrap();
    handle.session().wait_for_idle().await;
    let since = json!({"since": cursor.to_string()});
    let (mut client, first) = Client::greeted(&handle, since).await;
    assert_eq!(first["type"], "agent_start");
    client.read_until("agent_settled").await;
    for other in ["1-1", "x"] {
        let (_, first) = Client::greeted(&handle, json!({"since": other})).await;
        assert_eq!(first["type"], "snapshot", "{other}");
        assert_eq!(first["messageCount"], 3);
    }
}

#[tokio::test]
async fn a_client_follows_the_session_that_replaces_its_own() {
    let handle = open(FauxProvider::echo()).await;
    let (mut client, first) = Client::greeted(&handle, json!({})).await;
    client.send(json!({"id": 1, "type": "new_session"})).await;
    let replaced = client.read_until("session_replaced").await;
    let snapshot = client.read_until("snapshot").await;
    assert_eq!(snapshot["session"], replaced["session"]);
    assert_ne!(snapshot["session"], first["session"]);
}

/// What a client knows of the conversation: the messages, and the response that is being streamed.
#[derive(Default)]
struct Folded {
    cursor: Option<Cursor>,
    /// Entry IDs and texts.
    messages: Vec<(String, String)>,
    growing: Option<Vec<String>>,
    snapshots: usize,
    /// Whether the run is over.
    has_ended: bool,
}

impl Folded {
    fn apply(&mut self, line: &FeedLine) {
        let value: Value = serde_json::from_str(line.json()).unwrap();
        match line {
            FeedLine::Snapshot { cursor, .. } => {
                self.cursor = Some(*cursor);
                self.snapshots += 1;
                let entries = value["entries"].as_array().unwrap().iter();
                self.messages = entries
                    .filter(|entry| entry["type"] == "message")
                    .map(|entry| {
                        let id = entry["id"].as_str().unwrap().to_owned();
                        (id, text_of(&entry["message"]).concat())
                    })
                    .collect();
                self.growing = value.get("message").map(text_of);
                let is_idle = value["status"]["kind"] == "idle";
                // The status may be newer than the cursor; the end of the response follows then.
                self.has_ended = is_idle && self.growing.is_none() && !self.messages.is_empty();
            }
            FeedLine::Event { cursor, .. } => {
                self.cursor = Some(*cursor);
                self.apply_event(&value);
            }
            FeedLine::Notice { .. } => {}
        }
    }

    fn apply_event(&mut self, event: &Value) {
        match event["type"].as_str().unwrap() {
            "message_start" if event["message"]["role"] == "assistant" => {
                self.growing = Some(Vec::new());
            }
            "message_update" => {
                let update = &event["assistantMessageEvent"];
                let growing = self.growing.get_or_insert_default();
                let Some(index) = update["contentIndex"].as_u64() else {
                    return;
                };
                let index = usize::try_from(index).unwrap();
                growing.resize(growing.len().max(index + 1), String::new());
                match update["type"].as_str().unwrap() {
                    "text_delta" | "thinking_delta" => {
                        growing[index].push_str(update["delta"].as_str().unwrap());
                    }
                    // The end repeats the block: every delta has arrived exactly once.
                    "text_end" | "thinking_end" => assert_eq!(growing[index], update["content"]),
                    _ => {}
                }
            }
            "message_end" => {
                let id = event["entryId"].as_str().unwrap();
                if event["message"]["role"] == "assistant" {
                    self.growing = None;
                }
                if self.messages.iter().all(|(known, _)| known != id) {
                    let text = text_of(&event["message"]).concat();
                    self.messages.push((id.to_owned(), text));
                }
            }
            "agent_settled" => self.has_ended = true,
            _ => {}
        }
    }
}

fn text_of(message: &Value) -> Vec<String> {
    let Some(blocks) = message["content"].as_array() else {
        return vec![message["content"].as_str().unwrap_or_default().to_owned()];
    };
    let texts = blocks.iter().map(|block| {
        let text = block.get("text").or_else(|| block.get("thinking"));
        text.and_then(Value::as_str).unwrap_or_default().to_owned()
    });
    texts.collect()
}

/// Disconnects three observers `disconnects` times while the model streams `deltas`; each ends with the state of the
/// session.
async fn observers_catch_up(deltas: usize, disconnects: usize) {
    let faux = FauxProvider::new().with_chunk_size(1..=1);
    let long = "aé𝄞 word\n".repeat(deltas / 18);
    faux.push(FauxResponse::thinking(long.clone()).then_text(long));
    let handle = open(faux).await;
    let session = handle.session();
    let observing = (0..3_usize).map(|observer| {
        let handle = handle.clone();
        tokio::spawn(async move {
            // A cheap generator, so that a failure is reproducible as far as scheduling is.
            let mut random = 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(observer as u64 + 1);
            let mut folded = Folded::default();
            for disconnect in 0..=disconnects {
                let mut feed = SessionFeed::new(
                    handle.clone(),
                    FeedOptions {
                        since: folded.cursor,
                        entries: Some(EntryRange::Before {
                            entry: None,
                            limit: 100,
                        }),
                        ..FeedOptions::default()
                    },
                );
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let is_last = disconnect == disconnects;
                let lines = if is_last { u64::MAX } else { random % 200 };
                for _ in 0..lines {
                    let line = feed.next().await.unwrap();
                    folded.apply(&line);
                    if folded.has_ended {
                        return folded;
                    }
                }
                drop(feed);
                // Long enough, sometimes, to fall out of the log.
                for _ in 0..random % 1500 {
                    tokio::task::yield_now().await;
                }
            }
            folded
        })
    });
    let observing: Vec<_> = observing.collect();
    tokio::task::yield_now().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    session.wait_for_idle().await;
    let expected: Vec<(String, String)> = session
        .history()
        .entries_since(None)
        .unwrap()
        .entries
        .iter()
        .map(|entry| serde_json::to_value(entry).unwrap())
        .filter(|entry| entry["type"] == "message")
        .map(|entry| {
            let id = entry["id"].as_str().unwrap().to_owned();
            (id, text_of(&entry["message"]).concat())
        })
        .collect();
    assert!(expected.len() >= 2);
    for observer in observing {
        let folded = observer.await.unwrap();
        assert_eq!(folded.messages, expected);
        assert_eq!(folded.growing, None);
        assert!(folded.snapshots >= 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn observers_that_disconnect_lose_nothing_and_see_nothing_twice() {
    Box::pin(observers_catch_up(4_000, 40)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "slow; run with --ignored"]
async fn observers_catch_up_after_two_hundred_disconnects() {
    Box::pin(observers_catch_up(20_000, 200)).await;
}

#[tokio::test]
async fn clients_of_the_typescript_pi_receive_every_piece() {
    let faux = FauxProvider::new().with_chunk_size(1..=3);
    faux.push(FauxResponse::text("some text"));
    let handle = open(faux).await;
    let options = FeedOptions {
        compatible: true,
        ..FeedOptions::default()
    };
    let mut feed = SessionFeed::new(handle.clone(), options);
    handle.session().prompt(Prompt::text("go")).await.unwrap();
    handle.session().wait_for_idle().await;
    let mut pieces = Vec::new();
    while let Some(line) = feed.next().await {
        let value: Value = serde_json::from_str(line.json()).unwrap();
        let piece = value["assistantMessageEvent"]["delta"].as_str();
        pieces.extend(piece.map(str::to_owned));
        if value["type"] == "agent_settled" {
            break;
        }
    }
    assert!(pieces.len() >= "some text".len() / 3, "{pieces:?}");
    assert_eq!(pieces.concat(), "some text");
}

#[tokio::test]
async fn pieces_of_a_block_that_wait_for_a_client_are_one_line() {
    let faux = FauxProvider::new().with_chunk_size(1..=3);
    faux.push(FauxResponse::thinking("think about it").then_text("some text"));
    let handle = open(faux).await;
    let mut feed = SessionFeed::new(handle.clone(), FeedOptions::default());
    let Some(FeedLine::Snapshot {
        cursor: feed_cursor,
        ..
    }) = feed.next().await
    else {
        panic!("no snapshot");
    };
    handle.session().prompt(Prompt::text("go")).await.unwrap();
    handle.session().wait_for_idle().await;
    // Afterwards nothing grows.
    let (_, growing) = crate::session::snapshot_with_message(&handle.session());
    assert!(growing.is_none());
    let mut pieces = Vec::new();
    let mut before = feed_cursor;
    while let Some(line) = feed.next().await {
        let FeedLine::Event { cursor, json } = &line else {
            panic!("{line:?}");
        };
        let value: Value = serde_json::from_str(json).unwrap();
        let update = &value["assistantMessageEvent"];
        if let Some(piece) = update["delta"].as_str() {
            pieces.push((update["type"].clone(), piece.to_owned()));
            // The next line continues after the last of the joined pieces.
            assert!(cursor.seq > before.seq + 1, "{before} {line:?}");
        }
        before = *cursor;
        if value["type"] == "agent_settled" {
            break;
        }
    }
    let expected = [
        ("thinking_delta", "think about it"),
        ("text_delta", "some text"),
    ];
    assert_eq!(
        pieces,
        expected.map(|(kind, text)| (json!(kind), text.to_owned()))
    );
    let last = handle.session().history().messages().unwrap();
    let last = last.last().unwrap();
    let pi_protocol::AgentMessage::Assistant(last) = &**last else {
        panic!("{last:?}");
    };
    let texts: Vec<_> = last
        .content
        .iter()
        .filter_map(AssistantBlock::as_text)
        .collect();
    assert_eq!(texts, ["some text"]);
}
