//! Reports files of the agent directory that change while a command or a tool runs: they take effect at the next start.

use std::collections::HashMap;

use pi_config::AgentDirStamp;
use pi_protocol::ConfigScope;
use thiserror::Error;

use super::AgentSession;

/// The event of reports about changes.
pub(crate) const CONFIGURATION_EVENT: &str = "configuration";

#[derive(Debug, Error)]
#[error(
    "{} of the agent directory changed while {cause} ran; this takes effect at the next start or reload\n\
     hint: check the change if you did not expect it",
    files.join(", ")
)]
struct ConfigurationChanged {
    files: Vec<String>,
    cause: &'static str,
}

/// The files before each call in progress, and when they were last reported.
#[derive(Debug, Default)]
pub(super) struct ConfigWatch {
    before: HashMap<String, AgentDirStamp>,
    reported: AgentDirStamp,
}

impl ConfigWatch {
    fn begin(&mut self, call: &str, now: AgentDirStamp) {
        self.before.insert(call.to_owned(), now);
    }

    /// Returns what changed since the call began and was not reported for another one.
    fn end(&mut self, call: &str, now: AgentDirStamp) -> Vec<String> {
        let Some(before) = self.before.remove(call) else {
            return Vec::new();
        };
        let mut changed = now.changed_since(&before);
        if changed.is_empty() {
            return changed;
        }
        let unreported = now.changed_since(&self.reported);
        changed.retain(|file| unreported.contains(file));
        self.reported = now;
        changed
    }
}

impl AgentSession {
    /// Remembers the configuration before a call.
    pub(super) fn watch_configuration(&self, call: &str) {
        if let Some(stamp) = self.configuration_stamp() {
            self.0.state().configuration.begin(call, stamp);
        }
    }

    /// Reports what changed during a call.
    pub(super) fn report_changed_configuration(&self, call: &str, cause: &'static str) {
        let Some(stamp) = self.configuration_stamp() else {
            return;
        };
        let files = self.0.state().configuration.end(call, stamp);
        if !files.is_empty() {
            let changed = ConfigurationChanged { files, cause };
            self.0.report(CONFIGURATION_EVENT, None, &changed);
        }
    }

    fn configuration_stamp(&self) -> Option<AgentDirStamp> {
        let settings = self.0.settings.file(ConfigScope::User)?;
        settings.parent().map(AgentDirStamp::read)
    }
}
