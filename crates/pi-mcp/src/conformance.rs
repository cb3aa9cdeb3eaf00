//! The client of the official conformance suite: does what a scenario expects, without a user.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_config::{ConfiguredMcpServer, McpApproval, parse_mcp_server};
use pi_http::HttpClient;
use pi_protocol::{McpScope, McpServerStatus, McpState};
use secrecy::SecretString;
use serde_json::{Map, Value, json};

use crate::client::RequestOptions;
use crate::connection::{ConnectionOptions, McpConnection, Repetition, call_params};
use crate::connector::McpConnector;
use crate::error::McpError;
use crate::oauth::SignInPrompt;
use crate::servers::{ExtensionServer, McpNoticeLevel, McpSession, SessionToolInfo};

/// How often a server may ask for another sign-in.
const MAX_SIGN_INS: usize = 3;

/// The document that the suite accepts as a client.
const CLIENT_DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// Connects to a server of the suite and calls its tools. `context` is what the suite adds to a scenario.
pub async fn run_conformance_scenario(
    connector: &McpConnector,
    url: &str,
    scenario: &str,
    context: &Value,
) -> Result<(), String> {
    let mut entry = json!({ "url": url });
    let text = |key: &str| context.get(key).cloned();
    if scenario == "auth/basic-cimd" {
        entry["oauth"] = json!({ "clientId": CLIENT_DOCUMENT });
    } else if let Some(id) = text("client_id") {
        entry["oauth"] = json!({"clientId": id, "clientSecret": text("client_secret")});
    }
    let server = ConfiguredMcpServer {
        spec: parse_mcp_server("conformance", &entry)?,
        source: PathBuf::new(),
        scope: McpScope::Global,
        override_file: None,
        approval: McpApproval::NotNeeded,
    };
    let connection = McpConnection::new(ConnectionOptions {
        has_elicitation: true,
        ..connector.options(&server, None)
    });
    let oauth = connector.oauth(&server);
    let mut sign_ins = 0;
    let outcome = loop {
        let error = match Box::pin(call_tools(&connection)).await {
            Ok(()) => break Ok(()),
            Err(error) => error,
        };
        let oauth = oauth.as_ref().filter(|_| sign_ins < MAX_SIGN_INS);
        let Some(oauth) = oauth.filter(|_| connection.state() == McpState::NeedsAuth) else {
            break Err(error.to_string());
        };
        sign_ins += 1;
        let browser = RedirectFollower {
            http: connector.http.clone(),
            connector: connector.clone(),
            redirect: Mutex::default(),
        };
        let signing_in = oauth.sign_in(connection.challenge(), &browser);
        if let Err(error) = Box::pin(signing_in).await {
            break Err(error.to_string());
        }
    };
    connection.close().await;
    outcome
}

/// Calls every tool, with numbers where a number is required.
async fn call_tools(connection: &McpConnection) -> Result<(), McpError> {
    connection.connect().await?;
    let _active = connection.begin_call(Arc::new(AcceptingSession)).await;
    let status = connection.status();
    for tool in status.tools.iter() {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        let schema = tool.get("inputSchema");
        let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
        let arguments = properties.into_iter().flatten().map(|(key, schema)| {
            let value = match schema.get("type").and_then(Value::as_str) {
                Some("number" | "integer") => json!(1),
                Some("boolean") => json!(true),
                _ => json!("text"),
            };
            (key.clone(), value)
        });
        let arguments: Map<String, Value> = arguments.collect();
        let options = RequestOptions::new(connection.spec().timeout);
        let params = call_params(name, &arguments);
        connection
            .request("tools/call", params, options, Repetition::Never)
            .await?;
    }
    Ok(())
}

/// Requests the page of a sign-in and reads where it redirects to.
struct RedirectFollower {
    http: HttpClient,
    connector: McpConnector,
    redirect: Mutex<Option<String>>,
}

impl SignInPrompt for RedirectFollower {
    fn show_url(&self, url: &str) -> BoxFuture<'_, ()> {
        let url = url::Url::parse(url);
        async move {
            let Ok(url) = url else {
                return;
            };
            let Ok((client, _)) = self.http.client_and_route(&url, &self.connector.env) else {
                return;
            };
            let response = client.get(url).send().await;
            let location = response.ok().and_then(|response| {
                let location = response.headers().get(http::header::LOCATION)?;
                location.to_str().ok().map(str::to_owned)
            });
            *self.redirect.lock() = location;
        }
        .boxed()
    }

    fn redirect_url(&self) -> BoxFuture<'_, Option<String>> {
        let redirect = self.redirect.lock().take();
        std::future::ready(redirect).boxed()
    }
}

/// A user who accepts what a server suggests.
struct AcceptingSession;

impl McpSession for AcceptingSession {
    fn tools(&self) -> Vec<SessionToolInfo> {
        Vec::new()
    }

    fn active_tools(&self) -> Vec<String> {
        Vec::new()
    }

    fn set_active_tools(&self, _names: &[String]) {}

    fn extension_servers(&self) -> Vec<ExtensionServer> {
        Vec::new()
    }

    fn notify(&self, _level: McpNoticeLevel, _message: String) -> BoxFuture<'static, ()> {
        std::future::ready(()).boxed()
    }

    fn select(&self, title: String, options: Vec<String>) -> BoxFuture<'static, Option<String>> {
        let suggested = title.rsplit_once("\nSuggested: ").map(|(_, label)| label);
        let suggested = suggested.filter(|label| options.iter().any(|option| option == label));
        let first = options.iter().find(|option| *option == "(done)");
        let first = first.or_else(|| options.first()).map(String::as_str);
        let choice = suggested.or(first).map(str::to_owned);
        std::future::ready(choice).boxed()
    }

    fn input(&self, _title: String, placeholder: String) -> BoxFuture<'static, Option<String>> {
        std::future::ready(Some(placeholder)).boxed()
    }

    fn has_user(&self) -> bool {
        true
    }

    fn asks_for_text(&self) -> bool {
        true
    }

    fn has_screen(&self) -> bool {
        false
    }

    fn statuses_changed(&self, _servers: Vec<McpServerStatus>) -> BoxFuture<'static, ()> {
        std::future::ready(()).boxed()
    }

    fn provider_token(&self, _provider: &str) -> BoxFuture<'static, Option<SecretString>> {
        std::future::ready(None).boxed()
    }
}
