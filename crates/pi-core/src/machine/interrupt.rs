//! Abort and close: requests that end what others started.

use super::Machine;
use super::activity::Activity;
use super::effect::{CancelScope, Effect};

impl Machine {
    pub(super) fn abort(&mut self) {
        let scope = match &mut self.activity {
            Activity::Preparing(preparation) => {
                if !preparation.abort() {
                    return;
                }
                CancelScope::Run
            }
            Activity::Running(run) => {
                run.abort(&mut self.context);
                CancelScope::Run
            }
            Activity::Compacting(_) => CancelScope::Compaction,
            Activity::Navigating => CancelScope::Navigation,
            Activity::Idle | Activity::Settling | Activity::Resubmitting => return,
        };
        self.context.push(Effect::Cancel(scope));
    }

    /// Cancels one kind of work, if it is in progress.
    pub(super) fn cancel(&mut self, scope: CancelScope) {
        let is_navigating = matches!(self.activity, Activity::Navigating);
        let is_in_progress = match scope {
            CancelScope::Run => return self.abort(),
            CancelScope::Retry => self.is_retrying(),
            CancelScope::Compaction => self.is_compacting() && !is_navigating,
            CancelScope::Navigation => is_navigating,
        };
        if is_in_progress {
            self.context.push(Effect::Cancel(scope));
        }
    }

    pub(super) fn close(&mut self) {
        self.is_closed = true;
        self.context.waiting.deferred.clear();
        self.abort();
    }
}
