//! One session with extensions in both places: how what two hosts make of an event becomes one result.
//!
//! Extensions of the embedded engine hear of an event first, those on Node after them, with what the first have
//! changed. The rules are those of `js/pi/dispatch.js`, applied between two hosts in place of two handlers.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};

use crate::host::{ConsoleLine, Fault, Host, HostError, HostFuture};

/// What the second host is to do about an event.
#[derive(Debug, PartialEq)]
pub(crate) enum Next {
    /// It hears of the event, as the first has left it.
    Hears,
    /// The first has decided.
    Decided,
}

/// Changes an event as the first host's result says.
pub(crate) fn hand_on(event: &mut Value, result: &Value) -> Next {
    let name = event.get("type").and_then(Value::as_str).unwrap_or("");
    let decided = match name {
        "session_before_switch"
        | "session_before_fork"
        | "session_before_compact"
        | "session_before_tree" => result.get("cancel") == Some(&Value::Bool(true)),
        "project_trust" | "user_bash" => !result.is_null(),
        "input" => result.get("action").and_then(Value::as_str) == Some("handled"),
        "tool_call" => result.get("input").is_none() && !result.is_null(),
        _ => false,
    };
    if decided {
        return Next::Decided;
    }
    let fields: &[(&str, &str)] = match name {
        "turn_end" | "agent_before_settle" => &[("entries", "entries"), ("continue", "continue")],
        "input" => &[("text", "text"), ("images", "images")],
        "before_agent_start" => &[
            ("systemPrompt", "systemPrompt"),
            ("options", "systemPromptOptions"),
        ],
        "message_end" => &[("message", "message")],
        "tool_call" => &[("input", "input")],
        "tool_result" => &[
            ("content", "content"),
            ("details", "details"),
            ("isError", "isError"),
            ("usage", "usage"),
        ],
        "context" | "context_with_system" => &[("messages", "messages")],
        "before_provider_request" => &[("payload", "payload")],
        "before_provider_headers" => &[("headers", "headers")],
        _ => &[],
    };
    if let Value::Object(event) = event {
        for (from, to) in fields {
            if let Some(value) = result.get(from) {
                event.insert((*to).to_owned(), value.clone());
            }
        }
    }
    Next::Hears
}

/// Makes one result of two.
pub(crate) fn join(name: &str, first: Value, second: Value) -> Value {
    match (name, first, second) {
        (_, first, Value::Null) => first,
        ("resources_discover", Value::Object(first), Value::Object(second)) => {
            Value::Object(joined_lists(first, second))
        }
        ("before_agent_start", Value::Object(first), Value::Object(second)) => {
            // The messages of both; of the rest, what came last.
            let messages = joined_lists(only("messages", &first), only("messages", &second));
            let mut all = overlaid(first, second);
            all.extend(messages);
            Value::Object(all)
        }
        ("tool_result", Value::Object(first), Value::Object(second)) => {
            Value::Object(overlaid(first, second))
        }
        (_, _, second) => second,
    }
}

fn only(name: &str, object: &Map<String, Value>) -> Map<String, Value> {
    let member = object.get(name);
    let member = member.map(|value| (name.to_owned(), value.clone()));
    member.into_iter().collect()
}

/// Appends the lists of one object to those of another.
fn joined_lists(mut first: Map<String, Value>, second: Map<String, Value>) -> Map<String, Value> {
    for (name, value) in second {
        match (first.get_mut(&name), value) {
            (Some(Value::Array(known)), Value::Array(more)) => known.extend(more),
            (_, value) => {
                first.insert(name, value);
            }
        }
    }
    first
}

/// Puts the members of one object over those of another; what is null covers nothing.
fn overlaid(mut first: Map<String, Value>, second: Map<String, Value>) -> Map<String, Value> {
    first.extend(second.into_iter().filter(|(_, value)| !value.is_null()));
    first
}

/// Where an extension runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExtensionHost {
    /// On the engine that is part of the program.
    #[default]
    Embedded,
    /// On the user's Node.
    Node,
}

/// Which events are heard in each place, and who completes at the prompt.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    embedded: BTreeSet<String>,
    node: BTreeSet<String>,
    /// Where the prompt was last given a completion of its own.
    completion: ExtensionHost,
}

impl Heard {
    /// Notes what is heard in one place and returns what is heard at all.
    pub(crate) fn note(&mut self, host: ExtensionHost, names: &Value) -> Value {
        let names = names.as_array().into_iter().flatten();
        let names = names.filter_map(Value::as_str).map(str::to_owned).collect();
        match host {
            ExtensionHost::Embedded => self.embedded = names,
            ExtensionHost::Node => self.node = names,
        }
        json!(self.embedded.union(&self.node).collect::<Vec<_>>())
    }

    /// Returns where the prompt is completed.
    pub(crate) fn completion(&self) -> ExtensionHost {
        self.completion
    }

    /// Returns whether anybody on Node hears of an event.
    pub(crate) fn on_node(&self, event: &str) -> bool {
        self.node.contains(event)
    }
}

/// The program, as one of two hosts asks it: who hears of what is told for both.
pub(crate) struct SharedProgram {
    program: Arc<dyn Host>,
    place: ExtensionHost,
    heard: Arc<Mutex<Heard>>,
}

impl SharedProgram {
    pub(crate) fn new(
        program: Arc<dyn Host>,
        place: ExtensionHost,
        heard: Arc<Mutex<Heard>>,
    ) -> Self {
        Self {
            program,
            place,
            heard,
        }
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host for SharedProgram {
    fn console(&self, line: ConsoleLine) {
        self.program.console(line);
    }

    fn fault(&self, fault: Fault) {
        self.program.fault(fault);
    }

    fn call(
        &self,
        extension: Option<&str>,
        method: &str,
        arguments: Value,
    ) -> Result<Value, HostError> {
        let arguments = match method {
            "subscriptions" => self.heard().note(self.place, &arguments),
            "ui.change" if arguments.get("kind") == Some(&json!("completion")) => {
                self.heard().completion = self.place;
                arguments
            }
            _ => arguments,
        };
        self.program.call(extension, method, arguments)
    }

    fn request(&self, extension: Option<&str>, method: &str, arguments: Value) -> HostFuture {
        self.program.request(extension, method, arguments)
    }
}

#[cfg(test)]
mod tests;
