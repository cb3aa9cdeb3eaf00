//! Converts the events of a run to updates of a session.
//!
//! Only the mapping is here; `feed.rs` sends the updates.

use std::collections::HashMap;
use std::path::PathBuf;

use pi_protocol::{
    AgentEvent, AgentMessage, AssistantBlock, AssistantMessage, AssistantMessageEvent, InputBlock,
    ToolOutput, json_object,
};
use serde_json::{Value, json};

use crate::call_ids::CallIds;
use crate::content::{message_blocks, text_block};
use crate::file_changes::{FileText, first_changed_line};
use crate::plan::plan_update;
use crate::terminal_output::{SentOutput, exit_code};
use crate::tool_call;

/// Arguments that are searched for a path while they arrive.
const SEARCHED_BYTES: usize = 4096;

pub(crate) struct UpdateMapper {
    cwd: PathBuf,
    /// Whether the client shows the output of commands as terminals.
    shows_terminals: bool,
    /// The ID of the current response.
    message_id: String,
    /// Whether text of the current response was sent.
    has_sent_text: bool,
    pub(crate) ids: CallIds,
    /// Calls without a result, by the ID of the model.
    calls: HashMap<String, TrackedCall>,
    /// Calls of the current response whose arguments still arrive, by the index of their block.
    arriving: HashMap<usize, ArrivingCall>,
}

#[derive(Default)]
struct TrackedCall {
    arguments: Value,
    /// The file that the call may change, before the call.
    before: Option<(PathBuf, FileText)>,
    /// The text that the call has written, if it was not written to disk.
    after: Option<String>,
    output: SentOutput,
}

struct ArrivingCall {
    id: String,
    tool: String,
    /// The beginning of the arguments; `None` once the title is known.
    arguments: Option<String>,
}

impl UpdateMapper {
    pub(crate) fn new(cwd: PathBuf, shows_terminals: bool) -> Self {
        Self {
            cwd,
            shows_terminals,
            message_id: String::new(),
            has_sent_text: false,
            ids: CallIds::default(),
            calls: HashMap::new(),
            arriving: HashMap::new(),
        }
    }

    pub(crate) fn agent_event(&mut self, event: &AgentEvent) -> Vec<Value> {
        match event {
            AgentEvent::MessageStart { message } => self.message_start(message),
            AgentEvent::MessageUpdate {
                assistant_message_event,
                ..
            } => self
                .response_event(assistant_message_event)
                .into_iter()
                .collect(),
            AgentEvent::MessageEnd { message } => match &**message {
                AgentMessage::Assistant(response) => self.response_end(response),
                _ => Vec::new(),
            },
            AgentEvent::ToolExecutionStart {
                tool_call_id,
                tool_name,
                args,
                ..
            } => vec![self.call_start(tool_call_id, tool_name, args)],
            AgentEvent::ToolExecutionUpdate {
                tool_call_id,
                tool_name,
                partial_result,
                ..
            } => self
                .call_progress(tool_call_id, tool_name, partial_result)
                .into_iter()
                .collect(),
            AgentEvent::ToolExecutionEnd {
                tool_call_id,
                tool_name,
                result,
                is_error,
                ..
            } => {
                let ended = self.call_end(tool_call_id, tool_name, result, *is_error);
                std::iter::once(ended).chain(plan_update(result)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Ends the calls that will get no result.
    pub(crate) fn settle(&mut self) -> Vec<Value> {
        self.arriving.clear();
        let open = std::mem::take(&mut self.calls).into_keys();
        open.map(|id| failed_call(&self.ids.current(&id))).collect()
    }

    fn message_start(&mut self, message: &AgentMessage) -> Vec<Value> {
        match message {
            AgentMessage::Assistant(_) => {
                self.message_id = uuid::Uuid::new_v4().to_string();
                self.has_sent_text = false;
                self.arriving.clear();
                Vec::new()
            }
            AgentMessage::Custom(custom) if custom.display => {
                let id = uuid::Uuid::new_v4().to_string();
                let blocks = message_blocks(&custom.content).into_iter();
                blocks
                    .map(|block| chunk("agent_message_chunk", block, &id))
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    fn response_event(&mut self, event: &AssistantMessageEvent) -> Option<Value> {
        match event {
            AssistantMessageEvent::TextDelta { delta, .. } if !delta.is_empty() => {
                self.has_sent_text = true;
                Some(chunk(
                    "agent_message_chunk",
                    text_block(delta),
                    &self.message_id,
                ))
            }
            AssistantMessageEvent::ThinkingDelta { delta, .. } if !delta.is_empty() => Some(chunk(
                "agent_thought_chunk",
                text_block(delta),
                &self.message_id,
            )),
            AssistantMessageEvent::ToolCallStart {
                content_index,
                id,
                tool_name,
            } => {
                let arriving = ArrivingCall {
                    id: id.clone(),
                    tool: tool_name.clone(),
                    arguments: Some(String::new()),
                };
                self.arriving.insert(*content_index, arriving);
                self.calls.insert(id.clone(), TrackedCall::default());
                Some(json!({
                    "sessionUpdate": "tool_call",
                    "toolCallId": self.ids.begin(id),
                    "title": tool_call::partial_title(tool_name, None),
                    "name": tool_name,
                    "kind": tool_call::kind(tool_name),
                    "status": "pending",
                }))
            }
            AssistantMessageEvent::ToolCallDelta {
                content_index,
                delta,
            } => self.partial_title(*content_index, delta),
            AssistantMessageEvent::ToolCallEnd {
                content_index,
                tool_call,
            } => {
                let arriving = self.arriving.remove(content_index)?;
                let arguments = Value::Object(tool_call.arguments.clone());
                let mut update = json!({
                    "sessionUpdate": "tool_call_update",
                    "toolCallId": self.ids.current(&arriving.id),
                    "title": tool_call::title(&tool_call.name, &arguments),
                });
                if let Some(fields) = update.as_object_mut() {
                    let locations = tool_call::locations(&arguments, &self.cwd, None);
                    tool_call::insert_list(fields, "locations", locations);
                    fields.insert("rawInput".to_owned(), arguments);
                }
                Some(update)
            }
            _ => None,
        }
    }

    /// Names the file of a call as soon as its path has arrived.
    fn partial_title(&mut self, index: usize, delta: &str) -> Option<Value> {
        let arriving = self.arriving.get_mut(&index)?;
        let arguments = arriving.arguments.as_mut()?;
        arguments.push_str(delta);
        let path = arrived_path(arguments);
        if path.is_none() && arguments.len() < SEARCHED_BYTES {
            return None;
        }
        arriving.arguments = None;
        Some(json!({
            "sessionUpdate": "tool_call_update",
            "toolCallId": self.ids.current(&arriving.id),
            "title": tool_call::partial_title(&arriving.tool, Some(&path?)),
        }))
    }

    fn response_end(&mut self, response: &AssistantMessage) -> Vec<Value> {
        let mut updates = Vec::new();
        // A hook may have replaced the response, or it did not stream.
        if !self.has_sent_text {
            let texts = response.content.iter().filter_map(AssistantBlock::as_text);
            let texts = texts.filter(|text| !text.is_empty());
            updates.extend(
                texts.map(|text| chunk("agent_message_chunk", text_block(text), &self.message_id)),
            );
        }
        self.has_sent_text = false;
        if response.stop_reason.is_failure() {
            for arriving in std::mem::take(&mut self.arriving).into_values() {
                self.calls.remove(&arriving.id);
                updates.push(failed_call(&self.ids.current(&arriving.id)));
            }
        }
        updates
    }

    /// Returns the file that a call may change.
    pub(crate) fn changed_file(&self, id: &str) -> Option<PathBuf> {
        let (path, _) = self.calls.get(id)?.before.as_ref()?;
        Some(path.clone())
    }

    /// Sets the text that an editor has instead of the one on disk, before a call.
    pub(crate) fn set_text_before(&mut self, id: &str, text: String) {
        if let Some(call) = self.calls.get_mut(id)
            && let Some((_, before)) = &mut call.before
        {
            *before = FileText::of(text);
        }
    }

    /// Sets the text that an editor has instead of the one on disk, after a call.
    pub(crate) fn set_text_after(&mut self, id: &str, text: String) {
        if let Some(call) = self.calls.get_mut(id) {
            call.after = Some(text);
        }
    }

    fn call_start(&mut self, id: &str, tool: &str, arguments: &Value) -> Value {
        let is_known = self.calls.contains_key(id);
        let target = tool_call::target(arguments, &self.cwd);
        let target = target.filter(|_| tool_call::changes_file(tool));
        let before = target.map(|path| {
            let text = FileText::read(&path);
            (path, text)
        });
        let call = TrackedCall {
            arguments: arguments.clone(),
            before,
            after: None,
            output: SentOutput::default(),
        };
        self.calls.insert(id.to_owned(), call);
        let id = if is_known {
            self.ids.current(id)
        } else {
            self.ids.begin(id)
        };
        let kind = if is_known {
            "tool_call_update"
        } else {
            "tool_call"
        };
        let mut update = json!({
            "sessionUpdate": kind,
            "toolCallId": id,
            "title": tool_call::title(tool, arguments),
            "name": tool,
            "kind": tool_call::kind(tool),
            "status": "in_progress",
            "rawInput": arguments,
        });
        if let Some(update) = update.as_object_mut() {
            let locations = tool_call::locations(arguments, &self.cwd, None);
            tool_call::insert_list(update, "locations", locations);
            if self.is_terminal(tool) {
                let content = json!([{"type": "terminal", "terminalId": id}]);
                update.insert("content".to_owned(), content);
                let cwd = self.cwd.to_string_lossy();
                let meta = json!({"terminal_info": {"terminal_id": id, "cwd": cwd}});
                update.insert("_meta".to_owned(), meta);
            }
        }
        update
    }

    fn is_terminal(&self, tool: &str) -> bool {
        self.shows_terminals && tool_call::kind(tool) == "execute"
    }

    fn call_progress(&mut self, id: &str, tool: &str, partial: &ToolOutput) -> Option<Value> {
        let call = self.calls.get_mut(id)?;
        let id = self.ids.current(id);
        if self.shows_terminals && tool_call::kind(tool) == "execute" {
            let data = call.output.advance(&text_of(partial));
            return (!data.is_empty()).then(|| {
                json!({
                    "sessionUpdate": "tool_call_update",
                    "toolCallId": id,
                    "_meta": {"terminal_output": {"terminal_id": id, "data": data}},
                })
            });
        }
        let content = tool_call::output_content(tool, partial);
        (!content.is_empty()).then(|| {
            json!({
                "sessionUpdate": "tool_call_update",
                "toolCallId": id,
                "content": content,
            })
        })
    }

    fn call_end(&mut self, id: &str, tool: &str, result: &ToolOutput, is_error: bool) -> Value {
        let mut call = self.calls.remove(id).unwrap_or_default();
        let id = self.ids.current(id);
        let mut update = json!({
            "sessionUpdate": "tool_call_update",
            "toolCallId": id,
            "status": if is_error { "failed" } else { "completed" },
        });
        let Some(fields) = update.as_object_mut() else {
            return update;
        };
        if self.is_terminal(tool) {
            let text = text_of(result);
            let code = if is_error {
                exit_code(&text).unwrap_or(1)
            } else {
                0
            };
            let mut meta = json!({
                "terminal_exit": {"terminal_id": id, "exit_code": code, "signal": null},
            });
            let data = call.output.advance(&text);
            if !data.is_empty()
                && let Some(meta) = meta.as_object_mut()
            {
                let output = json!({"terminal_id": id, "data": data});
                meta.insert("terminal_output".to_owned(), output);
            }
            fields.insert("_meta".to_owned(), meta);
            return update;
        }
        let changed = if is_error { None } else { call.before.take() };
        let after = call.after.take().map(FileText::of);
        match changed.and_then(|(path, before)| changed_text(path, before, after)) {
            Some((path, before, after)) => {
                let line = first_changed_line(before.as_deref().unwrap_or_default(), &after);
                let locations = tool_call::locations(&call.arguments, &self.cwd, line);
                tool_call::insert_list(fields, "locations", locations);
                let diff = tool_call::diff(&path, before.as_deref(), &after);
                fields.insert("content".to_owned(), json!([diff]));
            }
            None => {
                let content = tool_call::output_content(tool, result);
                tool_call::insert_list(fields, "content", content);
            }
        }
        update
    }
}

/// Returns a file's text before and after a call, if both can be shown. Without `after` it is read from disk.
fn changed_text(
    path: PathBuf,
    before: FileText,
    after: Option<FileText>,
) -> Option<(PathBuf, Option<String>, String)> {
    let before = match before {
        FileText::Missing => None,
        FileText::Text(text) => Some(text),
        FileText::Other => return None,
    };
    match after.unwrap_or_else(|| FileText::read(&path)) {
        FileText::Text(after) => Some((path, before, after)),
        FileText::Missing | FileText::Other => None,
    }
}

/// Returns the path in JSON that is not complete yet.
fn arrived_path(json: &str) -> Option<String> {
    let (_, rest) = json.split_once("\"path\"")?;
    let rest = rest.trim_start().strip_prefix(':')?;
    let rest = rest.trim_start().strip_prefix('"')?;
    let (path, _) = rest.split_once('"')?;
    (!path.contains('\\')).then(|| path.to_owned())
}

fn text_of(output: &ToolOutput) -> String {
    let texts = output.content.iter().filter_map(InputBlock::as_text);
    texts.collect::<Vec<_>>().join("\n")
}

fn failed_call(id: &str) -> Value {
    json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "failed"})
}

/// Returns the update for a part of a message.
pub(crate) fn chunk(kind: &str, block: Value, message_id: &str) -> Value {
    json_object([
        ("sessionUpdate", kind.into()),
        ("content", block),
        ("messageId", message_id.into()),
    ])
}

#[cfg(test)]
mod tests;
