//! Migrates `oauth.json` and the `apiKeys` of `settings.json` to `auth.json`.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use pi_fs::{LockDir, LockError, LockTiming, NewFileMode, atomic_file};
use pi_protocol::ConfigDiagnostic;
use serde_json::{Map, Value, json};

use super::info;
use crate::object_file::{self, ChangeError, FileEnding, LockedObject};
use crate::{AgentDir, json_text};

const API_KEYS: &str = "apiKeys";

/// Moves credentials to `auth.json`, unless it already contains some.
pub(super) fn migrate(
    agent_dir: &AgentDir,
    names: &BTreeSet<String>,
    report: &mut Vec<ConfigDiagnostic>,
) {
    let sources = names.contains("oauth.json") || names.contains("settings.json");
    if !sources || has_credentials(&agent_dir.auth_file()) {
        return;
    }
    let old = LegacyCredentials::read(agent_dir, report);
    if old.credentials.is_empty() {
        return;
    }
    let file = agent_dir.auth_file();
    match write(&file, &old.credentials) {
        Ok(true) => {
            old.remove_old_files(agent_dir);
            let providers: Vec<_> = old.credentials.keys().map(String::as_str).collect();
            report.push(info(
                format!(
                    "moved credentials to {}: {}",
                    file.display(),
                    providers.join(", ")
                ),
                &file,
            ));
        }
        Ok(false) => {}
        Err(error) => report.push(ConfigDiagnostic::warning(
            format!(
                "cannot move credentials of an earlier version to {}: {error}",
                file.display()
            ),
            file,
        )),
    }
}

/// Returns whether `auth.json` contains more than the empty object that is created at startup.
fn has_credentials(file: &Path) -> bool {
    match object_file::read_unlocked(file) {
        Ok(None) => false,
        Ok(Some(credentials)) => !credentials.is_empty(),
        // A file that is malformed or being written must not be replaced.
        Err(_) => true,
    }
}

/// Writes `auth.json`, unless another process did; returns whether it was written.
fn write(file: &Path, credentials: &Map<String, Value>) -> Result<bool, ChangeError> {
    // A concurrent sign-in may hold the lock longer than settings are usually locked.
    let timing = LockTiming {
        stale: LockTiming::CREDENTIALS.stale,
        ..LockTiming::SETTINGS
    };
    let _lock = LockDir::acquire(file, timing).map_err(|error| match error {
        LockError::Held => ChangeError::Locked,
        LockError::Io(error) => ChangeError::Io(error),
    })?;
    if has_credentials(file) {
        return Ok(false);
    }
    let text = json_text::to_text(credentials).map_err(io::Error::other)?;
    atomic_file::write(file, &text, NewFileMode::Private)?;
    Ok(true)
}

/// Credentials of an earlier version and the files they come from.
#[derive(Default)]
struct LegacyCredentials {
    credentials: Map<String, Value>,
    from_oauth_file: bool,
    from_settings: bool,
}

impl LegacyCredentials {
    fn read(agent_dir: &AgentDir, report: &mut Vec<ConfigDiagnostic>) -> Self {
        let mut old = Self::default();
        let oauth = oauth_file(agent_dir);
        match object_file::read(&oauth) {
            Ok(Some(signed_in)) => {
                for (provider, credential) in signed_in {
                    old.from_oauth_file |= old.add_sign_in(provider, credential);
                }
            }
            Ok(None) => {}
            Err(problem) => report.push(ConfigDiagnostic::warning(
                format!("cannot migrate sign-ins: {}: {problem}", oauth.display()),
                oauth,
            )),
        }
        // Errors are reported when the settings are loaded.
        if let Ok(Some(settings)) = object_file::read(&agent_dir.settings_file())
            && let Some(Value::Object(keys)) = settings.get(API_KEYS)
        {
            for (provider, key) in keys {
                if let (Value::String(key), None) = (key, old.credentials.get(provider)) {
                    let credential = json!({ "type": "api_key", "key": key });
                    old.credentials.insert(provider.clone(), credential);
                }
            }
            old.from_settings = true;
        }
        old
    }

    fn add_sign_in(&mut self, provider: String, credential: Value) -> bool {
        let Value::Object(fields) = credential else {
            return false;
        };
        let mut credential = Map::from_iter([("type".to_owned(), json!("oauth"))]);
        credential.extend(fields);
        self.credentials.insert(provider, Value::Object(credential));
        true
    }

    /// Removes the credentials from their old files.
    fn remove_old_files(&self, agent_dir: &AgentDir) {
        if self.from_oauth_file {
            let oauth = oauth_file(agent_dir);
            let aside = oauth.with_extension("json.migrated");
            if let Err(error) = pi_fs::rename_without_replacing(&oauth, &aside) {
                tracing::warn!(%error, file = %oauth.display(), "cannot rename migrated file");
            }
        }
        if self.from_settings
            && let Err(error) = remove_keys(&agent_dir.settings_file())
        {
            tracing::warn!(%error, "cannot remove migrated keys from settings");
        }
    }
}

fn oauth_file(agent_dir: &AgentDir) -> std::path::PathBuf {
    agent_dir.path().join("oauth.json")
}

fn remove_keys(settings: &Path) -> Result<(), ChangeError> {
    let mut locked = LockedObject::open(settings, NewFileMode::Private)?;
    match locked.object.shift_remove(API_KEYS) {
        Some(_) => locked.write(FileEnding::None),
        None => Ok(()),
    }
}
