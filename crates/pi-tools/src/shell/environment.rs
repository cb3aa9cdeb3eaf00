//! The environment of commands: inherited variables, the tools directory on `PATH`, and session
//! variables.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

const SESSION_ID: &str = "PI_SESSION_ID";
const SESSION_FILE: &str = "PI_SESSION_FILE";
const PROVIDER: &str = "PI_PROVIDER";
const MODEL: &str = "PI_MODEL";
const REASONING_LEVEL: &str = "PI_REASONING_LEVEL";

/// Session variables for commands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionVariables {
    /// `PI_SESSION_ID`.
    pub session_id: String,
    /// `PI_SESSION_FILE`; unset if the session has no file.
    pub session_file: Option<PathBuf>,
    /// `PI_PROVIDER`: the provider of the current model.
    pub provider: Option<String>,
    /// `PI_MODEL`: the ID of the current model.
    pub model: Option<String>,
    /// `PI_REASONING_LEVEL`: the thinking level of the current model.
    pub reasoning_level: Option<String>,
}

/// The current session variables, updated by the application.
#[derive(Debug, Clone, Default)]
pub struct SharedSessionVariables(Arc<Mutex<Option<SessionVariables>>>);

impl SharedSessionVariables {
    pub fn get(&self) -> Option<SessionVariables> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub fn set(&self, variables: Option<SessionVariables>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = variables;
    }
}

/// The base environment of commands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShellEnvironment(BTreeMap<OsString, OsString>);

impl ShellEnvironment {
    /// Uses the environment of this process, with a tools directory first on `PATH`.
    pub fn inherited(tools: Option<&Path>) -> Self {
        Self::new(std::env::vars_os(), tools)
    }

    /// Uses the given variables, with a tools directory first on `PATH`.
    pub fn new(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        tools: Option<&Path>,
    ) -> Self {
        let mut variables: BTreeMap<_, _> = variables.into_iter().collect();
        if let Some(tools) = tools {
            put_on_path(&mut variables, tools);
        }
        Self(variables)
    }

    /// Returns the environment of a command typed by the user.
    pub(crate) fn for_user(&self) -> BTreeMap<OsString, OsString> {
        self.0.clone()
    }

    /// Returns the environment of a command run by the model. Session variables inherited from an
    /// outer session are removed.
    pub(crate) fn for_model(
        &self,
        session: Option<SessionVariables>,
    ) -> BTreeMap<OsString, OsString> {
        let mut variables = self.0.clone();
        for name in [SESSION_ID, SESSION_FILE, PROVIDER, MODEL, REASONING_LEVEL] {
            variables.remove(OsStr::new(name));
        }
        if let Some(session) = session {
            let values = [
                (SESSION_ID, Some(session.session_id.into())),
                (
                    SESSION_FILE,
                    session.session_file.map(PathBuf::into_os_string),
                ),
                (PROVIDER, session.provider.map(OsString::from)),
                (MODEL, session.model.map(OsString::from)),
                (REASONING_LEVEL, session.reasoning_level.map(OsString::from)),
            ];
            variables.extend(
                values
                    .into_iter()
                    .filter_map(|(name, value)| Some((name.into(), value?))),
            );
        }
        variables
    }
}

fn put_on_path(variables: &mut BTreeMap<OsString, OsString>, tools: &Path) {
    // Windows spells it `Path`; keep the existing spelling.
    let name = variables
        .keys()
        .find(|name| name.eq_ignore_ascii_case("PATH"))
        .cloned()
        .unwrap_or_else(|| "PATH".into());
    let value = variables.get(&name).cloned().unwrap_or_default();
    if value.is_empty() {
        variables.insert(name, tools.into());
        return;
    }
    if std::env::split_paths(&value).any(|directory| directory == tools) {
        return;
    }
    // Joined by hand to keep the existing value unchanged, including empty components.
    let mut path = tools.as_os_str().to_owned();
    path.push(if cfg!(windows) { ";" } else { ":" });
    path.push(value);
    variables.insert(name, path);
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn environment(variables: &[(&str, &str)]) -> BTreeMap<OsString, OsString> {
        variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }

    #[cfg(unix)]
    #[test]
    fn the_tools_directory_comes_first_once() {
        for (name, before, after) in [
            ("PATH", "/usr/bin:/bin", "/agent/bin:/usr/bin:/bin"),
            ("PATH", "/usr/bin:/agent/bin", "/usr/bin:/agent/bin"),
            ("PATH", "/usr/bin::", "/agent/bin:/usr/bin::"),
            ("PATH", "", "/agent/bin"),
            ("Path", "/usr/bin", "/agent/bin:/usr/bin"),
        ] {
            let tools = Some(Path::new("/agent/bin"));
            let made = ShellEnvironment::new(environment(&[(name, before)]), tools);
            assert_eq!(made.for_user(), environment(&[(name, after)]));
        }
        let made = ShellEnvironment::new([], Some(Path::new("/agent/bin")));
        assert_eq!(made.for_user(), environment(&[("PATH", "/agent/bin")]));
    }

    #[test]
    fn model_commands_only_see_their_own_session() {
        let inherited = environment(&[
            ("HOME", "/home"),
            ("PI_MODEL", "outer"),
            ("PI_SESSION_FILE", "/outer"),
            ("PI_OFFLINE", "1"),
        ]);
        let base = ShellEnvironment::new(inherited.clone(), None);
        assert_eq!(base.for_user(), inherited);
        assert_eq!(
            base.for_model(None),
            environment(&[("HOME", "/home"), ("PI_OFFLINE", "1")])
        );
        let session = SessionVariables {
            session_id: "s1".to_owned(),
            provider: Some("faux".to_owned()),
            model: Some("m".to_owned()),
            reasoning_level: Some("high".to_owned()),
            session_file: None,
        };
        assert_eq!(
            base.for_model(Some(session)),
            environment(&[
                ("HOME", "/home"),
                ("PI_MODEL", "m"),
                ("PI_OFFLINE", "1"),
                ("PI_PROVIDER", "faux"),
                ("PI_REASONING_LEVEL", "high"),
                ("PI_SESSION_ID", "s1"),
            ])
        );
    }
}
