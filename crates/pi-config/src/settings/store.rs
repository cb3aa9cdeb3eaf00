//! The effective settings of a session and the files they come from.
//!
//! There are three layers: the user's file, the project's file if the project is trusted, and overrides
//! for this run. A file that cannot be read is treated as empty, reported and never
//! overwritten.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use pi_fs::NewFileMode;
use pi_protocol::settings::Settings;
use pi_protocol::{ConfigDiagnostic, ConfigScope, ProjectAccess};
use serde_json::{Map, Value};

use super::decode::{self, DecodedSettings};
use super::merge::{self, SettingEdit};
use super::migrate;
use super::restrictions::{self, InvalidRestriction};
use super::sandbox_layer;
use crate::AgentDir;
use crate::object_file::{self, ChangeError, FileEnding, LockedObject};
use crate::regular_file::ReadFileError;

/// Keys that a project cannot set: they cost money, route all traffic, start
/// other programs, or control trust itself.
const USER_ONLY: [&str; 14] = [
    "acp",
    "cacheWarming",
    "defaultProjectTrust",
    "deviceId",
    "extensionHost",
    "fileHistory",
    "fileHistoryMaxBytes",
    "httpProxy",
    "mcp",
    "selfUpdateCommand",
    "search",
    "extensionBudget",
    "serve",
    "task",
];

/// Invalid keys reported per file; the rest is only counted.
const MAX_REPORTED: usize = 10;

#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("cannot save project settings: the project is not trusted")]
    ProjectNotTrusted,
    /// Writing would destroy the contents of the malformed file.
    #[error("cannot save settings: {}: {problem}\nFix the file and try again.", file.display())]
    Unreadable {
        file: PathBuf,
        #[source]
        problem: ReadFileError,
    },
    #[error("cannot save settings: {}: locked by another process\nTry again.", file.display())]
    Locked { file: PathBuf },
    #[error("cannot save settings: {}: {source}", file.display())]
    Write {
        file: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl SettingsError {
    pub(super) fn from_change(file: &Path, error: ChangeError) -> Self {
        let file = file.to_owned();
        match error {
            ChangeError::Unreadable(problem) => Self::Unreadable { file, problem },
            ChangeError::Locked => Self::Locked { file },
            ChangeError::Io(source) => Self::Write { file, source },
        }
    }
}

/// The settings of a session. Clones share the same store.
#[derive(Debug, Clone)]
pub struct SettingsStore(Arc<StoreInner>);

#[derive(Debug)]
struct StoreInner {
    files: Option<SettingsFiles>,
    state: Mutex<StoreState>,
    /// Serializes file access, so older data never replaces newer data.
    writing: Mutex<()>,
}

/// Settings that override the files for this run, until the user changes them. Clones share the same values,
/// so a new store can continue with the overrides of the one it replaces.
#[derive(Debug, Clone, Default)]
pub struct SettingsOverrides(Arc<Mutex<Map<String, Value>>>);

impl SettingsOverrides {
    pub fn new(settings: &Settings) -> Self {
        Self(Arc::new(Mutex::new(settings.to_json())))
    }
}

#[derive(Debug)]
struct SettingsFiles {
    user: PathBuf,
    project: PathBuf,
}

#[derive(Debug)]
struct StoreState {
    access: ProjectAccess,
    user: ScopeSettings,
    project: ScopeSettings,
    overrides: SettingsOverrides,
    merged: Arc<Settings>,
    diagnostics: Vec<ConfigDiagnostic>,
}

/// The settings of one scope.
#[derive(Debug, Default)]
struct ScopeSettings {
    object: Map<String, Value>,
    settings: Arc<Settings>,
    /// Why no session is started with the file.
    invalid_restriction: Option<InvalidRestriction>,
}

impl From<DecodedSettings> for ScopeSettings {
    fn from(decoded: DecodedSettings) -> Self {
        Self {
            object: decoded.object,
            settings: Arc::new(decoded.settings),
            invalid_restriction: None,
        }
    }
}

impl SettingsStore {
    /// Reads the user's settings and, if the project is trusted, those of the project in `cwd`.
    ///
    /// No file of an untrusted project is read. Problems with the files are available from
    /// [`Self::take_diagnostics`].
    pub fn open(agent_dir: &AgentDir, cwd: &Path, project: ProjectAccess) -> Self {
        let store = Self::with_files(
            Some(SettingsFiles {
                user: agent_dir.settings_file(),
                project: cwd.join(".pi").join("settings.json"),
            }),
            project,
        );
        store.reload();
        store
    }

    /// Creates a store that is not backed by files.
    pub fn in_memory(user: Settings) -> Self {
        let store = Self::with_files(None, ProjectAccess::Trusted);
        {
            let mut state = store.state();
            state.user = ScopeSettings {
                object: user.to_json(),
                settings: Arc::new(user),
                invalid_restriction: None,
            };
            state.recompute();
        }
        store
    }

    fn with_files(files: Option<SettingsFiles>, access: ProjectAccess) -> Self {
        Self(Arc::new(StoreInner {
            files,
            state: Mutex::new(StoreState {
                access,
                user: ScopeSettings::default(),
                project: ScopeSettings::default(),
                overrides: SettingsOverrides::default(),
                merged: Arc::default(),
                diagnostics: Vec::new(),
            }),
            writing: Mutex::default(),
        }))
    }

    /// Returns the effective settings: overrides for this run, then the project's, then the user's. User-only keys
    /// are never taken from the project.
    pub fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.state().merged)
    }

    /// Returns the effective settings as written in the files, including keys that are unknown here.
    pub fn effective_object(&self) -> Map<String, Value> {
        self.state().effective_object()
    }

    /// Returns the unmerged settings of one scope, as needed for resource lists.
    pub fn scope(&self, scope: ConfigScope) -> Arc<Settings> {
        let state = self.state();
        Arc::clone(match scope {
            ConfigScope::User => &state.user.settings,
            ConfigScope::Project => &state.project.settings,
        })
    }

    /// Returns why no session may be started with the files: what restricts the model in one of them is not understood.
    pub fn invalid_restriction(&self) -> Option<InvalidRestriction> {
        let state = self.state();
        let scopes = [&state.user, &state.project].into_iter();
        scopes
            .flat_map(|it| &it.invalid_restriction)
            .next()
            .cloned()
    }

    /// Returns whether the project's file is applied.
    pub fn project_access(&self) -> ProjectAccess {
        self.state().access
    }

    /// Returns the file of a scope; `None` for an in-memory store.
    pub fn file(&self, scope: ConfigScope) -> Option<&Path> {
        let files = self.0.files.as_ref()?;
        Some(match scope {
            ConfigScope::User => &files.user,
            ConfigScope::Project => &files.project,
        })
    }

    /// Changes whether the project's file is applied, and reads or discards it.
    pub fn set_project_access(&self, access: ProjectAccess) {
        let _guard = self.0.writing.lock();
        {
            let mut state = self.state();
            if state.access == access {
                return;
            }
            state.access = access;
        }
        self.read(ConfigScope::Project);
    }

    /// Sets the overrides for this run. They are never saved.
    pub fn set_overrides(&self, overrides: &SettingsOverrides) {
        let mut state = self.state();
        state.overrides = overrides.clone();
        state.recompute();
    }

    /// Changes the settings of a scope and saves only what changed.
    ///
    /// The change is applied to the file's current contents; all other keys, including unknown ones,
    /// are preserved. If it cannot be saved, it still applies to this run, and the error
    /// gives the reason.
    ///
    /// Blocks for one small synced write, usually a few milliseconds, plus up to 200 ms while
    /// waiting for another process's lock. This is short enough to call from async code.
    pub fn update(
        &self,
        scope: ConfigScope,
        change: impl FnOnce(&mut Settings),
    ) -> Result<(), SettingsError> {
        let _guard = self.0.writing.lock();
        if scope == ConfigScope::Project && !self.project_access().is_trusted() {
            return Err(SettingsError::ProjectNotTrusted);
        }
        let Some(file) = self.file(scope) else {
            let before = self.scope(scope);
            self.apply_update(scope, &edits_of(&before, change), None);
            return Ok(());
        };
        let mode = match scope {
            ConfigScope::User => NewFileMode::Private,
            ConfigScope::Project => NewFileMode::Default,
        };
        match LockedObject::open(file, mode) {
            Ok(mut locked) => {
                migrate::migrate(&mut locked.object);
                let current = decode::decode(locked.object.clone());
                let edits = edits_of(&current.settings, change);
                if edits.is_empty() {
                    let is_valid = restrictions::check(file, &current).is_none();
                    self.apply_update(scope, &edits, is_valid.then_some(current));
                    return Ok(());
                }
                merge::apply(&mut locked.object, &edits);
                // Preserve list elements that only another version understands.
                let rejected = current.rejected.iter();
                for rejected in rejected.filter_map(|value| value.list_element.as_ref()) {
                    merge::restore_element(&mut locked.object, &rejected.path, &rejected.element);
                }
                let decoded = decode::decode(locked.object.clone());
                // Restrictions that the file no longer contains still apply to this run.
                let is_valid = restrictions::check(file, &decoded).is_none();
                self.apply_update(scope, &edits, is_valid.then_some(decoded));
                locked
                    .write(FileEnding::None)
                    .map_err(|error| SettingsError::from_change(file, error))
            }
            Err(error) => {
                let before = self.scope(scope);
                self.apply_update(scope, &edits_of(&before, change), None);
                Err(SettingsError::from_change(file, error))
            }
        }
    }

    /// Reads the files again. If a file cannot be read, its previous settings are kept.
    pub fn reload(&self) {
        let _guard = self.0.writing.lock();
        self.read(ConfigScope::User);
        self.read(ConfigScope::Project);
    }

    /// Returns the problems found since the last call.
    pub fn take_diagnostics(&self) -> Vec<ConfigDiagnostic> {
        std::mem::take(&mut self.state().diagnostics)
    }

    /// Reads the file of a scope, if it exists and is applied.
    fn read(&self, scope: ConfigScope) {
        let Some(file) = self.file(scope) else {
            return;
        };
        let is_applied = scope == ConfigScope::User || self.project_access().is_trusted();
        let read = if is_applied {
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
                *state.scope_mut(scope) = ScopeSettings {
                    invalid_restriction: restrictions::check(file, &decoded),
                    ..decoded.into()
                };
                state.recompute();
            }
            Err(problem) => {
                state.scope_mut(scope).invalid_restriction =
                    restrictions::check_unreadable(scope, file, &problem);
                state.diagnostics.push(ConfigDiagnostic::warning(
                    format!("cannot read settings: {}: {problem}", file.display()),
                    file,
                ));
            }
        }
    }

    /// Updates a layer: to the decoded file, or by applying only the edits if there is none.
    fn apply_update(
        &self,
        scope: ConfigScope,
        edits: &[SettingEdit],
        file: Option<DecodedSettings>,
    ) {
        let mut state = self.state();
        let layer = state.scope_mut(scope);
        match file {
            Some(decoded) => *layer = decoded.into(),
            None => {
                merge::apply(&mut layer.object, edits);
                layer.settings = Arc::new(decode::deserialize_valid(&layer.object));
            }
        }
        merge::remove_edited(&mut state.overrides.0.lock(), edits);
        state.recompute();
    }

    fn state(&self) -> MutexGuard<'_, StoreState> {
        self.0.state.lock()
    }
}

impl StoreState {
    fn scope_mut(&mut self, scope: ConfigScope) -> &mut ScopeSettings {
        match scope {
            ConfigScope::User => &mut self.user,
            ConfigScope::Project => &mut self.project,
        }
    }

    /// Recomputes the effective settings.
    fn recompute(&mut self) {
        let is_user_only = self.project.object.is_empty() && self.overrides.0.lock().is_empty();
        self.merged = if is_user_only {
            Arc::clone(&self.user.settings)
        } else {
            Arc::new(decode::deserialize_valid(&self.effective_object()))
        };
    }

    fn effective_object(&self) -> Map<String, Value> {
        let mut project = self.project.object.clone();
        project.retain(|key, _| !USER_ONLY.contains(&key.as_str()));
        if let Some(Value::Object(rules)) = project.get_mut("permissions") {
            // A project may restrict what the model does, never extend it.
            rules.shift_remove("allow");
        }
        match project.get_mut("sandbox") {
            Some(Value::Object(sandbox)) => {
                sandbox_layer::restrict(sandbox, self.user.object.get("sandbox"));
            }
            _ => {
                project.shift_remove("sandbox");
            }
        }
        let mut merged = self.user.object.clone();
        merge::merge_layer(&mut merged, &project);
        merge::merge_layer(&mut merged, &self.overrides.0.lock());
        merged
    }

    fn report(&mut self, scope: ConfigScope, file: &Path, decoded: &DecodedSettings) {
        for rejected in decoded.rejected.iter().take(MAX_REPORTED) {
            self.diagnostics.push(ConfigDiagnostic::warning(
                format!(
                    "{}: ignoring `{}`: {}",
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
                format!("{}: ignoring {more} more invalid settings", file.display()),
                file,
            ));
        }
        if scope == ConfigScope::Project {
            for key in USER_ONLY {
                if decoded.object.contains_key(key) {
                    self.diagnostics.push(ConfigDiagnostic {
                        level: pi_protocol::DiagnosticLevel::Info,
                        ..ConfigDiagnostic::warning(
                            format!(
                                "{}: ignoring `{key}`: only allowed in user settings",
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

fn edits_of(before: &Settings, change: impl FnOnce(&mut Settings)) -> Vec<SettingEdit> {
    let mut after = before.clone();
    change(&mut after);
    merge::difference(&before.to_json(), &after.to_json())
}
