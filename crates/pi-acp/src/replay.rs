//! The entries of a stored conversation as updates.

use pi_host::AgentSession;
use pi_protocol::{
    AgentMessage, AssistantBlock, AssistantMessage, Entry, EntryBody, JsonRpcError,
    ToolResultMessage,
};
use serde_json::{Value, json};

use crate::call_ids::CallIds;
use crate::content::{message_blocks, text_block};
use crate::tool_call;
use crate::updates::chunk;

/// Returns the updates for the current branch, oldest first.
pub(crate) fn replay(
    session: &AgentSession,
    ids: &mut CallIds,
) -> Result<Vec<Value>, JsonRpcError> {
    let entries = session
        .history()
        .with_session(|session| session.current_branch().entries());
    let entries = entries.map_err(|error| JsonRpcError::internal(error.to_string()))?;
    let mut updates = Vec::new();
    for entry in &entries {
        push_entry(&mut updates, entry, session, ids);
    }
    Ok(updates)
}

fn push_entry(updates: &mut Vec<Value>, entry: &Entry, session: &AgentSession, ids: &mut CallIds) {
    let id = entry.id.as_str();
    let mut push = |kind: &str, blocks: Vec<Value>| {
        let chunks = blocks.into_iter().map(|block| chunk(kind, block, id));
        updates.extend(chunks);
    };
    match &entry.body {
        EntryBody::Message(AgentMessage::User(user)) => {
            push("user_message_chunk", message_blocks(&user.content));
        }
        EntryBody::Message(AgentMessage::Assistant(response)) => {
            push_response(updates, id, response, (session, ids));
        }
        EntryBody::Message(AgentMessage::ToolResult(result)) => {
            updates.push(result_update(result, ids));
        }
        EntryBody::Message(AgentMessage::BashExecution(command)) => {
            let text = tool_call::fenced(tool_call::tail(&command.output), "");
            let shown = format!("`$ {}`\n\n{text}", command.command);
            push("user_message_chunk", vec![text_block(&shown)]);
        }
        EntryBody::CustomMessage(message) if message.display => {
            push("agent_message_chunk", message_blocks(&message.content));
        }
        EntryBody::Compaction(compaction) => {
            let text = format!("Earlier messages were compacted:\n\n{}", compaction.summary);
            push("agent_thought_chunk", vec![text_block(&text)]);
        }
        EntryBody::BranchSummary(branch) => {
            let text = format!("Summary of another branch:\n\n{}", branch.summary);
            push("agent_thought_chunk", vec![text_block(&text)]);
        }
        _ => {}
    }
}

fn push_response(
    updates: &mut Vec<Value>,
    id: &str,
    response: &AssistantMessage,
    (session, ids): (&AgentSession, &mut CallIds),
) {
    for block in &response.content {
        match block {
            AssistantBlock::Text(text) if !text.text.is_empty() => {
                updates.push(chunk("agent_message_chunk", text_block(&text.text), id));
            }
            AssistantBlock::Thinking(thinking) if !thinking.thinking.is_empty() => {
                let block = text_block(&thinking.thinking);
                updates.push(chunk("agent_thought_chunk", block, id));
            }
            AssistantBlock::ToolCall(call) => {
                let arguments = Value::Object(call.arguments.clone());
                let mut update = json!({
                    "sessionUpdate": "tool_call",
                    "toolCallId": ids.begin(&call.id),
                    "title": tool_call::title(&call.name, &arguments),
                    "name": call.name,
                    "kind": tool_call::kind(&call.name),
                    // Without a result the call has not run.
                    "status": "failed",
                });
                if let Some(fields) = update.as_object_mut() {
                    let content =
                        tool_call::proposed_content(&call.name, &arguments, session.cwd());
                    let shown = content.into_iter().filter(|item| item["type"] == "diff");
                    tool_call::insert_list(fields, "content", shown.collect());
                    let locations = tool_call::locations(&arguments, session.cwd(), None);
                    tool_call::insert_list(fields, "locations", locations);
                    fields.insert("rawInput".to_owned(), arguments);
                }
                updates.push(update);
            }
            _ => {}
        }
    }
    if let Some(error) = &response.error_message {
        let text = format!("Error: {error}");
        updates.push(chunk("agent_message_chunk", text_block(&text), id));
    }
}

/// Returns the update of a call with its stored result. The diff of a change was part of the call.
fn result_update(result: &ToolResultMessage, ids: &CallIds) -> Value {
    let mut update = json!({
        "sessionUpdate": "tool_call_update",
        "toolCallId": ids.current(&result.tool_call_id),
        "status": if result.is_error { "failed" } else { "completed" },
    });
    let is_shown = result.is_error || !tool_call::changes_file(&result.tool_name);
    if let (true, Some(fields)) = (is_shown, update.as_object_mut()) {
        let content = tool_call::blocks_content(&result.tool_name, &result.content);
        tool_call::insert_list(fields, "content", content);
    }
    update
}
