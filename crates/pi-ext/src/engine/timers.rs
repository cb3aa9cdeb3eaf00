//! Timers of a realm. JavaScript holds the callbacks, Rust the clock.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use tokio::task::AbortHandle;

use super::realm::Realm;

/// Node's maximum delay in milliseconds. Node fires longer timers immediately; here they are
/// clamped instead.
const MAX_DELAY_MS: f64 = 2_147_483_647.0;

/// Active timers, by ID.
#[derive(Default)]
pub(crate) struct Timers(RefCell<HashMap<u64, AbortHandle>>);

/// Whether a timer fires again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repetition {
    Once,
    Forever,
}

impl Timers {
    /// Starts a timer owned by the extension that is running now.
    pub(crate) fn start(realm: &Rc<Realm>, id: u64, milliseconds: f64, repetition: Repetition) {
        let delay = if milliseconds.is_finite() {
            milliseconds.clamp(1.0, MAX_DELAY_MS)
        } else {
            1.0
        };
        let delay = Duration::from_secs_f64(delay / 1000.0);
        let owner = realm.owner();
        let weak = Rc::downgrade(realm);
        let task = realm.resources.spawn(async move {
            loop {
                tokio::time::sleep(delay).await;
                let Some(realm) = weak.upgrade() else {
                    return;
                };
                if repetition == Repetition::Once {
                    realm.timers.0.borrow_mut().remove(&id);
                }
                realm.fire(owner.clone(), id);
                if repetition == Repetition::Once || !realm.timers.0.borrow().contains_key(&id) {
                    return;
                }
            }
        });
        realm.timers.0.borrow_mut().insert(id, task);
    }

    pub(crate) fn stop(&self, id: u64) {
        if let Some(task) = self.0.borrow_mut().remove(&id) {
            task.abort();
        }
    }
}
