//! Abort, clear and close: requests that end or remove what others started.

use super::Machine;
use super::activity::{Activity, PreparationStep};
use super::effect::{CancelScope, Effect, Rejection, Reply};
use super::prompt::reject;
use crate::queue::queued_texts;

impl Machine {
    /// Empties the queue. Exactly the messages it returns will not be delivered.
    pub(super) fn clear_queue(&mut self, effects: &mut Vec<Effect>) {
        let cleared = self.queue.clear();
        effects.push(Effect::PublishQueue);
        let texts = queued_texts(cleared.iter());
        effects.push(Effect::Reply(Reply::Cleared(texts)));
    }

    pub(super) fn abort(&mut self, effects: &mut Vec<Effect>) {
        if let Some(PreparationStep::Abandoning(_)) = self.preparation_step() {
            return;
        }
        let scope = match &mut self.activity {
            Activity::Preparing(preparation) => {
                preparation.aborted = true;
                CancelScope::Run
            }
            Activity::Running(run) => {
                run.aborted = true;
                CancelScope::Run
            }
            Activity::Compacting(_) => CancelScope::Compaction,
            Activity::Navigating => CancelScope::Navigation,
            Activity::Idle | Activity::Settling | Activity::Resubmitting => return,
        };
        effects.push(Effect::Cancel(scope));
    }

    pub(super) fn abort_retry(&self, effects: &mut Vec<Effect>) {
        if self.is_retrying() {
            effects.push(Effect::Cancel(CancelScope::Retry));
        }
    }

    pub(super) fn abort_compaction(&self, effects: &mut Vec<Effect>) {
        if self.is_compacting() && !matches!(self.activity, Activity::Navigating) {
            effects.push(Effect::Cancel(CancelScope::Compaction));
        }
    }

    pub(super) fn abort_navigation(&self, effects: &mut Vec<Effect>) {
        if matches!(self.activity, Activity::Navigating) {
            effects.push(Effect::Cancel(CancelScope::Navigation));
        }
    }

    pub(super) fn begin_navigation(&mut self, effects: &mut Vec<Effect>) {
        if self.is_closed {
            return reject(Rejection::Closed, effects);
        }
        match &self.activity {
            Activity::Idle => {
                self.activity = Activity::Navigating;
                effects.push(Effect::Reply(Reply::Started));
            }
            Activity::Compacting(_) | Activity::Navigating => {
                reject(Rejection::Compacting, effects);
            }
            Activity::Preparing(_)
            | Activity::Running(_)
            | Activity::Settling
            | Activity::Resubmitting => reject(Rejection::Busy, effects),
        }
    }

    pub(super) fn navigated(&mut self, effects: &mut Vec<Effect>) {
        if matches!(self.activity, Activity::Navigating) {
            self.activity = Activity::Idle;
            self.start_deferred(effects);
        }
    }

    pub(super) fn close(&mut self, effects: &mut Vec<Effect>) {
        self.is_closed = true;
        self.deferred.clear();
        self.abort(effects);
    }
}
