//! Calls about sessions that an extension runs in addition to the main one. `agent` is the number
//! of one.

use std::path::PathBuf;
use std::sync::Arc;

use pi_protocol::{
    Ack, CompactionOutcome, ContextUsage, Delivery, ImageContent, MessageContent, Model,
    QueuedTexts, RoutedModel, SessionStats, SharedMessage, ThinkingLevel,
};
use pi_tools::ShellResult;
use serde::Serialize;
use serde_json::Value;

use super::group::calls;
use super::selection::{ScopedModelInfo, ToolSummary};
use crate::handlers::ExtensionAgentOptions;
use crate::send_message::{DraftData, SendOptions};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CreatedAgent {
    pub(crate) model_fallback_message: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentState {
    pub(crate) model: Option<Arc<Model>>,
    pub(crate) thinking_level: &'static str,
    pub(crate) is_streaming: bool,
    pub(crate) is_idle: bool,
    pub(crate) is_compacting: bool,
    pub(crate) is_bash_running: bool,
    pub(crate) session_file: Option<PathBuf>,
    pub(crate) session_id: String,
    pub(crate) session_name: Option<String>,
    pub(crate) pending_message_count: usize,
    pub(crate) routed_model: Option<RoutedModel>,
    pub(crate) active_tools: Vec<String>,
    pub(crate) callable_tools: Vec<String>,
    pub(crate) available_thinking_levels: Vec<&'static str>,
    pub(crate) supports_thinking: bool,
    pub(crate) scoped_models: Vec<ScopedModelInfo>,
}

calls! {
    trait AgentCalls {
        /// Starts an agent. Its events go to the callback `event`, calls of its own tools to `tool`.
        request "agent.create" => create(
            options as "...": Box<ExtensionAgentOptions>,
        ) -> CreatedAgent;
        request "agent.dispose" => dispose(agent: u64);
        /// Emits `session_start` to the extensions of the agent's session.
        request "agent.bind" => bind(agent: u64);
        /// Makes a call about the agent's session instead of the main one.
        call "agent.call" => call_in(agent: u64, method: String, arguments: Value) -> Value;
        request "agent.request" => request_in(
            agent: u64,
            method: String,
            arguments: Value,
        ) -> Value;
        call "agent.state" => state(agent: u64) -> AgentState;
        call "agent.messages" => messages(agent: u64) -> Vec<SharedMessage>;
        call "agent.systemPrompt" => system_prompt(agent: u64) -> String;
        call "agent.stats" => stats(agent: u64) -> SessionStats;
        call "agent.contextUsage" => context_usage(agent: u64) -> Option<ContextUsage>;
        call "agent.lastAssistantText" => last_assistant_text(agent: u64) -> Option<String>;
        call "agent.tools" => tools(agent: u64) -> Vec<ToolSummary>;
        call "agent.setActiveTools" => set_active_tools(agent: u64, names: Vec<String>);
        call "agent.setAutoCompaction" => set_auto_compaction(agent: u64, enabled: bool);
    }
}

calls! {
    trait AgentRunCalls {
        /// Sends a prompt and waits until the run has finished.
        request "agent.prompt" => prompt(
            agent: u64,
            text: String,
            images: Vec<ImageContent> = Vec::new(),
            streaming_behavior as "streamingBehavior": Option<String>,
            expand_prompt_templates as "expandPromptTemplates": Option<bool>,
        );
        /// Queues a message, also if no run is in progress; it is then part of the next one.
        request "agent.enqueue" => enqueue(
            agent: u64,
            text: String,
            images: Vec<ImageContent> = Vec::new(),
            delivery: Delivery,
        ) -> Ack;
        /// Sends a user message and waits until the run has finished.
        request "agent.sendUserMessage" => send_user_message(
            agent: u64,
            content: MessageContent,
            options: SendOptions = SendOptions::default(),
        );
        request "agent.sendMessage" => send_message(
            agent: u64,
            message: DraftData,
            options: SendOptions = SendOptions::default(),
        );
        request "agent.abort" => abort(agent: u64);
        request "agent.waitForIdle" => wait_for_idle(agent: u64);
        request "agent.compact" => compact(
            agent: u64,
            instructions as "customInstructions": Option<String>,
        ) -> CompactionOutcome;
        request "agent.setModel" => set_model(agent: u64, provider: String, id: String);
        request "agent.setThinkingLevel" => set_thinking_level(agent: u64, level: ThinkingLevel);
        request "agent.setSessionName" => set_session_name(agent: u64, name: String);
        /// Empties the queue and returns the texts of its messages.
        request "agent.clearQueue" => clear_queue(agent: u64) -> QueuedTexts;
        request "agent.runBash" => run_bash(
            agent: u64,
            command: String,
            exclude_from_context as "excludeFromContext": Option<bool>,
        ) -> ShellResult;
        call "agent.abortBash" => abort_bash(agent: u64);
    }
}
