//! Which parts of the transcript extensions draw.

use pi_ai::AgentMessage;
use pi_runtime::{ComponentId, RenderedToolCall};
use pi_session::{CustomEntry, CustomMessageEntry, Entry};
use pi_tui::{BlockId, Document};
use serde_json::{Value, json};

use super::Transcript;
use crate::blocks::{
    AnswerBlock, CallDrawer, CustomBlock, CustomDrawer, ToolCallBlock, UserBlock, Wording,
};
use crate::extension_desk::ExtensionDesk;

impl Transcript {
    /// An extension has drawn a call.
    pub(crate) fn call_drawn(
        &mut self,
        document: &mut Document,
        row: ComponentId,
        drawn: Option<RenderedToolCall>,
    ) {
        let id = self.rows.get(&row).copied();
        self.update::<ToolCallBlock>(document, id, |block| block.accept(drawn));
    }

    /// Extensions have had their say in the wording of a block.
    pub(crate) fn worded(
        &mut self,
        document: &mut Document,
        row: ComponentId,
        texts: Option<Vec<String>>,
    ) {
        let id = self.rows.get(&row).copied();
        self.update::<UserBlock>(document, id, |block| block.accept(texts.clone()));
        self.update::<AnswerBlock>(document, id, |block| block.accept(texts));
    }

    /// An extension has drawn a message or an entry.
    pub(crate) fn custom_drawn(
        &mut self,
        document: &mut Document,
        row: ComponentId,
        drawn: Option<Vec<String>>,
    ) {
        let id = self.rows.get(&row).copied();
        self.update::<CustomBlock>(document, id, |block| block.accept(drawn));
    }

    /// Remembers which block each row that extensions draw belongs to.
    pub(super) fn note_rows(&mut self, rows: Vec<(ComponentId, usize)>, ids: &[BlockId]) {
        let placed = rows.into_iter();
        self.rows
            .extend(placed.filter_map(|(row, index)| Some((row, *ids.get(index)?))));
    }
}

/// Returns what draws a call of a tool, if an extension does.
pub(super) fn of_call(desk: &ExtensionDesk, tool: &str, call_id: &str) -> Option<CallDrawer> {
    let renderer = desk.link()?.tool_renderer(tool)?;
    Some(CallDrawer::new(desk.clone(), renderer, call_id))
}

/// Returns what draws a message of an extension, if one does.
pub(super) fn of_message(
    desk: &ExtensionDesk,
    custom_type: &str,
    message: &AgentMessage,
) -> Option<CustomDrawer> {
    let value = || serde_json::to_value(message).unwrap_or_default();
    renders_message(desk, custom_type)
        .then(|| CustomDrawer::message(desk.clone(), custom_type, value()))
}

/// Returns what draws a message of an extension that stands in the session as an entry.
pub(super) fn of_message_entry(
    desk: &ExtensionDesk,
    entry: &Entry,
    custom: &CustomMessageEntry,
) -> Option<CustomDrawer> {
    if !renders_message(desk, &custom.custom_type) {
        return None;
    }
    let mut value = serde_json::to_value(entry).unwrap_or_default();
    if let Value::Object(members) = &mut value {
        members.insert("role".to_owned(), json!("custom"));
    }
    Some(CustomDrawer::message(
        desk.clone(),
        &custom.custom_type,
        value,
    ))
}

/// Returns what draws an entry of an extension; without that it does not show.
pub(super) fn of_entry(
    desk: &ExtensionDesk,
    entry: &Entry,
    custom: &CustomEntry,
) -> Option<CustomDrawer> {
    let draws = desk.link()?.renders_entry(&custom.custom_type);
    draws.then(|| {
        let value = serde_json::to_value(entry).unwrap_or_default();
        CustomDrawer::entry(desk.clone(), &custom.custom_type, value)
    })
}

/// Returns what extensions have a say in, where they have one.
pub(super) fn of_texts(desk: &ExtensionDesk) -> Option<Wording> {
    let transforms = desk.link()?.transforms_markdown();
    transforms.then(|| Wording::new(desk.clone()))
}

fn renders_message(desk: &ExtensionDesk, custom_type: &str) -> bool {
    desk.link()
        .is_some_and(|link| link.renders_message(custom_type))
}
