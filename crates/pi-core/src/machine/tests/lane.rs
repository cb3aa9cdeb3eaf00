//! A lane of a simulation.

use std::collections::VecDeque;

use pi_protocol::{AssistantMessageEvent, RequestId, ToolCall};

use super::fixtures::label_of;
use super::script::ScriptedResponse;
use crate::machine::{Effect, Input, Reply};

/// The effects that follow one request.
#[derive(Debug)]
pub(super) struct SimulatedLane {
    /// The label of the message that the request adds.
    pub label: Option<String>,
    pub effects: VecDeque<Effect>,
    pub work: Option<Work>,
    pub tools: Vec<RunningTool>,
    /// Requests whose answers the lane waits for.
    pub asked: Vec<RequestId>,
    pub replies: Vec<Reply>,
    pub needs_reply: bool,
    pub is_navigation: bool,
    /// The request that the lane answers.
    pub answers: Option<RequestId>,
    /// The deferred prompt whose reply follows.
    pub resubmitted: Option<String>,
}

/// An effect whose outcome is outstanding.
#[derive(Debug)]
pub(super) enum Work {
    Effect(Effect),
    Stream {
        response: ScriptedResponse,
        parts: VecDeque<AssistantMessageEvent>,
    },
    Navigation,
}

#[derive(Debug)]
pub(super) struct RunningTool {
    pub index: usize,
    pub call: ToolCall,
    /// Whether an update was sent; tools whose name starts with `slow` send one.
    pub updated: bool,
}

impl SimulatedLane {
    pub(super) fn new(input: &Input) -> Self {
        Self {
            label: label_of(input),
            effects: VecDeque::new(),
            work: None,
            tools: Vec::new(),
            asked: Vec::new(),
            replies: Vec::new(),
            needs_reply: !matches!(input, Input::BashFinished(_)),
            is_navigation: matches!(input, Input::Navigate),
            answers: match input {
                Input::Answer { request, .. } => Some(request.clone()),
                _ => None,
            },
            resubmitted: None,
        }
    }

    /// Whether a move in the tree is accepted and has not begun.
    pub(super) fn is_about_to_navigate(&self) -> bool {
        let accepted = |effect: &Effect| matches!(effect, Effect::Reply(Reply::Started));
        self.is_navigation && self.replies.is_empty() && self.effects.iter().any(accepted)
    }

    /// Whether calls are running or waiting for approval.
    pub(super) fn has_tools(&self) -> bool {
        let begins = |effect: &Effect| matches!(effect, Effect::Execute { .. } | Effect::Ask(_));
        let is_waiting = !self.tools.is_empty() || !self.asked.is_empty();
        is_waiting || self.effects.iter().any(begins)
    }
}
