//! Which parts of the transcript extensions draw.

use pi_ai::AgentMessage;
use pi_session::{CustomEntry, CustomMessageEntry, Entry};
use serde_json::{Value, json};

use crate::blocks::{CallDrawer, CustomDrawer, Wording};
use crate::extension_desk::ExtensionDesk;

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
    draws_message(desk, custom_type)
        .then(|| CustomDrawer::message(desk.clone(), custom_type, value()))
}

/// Returns what draws a message of an extension that stands in the session as an entry.
pub(super) fn of_message_entry(
    desk: &ExtensionDesk,
    entry: &Entry,
    custom: &CustomMessageEntry,
) -> Option<CustomDrawer> {
    if !draws_message(desk, &custom.custom_type) {
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
    let draws = desk.link()?.draws_entry(&custom.custom_type);
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

fn draws_message(desk: &ExtensionDesk, custom_type: &str) -> bool {
    desk.link()
        .is_some_and(|link| link.draws_message(custom_type))
}
