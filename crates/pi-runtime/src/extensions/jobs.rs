//! Work for extensions that goes on for a while: it can be cancelled, and asks JavaScript back.
//!
//! JavaScript gives every such work a number (`js/pi/work.js`). Under it the work is cancelled, and
//! under it the program asks for what the extension brought along: operations, a listener.

use std::sync::Weak;

use pi_ext::{EngineError, HostError};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::ExtensionsInner;
use super::bridge::{ExtensionBridge, lock};

/// The JavaScript behind one work.
#[derive(Clone)]
pub(super) struct JobCallback {
    /// Weak, since the engine may go while work is under way.
    pub(super) shared: Weak<ExtensionsInner>,
    extension: Option<String>,
    number: u64,
}

impl JobCallback {
    /// Asks a function the extension brought along.
    pub(super) async fn call(
        &self,
        function: &str,
        arguments: Value,
        signal: Option<u64>,
    ) -> Result<Value, EngineError> {
        let Some(shared) = self.shared.upgrade() else {
            return Err(EngineError::Value("the extension is gone".to_owned()));
        };
        let extension = self.extension.as_deref();
        shared
            .engine
            .serve(extension, self.number, function, arguments, signal)
            .await
    }
}

impl ExtensionBridge {
    /// Returns the JavaScript behind a work.
    pub(super) fn callback(&self, extension: Option<&str>, number: u64) -> Result<JobCallback, HostError> {
        Ok(JobCallback {
            shared: self.shared()?,
            extension: extension.map(str::to_owned),
            number,
        })
    }

    /// Begins work that JavaScript may cancel.
    pub(super) fn start_job(&self, number: u64) -> Result<JobGuard, HostError> {
        let work = JobGuard {
            shared: self.shared()?,
            number,
            cancel: CancellationToken::new(),
        };
        lock(&self.jobs).insert(number, work.cancel.clone());
        Ok(work)
    }

    /// Cancels work; what is over already has nothing to cancel.
    pub(super) fn cancel_job(&self, number: u64) {
        if let Some(cancel) = lock(&self.jobs).get(&number) {
            cancel.cancel();
        }
    }
}

/// Work that is under way, until it is dropped.
pub(super) struct JobGuard {
    shared: Weak<ExtensionsInner>,
    number: u64,
    cancel: CancellationToken,
}

impl JobGuard {
    /// Returns what tells that it is cancelled.
    pub(super) fn cancel(&self) -> CancellationToken {
        self.cancel.clone()
    }
}

impl Drop for JobGuard {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            lock(&shared.bridge.jobs).remove(&self.number);
        }
    }
}
