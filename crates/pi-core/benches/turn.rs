//! Overhead of the loop itself: one tool turn, and a long response streamed delta by delta.

#![expect(
    clippy::unwrap_used,
    reason = "a failing setup must stop the benchmark"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use pi_core::{Backend as _, Input, Tool, ToolContext, ToolError};
use pi_protocol::json::JsonObject;
use pi_protocol::{Message, Model, StopReason, Tool as ToolDeclaration, ToolCall, ToolOutput};
use pi_stream::AssistantStream;
use serde_json::json;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

#[path = "../tests/it/backend.rs"]
mod backend;

use backend::{NoHooks, TestBackend, prompt_input};

fn main() {
    divan::main();
}

struct Echo(ToolDeclaration);

impl Tool for Echo {
    fn declaration(&self) -> &ToolDeclaration {
        &self.0
    }

    fn call(
        &self,
        _cx: ToolContext,
        _arguments: JsonObject,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(ToolOutput::text("echo")) })
    }
}

fn echo() -> Arc<dyn Tool> {
    let declaration = serde_json::from_value(json!({"name": "echo", "description": "Echoes.",
        "parameters": {"type": "object", "required": ["text"],
            "properties": {"text": {"type": "string"}}}}))
    .unwrap();
    Arc::new(Echo(declaration))
}

fn model() -> Model {
    let record = json!({"id": "m", "name": "m", "api": "a", "provider": "p", "baseUrl": "",
        "reasoning": false, "input": ["text"], "cost": {}, "contextWindow": 1000, "maxTokens": 100});
    serde_json::from_value(record).unwrap()
}

/// Responds with a tool call `turns` times, then with text.
fn session(turns: usize) -> TestBackend {
    let left = AtomicUsize::new(turns);
    let model = model();
    let respond = move |_: Vec<Message>, _: CancellationToken| {
        let call = left
            .try_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(1)
            })
            .is_ok();
        AssistantStream::produce(&model, 0, move |mut writer| async move {
            if call {
                let call = ToolCall {
                    id: "1".into(),
                    name: "echo".into(),
                    ..ToolCall::default()
                };
                let block = writer.message().open_tool_call(call);
                writer
                    .message()
                    .append_arguments(block, r#"{"text": "hi"}"#);
                writer.message().close_tool_call(block);
                writer.message().stop(StopReason::ToolUse, None);
            }
            writer.complete().await;
        })
    };
    TestBackend::new(Arc::new(respond), vec![echo()], Arc::new(NoHooks))
}

async fn run(session: TestBackend) {
    let prompt = prompt_input("go".to_owned());
    drop(
        pi_core::submit(&session, Input::Prompt(prompt))
            .reply()
            .await,
    );
    session.control().wait_for_idle().await;
}

/// Many tool turns and the final response.
#[divan::bench(args = [10, 100])]
fn tool_turns(bencher: divan::Bencher, turns: usize) {
    let runtime = Runtime::new().unwrap();
    bencher
        .with_inputs(|| session(turns))
        .bench_values(|session| runtime.block_on(run(session)));
}

/// One response of many deltas; the time per delta must not grow with the length of the response.
#[divan::bench(args = [2_000, 20_000])]
fn text_deltas(bencher: divan::Bencher, deltas: usize) {
    let runtime = Runtime::new().unwrap();
    let model = model();
    let respond = Arc::new(move |_: Vec<Message>, _: CancellationToken| {
        AssistantStream::produce(&model, 0, move |mut writer| async move {
            let block = writer.message().open_text();
            for _ in 0..deltas {
                writer.message().append_text(block, "word ");
                writer.flush().await;
            }
            writer.complete().await;
        })
    });
    bencher
        .with_inputs(|| TestBackend::new(respond.clone(), Vec::new(), Arc::new(NoHooks)))
        .bench_values(|session| runtime.block_on(run(session)));
}
