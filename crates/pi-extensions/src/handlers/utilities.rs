//! Utility functions for extensions: diffs, size formatting, images, and resources of a directory.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use pi_config::{
    AgentDir, ResourceFlags, ResourceRequest, SettingsStore, Skill, TrustStore, TrustUpdate,
    change_settings_file, load_resources,
};
use pi_context::estimate::message_tokens;
use pi_context::{CompactionSettings, exceeds_threshold};
use pi_ext::HostError;
use pi_protocol::{AgentMessage, ProjectAccess, SourceInfo};
use pi_tools::{ImageResizeLimits, TextChange, prepare_image, sniff_image};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{Caller, SummaryJob};
use crate::bridge::{ExtensionBridge, host_error};
use crate::calls::{
    BranchSummaryText, CompactionSummary, ContextFile, LoadedResources, Pending,
    PromptTemplateInfo, ResizedImage, ResourceProblem, SkillInfo, TextDiff, UtilityCalls,
};
use crate::events::{DiscoveredPath, DiscoveredResources};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResourceLookup {
    cwd: Option<PathBuf>,
    agent_dir: Option<PathBuf>,
    #[serde(default)]
    skills: Vec<String>,
    #[serde(default)]
    prompt_templates: Vec<String>,
    #[serde(default)]
    extensions: Vec<String>,
    /// Extensions are found only on request.
    #[serde(default = "yes")]
    no_extensions: bool,
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

fn yes() -> bool {
    true
}

/// A decision about a directory; null forgets it.
#[derive(Deserialize)]
pub(crate) struct TrustChange {
    path: PathBuf,
    decision: Option<bool>,
}

impl TrustChange {
    fn into_update(self) -> TrustUpdate {
        match self.decision {
            Some(true) => TrustUpdate::trust(self.path),
            Some(false) => TrustUpdate::deny(self.path),
            None => TrustUpdate::forget(self.path),
        }
    }
}

/// An image and its maximum size.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ImageInput {
    data: String,
    mime_type: String,
    max_width: Option<u32>,
    max_height: Option<u32>,
    max_bytes: Option<u64>,
    jpeg_quality: Option<u8>,
}

impl UtilityCalls for Caller<'_> {
    fn diff(
        &self,
        before: String,
        after: String,
        path: Option<String>,
    ) -> Result<TextDiff, HostError> {
        let change = TextChange::between(&before, &after, &path.unwrap_or_default());
        Ok(TextDiff {
            diff: change.display,
            patch: change.patch,
            first_changed_line: change.first_changed_line,
        })
    }

    fn estimate_tokens(&self, message: AgentMessage) -> Result<u64, HostError> {
        Ok(message_tokens(&message))
    }

    fn exceeds_threshold(
        &self,
        tokens: u64,
        context_window: u64,
        reserve_tokens: u64,
    ) -> Result<bool, HostError> {
        let settings = CompactionSettings {
            reserve_tokens,
            ..CompactionSettings::default()
        };
        Ok(exceeds_threshold(tokens, context_window, &settings))
    }

    fn image_type(&self, head: String) -> Result<Option<&'static str>, HostError> {
        let head = BASE64_STANDARD.decode(head).map_err(host_error)?;
        Ok(sniff_image(&head))
    }

    fn resize_image(&self, image: ImageInput) -> Result<Pending<Option<ResizedImage>>, HostError> {
        Ok(self.bridge.spawn_blocking(move || {
            let bytes = BASE64_STANDARD.decode(&image.data).map_err(host_error)?;
            let defaults = ImageResizeLimits::default();
            let limits = ImageResizeLimits {
                max_width: image.max_width.unwrap_or(defaults.max_width),
                max_height: image.max_height.unwrap_or(defaults.max_height),
                max_bytes: image.max_bytes.unwrap_or(defaults.max_bytes),
                jpeg_quality: image.jpeg_quality.unwrap_or(defaults.jpeg_quality),
            };
            let cancel = CancellationToken::new();
            let resized = prepare_image(&bytes, &image.mime_type, Some(limits), &cancel);
            Ok(resized.ok().map(|resized| ResizedImage {
                data: resized.data,
                mime_type: resized.media_type,
            }))
        }))
    }

    fn convert_to_png(&self, data: String) -> Result<Pending<Option<String>>, HostError> {
        Ok(self.bridge.spawn_blocking(move || {
            let bytes = BASE64_STANDARD.decode(&data).map_err(host_error)?;
            // A format that models do not accept is converted to PNG.
            let converted = prepare_image(&bytes, "", None, &CancellationToken::new());
            Ok(converted.ok().map(|converted| converted.data))
        }))
    }

    fn load_resources(&self, lookup: ResourceLookup) -> Result<LoadedResources, HostError> {
        Ok(self.bridge.resources(lookup))
    }

    fn load_settings(
        &self,
        cwd: Option<PathBuf>,
        agent_dir: Option<PathBuf>,
    ) -> Result<Value, HostError> {
        let settings = self.bridge.settings(cwd, agent_dir);
        Ok(Value::Object(settings.effective_object()))
    }

    fn change_settings(&self, file: PathBuf, changes: Map<String, Value>) -> Result<(), HostError> {
        change_settings_file(&file, &changes).map_err(host_error)
    }

    fn save_trust(&self, agent_dir: PathBuf, decisions: Vec<TrustChange>) -> Result<(), HostError> {
        let updates: Vec<TrustUpdate> = decisions
            .into_iter()
            .map(TrustChange::into_update)
            .collect();
        TrustStore::new(&AgentDir::at(agent_dir))
            .save(&updates)
            .map_err(host_error)
    }

    fn summarize_compaction(
        &self,
        job: Box<SummaryJob>,
    ) -> Result<Pending<CompactionSummary>, HostError> {
        self.write_compaction(*job)
    }

    fn summarize_branch(
        &self,
        job: Box<SummaryJob>,
    ) -> Result<Pending<BranchSummaryText>, HostError> {
        self.write_branch_summary(*job)
    }
}

impl ExtensionBridge {
    /// Adds resource paths named by extensions to the resources of the session.
    pub(crate) fn add_resources(&self, found: &DiscoveredResources) {
        let paths = |found: &[DiscoveredPath]| -> Vec<String> {
            found
                .iter()
                .filter_map(|found| found.path.clone())
                .collect()
        };
        let flags = ResourceFlags {
            skills: paths(&found.skills),
            prompt_templates: paths(&found.prompts),
            themes: paths(&found.themes),
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
        let mut loaded = load_resources(&ResourceRequest {
            agent_dir: self.agent_dir.clone(),
            cwd: self.cwd.clone(),
            env: self.env.clone(),
            project: settings.project_access(),
            settings,
            flags,
        });
        for skill in &mut loaded.skills {
            attribute(&mut skill.source_info, &found.skills, &self.cwd);
        }
        for template in &mut loaded.prompt_templates {
            attribute(&mut template.source_info, &found.prompts, &self.cwd);
        }
        for theme in &mut loaded.themes {
            attribute(&mut theme.source_info, &found.themes, &self.cwd);
        }
        runtime.extend_resources(loaded);
    }

    fn project(&self) -> ProjectAccess {
        if self.is_trusted {
            ProjectAccess::Trusted
        } else {
            ProjectAccess::Denied
        }
    }

    pub(super) fn settings(
        &self,
        cwd: Option<PathBuf>,
        agent_dir: Option<PathBuf>,
    ) -> SettingsStore {
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

    fn resources(&self, lookup: ResourceLookup) -> LoadedResources {
        let settings = self.settings(lookup.cwd.clone(), lookup.agent_dir.clone());
        let agent_dir = lookup.agent_dir;
        let found = load_resources(&ResourceRequest {
            agent_dir: agent_dir.map_or_else(|| self.agent_dir.clone(), AgentDir::at),
            cwd: lookup.cwd.unwrap_or_else(|| self.cwd.clone()),
            env: self.env.clone(),
            project: settings.project_access(),
            settings,
            flags: ResourceFlags {
                no_extensions: lookup.no_extensions,
                extensions: lookup.extensions,
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
        let templates = found.prompt_templates.into_iter();
        let files = found.context_files.into_iter();
        let problems = found.diagnostics.into_iter().chain(found.extension_errors);
        LoadedResources {
            skills: skill_infos(&found.skills),
            prompts: templates
                .map(|template| PromptTemplateInfo {
                    name: template.name,
                    description: template.description,
                    argument_hint: template.argument_hint,
                    content: template.content,
                    file_path: template.file_path,
                    source_info: template.source_info,
                })
                .collect(),
            agents_files: files
                .map(|file| ContextFile {
                    path: file.path,
                    content: file.content,
                })
                .collect(),
            extensions: found.extensions.into_iter().map(|file| file.path).collect(),
            system_prompt: found.system_prompt,
            append_system_prompt: found.append_system_prompt,
            diagnostics: problems
                .map(|problem| ResourceProblem {
                    kind: "warning",
                    message: problem.message,
                    path: problem.path,
                })
                .collect(),
        }
    }
}

/// Describes skills in the format of the extension API.
pub(crate) fn skill_infos(skills: &[Skill]) -> Vec<SkillInfo> {
    let skills = skills.iter();
    skills
        .map(|skill| SkillInfo {
            name: skill.name.clone(),
            description: skill.description.clone(),
            file_path: skill.file_path.clone(),
            base_dir: skill.base_dir.clone(),
            disable_model_invocation: skill.disable_model_invocation,
            source_info: skill.source_info.clone(),
        })
        .collect()
}

/// Records which extension a resource comes from: the one that returned the longest path it is in.
fn attribute(source: &mut SourceInfo, found: &[DiscoveredPath], cwd: &Path) {
    let paths = found.iter().filter_map(|found| {
        let (path, extension) = (found.path.as_ref()?, found.extension.as_ref()?);
        Some((cwd.join(path), Path::new(extension)))
    });
    let nearest = paths
        .filter(|(path, _)| source.path.starts_with(path))
        .max_by_key(|(path, _)| path.components().count());
    let Some((_, extension)) = nearest else {
        return;
    };
    let name = extension.file_name().unwrap_or_default().to_string_lossy();
    let name = name
        .strip_suffix(".ts")
        .or(name.strip_suffix(".js"))
        .unwrap_or(&name);
    source.source = format!("extension:{name}");
    source.base_dir = extension.parent().map(Path::to_owned);
}
