//! What a program needs that supervises a pi process.

use std::io;

use pi_protocol::{Ack, BarrierResponse, Command};

use super::{RpcClient, RpcClientError, send_line};

/// Supervises a process that was started with `--barrier`.
#[derive(Clone, Copy)]
pub struct RpcSupervisor<'client>(&'client RpcClient);

impl<'client> RpcSupervisor<'client> {
    pub fn of(client: &'client RpcClient) -> Self {
        Self(client)
    }

    /// Decides whether a run passes a barrier.
    pub async fn respond(self, response: &BarrierResponse) -> Result<(), RpcClientError> {
        let line = pi_protocol::json::to_string(response)?;
        send_line(&self.0.shared, line).await
    }

    /// Continues a session whose process was killed; `begun` lists the calls that may have started.
    pub async fn resume(self, begun: Vec<String>) -> Result<Ack, RpcClientError> {
        self.0.request_as(Command::Resume { begun }).await
    }

    /// Waits until the process has exited, and returns its exit code; `None` if it was killed.
    pub async fn wait(self) -> io::Result<Option<i32>> {
        let ended = self.0.shared.ended.notified();
        let is_ended = self.0.shared.state().is_ended;
        if !is_ended {
            ended.await;
        }
        let status = self.0.process.lock().await.child.wait().await?;
        Ok(status.code())
    }

    /// Returns the ID of the process; `None` once it was waited for.
    pub async fn process_id(self) -> Option<u32> {
        self.0.process.lock().await.child.id()
    }
}
