//! Calls about session files that an extension opens on its own. `session` is the number of one.

use std::path::PathBuf;
use std::sync::Arc;

use pi_protocol::{AgentMessage, Entry, SessionHeader, Usage};
use serde::Serialize;
use serde_json::Value;

use super::group::calls;
use super::session::{ContextModelInfo, EntryMessages, SessionInfo};
use crate::handlers::SessionSpec;

/// A session found on disk.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListedSession {
    pub(crate) path: PathBuf,
    pub(crate) id: String,
    pub(crate) cwd: String,
    pub(crate) name: Option<String>,
    pub(crate) parent_session_path: Option<String>,
    /// Milliseconds since the epoch.
    pub(crate) created: i64,
    pub(crate) modified: i64,
    pub(crate) message_count: usize,
    pub(crate) first_message: String,
    pub(crate) all_messages_text: String,
}

/// The model's context of a session file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FileContext {
    pub(crate) messages: Vec<AgentMessage>,
    pub(crate) entries: Vec<EntryMessages>,
    pub(crate) thinking_level: String,
    pub(crate) model: Option<ContextModelInfo>,
}

/// The model's context of entries that belong to no session.
#[derive(Serialize)]
pub(crate) struct ProjectedPath {
    pub(crate) messages: Vec<AgentMessage>,
    pub(crate) entries: Vec<Arc<Entry>>,
}

calls! {
    trait SessionFileCalls {
        call "sessionFile.open" => open(spec as "...": SessionSpec) -> u64;
        call "sessionFile.close" => close(session: u64);
        /// Returns the file of the session with this ID.
        call "sessionFile.find" => find(
            cwd: PathBuf,
            id: String,
            session_dir as "sessionDir": Option<PathBuf>,
        ) -> Option<PathBuf>;
        /// Lists the sessions of a directory, or all of them.
        request "sessionFile.list" => list(
            cwd: Option<PathBuf>,
            session_dir as "sessionDir": Option<PathBuf>,
        ) -> Vec<ListedSession>;
        /// Returns the model's context for entries from root to leaf.
        call "sessionFile.project" => project(entries: Vec<Entry>) -> ProjectedPath;
        call "sessionFile.info" => info(session: u64) -> SessionInfo;
        call "sessionFile.cwd" => cwd(session: u64) -> PathBuf;
        call "sessionFile.name" => name(session: u64) -> Option<String>;
        call "sessionFile.header" => header(session: u64) -> SessionHeader;
        call "sessionFile.entry" => entry(session: u64, id: Option<String>) -> Option<Arc<Entry>>;
        call "sessionFile.entries" => entries(session: u64) -> Vec<Arc<Entry>>;
        call "sessionFile.branch" => branch(
            session: u64,
            from as "fromId": Option<String>,
        ) -> Vec<Arc<Entry>>;
        call "sessionFile.label" => label(session: u64, id: Option<String>) -> Option<String>;
        call "sessionFile.context" => context(session: u64) -> FileContext;
    }
}

calls! {
    /// Changes of a session file. Those that append return the new entry.
    trait SessionWriteCalls {
        call "sessionFile.append" => append(session: u64, entry: Value) -> Arc<Entry>;
        call "sessionFile.appendMessage" => append_message(
            session: u64,
            message: AgentMessage,
        ) -> Arc<Entry>;
        call "sessionFile.setName" => set_name(session: u64, name: String) -> Arc<Entry>;
        call "sessionFile.setLabel" => set_label(
            session: u64,
            target as "targetId": String,
            label: Option<String>,
        ) -> Arc<Entry>;
        /// Moves the leaf to an entry.
        call "sessionFile.setLeaf" => set_leaf(session: u64, id: String);
        call "sessionFile.resetLeaf" => reset_leaf(session: u64);
        call "sessionFile.branchWithSummary" => branch_with_summary(
            session: u64,
            from as "fromId": Option<String>,
            summary: String,
            details: Option<Value>,
            from_hook as "fromHook": Option<bool>,
            usage: Option<Usage>,
        ) -> Arc<Entry>;
        /// Continues in a new session with the entries up to a leaf; returns its file.
        call "sessionFile.extractBranch" => extract_branch(
            session: u64,
            leaf as "leafId": String,
        ) -> Option<PathBuf>;
    }
}
