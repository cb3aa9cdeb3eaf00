//! What runs a session: this process, or another one of the user.
//!
//! A session of another process is read from a copy that follows its file and its events. Changes are commands to that
//! process.

use std::time::Duration;

use pi_host::{
    AgentSession, CommandOrigin, Host, InputSource, LinkStatus, RemoteError, RemoteSession,
    SessionHandle, SessionRuntime,
};
use pi_protocol::{
    Ack, Answer, Command, CommandInfo, JsonRpcError, QueuedTexts, RequestId, SessionActivity,
};
use serde_json::Value;
use tokio::sync::watch;

use crate::error;

/// Error for what only the process that runs a session can do.
const OWNER_ONLY: &str =
    "another pi runs this session; do this there, or close the session there and load it again";

/// How long the process that runs a session may take to respond before it is considered busy.
const RESPONSE_TIME: Duration = Duration::from_secs(5);

fn is_lost(status: LinkStatus) -> bool {
    !matches!(status, LinkStatus::Connected(_))
}

#[derive(Clone)]
pub(crate) enum Backing {
    Local(SessionHandle),
    Remote(RemoteSession),
}

impl Backing {
    pub(crate) fn runtime(&self) -> &SessionRuntime {
        match self {
            Self::Local(handle) => handle.runtime(),
            Self::Remote(remote) => remote.runtime(),
        }
    }

    pub(crate) fn session(&self) -> AgentSession {
        self.runtime().session()
    }

    /// Returns the runtime, unless another process runs the session.
    pub(crate) fn own_runtime(&self) -> Result<&SessionRuntime, JsonRpcError> {
        match self {
            Self::Local(handle) => Ok(handle.runtime()),
            Self::Remote(_) => Err(JsonRpcError::invalid_request(OWNER_ONLY)),
        }
    }

    /// Returns the commands of extensions, skills and templates.
    pub(crate) fn commands(&self) -> Vec<CommandInfo> {
        match self {
            Self::Local(handle) => handle.runtime().commands(),
            Self::Remote(remote) => remote.commands(),
        }
    }

    /// Executes a command and returns its data, or null.
    pub(crate) async fn submit(&self, command: Command) -> Result<Value, JsonRpcError> {
        match self {
            Self::Local(handle) => {
                let ack = handle.runtime().submit(command).await;
                let Ack::Done { data: Some(data) } = ack.map_err(error::rejected)? else {
                    return Ok(Value::Null);
                };
                Ok(serde_json::from_str(data.as_str()).unwrap_or_default())
            }
            Self::Remote(remote) => remote.submit(&command).await.map_err(error::remote),
        }
    }

    /// Sends a prompt; returns whether a run follows.
    pub(crate) async fn prompt(&self, command: Command) -> Result<bool, JsonRpcError> {
        match self {
            Self::Local(handle) => {
                let origin = CommandOrigin {
                    source: InputSource::Rpc,
                    request_id: None,
                };
                let accepted = handle.runtime().submit_from(origin, command).await;
                let accepted = accepted.map_err(error::rejected)?;
                Ok(accepted.ack != Ack::Handled)
            }
            Self::Remote(remote) => {
                let ack = remote.submit(&command).await.map_err(error::remote)?;
                Ok(ack.get("disposition").and_then(Value::as_str) != Some("handled"))
            }
        }
    }

    /// Stops the run, and waits for its end if it is in this process.
    pub(crate) async fn abort(&self) {
        match self {
            Self::Local(handle) => handle.session().abort().await,
            Self::Remote(remote) => {
                if let Err(error) = remote.submit(&Command::Abort).await {
                    tracing::debug!(%error, "cannot stop the run of another process");
                }
            }
        }
    }

    pub(crate) async fn clear_queue(&self) {
        match self {
            Self::Local(handle) => {
                handle.session().queue().clear().await;
            }
            Self::Remote(remote) => {
                if remote.state().queue != QueuedTexts::default() {
                    remote.submit(&Command::ClearQueue).await.ok();
                }
            }
        }
    }

    pub(crate) async fn answer(&self, request: RequestId, answer: Answer) {
        match self {
            Self::Local(handle) => {
                handle
                    .session()
                    .requests()
                    .answer(request, answer)
                    .await
                    .ok();
            }
            Self::Remote(remote) => {
                let answer = Command::Answer { request, answer };
                remote.submit(&answer).await.ok();
            }
        }
    }

    /// Whether the process that ran the session has ended or replaced the session.
    pub(crate) fn is_lost(&self) -> bool {
        match self {
            Self::Local(_) => false,
            Self::Remote(remote) => is_lost(*remote.status().borrow()),
        }
    }

    /// Waits until [`Backing::is_lost`]; forever for a session of this process.
    pub(crate) async fn lost(&self) {
        let Self::Remote(remote) = self else {
            return std::future::pending().await;
        };
        let mut status = remote.status();
        status.wait_for(|status| is_lost(*status)).await.ok();
    }

    /// Waits until a lost connection is restored, or [`Backing::is_lost`].
    pub(crate) async fn restored(&self) {
        let Self::Remote(remote) = self else {
            return;
        };
        // A process that was killed just now is noticed when it is sent something.
        let asking = remote.submit(&Command::GetState);
        let asked = tokio::time::timeout(RESPONSE_TIME, asking).await;
        if matches!(asked, Ok(Err(RemoteError::Ended))) {
            remote.wait_for_connection().await;
        }
    }

    /// Waits until the session has settled. `settled` changes with every end of a run. Fails if the process that runs the
    /// session ended before.
    pub(crate) async fn settled(
        &self,
        mut settled: watch::Receiver<u64>,
    ) -> Result<(), JsonRpcError> {
        let Self::Remote(remote) = self else {
            self.session().wait_for_idle().await;
            return Ok(());
        };
        let mut status = remote.status();
        loop {
            match *status.borrow_and_update() {
                LinkStatus::Connected(_) => {}
                LinkStatus::Replaced | LinkStatus::Succeeded => return Ok(()),
                LinkStatus::Ended => return Err(error::remote(RemoteError::Ended)),
            }
            tokio::select! {
                _settled = settled.changed() => return Ok(()),
                changed = status.changed() => {
                    // Events may have been missed while there was no connection.
                    let is_idle = remote.state().activity == SessionActivity::default();
                    if changed.is_err() || is_idle {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Ends the session and its children, and releases its file; its run is aborted immediately. One of another process
    /// continues there.
    pub(crate) async fn close(&self, host: &Host) {
        match self {
            Self::Local(handle) => {
                handle.session().abort().await;
                host.close(&handle.id()).await;
            }
            Self::Remote(remote) => remote.runtime().shutdown().await,
        }
    }
}
