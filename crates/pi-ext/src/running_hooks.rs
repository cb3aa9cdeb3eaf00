//! The extension whose handler each event in progress is waiting for.
//!
//! JavaScript reports it before it calls the handlers of an extension, so that it is known even if the
//! handlers then block the thread.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::host_router::ExtensionHost;

/// Where an event in progress is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HookPosition {
    pub(crate) host: ExtensionHost,
    /// The extension whose handlers were called last on this host.
    pub(crate) extension: Option<String>,
}

#[derive(Debug, Default)]
pub(crate) struct RunningHooks(Mutex<HashMap<u64, HookPosition>>);

impl RunningHooks {
    /// Records that a host receives the event next.
    pub(crate) fn begin(&self, dispatch: u64, host: ExtensionHost) {
        let extension = None;
        let position = HookPosition { host, extension };
        self.table().insert(dispatch, position);
    }

    pub(crate) fn end(&self, dispatch: u64) {
        self.table().remove(&dispatch);
    }

    /// Records the extension whose handlers are called next. A dispatch that has ended is ignored.
    pub(crate) fn enter(&self, dispatch: u64, extension: String) {
        if let Some(position) = self.table().get_mut(&dispatch) {
            position.extension = Some(extension);
        }
    }

    pub(crate) fn position(&self, dispatch: u64) -> Option<HookPosition> {
        self.table().get(&dispatch).cloned()
    }

    fn table(&self) -> MutexGuard<'_, HashMap<u64, HookPosition>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
