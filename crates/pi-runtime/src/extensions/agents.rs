//! Sessions that extensions run on their own, in addition to the main session.
//!
//! `createAgentSession` in JavaScript creates a separate runtime here, with the models of the
//! program and without extensions. JavaScript receives its events and runs the tools it supplied.

mod options;
mod tool;

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_ext::{HostError, HostFuture};
use pi_protocol::{SessionEvent, ThinkingLevel, UpdateFormat};
use serde_json::{Value, json};

use super::bridge::{ExtensionBridge, field, host_error, lock, read, result_to_json, unknown};
use super::jobs::JobCallback;
use super::send_message::{SendMessage, SendUserMessage};
use super::session_json;
use crate::runtime::SessionRuntime;
use crate::session::{AgentSession, BashRequest, Persist, SessionListener, SessionSubscription};
use options::{ExtensionAgentOptions, PromptOptions};
use pi_core::Prompt;

/// The agents of extensions, by number.
#[derive(Default)]
pub(super) struct ExtensionAgents(HashMap<u64, ExtensionAgent>);

struct ExtensionAgent {
    runtime: SessionRuntime,
    _subscription: SessionSubscription,
}

/// Forwards events to JavaScript.
struct AgentEventForwarder(JobCallback);

impl SessionListener for AgentEventForwarder {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let event = event.to_compatible_json(UpdateFormat::Full).ok().flatten();
            let event = event.and_then(|event| serde_json::from_str(&event).ok());
            let Some(event) = event else {
                return;
            };
            if let Err(error) = self.0.call("event", event, None).await {
                tracing::debug!(%error, "cannot forward agent event to extension");
            }
        })
    }
}

impl ExtensionBridge {
    /// Starts an agent and returns its initial state.
    pub(super) fn create_agent(
        &self,
        extension: Option<&str>,
        arguments: Value,
    ) -> Result<HostFuture, HostError> {
        let options: ExtensionAgentOptions = read(arguments)?;
        let number = options.number;
        let callback = self.callback(extension, number)?;
        let runtime_options = options.runtime(self, &callback);
        let shared = self.shared()?;
        Ok(self.spawn_on_runtime(async move {
            let runtime = SessionRuntime::start(runtime_options)
                .await
                .map_err(host_error)?;
            let session = runtime.session();
            let fallback = runtime.model_fallback();
            let agent = ExtensionAgent {
                _subscription: session.subscribe(Arc::new(AgentEventForwarder(callback))),
                runtime,
            };
            let Some(shared) = shared.upgrade() else {
                agent.runtime.shutdown().await;
                return Err(HostError::new("the extension was unloaded"));
            };
            lock(&shared.bridge.agents).0.insert(number, agent);
            Ok(json!({ "modelFallbackMessage": fallback }))
        }))
    }

    fn agent(&self, arguments: &Value) -> Result<AgentSession, HostError> {
        let number: u64 = field(arguments, "agent")?;
        let agents = lock(&self.agents);
        let agent = agents.0.get(&number);
        let agent = agent.ok_or_else(|| HostError::new("this session was disposed"))?;
        Ok(agent.runtime.session())
    }

    /// Shuts down all agents together with the main session.
    pub(super) async fn shutdown_agents(&self) {
        let agents = std::mem::take(&mut lock(&self.agents).0);
        for agent in agents.into_values() {
            agent.runtime.shutdown().await;
        }
    }

    /// Handles synchronous calls on an agent.
    pub(super) fn call_agent(&self, method: &str, arguments: &Value) -> Result<Value, HostError> {
        let session = self.agent(arguments)?;
        match method {
            "agent.state" => Ok(state(&session)),
            "agent.messages" => result_to_json(session.messages()),
            "agent.systemPrompt" => Ok(session.system_prompt().into()),
            "agent.stats" => result_to_json(session.stats()),
            "agent.usage" => result_to_json(session.context_usage()),
            "agent.lastText" => result_to_json(session.last_assistant_text()),
            "agent.tools" => Ok(session_json::tools(&session)),
            "agent.setTools" => {
                let names: Vec<String> = field(arguments, "names")?;
                session.set_active_tools(&names);
                Ok(Value::Null)
            }
            "agent.abortBash" => {
                session.abort_bash();
                Ok(Value::Null)
            }
            "agent.setAutoCompaction" => {
                let enabled = field(arguments, "enabled")?;
                session.set_auto_compaction(enabled).map_err(host_error)?;
                Ok(Value::Null)
            }
            _ => {
                let method = method.strip_prefix("agent.").unwrap_or(method);
                session_json::session(&session, method, arguments)
            }
        }
    }

    /// Handles asynchronous calls on an agent.
    pub(super) fn request_agent(
        &self,
        method: &str,
        arguments: Value,
    ) -> Result<HostFuture, HostError> {
        if method == "agent.dispose" {
            let number: u64 = field(&arguments, "agent")?;
            let agent = lock(&self.agents).0.remove(&number);
            return Ok(self.spawn_on_runtime(async move {
                if let Some(agent) = agent {
                    agent.runtime.shutdown().await;
                }
                Ok(Value::Null)
            }));
        }
        let session = self.agent(&arguments)?;
        let method = method.to_owned();
        let models = self.models.clone();
        Ok(self.spawn_on_runtime(async move {
            match method.as_str() {
                "agent.prompt" => prompt(&session, read(arguments)?).await?,
                "agent.sendUser" => {
                    let (content, delivery, expand) =
                        read::<SendUserMessage>(arguments)?.into_parts();
                    let sent = session.send_user_message(content, delivery, expand).await;
                    sent.map_err(host_error)?;
                    session.wait_for_idle().await;
                }
                "agent.send" => {
                    let (draft, send_message) = read::<SendMessage>(arguments)?.into_parts();
                    let sent = session.send_custom_message(draft, send_message).await;
                    sent.map_err(host_error)?;
                }
                "agent.abort" => session.abort().await,
                "agent.idle" => session.wait_for_idle().await,
                "agent.compact" => {
                    let instructions = field(&arguments, "customInstructions")?;
                    return result_to_json(session.compact(instructions).await);
                }
                "agent.setModel" => {
                    let provider: String = field(&arguments, "provider")?;
                    let id: String = field(&arguments, "id")?;
                    let model = models.model(&provider, &id).ok_or_else(|| {
                        HostError::new(format!("model not found: {provider}/{id}"))
                    })?;
                    let set = session.set_model(model, Persist::Session).await;
                    set.map_err(host_error)?;
                }
                "agent.setThinking" => {
                    let level: ThinkingLevel = field(&arguments, "level")?;
                    let set = session.set_thinking_level(level, Persist::Session).await;
                    set.map_err(host_error)?;
                }
                "agent.setName" => {
                    let name: String = field(&arguments, "name")?;
                    session.set_session_name(&name).await.map_err(host_error)?;
                }
                "agent.clearQueue" => {
                    let texts = session.clear_queue().await;
                    return Ok(json!({ "steering": texts.steering, "followUp": texts.follow_up }));
                }
                "agent.bash" => {
                    let request = BashRequest {
                        command: field(&arguments, "command")?,
                        exclude_from_context: field::<Option<bool>>(&arguments, "exclude")?
                            .unwrap_or_default(),
                        ..BashRequest::default()
                    };
                    return result_to_json(session.bash(request).await);
                }
                _ => return Err(unknown(&method)),
            }
            Ok(Value::Null)
        }))
    }
}

/// Sends a prompt to an agent and waits until the run has finished.
async fn prompt(session: &AgentSession, options: PromptOptions) -> Result<(), HostError> {
    let prompt: Prompt = options.into();
    session.prompt(prompt).await.map_err(host_error)?;
    session.wait_for_idle().await;
    Ok(())
}

fn state(session: &AgentSession) -> Value {
    json!({
        "model": session.model(),
        "thinkingLevel": session.thinking_level().as_str(),
        "isStreaming": session.is_streaming(),
        "isIdle": session.is_idle(),
        "isCompacting": session.is_compacting(),
        "isBashRunning": session.is_bash_running(),
        "sessionFile": session.session_file(),
        "sessionId": session.session_id(),
        "sessionName": session.session_name(),
        "pendingMessageCount": session.pending_message_count(),
        "activeTools": session.active_tool_names(),
        "availableThinkingLevels": session
            .available_thinking_levels()
            .into_iter()
            .map(ThinkingLevel::as_str)
            .collect::<Vec<_>>(),
        "supportsThinking": session.supports_thinking(),
        "scopedModels": session_json::scoped_models(session),
    })
}
