//! Keeps a connection to a chat service open.

use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::chat::ChatError;

/// Connects again whenever a connection ends, with growing pauses, until canceled or the token is rejected.
pub(crate) async fn keep_receiving<'a>(
    service: &'static str,
    cancel: CancellationToken,
    (first, max): (Duration, Duration),
    connect: impl Fn() -> BoxFuture<'a, Result<(), ChatError>>,
) -> Result<(), ChatError> {
    let mut pause = first;
    loop {
        let started = tokio::time::Instant::now();
        let Some(ended) = cancel.run_until_cancelled(connect()).await else {
            return Ok(());
        };
        match ended {
            Err(error @ ChatError::Token { .. }) => return Err(error),
            Err(error) => tracing::warn!(%error, "the connection to {service} has ended"),
            Ok(()) => {}
        }
        if started.elapsed() > max {
            pause = first;
        }
        if cancel
            .run_until_cancelled(tokio::time::sleep(pause))
            .await
            .is_none()
        {
            return Ok(());
        }
        pause = (pause * 2).min(max);
    }
}
