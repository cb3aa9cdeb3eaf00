//! Measures what fills the context of a model.

use std::collections::BTreeMap;

use pi_protocol::{
    AgentMessage, AssistantBlock, ContextItem, ContextPart, ContextReport, ContextShare,
    MessageContent, SystemMessage,
};
use pi_session::Projection;
use serde_json::Value;

use crate::estimate::message_tokens;
use crate::sections::PromptSection;

/// How many of the largest entries are listed.
const LARGEST: usize = 10;

/// With the columns before it, a title fits a row of 80 columns.
const MAX_TITLE: usize = 52;

/// Estimates the size of every part of the context.
pub fn context_report(projection: &Projection, context_window: u64) -> ContextReport {
    let mut parts: BTreeMap<ContextPart, u64> = BTreeMap::new();
    if let Some(system) = projection.system_message() {
        let files = with_sections(&system, |name| name == PromptSection::ProjectContext.name());
        let tools = SystemMessage {
            tools_added: system.tools_added.clone(),
            ..SystemMessage::default()
        };
        let whole = tokens_of(system);
        let (files, tools) = (tokens_of(files), tokens_of(tools));
        let rest = whole.saturating_sub(files).saturating_sub(tools);
        parts.extend([
            (ContextPart::System, rest),
            (ContextPart::ContextFiles, files),
            (ContextPart::Tools, tools),
        ]);
    }
    let mut largest = Vec::new();
    for entry in projection.entries() {
        for message in entry.messages() {
            let Some(part) = part_of(message) else {
                continue;
            };
            let tokens = message_tokens(message);
            *parts.entry(part).or_default() += tokens;
            largest.push(ContextItem {
                entry_id: entry.entry().id.clone(),
                part,
                tokens,
                title: title(message),
            });
        }
    }
    pi_protocol::sort_by(&mut largest, |one, other| other.tokens.cmp(&one.tokens));
    largest.truncate(LARGEST);
    ContextReport {
        estimated_tokens: parts.values().sum(),
        parts: parts
            .into_iter()
            .filter(|(_, tokens)| *tokens > 0)
            .map(|(part, tokens)| ContextShare { part, tokens })
            .collect(),
        largest,
        context_window,
    }
}

fn tokens_of(system: SystemMessage) -> u64 {
    message_tokens(&system.into())
}

/// Returns a system message with only some of the sections.
fn with_sections(system: &SystemMessage, is_kept: impl Fn(&str) -> bool) -> SystemMessage {
    let sections = system.sections.iter().flatten();
    let kept = sections.filter(|(name, _)| is_kept(name));
    SystemMessage {
        sections: Some(
            kept.map(|(name, text)| (name.clone(), text.clone()))
                .collect(),
        ),
        ..SystemMessage::default()
    }
}

const fn part_of(message: &AgentMessage) -> Option<ContextPart> {
    Some(match message {
        AgentMessage::User(_) => ContextPart::User,
        AgentMessage::Assistant(_) => ContextPart::Assistant,
        AgentMessage::ToolResult(_) | AgentMessage::BashExecution(_) => ContextPart::ToolResults,
        AgentMessage::Custom(_) => ContextPart::Extensions,
        AgentMessage::BranchSummary(_) | AgentMessage::CompactionSummary(_) => {
            ContextPart::Summaries
        }
        _ => return None,
    })
}

fn title(message: &AgentMessage) -> String {
    let text = match message {
        AgentMessage::User(user) => content_text(&user.content),
        AgentMessage::Custom(custom) => content_text(&custom.content),
        AgentMessage::ToolResult(result) => {
            let blocks = MessageContent::Blocks(result.content.clone());
            format!("{}: {}", result.tool_name, content_text(&blocks))
        }
        AgentMessage::BashExecution(bash) => format!("! {}", bash.command),
        AgentMessage::BranchSummary(branch) => branch.summary.clone(),
        AgentMessage::CompactionSummary(compaction) => compaction.summary.clone(),
        AgentMessage::Assistant(response) => response
            .content
            .iter()
            .find_map(|block| match block {
                AssistantBlock::Text(text) => Some(text.text.clone()),
                AssistantBlock::ToolCall(call) => {
                    let arguments = Value::Object(call.arguments.clone().into_iter().collect());
                    Some(format!("{} {arguments}", call.name))
                }
                _ => None,
            })
            .unwrap_or_default(),
        _ => String::new(),
    };
    let words = text.split_whitespace().take(MAX_TITLE);
    let line = words.collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MAX_TITLE {
        return line;
    }
    let start: String = line.chars().take(MAX_TITLE - 1).collect();
    format!("{}…", start.trim_end())
}

fn content_text(content: &MessageContent) -> String {
    content.joined_text()
}

#[cfg(test)]
mod tests {
    use pi_session::project_path;
    use pi_session::testing::{TestPath, response, user};
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_add_up_and_the_largest_entries_come_first() {
        let system = json!({"type": "message", "message": {"role": "system", "content": "",
            "sections": {"preamble": "x".repeat(400), "project_context": "y".repeat(800)},
            "toolsAdded": [{"name": "read", "description": "z".repeat(400), "parameters": {}}]}});
        let long = format!("many\nwords {}", "w".repeat(4000));
        let path = TestPath::of([system, user("short"), response("answer"), user(&long)]);
        let projection = project_path(&path.entries);
        let report = context_report(&projection, 1000);
        let tokens = |part| {
            let share = report.parts.iter().find(|share| share.part == part);
            share.map(|share| share.tokens)
        };
        assert_eq!(tokens(ContextPart::System), Some(100));
        assert_eq!(tokens(ContextPart::ContextFiles), Some(200));
        assert!(tokens(ContextPart::Tools) > Some(100));
        assert_eq!(tokens(ContextPart::ToolResults), None);
        let sum: u64 = report.parts.iter().map(|share| share.tokens).sum();
        assert_eq!(report.estimated_tokens, sum);
        let title = &report.largest[0].title;
        assert!(title.starts_with("many words www"), "{title}");
        assert!(title.ends_with("w…"), "{title}");
        assert_eq!(title.chars().count(), MAX_TITLE);
        assert_eq!(report.largest[0].part, ContextPart::User);
    }
}
