//! Inputs of the system prompt, as extensions see and change them for a run.

use std::path::PathBuf;

use pi_config::Skill;
use pi_context::{ProjectInstructions, PromptSections, SystemPromptParts};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::bridge::ExtensionBridge;
use crate::session::AgentSession;

/// The prompt options as changed by an extension.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ChangedOptions {
    pub(super) sections: Map<String, Value>,
    pub(super) selected_tools: Option<Vec<String>>,
    custom_prompt: Option<String>,
    append_system_prompt: Option<String>,
    context_files: Option<Vec<ContextText>>,
}

#[derive(Debug, Deserialize)]
struct ContextText {
    path: PathBuf,
    content: String,
}

impl ExtensionBridge {
    /// Returns the prompt inputs of the current session as JSON.
    pub(super) fn prompt_options(&self, session: &AgentSession) -> Value {
        let parts = session.prompt_parts();
        let tools = session.toolset();
        let snippets = tools.tools().iter().filter_map(|tool| {
            let snippet = tool.snippet.clone()?;
            Some((tool.name().to_owned(), Value::String(snippet)))
        });
        let guidelines = tools
            .tools()
            .iter()
            .filter(|tool| !tool.guidelines.is_empty());
        let guidelines = guidelines.map(|tool| (tool.name().to_owned(), json!(tool.guidelines)));
        let files = parts.instructions.iter();
        let files = files.map(|file| json!({ "path": file.path, "content": file.content }));
        let skills = match self.runtime() {
            Ok(runtime) => skills_to_json(&runtime.services().resources.skills),
            Err(_) => Vec::new(),
        };
        let mut options = json!({
            "cwd": parts.cwd,
            "selectedTools": session.active_tool_names(),
            "toolSnippets": snippets.collect::<Map<_, _>>(),
            "toolGuidelines": guidelines.collect::<Map<_, _>>(),
            "promptGuidelines": [],
            "appendSystemPrompt": parts.append.join("\n\n"),
            "sections": {},
            "contextFiles": files.collect::<Vec<_>>(),
            "skills": skills,
        });
        if let (Some(custom), Some(options)) = (parts.custom, options.as_object_mut()) {
            options.insert("customPrompt".to_owned(), custom.into());
        }
        options
    }
}

/// Serializes skills in the format of the extension API.
pub(super) fn skills_to_json(skills: &[Skill]) -> Vec<Value> {
    let request_to_json = skills.iter().map(|skill| {
        json!({
            "name": skill.name,
            "description": skill.description,
            "filePath": skill.file_path,
            "baseDir": skill.base_dir,
            "disableModelInvocation": skill.disable_model_invocation,
            "sourceInfo": skill.source_info,
        })
    });
    request_to_json.collect()
}

impl ChangedOptions {
    /// Returns the changed sections of the prompt; `default` if nothing changed.
    pub(super) fn sections(
        &self,
        session: &AgentSession,
        active: &[String],
        default: &PromptSections,
    ) -> PromptSections {
        let parts = session.prompt_parts();
        let changed = self.applied(&parts);
        let mut sections = if changed == parts {
            default.clone()
        } else {
            changed.sections(&session.toolset().prompt_tools(active))
        };
        for (name, text) in &self.sections {
            let text = text.as_str().unwrap_or_default();
            if let Err(error) = sections.set_extension(name, text) {
                tracing::warn!(%error, "ignoring invalid prompt section of extension");
            }
        }
        sections
    }

    fn applied(&self, parts: &SystemPromptParts) -> SystemPromptParts {
        let mut parts = parts.clone();
        if self.custom_prompt.is_some() {
            parts.custom.clone_from(&self.custom_prompt);
        }
        if let Some(append) = &self.append_system_prompt
            && *append != parts.append.join("\n\n")
        {
            parts.append = vec![append.clone()];
        }
        if let Some(files) = &self.context_files {
            let files = files.iter().map(|file| ProjectInstructions {
                path: file.path.clone(),
                content: file.content.clone(),
            });
            parts.instructions = files.collect();
        }
        parts
    }
}
