//! How far a request has come.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What the request is currently doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub enum StreamPhase {
    /// Resolving credentials and building the request body.
    #[default]
    Preparing,
    Connecting,
    /// The request was sent; no response yet.
    Waiting,
    Receiving,
    /// The last attempt failed; another one follows.
    Retrying {
        /// The number of the upcoming retry, starting at 1.
        attempt: u32,
        /// The wait before it.
        delay: Duration,
    },
    Ended,
}
