//! What an extension costs the session that it is loaded in.

use serde::{Deserialize, Serialize};

/// Counters of one extension, since it was loaded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionCost {
    pub path: String,
    /// Whether it runs on Node. Then only loading, event handlers, prompt text, cache misses and errors are counted.
    pub on_node: bool,
    /// Whether it exceeded its budget and receives no more events.
    pub paused: bool,
    /// Milliseconds until it was loaded.
    pub start_ms: f64,
    /// Milliseconds that the session has waited for its event handlers, without time in which a dialog was open.
    pub handler_ms: f64,
    /// The longest time that one event has waited for it.
    pub longest_handler_ms: f64,
    /// Events that it received.
    pub events: u64,
    /// Milliseconds that its code has run.
    pub running_ms: f64,
    /// The part of `running_ms` that rendered components and rows.
    pub render_ms: f64,
    pub longest_frame_ms: f64,
    pub frames: u64,
    /// Frames that took longer than 16 ms.
    pub late_frames: u64,
    /// Approximate share of the heap that all extensions use together.
    pub heap_bytes: u64,
    /// Estimated tokens that it adds to each prompt: tools, sections and messages.
    pub prompt_tokens: u64,
    /// Prompt cache misses of the session that name its tools or sections as a cause.
    pub cache_misses: u64,
    pub errors: u64,
    /// Child processes that it has started.
    pub children: u64,
}
