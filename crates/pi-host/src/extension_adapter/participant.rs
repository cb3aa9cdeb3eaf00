//! The extensions as a participant of a session: every hook becomes an event, and results become
//! verdicts.
//!
//! An event without handlers costs a set lookup. Invalid results are ignored; how several results
//! are merged is defined in JavaScript (`js/pi/dispatch.js`).

mod compaction;
mod context;
mod events;
mod input;
mod lifecycle;
mod navigation;
mod prompt;
mod request;
mod tools;
mod turn;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use pi_extensions::{ExtensionFailure, SessionExtensions};

use crate::participants::{FailureReporter, HookFailure, Participants};

struct ExtensionParticipant {
    extensions: SessionExtensions,
    turn: AtomicU64,
    /// Whether the extensions received `session_start`; without it, they receive no `session_shutdown` either.
    is_started: AtomicBool,
}

/// Registers the extensions for all concerns.
pub(super) fn register(extensions: SessionExtensions) -> Participants {
    let participant = Arc::new(ExtensionParticipant {
        extensions,
        turn: AtomicU64::new(0),
        is_started: AtomicBool::new(false),
    });
    Participants::builder()
        .input(Arc::clone(&participant))
        .prompt(Arc::clone(&participant))
        .context(Arc::clone(&participant))
        .tool_policy(Arc::clone(&participant))
        .turn(Arc::clone(&participant))
        .compaction(Arc::clone(&participant))
        .navigation(Arc::clone(&participant))
        .lifecycle(Arc::clone(&participant))
        .events(Arc::clone(&participant))
        .failures(participant)
        .build()
}

impl FailureReporter for ExtensionParticipant {
    fn report(&self, failure: HookFailure) {
        self.extensions.report_failure(ExtensionFailure {
            extension: failure.origin,
            event: failure.event.to_owned(),
            error: failure.message,
            stack: None,
        });
    }
}
