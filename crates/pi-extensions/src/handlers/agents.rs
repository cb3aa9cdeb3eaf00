//! Sessions that extensions run on their own, in addition to the main session.
//!
//! `createAgentSession` in JavaScript creates a separate runtime here, with the models of the
//! program. JavaScript receives its events and runs the tools and extensions it supplied.

mod options;
mod tool;

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_ext::HostError;
use pi_protocol::{
    Ack, CompactionOutcome, ContextUsage, Delivery, ImageContent, MessageContent, QueuedTexts,
    SessionStats, SharedMessage, ThinkingLevel,
};
use pi_tools::ShellResult;
use serde_json::Value;

use super::Caller;
use super::selection::{scoped_models, tool_summaries};
use crate::SessionExtensions;
use crate::bridge::ExtensionBridge;
use crate::callbacks::SessionEventData;
use crate::calls::{AgentCalls, AgentRunCalls, AgentState, CreatedAgent, Pending, ToolSummary};
use crate::control::{AgentObserver, ExtensionPrompt, ExtensionSession, RunningAgent};
use crate::jobs::JobCallback;
use crate::registration::ExtensionRegistry;
use crate::send_message::{DraftData, SendOptions, parse_delivery};
pub(crate) use options::ExtensionAgentOptions;

/// The agents of extensions, by number.
#[derive(Default)]
pub(crate) struct ExtensionAgents {
    running: HashMap<u64, Box<dyn RunningAgent>>,
    /// The extensions of their sessions, from before they start.
    extensions: HashMap<u64, SessionExtensions>,
    /// Whether there ever was one.
    pub(crate) has_created: bool,
}

/// Forwards events to JavaScript.
struct AgentEventForwarder(JobCallback);

impl AgentObserver for AgentEventForwarder {
    fn on_event(&self, event: Value) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Err(error) = self.0.run(&SessionEventData(event)).await {
                tracing::debug!(%error, "cannot forward agent event to extension");
            }
        })
    }
}

impl ExtensionBridge {
    /// Shuts down all agents together with the main session.
    pub(crate) async fn shutdown_agents(&self) {
        let agents = std::mem::take(&mut *self.agents.lock());
        for agent in agents.running.into_values() {
            agent.shutdown().await;
        }
    }
}

impl Caller<'_> {
    pub(super) fn agent(&self, number: u64) -> Result<Arc<dyn ExtensionSession>, HostError> {
        let agents = self.bridge.agents.lock();
        let agent = agents.running.get(&number);
        let agent = agent.ok_or_else(|| HostError::new("this session was disposed"))?;
        Ok(agent.session())
    }

    /// Returns the extensions of an agent's session.
    fn agent_extensions(&self, number: u64) -> Result<SessionExtensions, HostError> {
        let extensions = self.bridge.agents.lock().extensions.get(&number).cloned();
        extensions.ok_or_else(|| HostError::new("this session was disposed"))
    }
}

impl AgentCalls for Caller<'_> {
    fn create(
        &self,
        options: Box<ExtensionAgentOptions>,
    ) -> Result<Pending<CreatedAgent>, HostError> {
        let number = options.number;
        let callback = self.bridge.callback(self.extension, number)?;
        let options = options.resolve(self.bridge, &callback)?;
        if let Some(extensions) = options.extensions.clone() {
            let mut agents = self.bridge.agents.lock();
            agents.extensions.insert(number, extensions);
            agents.has_created = true;
        }
        let shared = self.bridge.shared()?;
        let observer = Arc::new(AgentEventForwarder(callback));
        let starting = self.bridge.services.start_agent(options, observer);
        Ok(self.bridge.spawn_on_runtime(async move {
            let started = starting.await;
            let agent = match (started, shared.upgrade()) {
                (Ok(agent), _) => agent,
                (Err(error), shared) => {
                    if let Some(shared) = shared {
                        shared.bridge.agents.lock().extensions.remove(&number);
                    }
                    return Err(error);
                }
            };
            let fallback = agent.model_fallback();
            let Some(shared) = shared.upgrade() else {
                agent.shutdown().await;
                return Err(HostError::new("the extension was unloaded"));
            };
            shared.bridge.agents.lock().running.insert(number, agent);
            Ok(CreatedAgent {
                model_fallback_message: fallback,
            })
        }))
    }

    fn dispose(&self, agent: u64) -> Result<Pending<()>, HostError> {
        let number = agent;
        let agent = self.bridge.agents.lock().running.remove(&number);
        let agents = Arc::clone(&self.bridge.agents);
        Ok(self.bridge.spawn_on_runtime(async move {
            if let Some(agent) = agent {
                agent.shutdown().await;
            }
            agents.lock().extensions.remove(&number);
            Ok(())
        }))
    }

    fn bind(&self, agent: u64) -> Result<Pending<()>, HostError> {
        let agents = self.bridge.agents.lock();
        let starting = agents.running.get(&agent).map(|agent| agent.notify_start());
        Ok(self.bridge.spawn_on_runtime(async move {
            if let Some(starting) = starting {
                starting.await;
            }
            Ok(())
        }))
    }

    fn call_in(&self, agent: u64, method: String, arguments: Value) -> Result<Value, HostError> {
        let extensions = self.agent_extensions(agent)?;
        Caller::new(&extensions.0.bridge, self.extension).call(&method, arguments)
    }

    fn request_in(
        &self,
        agent: u64,
        method: String,
        arguments: Value,
    ) -> Result<Pending<Value>, HostError> {
        let extensions = self.agent_extensions(agent)?;
        let caller = Caller::new(&extensions.0.bridge, self.extension);
        Ok(Pending::from_json(caller.request(&method, arguments)))
    }

    fn state(&self, agent: u64) -> Result<AgentState, HostError> {
        let session = self.agent(agent)?;
        let levels = session.available_thinking_levels().into_iter();
        Ok(AgentState {
            model: session.model(),
            thinking_level: session.thinking_level().as_str(),
            is_streaming: session.is_streaming(),
            is_idle: session.is_idle(),
            is_compacting: session.is_compacting(),
            is_bash_running: session.is_bash_running(),
            session_file: session.file(),
            session_id: session.id(),
            session_name: session.name(),
            pending_message_count: session.pending_message_count(),
            routed_model: session.routed_model(),
            active_tools: session.active_tools(),
            callable_tools: session.callable_tools(),
            available_thinking_levels: levels.map(ThinkingLevel::as_str).collect(),
            supports_thinking: session.supports_thinking(),
            scoped_models: scoped_models(&*session),
        })
    }

    fn messages(&self, agent: u64) -> Result<Vec<SharedMessage>, HostError> {
        self.agent(agent)?.messages()
    }

    fn system_prompt(&self, agent: u64) -> Result<String, HostError> {
        Ok(self.agent(agent)?.system_prompt())
    }

    fn stats(&self, agent: u64) -> Result<SessionStats, HostError> {
        self.agent(agent)?.stats()
    }

    fn context_usage(&self, agent: u64) -> Result<Option<ContextUsage>, HostError> {
        self.agent(agent)?.context_usage()
    }

    fn last_assistant_text(&self, agent: u64) -> Result<Option<String>, HostError> {
        self.agent(agent)?.last_assistant_text()
    }

    fn tools(&self, agent: u64) -> Result<Vec<ToolSummary>, HostError> {
        Ok(tool_summaries(
            &*self.agent(agent)?,
            &ExtensionRegistry::default(),
        ))
    }

    fn set_active_tools(&self, agent: u64, names: Vec<String>) -> Result<(), HostError> {
        self.agent(agent)?.set_active_tools(&names);
        Ok(())
    }

    fn set_auto_compaction(&self, agent: u64, enabled: bool) -> Result<(), HostError> {
        self.agent(agent)?.set_auto_compaction(enabled)
    }
}

impl AgentRunCalls for Caller<'_> {
    fn prompt(
        &self,
        agent: u64,
        text: String,
        images: Vec<ImageContent>,
        streaming_behavior: Option<String>,
        expand_prompt_templates: Option<bool>,
    ) -> Result<Pending<()>, HostError> {
        let session = self.agent(agent)?;
        let prompt = ExtensionPrompt {
            text,
            images,
            delivery: parse_delivery(streaming_behavior.as_deref()),
            expand: expand_prompt_templates.unwrap_or(true),
        };
        Ok(self.bridge.spawn_on_runtime(async move {
            session.prompt(prompt).await?;
            session.wait_for_idle().await;
            Ok(())
        }))
    }

    fn enqueue(
        &self,
        agent: u64,
        text: String,
        images: Vec<ImageContent>,
        delivery: Delivery,
    ) -> Result<Pending<Ack>, HostError> {
        let session = self.agent(agent)?;
        let work = async move { session.enqueue(text, images, delivery).await };
        Ok(self.bridge.spawn_on_runtime(work))
    }

    fn send_user_message(
        &self,
        agent: u64,
        content: MessageContent,
        options: SendOptions,
    ) -> Result<Pending<()>, HostError> {
        let session = self.agent(agent)?;
        Ok(self.bridge.spawn_on_runtime(async move {
            session.send_user_message(content, options).await?;
            session.wait_for_idle().await;
            Ok(())
        }))
    }

    fn send_message(
        &self,
        agent: u64,
        message: DraftData,
        options: SendOptions,
    ) -> Result<Pending<()>, HostError> {
        let session = self.agent(agent)?;
        let work = async move { session.send_message(message, options).await };
        Ok(self.bridge.spawn_on_runtime(work))
    }

    fn abort(&self, agent: u64) -> Result<Pending<()>, HostError> {
        let session = self.agent(agent)?;
        Ok(self.bridge.spawn_on_runtime(async move {
            session.abort().await;
            Ok(())
        }))
    }

    fn wait_for_idle(&self, agent: u64) -> Result<Pending<()>, HostError> {
        let session = self.agent(agent)?;
        Ok(self.bridge.spawn_on_runtime(async move {
            session.wait_for_idle().await;
            Ok(())
        }))
    }

    fn compact(
        &self,
        agent: u64,
        instructions: Option<String>,
    ) -> Result<Pending<CompactionOutcome>, HostError> {
        let session = self.agent(agent)?;
        let work = async move { session.compact(instructions).await };
        Ok(self.bridge.spawn_on_runtime(work))
    }

    fn set_model(
        &self,
        agent: u64,
        provider: String,
        id: String,
    ) -> Result<Pending<()>, HostError> {
        let session = self.agent(agent)?;
        let model = self.bridge.models.model(&provider, &id);
        let model =
            model.ok_or_else(|| HostError::new(format!("model not found: {provider}/{id}")))?;
        let work = async move { session.set_model(model).await };
        Ok(self.bridge.spawn_on_runtime(work))
    }

    fn set_thinking_level(
        &self,
        agent: u64,
        level: ThinkingLevel,
    ) -> Result<Pending<()>, HostError> {
        let session = self.agent(agent)?;
        let work = async move { session.set_thinking_level(level).await };
        Ok(self.bridge.spawn_on_runtime(work))
    }

    fn set_session_name(&self, agent: u64, name: String) -> Result<Pending<()>, HostError> {
        let session = self.agent(agent)?;
        let work = async move { session.set_name(name).await };
        Ok(self.bridge.spawn_on_runtime(work))
    }

    fn clear_queue(&self, agent: u64) -> Result<Pending<QueuedTexts>, HostError> {
        let session = self.agent(agent)?;
        let work = async move { Ok(session.clear_queue().await) };
        Ok(self.bridge.spawn_on_runtime(work))
    }

    fn run_bash(
        &self,
        agent: u64,
        command: String,
        exclude_from_context: Option<bool>,
    ) -> Result<Pending<ShellResult>, HostError> {
        let session = self.agent(agent)?;
        let exclude = exclude_from_context.unwrap_or_default();
        let work = async move { session.run_bash(command, exclude).await };
        Ok(self.bridge.spawn_on_runtime(work))
    }

    fn abort_bash(&self, agent: u64) -> Result<(), HostError> {
        self.agent(agent)?.abort_bash();
        Ok(())
    }
}
