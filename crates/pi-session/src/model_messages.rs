//! What the application's own messages say to a model.
//!
//! Models know four roles; commands the user ran, messages of extensions and summaries become user
//! messages here, and nowhere else.

use pi_ai::{AgentMessage, BashExecutionMessage, MessageContent, InputBlock, Message, UserMessage};

const COMPACTION_LEAD: &str = "Everything before this point was replaced by this summary of it:";
const BRANCH_LEAD: &str = "The conversation came back from another branch, summarized here:";

/// Converts a transcript for a model; what no model shall see is left out.
pub fn to_model_messages<'transcript>(
    messages: impl IntoIterator<Item = &'transcript AgentMessage>,
) -> Vec<Message> {
    messages.into_iter().filter_map(to_model_message).collect()
}

/// Converts a message for a model; none where the model shall not see it.
pub fn to_model_message(message: &AgentMessage) -> Option<Message> {
    match message {
        AgentMessage::System(system) => Some(Message::System(system.clone())),
        AgentMessage::User(user) => Some(Message::User(user.clone())),
        AgentMessage::Assistant(answer) => Some(Message::Assistant(answer.clone())),
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
        // Roles of a newer pi are kept in the file and sent to nobody.
        _ => None,
    }
}

fn user_text(text: String, timestamp: i64) -> Message {
    user_message(MessageContent::Blocks(vec![InputBlock::text(text)]), timestamp)
}

fn user_message(content: MessageContent, timestamp: i64) -> Message {
    Message::from(UserMessage {
        content,
        timestamp,
        ..UserMessage::default()
    })
}

/// Tells the model about a command the user ran: the command, what it printed, how it ended.
pub fn bash_execution_text(bash: &BashExecutionMessage) -> String {
    let mut text = format!("Ran `{}`\n", bash.command);
    if bash.output.is_empty() {
        text.push_str("(it printed nothing)");
    } else {
        let fence = fence_around(&bash.output);
        text.extend([&fence, "\n", &bash.output, "\n", &fence]);
    }
    let ending = match bash.exit_code {
        _ if bash.cancelled => Some("(the user cancelled the command)".to_owned()),
        Some(0) | None => None,
        Some(code) => Some(format!("The command failed with exit code {code}.")),
    };
    let cut = bash
        .full_output_path
        .as_ref()
        .filter(|_| bash.truncated)
        .map(|path| format!("[The beginning of the output is cut off. All of it is in {path}]"));
    for note in ending.into_iter().chain(cut) {
        text.extend(["\n\n", &note]);
    }
    text
}

/// Returns a fence that the text cannot close.
fn fence_around(text: &str) -> String {
    let longest = text.split(|character| character != '`').map(str::len).max();
    "`".repeat(longest.map_or(3, |length| (length + 1).max(3)))
}

#[cfg(test)]
mod tests;
