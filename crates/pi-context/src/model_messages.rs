//! Converts application messages for the model. Models support four roles; user shell commands,
//! extension messages and summaries become user messages here.

use pi_protocol::{
    AgentMessage, BashExecutionMessage, InputBlock, Message, MessageContent, UserMessage,
};

const COMPACTION_LEAD: &str = "The conversation before this point was compacted into this summary:";
const BRANCH_LEAD: &str =
    "The user returned from another branch of the conversation. Summary of that branch:";

/// Converts a transcript for a model, without the messages that the model must not see.
pub fn to_model_messages<'transcript>(
    messages: impl IntoIterator<Item = &'transcript AgentMessage>,
) -> Vec<Message> {
    messages.into_iter().filter_map(to_model_message).collect()
}

/// Converts a message for a model; `None` if the model must not see it.
pub fn to_model_message(message: &AgentMessage) -> Option<Message> {
    match message {
        AgentMessage::System(system) => Some(Message::System(system.clone())),
        AgentMessage::User(user) => Some(Message::User(user.clone())),
        AgentMessage::Assistant(response) => Some(Message::Assistant(response.clone())),
        AgentMessage::ToolResult(result) => Some(Message::ToolResult(result.clone())),
        AgentMessage::BashExecution(bash) if bash.exclude_from_context == Some(true) => None,
        AgentMessage::BashExecution(bash) => {
            Some(user_text(bash_execution_text(bash), bash.timestamp))
        }
        AgentMessage::Custom(custom) => {
            let content = match &custom.content {
                MessageContent::Text(text) => MessageContent::Blocks(vec![InputBlock::text(text)]),
                MessageContent::Blocks(_) => custom.content.clone(),
            };
            Some(user_message(content, custom.timestamp))
        }
        AgentMessage::CompactionSummary(compaction) => {
            let text = format!(
                "{COMPACTION_LEAD}\n\n<summary>\n{}\n</summary>",
                compaction.summary
            );
            Some(user_text(text, compaction.timestamp))
        }
        AgentMessage::BranchSummary(branch) => {
            let text = format!("{BRANCH_LEAD}\n\n<summary>\n{}</summary>", branch.summary);
            Some(user_text(text, branch.timestamp))
        }
        // Unknown roles of newer versions are kept in the file and not sent.
        _ => None,
    }
}

fn user_text(text: String, timestamp: i64) -> Message {
    user_message(
        MessageContent::Blocks(vec![InputBlock::text(text)]),
        timestamp,
    )
}

fn user_message(content: MessageContent, timestamp: i64) -> Message {
    Message::from(UserMessage {
        content,
        timestamp,
        ..UserMessage::default()
    })
}

/// Describes a user's shell command to the model: the command, its output and its exit status.
pub fn bash_execution_text(bash: &BashExecutionMessage) -> String {
    let mut text = format!("Ran `{}`\n", bash.command);
    if bash.output.is_empty() {
        text.push_str("(no output)");
    } else {
        let fence = fence_around(&bash.output);
        text.extend([&fence, "\n", &bash.output, "\n", &fence]);
    }
    let status = match bash.exit_code {
        _ if bash.cancelled => Some("(command canceled by the user)".to_owned()),
        Some(0) | None => None,
        Some(code) => Some(format!("Command exited with code {code}")),
    };
    let truncation = bash
        .full_output_path
        .as_ref()
        .filter(|_| bash.truncated)
        .map(|path| format!("[Output truncated: only the end is shown. Full output: {path}]"));
    for note in status.into_iter().chain(truncation) {
        text.extend(["\n\n", &note]);
    }
    text
}

/// Returns a code fence that is longer than any in the text.
fn fence_around(text: &str) -> String {
    let longest = text.split(|character| character != '`').map(str::len).max();
    "`".repeat(longest.map_or(3, |length| (length + 1).max(3)))
}

#[cfg(test)]
mod tests;
