//! Why a session of another process cannot be used.

use std::io;

use pi_session::SessionError;
use thiserror::Error;

use super::LiveSocketError;
use crate::runtime::StartError;

/// Why a session of another process cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RemoteError {
    #[error(transparent)]
    Socket(#[from] LiveSocketError),
    #[error("cannot connect to the session: {0}")]
    Connect(#[source] io::Error),
    #[error("the process that runs the session does not respond")]
    NoResponse,
    #[error("the process that runs the session sent something unexpected: {0}")]
    Protocol(#[source] serde_json::Error),
    #[error("the session has no file")]
    NoFile,
    #[error("the process that ran the session has ended")]
    Ended,
    #[error("{0}")]
    Rejected(String),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Start(#[from] StartError),
}

impl RemoteError {
    pub(super) fn protocol(error: serde_json::Error) -> Self {
        Self::Protocol(error)
    }
}
