//! Tools of extensions, as run by the agent.

use std::future::Future;
use std::sync::{Arc, Weak};

use futures_util::future::BoxFuture;
use pi_core::{
    ExecutionMode, LoadoutChanges, RegisteredTool, Tool, ToolContext, ToolError, ToolLoadout,
};
use pi_ext::EngineError;
use pi_protocol::json::JsonObject;
use pi_protocol::{Tool as ToolDeclaration, ToolOutput};
use serde_json::{Value, json};

use crate::ExtensionsInner;
use crate::control::ToolRegistration;
use crate::front_end::ExtensionFailure;
use crate::hooks::{Hook, IS_PAUSED};
use crate::registration::ToolData;

/// Name of the hook in error messages.
const PREPARE_LOADOUT: &str = "prepare_loadout";

struct ExtensionTool {
    /// Weak, since the session owns its tools and the extensions own the session.
    shared: Weak<ExtensionsInner>,
    extension: String,
    declaration: ToolDeclaration,
    label: String,
    mode: ExecutionMode,
    prepares: bool,
}

/// Returns the declaration sent to the model.
pub(crate) fn declaration(data: &ToolData) -> ToolDeclaration {
    let sampling = data.constrained_sampling.clone();
    ToolDeclaration {
        name: data.name.clone(),
        description: data.description.clone(),
        parameters: data.parameters.clone(),
        constrained_sampling: sampling.and_then(|value| pi_protocol::json::from_value(&value).ok()),
        extra: JsonObject::new(),
    }
}

/// Creates a tool from an extension's registration.
pub(crate) fn registered(
    shared: &Arc<ExtensionsInner>,
    extension: &str,
    data: &ToolData,
) -> ToolRegistration {
    let tool = ExtensionTool {
        shared: Arc::downgrade(shared),
        extension: extension.to_owned(),
        label: data.label.clone().unwrap_or_else(|| data.name.clone()),
        mode: data.execution_mode.unwrap_or_default(),
        prepares: data.prepares_arguments,
        declaration: declaration(data),
    };
    ToolRegistration {
        tool: Arc::new(tool),
        snippet: data.prompt_snippet.clone(),
        guidelines: data.prompt_guidelines.clone().unwrap_or_default(),
        is_default_active: data.default_active.unwrap_or(true),
        metadata: data.metadata(),
    }
}

impl Tool for ExtensionTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn label(&self) -> &str {
        &self.label
    }

    fn execution_mode(&self) -> ExecutionMode {
        self.mode
    }

    fn prepare(&self, arguments: JsonObject) -> BoxFuture<'_, Result<JsonObject, ToolError>> {
        Box::pin(async move {
            let Some(shared) = self.shared.upgrade().filter(|_| self.prepares) else {
                return Ok(arguments);
            };
            let name = &self.declaration.name;
            let given = Value::Object(arguments);
            let prepared = shared
                .engine
                .prepare_arguments(&self.extension, name, given);
            let hook = Hook {
                name: "prepareArguments",
                extension: &|| Some(self.extension.clone()),
                cancel: None,
                signal: None,
            };
            let Ok(prepared) = shared.unless_abandoned(&hook, prepared).await else {
                return Err(ToolError::new(
                    "the tool's prepareArguments did not respond",
                ));
            };
            match prepared {
                Ok(Value::Object(prepared)) => Ok(prepared),
                Ok(_) => Err(ToolError::new(
                    "the tool's prepareArguments did not return an object",
                )),
                Err(error) => Err(ToolError::new(error_message(error))),
            }
        })
    }

    fn prepare_loadout(&self, loadout: ToolLoadout) -> BoxFuture<'_, LoadoutChanges> {
        Box::pin(async move {
            let Some(shared) = self.shared.upgrade() else {
                return LoadoutChanges::default();
            };
            let name = &self.declaration.name;
            let data = loadout_data(&loadout);
            let preparing = shared.engine.prepare_loadout(&self.extension, name, data);
            let hook = Hook {
                name: PREPARE_LOADOUT,
                extension: &|| Some(self.extension.clone()),
                cancel: None,
                signal: None,
            };
            let Ok(prepared) = shared.unless_abandoned(&hook, preparing).await else {
                return LoadoutChanges::default();
            };
            let changes = prepared.map_err(error_message).and_then(|changes| {
                pi_protocol::json::from_value(&changes).map_err(|error| error.to_string())
            });
            changes.unwrap_or_else(|error| {
                shared.bridge.report_failure(ExtensionFailure {
                    extension: Some(self.extension.clone()),
                    event: PREPARE_LOADOUT.to_owned(),
                    error,
                    stack: None,
                });
                LoadoutChanges::default()
            })
        })
    }

    fn call(
        &self,
        cx: ToolContext,
        arguments: JsonObject,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let shared = self
                .shared
                .upgrade()
                .ok_or_else(|| ToolError::new("the extension of this tool was unloaded"))?;
            let (extension, name) = (&self.extension, &self.declaration.name);
            if shared.hooks.is_paused(extension) {
                return Err(ToolError::new(format!(
                    "the extension of this tool {IS_PAUSED}"
                )));
            }
            let arguments = Value::Object(arguments);
            let call = cx.call.clone();
            let run = |signal| {
                let engine = &shared.engine;
                engine.execute_tool(extension, name, call.as_str(), arguments, signal)
            };
            shared.run_tool(run, cx).await
        })
    }
}

/// Returns the tools as JSON; those that are declared or callable by name.
fn loadout_data(loadout: &ToolLoadout) -> Value {
    let tools = loadout.registered.iter().map(|tool| {
        let declaration = tool.tool.declaration();
        json!({
            "name": declaration.name,
            "label": tool.tool.label(),
            "description": declaration.description,
            "parameters": declaration.parameters,
            "outputSchema": tool.metadata.output_schema,
            "exposure": tool.metadata.exposure,
            "namespace": tool.metadata.namespace,
            "promptGuidelines": tool.guidelines,
        })
    });
    let names = |tools: &[RegisteredTool]| {
        let names = tools.iter().map(|tool| tool.name().to_owned());
        names.collect::<Vec<_>>()
    };
    json!({
        "tools": tools.collect::<Vec<_>>(),
        "declared": names(&loadout.declared),
        "callable": names(&loadout.callable),
    })
}

impl ExtensionsInner {
    /// Runs an extension's code as a tool. Partial results, calls of other tools and cancellation use
    /// the signal ID passed to `run`.
    pub(crate) async fn run_tool<Running>(
        &self,
        run: impl FnOnce(u64) -> Running,
        cx: ToolContext,
    ) -> Result<ToolOutput, ToolError>
    where
        Running: Future<Output = Result<Value, EngineError>>,
    {
        let signal = self.bridge.new_signal();
        let cancel = cx.cancel.clone();
        self.bridge.open_tool_call(signal, cx);
        let outcome = self.until_cancelled(run(signal), signal, &cancel).await;
        self.bridge.close_tool_call(signal);
        if cancel.is_cancelled() && outcome == Err(EngineError::Interrupted) {
            // The tool ignores its signal. Other errors are its own.
            return Ok(ToolOutput {
                is_error: Some(true),
                ..ToolOutput::aborted()
            });
        }
        let output = outcome.map_err(|error| ToolError::new(error_message(error)))?;
        pi_protocol::json::from_value(&output)
            .map_err(|error| ToolError::new(format!("invalid tool result: {error}")))
    }
}

/// Returns the extension's error message, without the kind of error.
pub(crate) fn error_message(error: EngineError) -> String {
    match error {
        EngineError::Exception(thrown) => thrown.message,
        other => other.to_string(),
    }
}
