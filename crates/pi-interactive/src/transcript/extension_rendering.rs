//! Transcript parts drawn by extensions.

use pi_host::{ComponentId, RenderedToolCall};
use pi_protocol::{AgentMessage, CustomEntry, CustomMessageEntry, Entry};
use pi_tui::{BlockId, Document};
use serde_json::{Value, json};

use super::Transcript;
use crate::blocks::{
    AssistantMessageBlock, CallRenderer, CustomBlock, CustomRenderer, StoredEntry, TextTransform,
    ToolCallBlock, UserBlock,
};
use crate::extensions::bridge::ExtensionUiBridge;

impl Transcript {
    pub(crate) fn accept_call(
        &mut self,
        document: &mut Document,
        row: ComponentId,
        drawn: Option<RenderedToolCall>,
    ) {
        let id = self.rows.get(&row).copied();
        self.update_block::<ToolCallBlock>(document, id, |block| block.accept(drawn));
    }

    pub(crate) fn accept_texts(
        &mut self,
        document: &mut Document,
        row: ComponentId,
        texts: Option<Vec<String>>,
    ) {
        let id = self.rows.get(&row).copied();
        self.update_block::<UserBlock>(document, id, |block| block.accept(texts.clone()));
        self.update_block::<AssistantMessageBlock>(document, id, |block| block.accept(texts));
    }

    pub(crate) fn accept_custom(
        &mut self,
        document: &mut Document,
        row: ComponentId,
        drawn: Option<Vec<String>>,
    ) {
        let id = self.rows.get(&row).copied();
        self.update_block::<CustomBlock>(document, id, |block| block.accept(drawn));
    }

    /// Registers the blocks of rows drawn by extensions.
    pub(super) fn register_rows(&mut self, rows: Vec<(ComponentId, usize)>, ids: &[BlockId]) {
        let placed = rows.into_iter();
        self.rows
            .extend(placed.filter_map(|(row, index)| Some((row, *ids.get(index)?))));
    }
}

/// Returns the renderer of a tool call, if an extension draws it.
pub(super) fn for_call(
    bridge: &ExtensionUiBridge,
    tool: &str,
    call_id: &str,
) -> Option<CallRenderer> {
    let renderer = bridge.link()?.tool_renderer(tool)?;
    Some(CallRenderer::new(bridge.clone(), renderer, call_id))
}

/// Returns the renderer of an extension's message, if an extension draws it.
pub(super) fn for_message(
    bridge: &ExtensionUiBridge,
    custom_type: &str,
    message: &AgentMessage,
) -> Option<CustomRenderer> {
    let value = || serde_json::to_value(message).unwrap_or_default();
    renders_message(bridge, custom_type)
        .then(|| CustomRenderer::message(bridge.clone(), custom_type, value()))
}

/// Returns the renderer of an extension's message that is stored as an entry.
pub(super) fn for_message_entry(
    bridge: &ExtensionUiBridge,
    entry: &Entry,
    custom: &CustomMessageEntry,
) -> Option<CustomRenderer> {
    if !renders_message(bridge, &custom.custom_type) {
        return None;
    }
    let mut value = serde_json::to_value(entry).unwrap_or_default();
    if let Value::Object(members) = &mut value {
        members.insert("role".to_owned(), json!("custom"));
    }
    Some(CustomRenderer::message(
        bridge.clone(),
        &custom.custom_type,
        value,
    ))
}

/// Returns the renderer of an extension's entry; entries without one are not shown.
pub(super) fn for_entry(
    bridge: &ExtensionUiBridge,
    entry: &Entry,
    custom: &CustomEntry,
) -> Option<CustomRenderer> {
    let draws = bridge.link()?.renders_entry(&custom.custom_type);
    draws.then(|| {
        let value = serde_json::to_value(entry).unwrap_or_default();
        CustomRenderer::entry(bridge.clone(), &custom.custom_type, value)
    })
}

/// Returns the text transform, if an extension registered one. `stored` is the entry of a message that was read
/// from the session file.
pub(super) fn for_texts(
    bridge: &ExtensionUiBridge,
    stored: Option<&StoredEntry>,
) -> Option<TextTransform> {
    let transforms = bridge.link()?.transforms_markdown();
    transforms.then(|| TextTransform::new(bridge.clone(), stored.cloned()))
}

fn renders_message(bridge: &ExtensionUiBridge, custom_type: &str) -> bool {
    bridge
        .link()
        .is_some_and(|link| link.renders_message(custom_type))
}
