//! Hooks for the start, replacement and shutdown of sessions.

use pi_protocol::EntryId;
use pi_session::ForkPosition;
use serde_json::json;

use super::{ExtensionHooks, is_cancelled};
use crate::hooks::{SessionShutdown, SessionStart, SessionSwitch, StartReason};

impl ExtensionHooks {
    pub(super) async fn handle_session_start(&self, start: SessionStart) {
        self.emit("session_start", || {
            json!({
                "reason": reason_name(start.reason),
                "previousSessionFile": start.previous_session_file,
            })
        })
        .await;
        let found = self.emit("resources_discover", || {
            let reason = match start.reason {
                StartReason::Reload => "reload",
                _ => "startup",
            };
            json!({ "cwd": self.cwd(), "reason": reason })
        });
        if let Some(found) = found.await {
            self.shared.bridge.add_resources(&found);
        }
    }

    pub(super) async fn handle_before_switch(&self, switch: SessionSwitch) -> bool {
        let result = self.emit("session_before_switch", || {
            json!({
                "reason": reason_name(switch.reason),
                "targetSessionFile": switch.target_session_file,
            })
        });
        !is_cancelled(result.await.as_ref())
    }

    pub(super) async fn handle_before_fork(&self, entry: &EntryId, position: ForkPosition) -> bool {
        let result = self.emit("session_before_fork", || {
            json!({
                "entryId": entry.to_string(),
                "position": match position {
                    ForkPosition::Before => "before",
                    ForkPosition::At => "at",
                },
            })
        });
        !is_cancelled(result.await.as_ref())
    }

    pub(super) async fn handle_session_shutdown(&self, shutdown: SessionShutdown) {
        self.emit("session_shutdown", || {
            json!({
                "reason": shutdown.next.map_or("quit", reason_name),
                "targetSessionFile": shutdown.target_session_file,
            })
        })
        .await;
        self.shared.bridge.shutdown_agents().await;
        self.shared.bridge.mark_stale();
    }

    fn cwd(&self) -> Option<std::path::PathBuf> {
        let session = self.shared.bridge.session().ok()?;
        Some(session.cwd().to_owned())
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
