//! The functions that an extension passes along with a job, as called by the program.
//!
//! Their JavaScript side is the second argument of `requestWithCallbacks` and the argument of
//! `register` (`js/pi/callbacks.js`). A test looks up every name there.

use std::collections::BTreeMap;
use std::path::Path;

use pi_core::ToolOutput;
use pi_protocol::json::JsonObject;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A call of a function that an extension passed along with a job.
pub(super) trait Callback: Serialize {
    const NAME: &'static str;
    type Reply: DeserializeOwned;
}

macro_rules! callbacks {
    ($( $type:ty => $name:literal -> $reply:ty; )*) => {
        $(
            impl Callback for $type {
                const NAME: &'static str = $name;
                type Reply = $reply;
            }
        )*

        #[cfg(test)]
        pub(super) const CALLBACK_NAMES: &[&str] = &[$($name),*];
    };
}

callbacks! {
    ModelEvents => "events" -> IgnoredAny;
    SessionEventData => "event" -> IgnoredAny;
    AgentToolCall<'_> => "tool" -> Value;
    PartialResult => "update" -> IgnoredAny;
    CommandOutput => "output" -> IgnoredAny;
    RunCommand<'_> => "exec" -> Option<CommandExit>;
    ReadFile<'_> => "readFile" -> Option<String>;
    WriteFile<'_> => "writeFile" -> IgnoredAny;
    CheckAccess<'_> => "access" -> IgnoredAny;
    CreateDirectory<'_> => "mkdir" -> IgnoredAny;
    FileExists<'_> => "exists" -> Option<bool>;
    IsDirectory<'_> => "isDirectory" -> Option<bool>;
    ListDirectory<'_> => "readdir" -> Vec<String>;
}

/// Events of a model's response, in order.
#[derive(Serialize)]
pub(super) struct ModelEvents(pub(super) Vec<pi_protocol::AssistantMessageEvent>);

/// An event of an agent's session, as clients receive it.
#[derive(Serialize)]
pub(super) struct SessionEventData(pub(super) Value);

/// A call of a tool that an extension supplied for its own agent.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AgentToolCall<'a> {
    pub(super) name: &'a str,
    pub(super) call_id: &'a str,
    pub(super) arguments: JsonObject,
}

/// A partial result of a built-in tool.
#[derive(Serialize)]
pub(super) struct PartialResult(pub(super) ToolOutput);

/// Output of a command, in base64.
#[derive(Serialize)]
pub(super) struct CommandOutput(pub(super) String);

/// A command for a shell that an extension implements.
#[derive(Serialize)]
pub(super) struct RunCommand<'a> {
    pub(super) command: &'a str,
    pub(super) cwd: &'a Path,
    /// In seconds.
    pub(super) timeout: Option<f64>,
    pub(super) env: BTreeMap<String, String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct CommandExit {
    /// Not always a number: extensions return it.
    pub(super) exit_code: Option<Value>,
}

/// Returns a file's contents in base64.
#[derive(Serialize)]
pub(super) struct ReadFile<'a> {
    pub(super) path: &'a Path,
}

#[derive(Serialize)]
pub(super) struct WriteFile<'a> {
    pub(super) path: &'a Path,
    pub(super) content: &'a str,
}

/// Fails if the path cannot be read.
#[derive(Serialize)]
pub(super) struct CheckAccess<'a> {
    pub(super) path: &'a Path,
}

#[derive(Serialize)]
pub(super) struct CreateDirectory<'a> {
    pub(super) path: &'a Path,
}

#[derive(Serialize)]
pub(super) struct FileExists<'a> {
    pub(super) path: &'a Path,
}

#[derive(Serialize)]
pub(super) struct IsDirectory<'a> {
    pub(super) path: &'a Path,
}

/// Lists the names in a directory.
#[derive(Serialize)]
pub(super) struct ListDirectory<'a> {
    pub(super) path: &'a Path,
}
