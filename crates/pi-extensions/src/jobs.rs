//! Long-running jobs for extensions: they can be canceled and call back into JavaScript.
//!
//! JavaScript assigns a number to every job (`js/pi/callbacks.js`). The number is used to cancel the job
//! and to call the functions the extension supplied with it: operations, a listener.

use std::sync::Weak;

use pi_ext::{EngineError, HostError};
use tokio_util::sync::CancellationToken;

use crate::ExtensionsInner;
use crate::bridge::ExtensionBridge;
use crate::callbacks::Callback;

/// Calls functions an extension supplied with a job.
#[derive(Clone)]
pub(crate) struct JobCallback {
    /// Weak, since the engine may shut down during the job.
    pub(crate) shared: Weak<ExtensionsInner>,
    extension: Option<String>,
    pub(crate) number: u64,
}

impl JobCallback {
    /// Calls a function that can be canceled with a signal ID.
    pub(crate) async fn run_cancellable<Function: Callback>(
        &self,
        call: &Function,
        signal: Option<u64>,
    ) -> Result<Function::Reply, EngineError> {
        let invalid = |error: serde_json::Error| EngineError::InvalidValue(error.to_string());
        // Gone, so there is no engine left that could run it.
        let shared = self.shared.upgrade().ok_or(EngineError::Stopped)?;
        let arguments = serde_json::to_value(call).map_err(invalid)?;
        let extension = self.extension.as_deref();
        let engine = &shared.engine;
        let reply = engine.run_callback(extension, self.number, Function::NAME, arguments, signal);
        pi_protocol::json::from_value(&reply.await?).map_err(invalid)
    }

    /// Calls a function the extension supplied.
    pub(crate) async fn run<Function: Callback>(
        &self,
        call: &Function,
    ) -> Result<Function::Reply, EngineError> {
        self.run_cancellable(call, None).await
    }
}

impl ExtensionBridge {
    pub(crate) fn callback(
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
    pub(crate) fn start_job(&self, number: u64) -> Result<JobGuard, HostError> {
        let work = JobGuard {
            shared: self.shared()?,
            number,
            cancel: CancellationToken::new(),
        };
        self.jobs.lock().insert(number, work.cancel.clone());
        Ok(work)
    }

    /// Cancels a job; does nothing if it has finished.
    pub(crate) fn cancel_job(&self, number: u64) {
        if let Some(cancel) = self.jobs.lock().get(&number) {
            cancel.cancel();
        }
    }
}

/// A running job, until dropped.
pub(crate) struct JobGuard {
    shared: Weak<ExtensionsInner>,
    number: u64,
    cancel: CancellationToken,
}

impl JobGuard {
    pub(crate) fn cancel(&self) -> CancellationToken {
        self.cancel.clone()
    }
}

impl Drop for JobGuard {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            shared.bridge.jobs.lock().remove(&self.number);
        }
    }
}
