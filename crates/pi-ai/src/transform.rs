//! Cross-provider history rules: what a transcript becomes before another model reads it.

use std::borrow::Cow;

use crate::message::{AssistantMessage, Message};
use crate::model::Model;

/// Rewrites a tool-call id for the target API; the source message tells where the id came from.
pub(crate) type CallIdRule<'rule> = &'rule (dyn Fn(&str, &AssistantMessage) -> String + Sync);

/// Returns the transcript as the target model may see it.
pub(crate) fn hand_off<'transcript>(
    messages: Vec<Cow<'transcript, Message>>,
    model: &Model,
    call_id: CallIdRule<'_>,
    now_ms: i64,
) -> Vec<Cow<'transcript, Message>> {
    let _ = (model, call_id, now_ms);
    messages
}
