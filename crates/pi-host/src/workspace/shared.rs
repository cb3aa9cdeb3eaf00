//! Workspaces that several sessions use.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use pi_config::ResourceFlags;

use super::{ProjectProbe, Workspace, WorkspaceOptions};
use crate::host::Host;

/// The workspaces in use, by directory.
///
/// A workspace with extensions is not shared: each session has its own extensions, and they may register models.
#[derive(Debug, Default)]
pub(crate) struct SharedWorkspaces(Mutex<HashMap<PathBuf, SharedWorkspace>>);

#[derive(Debug)]
struct SharedWorkspace {
    workspace: Weak<Workspace>,
    resources: ResourceFlags,
}

impl SharedWorkspaces {
    /// Returns the workspace that other sessions use, or loads it.
    pub(crate) async fn get(
        &self,
        host: &Host,
        options: &WorkspaceOptions,
        probe: ProjectProbe,
    ) -> Arc<Workspace> {
        match self.find(options, &probe) {
            Some(workspace) => workspace,
            None => self.load(host, options, probe).await,
        }
    }

    /// Loads a workspace from its files; sessions that start later share it.
    pub(crate) async fn load(
        &self,
        host: &Host,
        options: &WorkspaceOptions,
        probe: ProjectProbe,
    ) -> Arc<Workspace> {
        let workspace = Arc::new(Workspace::load_probed(host, options, probe).await);
        let mut known = self.0.lock();
        known.retain(|_, shared| shared.workspace.strong_count() > 0);
        if workspace.resources.extensions.is_empty() {
            known.insert(
                workspace.cwd.clone(),
                SharedWorkspace {
                    workspace: Arc::downgrade(&workspace),
                    resources: options.resources.clone(),
                },
            );
        }
        workspace
    }

    fn find(&self, options: &WorkspaceOptions, probe: &ProjectProbe) -> Option<Arc<Workspace>> {
        let known = self.0.lock();
        let shared = known.get(&probe.cwd)?;
        let workspace = shared.workspace.upgrade()?;
        // The user may have decided about the project since.
        let is_current = workspace.project == probe.access();
        (is_current && shared.resources == options.resources).then_some(workspace)
    }
}
