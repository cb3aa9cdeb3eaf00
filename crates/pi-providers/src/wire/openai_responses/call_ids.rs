//! The two IDs of a tool call: the call's own, which its output refers to, and that of its item.
//! Both are stored in one string, `call|item`.

use pi_protocol::json::utf16_length;
use pi_protocol::tool_call_id::short_hash;

/// Length limit of the service.
const MAX_ID_LENGTH: usize = 64;

pub(super) const FUNCTION_ITEM_PREFIX: &str = "fc_";

pub(super) const CUSTOM_ITEM_PREFIX: &str = "ctc_";

pub(super) fn join(call_id: &str, item_id: &str) -> String {
    format!("{call_id}|{item_id}")
}

/// Splits an ID into the call's own and, if present, the item's.
pub(super) fn split(id: &str) -> (&str, Option<&str>) {
    let mut parts = id.split('|');
    let call_id = parts.next().unwrap_or_default();
    (call_id, parts.next())
}

/// Returns an ID that the service accepts for a message item.
pub(super) fn message_item_id(id: &str) -> String {
    if utf16_length(id) > MAX_ID_LENGTH {
        format!("msg_{}", short_hash(id))
    } else {
        id.to_owned()
    }
}
