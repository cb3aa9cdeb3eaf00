//! Recognizes words after `--sandbox` that are meant as its mode.
//!
//! The mode is optional, so that another word is a message. A mistyped mode must not start a session that may write more.

use pi_protocol::settings::SandboxMode;

use crate::edit_distance::edit_distance;

/// Words that are not close to a mode, but used for one elsewhere.
const ALIASES: [&str; 24] = [
    "ro", "read", "readable", "rw", "write", "writable", "ws", "work", "full", "strict", "none",
    "no", "on", "yes", "true", "false", "enable", "enabled", "disable", "disabled", "default",
    "auto", "0", "1",
];

/// Starts of modes of other programs, such as `workspace-write` and `danger-full-access`.
const STARTS: [&str; 3] = ["workspace", "readonly", "danger"];

/// A mistyped mode differs in one of so many letters at most: more would take short words, such as `the`, for `try`.
const LETTERS_PER_EDIT: usize = 3;

/// Returns whether a word is a mode, or is probably meant as one.
pub(super) fn resembles_mode(word: &str) -> bool {
    let is_bare = |it: char| it.is_ascii_alphanumeric() || ['-', '_'].contains(&it);
    if word.starts_with('-') || !word.chars().all(is_bare) {
        return false;
    }
    let plain = |word: &str| word.to_ascii_lowercase().replace(['-', '_'], "");
    let word = plain(word);
    if word.is_empty() || word.len() > 40 {
        return false;
    }
    let is_close = |mode: SandboxMode| {
        let mode = plain(mode.name());
        edit_distance(&mode, &word) <= mode.len() / LETTERS_PER_EDIT
    };
    ALIASES.contains(&word.as_str())
        || STARTS.iter().any(|start| word.starts_with(start))
        || SandboxMode::ALL.into_iter().any(is_close)
}
