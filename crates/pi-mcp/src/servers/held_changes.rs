//! Holds back changed tool lists while the calls of a turn are executed.
//!
//! A server may announce a change during a call, and the new list arrives before or after the result. So that the next
//! request does not depend on which is first, it declares the tools that were known when the calls began, and the
//! change applies to the request after it.

use std::sync::Arc;

use super::{ManagedServer, McpServers, ServersState};
use crate::connection::McpConnection;

#[derive(Default)]
pub(super) struct HeldChanges {
    is_holding: bool,
    /// The servers whose lists have changed.
    servers: Vec<String>,
}

impl McpServers {
    /// Holds back changed tool lists until they are released.
    pub fn hold_tool_changes(&self) {
        self.0.inner().held.is_holding = true;
    }

    /// Applies the tool lists that were held back.
    pub fn release_tool_changes(&self) {
        let held = std::mem::take(&mut self.0.inner().held);
        for name in held.servers {
            let connection = {
                let inner = self.0.inner();
                let server = inner.find(&name);
                server.and_then(ManagedServer::live).cloned()
            };
            if let Some(connection) = connection {
                self.0.connection_changed(&name, &connection);
            }
        }
    }
}

impl ServersState {
    /// Applies the changed tool list of a connected server, or holds it back.
    pub(super) fn list_changed(self: &Arc<Self>, name: &str, connection: &McpConnection) {
        {
            let held = &mut self.inner().held;
            if held.is_holding {
                if !held.servers.iter().any(|known| known == name) {
                    held.servers.push(name.to_owned());
                }
                return;
            }
        }
        self.connection_changed(name, connection);
    }
}
