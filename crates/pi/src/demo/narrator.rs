//! Prints the demo as it happens: prompts, answers and tool calls.
//!
//! Subscribes to the session like any front end. Control sequences in tool output are removed.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_host::SessionListener;
use pi_protocol::{
    AgentEvent, AgentMessage, AssistantMessageEvent, InputBlock, SessionEvent, StopReason,
    ToolOutput,
};
use serde_json::Value;

use crate::output::sanitize;

/// Whether to use colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    Plain,
    /// The palette of the terminal.
    Colored,
}

/// The style of a text by its role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    /// Prompts and commands to type.
    Strong,
    /// Thinking and tool output.
    Faint,
    /// Tool names.
    Tool,
    Added,
    Removed,
    Wrong,
}

impl Ink {
    pub(super) fn paint(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Strong => "1",
            Tone::Faint => "2",
            Tone::Tool => "36",
            Tone::Added => "32",
            Tone::Removed | Tone::Wrong => "31",
        };
        match self {
            Self::Plain => text.to_owned(),
            Self::Colored => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }
}

pub(super) type Show = Box<dyn Fn(&str) + Send + Sync>;

pub(super) struct Narrator {
    ink: Ink,
    show: Show,
    failure: Mutex<Option<String>>,
}

impl Narrator {
    pub(super) fn new(ink: Ink, show: Show) -> Self {
        Self {
            ink,
            show,
            failure: Mutex::new(None),
        }
    }

    /// Prints a line.
    pub(super) fn print_line(&self, text: &str) {
        (self.show)(&format!("{text}\n"));
    }

    pub(super) fn ink(&self) -> Ink {
        self.ink
    }

    /// Returns the error of the last run, if it failed.
    pub(super) fn failure(&self) -> Option<String> {
        let failure = self.failure.lock();
        failure.clone()
    }

    fn print_event(&self, event: &AgentEvent) {
        match event {
            AgentEvent::MessageStart { message } => {
                if let AgentMessage::User(message) = &**message {
                    let text = format!("❯ {}", message.content.joined_text());
                    self.print_line(&format!("\n{}\n", self.ink.paint(Tone::Strong, &text)));
                }
            }
            AgentEvent::MessageUpdate {
                assistant_message_event,
                ..
            } => self.print_answer(assistant_message_event),
            AgentEvent::MessageEnd { message } => self.record_failure(message),
            AgentEvent::ToolExecutionStart {
                tool_name, args, ..
            } => self.print_call(tool_name, args),
            AgentEvent::ToolExecutionEnd {
                tool_name,
                result,
                is_error,
                ..
            } => self.print_result(tool_name, result, *is_error),
            _ => {}
        }
    }

    fn print_answer(&self, event: &AssistantMessageEvent) {
        match event {
            AssistantMessageEvent::TextDelta { delta, .. } => (self.show)(&sanitize(delta)),
            AssistantMessageEvent::ThinkingStart { .. } => {
                (self.show)(&self.ink.paint(Tone::Faint, "thinking: "));
            }
            AssistantMessageEvent::ThinkingDelta { delta, .. } => {
                (self.show)(&self.ink.paint(Tone::Faint, &sanitize(delta)));
            }
            AssistantMessageEvent::TextEnd { .. } | AssistantMessageEvent::ThinkingEnd { .. } => {
                self.print_line("");
            }
            _ => {}
        }
    }

    fn record_failure(&self, message: &AgentMessage) {
        if let AgentMessage::Assistant(answer) = message
            && matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted)
        {
            let reason = answer.error_message.clone().unwrap_or_default();
            *self.failure.lock() = Some(reason);
        }
    }

    fn print_call(&self, tool: &str, arguments: &Value) {
        let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or("");
        let subject = match tool {
            "bash" => argument("command"),
            _ => argument("path"),
        };
        let tool_name = self.ink.paint(Tone::Tool, &format!("● {tool}"));
        self.print_line(&format!("\n{tool_name} {}", sanitize(subject)));
        if tool == "write" {
            self.print_lines(argument("content"));
        }
    }

    fn print_result(&self, tool: &str, result: &ToolOutput, is_error: bool) {
        let diff = result
            .details
            .as_ref()
            .and_then(|details| details.get("diff"));
        let text = match diff.and_then(Value::as_str) {
            Some(diff) if !is_error => diff.to_owned(),
            _ => text_of(result),
        };
        match tool {
            // The file was printed with the call.
            "write" if !is_error => {}
            _ if is_error => {
                self.print_lines(&text);
                self.print_line(&format!("  {}", self.ink.paint(Tone::Wrong, "✗ failed")));
            }
            _ => self.print_lines(&text),
        }
        self.print_line("");
    }

    fn print_lines(&self, text: &str) {
        let edge = self.ink.paint(Tone::Faint, "  │");
        for line in sanitize(text.trim_end()).lines() {
            let tone = match line.chars().next() {
                Some('+') => Tone::Added,
                Some('-') => Tone::Removed,
                _ => Tone::Faint,
            };
            self.print_line(&format!("{edge} {}", self.ink.paint(tone, line)));
        }
    }
}

fn text_of(result: &ToolOutput) -> String {
    let texts = result.content.iter().filter_map(InputBlock::as_text);
    texts.collect::<Vec<_>>().join("\n")
}

impl SessionListener for Narrator {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        async move {
            if let SessionEvent::Agent(event) = event {
                self.print_event(event);
            }
        }
        .boxed()
    }
}
