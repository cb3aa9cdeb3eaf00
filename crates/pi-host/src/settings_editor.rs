//! Changes of single settings while a session is live.

use pi_config::SettingsError;
use pi_protocol::ConfigScope;
use pi_protocol::settings::SettingChange;

use crate::session::AgentSession;

/// Changes the user's settings. Those that concern the session take effect in it at once.
#[derive(Clone, Copy)]
pub struct SettingsEditor<'session> {
    session: &'session AgentSession,
}

impl<'session> SettingsEditor<'session> {
    pub fn new(session: &'session AgentSession) -> Self {
        Self { session }
    }

    pub fn apply(self, change: SettingChange) -> Result<(), SettingsError> {
        let session = self.session;
        match change {
            // The session applies and saves these.
            SettingChange::SteeringMode(mode) => session.queue().set_steering_mode(mode),
            SettingChange::FollowUpMode(mode) => session.queue().set_follow_up_mode(mode),
            SettingChange::AutoCompact(enabled) => session.compaction().set_automatic(enabled),
            other => session
                .settings()
                .update(ConfigScope::User, |settings| other.apply_to(settings)),
        }
    }
}
