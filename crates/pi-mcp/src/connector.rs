//! Creates connections from the configuration.

use std::path::PathBuf;
use std::sync::Arc;

use pi_auth::CommandCache;
use pi_config::{AgentDir, ConfiguredMcpServer};
use pi_env::Env;
use pi_http::HttpClient;
use pi_protocol::{McpScope, McpTransport};
use pi_sandbox::Sandbox;

use crate::auth::McpAuth;
use crate::catalog::McpCatalog;
use crate::connection::{ConnectionOptions, InheritedVariables, McpConnection};
use crate::log::McpLog;
use crate::oauth::{OAuthSession, ProviderAuth};
use crate::servers::McpSession;

/// What connections use.
#[derive(Clone)]
pub struct McpConnector {
    pub agent_dir: AgentDir,
    /// The directory of the session.
    pub cwd: PathBuf,
    pub env: Env,
    pub http: HttpClient,
    pub log: Arc<McpLog>,
    /// Outputs of commands in the configuration.
    pub commands: CommandCache,
    /// Confines servers that are started as processes.
    pub sandbox: Option<Arc<Sandbox>>,
}

impl McpConnector {
    /// Creates a connector with its own HTTP connections.
    pub fn new(agent_dir: AgentDir, cwd: PathBuf, env: Env) -> Self {
        Self {
            log: Arc::new(McpLog::new(agent_dir.mcp_log_file())),
            agent_dir,
            cwd,
            env,
            http: HttpClient::new(),
            commands: CommandCache::default(),
            sandbox: None,
        }
    }

    /// Returns the connection to a server, which is not open yet.
    pub fn connection(&self, server: &ConfiguredMcpServer) -> McpConnection {
        McpConnection::new(self.options(server, None))
    }

    /// Returns the OAuth sign-in of a server; `None` if it has another credential or needs none.
    pub fn oauth(&self, server: &ConfiguredMcpServer) -> Option<OAuthSession> {
        OAuthSession::new(self, &server.spec)
    }

    pub(crate) fn options(
        &self,
        server: &ConfiguredMcpServer,
        session: Option<Arc<dyn McpSession>>,
    ) -> ConnectionOptions {
        ConnectionOptions {
            spec: server.spec.clone(),
            cwd: self.cwd.clone(),
            env: self.env.clone(),
            http: self.http.clone(),
            auth: self.auth(server, session),
            log: Arc::clone(&self.log),
            commands: self.commands.clone(),
            sandbox: self.sandbox.clone(),
            variables: match server.scope {
                McpScope::Project => InheritedVariables::Basic,
                McpScope::Global | McpScope::Extension => InheritedVariables::All,
            },
            has_elicitation: false,
            has_sampling: server.spec.lifecycle.has_sampling && server.scope == McpScope::Global,
            catalog: McpCatalog::new(&self.agent_dir),
        }
    }

    /// Returns the credentials of a server: the token of a provider, or an OAuth sign-in.
    fn auth(
        &self,
        server: &ConfiguredMcpServer,
        session: Option<Arc<dyn McpSession>>,
    ) -> Option<Arc<dyn McpAuth>> {
        if let Some(oauth) = self.oauth(server) {
            return Some(Arc::new(oauth));
        }
        let McpTransport::Http(endpoint) = &server.spec.transport else {
            return None;
        };
        let provider = endpoint.provider.clone()?;
        Some(Arc::new(ProviderAuth { provider, session }))
    }
}
