//! Calls about the program and the extension that calls it.

use std::path::PathBuf;

use pi_protocol::CommandInfo;
use serde::Serialize;

use super::group::calls;
use crate::costs::PromptPart;

/// What an extension can know before there is a session.
#[derive(Serialize)]
pub(crate) struct ContextInfo {
    pub(crate) mode: &'static str,
    #[serde(rename = "hasUI")]
    pub(crate) has_ui: bool,
    pub(crate) cwd: PathBuf,
    pub(crate) trusted: bool,
}

calls! {
    trait ProgramCalls {
        call "program.context" => context() -> ContextInfo;

        /// Returns the path of the extension whose code is running.
        call "program.currentExtension" => current_extension() -> Option<String>;

        /// Reports a failure that no caller receives.
        call "program.reportError" => report_error(
            extension_path as "extensionPath": Option<String>,
            event: String,
            error: String,
            stack: Option<String>,
        );

        /// Reports how many characters an extension adds to a part of each prompt, and which sections of the system
        /// prompt it has changed.
        call "program.promptText" => prompt_text(
            extension_path as "extensionPath": String,
            part: PromptPart,
            characters: i64,
            sections: Vec<String>,
        );

        /// Lists the commands of extensions, skills and prompt templates.
        call "program.commands" => commands() -> Vec<CommandInfo>;

        /// Exits the program once everything in progress has finished.
        call "program.shutdown" => shutdown();

        /// Ends the program, while extensions load and without a terminal.
        call "program.exit" => exit(code: i32);
    }
}
