//! Start, replacement and shutdown of sessions.

use std::path::PathBuf;

use futures_util::future::BoxFuture;
use pi_extensions::HookInterrupt;
use pi_protocol::EntryId;
use pi_session::ForkPosition;

use super::{Participants, ready};

/// Prepares and cleans up sessions, and may veto their replacement.
pub trait LifecycleHook: Send + Sync {
    /// Called when a session is ready for use.
    fn session_start(&self, start: SessionStart) -> BoxFuture<'_, ()> {
        let _ = start;
        ready(())
    }

    /// Called before another session replaces this one; false vetoes the switch.
    fn before_switch(&self, switch: SessionSwitch) -> BoxFuture<'_, bool> {
        let _ = switch;
        ready(true)
    }

    /// Called before the session is forked; false vetoes the fork.
    fn before_fork<'a>(
        &'a self,
        entry: &'a EntryId,
        position: ForkPosition,
    ) -> BoxFuture<'a, bool> {
        let _ = (entry, position);
        ready(true)
    }

    /// Called before a session is shut down, even if [`LifecycleHook::session_start`] was not; releases the session.
    fn session_shutdown(&self, shutdown: SessionShutdown) -> BoxFuture<'_, ()> {
        let _ = shutdown;
        ready(())
    }

    /// Called when the session no longer waits for the hooks in progress, of all concerns; they must
    /// complete at once.
    fn interrupt_hooks(&self, interrupt: HookInterrupt) {
        let _ = interrupt;
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionStart {
    pub reason: StartReason,
    /// The file of the previous session.
    pub previous_session_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartReason {
    Startup,
    /// Settings and resources were reloaded.
    Reload,
    New,
    Resume,
    Fork,
}

/// A session that is about to replace the current one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSwitch {
    /// Either [`StartReason::New`] or [`StartReason::Resume`].
    pub reason: StartReason,
    /// The file that will be opened.
    pub target_session_file: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionShutdown {
    /// The next session's start reason; `None` when the program exits.
    pub next: Option<StartReason>,
    /// The file that will be opened.
    pub target_session_file: Option<PathBuf>,
}

impl Participants {
    pub(crate) async fn session_start(&self, start: SessionStart) {
        for hook in &self.lifecycle {
            hook.session_start(start.clone()).await;
        }
    }

    /// Returns whether no hook vetoes the switch; the first veto ends the chain.
    pub(crate) async fn before_switch(&self, switch: SessionSwitch) -> bool {
        for hook in &self.lifecycle {
            if !hook.before_switch(switch.clone()).await {
                return false;
            }
        }
        true
    }

    /// Returns whether no hook vetoes the fork; the first veto ends the chain.
    pub(crate) async fn before_fork(&self, entry: &EntryId, position: ForkPosition) -> bool {
        for hook in &self.lifecycle {
            if !hook.before_fork(entry, position).await {
                return false;
            }
        }
        true
    }

    /// Makes the hooks in progress complete.
    pub(crate) fn interrupt_hooks(&self, interrupt: HookInterrupt) {
        for hook in &self.lifecycle {
            hook.interrupt_hooks(interrupt);
        }
    }

    pub(crate) async fn session_shutdown(&self, shutdown: SessionShutdown) {
        for hook in &self.lifecycle {
            hook.session_shutdown(shutdown.clone()).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;
    use pretty_assertions::assert_eq;

    use super::*;

    type CallLog = Arc<Mutex<Vec<String>>>;

    /// Records its calls, and vetoes if asked to.
    struct RecordingHook {
        name: &'static str,
        vetoes: bool,
        log: CallLog,
    }

    impl RecordingHook {
        fn note(&self, call: &str) {
            self.log.lock().push(format!("{} {call}", self.name));
        }
    }

    impl LifecycleHook for RecordingHook {
        fn session_start(&self, _start: SessionStart) -> BoxFuture<'_, ()> {
            self.note("start");
            ready(())
        }

        fn before_switch(&self, _switch: SessionSwitch) -> BoxFuture<'_, bool> {
            self.note("switch");
            ready(!self.vetoes)
        }

        fn before_fork<'a>(
            &'a self,
            _entry: &'a EntryId,
            _position: ForkPosition,
        ) -> BoxFuture<'a, bool> {
            self.note("fork");
            ready(!self.vetoes)
        }

        fn session_shutdown(&self, _shutdown: SessionShutdown) -> BoxFuture<'_, ()> {
            self.note("shutdown");
            ready(())
        }
    }

    /// Registers hooks `a`, `b` and `c`, of which some veto.
    fn participants(vetoes: [bool; 3]) -> (Participants, CallLog) {
        let log = CallLog::default();
        let hooks = ["a", "b", "c"].into_iter().zip(vetoes);
        let hooks = hooks.map(|(name, vetoes)| {
            let log = Arc::clone(&log);
            Arc::new(RecordingHook { name, vetoes, log })
        });
        let builder = hooks.fold(
            Participants::builder(),
            crate::participants::ParticipantsBuilder::lifecycle,
        );
        (builder.build(), log)
    }

    fn switch() -> SessionSwitch {
        SessionSwitch {
            reason: StartReason::New,
            target_session_file: None,
        }
    }

    #[tokio::test]
    async fn the_first_veto_ends_the_chain() {
        let (participants, log) = participants([false, true, true]);
        assert!(!participants.before_switch(switch()).await);
        let entry = EntryId::from("entry");
        assert!(!participants.before_fork(&entry, ForkPosition::At).await);
        assert_eq!(*log.lock(), ["a switch", "b switch", "a fork", "b fork"]);
    }

    #[tokio::test]
    async fn without_a_veto_every_hook_is_called_in_order() {
        let (participants, log) = participants([false; 3]);
        assert!(participants.before_switch(switch()).await);
        let start = SessionStart {
            reason: StartReason::New,
            previous_session_file: None,
        };
        participants.session_start(start).await;
        let shutdown = SessionShutdown {
            next: None,
            target_session_file: None,
        };
        participants.session_shutdown(shutdown).await;
        assert_eq!(
            *log.lock(),
            [
                "a switch",
                "b switch",
                "c switch",
                "a start",
                "b start",
                "c start",
                "a shutdown",
                "b shutdown",
                "c shutdown",
            ]
        );
    }
}
