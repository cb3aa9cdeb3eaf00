//! The trace of a run. CI runs this file twice: with and without the feature `otel`, which exports spans.

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::fixture::{Fixture, describe};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// Returns the fields of a task that stores the trace context of its command.
fn traced() -> serde_json::Value {
    json!({
        "traceparent": format!("00-{TRACE}-{PARENT}-01"),
        "verify": "echo \"$TRACEPARENT$OTEL_EXPORTER_OTLP_HEADERS\" > context", "artifacts": ["context"],
    })
}

#[tokio::test]
async fn the_trace_context_of_a_task_reaches_its_processes() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let tasks = fixture.tasks(&["once-a".to_owned()], &traced());
    let output = fixture.run(&tasks, &[]).output().await.unwrap();
    assert!(output.status.success(), "{}", describe(&output));
    let context = fixture.home.path().join("agent/fleet/batches/b/artifacts");
    let context = std::fs::read_to_string(context.join("once-a/context")).unwrap();
    assert_eq!(context, format!("00-{TRACE}-{PARENT}-01\n"));
}

#[cfg(feature = "otel")]
mod exported {
    use std::sync::{Arc, Mutex};

    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
    use tokio::net::{TcpListener, TcpStream};

    use super::{PARENT, TRACE, traced};
    use crate::fixture::{Fixture, describe};

    /// A request: its head in lower case, and its body.
    type Request = (String, Vec<u8>);

    /// An OTLP receiver on the loopback interface.
    struct Receiver {
        url: String,
        requests: Arc<Mutex<Vec<Request>>>,
    }

    impl Receiver {
        async fn start() -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}", listener.local_addr().unwrap());
            let requests = Arc::<Mutex<Vec<Request>>>::default();
            let received = Arc::clone(&requests);
            tokio::spawn(async move {
                while let Ok((socket, _)) = listener.accept().await {
                    let received = Arc::clone(&received);
                    tokio::spawn(async move { receive(socket, &received).await.ok() });
                }
            });
            Self { url, requests }
        }

        /// Returns the spans that were sent as JSON.
        fn spans(&self) -> Vec<Value> {
            let mut spans = Vec::new();
            for (_, body) in self.requests.lock().unwrap().iter() {
                let body: Value = serde_json::from_slice(body).unwrap();
                for resource in body["resourceSpans"].as_array().unwrap() {
                    let attributes = &resource["resource"];
                    assert_eq!(attribute(attributes, "service.name"), json!("pi-fleet"));
                    assert_eq!(attribute(attributes, "team"), json!("x"));
                    for scope in resource["scopeSpans"].as_array().unwrap() {
                        spans.extend(scope["spans"].as_array().unwrap().clone());
                    }
                }
            }
            spans
        }
    }

    async fn receive(socket: TcpStream, received: &Mutex<Vec<Request>>) -> std::io::Result<()> {
        let mut socket = BufReader::new(socket);
        loop {
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                if socket.read_line(&mut line).await? == 0 {
                    return Ok(());
                }
                let line = line.to_ascii_lowercase();
                if let Some(value) = line.strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
                head.push_str(&line);
            }
            let mut body = vec![0; length];
            socket.read_exact(&mut body).await?;
            let is_json = head.contains("content-type: application/json");
            received.lock().unwrap().push((head, body));
            let (kind, body) = if is_json {
                ("json", "{}")
            } else {
                ("x-protobuf", "")
            };
            let reply = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/{kind}\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            socket.write_all(reply.as_bytes()).await?;
        }
    }

    fn attribute(owner: &Value, name: &str) -> Value {
        let attributes = owner["attributes"].as_array().unwrap();
        let found = attributes.iter().find(|one| one["key"] == name);
        let value = found.and_then(|one| one["value"].as_object());
        let value = value.and_then(|value| value.values().next());
        value.cloned().unwrap_or_default()
    }

    #[tokio::test]
    async fn the_spans_of_a_run_are_exported() {
        let Some(fixture) = Fixture::new().await else {
            return;
        };
        let receiver = Receiver::start().await;
        let tasks = fixture.tasks(&["traced".to_owned()], &traced());
        let mut command = fixture.run(&tasks, &[]);
        command
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", &receiver.url)
            .env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
            .env("OTEL_EXPORTER_OTLP_HEADERS", "x-key=secret")
            .env("OTEL_RESOURCE_ATTRIBUTES", "team=x");
        let output = command.output().await.unwrap();
        assert!(output.status.success(), "{}", describe(&output));
        assert!(
            !describe(&output).contains("warning"),
            "{}",
            describe(&output)
        );
        for (head, _) in receiver.requests.lock().unwrap().iter() {
            assert!(head.starts_with("post /v1/traces"), "{head}");
            assert!(head.contains("x-key: secret"), "{head}");
        }
        let spans = receiver.spans();
        assert!(spans.iter().all(|span| span["traceId"] == TRACE));
        let named = |name: &str| {
            let named = spans.iter().filter(|span| span["name"] == name);
            named.collect::<Vec<_>>()
        };
        let run = named("invoke_agent pi");
        assert_eq!(run.len(), 1);
        let run = run[0];
        assert_eq!(run["parentSpanId"], PARENT);
        assert_eq!(attribute(run, "pi.fleet.status"), "done");
        assert_eq!(attribute(run, "gen_ai.conversation.id"), "traced");
        let turns = named("turn");
        assert!(
            turns
                .iter()
                .all(|turn| turn["parentSpanId"] == run["spanId"])
        );
        let requests = named("chat alpha");
        let calls: Vec<_> = ["write", "bash", "read"]
            .iter()
            .flat_map(|tool| named(&format!("execute_tool {tool}")))
            .collect();
        assert_eq!((turns.len(), requests.len(), calls.len()), (4, 4, 4));
        for span in requests.iter().chain(&calls) {
            let parent = |turn: &&&Value| turn["spanId"] == span["parentSpanId"];
            assert_eq!(turns.iter().filter(parent).count(), 1, "{span}");
            let time = |name: &str| span[name].as_str().unwrap().parse::<u64>().unwrap();
            assert!(time("startTimeUnixNano") <= time("endTimeUnixNano"));
        }
        for request in requests {
            assert_eq!(attribute(request, "gen_ai.provider.name"), "mock");
            assert_eq!(attribute(request, "gen_ai.usage.output_tokens"), "500");
            let reasons = attribute(request, "gen_ai.response.finish_reasons");
            let reason = reasons["values"][0]["stringValue"].as_str();
            assert!(matches!(reason, Some("tool_calls" | "stop")), "{request}");
        }
        // Commands are part of the span of the run, and have no credentials of the receiver.
        let context = fixture.batch().join("artifacts/traced/context");
        let context = std::fs::read_to_string(context).unwrap();
        let run = run["spanId"].as_str().unwrap();
        assert_eq!(context, format!("00-{TRACE}-{run}-01\n"));
    }

    #[tokio::test]
    async fn spans_are_protobuf_by_default_and_a_missing_receiver_stops_nothing() {
        let Some(fixture) = Fixture::new().await else {
            return;
        };
        let receiver = Receiver::start().await;
        let tasks = fixture.tasks(&["once-c".to_owned()], &json!({}));
        let mut command = fixture.run(&tasks, &[]);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &receiver.url);
        command.env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
        let output = command.output().await.unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", describe(&output));
        for (task, url) in [
            ("once-a", receiver.url.as_str()),
            ("once-b", "http://127.0.0.1:1"),
        ] {
            let tasks = fixture.tasks(&[task.to_owned()], &json!({}));
            let mut command = fixture.run(&tasks, &[]);
            command.env("OTEL_EXPORTER_OTLP_ENDPOINT", url);
            command.env("OTEL_EXPORTER_OTLP_TIMEOUT", "500");
            let output = command.output().await.unwrap();
            assert!(output.status.success(), "{}", describe(&output));
            let warned = String::from_utf8_lossy(&output.stderr).contains("cannot export spans");
            assert_eq!(warned, task == "once-b", "{}", describe(&output));
        }
        let requests = receiver.requests.lock().unwrap();
        assert_eq!(requests.len(), 1);
        let (head, body) = &requests[0];
        assert!(
            head.contains("content-type: application/x-protobuf"),
            "{head}"
        );
        let has = |text: &str| body.windows(text.len()).any(|part| part == text.as_bytes());
        assert!(has("chat alpha") && has("pi.fleet.batch"));
    }
}
