//! Work for extensions that goes on for a while: it can be cancelled, and asks JavaScript back.
//!
//! JavaScript gives every such work a number (`js/pi/work.js`). Under it the work is cancelled, and
//! under it the program asks for what the extension brought along: operations, a listener.

use std::sync::Weak;

use pi_ext::{EngineError, HostError};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Shared;
use super::bridge::{Bridge, lock};

/// The JavaScript behind one work.
#[derive(Clone)]
pub(super) struct Backer {
    /// Weak, since the engine may go while work is under way.
    pub(super) shared: Weak<Shared>,
    extension: Option<String>,
    number: u64,
}

impl Backer {
    /// Asks a function the extension brought along.
    pub(super) async fn ask(
        &self,
        function: &str,
        arguments: Value,
        signal: Option<u64>,
    ) -> Result<Value, EngineError> {
        let Some(shared) = self.shared.upgrade() else {
            return Err(EngineError::InvalidValue(
                "the extension is gone".to_owned(),
            ));
        };
        let extension = self.extension.as_deref();
        shared
            .engine
            .run_callback(extension, self.number, function, arguments, signal)
            .await
    }
}

impl Bridge {
    /// Returns the JavaScript behind a work.
    pub(super) fn backer(&self, extension: Option<&str>, number: u64) -> Result<Backer, HostError> {
        Ok(Backer {
            shared: self.shared()?,
            extension: extension.map(str::to_owned),
            number,
        })
    }

    /// Begins work that JavaScript may cancel.
    pub(super) fn open_work(&self, number: u64) -> Result<OpenWork, HostError> {
        let work = OpenWork {
            shared: self.shared()?,
            number,
            cancel: CancellationToken::new(),
        };
        lock(&self.works).insert(number, work.cancel.clone());
        Ok(work)
    }

    /// Cancels work; what is over already has nothing to cancel.
    pub(super) fn cancel_work(&self, number: u64) {
        if let Some(cancel) = lock(&self.works).get(&number) {
            cancel.cancel();
        }
    }
}

/// Work that is under way, until it is dropped.
pub(super) struct OpenWork {
    shared: Weak<Shared>,
    number: u64,
    cancel: CancellationToken,
}

impl OpenWork {
    /// Returns what tells that it is cancelled.
    pub(super) fn cancel(&self) -> CancellationToken {
        self.cancel.clone()
    }
}

impl Drop for OpenWork {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            lock(&shared.bridge.works).remove(&self.number);
        }
    }
}
