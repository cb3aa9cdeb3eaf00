//! Adapts a transcript for the model that reads it next, across providers.
//!
//! Each rule has its file: thinking and signatures, images, tool-call IDs, and the pairing of calls
//! with results. A protocol calls [`hand_off`] with the ID rule of its API and then only encodes the
//! result. Messages that need no change stay borrowed.

mod handoff;
mod images;
mod thinking;
pub mod tool_ids;

use pi_protocol::{AssistantMessage, Model};

pub use handoff::hand_off;

/// Rewrites a tool-call ID for the target API; the source message tells which API issued the ID.
pub type CallIdRule<'rule> = &'rule (dyn Fn(&str, &AssistantMessage) -> String + Sync);

/// Whether the model itself wrote the message, so its signatures and IDs are valid.
pub(crate) fn is_same_model(message: &AssistantMessage, model: &Model) -> bool {
    message.provider == model.provider && message.api == model.api && message.model == model.id
}
