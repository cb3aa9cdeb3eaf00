//! Reports files of the agent directory that change while a command or a tool runs: they take effect at the next start.

use std::collections::HashMap;

use pi_config::AgentDirStamp;
use pi_protocol::{ConfigScope, SessionEvent, ToolCall};

use super::AgentSession;

/// Built-in tools that write nothing. Checking the files around each of their calls would cost more than a small read.
const READING_TOOLS: [&str; 4] = ["read", "grep", "find", "ls"];

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

    fn is_watched(&self, call: &str) -> bool {
        self.before.contains_key(call)
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

/// Watches the configuration for a session.
pub(super) struct ConfigReporter<'session>(pub &'session AgentSession);

impl ConfigReporter<'_> {
    /// Remembers the configuration before a call of a tool that may write.
    pub(super) fn begin_tool(&self, call: &ToolCall) {
        if !READING_TOOLS.contains(&call.name.as_str()) {
            self.begin(&call.id);
        }
    }

    /// Remembers the configuration before a call.
    pub(super) fn begin(&self, call: &str) {
        if let Some(stamp) = self.stamp() {
            self.0.0.state().configuration.begin(call, stamp);
        }
    }

    /// Warns about what changed during a call.
    pub(super) async fn report(&self, call: &str, cause: &'static str) {
        if !self.0.0.state().configuration.is_watched(call) {
            return;
        }
        let Some(stamp) = self.stamp() else {
            return;
        };
        let files = self.0.0.state().configuration.end(call, stamp);
        if !files.is_empty() {
            let files = files.join(", ");
            let message = format!(
                "{files} of the agent directory changed while {cause} ran; this takes effect at the next start or reload\n\
                 hint: check the change if you did not expect it"
            );
            let warning = SessionEvent::SessionWarning { message };
            self.0.0.publish(warning).await;
        }
    }

    fn stamp(&self) -> Option<AgentDirStamp> {
        let settings = self.0.0.settings.file(ConfigScope::User)?;
        settings.parent().map(AgentDirStamp::read)
    }
}
