//! Calls about the program and the extension that calls it.

use std::path::PathBuf;

use serde::Serialize;

use super::group::calls;
use crate::commands::CommandInfo;

/// What an extension can know before there is a session.
#[derive(Serialize)]
pub(in crate::extensions) struct ContextInfo {
    pub(in crate::extensions) mode: &'static str,
    #[serde(rename = "hasUI")]
    pub(in crate::extensions) has_ui: bool,
    pub(in crate::extensions) cwd: PathBuf,
    pub(in crate::extensions) trusted: bool,
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

        /// Lists the commands of extensions, skills and prompt templates.
        call "program.commands" => commands() -> Vec<CommandInfo>;

        /// Exits the program once everything in progress has finished.
        call "program.shutdown" => shutdown();
    }
}
