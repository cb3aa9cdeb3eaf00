//! Where commands find session files.

use std::path::{Path, PathBuf};

use pi_config::{AgentDir, SettingsStore, session_directory};
use pi_env::Env;
use pi_protocol::ProjectAccess;
use pi_session::listing::{self, FoundSession, SearchScope};
use pi_session::{SessionStore, sessions_root};

use crate::output::Failure;
use crate::startup::working_directory;

/// The directories to search.
pub(crate) struct SessionLocations {
    pub(crate) store: SessionStore,
    /// The directory that contains the sessions of all projects.
    root: PathBuf,
    /// The directory the user chose.
    chosen: Option<PathBuf>,
    cwd: PathBuf,
}

impl SessionLocations {
    /// `session_dir` is the value of `--session-dir`.
    pub(crate) fn of(session_dir: Option<&str>, env: &Env) -> Result<Self, Failure> {
        let cwd = working_directory()?;
        let agent_dir = AgentDir::from_env(env);
        // Ignore project settings, since trust was not decided.
        let settings = SettingsStore::open(&agent_dir, &cwd, ProjectAccess::Denied);
        let chosen = session_directory(session_dir, env, &settings.settings(), &cwd);
        let store = match &chosen {
            Some(chosen) => SessionStore::custom(chosen, agent_dir.path(), &cwd),
            None => SessionStore::default_for(agent_dir.path(), &cwd),
        };
        Ok(Self {
            store,
            root: sessions_root(agent_dir.path()),
            chosen,
            cwd,
        })
    }

    pub(crate) fn scopes(&self) -> impl Iterator<Item = SearchScope<'_>> {
        let chosen = self.chosen.as_deref().map(SearchScope::Directory);
        chosen
            .into_iter()
            .chain(std::iter::once(SearchScope::AllProjects(&self.root)))
    }

    /// Finds a session by file, ID or ID prefix.
    pub(crate) fn find(&self, name: &str) -> Result<PathBuf, Failure> {
        let path = Path::new(name);
        let is_file = path.extension().is_some_and(|it| it == "jsonl");
        if is_file || name.contains(['/', '\\']) {
            return Ok(self.cwd.join(path));
        }
        let found = self.scopes().find_map(|scope| self.store.find(scope, name));
        if let Some(FoundSession::Local(path) | FoundSession::OtherProject { path, .. }) = found {
            return Ok(path);
        }
        // A session without a header still has its ID in the file name.
        let mut files = self.scopes().flat_map(listing::files);
        files.find(|file| has_id_prefix(file, name)).ok_or_else(|| {
            Failure::new(format!("no session matches \"{name}\""))
                .hint("pi fsck --all checks the sessions of every project")
        })
    }
}

/// Returns whether the ID in the name of a session file starts with `name`.
fn has_id_prefix(file: &Path, name: &str) -> bool {
    let stem = file.file_stem().and_then(|stem| stem.to_str());
    stem.and_then(|stem| stem.split_once('_'))
        .is_some_and(|(_, id)| id.starts_with(name))
}
