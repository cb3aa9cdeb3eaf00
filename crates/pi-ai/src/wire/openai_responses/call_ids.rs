//! The two ids of a tool call: the call's own, which its output names, and that of the item it arrived
//! in. We keep both in one string, `call|item`.

use crate::json::utf16_length;
use crate::transform::tool_ids::short_hash;

/// The longest id the service takes.
const MAX_ID_LENGTH: usize = 64;

/// What ids of function-call items begin with.
pub(super) const FUNCTION_ITEM_PREFIX: &str = "fc_";

/// What ids of custom-tool-call items begin with.
pub(super) const CUSTOM_ITEM_PREFIX: &str = "ctc_";

/// Joins the two ids of a call.
pub(super) fn join(call_id: &str, item_id: &str) -> String {
    format!("{call_id}|{item_id}")
}

/// Splits an id into the call's own and, where there is one, the item's.
pub(super) fn split(id: &str) -> (&str, Option<&str>) {
    let mut parts = id.split('|');
    let call_id = parts.next().unwrap_or_default();
    (call_id, parts.next())
}

/// Returns an id the service accepts for a message item.
pub(super) fn message_item_id(id: &str) -> String {
    if utf16_length(id) > MAX_ID_LENGTH {
        format!("msg_{}", short_hash(id))
    } else {
        id.to_owned()
    }
}
