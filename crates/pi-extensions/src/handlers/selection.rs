//! Handles calls about tools, model and thinking level.

use std::sync::Arc;

use pi_ext::HostError;
use pi_protocol::{Model, SourceInfo, SourceOrigin, SourceScope, ThinkingLevel};

use super::Caller;
use crate::calls::{Pending, ScopedModelInfo, SelectionCalls, ToolSummary};
use crate::control::{ExtensionSession, SessionTool};
use crate::registration::ExtensionRegistry;

impl SelectionCalls for Caller<'_> {
    fn active_tools(&self) -> Result<Vec<String>, HostError> {
        Ok(self.bridge.session()?.active_tools())
    }

    fn all_tools(&self) -> Result<Vec<ToolSummary>, HostError> {
        let session = self.bridge.session()?;
        Ok(tool_summaries(&*session, &self.bridge.registry()))
    }

    fn set_active_tools(&self, names: Vec<String>) -> Result<(), HostError> {
        let session = self.bridge.session()?;
        session.set_active_tools(&names);
        self.bridge
            .begin(async move { session.prepare_loadout().await });
        Ok(())
    }

    fn model(&self) -> Result<Option<Arc<Model>>, HostError> {
        Ok(self.bridge.session()?.model())
    }

    fn scoped_models(&self) -> Result<Vec<ScopedModelInfo>, HostError> {
        Ok(scoped_models(&*self.bridge.session()?))
    }

    fn set_model(&self, provider: String, id: String) -> Result<Pending<bool>, HostError> {
        let session = self.bridge.session()?;
        let model = self.bridge.models.model(&provider, &id);
        Ok(self.bridge.spawn_on_runtime(async move {
            let Some(model) = model else {
                return Ok(false);
            };
            Ok(session.set_model(model).await.is_ok())
        }))
    }

    fn thinking_level(&self) -> Result<&'static str, HostError> {
        Ok(self.bridge.session()?.thinking_level().as_str())
    }

    fn set_thinking_level(&self, level: ThinkingLevel) -> Result<(), HostError> {
        let session = self.bridge.session()?;
        self.bridge.begin(async move {
            if let Err(error) = session.set_thinking_level(level).await {
                tracing::warn!(%error, "cannot set thinking level for extension");
            }
        });
        Ok(())
    }
}

/// Lists the tools of a session; those of extensions with the source of their extension.
pub(super) fn tool_summaries(
    session: &dyn ExtensionSession,
    registry: &ExtensionRegistry,
) -> Vec<ToolSummary> {
    let tools = session.tools().into_iter();
    tools
        .map(|tool| ToolSummary {
            source_info: match tool.source {
                "extension" => registry.source_of_tool(&tool.name),
                _ => None,
            }
            .unwrap_or_else(|| synthetic_source(&tool)),
            name: tool.name,
            description: tool.description,
            parameters: tool.parameters,
            prompt_guidelines: tool.guidelines,
            exposure: tool.metadata.exposure,
            namespace: tool.metadata.namespace,
            annotations: tool.metadata.annotations,
            reaches_tools: tool.metadata.reaches_tools.then_some(true),
        })
        .collect()
}

fn synthetic_source(tool: &SessionTool) -> SourceInfo {
    let path = match tool.source {
        "builtin" => {
            let extension = tool.metadata.builtin_extension.unwrap_or(&tool.name);
            format!("builtin:{extension}")
        }
        source => format!("<{source}:{}>", tool.name),
    };
    SourceInfo {
        path: path.into(),
        source: tool.source.to_owned(),
        scope: SourceScope::Temporary,
        origin: SourceOrigin::TopLevel,
        base_dir: None,
    }
}

pub(super) fn scoped_models(session: &dyn ExtensionSession) -> Vec<ScopedModelInfo> {
    let models = session.scoped_models().into_iter();
    models
        .map(|(model, thinking)| ScopedModelInfo {
            model,
            thinking_level: thinking.map(ThinkingLevel::as_str),
        })
        .collect()
}
