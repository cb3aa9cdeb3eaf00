//! The extension whose handler each event in progress is waiting for.
//!
//! JavaScript reports it before it calls the handlers of an extension, so that it is known even if the
//! handlers then block the thread.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::host_router::ExtensionHost;
use crate::usage_meter::{UsageMeter, WaitStart};

/// Where an event in progress is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HookPosition {
    pub(crate) host: ExtensionHost,
    /// The extension whose handlers were called last on this host.
    pub(crate) extension: Option<String>,
}

#[derive(Debug, Default)]
pub(crate) struct RunningHooks {
    events: Mutex<HashMap<u64, RunningEvent>>,
    meter: Arc<UsageMeter>,
}

#[derive(Debug)]
struct RunningEvent {
    position: HookPosition,
    /// Since when the extension of the position runs.
    since: WaitStart,
}

impl RunningHooks {
    /// Records that a host receives the event next.
    pub(crate) fn begin(&self, dispatch: u64, host: ExtensionHost) {
        let event = RunningEvent {
            position: HookPosition {
                host,
                extension: None,
            },
            since: self.meter.start_wait(),
        };
        let before = self.events().insert(dispatch, event);
        self.count(before);
    }

    pub(crate) fn end(&self, dispatch: u64) {
        let ended = self.events().remove(&dispatch);
        self.count(ended);
    }

    /// Records the extension whose handlers are called next. A dispatch that has ended is ignored.
    pub(crate) fn enter(&self, dispatch: u64, extension: String) {
        let event = RunningEvent {
            position: HookPosition {
                host: ExtensionHost::Embedded,
                extension: Some(extension),
            },
            since: self.meter.start_wait(),
        };
        let before = self.events().get_mut(&dispatch).map(|running| {
            let before = std::mem::replace(running, event);
            running.position.host = before.position.host;
            before
        });
        self.count(before);
    }

    /// Returns what counts the time of handlers.
    pub(crate) fn meter(&self) -> &Arc<UsageMeter> {
        &self.meter
    }

    /// Counts the time of the extension that an event has left.
    fn count(&self, event: Option<RunningEvent>) {
        if let Some(event) = event
            && let Some(extension) = event.position.extension
        {
            self.meter.handled(&extension, event.since);
        }
    }

    pub(crate) fn position(&self, dispatch: u64) -> Option<HookPosition> {
        let events = self.events();
        events.get(&dispatch).map(|event| event.position.clone())
    }

    fn events(&self) -> MutexGuard<'_, HashMap<u64, RunningEvent>> {
        self.events.lock()
    }
}
