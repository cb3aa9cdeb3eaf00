//! A session, as extensions control it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_context::{ProjectInstructions, PromptSections};
use pi_core::{
    Backend as _, CustomDelivery, CustomMessageOptions, Input, InputSource, Prompt, ToolOrigin,
};
use pi_extensions::{
    ControlFuture, DraftData, ExtensionPrompt, HostError, MessageDelivery, PromptInputs,
    SendOptions, SessionHistory, SessionInteraction, SessionRun, SessionSetup, SessionTool,
    ShowRequest, ToolRegistration, TreeNavigation, host_error,
};
use pi_protocol::{
    Ack, Answer, CompactionOutcome, ContextUsage, Delivery, EntryId, ImageContent, MessageContent,
    Model, NavigateStep, QueuedTexts, Request, RoutedModel, SessionStats, SharedMessage,
    ThinkingLevel,
};
use pi_session::{Session, SessionError};
use pi_tools::ShellResult;
use serde_json::Value;

use super::registered;
use crate::commands::prompt_ack;
use crate::participants::CustomMessageDraft;
use crate::session::{AgentSession, BashRequest, NavigateOptions, Persist};

impl SessionHistory for AgentSession {
    fn cwd(&self) -> &Path {
        self.cwd()
    }

    fn file(&self) -> Option<PathBuf> {
        self.session_file()
    }

    fn id(&self) -> String {
        self.session_id()
    }

    fn name(&self) -> Option<String> {
        self.session_name()
    }

    fn read(&self, read: &mut dyn FnMut(&Session)) {
        self.history().with_session(read);
    }

    fn change(
        &self,
        change: &mut dyn FnMut(&mut Session) -> Result<(), SessionError>,
    ) -> Result<(), HostError> {
        self.history().change(change).map_err(host_error)
    }

    fn messages(&self) -> Result<Vec<SharedMessage>, HostError> {
        self.history().messages().map_err(host_error)
    }

    fn last_assistant_text(&self) -> Result<Option<String>, HostError> {
        self.history().last_assistant_text().map_err(host_error)
    }

    fn stats(&self) -> Result<SessionStats, HostError> {
        self.history().stats().map_err(host_error)
    }

    fn set_label(&self, entry: &EntryId, label: Option<&str>) -> Result<(), HostError> {
        self.history().set_label(entry, label).map_err(host_error)
    }

    fn set_name(&self, name: String) -> ControlFuture<'_, ()> {
        Box::pin(async move { self.history().set_name(&name).await.map_err(host_error) })
    }

    fn append_custom_entry(
        &self,
        custom_type: String,
        data: Option<Value>,
    ) -> ControlFuture<'_, ()> {
        Box::pin(async move {
            let appended = self.history().append_custom_entry(&custom_type, data).await;
            appended.map(drop).map_err(host_error)
        })
    }

    fn navigate(&self, navigation: TreeNavigation) -> ControlFuture<'_, bool> {
        Box::pin(async move {
            let options = NavigateOptions {
                step: NavigateStep::Whole,
                summarize: navigation.summarize,
                instructions: navigation.instructions,
                replace_instructions: navigation.replace_instructions,
                label: navigation.label,
            };
            let moved = self
                .navigation()
                .navigate(&navigation.target, options)
                .await;
            Ok(moved.map_err(host_error)?.cancelled)
        })
    }
}

impl SessionRun for AgentSession {
    fn is_idle(&self) -> bool {
        self.is_idle()
    }

    fn is_streaming(&self) -> bool {
        self.is_streaming()
    }

    fn is_compacting(&self) -> bool {
        self.is_compacting()
    }

    fn is_bash_running(&self) -> bool {
        self.user_commands().is_running()
    }

    fn pending_message_count(&self) -> usize {
        self.queue().message_count()
    }

    fn context_usage(&self) -> Result<Option<ContextUsage>, HostError> {
        self.history().context_usage().map_err(host_error)
    }

    fn abort(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // Not `AgentSession::abort`, which abandons hooks: this is called by one of them.
            self.control().interrupt(Input::Abort);
            self.wait_for_idle().await;
        })
    }

    fn wait_for_idle(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.wait_for_idle())
    }

    fn compact(&self, instructions: Option<String>) -> ControlFuture<'_, CompactionOutcome> {
        Box::pin(async move {
            self.compaction()
                .run(instructions)
                .await
                .map_err(host_error)
        })
    }

    fn prompt(&self, prompt: ExtensionPrompt) -> ControlFuture<'_, ()> {
        Box::pin(async move {
            let prompt = Prompt {
                text: prompt.text,
                images: prompt.images,
                streaming_behavior: prompt.delivery.and_then(delivery),
                expand: prompt.expand,
                source: InputSource::Extension,
            };
            self.prompt(prompt).await.map(drop).map_err(host_error)
        })
    }

    fn enqueue(
        &self,
        text: String,
        images: Vec<ImageContent>,
        delivery: Delivery,
    ) -> ControlFuture<'_, Ack> {
        Box::pin(async move {
            let queue = self.queue();
            let outcome = match delivery {
                Delivery::Steer => queue.steer(&text, images, InputSource::Extension).await,
                Delivery::FollowUp => queue.follow_up(&text, images, InputSource::Extension).await,
            };
            outcome.map(prompt_ack).map_err(host_error)
        })
    }

    fn send_message(&self, message: DraftData, options: SendOptions) -> ControlFuture<'_, ()> {
        Box::pin(async move {
            let options = CustomMessageOptions {
                trigger_turn: options.trigger_turn,
                deliver_as: options.delivery().map(|delivery| match delivery {
                    MessageDelivery::Steer => CustomDelivery::Steer,
                    MessageDelivery::FollowUp => CustomDelivery::FollowUp,
                    MessageDelivery::NextTurn => CustomDelivery::NextTurn,
                }),
            };
            let sent = self.send_custom_message(draft(message), options).await;
            sent.map(drop).map_err(host_error)
        })
    }

    fn send_user_message(
        &self,
        content: MessageContent,
        options: SendOptions,
    ) -> ControlFuture<'_, ()> {
        Box::pin(async move {
            let deliver_as = options.delivery().and_then(delivery);
            let expand = options.expand_prompt_templates;
            let sent = self.send_user_message(content, deliver_as, expand).await;
            sent.map(drop).map_err(host_error)
        })
    }

    fn clear_queue(&self) -> BoxFuture<'_, QueuedTexts> {
        Box::pin(self.queue().clear())
    }

    fn run_bash(
        &self,
        command: String,
        exclude_from_context: bool,
    ) -> ControlFuture<'_, ShellResult> {
        Box::pin(async move {
            let request = BashRequest {
                command,
                exclude_from_context,
                ..BashRequest::default()
            };
            self.user_commands().run(request).await.map_err(host_error)
        })
    }

    fn abort_bash(&self) {
        self.user_commands().abort();
    }
}

impl SessionInteraction for AgentSession {
    fn ask(&self, request: Request, show: Box<ShowRequest>) -> BoxFuture<'static, Answer> {
        self.requests().ask(request, show)
    }
}

impl SessionSetup for AgentSession {
    fn model(&self) -> Option<Arc<Model>> {
        self.selection().model()
    }

    fn thinking_level(&self) -> ThinkingLevel {
        self.selection().thinking_level()
    }

    fn available_thinking_levels(&self) -> Vec<ThinkingLevel> {
        self.selection().available_thinking_levels()
    }

    fn supports_thinking(&self) -> bool {
        self.selection().supports_thinking()
    }

    fn scoped_models(&self) -> Vec<(Arc<Model>, Option<ThinkingLevel>)> {
        let models = self.selection().scoped_models().into_iter();
        models
            .map(|scoped| (scoped.model, scoped.thinking))
            .collect()
    }

    fn set_model(&self, model: Arc<Model>) -> ControlFuture<'_, ()> {
        Box::pin(async move {
            let set = self.selection().set_model(model, Persist::Session).await;
            set.map_err(host_error)
        })
    }

    fn set_thinking_level(&self, level: ThinkingLevel) -> ControlFuture<'_, ()> {
        Box::pin(async move {
            let set = self
                .selection()
                .set_thinking_level(level, Persist::Session)
                .await;
            set.map_err(host_error)
        })
    }

    fn set_auto_compaction(&self, enabled: bool) -> Result<(), HostError> {
        self.compaction().set_automatic(enabled).map_err(host_error)
    }

    fn tools(&self) -> Vec<SessionTool> {
        let toolset = self.tools().toolset();
        let tools = toolset.tools().iter().map(|tool| {
            let declaration = tool.tool.declaration();
            SessionTool {
                name: declaration.name.clone(),
                description: declaration.description.clone(),
                parameters: declaration.parameters.clone(),
                label: tool.tool.label().to_owned(),
                snippet: tool.snippet.clone(),
                guidelines: tool.guidelines.clone(),
                metadata: tool.metadata.clone(),
                source: match tool.origin {
                    ToolOrigin::Builtin => "builtin",
                    ToolOrigin::Program => "sdk",
                    ToolOrigin::Extension => "extension",
                },
            }
        });
        tools.collect()
    }

    fn routed_model(&self) -> Option<RoutedModel> {
        self.selection().routed_model()
    }

    fn callable_tools(&self) -> Vec<String> {
        let tools = self.tools().callable();
        tools.iter().map(|tool| tool.name().to_owned()).collect()
    }

    fn active_tools(&self) -> Vec<String> {
        self.tools().active_names()
    }

    fn set_active_tools(&self, names: &[String]) {
        self.tools().set_active(names);
    }

    fn prepare_loadout(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move { self.tools().prepare_loadout().await })
    }

    fn register_tool(&self, tool: ToolRegistration) {
        self.tools()
            .register(registered(tool, ToolOrigin::Extension));
    }

    fn system_prompt(&self) -> String {
        self.tools().system_prompt()
    }

    fn prompt_inputs(&self) -> PromptInputs {
        let parts = self.tools().prompt_parts();
        let instructions = parts.instructions.into_iter();
        PromptInputs {
            custom: parts.custom,
            append: parts.append,
            instructions: instructions.map(|file| (file.path, file.content)).collect(),
        }
    }

    fn prompt_sections(&self, inputs: PromptInputs, active: &[String]) -> PromptSections {
        let mut parts = self.tools().prompt_parts();
        parts.custom = inputs.custom;
        parts.append = inputs.append;
        parts.instructions = inputs
            .instructions
            .into_iter()
            .map(|(path, content)| ProjectInstructions { path, content })
            .collect();
        parts.sections(&self.tools().toolset().prompt_tools(active))
    }
}

/// Returns how a user message is delivered; the next turn is only for custom messages.
fn delivery(delivery: MessageDelivery) -> Option<Delivery> {
    match delivery {
        MessageDelivery::Steer => Some(Delivery::Steer),
        MessageDelivery::FollowUp => Some(Delivery::FollowUp),
        MessageDelivery::NextTurn => None,
    }
}

/// Converts a message of an extension.
pub(super) fn draft(message: DraftData) -> CustomMessageDraft {
    CustomMessageDraft {
        custom_type: message.custom_type,
        content: message.content,
        display: message.display,
        details: message.details,
    }
}
