//! `pi config`: the standalone dialog that enables and disables resources.

use std::path::{Path, PathBuf};

use pi_host::{ListedResource, ProjectOverride, ResourceKind, ResourceRequest, ResourceToggles};
use pi_protocol::{ConfigScope, SourceOrigin, SourceScope};
use pi_views::dialogs::{DialogContents, ResourceEntry, ResourceScope, ToggleState, ToggleStore};
use pi_views::text::paths::with_tilde;

use crate::InteractiveError;
use crate::startup::standalone_dialog::{self, StandaloneOptions};

/// Lists all resources and toggles them until the user leaves, starting with the settings of `scope`.
pub async fn configure_resources(
    request: ResourceRequest,
    scope: ConfigScope,
) -> Result<(), InteractiveError> {
    let (agent_dir, env) = (request.agent_dir.clone(), request.env.clone());
    let (cwd, settings) = (request.cwd.clone(), request.settings.settings());
    let options = StandaloneOptions {
        agent_dir: &agent_dir,
        env: &env,
        cwd: &cwd,
        settings: &settings,
    };
    let scope = match scope {
        ConfigScope::User => ResourceScope::User,
        ConfigScope::Project => ResourceScope::Project,
    };
    let toggles = SettingsToggles::new(request);
    let store = Box::new(toggles);
    let make = |ui| DialogContents::Resources { store, scope }.open(ui);
    // The dialog applies changes itself; there is no answer.
    let _no_answer: Option<()> = standalone_dialog::show(&options, make, |_intent| None).await?;
    Ok(())
}

/// Applies the toggles to the settings files.
struct SettingsToggles {
    toggles: ResourceToggles,
    home: Option<PathBuf>,
    agent_dir: PathBuf,
}

impl SettingsToggles {
    fn new(request: ResourceRequest) -> Self {
        Self {
            home: request.env.home_dir(),
            agent_dir: request.agent_dir.path().to_owned(),
            toggles: ResourceToggles::load(request),
        }
    }

    /// Resources in list order, each with its index in the settings.
    fn sorted(&self, scope: ResourceScope) -> Vec<(usize, &ListedResource)> {
        let mut items: Vec<(usize, &ListedResource)> = self
            .toggles
            .resources(settings_scope(scope))
            .iter()
            .enumerate()
            .collect();
        items.sort_by_cached_key(|(_, item)| {
            let info = &item.source_info;
            (
                info.origin != SourceOrigin::Package,
                info.scope != SourceScope::User,
                info.source.to_lowercase(),
                info.base_dir.clone(),
                order_of(item.kind),
                name_of(item).to_lowercase(),
            )
        });
        items
    }

    fn group_of(&self, item: &ListedResource) -> String {
        let info = &item.source_info;
        let scope = match info.scope {
            SourceScope::Project => "project",
            SourceScope::User | SourceScope::Temporary => "user",
        };
        if info.origin == SourceOrigin::Package {
            return format!("{} ({scope})", info.source);
        }
        if info.source == "builtin" {
            return "Built-in".to_owned();
        }
        if info.source != "auto" {
            return format!("Settings ({scope})");
        }
        let directory = info.base_dir.as_deref().unwrap_or(&self.agent_dir);
        format!("{} ({scope})", with_tilde(directory, self.home.as_deref()))
    }
}

impl ToggleStore for SettingsToggles {
    fn entries(&self, scope: ResourceScope) -> Vec<ResourceEntry> {
        let items = self.sorted(scope).into_iter();
        items
            .map(|(_, item)| {
                let setting = match scope {
                    ResourceScope::User => ProjectOverride::Inherit,
                    ResourceScope::Project => self.toggles.project_override(item),
                };
                let mark = match (setting, item.enabled) {
                    (ProjectOverride::Load, _) => ToggleState::Loaded,
                    (ProjectOverride::Unload, _) => ToggleState::Unloaded,
                    (ProjectOverride::Inherit, true) => ToggleState::On,
                    (ProjectOverride::Inherit, false) => ToggleState::Off,
                };
                ResourceEntry {
                    group: self.group_of(item),
                    kind: kind_label(item.kind),
                    name: name_of(item),
                    path: item.source_info.path.to_string_lossy().into_owned(),
                    mark,
                    is_inherited: scope == ResourceScope::Project
                        && setting == ProjectOverride::Inherit
                        && self.toggles.is_inherited(item),
                }
            })
            .collect()
    }

    fn toggle(&mut self, scope: ResourceScope, index: usize) -> Result<(), String> {
        let Some(number) = self.sorted(scope).get(index).map(|(number, _)| *number) else {
            return Ok(());
        };
        let switched = self.toggles.toggle(settings_scope(scope), number);
        switched.map_err(|error| error.to_string())
    }

    fn has_project(&self) -> bool {
        self.toggles.has_project()
    }
}

fn settings_scope(scope: ResourceScope) -> ConfigScope {
    match scope {
        ResourceScope::User => ConfigScope::User,
        ResourceScope::Project => ConfigScope::Project,
    }
}

fn order_of(kind: ResourceKind) -> usize {
    match kind {
        ResourceKind::Extensions => 0,
        ResourceKind::Skills => 1,
        ResourceKind::Prompts => 2,
        ResourceKind::Themes => 3,
    }
}

fn kind_label(kind: ResourceKind) -> &'static str {
    match kind {
        ResourceKind::Extensions => "Extensions",
        ResourceKind::Skills => "Skills",
        ResourceKind::Prompts => "Prompts",
        ResourceKind::Themes => "Themes",
    }
}

/// Returns the list name of a resource; includes the directory where the file name is generic.
fn name_of(item: &ListedResource) -> String {
    let path = &item.source_info.path;
    let name = |path: Option<&Path>| {
        let name = path.and_then(Path::file_name).unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    let (file, directory) = (name(Some(path)), name(path.parent()));
    match item.kind {
        ResourceKind::Extensions if item.source_info.source == "builtin" => {
            file.trim_start_matches("builtin:").to_owned()
        }
        ResourceKind::Extensions if directory != "extensions" => format!("{directory}/{file}"),
        ResourceKind::Skills if file == "SKILL.md" => directory,
        ResourceKind::Extensions
        | ResourceKind::Skills
        | ResourceKind::Prompts
        | ResourceKind::Themes => file,
    }
}
