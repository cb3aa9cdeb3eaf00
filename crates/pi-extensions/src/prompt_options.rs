//! Inputs of the system prompt, as extensions see and change them for a run.

use std::path::PathBuf;

use pi_context::PromptSections;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::bridge::ExtensionBridge;
use crate::control::{ExtensionSession, PromptInputs};
use crate::handlers::skill_infos;

/// The prompt options as changed by an extension.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChangedOptions {
    sections: Map<String, Value>,
    pub selected_tools: Option<Vec<String>>,
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
    /// Returns the prompt inputs of a session as JSON.
    pub(crate) fn prompt_options(&self, session: &dyn ExtensionSession) -> Value {
        let inputs = session.prompt_inputs();
        let tools = session.tools();
        let snippets = tools.iter().filter_map(|tool| {
            let snippet = tool.snippet.clone()?;
            Some((tool.name.clone(), Value::String(snippet)))
        });
        let guidelines = tools.iter().filter(|tool| !tool.guidelines.is_empty());
        let guidelines = guidelines.map(|tool| (tool.name.clone(), json!(tool.guidelines)));
        let files = inputs.instructions.iter();
        let files = files
            .map(|(path, content)| json!({ "path": path.to_string_lossy(), "content": content }));
        let skills = self.runtime().map(|runtime| runtime.skills());
        let mut options = json!({
            "cwd": session.cwd().to_string_lossy(),
            "selectedTools": session.active_tools(),
            "toolSnippets": snippets.collect::<Map<_, _>>(),
            "toolGuidelines": guidelines.collect::<Map<_, _>>(),
            "promptGuidelines": [],
            "appendSystemPrompt": inputs.append.join("\n\n"),
            "sections": {},
            "contextFiles": files.collect::<Vec<_>>(),
            "skills": skill_infos(&skills.unwrap_or_default()),
        });
        if let (Some(custom), Some(options)) = (inputs.custom, options.as_object_mut()) {
            options.insert("customPrompt".to_owned(), custom.into());
        }
        options
    }
}

impl ChangedOptions {
    /// Returns the changed sections of the prompt; `default` if nothing changed.
    pub(crate) fn sections(
        &self,
        session: &dyn ExtensionSession,
        active: &[String],
        default: &PromptSections,
    ) -> PromptSections {
        let inputs = session.prompt_inputs();
        let changed = self.applied(&inputs);
        let mut sections = if changed == inputs {
            default.clone()
        } else {
            session.prompt_sections(changed, active)
        };
        for (name, text) in &self.sections {
            let text = text.as_str().unwrap_or_default();
            if let Err(error) = sections.set_extension(name, text) {
                tracing::warn!(%error, "ignoring invalid prompt section of extension");
            }
        }
        sections
    }

    fn applied(&self, inputs: &PromptInputs) -> PromptInputs {
        let mut inputs = inputs.clone();
        if self.custom_prompt.is_some() {
            inputs.custom.clone_from(&self.custom_prompt);
        }
        if let Some(append) = &self.append_system_prompt
            && *append != inputs.append.join("\n\n")
        {
            inputs.append = vec![append.clone()];
        }
        if let Some(files) = &self.context_files {
            let files = files.iter();
            inputs.instructions = files
                .map(|file| (file.path.clone(), file.content.clone()))
                .collect();
        }
        inputs
    }
}
