//! What servers send without being asked.

use std::sync::Weak;

use serde_json::Value;

use super::{ConnectionOptions, ConnectionState, ConnectionStatus};
use crate::client::{ClientObserver, ServerRequestAnswer};

pub(super) struct ConnectionObserver {
    pub(super) connection: Weak<ConnectionState>,
    pub(super) generation: u64,
}

impl ClientObserver for ConnectionObserver {
    fn notified(&self, method: &str, params: &Value) {
        let Some(connection) = self.connection.upgrade() else {
            return;
        };
        match method {
            "notifications/message" => {
                let ConnectionOptions { spec, log, .. } = &connection.options;
                log.write(&spec.name, params);
            }
            "notifications/prompts/list_changed" => {
                let change = |status: &mut ConnectionStatus| status.prompts_version += 1;
                connection.status.send_modify(change);
            }
            "notifications/tools/list_changed" => {
                tokio::spawn(connection.follow_tools(self.generation));
            }
            _ => {}
        }
    }

    fn requested(&self, method: &str, params: Value) -> Option<ServerRequestAnswer> {
        let connection = self.connection.upgrade()?;
        connection.answer_request(method, params)
    }

    fn connection_lost(&self) {
        if let Some(connection) = self.connection.upgrade() {
            connection.connection_lost(self.generation);
        }
    }
}
