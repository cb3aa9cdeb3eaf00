//! Handles calls that replace the current session.

use std::path::PathBuf;

use pi_ext::HostError;
use pi_protocol::EntryId;
use pi_session::ForkPosition;

use super::Caller;
use crate::calls::{Pending, Replacement, ReplacementCalls};

impl ReplacementCalls for Caller<'_> {
    fn new_session(&self, parent: Option<PathBuf>) -> Result<Pending<Replacement>, HostError> {
        let runtime = self.bridge.runtime()?;
        let work = async move {
            let cancelled = runtime.new_session(parent).await?;
            Ok(Replacement { cancelled })
        };
        Ok(self.bridge.spawn_on_runtime(work))
    }

    fn switch_session(&self, path: PathBuf) -> Result<Pending<Replacement>, HostError> {
        let runtime = self.bridge.runtime()?;
        let work = async move {
            let cancelled = runtime.switch_session(path).await?;
            Ok(Replacement { cancelled })
        };
        Ok(self.bridge.spawn_on_runtime(work))
    }

    fn fork(
        &self,
        entry: String,
        position: Option<String>,
    ) -> Result<Pending<Replacement>, HostError> {
        let runtime = self.bridge.runtime()?;
        let entry = EntryId::from(entry);
        let position = match position.as_deref() {
            Some("at") => ForkPosition::At,
            _ => ForkPosition::Before,
        };
        let work = async move {
            let cancelled = runtime.fork(entry, position).await?;
            Ok(Replacement { cancelled })
        };
        Ok(self.bridge.spawn_on_runtime(work))
    }

    fn reload(&self) -> Result<Pending<()>, HostError> {
        let runtime = self.bridge.runtime()?;
        let work = async move { runtime.reload().await };
        Ok(self.bridge.spawn_on_runtime(work))
    }

    fn bind_to_new_session(&self) -> Result<(), HostError> {
        self.bridge.rebind()
    }

    fn release_session(&self) -> Result<(), HostError> {
        self.bridge.mark_stale();
        Ok(())
    }
}
