//! Combines event results when a session has extensions on both the embedded engine and Node.
//!
//! Extensions on the embedded engine receive an event first; those on Node receive it with the
//! changes made by the first. The rules are those of `js/pi/dispatch.js`, applied between two
//! hosts instead of two handlers.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Map, Value, json};

use crate::host::{ConsoleLine, EngineHost, ExtensionFault, HostError, HostFuture};

/// The call that replaces the events an extension host subscribes to.
pub const EVENTS_CALL: &str = "registration.events";

/// The call that changes the screen.
pub const SCREEN_CALL: &str = "screen.change";

/// Whether an event continues to the second host.
#[derive(Debug, PartialEq)]
pub(crate) enum EventFlow {
    /// The second host receives the event, with the changes of the first.
    Continue,
    /// The first host's result is final.
    Decided,
}

/// Applies the first host's result to the event, before it goes to the second host.
pub(crate) fn merge_result(event: &mut Value, result: &Value) -> EventFlow {
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
        return EventFlow::Decided;
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
    EventFlow::Continue
}

/// Combines the results of both hosts.
pub(crate) fn combine_results(name: &str, first: Value, second: Value) -> Value {
    match (name, first, second) {
        (_, first, Value::Null) => first,
        ("resources_discover", Value::Object(first), Value::Object(second)) => {
            Value::Object(concat_lists(first, second))
        }
        ("before_agent_start", Value::Object(first), Value::Object(second)) => {
            // Messages of both hosts are concatenated; for all other fields the second host wins.
            let messages = concat_lists(member("messages", &first), member("messages", &second));
            let mut all = overlay(first, second);
            all.extend(messages);
            Value::Object(all)
        }
        ("tool_result", Value::Object(first), Value::Object(second)) => {
            Value::Object(overlay(first, second))
        }
        (_, _, second) => second,
    }
}

fn member(name: &str, object: &Map<String, Value>) -> Map<String, Value> {
    let member = object.get(name);
    let member = member.map(|value| (name.to_owned(), value.clone()));
    member.into_iter().collect()
}

/// Appends the lists of one object to those of another.
fn concat_lists(mut first: Map<String, Value>, second: Map<String, Value>) -> Map<String, Value> {
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

/// Overwrites the members of `first` with the non-null members of `second`.
fn overlay(mut first: Map<String, Value>, second: Map<String, Value>) -> Map<String, Value> {
    first.extend(second.into_iter().filter(|(_, value)| !value.is_null()));
    first
}

/// Host that an extension runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExtensionHost {
    /// The JavaScript engine embedded in this program.
    #[default]
    Embedded,
    /// The user's Node installation.
    Node,
}

/// Events that each host subscribes to, and the host that provides prompt completion.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    embedded: BTreeSet<String>,
    node: BTreeSet<String>,
    /// Host that last registered a completion provider for the prompt.
    completion: ExtensionHost,
}

impl Subscriptions {
    /// Replaces the subscriptions of one host and returns the union of both.
    pub(crate) fn update(&mut self, host: ExtensionHost, names: &Value) -> Value {
        let names = names.as_array().into_iter().flatten();
        let names = names.filter_map(Value::as_str).map(str::to_owned).collect();
        match host {
            ExtensionHost::Embedded => self.embedded = names,
            ExtensionHost::Node => self.node = names,
        }
        json!(self.embedded.union(&self.node).collect::<Vec<_>>())
    }

    pub(crate) fn completion(&self) -> ExtensionHost {
        self.completion
    }

    /// Returns whether an extension on the host subscribes to the event.
    pub(crate) fn has_subscriber(&self, host: ExtensionHost, event: &str) -> bool {
        match host {
            ExtensionHost::Embedded => self.embedded.contains(event),
            ExtensionHost::Node => self.node.contains(event),
        }
    }
}

/// The embedding program as seen by one of the two hosts. Reports subscriptions for both hosts
/// together.
pub(crate) struct RoutedHost {
    inner: Arc<dyn EngineHost>,
    host_kind: ExtensionHost,
    subscriptions: Arc<Mutex<Subscriptions>>,
}

impl RoutedHost {
    pub(crate) fn new(
        inner: Arc<dyn EngineHost>,
        host_kind: ExtensionHost,
        subscriptions: Arc<Mutex<Subscriptions>>,
    ) -> Self {
        Self {
            inner,
            host_kind,
            subscriptions,
        }
    }

    fn subscriptions(&self) -> MutexGuard<'_, Subscriptions> {
        self.subscriptions.lock()
    }
}

impl EngineHost for RoutedHost {
    fn console(&self, line: ConsoleLine) {
        self.inner.console(line);
    }

    fn fault(&self, fault: ExtensionFault) {
        self.inner.fault(fault);
    }

    fn call(
        &self,
        extension: Option<&str>,
        method: &str,
        arguments: Value,
    ) -> Result<Value, HostError> {
        let mut arguments = arguments;
        match method {
            EVENTS_CALL => {
                if let Some(events) = arguments.get_mut("events") {
                    *events = self.subscriptions().update(self.host_kind, events);
                }
            }
            SCREEN_CALL if arguments.get("kind") == Some(&json!("completion")) => {
                self.subscriptions().completion = self.host_kind;
            }
            _ => {}
        }
        self.inner.call(extension, method, arguments)
    }

    fn request(&self, extension: Option<&str>, method: &str, arguments: Value) -> HostFuture {
        self.inner.request(extension, method, arguments)
    }
}

#[cfg(test)]
mod tests;
