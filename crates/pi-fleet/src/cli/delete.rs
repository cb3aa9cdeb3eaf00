//! `pi fleet delete`: removes a batch with everything that it has stored.

use super::batches::Batches;
use super::words::Failure;
use super::{SUCCESS, print};
use crate::engine::LocalEngine;
use crate::workspace::Mirrors;

/// Deletes a batch of this machine, or of a fleet.
pub(super) async fn delete(batches: &Batches, name: &str) -> Result<u8, Failure> {
    // Fails if there is none.
    batches.open(name).await?;
    if let Some(remote) = batches.remote() {
        remote.batch(name).delete().await?;
    } else {
        let directory = batches.directory(name);
        // No process starts a run meanwhile.
        let _locks = LocalEngine::open(&directory)?.lock_runs()?;
        std::fs::remove_dir_all(&directory).map_err(|error| {
            Failure::new(format!("cannot delete {}: {error}", directory.display()))
        })?;
        let forgotten = Mirrors::new(batches.mirrors()).forget(name).await;
        forgotten.map_err(|error| {
            Failure::new(format!("cannot remove the snapshots of {name}: {error}"))
        })?;
    }
    print(&format!("{name} is deleted."));
    Ok(SUCCESS)
}
