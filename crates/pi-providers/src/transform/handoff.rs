//! The hand-off itself: adapts every message to the target model and pairs every call with a result.
//!
//! Services reject a call without a result, a result without a call, two results for one call and
//! (most of them) anything between the two. Histories contain all of these: a run was canceled, the
//! process died, an extension truncated the context, a system message arrived while a tool ran.

use std::borrow::Cow;
use std::collections::HashSet;

use pi_protocol::{
    AssistantBlock, AssistantMessage, InputBlock, MISSING_RESULT, Message, MessageContent, Model,
    ToolCall, ToolResultMessage, UserMessage,
};

use super::images::{ImageOrigin, supported_blocks};
use super::thinking::{Recipient, replay_block};
use super::{CallIdRule, is_same_model};

/// Returns the transcript as the target model accepts it.
pub fn hand_off<'transcript>(
    messages: Vec<Cow<'transcript, Message>>,
    model: &Model,
    call_id: CallIdRule<'_>,
    now_ms: i64,
) -> Vec<Cow<'transcript, Message>> {
    let mut ids = CallIds::new(&messages, model, call_id);
    let mut paired = PairedTranscript::with_capacity(messages.len(), now_ms);
    for message in messages {
        match message.as_ref() {
            Message::System(_) => paired.push(message),
            Message::User(user) => {
                let adapted = adapt_user(user, model).map(|user| Cow::Owned(user.into()));
                paired.push(adapted.unwrap_or(message));
            }
            // A failed turn may hold a partial call or thinking without its response; no service accepts
            // that.
            Message::Assistant(assistant) if assistant.stop_reason.is_failure() => {}
            Message::Assistant(assistant) => {
                let adapted = adapt_assistant(assistant, model, &mut ids);
                let calls = PendingCall::all(assistant, adapted.as_ref().unwrap_or(assistant));
                let is_empty = adapted.as_ref().unwrap_or(assistant).content.is_empty();
                if !is_empty {
                    let adapted = adapted.map(|assistant| Cow::Owned(assistant.into()));
                    paired.push_assistant(adapted.unwrap_or(message), calls);
                }
            }
            Message::ToolResult(result) => {
                if let Some(call) = paired.take_call(&result.tool_call_id) {
                    let adapted = adapt_result(result, model, &call);
                    let adapted = adapted.map(|result| Cow::Owned(result.into()));
                    paired.push_result(adapted.unwrap_or(message));
                }
            }
        }
    }
    paired.finish()
}

fn adapt_user(user: &UserMessage, model: &Model) -> Option<UserMessage> {
    let MessageContent::Blocks(blocks) = &user.content else {
        return None;
    };
    let blocks = supported_blocks(blocks, model.accepts_images(), ImageOrigin::User)?;
    Some(UserMessage {
        content: MessageContent::Blocks(blocks),
        timestamp: user.timestamp,
        extra: user.extra.clone(),
    })
}

fn adapt_result(
    result: &ToolResultMessage,
    model: &Model,
    call: &PendingCall,
) -> Option<ToolResultMessage> {
    let blocks = supported_blocks(&result.content, model.accepts_images(), ImageOrigin::Tool);
    if blocks.is_none() && result.tool_call_id == call.id && !result.tool_name.is_empty() {
        return None;
    }
    Some(ToolResultMessage {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        content: blocks.unwrap_or_else(|| result.content.clone()),
        details: None,
        usage: None,
        is_error: result.is_error,
        duration_ms: None,
        timestamp: result.timestamp,
        nested_calls: None,
        extra: result.extra.clone(),
    })
}

/// Returns the adapted message, or `None` if it needs no change.
fn adapt_assistant(
    message: &AssistantMessage,
    model: &Model,
    ids: &mut CallIds<'_>,
) -> Option<AssistantMessage> {
    let recipient = if is_same_model(message, model) {
        Recipient::SameModel
    } else {
        Recipient::OtherModel
    };
    let is_kept = |block| matches!(replay_block(block, recipient), Some(Cow::Borrowed(_)));
    if recipient == Recipient::SameModel
        && message.tool_calls().nth(1).is_none()
        && message.content.iter().all(is_kept)
    {
        return None;
    }
    let mut seen_ids = HashSet::new();
    let blocks: Vec<Cow<'_, AssistantBlock>> = message
        .content
        .iter()
        .filter_map(|block| Some((block.as_tool_call(), replay_block(block, recipient)?)))
        .map(|(original, block)| {
            let is_first = original.is_none_or(|call| seen_ids.insert(call.id.as_str()));
            let renamed_call = block.as_tool_call().and_then(|call| match recipient {
                Recipient::OtherModel => ids.with_target_id(call, message),
                Recipient::SameModel if is_first => None,
                Recipient::SameModel => Some(ids.with_unique_id(call, message)),
            });
            match renamed_call {
                Some(call) => Cow::Owned(AssistantBlock::ToolCall(call)),
                None => block,
            }
        })
        .collect();
    let unchanged = blocks.len() == message.content.len()
        && blocks.iter().all(|block| matches!(block, Cow::Borrowed(_)));
    if unchanged {
        return None;
    }
    let content = blocks.into_iter().map(Cow::into_owned).collect();
    Some(AssistantMessage {
        content,
        ..message.clone()
    })
}

/// Assigns unique IDs that the target accepts to calls of other models.
struct CallIds<'rule> {
    rule: CallIdRule<'rule>,
    taken: HashSet<String>,
}

impl<'rule> CallIds<'rule> {
    fn new(messages: &[Cow<'_, Message>], model: &Model, rule: CallIdRule<'rule>) -> Self {
        let assistant_messages = || messages.iter().filter_map(|message| message.as_assistant());
        // If all calls are the target's own, none is renamed.
        if assistant_messages().all(|message| is_same_model(message, model)) {
            let taken = HashSet::new();
            return Self { rule, taken };
        }
        // The target's own IDs cannot change, so they are reserved.
        let taken = assistant_messages()
            .filter(|message| is_same_model(message, model))
            .flat_map(AssistantMessage::tool_calls)
            .map(|call| call_part(&call.id).to_owned())
            .collect();
        Self { rule, taken }
    }

    /// Returns the call with its new ID, or `None` if it keeps the old one.
    fn with_target_id(&mut self, call: &ToolCall, source: &AssistantMessage) -> Option<ToolCall> {
        let mut id = (self.rule)(&call.id, source);
        // Some services restart their IDs in every turn, and rules truncate.
        if id.is_empty() || !self.taken.insert(call_part(&id).to_owned()) {
            id = self.salted(call, source);
        }
        (id != call.id).then(|| ToolCall { id, ..call.clone() })
    }

    /// Returns the call with a new ID, for a call that reuses the ID of an earlier call in its message.
    fn with_unique_id(&mut self, call: &ToolCall, source: &AssistantMessage) -> ToolCall {
        let existing = source
            .tool_calls()
            .map(|call| call_part(&call.id).to_owned());
        self.taken.extend(existing);
        let id = self.salted(call, source);
        ToolCall { id, ..call.clone() }
    }

    /// Returns an unused ID. The salt is a prefix, because rules truncate at the end.
    fn salted(&mut self, call: &ToolCall, source: &AssistantMessage) -> String {
        let mut attempt = 1_usize;
        loop {
            let id = (self.rule)(&format!("{attempt}_{}", call.id), source);
            if !id.is_empty() && self.taken.insert(call_part(&id).to_owned()) {
                return id;
            }
            attempt += 1;
        }
    }
}

/// Returns the part of an ID that ties a result to its call. The Responses APIs send only the part
/// before the `|`, and calls of one turn may share it.
fn call_part(id: &str) -> &str {
    id.split_once('|').map_or(id, |(call, _)| call)
}

/// A call without a result so far.
struct PendingCall {
    /// The ID that results in the history refer to.
    original_id: String,
    /// The ID sent to the target.
    id: String,
    name: String,
}

impl PendingCall {
    fn all(original: &AssistantMessage, adapted: &AssistantMessage) -> Vec<Self> {
        original
            .tool_calls()
            .zip(adapted.tool_calls())
            .map(|(original, adapted)| Self {
                original_id: original.id.clone(),
                id: adapted.id.clone(),
                name: adapted.name.clone(),
            })
            .collect()
    }
}

/// A transcript in which results directly follow their calls.
struct PairedTranscript<'transcript> {
    messages: Vec<Cow<'transcript, Message>>,
    /// Calls of the last assistant message without a result, in call order.
    pending_calls: Vec<PendingCall>,
    /// Messages that arrived while results were missing; they follow the results.
    deferred: Vec<Cow<'transcript, Message>>,
    now_ms: i64,
}

impl<'transcript> PairedTranscript<'transcript> {
    fn with_capacity(capacity: usize, now_ms: i64) -> Self {
        Self {
            messages: Vec::with_capacity(capacity),
            pending_calls: Vec::new(),
            deferred: Vec::new(),
            now_ms,
        }
    }

    fn push(&mut self, message: Cow<'transcript, Message>) {
        if self.pending_calls.is_empty() {
            self.messages.push(message);
        } else {
            self.deferred.push(message);
        }
    }

    fn push_assistant(&mut self, message: Cow<'transcript, Message>, calls: Vec<PendingCall>) {
        self.close_pending_calls();
        self.messages.push(message);
        self.pending_calls = calls;
    }

    /// Removes the call that a result belongs to; a result without one cannot be sent.
    fn take_call(&mut self, original_id: &str) -> Option<PendingCall> {
        let position = self
            .pending_calls
            .iter()
            .position(|call| call.original_id == original_id)?;
        Some(self.pending_calls.remove(position))
    }

    fn push_result(&mut self, result: Cow<'transcript, Message>) {
        self.messages.push(result);
        if self.pending_calls.is_empty() {
            self.messages.append(&mut self.deferred);
        }
    }

    /// Adds an error result for every call without one.
    fn close_pending_calls(&mut self) {
        for call in self.pending_calls.drain(..) {
            let result = ToolResultMessage {
                tool_call_id: call.id,
                tool_name: call.name,
                content: vec![InputBlock::text(MISSING_RESULT)],
                is_error: true,
                timestamp: self.now_ms,
                ..ToolResultMessage::default()
            };
            self.messages.push(Cow::Owned(result.into()));
        }
        self.messages.append(&mut self.deferred);
    }

    fn finish(mut self) -> Vec<Cow<'transcript, Message>> {
        self.close_pending_calls();
        self.messages
    }
}

#[cfg(test)]
mod tests;
