//! A client over the wire.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_config::{AgentDir, SettingsStore};
use pi_core::{Decision, HookError, PendingToolCall, ReviewedToolCall};
use pi_env::Env;
use pi_host::{Host, HostOptions, Participants, SessionChoice, SessionOptions, ToolPolicy};
use pi_protocol::settings::Settings;
use pi_providers::{FauxProvider, FauxResponse, Models, ModelsOptions, Registration};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};

use super::*;

struct AskAlways;

impl ToolPolicy for AskAlways {
    fn tool_call<'a>(
        &'a self,
        call: PendingToolCall,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ReviewedToolCall, HookError>> {
        Box::pin(async move {
            Ok(ReviewedToolCall {
                decision: Decision::Ask(call.approval_request(Some("always".to_owned()))),
                arguments: call.arguments,
            })
        })
    }
}

async fn start(faux: FauxProvider, participants: Participants) -> SessionRuntime {
    start_with_tools(faux, participants, ClientTools::default()).await
}

async fn start_with_tools(
    faux: FauxProvider,
    participants: Participants,
    tools: ClientTools,
) -> SessionRuntime {
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
        participants: Arc::new(participants),
        tool_sources: vec![Arc::new(tools)],
        ..SessionOptions::new(std::env::temp_dir())
    };
    host.start(session).await.unwrap()
}

struct Client {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    input: WriteHalf<DuplexStream>,
}

impl Client {
    fn new(stream: DuplexStream) -> Self {
        let (reader, input) = tokio::io::split(stream);
        let lines = BufReader::new(reader).lines();
        Self { lines, input }
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
async fn a_client_approves_a_tool_call_and_the_run_continues() {
    let faux = FauxProvider::echo();
    faux.push(FauxResponse::tool_call(
        "bash",
        json!({"command": "echo allowed"}),
    ));
    faux.push(FauxResponse::text("done"));
    let policy = Participants::builder().tool_policy(Arc::new(AskAlways));
    let runtime = start(faux, policy.build()).await;
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(theirs);
    let writer = LineWriter::start(writer);
    let serving = tokio::spawn(serve(runtime, reader, writer, ServeOptions::default()));

    let mut client = Client::new(ours);
    client
        .send(json!({"id": 1, "type": "prompt", "message": "go"}))
        .await;
    let first = client.read().await;
    assert_eq!(
        first["type"], "response",
        "the response precedes the events"
    );
    let asked = client.read_until("approval_requested").await;
    let request = &asked["request"];
    assert_eq!(request["method"], "approval");
    assert_eq!(request["toolName"], "bash");
    assert_eq!(request["args"], json!({"command": "echo allowed"}));
    assert_eq!(request["reason"], "always");

    let answer =
        json!({"id": 2, "type": "answer", "request": request["id"], "answer": {"type": "allow"}});
    client.send(answer).await;
    let resolved = client.read_until("approval_resolved").await;
    assert_eq!(
        resolved,
        json!({"type": "approval_resolved", "request": request["id"], "answer": {"type": "allow"}})
    );
    let result = client.read_until("tool_execution_end").await;
    assert_eq!(result["isError"], false);
    client.read_until("agent_settled").await;
    client.input.shutdown().await.unwrap();
    drop(client);
    serving.await.unwrap();
}

#[tokio::test]
async fn a_client_runs_its_tools_until_the_run_is_aborted() {
    let faux = FauxProvider::echo();
    faux.push(FauxResponse::tool_call("weather", json!({"city": "Rome"})));
    faux.push(FauxResponse::tool_call("weather", json!({"city": "Oslo"})));
    let tools = ClientTools::default();
    let runtime = start_with_tools(faux, Participants::default(), tools.clone()).await;
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(theirs);
    let writer = LineWriter::start(writer);
    let options = ServeOptions {
        tools,
        ..ServeOptions::default()
    };
    let serving = tokio::spawn(serve(runtime, reader, writer, options));

    let mut client = Client::new(ours);
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let weather = json!({"name": "weather", "description": "d", "parameters": parameters});
    client
        .send(json!({"id": 1, "type": "register_tools", "tools": [weather]}))
        .await;
    assert_eq!(client.read().await["success"], true);
    client
        .send(json!({"id": 2, "type": "prompt", "message": "go"}))
        .await;
    let request = client.read_until("tool_call_request").await;
    assert_eq!(request["toolName"], "weather");
    assert_eq!(request["args"], json!({"city": "Rome"}));
    let output =
        json!({"content": [{"type": "text", "text": "sunny"}], "details": {"degrees": 20}});
    client
        .send(json!({"type": "tool_call_update", "id": request["id"], "partialResult": output}))
        .await;
    let update = client.read_until("tool_execution_update").await;
    assert_eq!(update["partialResult"]["details"]["degrees"], 20);
    client
        .send(json!({"type": "tool_call_result", "id": request["id"], "result": output}))
        .await;
    let result = client.read_until("tool_execution_end").await;
    assert_eq!(result["result"]["content"][0]["text"], "sunny");
    assert_eq!(result["isError"], false);

    let request = client.read_until("tool_call_request").await;
    client.send(json!({"id": 3, "type": "abort"})).await;
    let cancelled = client.read_until("tool_call_cancelled").await;
    assert_eq!(cancelled["id"], request["id"]);
    let settled = client.read_until("agent_settled").await;
    assert_eq!(settled["aborted"], true);
    client.input.shutdown().await.unwrap();
    drop(client);
    serving.await.unwrap();
}
