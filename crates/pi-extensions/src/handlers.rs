//! Handlers of the calls that JavaScript makes (`calls`), by group.
//!
//! Handlers run on the JavaScript thread and must not block; long work continues on the program's
//! runtime.

mod agents;
mod builtin;
mod jobs;
mod messages;
mod model_streams;
mod model_tasks;
mod models;
mod nested_calls;
mod program;
mod registration;
mod replacement;
mod run;
mod screen;
mod selection;
mod session;
mod session_files;
mod sign_in;
mod summaries;
mod ui;
mod utilities;

use pi_ext::{HostError, HostFuture};
use serde_json::Value;

pub(crate) use agents::{ExtensionAgentOptions, ExtensionAgents};
pub(crate) use builtin::{JavaScriptShell, ShellRun, ToolRun};
pub(crate) use model_streams::ModelCall;
pub(crate) use model_tasks::TaskCall;
pub(crate) use nested_calls::NestedRun;
pub(crate) use session_files::{OpenSessions, SessionSpec};
pub(crate) use summaries::SummaryJob;
pub(crate) use utilities::{ImageInput, ResourceLookup, TrustChange, skill_infos};

use crate::bridge::ExtensionBridge;
use crate::calls::{
    AgentCalls, AgentRunCalls, Answer, BuiltinCalls, JobCalls, MessageCalls, ModelCalls,
    Parameters, ProgramCalls, RegistrationCalls, ReplacementCalls, RunCalls, ScreenCalls,
    SelectionCalls, SessionCalls, SessionFileCalls, SessionWriteCalls, SignInCalls, UiCalls,
    UtilityCalls,
};

/// An extension that makes a call.
pub(crate) struct Caller<'a> {
    bridge: &'a ExtensionBridge,
    /// Its path, if known.
    extension: Option<&'a str>,
}

impl<'a> Caller<'a> {
    pub(crate) fn new(bridge: &'a ExtensionBridge, extension: Option<&'a str>) -> Self {
        Self { bridge, extension }
    }

    /// Handles a call whose result JavaScript waits for.
    pub(crate) fn call(&self, name: &str, arguments: Value) -> Result<Value, HostError> {
        match self.answer(name, arguments)? {
            Answer::Now(result) => result,
            Answer::Later(_) => Err(HostError::new(format!("{name} must be awaited"))),
        }
    }

    /// Handles a call whose result JavaScript awaits.
    pub(crate) fn request(&self, name: &str, arguments: Value) -> HostFuture {
        match self.answer(name, arguments) {
            Ok(Answer::Later(future)) => future,
            Ok(Answer::Now(result)) => Box::pin(std::future::ready(result)),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn answer(&self, name: &str, arguments: Value) -> Result<Answer, HostError> {
        let area = name.split_once('.').map_or(name, |(area, _)| area);
        let parameters = &mut Parameters::from(arguments);
        let answer = match area {
            "agent" => match AgentCalls::answer(self, name, parameters)? {
                None => AgentRunCalls::answer(self, name, parameters)?,
                answer => answer,
            },
            "builtin" => BuiltinCalls::answer(self, name, parameters)?,
            "job" => JobCalls::answer(self, name, parameters)?,
            "messages" => MessageCalls::answer(self, name, parameters)?,
            "models" => ModelCalls::answer(self, name, parameters)?,
            "program" => ProgramCalls::answer(self, name, parameters)?,
            "registration" => RegistrationCalls::answer(self, name, parameters)?,
            "replacement" => ReplacementCalls::answer(self, name, parameters)?,
            "run" => RunCalls::answer(self, name, parameters)?,
            "screen" => ScreenCalls::answer(self, name, parameters)?,
            "tools" | "model" | "thinking" => SelectionCalls::answer(self, name, parameters)?,
            "session" => SessionCalls::answer(self, name, parameters)?,
            "sessionFile" => match SessionFileCalls::answer(self, name, parameters)? {
                None => SessionWriteCalls::answer(self, name, parameters)?,
                answer => answer,
            },
            "signIn" => SignInCalls::answer(self, name, parameters)?,
            "ui" => UiCalls::answer(self, name, parameters)?,
            "utility" => UtilityCalls::answer(self, name, parameters)?,
            _ => None,
        };
        answer
            .ok_or_else(|| HostError::new(format!("{name} is not supported by this version of pi")))
    }
}
