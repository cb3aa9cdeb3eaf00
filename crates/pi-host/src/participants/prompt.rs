//! A prompt that is about to start a run.

use futures_util::future::BoxFuture;
use pi_context::PromptSections;
use pi_protocol::{AgentMessage, ImageContent, MessageContent};
use serde_json::Value;

use super::{Participants, ready};

/// Changes the system prompt, the tools and the first messages of a run.
pub trait PromptHook: Send + Sync {
    /// Called when a prompt, or a message of an extension, is about to start a run.
    fn before_agent_start(&self, start: AgentStart) -> BoxFuture<'_, AgentStartChanges> {
        let _ = start;
        ready(AgentStartChanges::default())
    }
}

/// A prompt or a message of an extension that is about to start a run.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentStart {
    /// Empty if a message of an extension starts the run.
    pub prompt: String,
    /// The images as given, before resizing.
    pub images: Vec<ImageContent>,
    /// The message of an extension that starts the run; `None` for a prompt.
    pub message: Option<AgentMessage>,
    /// The current system prompt.
    pub sections: PromptSections,
    pub tools: Vec<String>,
}

/// Changes a hook makes to a run before it starts; `None` leaves a value unchanged.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AgentStartChanges {
    /// Messages to send together with the prompt.
    pub messages: Vec<CustomMessageDraft>,
    /// Replacement sections of the system prompt for this run.
    pub sections: Option<PromptSections>,
    /// Text that replaces the complete system prompt in requests of this run. The transcript keeps
    /// its sections.
    pub forced_prompt: Option<String>,
    pub tools: Option<Vec<String>>,
}

/// An extension message without a timestamp.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CustomMessageDraft {
    /// The extension's name for this kind of message.
    pub custom_type: String,
    pub content: MessageContent,
    /// Whether the message is shown to the user.
    pub display: bool,
    /// Data for the extension; not sent to the model.
    pub details: Option<Value>,
}

impl Participants {
    /// Every hook sees the sections and tools of the hooks before it. Messages accumulate; the last
    /// change of any other value applies.
    pub(crate) async fn before_agent_start(&self, start: AgentStart) -> AgentStartChanges {
        let mut seen = start;
        let mut changes = AgentStartChanges::default();
        for hook in &self.prompt {
            let more = hook.before_agent_start(seen.clone()).await;
            if let Some(sections) = &more.sections {
                seen.sections.clone_from(sections);
            }
            if let Some(tools) = &more.tools {
                seen.tools.clone_from(tools);
            }
            changes.messages.extend(more.messages);
            changes = AgentStartChanges {
                messages: changes.messages,
                sections: more.sections.or(changes.sections),
                forced_prompt: more.forced_prompt.or(changes.forced_prompt),
                tools: more.tools.or(changes.tools),
            };
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;
    use pretty_assertions::assert_eq;

    use super::*;

    /// Returns fixed changes and records the tools and the prompt it sees.
    struct FixedStart {
        changes: AgentStartChanges,
        seen: Mutex<Vec<(Vec<String>, PromptSections)>>,
    }

    impl FixedStart {
        fn new(changes: AgentStartChanges) -> Arc<Self> {
            Arc::new(Self {
                changes,
                seen: Mutex::default(),
            })
        }
    }

    impl PromptHook for FixedStart {
        fn before_agent_start(&self, start: AgentStart) -> BoxFuture<'_, AgentStartChanges> {
            let mut seen = self.seen.lock();
            seen.push((start.tools, start.sections));
            ready(self.changes.clone())
        }
    }

    fn message(custom_type: &str) -> CustomMessageDraft {
        CustomMessageDraft {
            custom_type: custom_type.to_owned(),
            ..CustomMessageDraft::default()
        }
    }

    #[tokio::test]
    async fn messages_accumulate_and_the_last_change_of_a_value_applies() {
        let sections = PromptSections::new("changed");
        let first = FixedStart::new(AgentStartChanges {
            messages: vec![message("one")],
            sections: Some(sections.clone()),
            forced_prompt: Some("first".to_owned()),
            tools: Some(vec!["read".to_owned()]),
        });
        let second = FixedStart::new(AgentStartChanges {
            messages: vec![message("two")],
            sections: None,
            forced_prompt: Some("second".to_owned()),
            tools: None,
        });
        let participants = Participants::builder()
            .prompt(Arc::clone(&first))
            .prompt(Arc::clone(&second))
            .build();
        let original = PromptSections::new("original");
        let changes = participants
            .before_agent_start(AgentStart {
                prompt: "go".to_owned(),
                message: None,
                images: Vec::new(),
                sections: original.clone(),
                tools: Vec::new(),
            })
            .await;
        assert_eq!(
            changes,
            AgentStartChanges {
                messages: vec![message("one"), message("two")],
                sections: Some(sections.clone()),
                forced_prompt: Some("second".to_owned()),
                tools: Some(vec!["read".to_owned()]),
            }
        );
        assert_eq!(*first.seen.lock(), [(vec![], original)]);
        assert_eq!(*second.seen.lock(), [(vec!["read".to_owned()], sections)]);
    }
}
