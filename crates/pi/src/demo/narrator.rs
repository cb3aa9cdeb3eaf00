//! Tells the demonstration as it happens: who says what, which tool does what.
//!
//! It listens to the session like any front end. Colors are for terminals; text that tools return
//! cannot steer one.

use std::sync::{Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pi_agent::{AgentEvent, ToolOutput};
use pi_ai::{AgentMessage, AssistantMessageEvent, InputBlock, StopReason};
use pi_runtime::{SessionEvent, SessionListener};
use serde_json::Value;

use crate::output::inert;

/// Whether colors may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    Plain,
    /// The terminal's own colors.
    Colored,
}

/// What a text is, and so how it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    /// What the user says, and what to type.
    Strong,
    /// What is not said aloud, and what tools print.
    Faint,
    /// The name of a tool.
    Tool,
    Added,
    Removed,
    Wrong,
}

impl Ink {
    /// Colors a text.
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

/// Takes text to show.
pub(super) type Show = Box<dyn Fn(&str) + Send + Sync>;

/// A listener that tells what happens.
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

    /// Shows a line of its own words.
    pub(super) fn say(&self, text: &str) {
        (self.show)(&format!("{text}\n"));
    }

    /// Returns how texts are colored.
    pub(super) fn ink(&self) -> Ink {
        self.ink
    }

    /// Returns why the last run ended badly, if it did.
    pub(super) fn failure(&self) -> Option<String> {
        let failure = self.failure.lock();
        failure.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn tell(&self, event: &AgentEvent) {
        match event {
            AgentEvent::MessageStart { message } => {
                if let AgentMessage::User(message) = &**message {
                    let text = format!("❯ {}", message.content.joined_text());
                    self.say(&format!("\n{}\n", self.ink.paint(Tone::Strong, &text)));
                }
            }
            AgentEvent::MessageUpdate {
                assistant_message_event,
                ..
            } => self.tell_answer(assistant_message_event),
            AgentEvent::MessageEnd { message } => self.note_failure(message),
            AgentEvent::ToolExecutionStart {
                tool_name, args, ..
            } => self.tell_call(tool_name, args),
            AgentEvent::ToolExecutionEnd {
                tool_name,
                result,
                is_error,
                ..
            } => self.tell_result(tool_name, result, *is_error),
            _ => {}
        }
    }

    fn tell_answer(&self, event: &AssistantMessageEvent) {
        match event {
            AssistantMessageEvent::TextDelta { delta, .. } => (self.show)(&inert(delta)),
            AssistantMessageEvent::ThinkingStart { .. } => {
                (self.show)(&self.ink.paint(Tone::Faint, "thinking: "));
            }
            AssistantMessageEvent::ThinkingDelta { delta, .. } => {
                (self.show)(&self.ink.paint(Tone::Faint, &inert(delta)));
            }
            AssistantMessageEvent::TextEnd { .. } | AssistantMessageEvent::ThinkingEnd { .. } => {
                self.say("");
            }
            _ => {}
        }
    }

    fn note_failure(&self, message: &AgentMessage) {
        if let AgentMessage::Assistant(answer) = message
            && matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted)
        {
            let reason = answer.error_message.clone().unwrap_or_default();
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
        }
    }

    fn tell_call(&self, tool: &str, arguments: &Value) {
        let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or("");
        let subject = match tool {
            "bash" => argument("command"),
            _ => argument("path"),
        };
        let tool_name = self.ink.paint(Tone::Tool, &format!("● {tool}"));
        self.say(&format!("\n{tool_name} {}", inert(subject)));
        if tool == "write" {
            self.tell_lines(argument("content"));
        }
    }

    fn tell_result(&self, tool: &str, result: &ToolOutput, is_error: bool) {
        let diff = result
            .details
            .as_ref()
            .and_then(|details| details.get("diff"));
        let text = match diff.and_then(Value::as_str) {
            Some(diff) if !is_error => diff.to_owned(),
            _ => text_of(result),
        };
        match tool {
            // The file was shown when it was written.
            "write" if !is_error => {}
            _ if is_error => {
                self.tell_lines(&text);
                self.say(&format!("  {}", self.ink.paint(Tone::Wrong, "✗ it failed")));
            }
            _ => self.tell_lines(&text),
        }
        self.say("");
    }

    fn tell_lines(&self, text: &str) {
        let edge = self.ink.paint(Tone::Faint, "  │");
        for line in inert(text.trim_end()).lines() {
            let tone = match line.chars().next() {
                Some('+') => Tone::Added,
                Some('-') => Tone::Removed,
                _ => Tone::Faint,
            };
            self.say(&format!("{edge} {}", self.ink.paint(tone, line)));
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
                self.tell(event);
            }
        }
        .boxed()
    }
}
