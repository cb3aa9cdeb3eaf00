//! Small things of the program that extensions use as functions: differences, sizes, pictures,
//! resources of a folder.

use std::path::PathBuf;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use pi_ai::AgentMessage;
use pi_config::{
    AgentDir, ProjectAccess, ResourceFlags, ResourceRequest, SettingsStore, load_resources,
};
use pi_ext::{HostError, HostFuture};
use pi_session::{CompactionSettings, exceeds_threshold, message_tokens};
use pi_tools::{ImageLimits, TextChange, fit_image, sniff_image};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::bridge::{Bridge, field, read, told, unknown};
use super::prompt_options::spell_skills;

/// Which resources are looked for.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Lookup {
    cwd: Option<PathBuf>,
    agent_dir: Option<PathBuf>,
    #[serde(default)]
    skills: Vec<String>,
    #[serde(default)]
    prompt_templates: Vec<String>,
    #[serde(default)]
    no_skills: bool,
    #[serde(default)]
    no_prompt_templates: bool,
    #[serde(default)]
    no_context_files: bool,
    system_prompt: Option<String>,
    #[serde(default)]
    append_system_prompt: Vec<String>,
}

/// A picture and how large it may be.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Picture {
    data: String,
    mime_type: String,
    max_width: Option<u32>,
    max_height: Option<u32>,
    max_bytes: Option<u64>,
    jpeg_quality: Option<u8>,
}

impl Bridge {
    pub(super) fn call_conversion(
        &self,
        method: &str,
        arguments: Value,
    ) -> Result<Value, HostError> {
        match method {
            "convert.change" => {
                let (before, after): (String, String) =
                    (field(&arguments, "before")?, field(&arguments, "after")?);
                let path: Option<String> = field(&arguments, "path")?;
                let change = TextChange::between(&before, &after, &path.unwrap_or_default());
                Ok(json!({
                    "diff": change.display,
                    "patch": change.patch,
                    "firstChangedLine": change.first_changed_line,
                }))
            }
            "convert.tokens" => {
                let message: AgentMessage = field(&arguments, "message")?;
                Ok(message_tokens(&message).into())
            }
            "convert.needsRoom" => {
                let tokens = field(&arguments, "tokens")?;
                let window = field(&arguments, "contextWindow")?;
                let reserve_tokens = field(&arguments, "reserveTokens")?;
                let settings = CompactionSettings {
                    reserve_tokens,
                    ..CompactionSettings::default()
                };
                Ok(exceeds_threshold(tokens, window, &settings).into())
            }
            "convert.sniff" => {
                let head: String = field(&arguments, "head")?;
                let head = BASE64_STANDARD.decode(head).map_err(told)?;
                Ok(sniff_image(&head).into())
            }
            "convert.resources" => Ok(self.resources(read(arguments)?)),
            "convert.settings" => {
                let cwd: Option<PathBuf> = field(&arguments, "cwd")?;
                let agent_dir: Option<PathBuf> = field(&arguments, "agentDir")?;
                let settings = self.settings(cwd, agent_dir);
                serde_json::to_value(settings.settings().as_ref()).map_err(told)
            }
            _ => Err(unknown(method)),
        }
    }

    /// Adds the resources that extensions named to those of the session.
    pub(super) fn add_resources(&self, found: &Value) {
        let paths = |kind: &str| -> Vec<String> {
            let found = found.get(kind).and_then(Value::as_array);
            let paths = found.into_iter().flatten();
            let path = |item: &Value| item.get("path").and_then(Value::as_str).map(str::to_owned);
            paths.filter_map(path).collect()
        };
        let flags = ResourceFlags {
            skills: paths("skillPaths"),
            prompt_templates: paths("promptPaths"),
            themes: paths("themePaths"),
            no_extensions: true,
            no_skills: true,
            no_prompt_templates: true,
            no_themes: true,
            no_context_files: true,
            ..ResourceFlags::default()
        };
        if flags.skills.is_empty() && flags.prompt_templates.is_empty() && flags.themes.is_empty() {
            return;
        }
        let Ok(runtime) = self.runtime() else {
            return;
        };
        let settings = self.settings(None, None);
        runtime.extend_resources(load_resources(&ResourceRequest {
            agent_dir: self.agent_dir.clone(),
            cwd: self.cwd.clone(),
            env: self.env.clone(),
            project: settings.project_access(),
            settings,
            flags,
        }));
    }

    fn project(&self) -> ProjectAccess {
        if self.is_trusted {
            ProjectAccess::Trusted
        } else {
            ProjectAccess::Denied
        }
    }

    fn settings(&self, cwd: Option<PathBuf>, agent_dir: Option<PathBuf>) -> SettingsStore {
        let agent_dir = agent_dir.map_or_else(|| self.agent_dir.clone(), AgentDir::at);
        let cwd = cwd.unwrap_or_else(|| self.cwd.clone());
        // What was decided about the project of the session says nothing of another.
        let project = if cwd == self.cwd {
            self.project()
        } else {
            ProjectAccess::Denied
        };
        SettingsStore::open(&agent_dir, &cwd, project)
    }

    fn resources(&self, lookup: Lookup) -> Value {
        let settings = self.settings(lookup.cwd.clone(), lookup.agent_dir.clone());
        let agent_dir = lookup.agent_dir;
        let found = load_resources(&ResourceRequest {
            agent_dir: agent_dir.map_or_else(|| self.agent_dir.clone(), AgentDir::at),
            cwd: lookup.cwd.unwrap_or_else(|| self.cwd.clone()),
            env: self.env.clone(),
            project: settings.project_access(),
            settings,
            flags: ResourceFlags {
                no_extensions: true,
                no_themes: true,
                skills: lookup.skills,
                prompt_templates: lookup.prompt_templates,
                no_skills: lookup.no_skills,
                no_prompt_templates: lookup.no_prompt_templates,
                no_context_files: lookup.no_context_files,
                system_prompt: lookup.system_prompt,
                append_system_prompt: lookup.append_system_prompt,
                ..ResourceFlags::default()
            },
        });
        let skills = spell_skills(&found.skills);
        let prompts = found.prompt_templates.iter().map(|template| {
            json!({
                "name": template.name,
                "description": template.description,
                "content": template.content,
                "filePath": template.file_path,
                "sourceInfo": template.source_info,
            })
        });
        let files = found.context_files.iter();
        let files = files.map(|file| json!({ "path": file.path, "content": file.content }));
        let problems = found.diagnostics.iter().map(|problem| {
            json!({ "type": "warning", "message": problem.message, "path": problem.path })
        });
        json!({
            "skills": skills,
            "prompts": prompts.collect::<Vec<_>>(),
            "agentsFiles": files.collect::<Vec<_>>(),
            "systemPrompt": found.system_prompt,
            "appendSystemPrompt": found.append_system_prompt,
            "diagnostics": problems.collect::<Vec<_>>(),
        })
    }
}

/// Makes a picture fit.
pub(super) fn resize_image(arguments: Value) -> Result<HostFuture, HostError> {
    let picture: Picture = read(arguments)?;
    let work = tokio::task::spawn_blocking(move || {
        let bytes = BASE64_STANDARD.decode(&picture.data).map_err(told)?;
        let usual = ImageLimits::default();
        let limits = ImageLimits {
            max_width: picture.max_width.unwrap_or(usual.max_width),
            max_height: picture.max_height.unwrap_or(usual.max_height),
            max_bytes: picture.max_bytes.unwrap_or(usual.max_bytes),
            jpeg_quality: picture.jpeg_quality.unwrap_or(usual.jpeg_quality),
        };
        let cancel = CancellationToken::new();
        let fitted = fit_image(&bytes, &picture.mime_type, Some(limits), &cancel);
        Ok(match fitted {
            Ok(fitted) => json!({
                "data": fitted.data,
                "mimeType": fitted.media_type,
            }),
            Err(_) => Value::Null,
        })
    });
    Ok(Box::pin(async move { work.await.map_err(told)? }))
}

/// Makes a PNG of a picture, in base64; nothing where it cannot be read.
pub(super) fn convert_to_png(arguments: &Value) -> Result<HostFuture, HostError> {
    let data: String = field(arguments, "data")?;
    let work = tokio::task::spawn_blocking(move || {
        let bytes = BASE64_STANDARD.decode(&data).map_err(told)?;
        // A kind that no model takes becomes PNG.
        let converted = fit_image(&bytes, "", None, &CancellationToken::new());
        Ok(converted.map_or(Value::Null, |converted| converted.data.into()))
    });
    Ok(Box::pin(async move { work.await.map_err(told)? }))
}
