//! The environment commands run in: our own, the tools folder on the `PATH`, and the session.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The id of the session a command runs for.
const SESSION_ID: &str = "PI_SESSION_ID";
/// The file of that session; unset while it has none.
const SESSION_FILE: &str = "PI_SESSION_FILE";
/// The provider of the model in use.
const PROVIDER: &str = "PI_PROVIDER";
/// The id of the model in use.
const MODEL: &str = "PI_MODEL";
/// How much that model thinks.
const REASONING_LEVEL: &str = "PI_REASONING_LEVEL";

/// What a command learns of the session it runs for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionVariables {
    /// `PI_SESSION_ID`.
    pub session_id: String,
    /// `PI_SESSION_FILE`.
    pub session_file: Option<PathBuf>,
    /// `PI_PROVIDER`.
    pub provider: Option<String>,
    /// `PI_MODEL`.
    pub model: Option<String>,
    /// `PI_REASONING_LEVEL`.
    pub reasoning_level: Option<String>,
}

/// The session variables that hold now; the application changes them along with the session.
#[derive(Debug, Clone, Default)]
pub struct SharedSessionVariables(Arc<Mutex<Option<SessionVariables>>>);

impl SharedSessionVariables {
    /// Returns the variables that hold now.
    pub fn get(&self) -> Option<SessionVariables> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Lets other variables hold from here on.
    pub fn set(&self, variables: Option<SessionVariables>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = variables;
    }
}

/// The environment commands start from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShellEnvironment(BTreeMap<OsString, OsString>);

impl ShellEnvironment {
    /// Takes the environment of this process, with a folder of tools first on the `PATH`.
    pub fn inherited(tools: Option<&Path>) -> Self {
        Self::new(std::env::vars_os(), tools)
    }

    /// Takes the given variables, with a folder of tools first on the `PATH`.
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

    /// Returns the environment of a command the user typed.
    pub(crate) fn for_user(&self) -> BTreeMap<OsString, OsString> {
        self.0.clone()
    }

    /// Returns the environment of a command of the model. What a session around ours has set says
    /// nothing about ours.
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
    // Windows spells it `Path`, and which spelling counts is not ours to decide.
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
    if std::env::split_paths(&value).any(|folder| folder == tools) {
        return;
    }
    // Joined by hand: what is there is kept to the letter, empty parts included.
    let mut longer = tools.as_os_str().to_owned();
    longer.push(if cfg!(windows) { ";" } else { ":" });
    longer.push(value);
    variables.insert(name, longer);
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
    fn the_tools_folder_comes_first_once() {
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
    fn commands_of_the_model_see_their_own_session_only() {
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
