//! Requests of a client, and what it sees of a session.

use pi_core::{Backend as _, CustomInput, CustomMessageOptions, Input, Prompt, Reply};
use pi_protocol::{AgentMessage, CustomMessage, Delivery, SessionActivity};
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::backend::{TestBackend, prompt_input, user_message};

impl TestBackend {
    /// Makes a request. What follows the reply is performed in a separate task.
    pub(crate) async fn request(&self, input: Input) -> Reply {
        pi_core::submit(self, input).reply().await.reply
    }

    pub(crate) async fn prompt(&self, text: &str) -> Reply {
        let input = prompt_input(text.to_owned());
        self.request(Input::Prompt(input)).await
    }

    /// Sends a prompt from a hook that runs while the session settles.
    pub(crate) async fn defer_prompt(&self, text: &str) -> Reply {
        self.request(Input::DeferPrompt(Prompt::text(text))).await
    }

    /// Sends a prompt and waits until the session is idle.
    pub(crate) async fn run(&self, text: &str) {
        assert_eq!(self.prompt(text).await, Reply::Started);
        self.control().wait_for_idle().await;
    }

    pub(crate) async fn enqueue(&self, text: &str, delivery: Delivery) -> Reply {
        let input = Input::Enqueue {
            message: user_message(text),
            text: text.to_owned(),
            delivery,
        };
        self.request(input).await
    }

    pub(crate) async fn send_custom(&self, text: &str, options: CustomMessageOptions) -> Reply {
        let message = custom_message(text);
        self.request(Input::SendCustom(CustomInput { message, options }))
            .await
    }

    /// Waits for an activity. A paused clock does not advance meanwhile.
    pub(crate) async fn reach(&self, is_reached: impl Fn(SessionActivity) -> bool) {
        while !is_reached(self.control().activity()) {
            tokio::task::yield_now().await;
        }
    }

    pub(crate) fn abort(&self) {
        self.control().interrupt(Input::Abort);
    }

    /// Returns one line per stored message.
    pub(crate) fn texts(&self) -> Vec<String> {
        let messages = self.messages();
        messages.iter().map(|message| describe(message)).collect()
    }

    /// Returns one line per published event.
    pub(crate) fn lines(&self) -> Vec<String> {
        let events = self.events();
        let values = events
            .iter()
            .map(|event| serde_json::to_value(event).unwrap());
        values.map(|value| line_of(&value)).collect()
    }

    /// Returns the lines of events whose type starts like this.
    pub(crate) fn lines_of(&self, prefix: &str) -> Vec<String> {
        let mut lines = self.lines();
        lines.retain(|line| line.starts_with(prefix));
        lines
    }

    /// Returns the error of the last message.
    pub(crate) fn last_error(&self) -> Option<String> {
        match self.messages().last().map(|message| &**message) {
            Some(AgentMessage::Assistant(response)) => response.error_message.clone(),
            _ => None,
        }
    }
}

pub(crate) fn custom_message(text: &str) -> AgentMessage {
    AgentMessage::Custom(CustomMessage {
        custom_type: "note".into(),
        content: text.into(),
        ..CustomMessage::default()
    })
}

fn describe(message: &AgentMessage) -> String {
    match message {
        AgentMessage::System(_) => "system".to_owned(),
        AgentMessage::User(user) => format!("user: {}", user.content.joined_text()),
        AgentMessage::Assistant(response) => {
            format!("assistant {:?}: {}", response.stop_reason, response.text())
        }
        AgentMessage::ToolResult(result) => {
            let kind = if result.is_error { "failure" } else { "result" };
            let text = pi_protocol::join_text(&result.content);
            format!("{kind} {}: {text}", result.tool_call_id)
        }
        AgentMessage::Custom(custom) => format!("custom: {}", custom.content.joined_text()),
        _ => "other".to_owned(),
    }
}

fn line_of(event: &Value) -> String {
    let kind = event["type"].as_str().unwrap_or_default();
    let detail = ["toolCallId", "delta"]
        .iter()
        .find_map(|key| event.get(key).or(event["assistantMessageEvent"].get(key)))
        .or(event["message"].get("role"))
        .and_then(Value::as_str)
        .unwrap_or_default();
    format!("{kind} {detail}").trim_end().to_owned()
}
