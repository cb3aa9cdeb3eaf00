//! The settings that count in a session, and the files they come from.
//!
//! Three layers: the user's file, the project's over it if the project is trusted, and what holds
//! for this run alone on top. A file that cannot be read counts as empty, is reported and is never
//! overwritten.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};

use super::decode::{self, Decoded};
use super::merge::{self, Edit};
use super::{Settings, migrate};
use crate::atomic_file::NewFileMode;
use crate::object_file::{self, ChangeError, Ending, LockedObject};
use crate::regular_file::ReadFileError;
use crate::{AgentDir, ConfigDiagnostic, ConfigScope, ProjectAccess};

/// Keys a project cannot set: they cost money, carry all traffic, start
/// another program, or decide about trust itself.
const USER_ONLY: [&str; 5] = [
    "cacheWarming",
    "defaultProjectTrust",
    "extensionHost",
    "httpProxy",
    "selfUpdateCommand",
];

/// How many wrong keys of a file are named before the rest is counted.
const MAX_REPORTED: usize = 10;

/// Why a setting was not saved.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The project is not trusted, so its file is left alone.
    #[error("project settings are not written because the project is not trusted")]
    ProjectNotTrusted,
    /// The file cannot be read, and writing would lose what is in it.
    #[error("{} was not changed because it cannot be read: {problem}; correct it and try again", file.display())]
    Unreadable {
        file: PathBuf,
        #[source]
        problem: ReadFileError,
    },
    /// Another program holds the file's lock.
    #[error("{} was not changed because another program is changing it; try again", file.display())]
    Locked { file: PathBuf },
    /// The file system refused.
    #[error("cannot write {}: {source}", file.display())]
    Write {
        file: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl SettingsError {
    fn from_change(file: &Path, error: ChangeError) -> Self {
        let file = file.to_owned();
        match error {
            ChangeError::Unreadable(problem) => Self::Unreadable { file, problem },
            ChangeError::Locked => Self::Locked { file },
            ChangeError::Io(source) => Self::Write { file, source },
        }
    }
}

/// The settings of a session; cheap to clone, all clones are the same store.
#[derive(Debug, Clone)]
pub struct SettingsStore(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    files: Option<Files>,
    state: Mutex<State>,
    /// Lines up what reads and writes files, so that nothing older replaces what is newer.
    writing: Mutex<()>,
}

/// Settings that hold for this run, whatever the files say, until the user chooses otherwise. Clones share
/// them: a store that takes the place of another goes on with what is left of them.
#[derive(Debug, Clone, Default)]
pub struct SettingsOverrides(Arc<Mutex<Map<String, Value>>>);

impl SettingsOverrides {
    /// Holds what these settings say.
    pub fn new(settings: &Settings) -> Self {
        Self(Arc::new(Mutex::new(merge::to_object(settings))))
    }
}

#[derive(Debug)]
struct Files {
    user: PathBuf,
    project: PathBuf,
}

#[derive(Debug)]
struct State {
    access: ProjectAccess,
    user: Layer,
    project: Layer,
    run: SettingsOverrides,
    merged: Arc<Settings>,
    diagnostics: Vec<ConfigDiagnostic>,
}

/// What one scope says.
#[derive(Debug, Default)]
struct Layer {
    object: Map<String, Value>,
    settings: Arc<Settings>,
}

impl From<Decoded> for Layer {
    fn from(decoded: Decoded) -> Self {
        Self {
            object: decoded.object,
            settings: Arc::new(decoded.settings),
        }
    }
}

impl SettingsStore {
    /// Reads the settings of a user and, if it is trusted, of the project in this directory.
    ///
    /// Nothing of a refused project is read. What is wrong with a file is told by
    /// [`Self::take_diagnostics`].
    pub fn open(agent_dir: &AgentDir, cwd: &Path, project: ProjectAccess) -> Self {
        let store = Self::with_files(
            Some(Files {
                user: agent_dir.settings_file(),
                project: cwd.join(".pi").join("settings.json"),
            }),
            project,
        );
        store.reload();
        store
    }

    /// Keeps settings in memory alone.
    pub fn in_memory(user: Settings) -> Self {
        let store = Self::with_files(None, ProjectAccess::Trusted);
        {
            let mut state = store.state();
            state.user = Layer {
                object: merge::to_object(&user),
                settings: Arc::new(user),
            };
            state.combine();
        }
        store
    }

    fn with_files(files: Option<Files>, access: ProjectAccess) -> Self {
        Self(Arc::new(Inner {
            files,
            state: Mutex::new(State {
                access,
                user: Layer::default(),
                project: Layer::default(),
                run: SettingsOverrides::default(),
                merged: Arc::default(),
                diagnostics: Vec::new(),
            }),
            writing: Mutex::default(),
        }))
    }

    /// Returns what counts: the project's settings over the user's, this run's over both. Keys that
    /// belong to the user alone are the user's.
    pub fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.state().merged)
    }

    /// Returns what one scope says by itself, as lists of resources are read.
    pub fn scope(&self, scope: ConfigScope) -> Arc<Settings> {
        let state = self.state();
        Arc::clone(match scope {
            ConfigScope::User => &state.user.settings,
            ConfigScope::Project => &state.project.settings,
        })
    }

    /// Returns whether the project's file counts.
    pub fn project_access(&self) -> ProjectAccess {
        self.state().access
    }

    /// Returns the file of a scope, if this store has files.
    pub fn file(&self, scope: ConfigScope) -> Option<&Path> {
        let files = self.0.files.as_ref()?;
        Some(match scope {
            ConfigScope::User => &files.user,
            ConfigScope::Project => &files.project,
        })
    }

    /// Changes whether the project's file counts, and reads or forgets it.
    pub fn set_project_access(&self, access: ProjectAccess) {
        let _turn = lock(&self.0.writing);
        {
            let mut state = self.state();
            if state.access == access {
                return;
            }
            state.access = access;
        }
        self.read(ConfigScope::Project);
    }

    /// Lays the settings of this run over all files. They are never saved.
    pub fn set_overrides(&self, run: &SettingsOverrides) {
        let mut state = self.state();
        state.run = run.clone();
        state.combine();
    }

    /// Changes settings of a scope and saves exactly what changed.
    ///
    /// The change is made to what the file says at that moment; keys it does not touch, unknown ones
    /// included, stay as they are. If it cannot be saved, it still counts for this run and the error
    /// says why.
    ///
    /// This blocks: usually for the milliseconds of one small durable write, at the worst for the
    /// fifth of a second that it waits for another program's lock. That is short enough to be called
    /// from async code.
    pub fn update(
        &self,
        scope: ConfigScope,
        change: impl FnOnce(&mut Settings),
    ) -> Result<(), SettingsError> {
        let _turn = lock(&self.0.writing);
        if scope == ConfigScope::Project && !self.project_access().is_trusted() {
            return Err(SettingsError::ProjectNotTrusted);
        }
        let Some(file) = self.file(scope) else {
            let before = self.scope(scope);
            self.adopt(scope, &edits_of(&before, change), None);
            return Ok(());
        };
        let dir = match scope {
            ConfigScope::User => NewFileMode::Private,
            ConfigScope::Project => NewFileMode::Default,
        };
        match LockedObject::open(file, dir) {
            Ok(mut locked) => {
                migrate::migrate(&mut locked.object);
                let current = decode::decode(locked.object.clone());
                let edits = edits_of(&current.settings, change);
                if edits.is_empty() {
                    self.adopt(scope, &edits, Some(current));
                    return Ok(());
                }
                merge::apply(&mut locked.object, &edits);
                // What another version understands of a list is not ours to drop.
                for listed in current.rejected.iter().filter_map(|it| it.listed.as_ref()) {
                    merge::keep_listed(&mut locked.object, &listed.path, &listed.element);
                }
                self.adopt(scope, &edits, Some(decode::decode(locked.object.clone())));
                locked
                    .write(Ending::None)
                    .map_err(|error| SettingsError::from_change(file, error))
            }
            Err(error) => {
                let before = self.scope(scope);
                self.adopt(scope, &edits_of(&before, change), None);
                Err(SettingsError::from_change(file, error))
            }
        }
    }

    /// Reads the files again. One that cannot be read leaves what was known of it.
    pub fn reload(&self) {
        let _turn = lock(&self.0.writing);
        self.read(ConfigScope::User);
        self.read(ConfigScope::Project);
    }

    /// Returns what was found wrong since the last call.
    pub fn take_diagnostics(&self) -> Vec<ConfigDiagnostic> {
        std::mem::take(&mut self.state().diagnostics)
    }

    /// Reads the file of a scope, if there is one and it counts.
    fn read(&self, scope: ConfigScope) {
        let Some(file) = self.file(scope) else {
            return;
        };
        let counts = scope == ConfigScope::User || self.project_access().is_trusted();
        let read = if counts {
            object_file::read(file)
        } else {
            Ok(None)
        };
        let mut state = self.state();
        match read {
            Ok(object) => {
                let mut object = object.unwrap_or_default();
                migrate::migrate(&mut object);
                let decoded = decode::decode(object);
                state.report(scope, file, &decoded);
                *state.layer(scope) = decoded.into();
                state.combine();
            }
            Err(problem) => state.diagnostics.push(ConfigDiagnostic::warning(
                format!("settings file {} is ignored: {problem}", file.display()),
                file,
            )),
        }
    }

    /// Takes over what a file now says, or, without one, the changes alone.
    fn adopt(&self, scope: ConfigScope, edits: &[Edit], now: Option<Decoded>) {
        let mut state = self.state();
        let layer = state.layer(scope);
        match now {
            Some(decoded) => *layer = decoded.into(),
            None => {
                merge::apply(&mut layer.object, edits);
                layer.settings = Arc::new(decode::typed(&layer.object));
            }
        }
        merge::forget(&mut lock(&state.run.0), edits);
        state.combine();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0.state)
    }
}

impl State {
    fn layer(&mut self, scope: ConfigScope) -> &mut Layer {
        match scope {
            ConfigScope::User => &mut self.user,
            ConfigScope::Project => &mut self.project,
        }
    }

    /// Works out what counts.
    fn combine(&mut self) {
        let run = lock(&self.run.0);
        if self.project.object.is_empty() && run.is_empty() {
            self.merged = Arc::clone(&self.user.settings);
            return;
        }
        let mut project = self.project.object.clone();
        project.retain(|key, _| !USER_ONLY.contains(&key.as_str()));
        let mut merged = self.user.object.clone();
        merge::merge(&mut merged, &project);
        merge::merge(&mut merged, &run);
        self.merged = Arc::new(decode::typed(&merged));
    }

    fn report(&mut self, scope: ConfigScope, file: &Path, decoded: &Decoded) {
        for rejected in decoded.rejected.iter().take(MAX_REPORTED) {
            self.diagnostics.push(ConfigDiagnostic::warning(
                format!(
                    "settings file {}: {} is ignored: {}",
                    file.display(),
                    rejected.key,
                    rejected.problem
                ),
                file,
            ));
        }
        if let Some(more) = decoded.rejected.len().checked_sub(MAX_REPORTED)
            && more > 0
        {
            self.diagnostics.push(ConfigDiagnostic::warning(
                format!(
                    "settings file {}: {more} more keys are ignored",
                    file.display()
                ),
                file,
            ));
        }
        if scope == ConfigScope::Project {
            for key in USER_ONLY {
                if decoded.object.contains_key(key) {
                    self.diagnostics.push(ConfigDiagnostic {
                        level: crate::DiagnosticLevel::Info,
                        ..ConfigDiagnostic::warning(
                            format!(
                                "settings file {}: {key} counts in user settings only",
                                file.display()
                            ),
                            file,
                        )
                    });
                }
            }
        }
    }
}

fn edits_of(before: &Settings, change: impl FnOnce(&mut Settings)) -> Vec<Edit> {
    let mut after = before.clone();
    change(&mut after);
    merge::difference(&merge::to_object(before), &merge::to_object(&after))
}

/// A panic while a lock was held left nothing half done: every change is one assignment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
