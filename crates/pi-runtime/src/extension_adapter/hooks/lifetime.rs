//! Hooks for the start, replacement and shutdown of sessions.

use pi_extensions::events::{
    BeforeFork, BeforeSwitch, ResourcesDiscover, SessionShutdownEvent, SessionStartEvent,
};
use pi_session::{EntryId, ForkPosition};

use super::{ExtensionHooks, is_cancelled};
use crate::hooks::{SessionShutdown, SessionStart, SessionSwitch, StartReason};

impl ExtensionHooks {
    pub(super) async fn handle_session_start(&self, start: SessionStart) {
        let event = || SessionStartEvent {
            reason: reason_name(start.reason),
            previous_session_file: start.previous_session_file.as_deref(),
        };
        self.extensions.emit(None, event).await;
        let cwd = self.extensions.session_directory();
        let event = || ResourcesDiscover {
            cwd: cwd.as_deref(),
            reason: match start.reason {
                StartReason::Reload => "reload",
                _ => "startup",
            },
        };
        if let Some(found) = self.extensions.emit(None, event).await {
            self.extensions.add_resources(found);
        }
    }

    pub(super) async fn handle_before_switch(&self, switch: SessionSwitch) -> bool {
        let event = || BeforeSwitch {
            reason: reason_name(switch.reason),
            target_session_file: switch.target_session_file.as_deref(),
        };
        !is_cancelled(self.extensions.emit(None, event).await)
    }

    pub(super) async fn handle_before_fork(&self, entry: &EntryId, position: ForkPosition) -> bool {
        let event = || BeforeFork {
            entry_id: entry.to_string(),
            position: match position {
                ForkPosition::Before => "before",
                ForkPosition::At => "at",
            },
        };
        !is_cancelled(self.extensions.emit(None, event).await)
    }

    pub(super) async fn handle_session_shutdown(&self, shutdown: SessionShutdown) {
        let event = || SessionShutdownEvent {
            reason: shutdown.next.map_or("quit", reason_name),
            target_session_file: shutdown.target_session_file.as_deref(),
        };
        self.extensions.emit(None, event).await;
        self.extensions.end_session().await;
    }
}

fn reason_name(reason: StartReason) -> &'static str {
    match reason {
        StartReason::Startup => "startup",
        StartReason::Reload => "reload",
        StartReason::New => "new",
        StartReason::Resume => "resume",
        StartReason::Fork => "fork",
    }
}
