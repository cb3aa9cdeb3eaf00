//! Calls that run built-in tools.

use pi_protocol::json::JsonObject;
use pi_protocol::{ConstrainedSampling, ToolOutput};
use serde::Serialize;
use serde_json::Value;

use super::group::calls;
use crate::handlers::{ShellRun, ToolRun};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BuiltinTool {
    pub(crate) name: String,
    pub(crate) label: String,
    pub(crate) description: String,
    pub(crate) parameters: Value,
    pub(crate) constrained_sampling: Option<ConstrainedSampling>,
    pub(crate) prompt_snippet: Option<String>,
    pub(crate) prompt_guidelines: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShellExit {
    pub(crate) exit_code: Option<i32>,
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
