//! Queued messages: steering for the next turn, follow-ups for the end of a run.

use std::collections::VecDeque;

use pi_protocol::AgentMessage;
use serde::{Deserialize, Serialize};

/// How many queued messages a drain takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueMode {
    All,
    #[default]
    OneAtATime,
}

/// A queue of messages with its drain mode.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MessageQueue {
    messages: VecDeque<AgentMessage>,
    mode: QueueMode,
}

impl MessageQueue {
    pub fn new(mode: QueueMode) -> Self {
        Self {
            messages: VecDeque::new(),
            mode,
        }
    }

    pub fn mode(&self) -> QueueMode {
        self.mode
    }

    pub fn set_mode(&mut self, mode: QueueMode) {
        self.mode = mode;
    }

    pub fn push(&mut self, message: AgentMessage) {
        self.messages.push_back(message);
    }

    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Returns all queued messages, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &AgentMessage> {
        self.messages.iter()
    }

    /// Returns the messages the next drain would take.
    pub fn peek(&self) -> Vec<AgentMessage> {
        self.messages
            .iter()
            .take(self.drain_length())
            .cloned()
            .collect()
    }

    /// Takes as many messages as the mode allows.
    pub fn drain(&mut self) -> Vec<AgentMessage> {
        let length = self.drain_length();
        self.messages.drain(..length).collect()
    }

    /// Takes all messages.
    pub fn clear(&mut self) -> Vec<AgentMessage> {
        self.messages.drain(..).collect()
    }

    fn drain_length(&self) -> usize {
        match self.mode {
            QueueMode::All => self.messages.len(),
            QueueMode::OneAtATime => self.messages.len().min(1),
        }
    }
}
