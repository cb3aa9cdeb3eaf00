//! The hand-off itself: every message adapted to its next reader, every call paired with a result.
//!
//! Services refuse a call without a result, a result without a call, two results for one call and
//! (most of them) anything between the two. Histories hold all of these: a run was cancelled, a
//! program died, an extension cut the context, a system message arrived while a tool ran.

use std::borrow::Cow;
use std::collections::HashSet;

use super::images::{Origin, readable_blocks};
use super::thinking::{Reader, readable};
use super::{CallIdRule, is_same_model};
use crate::content::{AssistantBlock, MessageContent, InputBlock, ToolCall};
use crate::message::{AssistantMessage, Message, ToolResultMessage, UserMessage};
use crate::model::Model;

/// The result of a call that never got one.
const RESULT_IS_MISSING: &str =
    "No result: this call was interrupted, and the tool may not have run.";

/// Returns the transcript as the target model may see it.
pub(crate) fn hand_off<'transcript>(
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
                let rewritten = readable_user(user, model).map(|user| Cow::Owned(user.into()));
                paired.push(rewritten.unwrap_or(message));
            }
            // A failed turn may hold half a call or thinking without its answer; no service takes
            // that back.
            Message::Assistant(assistant) if assistant.stop_reason.is_failure() => {}
            Message::Assistant(assistant) => {
                let rewritten = readable_assistant(assistant, model, &mut ids);
                let calls = OpenCall::all(assistant, rewritten.as_ref().unwrap_or(assistant));
                let is_empty = rewritten.as_ref().unwrap_or(assistant).content.is_empty();
                if !is_empty {
                    let rewritten = rewritten.map(|assistant| Cow::Owned(assistant.into()));
                    paired.push_answer(rewritten.unwrap_or(message), calls);
                }
            }
            Message::ToolResult(result) => {
                if let Some(call) = paired.answer(&result.tool_call_id) {
                    let rewritten = readable_result(result, model, &call);
                    let rewritten = rewritten.map(|result| Cow::Owned(result.into()));
                    paired.push_result(rewritten.unwrap_or(message));
                }
            }
        }
    }
    paired.finish()
}

fn readable_user(user: &UserMessage, model: &Model) -> Option<UserMessage> {
    let MessageContent::Blocks(blocks) = &user.content else {
        return None;
    };
    let blocks = readable_blocks(blocks, model.accepts_images(), Origin::User)?;
    Some(UserMessage {
        content: MessageContent::Blocks(blocks),
        timestamp: user.timestamp,
        extra: user.extra.clone(),
    })
}

fn readable_result(
    result: &ToolResultMessage,
    model: &Model,
    call: &OpenCall,
) -> Option<ToolResultMessage> {
    let blocks = readable_blocks(&result.content, model.accepts_images(), Origin::Tool);
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
        timestamp: result.timestamp,
        extra: result.extra.clone(),
    })
}

/// Returns the message as the model may see it, or nothing when it may stay as it is.
fn readable_assistant(
    message: &AssistantMessage,
    model: &Model,
    ids: &mut CallIds<'_>,
) -> Option<AssistantMessage> {
    let reader = if is_same_model(message, model) {
        Reader::Author
    } else {
        Reader::Stranger
    };
    let mut told = HashSet::new();
    let blocks: Vec<Cow<'_, AssistantBlock>> = message
        .content
        .iter()
        .filter_map(|block| Some((block.as_tool_call(), readable(block, reader)?)))
        .map(|(original, block)| {
            let is_first = original.is_none_or(|call| told.insert(call.id.as_str()));
            let renamed = block.as_tool_call().and_then(|call| match reader {
                Reader::Stranger => ids.renamed(call, message),
                Reader::Author if is_first => None,
                Reader::Author => Some(ids.set_apart(call, message)),
            });
            match renamed {
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

/// Gives the calls of other models ids that the target accepts, no two alike.
struct CallIds<'rule> {
    rule: CallIdRule<'rule>,
    taken: HashSet<String>,
}

impl<'rule> CallIds<'rule> {
    fn new(messages: &[Cow<'_, Message>], model: &Model, rule: CallIdRule<'rule>) -> Self {
        let answers = || messages.iter().filter_map(|message| message.as_assistant());
        // Where all calls are the target's own, none gets another id.
        if answers().all(|message| is_same_model(message, model)) {
            let taken = HashSet::new();
            return Self { rule, taken };
        }
        // The target's own ids cannot change, so nobody else may take them.
        let taken = answers()
            .filter(|message| is_same_model(message, model))
            .flat_map(AssistantMessage::tool_calls)
            .map(|call| sent_part(&call.id).to_owned())
            .collect();
        Self { rule, taken }
    }

    /// Returns the call under its new id, or nothing when it keeps the old one.
    fn renamed(&mut self, call: &ToolCall, source: &AssistantMessage) -> Option<ToolCall> {
        let mut id = (self.rule)(&call.id, source);
        // Some services count their ids from zero in every turn, and rules shorten.
        if id.is_empty() || !self.taken.insert(sent_part(&id).to_owned()) {
            id = self.salted(call, source);
        }
        (id != call.id).then(|| ToolCall { id, ..call.clone() })
    }

    /// Returns a call that has the id of an earlier call of its message under another.
    fn set_apart(&mut self, call: &ToolCall, source: &AssistantMessage) -> ToolCall {
        let own = source
            .tool_calls()
            .map(|call| sent_part(&call.id).to_owned());
        self.taken.extend(own);
        let id = self.salted(call, source);
        ToolCall { id, ..call.clone() }
    }

    /// Returns an id that nobody has. The salt leads, because rules cut at the end.
    fn salted(&mut self, call: &ToolCall, source: &AssistantMessage) -> String {
        let mut attempt = 1_usize;
        loop {
            let id = (self.rule)(&format!("{attempt}_{}", call.id), source);
            if !id.is_empty() && self.taken.insert(sent_part(&id).to_owned()) {
                return id;
            }
            attempt += 1;
        }
    }
}

/// Returns the part of an id that ties a result to its call. The Responses APIs send only what stands
/// before the bar, and calls of one turn may share it.
fn sent_part(id: &str) -> &str {
    id.split_once('|').map_or(id, |(call, _)| call)
}

/// A call that waits for its result.
struct OpenCall {
    /// The id results in the history name.
    original_id: String,
    /// The id the target sees.
    id: String,
    name: String,
}

impl OpenCall {
    fn all(original: &AssistantMessage, rewritten: &AssistantMessage) -> Vec<Self> {
        original
            .tool_calls()
            .zip(rewritten.tool_calls())
            .map(|(original, rewritten)| Self {
                original_id: original.id.clone(),
                id: rewritten.id.clone(),
                name: rewritten.name.clone(),
            })
            .collect()
    }
}

/// A transcript in which results follow their calls at once.
struct PairedTranscript<'transcript> {
    messages: Vec<Cow<'transcript, Message>>,
    /// Calls of the last assistant message without a result, in call order.
    open_calls: Vec<OpenCall>,
    /// Messages that came while results were missing; they follow the results.
    held: Vec<Cow<'transcript, Message>>,
    now_ms: i64,
}

impl<'transcript> PairedTranscript<'transcript> {
    fn with_capacity(capacity: usize, now_ms: i64) -> Self {
        Self {
            messages: Vec::with_capacity(capacity),
            open_calls: Vec::new(),
            held: Vec::new(),
            now_ms,
        }
    }

    fn push(&mut self, message: Cow<'transcript, Message>) {
        if self.open_calls.is_empty() {
            self.messages.push(message);
        } else {
            self.held.push(message);
        }
    }

    fn push_answer(&mut self, message: Cow<'transcript, Message>, calls: Vec<OpenCall>) {
        self.close_calls();
        self.messages.push(message);
        self.open_calls = calls;
    }

    /// Takes the call a result belongs to; a result without one cannot be sent.
    fn answer(&mut self, original_id: &str) -> Option<OpenCall> {
        let position = self
            .open_calls
            .iter()
            .position(|call| call.original_id == original_id)?;
        Some(self.open_calls.remove(position))
    }

    fn push_result(&mut self, result: Cow<'transcript, Message>) {
        self.messages.push(result);
        if self.open_calls.is_empty() {
            self.messages.append(&mut self.held);
        }
    }

    /// Answers the calls that nobody answered.
    fn close_calls(&mut self) {
        for call in self.open_calls.drain(..) {
            let result = ToolResultMessage {
                tool_call_id: call.id,
                tool_name: call.name,
                content: vec![InputBlock::text(RESULT_IS_MISSING)],
                is_error: true,
                timestamp: self.now_ms,
                ..ToolResultMessage::default()
            };
            self.messages.push(Cow::Owned(result.into()));
        }
        self.messages.append(&mut self.held);
    }

    fn finish(mut self) -> Vec<Cow<'transcript, Message>> {
        self.close_calls();
        self.messages
    }
}

#[cfg(test)]
mod tests;
