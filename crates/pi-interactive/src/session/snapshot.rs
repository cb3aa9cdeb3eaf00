//! The state of the session at one moment.

use std::path::PathBuf;
use std::sync::Arc;

use pi_protocol::settings::Settings;
use pi_protocol::{EntryId, Model, QueuedTexts, ScopedModel, ThinkingLevel};

/// What the session is doing. Several of these may hold at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionActivity {
    pub(crate) idle: bool,
    pub(crate) streaming: bool,
    /// A compaction or a branch summary is in progress.
    pub(crate) compacting: bool,
    /// Waits before the next attempt of a failed request.
    pub(crate) retrying: bool,
    /// Runs a shell command of the user.
    pub(crate) shell: bool,
}

/// The state of the session at one moment, as data.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionSnapshot {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    /// `None` for a session in memory.
    pub(crate) file: Option<PathBuf>,
    pub(crate) cwd: PathBuf,
    pub(crate) activity: SessionActivity,
    pub(crate) model: Option<Arc<Model>>,
    /// The model that a virtual model chose for the last response, with its thinking level.
    pub(crate) routed: Option<String>,
    pub(crate) thinking: ThinkingLevel,
    /// Levels of the current model.
    pub(crate) thinking_levels: Vec<ThinkingLevel>,
    pub(crate) supports_thinking: bool,
    pub(crate) scoped_models: Vec<ScopedModel>,
    pub(crate) queue: QueuedTexts,
    pub(crate) auto_compaction: bool,
    pub(crate) settings: Arc<Settings>,
    /// The entry that the next message follows.
    pub(crate) leaf: Option<EntryId>,
    pub(crate) entry_count: usize,
    /// Number of clients of other processes.
    pub(crate) watching: usize,
    /// Names of the commands that run even during a compaction; listed only then.
    pub(crate) immediate_commands: Vec<String>,
}

/// Which providers can be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProviderInfo {
    /// Whether several providers have credentials.
    pub(crate) several: bool,
    /// Whether a subscription covers requests to the current model.
    pub(crate) subscription: bool,
    /// Whether the current model has credentials.
    pub(crate) ready: bool,
}
