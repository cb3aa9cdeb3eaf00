//! Retries failed turns after an increasing delay.
//!
//! The failed attempt stays in the file but is omitted from the context. A context that is too
//! large is compacted instead of retried.

use pi_agent::SharedMessage;
use pi_config::ConfigScope;
use pi_protocol::overflow::is_context_overflow;
use pi_protocol::retry::is_retryable;
use pi_protocol::{AgentMessage, AssistantMessage};
use pi_session::{ContextEditEntry, EntryId, SessionError};
use tokio_util::sync::CancellationToken;

use super::AgentSession;
use crate::event::SessionEvent;

/// The error of [`SessionEvent::AutoRetryEnd`] when the delay was canceled.
pub const RETRY_CANCELLED: &str = "Retry canceled";

impl AgentSession {
    /// Cancels the delay before the next attempt.
    pub fn abort_retry(&self) {
        if let Some(pause) = &self.state().retry_pause {
            pause.cancel();
        }
    }

    /// Returns whether the session is waiting for the next attempt.
    pub fn is_retrying(&self) -> bool {
        self.state().retry_pause.is_some()
    }

    /// Returns the current attempt; 0 if there is none.
    pub fn retry_attempt(&self) -> u32 {
        self.state().run.retry_attempt
    }

    pub fn auto_retry_enabled(&self) -> bool {
        self.0.settings.settings().retry_policy().enabled
    }

    /// Turns automatic retries on or off and saves the setting.
    pub fn set_auto_retry(&self, enabled: bool) -> Result<(), pi_config::SettingsError> {
        let change = |settings: &mut pi_config::Settings| settings.retry.enabled = Some(enabled);
        self.0.settings.update(ConfigScope::User, change)
    }

    pub(super) fn is_retryable(&self, response: &AssistantMessage) -> bool {
        let model = self.state().model.clone();
        let window = model.map_or(0, |model| model.context_window);
        !is_context_overflow(response, window) && is_retryable(response)
    }

    /// Returns whether a run that ended with these messages will be retried.
    pub(super) fn will_retry(&self, messages: &[SharedMessage]) -> bool {
        let attempt = {
            let state = self.state();
            if state.run.abort_requested || state.run.storage_failed {
                return false;
            }
            state.run.retry_attempt
        };
        let policy = self.0.settings.settings().retry_policy();
        let last = messages.iter().rev().find_map(|message| match &**message {
            AgentMessage::Assistant(response) => Some(response),
            _ => None,
        });
        policy.allows(attempt + 1) && last.is_some_and(|response| self.is_retryable(response))
    }

    /// Omits the attempt from the context and waits. Returns false if there is no further attempt.
    pub(super) async fn prepare_retry(&self, response: &AssistantMessage, id: &EntryId) -> bool {
        let policy = self.0.settings.settings().retry_policy();
        let attempt = self.state().run.retry_attempt + 1;
        if !policy.allows(attempt) {
            return false;
        }
        let delay = policy.delay(attempt);
        self.state().run.retry_attempt = attempt;
        let error_message = response.error_message.clone();
        self.publish(SessionEvent::AutoRetryStart {
            attempt,
            max_attempts: policy.max_retries,
            delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            error_message: error_message.unwrap_or_else(|| "no reason given".to_owned()),
        })
        .await;
        if let Err(error) = self.omit([id.clone()]).await {
            self.report("retry", None, &error);
            return false;
        }
        let pause = CancellationToken::new();
        {
            let mut state = self.state();
            if state.run.abort_requested {
                pause.cancel();
            }
            state.retry_pause = Some(pause.clone());
        }
        let waited = pause.run_until_cancelled(tokio::time::sleep(delay)).await;
        self.state().retry_pause = None;
        if waited.is_none() {
            self.cancel_retry().await;
        }
        waited.is_some()
    }

    /// Omits entries from the context permanently.
    pub(super) async fn omit(
        &self,
        targets: impl IntoIterator<Item = EntryId>,
    ) -> Result<(), SessionError> {
        for target_id in targets {
            let edit = ContextEditEntry {
                target_id,
                replacement: None,
            };
            let entry = self.transcript().append(edit)?;
            self.publish(SessionEvent::EntryAppended { entry }).await;
        }
        self.refresh_context()
    }

    pub(super) async fn finish_retry_success(&self) {
        let attempt = self.take_retry_attempt();
        if attempt > 0 {
            self.publish(SessionEvent::AutoRetryEnd {
                success: true,
                attempt,
                final_error: None,
            })
            .await;
        }
    }

    /// Ends retrying without success.
    pub(super) async fn finish_retry(&self, final_error: Option<String>) {
        let attempt = self.take_retry_attempt();
        if attempt > 0 {
            self.publish(SessionEvent::AutoRetryEnd {
                success: false,
                attempt,
                final_error,
            })
            .await;
        }
    }

    pub(super) async fn cancel_retry(&self) {
        self.finish_retry(Some(RETRY_CANCELLED.to_owned())).await;
    }

    fn take_retry_attempt(&self) -> u32 {
        std::mem::take(&mut self.state().run.retry_attempt)
    }
}
