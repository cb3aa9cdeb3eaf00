//! The lifecycle of 2026-07-28: no handshake. Every request states what the client is; a server that needs something of the
//! user answers with questions, and the request is sent again with the answers.

use std::time::Duration;

use futures_util::FutureExt as _;
use parking_lot::MutexGuard;
use serde_json::{Map, Value, json};

use super::handshake::{ServerInfo, parse_capabilities, parse_instructions};
use super::{Client, ClientState, RequestOptions, with_meta};
use crate::error::McpError;

/// The only version with this lifecycle.
pub(crate) const MODERN_VERSION: &str = "2026-07-28";

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";

/// How often a server may ask during one request.
const MAX_ROUNDS: usize = 10;

/// How many questions a server may ask at once.
const MAX_QUESTIONS: usize = 16;

/// Pause before a request is sent again for which the server asked nothing.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// Pauses before a subscription that ended is made again.
const SUBSCRIPTION_PAUSES: [Duration; 5] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
    Duration::from_secs(16),
];

/// A subscription that lasted this long was not rejected.
const STABLE_SUBSCRIPTION: Duration = Duration::from_secs(30);

/// A subscription has no time limit; this is about 30 years.
const NO_TIMEOUT: Duration = Duration::from_secs(1_000_000_000);

/// Requests whose target is a header, and the parameter that has it.
pub(crate) const METHOD_HEADER_NAMES: [(&str, &str); 3] = [
    ("tools/call", "name"),
    ("prompts/get", "name"),
    ("resources/read", "uri"),
];

/// Returns the version that a request states, which requests after a handshake do not.
pub(crate) fn envelope_version(message: &Value) -> Option<&str> {
    message
        .get("params")?
        .get("_meta")?
        .get(VERSION_KEY)?
        .as_str()
}

/// What every request states.
#[derive(Debug, Clone)]
pub(super) struct Envelope {
    capabilities: Value,
}

impl Envelope {
    pub(super) fn wrap(&self, params: Option<Value>) -> Value {
        let client = json!({"name": "pi", "version": pi_env::VERSION});
        let params = with_meta(params, VERSION_KEY, MODERN_VERSION.into());
        let params = with_meta(Some(params), CLIENT_KEY, client);
        with_meta(Some(params), CAPABILITIES_KEY, self.capabilities.clone())
    }
}

impl ClientState {
    pub(super) fn envelope(&self) -> MutexGuard<'_, Option<Envelope>> {
        self.envelope.lock()
    }

    pub(super) fn has_envelope(&self) -> bool {
        self.envelope().is_some()
    }
}

impl Client {
    /// Asks what the server is. From then on, requests need no handshake.
    pub(crate) async fn discover(
        &self,
        capabilities: Value,
        timeout: Duration,
    ) -> Result<ServerInfo, McpError> {
        let envelope = Envelope { capabilities };
        let options = RequestOptions::new(timeout);
        let params = Some(envelope.wrap(None));
        let result = self.request("server/discover", params, options).await?;
        let info = parse_discovery(&result)?;
        *self.0.envelope() = Some(envelope);
        self.subscribe(&result);
        Ok(info)
    }

    /// Sends a request, answers what the server asks for it, and sends it again.
    pub(super) async fn request_with_inputs(
        &self,
        method: &str,
        params: Option<Value>,
        options: RequestOptions,
    ) -> Result<Value, McpError> {
        let mut next = params.clone();
        for _ in 0..MAX_ROUNDS {
            let result = self.exchange(method, next, options.clone()).await?;
            if result.get("resultType").and_then(Value::as_str) != Some("input_required") {
                return Ok(result);
            }
            let inputs = options
                .cancel
                .run_until_cancelled(Box::pin(self.answer_inputs(&result)))
                .await;
            let answers = inputs.unwrap_or(Err(McpError::Canceled))?;
            let mut retried = match &params {
                Some(Value::Object(params)) => params.clone(),
                _ => Map::new(),
            };
            if answers.is_empty() {
                tokio::time::sleep(RETRY_PAUSE).await;
            } else {
                retried.insert("inputResponses".to_owned(), Value::Object(answers));
            }
            if let Some(state) = result.get("requestState") {
                retried.insert("requestState".to_owned(), state.clone());
            }
            next = Some(Value::Object(retried));
        }
        Err(McpError::protocol(format!(
            "the MCP server asked more than {MAX_ROUNDS} times for one request"
        )))
    }

    /// Returns the answers to the questions in a result, by their keys.
    async fn answer_inputs(&self, result: &Value) -> Result<Map<String, Value>, McpError> {
        let mut answers = Map::new();
        let Some(Value::Object(questions)) = result.get("inputRequests") else {
            return Ok(answers);
        };
        if questions.len() > MAX_QUESTIONS {
            return Err(McpError::protocol(format!(
                "the MCP server asked more than {MAX_QUESTIONS} questions at once"
            )));
        }
        for (key, question) in questions {
            let method = question.get("method").and_then(Value::as_str);
            let method = method.unwrap_or_default();
            let params = question.get("params").cloned().unwrap_or_default();
            let answer = match method {
                "roots/list" => self.0.roots.clone(),
                _ => match self.0.observer.requested(method, params) {
                    Some(answer) => answer.await?,
                    None => {
                        return Err(McpError::protocol(format!(
                            "the MCP server asks for {method}, which is not supported here"
                        )));
                    }
                },
            };
            answers.insert(key.clone(), answer);
        }
        Ok(answers)
    }

    /// Subscribes to the changes that the server announces, until the connection ends.
    fn subscribe(&self, discovery: &Value) {
        let announces = |list: &str| {
            let list = discovery.get("capabilities").and_then(|it| it.get(list));
            let changes = list.and_then(|list| list.get("listChanged"));
            changes.and_then(Value::as_bool).unwrap_or_default()
        };
        let mut wanted = Map::new();
        for (list, key) in [
            ("tools", "toolsListChanged"),
            ("prompts", "promptsListChanged"),
        ] {
            if announces(list) {
                wanted.insert(key.to_owned(), true.into());
            }
        }
        if wanted.is_empty() {
            return;
        }
        let state = self.0.own.clone();
        let params = json!({ "notifications": wanted });
        let listening = async move {
            let mut pauses = SUBSCRIPTION_PAUSES.iter();
            loop {
                let Some(client) = state.upgrade().map(Self) else {
                    return;
                };
                let started = tokio::time::Instant::now();
                let options = RequestOptions::new(NO_TIMEOUT);
                let params = Some(params.clone());
                let listening = client.exchange("subscriptions/listen", params, options);
                let error = Box::pin(listening).await.err();
                if !client.is_connected() || matches!(error, Some(McpError::Rpc { .. })) {
                    return;
                }
                drop(client);
                if started.elapsed() > STABLE_SUBSCRIPTION {
                    pauses = SUBSCRIPTION_PAUSES.iter();
                }
                let Some(pause) = pauses.next() else {
                    return;
                };
                tokio::time::sleep(*pause).await;
            }
        };
        tokio::spawn(listening.boxed());
    }
}

fn parse_discovery(result: &Value) -> Result<ServerInfo, McpError> {
    let invalid = || McpError::protocol("the MCP server sent an invalid result of server/discover");
    let versions = result.get("supportedVersions").and_then(Value::as_array);
    let versions = versions.ok_or_else(invalid)?;
    if !versions.iter().any(|version| version == MODERN_VERSION) {
        let versions = versions.iter().filter_map(Value::as_str);
        let versions = versions.take(10).collect::<Vec<_>>().join(", ");
        return Err(McpError::protocol(format!(
            "the MCP server supports none of our versions of the protocol, only {versions}"
        )));
    }
    let instructions = parse_instructions(result).ok_or_else(invalid)?;
    let capabilities = result.get("capabilities").and_then(Value::as_object);
    let capabilities = capabilities.ok_or_else(invalid)?;
    Ok(ServerInfo {
        is_modern: true,
        ..parse_capabilities(capabilities, instructions)
    })
}
