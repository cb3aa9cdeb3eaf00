//! Recorded responses and built requests; the tables of services and thinking formats are in
//! separate files.

mod compat;
mod decode;
mod request;
mod thinking;

use pi_protocol::{Model, api};
use serde_json::{Value, json};

use super::OpenAiCompletions;
use crate::options::{ModelRequest, StreamOptions};
use crate::wire::testing;
use crate::wire::{HttpExchange, HttpProtocol};

fn model(fields: Value) -> Model {
    testing::model(api::OPENAI_COMPLETIONS, fields)
}

fn options() -> StreamOptions {
    StreamOptions {
        api_key: Some("key".into()),
        session_id: Some("session-1".into()),
        ..StreamOptions::default()
    }
}

fn exchange(request: &ModelRequest) -> HttpExchange {
    let prepared = std::pin::pin!(OpenAiCompletions.prepare(request));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match prepared.poll(&mut context) {
        std::task::Poll::Ready(exchange) => exchange.unwrap(),
        std::task::Poll::Pending => panic!("building a request must not wait"),
    }
}

/// The body of a request with the prompt "hi" and one tool.
fn body(model: Model, options: StreamOptions) -> Value {
    exchange(&hello(model, options)).body.into_value()
}

fn hello(model: Model, options: StreamOptions) -> ModelRequest {
    let tool = json!({"name": "read", "description": "Reads.",
        "parameters": {"type": "object", "properties": {}}});
    let messages = json!([
        {"role": "system", "content": "Be precise.", "toolsAdded": [tool]},
        {"role": "user", "content": "hi"}
    ]);
    testing::request(model, messages, options)
}
