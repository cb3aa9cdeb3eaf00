//! Connections that sessions share: a server with the same configuration and directory is started once.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use pi_sandbox::Sandbox;

use crate::connection::{ConnectionOptions, InheritedVariables, McpConnection};

/// The connections of a process. Clones share them.
#[derive(Clone, Default)]
pub struct McpPool(Arc<Mutex<HashMap<PoolKey, SharedConnection>>>);

#[derive(Clone, PartialEq, Eq, Hash)]
struct PoolKey {
    name: String,
    /// The entry as JSON.
    config: String,
    cwd: PathBuf,
    has_all_variables: bool,
    has_elicitation: bool,
    /// The policy of the sandbox: a session never uses a server that may do more than itself.
    sandbox: Option<String>,
}

struct SharedConnection {
    connection: McpConnection,
    users: usize,
}

/// A connection that a session uses until it releases it.
pub(crate) struct PooledConnection {
    pool: McpPool,
    key: PoolKey,
    connection: McpConnection,
}

impl McpPool {
    /// Returns the connection to a server, which may be in use already.
    pub(crate) fn acquire(&self, options: ConnectionOptions) -> PooledConnection {
        let key = PoolKey {
            name: options.spec.name.clone(),
            config: transport_config(&options),
            cwd: options.cwd.clone(),
            has_all_variables: options.variables == InheritedVariables::All,
            has_elicitation: options.has_elicitation,
            sandbox: options.sandbox.as_ref().map(|sandbox| sandbox_key(sandbox)),
        };
        let mut connections = self.0.lock();
        let shared = connections
            .entry(key.clone())
            .or_insert_with(|| SharedConnection {
                connection: McpConnection::new(options),
                users: 0,
            });
        shared.users += 1;
        PooledConnection {
            pool: self.clone(),
            key,
            connection: shared.connection.clone(),
        }
    }

    /// Returns whether this was the last user.
    fn release(&self, key: &PoolKey, connection: &McpConnection) -> bool {
        let mut connections = self.0.lock();
        let Some(shared) = connections.get_mut(key) else {
            return true;
        };
        if !shared.connection.is_same(connection) {
            return true;
        }
        shared.users -= 1;
        let is_last = shared.users == 0;
        if is_last {
            connections.remove(key);
        }
        is_last
    }
}

fn sandbox_key(sandbox: &Sandbox) -> String {
    format!("{:?} {:?}", sandbox.policy(), sandbox.enforcement())
}

/// Returns the entry without what a session may change: how tools are exposed.
fn transport_config(options: &ConnectionOptions) -> String {
    let mut config = options.spec.config.clone();
    for key in ["enabled", "exposure", "toolExposure", "description"] {
        config.shift_remove(key);
    }
    serde_json::Value::Object(config).to_string()
}

impl PooledConnection {
    pub(crate) fn connection(&self) -> &McpConnection {
        &self.connection
    }

    /// Closes the connection if no other session uses it.
    pub(crate) async fn release(self) {
        if self.pool.release(&self.key, &self.connection) {
            self.connection.close().await;
        }
    }
}
