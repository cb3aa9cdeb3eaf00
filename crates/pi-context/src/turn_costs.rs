//! What each turn of a conversation cost.

use pi_protocol::{AgentMessage, AssistantMessage, Entry, EntryBody};

/// The requests between two prompts.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TurnCost {
    /// In US dollars.
    pub cost: f64,
    pub requests: usize,
    pub prompt_tokens: u64,
    /// Of the prompt tokens.
    pub cached_tokens: u64,
    pub output_tokens: u64,
}

impl TurnCost {
    fn add(&mut self, response: &AssistantMessage) {
        let usage = &response.usage;
        self.cost += usage.cost.total;
        self.requests += 1;
        self.prompt_tokens = self.prompt_tokens.saturating_add(usage.prompt_tokens());
        self.cached_tokens = self.cached_tokens.saturating_add(usage.cache_read);
        self.output_tokens = self.output_tokens.saturating_add(usage.output);
    }
}

/// Returns the cost of every turn; a turn starts with a prompt.
pub fn turn_costs<'a>(entries: impl Iterator<Item = &'a Entry>) -> Vec<TurnCost> {
    let mut turns: Vec<TurnCost> = Vec::new();
    let mut starts_turn = true;
    for entry in entries {
        match &entry.body {
            EntryBody::Message(AgentMessage::User(_)) => starts_turn = true,
            EntryBody::Message(AgentMessage::Assistant(response)) => {
                if std::mem::take(&mut starts_turn) || turns.is_empty() {
                    turns.push(TurnCost::default());
                }
                if let Some(turn) = turns.last_mut() {
                    turn.add(response);
                }
            }
            _ => {}
        }
    }
    turns
}
