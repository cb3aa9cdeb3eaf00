//! Start, replacement and shutdown of sessions.

use std::sync::atomic::Ordering;

use futures_util::future::BoxFuture;
use pi_extensions::HookInterrupt;
use pi_extensions::events::{
    BeforeFork, BeforeSwitch, CancelResult, ResourcesDiscover, SessionShutdownEvent,
    SessionStartEvent,
};
use pi_protocol::EntryId;
use pi_session::ForkPosition;

use super::ExtensionParticipant;
use crate::participants::{
    LifecycleHook, SessionShutdown, SessionStart, SessionSwitch, StartReason,
};

impl LifecycleHook for ExtensionParticipant {
    fn session_start(&self, start: SessionStart) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.is_started.store(true, Ordering::Relaxed);
            let event = || SessionStartEvent {
                reason: reason_name(start.reason),
                previous_session_file: start.previous_session_file.as_deref(),
            };
            self.extensions.emit(None, event).await;
            self.extensions.report_unconnected_mcp_servers();
            let cwd = self.extensions.session_directory();
            let event = || ResourcesDiscover {
                cwd: cwd.as_deref(),
                reason: match start.reason {
                    StartReason::Reload => "reload",
                    _ => "startup",
                },
            };
            if let Some(found) = self.extensions.emit(None, event).await {
                self.extensions.add_resources(&found);
            }
        })
    }

    fn before_switch(&self, switch: SessionSwitch) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            let event = || BeforeSwitch {
                reason: reason_name(switch.reason),
                target_session_file: switch.target_session_file.as_deref(),
            };
            !is_cancelled(self.extensions.emit(None, event).await)
        })
    }

    fn before_fork<'a>(
        &'a self,
        entry: &'a EntryId,
        position: ForkPosition,
    ) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let event = || BeforeFork {
                entry_id: entry.to_string(),
                position: match position {
                    ForkPosition::Before => "before",
                    ForkPosition::At => "at",
                },
            };
            !is_cancelled(self.extensions.emit(None, event).await)
        })
    }

    fn session_shutdown(&self, shutdown: SessionShutdown) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let event = || SessionShutdownEvent {
                reason: shutdown.next.map_or("quit", reason_name),
                target_session_file: shutdown.target_session_file.as_deref(),
            };
            if self.is_started.load(Ordering::Relaxed) {
                self.extensions.emit(None, event).await;
            }
            self.extensions.end_session().await;
        })
    }

    fn interrupt_hooks(&self, interrupt: HookInterrupt) {
        self.extensions.interrupt_hooks(interrupt);
    }
}

/// Returns whether a handler canceled the operation.
fn is_cancelled(result: Option<CancelResult>) -> bool {
    result.and_then(|result| result.cancel) == Some(true)
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
