//! Utility functions for extensions: diffs, size formatting, images, and resources of a directory.

use std::path::PathBuf;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use pi_config::{
    AgentDir, ProjectAccess, ResourceFlags, ResourceRequest, SettingsStore, load_resources,
};
use pi_context::estimate::message_tokens;
use pi_context::{CompactionSettings, exceeds_threshold};
use pi_ext::{HostError, HostFuture};
use pi_protocol::AgentMessage;
use pi_tools::{ImageResizeLimits, TextChange, prepare_image, sniff_image};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::bridge::{ExtensionBridge, field, host_error, read, unknown};
use super::prompt_options::skills_to_json;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceLookup {
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

/// An image and its maximum size.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ImageInput {
    data: String,
    mime_type: String,
    max_width: Option<u32>,
    max_height: Option<u32>,
    max_bytes: Option<u64>,
    jpeg_quality: Option<u8>,
}

impl ExtensionBridge {
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
                let head = BASE64_STANDARD.decode(head).map_err(host_error)?;
                Ok(sniff_image(&head).into())
            }
            "convert.resources" => Ok(self.resources(read(arguments)?)),
            "convert.settings" => {
                let cwd: Option<PathBuf> = field(&arguments, "cwd")?;
                let agent_dir: Option<PathBuf> = field(&arguments, "agentDir")?;
                let settings = self.settings(cwd, agent_dir);
                serde_json::to_value(settings.settings().as_ref()).map_err(host_error)
            }
            _ => Err(unknown(method)),
        }
    }

    /// Adds resource paths named by extensions to the resources of the session.
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
        // The trust decision about the session's project does not apply to other projects.
        let project = if cwd == self.cwd {
            self.project()
        } else {
            ProjectAccess::Denied
        };
        SettingsStore::open(&agent_dir, &cwd, project)
    }

    fn resources(&self, lookup: ResourceLookup) -> Value {
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
        let skills = skills_to_json(&found.skills);
        let open_dialogs = found.prompt_templates.iter().map(|template| {
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
            "prompts": open_dialogs.collect::<Vec<_>>(),
            "agentsFiles": files.collect::<Vec<_>>(),
            "systemPrompt": found.system_prompt,
            "appendSystemPrompt": found.append_system_prompt,
            "diagnostics": problems.collect::<Vec<_>>(),
        })
    }
}

pub(super) fn resize_image(arguments: Value) -> Result<HostFuture, HostError> {
    let image: ImageInput = read(arguments)?;
    let work = tokio::task::spawn_blocking(move || {
        let bytes = BASE64_STANDARD.decode(&image.data).map_err(host_error)?;
        let defaults = ImageResizeLimits::default();
        let limits = ImageResizeLimits {
            max_width: image.max_width.unwrap_or(defaults.max_width),
            max_height: image.max_height.unwrap_or(defaults.max_height),
            max_bytes: image.max_bytes.unwrap_or(defaults.max_bytes),
            jpeg_quality: image.jpeg_quality.unwrap_or(defaults.jpeg_quality),
        };
        let cancel = CancellationToken::new();
        let fitted = prepare_image(&bytes, &image.mime_type, Some(limits), &cancel);
        Ok(match fitted {
            Ok(fitted) => json!({
                "data": fitted.data,
                "mimeType": fitted.media_type,
            }),
            Err(_) => Value::Null,
        })
    });
    Ok(Box::pin(async move { work.await.map_err(host_error)? }))
}

/// Converts an image to PNG, in base64; null if it cannot be decoded.
pub(super) fn convert_to_png(arguments: &Value) -> Result<HostFuture, HostError> {
    let data: String = field(arguments, "data")?;
    let work = tokio::task::spawn_blocking(move || {
        let bytes = BASE64_STANDARD.decode(&data).map_err(host_error)?;
        // A format that models do not accept is converted to PNG.
        let converted = prepare_image(&bytes, "", None, &CancellationToken::new());
        Ok(converted.map_or(Value::Null, |converted| converted.data.into()))
    });
    Ok(Box::pin(async move { work.await.map_err(host_error)? }))
}
