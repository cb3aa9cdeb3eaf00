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
            return Err(EngineError::Value("the extension is gone".to_owned()));
        };
        let extension = self.extension.as_deref();
        shared
            .engine
            .serve(extension, self.number, function, arguments, signal)
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

    /// Begins work that JavaScript may cancel; one that was cancelled already begins so.
    pub(super) fn open_work(&self, number: u64) -> CancellationToken {
        lock(&self.works).entry(number).or_default().clone()
    }

    /// Ends it.
    pub(super) fn close_work(&self, number: u64) {
        lock(&self.works).remove(&number);
    }

    /// Cancels it.
    pub(super) fn cancel_work(&self, number: u64) {
        lock(&self.works).entry(number).or_default().cancel();
    }
}
