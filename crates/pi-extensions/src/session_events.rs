//! What a session does with its extensions: emits events, runs commands, asks about its prompt.

use std::path::PathBuf;
use std::sync::Arc;

use pi_context::PromptSections;
use pi_core::ProcessOperations;
use pi_ext::HostError;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::SessionExtensions;
use crate::events::{DiscoveredResources, ExtensionEvent};
use crate::front_end::ExtensionFailure;
use crate::handlers::JavaScriptShell;
use crate::hooks::HookInterrupt;
use crate::prompt_options::ChangedOptions;
use crate::registration::OwnedCommand;

impl SessionExtensions {
    /// Returns whether any extension handles an event.
    pub fn has_handler<Event: ExtensionEvent>(&self) -> bool {
        self.0.bridge.has_handler(Event::NAME)
    }

    /// Emits an event, if it has handlers, and returns the combined result.
    pub async fn emit<Event: ExtensionEvent>(
        &self,
        cancel: Option<&CancellationToken>,
        event: impl FnOnce() -> Event,
    ) -> Option<Event::Result> {
        self.0.emit(cancel, event).await
    }

    /// Abandons the hooks in progress.
    pub fn interrupt_hooks(&self, interrupt: HookInterrupt) {
        self.0.hooks.interrupt(interrupt);
    }

    /// Reports a failure of an event's handlers.
    pub async fn report_event_failure(&self, event: &str, error: String) {
        self.0.report(event, error).await;
    }

    pub fn report_failure(&self, failure: ExtensionFailure) {
        self.0.bridge.report_failure(failure);
    }

    pub fn has_command(&self, name: &str) -> bool {
        self.0.bridge.registry().command(name).is_some()
    }

    /// Runs a command; failures are reported to the user.
    pub async fn run_command(&self, name: &str, arguments: &str) {
        let found = self
            .0
            .bridge
            .registry()
            .command(name)
            .map(OwnedCommand::owner_and_name);
        let Some((extension, own)) = found else {
            return;
        };
        let ran = self.0.engine.run_command(&extension, &own, arguments);
        if let Err(error) = ran.await {
            let failure = ExtensionFailure {
                extension: Some(extension),
                event: "command".to_owned(),
                error: error.to_string(),
                stack: None,
            };
            self.0.bridge.report(failure).await;
        }
    }

    /// Returns the prompt inputs of the session as JSON, for the tools of a run.
    pub fn prompt_options(&self, tools: &[String]) -> Value {
        let session = self.0.bridge.session();
        let mut options = session.map_or_else(
            |_| json!({ "sections": {} }),
            |session| self.0.bridge.prompt_options(&*session),
        );
        if let Some(options) = options.as_object_mut() {
            options.insert("selectedTools".to_owned(), json!(tools));
        }
        options
    }

    /// Returns the sections of the prompt after an extension changed its inputs.
    pub fn changed_sections(
        &self,
        options: &ChangedOptions,
        active: &[String],
        default: &PromptSections,
    ) -> PromptSections {
        match self.0.bridge.session() {
            Ok(session) => options.sections(&*session, active, default),
            Err(_) => default.clone(),
        }
    }

    /// Returns the working directory of the session.
    pub fn session_directory(&self) -> Option<PathBuf> {
        let session = self.0.bridge.session().ok()?;
        Some(session.cwd().to_owned())
    }

    /// Adds resource paths that extensions named to the resources of the session.
    pub fn add_resources(&self, found: &DiscoveredResources) {
        self.0.bridge.add_resources(found);
    }

    /// Returns shell operations that an extension implements.
    pub fn shell_operations(&self, number: u64) -> Result<Arc<dyn ProcessOperations>, HostError> {
        let callback = self.0.bridge.callback(None, number)?;
        Ok(Arc::new(JavaScriptShell::new(callback)))
    }

    /// Shuts down the agents of extensions and makes objects of the session throw.
    pub async fn end_session(&self) {
        if self.0.agent == 0 {
            self.0.bridge.shutdown_agents().await;
        }
        self.0.bridge.mark_stale();
    }

    pub fn now_ms(&self) -> i64 {
        self.0.bridge.env.now_ms()
    }
}
