//! Calls that run built-in tools.

use pi_core::ToolOutput;
use pi_protocol::ConstrainedSampling;
use pi_protocol::json::JsonObject;
use serde::Serialize;
use serde_json::Value;

use super::group::calls;
use crate::extensions::handlers::{ShellRun, ToolRun};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::extensions) struct BuiltinTool {
    pub(in crate::extensions) name: String,
    pub(in crate::extensions) label: String,
    pub(in crate::extensions) description: String,
    pub(in crate::extensions) parameters: Value,
    pub(in crate::extensions) constrained_sampling: Option<ConstrainedSampling>,
    pub(in crate::extensions) prompt_snippet: Option<String>,
    pub(in crate::extensions) prompt_guidelines: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::extensions) struct ShellExit {
    pub(in crate::extensions) exit_code: Option<i32>,
}

calls! {
    trait BuiltinCalls {
        call "builtin.describe" => describe(name: String) -> BuiltinTool;
        call "builtin.prepareArguments" => prepare_arguments(
            name: String,
            arguments: JsonObject,
        ) -> JsonObject;
        /// Runs a tool; partial results go to the callback `update`.
        request "builtin.run" => run(run as "...": Box<ToolRun>) -> ToolOutput;
        /// Runs a shell command; its output goes to the callback `output`.
        request "builtin.runShell" => run_shell(run as "...": ShellRun) -> ShellExit;
    }
}
