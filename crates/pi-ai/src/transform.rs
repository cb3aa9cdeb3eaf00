//! Cross-provider history rules: what a transcript becomes before another model reads it.
//!
//! Each rule has its file: thinking and signatures, images, tool-call ids, and the pairing of calls
//! with results. A wire calls [`hand_off`] with the id rule of its API and then only has to spell
//! what is left. Messages that no rule touches stay borrowed.

mod handoff;
mod images;
mod thinking;
pub(crate) mod tool_ids;

pub(crate) use handoff::hand_off;

use crate::message::AssistantMessage;
use crate::model::Model;

/// Rewrites a tool-call id for the target API; the source message tells where the id came from.
pub(crate) type CallIdRule<'rule> = &'rule (dyn Fn(&str, &AssistantMessage) -> String + Sync);

/// Returns whether the model itself wrote the message, so that its signatures and ids are valid.
pub(crate) fn is_same_model(message: &AssistantMessage, model: &Model) -> bool {
    message.provider == model.provider && message.api == model.api && message.model == model.id
}
