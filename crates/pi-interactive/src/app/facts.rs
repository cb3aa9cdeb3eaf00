//! What the footer and the title say, and where the numbers come from.
//!
//! Counting a long session reads all of it. That happens once, on a thread of its own; afterwards
//! the session keeps count.

use pi_ai::{AuthKind, Models};
use pi_runtime::{AgentSession, SessionStats};
use pi_tui::{Leave, RunnerError};

use super::App;
use crate::footer::FooterFacts;
use crate::git_branch::current_branch;
use crate::paths::with_tilde;
use crate::title;
use crate::transcript::NoticeLevel;

/// Sessions up to this many entries are counted at once.
const COUNTED_AT_ONCE: usize = 400;

/// The provider whose subscription does not cover programs of others.
const ANTHROPIC: &str = "anthropic";

/// A plan that is used with a key.
const KIMI_CODING: &str = "kimi-coding";

impl App {
    /// Brings the footer up to date.
    pub(crate) fn refresh_footer(&mut self) {
        let counted =
            self.counted || self.session.with_session(pi_session::Session::len) <= COUNTED_AT_ONCE;
        if counted {
            self.counted = true;
            match self.session.stats() {
                Ok(stats) => self.show_facts(Some(stats)),
                Err(error) => tracing::warn!(%error, "the session cannot be counted"),
            }
            return;
        }
        self.show_facts(None);
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
                        app.counted = true;
                        app.show_facts(Some(stats));
                    }
                    Err(error) => tracing::warn!(%error, "the session cannot be counted"),
                }
            },
        );
    }

    fn show_facts(&mut self, stats: Option<SessionStats>) {
        let session = &self.session;
        let model = session.model();
        let home = self.look.appearance().home.clone();
        let provider = model.as_ref().map(|model| model.provider.clone());
        let facts = FooterFacts {
            place: with_tilde(session.cwd(), home.as_deref()),
            branch: current_branch(session.cwd()),
            name: session.session_name(),
            tokens: stats.as_ref().map(|stats| stats.tokens).unwrap_or_default(),
            cache_hits: stats.as_ref().and_then(|stats| stats.cache_hit_share),
            cost: stats.as_ref().map_or(0.0, |stats| stats.cost),
            subscription: self.subscription,
            context: stats.and_then(|stats| stats.context_usage),
            window: model.as_ref().map_or(0, |model| model.context_window),
            auto_compaction: session.auto_compaction_enabled(),
            provider: provider.filter(|_| self.several_providers),
            thinking: model
                .as_ref()
                .filter(|model| model.reasoning)
                .map(|_| session.thinking_level().as_str().to_owned()),
            model: model.map(|model| model.id.clone()),
            statuses: self.desk.statuses(),
        };
        self.tell_extensions(facts.branch.as_deref());
        self.screen.with_footer(|footer| footer.set_facts(facts));
    }

    /// Finds out how many providers can be asked, and who pays for the current one.
    pub(crate) fn look_at_providers(&mut self) {
        let models = self.session.models();
        let providers = models.providers();
        let usable = providers
            .iter()
            .filter(|provider| models.is_authenticated(provider.id()));
        self.several_providers = usable.take(2).count() > 1;
        let model = self.session.model();
        let provider = model.as_ref().map(|model| model.provider.as_str());
        self.subscription = provider.is_some_and(|provider| is_subscription(models, provider));
    }

    /// Says once that a subscription does not cover what pi uses of it, where that is so.
    pub(crate) fn warn_about_extra_usage(&mut self) {
        let model = self.session.model();
        let concerned = self.subscription && model.is_some_and(|model| model.provider == ANTHROPIC);
        let settings = self.session.settings().settings();
        if !concerned || !settings.warn_anthropic_extra_usage() || self.extra_usage_told {
            return;
        }
        self.extra_usage_told = true;
        self.tell(
            NoticeLevel::Warning,
            "Anthropic counts what programs of others use with a Claude subscription as extra usage, \
             billed by the token and not by the plan. https://claude.ai/settings/usage shows and \
             limits it; /settings hides this warning.",
        );
    }

    /// Tells everybody that another model answers.
    pub(crate) fn model_changed(&mut self) {
        self.look_at_providers();
        self.warn_about_extra_usage();
        self.paint_border();
        self.refresh_footer();
        self.restore_unasked();
    }

    /// Brings the title of the window up to date.
    pub(crate) fn refresh_title(&mut self) {
        let title = title::of(self.session.session_name().as_deref(), self.session.cwd());
        self.written(|app| app.screen.runner().set_title(&title));
    }

    /// Writes to the terminal; if that fails, the next frame fails too and ends the program.
    pub(super) fn written(&mut self, write: impl FnOnce(&mut Self) -> Result<(), RunnerError>) {
        if let Err(error) = write(self) {
            tracing::warn!(%error, "the terminal does not take what is written");
        }
    }
}

/// Returns whether requests to a provider are paid by a plan and not by the token.
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

/// Returns what is left on the terminal at the end.
pub(super) fn leave(session: &AgentSession) -> Leave {
    use pi_config::FullscreenExitOutput;
    match session.settings().settings().fullscreen_exit_output() {
        FullscreenExitOutput::Transcript => Leave::WithTranscript,
        FullscreenExitOutput::ResumeHint => Leave::AsItWas,
    }
}
