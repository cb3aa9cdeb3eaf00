//! Long-running jobs for extensions: they can be canceled and call back into JavaScript.
//!
//! JavaScript assigns a number to every job (`js/pi/work.js`). The number is used to cancel the job
//! and to call the functions the extension supplied with it: operations, a listener.

use std::sync::Weak;

use pi_ext::{EngineError, HostError};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::ExtensionsInner;
use super::bridge::{ExtensionBridge, lock};

/// Calls functions an extension supplied with a job.
#[derive(Clone)]
pub(super) struct JobCallback {
    /// Weak, since the engine may shut down during the job.
    pub(super) shared: Weak<ExtensionsInner>,
    extension: Option<String>,
    number: u64,
}

impl JobCallback {
    /// Calls a function the extension supplied.
    pub(super) async fn call(
        &self,
        function: &str,
        arguments: Value,
        signal: Option<u64>,
    ) -> Result<Value, EngineError> {
        let Some(shared) = self.shared.upgrade() else {
            return Err(EngineError::InvalidValue(
                "the extension was unloaded".to_owned(),
            ));
        };
        let extension = self.extension.as_deref();
        shared
            .engine
            .run_callback(extension, self.number, function, arguments, signal)
            .await
    }
}

impl ExtensionBridge {
    pub(super) fn callback(
        &self,
        extension: Option<&str>,
        number: u64,
    ) -> Result<JobCallback, HostError> {
        Ok(JobCallback {
            shared: self.shared()?,
            extension: extension.map(str::to_owned),
            number,
        })
    }

    /// Starts a job that JavaScript may cancel.
    pub(super) fn start_job(&self, number: u64) -> Result<JobGuard, HostError> {
        let work = JobGuard {
            shared: self.shared()?,
            number,
            cancel: CancellationToken::new(),
        };
        lock(&self.jobs).insert(number, work.cancel.clone());
        Ok(work)
    }

    /// Cancels a job; does nothing if it has finished.
    pub(super) fn cancel_job(&self, number: u64) {
        if let Some(cancel) = lock(&self.jobs).get(&number) {
            cancel.cancel();
        }
    }
}

/// A running job, until dropped.
pub(super) struct JobGuard {
    shared: Weak<ExtensionsInner>,
    number: u64,
    cancel: CancellationToken,
}

impl JobGuard {
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
