//! Waits for servers before they are needed.

use std::time::Duration;

use pi_core::ReachedTools;
use pi_protocol::{MCP_RESOURCE_TOOLS, McpExposure};

use super::{ManagedServer, McpNoticeLevel, ServersState};

/// How long the first prompt waits for servers whose tools are declared.
const STARTUP_WAIT: Duration = Duration::from_secs(10);

impl ServersState {
    /// Waits until the attempts to connect to these servers have ended, including those that start meanwhile.
    pub(super) async fn wait_for(&self, is_needed: impl Fn(&ManagedServer) -> bool) {
        loop {
            let pending = {
                let inner = self.inner();
                let mut servers = inner.servers.iter();
                servers.find_map(|server| {
                    let ready = server.ready.as_ref()?;
                    let is_pending = server.spec().enabled && !*ready.borrow();
                    (is_pending && is_needed(server)).then(|| ready.clone())
                })
            };
            let Some(mut ready) = pending else {
                return;
            };
            if ready.wait_for(|ready| *ready).await.is_err() {
                return;
            }
        }
    }

    /// Waits until the attempt to connect to a server has ended.
    pub(crate) async fn wait_for_server(&self, name: &str) {
        self.wait_for(|server| server.name() == name).await;
    }

    /// Whether no attempt to connect is in progress.
    fn is_settled(&self) -> bool {
        let inner = self.inner();
        let mut attempts = inner
            .servers
            .iter()
            .filter_map(|server| server.ready.as_ref());
        attempts.all(|ready| *ready.borrow())
    }

    /// Waits until the problems of the last attempts have been reported.
    pub(super) async fn wait_for_report(&self) {
        let reported = self.inner().reported.clone();
        if let Some(mut reported) = reported {
            reported.wait_for(|reported| *reported).await.ok();
        }
    }

    pub(super) async fn wait_for_call(&self, tool: &str, reached: Option<ReachedTools>) {
        let owner = {
            let inner = self.inner();
            inner.tools.names.server_of(tool).map(str::to_owned)
        };
        let is_resource_tool = MCP_RESOURCE_TOOLS.contains(&tool);
        self.wait_for(|server| match &reached {
            Some(ReachedTools::All) => true,
            Some(ReachedTools::Words(words)) => {
                let namespace = server.spec().namespace();
                words.iter().any(|word| word.contains(&namespace))
            }
            Some(ReachedTools::None) => false,
            None => is_resource_tool || owner.as_deref() == Some(server.name()),
        })
        .await;
    }

    pub(super) async fn wait_for_direct_tools(&self) {
        if std::mem::replace(&mut self.inner().has_waited, true) {
            return;
        }
        let has_direct = |server: &ManagedServer| server.spec().may_have(McpExposure::Direct);
        let waiting = async {
            self.wait_for(has_direct).await;
            if self.is_settled() {
                // What the user should know comes before the response.
                self.wait_for_report().await;
            }
        };
        if tokio::time::timeout(STARTUP_WAIT, waiting).await.is_err() {
            let message = "MCP servers are still connecting. Their tools are available once they are connected.";
            self.notify(McpNoticeLevel::Info, message.to_owned()).await;
        }
    }
}
