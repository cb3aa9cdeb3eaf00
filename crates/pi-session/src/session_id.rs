//! Session and entry IDs.

use thiserror::Error;
use uuid::Uuid;

use pi_protocol::EntryId;

/// How many short entry IDs are tried before a long one is used.
const SHORT_ID_ATTEMPTS: usize = 100;

/// A user-supplied session ID that is not valid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "invalid session ID `{id}`: use letters, digits, `-`, `_` and `.`; it must start and end with a letter or digit"
)]
pub struct InvalidSessionId {
    pub id: String,
}

/// Generates a session ID; IDs sort by creation time.
pub(crate) fn new_session_id() -> String {
    Uuid::now_v7().to_string()
}

/// Checks an ID, which becomes part of a file name.
pub fn check_session_id(id: &str) -> Result<(), InvalidSessionId> {
    let bytes = id.as_bytes();
    let is_alphanumeric = |end: Option<&u8>| end.is_some_and(u8::is_ascii_alphanumeric);
    let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if is_alphanumeric(bytes.first())
        && is_alphanumeric(bytes.last())
        && bytes.iter().all(is_allowed)
    {
        Ok(())
    } else {
        Err(InvalidSessionId { id: id.to_owned() })
    }
}

/// Generates an unused entry ID.
pub(crate) fn new_entry_id(is_taken: impl Fn(&str) -> bool) -> EntryId {
    for _ in 0..SHORT_ID_ATTEMPTS {
        let (first, _, _, _) = Uuid::new_v4().as_fields();
        let id = format!("{first:08x}");
        if !is_taken(&id) {
            return EntryId::from(id);
        }
    }
    EntryId::from(Uuid::new_v4().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_supplied_session_ids() {
        for id in ["a", "A1", "my-session_1.2", "0"] {
            assert!(check_session_id(id).is_ok(), "{id}");
        }
        for id in ["", "-a", "a-", ".", "a/b", "a b", "ä", "..", "a\n", "a\\b"] {
            assert!(check_session_id(id).is_err(), "{id}");
        }
    }

    #[test]
    fn entry_ids_are_short_unless_all_are_taken() {
        let short = new_entry_id(|_| false);
        assert_eq!(short.as_str().len(), 8);
        assert!(short.as_str().bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_eq!(new_entry_id(|_| true).as_str().len(), 36);
    }
}
