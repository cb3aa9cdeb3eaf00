//! How long extensions may take to respond.

use std::time::Duration;

use pi_env::Env;

use crate::events::{ExtensionEvent as _, SessionShutdownEvent};

/// Limits the time that extensions have to respond, in milliseconds.
const TIMEOUT_VARIABLE: &str = "PI_EXTENSION_TIMEOUT_MS";

/// The shortest limit for loading: compiling a healthy extension may take a second or two on a busy machine, whatever
/// its handlers are allowed.
const MIN_LOAD: Duration = Duration::from_secs(3);

/// Events whose handlers may call a model to write a summary.
const SUMMARY_EVENTS: [&str; 2] = ["session_before_compact", "session_before_tree"];

/// Time that extensions have, by what they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HookLimits {
    hook: Duration,
    /// For events whose handlers may call a model.
    summary: Duration,
    pub(crate) load: Duration,
    pub(crate) shutdown: Duration,
}

impl HookLimits {
    pub(crate) fn from_env(env: &Env) -> Self {
        let default = Self {
            hook: Duration::from_secs(30),
            summary: Duration::from_mins(5),
            load: Duration::from_secs(30),
            shutdown: Duration::from_secs(5),
        };
        let given = env.var(TIMEOUT_VARIABLE);
        let given = given.and_then(|value| value.trim().parse().ok());
        let Some(given) = given.filter(|milliseconds| *milliseconds > 0) else {
            return default;
        };
        let given = Duration::from_millis(given);
        Self {
            hook: given,
            summary: given,
            load: given.max(MIN_LOAD),
            shutdown: default.shutdown.min(given),
        }
    }

    pub(crate) fn of(&self, event: &str) -> Duration {
        if event == SessionShutdownEvent::NAME {
            self.shutdown
        } else if SUMMARY_EVENTS.contains(&event) {
            self.summary
        } else {
            self.hook
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn limits(variables: &[(&str, &str)]) -> HookLimits {
        HookLimits::from_env(&Env::fixed(variables.iter().copied()))
    }

    #[test]
    fn the_environment_limits_all_hooks() {
        let limits = limits(&[(TIMEOUT_VARIABLE, "200")]);
        for event in ["turn_start", "session_before_compact", "session_shutdown"] {
            assert_eq!(limits.of(event), Duration::from_millis(200), "{event}");
        }
        assert_eq!(limits.load, MIN_LOAD);
    }

    #[test]
    fn an_invalid_limit_is_ignored() {
        for value in ["", "0", "soon", "-1"] {
            assert_eq!(limits(&[(TIMEOUT_VARIABLE, value)]), limits(&[]), "{value}");
        }
    }
}
