//! `pi config`: the dialog that switches resources, with the terminal for itself.

use std::path::{Path, PathBuf};

use pi_config::{
    ListedResource, ProjectOverride, ResourceKind, ResourceRequest, ConfigScope, SourceOrigin,
    SourceScope, ResourceToggles,
};

use crate::InteractiveError;
use crate::dialogs::{BoardEntry, BoardSide, Mark, ResourceBoard, ResourcesDialog};
use crate::lone_dialog::{self, Surroundings};
use crate::paths::with_tilde;

/// Shows all resources and switches them until the user leaves. It begins with the settings of `scope`.
pub async fn configure_resources(
    request: ResourceRequest,
    scope: ConfigScope,
) -> Result<(), InteractiveError> {
    let (agent_dir, env) = (request.agent_dir.clone(), request.env.clone());
    let (cwd, settings) = (request.cwd.clone(), request.settings.settings());
    let surroundings = Surroundings {
        agent_dir: &agent_dir,
        env: &env,
        cwd: &cwd,
        settings: &settings,
    };
    let side = match scope {
        ConfigScope::User => BoardSide::User,
        ConfigScope::Project => BoardSide::Project,
    };
    let board = SettingsBoard::new(request);
    let make = |look| Box::new(ResourcesDialog::open(look, Box::new(board), side)) as _;
    // It switches by itself; there is nothing to answer.
    let _no_answer: Option<()> = lone_dialog::show(&surroundings, make, |_intent| None).await?;
    Ok(())
}

/// The settings behind the dialog.
struct SettingsBoard {
    board: ResourceToggles,
    home: Option<PathBuf>,
    agent_dir: PathBuf,
}

impl SettingsBoard {
    fn new(request: ResourceRequest) -> Self {
        Self {
            home: request.env.home_dir(),
            agent_dir: request.agent_dir.path().to_owned(),
            board: ResourceToggles::load(request),
        }
    }

    /// The resources in the order of the list, each with its number on the board.
    fn sorted(&self, side: BoardSide) -> Vec<(usize, &ListedResource)> {
        let mut items: Vec<(usize, &ListedResource)> = self
            .board
            .resources(scope_of(side))
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
        let whose = match info.scope {
            SourceScope::Project => "project",
            SourceScope::User | SourceScope::Temporary => "user",
        };
        if info.origin == SourceOrigin::Package {
            return format!("{} ({whose})", info.source);
        }
        if info.source != "auto" {
            return format!("Settings of the {whose}");
        }
        let folder = info.base_dir.as_deref().unwrap_or(&self.agent_dir);
        format!("{} ({whose})", with_tilde(folder, self.home.as_deref()))
    }
}

impl ResourceBoard for SettingsBoard {
    fn entries(&self, side: BoardSide) -> Vec<BoardEntry> {
        let items = self.sorted(side).into_iter();
        items
            .map(|(_, item)| {
                let said = match side {
                    BoardSide::User => ProjectOverride::Inherit,
                    BoardSide::Project => self.board.project_override(item),
                };
                let mark = match (said, item.enabled) {
                    (ProjectOverride::Load, _) => Mark::Loaded,
                    (ProjectOverride::Unload, _) => Mark::Unloaded,
                    (ProjectOverride::Inherit, true) => Mark::On,
                    (ProjectOverride::Inherit, false) => Mark::Off,
                };
                BoardEntry {
                    group: self.group_of(item),
                    kind: kind_label(item.kind),
                    name: name_of(item),
                    path: item.source_info.path.to_string_lossy().into_owned(),
                    mark,
                    is_dim: side == BoardSide::Project
                        && said == ProjectOverride::Inherit
                        && self.board.is_inherited(item),
                }
            })
            .collect()
    }

    fn switch(&mut self, side: BoardSide, place: usize) -> Result<(), String> {
        let Some(number) = self.sorted(side).get(place).map(|(number, _)| *number) else {
            return Ok(());
        };
        let switched = self.board.toggle(scope_of(side), number);
        switched.map_err(|error| error.to_string())
    }

    fn has_project(&self) -> bool {
        self.board.has_project()
    }
}

fn scope_of(side: BoardSide) -> ConfigScope {
    match side {
        BoardSide::User => ConfigScope::User,
        BoardSide::Project => ConfigScope::Project,
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

/// What a resource is called in the list: with its folder where the file's own name says little.
fn name_of(item: &ListedResource) -> String {
    let path = &item.source_info.path;
    let name = |path: Option<&Path>| {
        let name = path.and_then(Path::file_name).unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    let (file, folder) = (name(Some(path)), name(path.parent()));
    match item.kind {
        ResourceKind::Extensions if folder != "extensions" => format!("{folder}/{file}"),
        ResourceKind::Skills if file == "SKILL.md" => folder,
        ResourceKind::Extensions
        | ResourceKind::Skills
        | ResourceKind::Prompts
        | ResourceKind::Themes => file,
    }
}
