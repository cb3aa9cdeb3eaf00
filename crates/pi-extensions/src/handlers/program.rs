//! Handles calls about the program.

use pi_ext::HostError;
use pi_protocol::CommandInfo;

use super::Caller;
use crate::calls::{ContextInfo, ProgramCalls};
use crate::costs::PromptPart;
use crate::front_end::{ExtensionFailure, ExtensionMode};

impl ProgramCalls for Caller<'_> {
    fn context(&self) -> Result<ContextInfo, HostError> {
        self.bridge.check_not_stale()?;
        let mode = self.bridge.ui.extension_mode();
        Ok(ContextInfo {
            mode: mode.name(),
            has_ui: mode.has_ui(),
            cwd: self.bridge.cwd.clone(),
            trusted: self.bridge.is_trusted,
        })
    }

    fn current_extension(&self) -> Result<Option<String>, HostError> {
        Ok(self.extension.map(str::to_owned))
    }

    fn report_error(
        &self,
        extension_path: Option<String>,
        event: String,
        error: String,
        stack: Option<String>,
    ) -> Result<(), HostError> {
        self.bridge.report_failure(ExtensionFailure {
            extension: extension_path,
            event,
            error,
            stack,
        });
        Ok(())
    }

    fn prompt_text(
        &self,
        extension_path: String,
        part: PromptPart,
        characters: i64,
        sections: Vec<String>,
    ) -> Result<(), HostError> {
        if let Some(shared) = self.bridge.shared()?.upgrade() {
            let mut texts = shared.prompt_texts.lock();
            texts.set(extension_path, part, characters, sections);
        }
        Ok(())
    }

    fn commands(&self) -> Result<Vec<CommandInfo>, HostError> {
        let mut commands = self.bridge.extensions()?.commands();
        if let Ok(runtime) = self.bridge.runtime() {
            commands.extend(runtime.resource_commands());
        }
        Ok(commands)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the extension replaces the program, which has not started a session"
    )]
    fn exit(&self, code: i32) -> Result<(), HostError> {
        if !self.bridge.is_loading() || self.bridge.ui.mode() == ExtensionMode::Terminal {
            return Err(HostError::new("use ctx.shutdown() to quit"));
        }
        std::process::exit(code)
    }

    fn shutdown(&self) -> Result<(), HostError> {
        self.bridge.session()?;
        self.bridge.ui.request_shutdown();
        Ok(())
    }
}
