//! The functions that an extension passes along with a job, as called by the program.
//!
//! Their JavaScript side is the second argument of `requestWithCallbacks` and the argument of
//! `register` (`js/pi/callbacks.js`). A test looks up every name there.

use std::collections::BTreeMap;
use std::path::Path;

use pi_protocol::ToolOutput;
use pi_protocol::json::JsonObject;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A call of a function that an extension passed along with a job.
pub(crate) trait Callback: Serialize {
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
        pub(crate) const CALLBACK_NAMES: &[&str] = &[$($name),*];
    };
}

callbacks! {
    ModelEvents => "events" -> IgnoredAny;
    RequestPayload<'_> => "payload" -> Value;
    ResponseStart<'_> => "response" -> IgnoredAny;
    SessionEventData => "event" -> IgnoredAny;
    AgentToolCall<'_> => "tool" -> Value;
    AgentFailure => "failure" -> IgnoredAny;
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
pub(crate) struct ModelEvents(pub(crate) Vec<pi_protocol::AssistantMessageEvent>);

/// The body of a model request, which the extension may replace.
#[derive(Serialize)]
pub(crate) struct RequestPayload<'a>(pub(crate) &'a Value);

/// The start of a model's response.
#[derive(Serialize)]
pub(crate) struct ResponseStart<'a> {
    pub(crate) status: u16,
    pub(crate) headers: &'a BTreeMap<String, String>,
}

/// An event of an agent's session, as clients receive it.
#[derive(Serialize)]
pub(crate) struct SessionEventData(pub(crate) Value);

/// A call of a tool that an extension supplied for its own agent.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentToolCall<'a> {
    pub(crate) name: &'a str,
    pub(crate) call_id: &'a str,
    pub(crate) arguments: JsonObject,
}

/// A failure of the extensions of an agent's session.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentFailure {
    pub(crate) extension_path: Option<String>,
    pub(crate) event: String,
    pub(crate) error: String,
    pub(crate) stack: Option<String>,
}

/// A partial result of a built-in tool.
#[derive(Serialize)]
pub(crate) struct PartialResult(pub(crate) ToolOutput);

/// Output of a command, in base64.
#[derive(Serialize)]
pub(crate) struct CommandOutput(pub(crate) String);

/// A command for a shell that an extension implements.
#[derive(Serialize)]
pub(crate) struct RunCommand<'a> {
    pub(crate) command: &'a str,
    pub(crate) cwd: &'a Path,
    /// In seconds.
    pub(crate) timeout: Option<f64>,
    pub(crate) env: BTreeMap<String, String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CommandExit {
    /// Not always a number: extensions return it.
    pub(crate) exit_code: Option<Value>,
}

/// Returns a file's contents in base64.
#[derive(Serialize)]
pub(crate) struct ReadFile<'a> {
    pub(crate) path: &'a Path,
}

#[derive(Serialize)]
pub(crate) struct WriteFile<'a> {
    pub(crate) path: &'a Path,
    pub(crate) content: &'a str,
}

/// Fails if the path cannot be read.
#[derive(Serialize)]
pub(crate) struct CheckAccess<'a> {
    pub(crate) path: &'a Path,
}

#[derive(Serialize)]
pub(crate) struct CreateDirectory<'a> {
    pub(crate) path: &'a Path,
}

#[derive(Serialize)]
pub(crate) struct FileExists<'a> {
    pub(crate) path: &'a Path,
}

#[derive(Serialize)]
pub(crate) struct IsDirectory<'a> {
    pub(crate) path: &'a Path,
}

/// Lists the names in a directory.
#[derive(Serialize)]
pub(crate) struct ListDirectory<'a> {
    pub(crate) path: &'a Path,
}
