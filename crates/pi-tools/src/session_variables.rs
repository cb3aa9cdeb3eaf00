//! Environment variables that describe the session to the model's commands.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use pi_core::Variables;

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
        self.0.lock().clone()
    }

    pub fn set(&self, variables: Option<SessionVariables>) {
        *self.0.lock() = variables;
    }
}

/// Returns the variables of a command run by the model. Session variables inherited from an outer
/// session are removed.
pub(crate) fn model_variables(vars: &Variables, session: Option<SessionVariables>) -> Variables {
    let mut variables = vars.clone();
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

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Variables {
        variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }

    #[test]
    fn model_commands_only_see_their_own_session() {
        let inherited = environment(&[
            ("HOME", "/home"),
            ("PI_MODEL", "outer"),
            ("PI_SESSION_FILE", "/outer"),
            ("PI_OFFLINE", "1"),
        ]);
        assert_eq!(
            model_variables(&inherited, None),
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
            model_variables(&inherited, Some(session)),
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
