//! Follows a recorded conversation: which prompt comes next, and what model and tools return.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use pi_env::Env;
use pi_protocol::{
    AgentMessage, AssistantBlock, AssistantMessage, Entry, ToolResultMessage, UserMessage,
};

use super::ReplayReport;
use super::comparison::{first_difference, replayed_messages};
use super::record::{RecordError, RecordedConversation};

/// Error of the model when the record has no further response.
pub const END_OF_RECORD: &str = "end of record";

/// A recorded conversation and how far it was replayed.
#[derive(Debug)]
pub struct ReplayScript {
    messages: Vec<AgentMessage>,
    /// Indexes of messages that follow an extension message.
    after_extension: Vec<usize>,
    /// The first message that was not replayed yet.
    position: usize,
}

/// What the user does next in the record.
#[derive(Debug, Clone)]
pub enum NextPrompt {
    Send(Arc<UserMessage>),
    /// There is no further prompt; this many messages of the record could be reached.
    End {
        reached: usize,
    },
}

/// A recorded response, and the messages the user sent during it.
#[derive(Debug, Clone)]
pub struct ScriptedTurn {
    pub response: Arc<AssistantMessage>,
    pub steering: Vec<Arc<UserMessage>>,
}

impl ReplayScript {
    /// Reads a record: a session file, or the archive of a bug report.
    pub fn read(path: &Path, env: &Env) -> Result<Self, RecordError> {
        Ok(Self::new(RecordedConversation::read(path, env)?))
    }

    fn new(record: RecordedConversation) -> Self {
        Self {
            messages: record.messages,
            after_extension: record.after_extension,
            position: 0,
        }
    }

    pub fn has_prompt(&self) -> bool {
        let mut messages = self.messages.iter();
        messages.any(|message| matches!(message, AgentMessage::User(_)))
    }

    /// Takes the prompt at the current position.
    pub fn next_prompt(&mut self) -> NextPrompt {
        match self.messages.get(self.position) {
            Some(AgentMessage::User(message)) => {
                self.position += 1;
                NextPrompt::Send(Arc::clone(message))
            }
            // An extension continued here.
            Some(_) if self.after_extension.contains(&self.position) => NextPrompt::End {
                reached: self.position,
            },
            // The end, or the loop stopped earlier than in the record.
            _ => NextPrompt::End {
                reached: self.messages.len(),
            },
        }
    }

    /// Takes the response at the current position, its results, and the messages sent before the
    /// next response.
    pub fn next_turn(&mut self) -> Option<ScriptedTurn> {
        let Some(AgentMessage::Assistant(response)) = self.messages.get(self.position) else {
            return None;
        };
        let response = Arc::clone(response);
        self.position += 1;
        let results = self
            .rest()
            .take_while(|message| matches!(message, AgentMessage::ToolResult(_)))
            .count();
        self.position += results;
        let mut steering = Vec::new();
        if results > 0 {
            steering.extend(self.rest().map_while(|message| match message {
                AgentMessage::User(message) => Some(Arc::clone(message)),
                _ => None,
            }));
            // Without a following response, they are separate prompts.
            match self.messages.get(self.position + steering.len()) {
                Some(AgentMessage::Assistant(_)) => self.position += steering.len(),
                _ => steering.clear(),
            }
        }
        Some(ScriptedTurn { response, steering })
    }

    fn rest(&self) -> impl Iterator<Item = &AgentMessage> {
        self.messages.iter().skip(self.position)
    }

    /// Returns the names of the tools that were called.
    pub fn tool_names(&self) -> BTreeSet<String> {
        let responses = self.messages.iter().filter_map(|message| match message {
            AgentMessage::Assistant(response) => Some(response),
            _ => None,
        });
        let blocks = responses.flat_map(|response| &response.content);
        let names = blocks.filter_map(|block| match block {
            AssistantBlock::ToolCall(call) => Some(call.name.clone()),
            _ => None,
        });
        names.collect()
    }

    /// Returns the recorded results by call ID.
    pub fn tool_results(&self) -> HashMap<String, Arc<ToolResultMessage>> {
        let results = self.messages.iter().filter_map(|message| match message {
            AgentMessage::ToolResult(result) => {
                Some((result.tool_call_id.clone(), Arc::clone(result)))
            }
            _ => None,
        });
        results.collect()
    }

    /// Compares the record up to `reached` with the entries of the replay.
    pub fn compare(&self, reached: usize, replayed: &[Arc<Entry>]) -> ReplayReport {
        let compared = self.messages.get(..reached).unwrap_or(&self.messages);
        let is_response = |message: &&AgentMessage| matches!(message, AgentMessage::Assistant(_));
        ReplayReport {
            messages: compared.len(),
            answers: compared.iter().filter(is_response).count(),
            skipped: self.messages.len() - compared.len(),
            difference: first_difference(compared, &replayed_messages(replayed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

    use super::*;

    fn script(messages: Value) -> ReplayScript {
        ReplayScript::new(RecordedConversation {
            messages: serde_json::from_value(messages).unwrap(),
            after_extension: vec![2],
        })
    }

    fn user(text: &str) -> Value {
        json!({"role": "user", "content": text, "timestamp": 1})
    }

    fn response(content: &Value) -> Value {
        json!({
            "role": "assistant", "content": content, "api": "anthropic-messages",
            "provider": "anthropic", "model": "m", "stopReason": "stop", "timestamp": 2,
            "usage": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 3,
                "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}},
        })
    }

    fn call() -> Value {
        response(&json!([{"type": "toolCall", "id": "1", "name": "bash", "arguments": {}}]))
    }

    fn result() -> Value {
        json!({
            "role": "toolResult", "toolCallId": "1", "toolName": "bash", "isError": false,
            "content": [{"type": "text", "text": "done"}], "timestamp": 3,
        })
    }

    #[test]
    fn messages_between_results_and_a_response_are_steering() {
        let mut script = script(json!([
            user("go"),
            call(),
            result(),
            user("faster"),
            response(&json!([])),
        ]));
        assert!(script.has_prompt());
        assert!(matches!(script.next_prompt(), NextPrompt::Send(_)));
        assert_eq!(script.next_turn().unwrap().steering.len(), 1);
        assert_eq!(script.next_turn().unwrap().steering.len(), 0);
        assert!(script.next_turn().is_none());
        assert!(matches!(
            script.next_prompt(),
            NextPrompt::End { reached: 5 }
        ));
        assert_eq!(Vec::from_iter(script.tool_names()), ["bash"]);
        assert!(script.tool_results().contains_key("1"));
    }

    #[test]
    fn messages_without_a_following_response_are_prompts() {
        let mut script = script(json!([call(), result(), user("and now?")]));
        assert_eq!(script.next_turn().unwrap().steering.len(), 0);
        assert!(matches!(script.next_prompt(), NextPrompt::Send(_)));
    }

    #[test]
    fn a_response_after_an_extension_message_is_not_reached() {
        let mut script = script(json!([
            user("go"),
            response(&json!([])),
            response(&json!([]))
        ]));
        assert!(matches!(script.next_prompt(), NextPrompt::Send(_)));
        assert!(script.next_turn().is_some());
        let NextPrompt::End { reached } = script.next_prompt() else {
            panic!("there is no second prompt");
        };
        let report = script.compare(reached, &[]);
        assert_eq!((report.messages, report.skipped), (2, 1));
        assert_eq!(report.difference.unwrap().position, 1);
    }
}
