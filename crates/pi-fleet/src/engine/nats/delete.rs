//! Deletes a batch with its logs and files. Only the administrator of a server may do that.

use super::server::server_error;
use super::{EngineError, NatsEngine};
use crate::engine::FleetEngine as _;

impl NatsEngine {
    /// Deletes the batch, unless one of its runs is in progress. A deletion that was interrupted is completed by the next.
    pub(crate) async fn delete(&self) -> Result<(), EngineError> {
        const ACTION: &str = "delete a batch";
        let runs = self.overview().await?;
        if let Some(run) = runs.into_iter().find(|run| run.is_active) {
            return Err(EngineError::InProgress(run.task.id));
        }
        let server = self.server();
        for (stream, subject) in server.names.everything_of(&self.batch) {
            let found = server.context.get_stream_no_info(&stream).await;
            let stream = found.map_err(|error| server_error(ACTION, &error))?;
            let purging = stream.purge().filter(subject);
            let purged = server.guard(ACTION, purging.into_future()).await?;
            purged.map_err(|error| server_error(ACTION, &error))?;
        }
        Ok(())
    }
}
