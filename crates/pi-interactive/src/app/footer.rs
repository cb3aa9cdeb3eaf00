//! Data for the footer and the window title.
//!
//! Counting a long session reads all of it. That happens once, on its own thread; afterwards the session
//! keeps count.

use pi_auth::AuthKind;
use pi_providers::Models;
use pi_runtime::{AgentSession, SessionStats};
use pi_tui::{ExitBehavior, RunnerError};

use super::App;
use crate::footer::FooterData;
use crate::git_branch::current_branch;
use crate::paths::with_tilde;
use crate::title;
use crate::transcript::NoticeLevel;

/// Sessions with at most this many entries are counted synchronously.
const COUNTED_AT_ONCE: usize = 400;

/// The provider whose subscription does not cover third-party programs.
const ANTHROPIC: &str = "anthropic";

/// A subscription that is used with an API key.
const KIMI_CODING: &str = "kimi-coding";

impl App {
    pub(crate) fn refresh_footer(&mut self) {
        let counted = self.usage_counted
            || self.session.with_session(pi_session::Session::len) <= COUNTED_AT_ONCE;
        if counted {
            self.usage_counted = true;
            match self.session.stats() {
                Ok(stats) => self.update_footer(Some(stats)),
                Err(error) => tracing::warn!(%error, "cannot compute session stats"),
            }
            return;
        }
        self.update_footer(None);
        self.count_in_background();
    }

    fn count_in_background(&mut self) {
        if std::mem::replace(&mut self.counting, true) {
            return;
        }
        let session = self.session.clone();
        self.spawn_blocking(
            move || {
                let stats = session.precompute_stats().and_then(|()| session.stats());
                (session.session_id(), stats)
            },
            |app, (id, stats)| {
                app.counting = false;
                if app.session.session_id() != id {
                    return;
                }
                match stats {
                    Ok(stats) => {
                        app.usage_counted = true;
                        app.update_footer(Some(stats));
                    }
                    Err(error) => tracing::warn!(%error, "cannot compute session stats"),
                }
            },
        );
    }

    fn update_footer(&mut self, stats: Option<SessionStats>) {
        let session = &self.session;
        let model = session.model();
        let home = self.ui.context().home.clone();
        let provider = model.as_ref().map(|model| model.provider.clone());
        let data = FooterData {
            directory: with_tilde(session.cwd(), home.as_deref()),
            branch: current_branch(session.cwd()),
            name: session.session_name(),
            tokens: stats.as_ref().map(|stats| stats.tokens).unwrap_or_default(),
            cache_hits: stats.as_ref().and_then(|stats| stats.cache_hit_share),
            cost: stats.as_ref().map_or(0.0, |stats| stats.cost),
            subscription: self.subscription,
            context: stats.and_then(|stats| stats.context_usage),
            window: model.as_ref().map_or(0, |model| model.context_window),
            auto_compaction: session.auto_compaction_enabled(),
            provider: provider.filter(|_| self.has_multiple_providers),
            thinking: model
                .as_ref()
                .filter(|model| model.reasoning)
                .map(|_| session.thinking_level().as_str().to_owned()),
            model: model.map(|model| model.id.clone()),
            statuses: self.bridge.statuses(),
        };
        self.notify_extensions(data.branch.as_deref());
        self.screen.with_footer(|footer| footer.set_data(data));
    }

    /// Updates whether several providers are configured and whether the current one is a subscription.
    pub(crate) fn refresh_provider_info(&mut self) {
        let models = self.session.models();
        let providers = models.providers();
        let usable = providers
            .iter()
            .filter(|provider| models.is_authenticated(provider.id()));
        self.has_multiple_providers = usable.take(2).count() > 1;
        let model = self.session.model();
        let provider = model.as_ref().map(|model| model.provider.as_str());
        self.subscription = provider.is_some_and(|provider| is_subscription(models, provider));
    }

    /// Warns once that a subscription does not cover pi's usage, where that applies.
    pub(crate) fn warn_about_extra_usage(&mut self) {
        let model = self.session.model();
        let concerned = self.subscription && model.is_some_and(|model| model.provider == ANTHROPIC);
        let settings = self.session.settings().settings();
        if !concerned || !settings.warn_anthropic_extra_usage() || self.extra_usage_warned {
            return;
        }
        self.extra_usage_warned = true;
        self.notify(
            NoticeLevel::Warning,
            "Anthropic bills third-party use of a Claude subscription as extra usage, per token, outside the plan. Check limits at https://claude.ai/settings/usage. Hide this warning in /settings.",
        );
    }

    /// Updates everything that depends on the current model.
    pub(crate) fn model_changed(&mut self) {
        self.refresh_provider_info();
        self.warn_about_extra_usage();
        self.paint_border();
        self.refresh_footer();
        self.restore_unsent_prompt();
    }

    pub(crate) fn refresh_title(&mut self) {
        let title = title::of(self.session.session_name().as_deref(), self.session.cwd());
        self.write_terminal(|app| app.screen.runner().set_title(&title));
    }

    /// Runs a terminal write. If it fails, the next frame also fails and ends the application.
    pub(super) fn write_terminal(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<(), RunnerError>,
    ) {
        if let Err(error) = write(self) {
            tracing::warn!(%error, "cannot write to the terminal");
        }
    }
}

/// Returns whether requests to a provider are covered by a subscription rather than billed per token.
fn is_subscription(models: &Models, provider: &str) -> bool {
    if provider == KIMI_CODING {
        return true;
    }
    let signed_in = models
        .auth_status(provider)
        .is_some_and(|status| status.kind == AuthKind::OAuth);
    let auth = models
        .provider(provider)
        .and_then(|provider| provider.auth());
    let flow = auth.and_then(|auth| auth.oauth);
    signed_in && flow.is_some_and(|flow| flow.is_subscription())
}

/// Returns what remains on the terminal after exit.
pub(super) fn leave(session: &AgentSession) -> ExitBehavior {
    use pi_config::FullscreenExitOutput;
    match session.settings().settings().fullscreen_exit_output() {
        FullscreenExitOutput::Transcript => ExitBehavior::PrintTranscript,
        FullscreenExitOutput::ResumeHint => ExitBehavior::RestoreScreen,
    }
}
