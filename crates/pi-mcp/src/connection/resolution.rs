//! Resolves the configuration of a server: variables, commands and paths in it.

use http::{HeaderMap, HeaderName, HeaderValue};
use pi_auth::{CommandReuse, ValueTemplate};
use pi_protocol::{McpCommand, McpEndpoint};
use secrecy::ExposeSecret as _;
use url::Url;

use super::{ConnectionOptions, ConnectionState, InheritedVariables};
use crate::error::McpError;
use crate::http::HttpTarget;
use crate::stdio::{ServerCommand, expand_home};

/// Variables that servers of a project inherit.
const PROJECT_VARIABLES: [&str; 8] = [
    "PATH", "HOME", "USER", "LANG", "TERM", "TMPDIR", "SHELL", "LOGNAME",
];

impl ConnectionState {
    pub(super) async fn resolve_command(
        &self,
        command: &McpCommand,
    ) -> Result<ServerCommand, McpError> {
        let ConnectionOptions { env, cwd, .. } = &self.options;
        let home = env.home_dir();
        let expand = |word: &str| expand_home(word, home.as_deref());
        let mut variables = Vec::new();
        for (name, value) in &command.env {
            let value = self.resolve(value, &format!("variable {name}")).await?;
            variables.push((name.clone(), value));
        }
        Ok(ServerCommand {
            program: expand(&command.command).into(),
            args: command.args.iter().map(|arg| expand(arg)).collect(),
            cwd: cwd.join(expand(command.cwd.as_deref().unwrap_or("."))),
            variables,
            base: match self.options.variables {
                InheritedVariables::All => None,
                InheritedVariables::Basic => Some(basic_variables()),
            },
            sandbox: self.options.sandbox.clone(),
        })
    }

    pub(super) async fn resolve_endpoint(
        &self,
        endpoint: &McpEndpoint,
    ) -> Result<HttpTarget, McpError> {
        let ConnectionOptions {
            env, http, auth, ..
        } = &self.options;
        let mut headers = HeaderMap::new();
        for (name, value) in &endpoint.headers {
            let subject = format!("header {name}");
            let value = self.resolve(value, &subject).await?;
            let invalid = || McpError::Setup(format!("the {subject} is not valid"));
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_invalid| invalid())?;
            let mut value = HeaderValue::from_str(&value).map_err(|_invalid| invalid())?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let url = Url::parse(&endpoint.url)
            .map_err(|error| McpError::Setup(format!("the URL is not valid: {error}")))?;
        Ok(HttpTarget {
            url,
            headers,
            client: http.clone(),
            env: env.clone(),
            auth: auth.clone(),
        })
    }

    async fn resolve(&self, value: &str, subject: &str) -> Result<String, McpError> {
        if value.is_empty() {
            return Ok(String::new());
        }
        let ConnectionOptions { env, commands, .. } = &self.options;
        let template = ValueTemplate::from(value);
        let resolved = template.resolve(env, CommandReuse::Cached(commands)).await;
        let resolved = resolved
            .map_err(|error| McpError::Setup(format!("cannot resolve the {subject}: {error}")))?;
        Ok(resolved.expose_secret().to_owned())
    }
}

fn basic_variables() -> Vec<(String, String)> {
    let is_basic = |name: &str| PROJECT_VARIABLES.contains(&name) || name.starts_with("LC_");
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    variables.filter(|(name, _)| is_basic(name)).collect()
}
