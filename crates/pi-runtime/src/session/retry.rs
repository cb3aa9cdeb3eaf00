//! Trying a failed turn again, after a pause that grows.
//!
//! The failed attempt stays in the file and leaves the context. A context that is too large is not
//! tried again but compacted.

use pi_agent::SharedMessage;
use pi_ai::overflow::is_context_overflow;
use pi_ai::retry::is_retryable;
use pi_ai::{AgentMessage, AssistantMessage};
use pi_config::ConfigScope;
use pi_session::{ContextEditEntry, EntryId, SessionError};
use tokio_util::sync::CancellationToken;

use super::AgentSession;
use crate::event::SessionEvent;

/// What [`SessionEvent::AutoRetryEnd`] tells as the error when somebody cancelled the pause.
pub const RETRY_CANCELLED: &str = "the pause before the next attempt was cancelled";

impl AgentSession {
    /// Cancels the pause before the next attempt.
    pub fn abort_retry(&self) {
        if let Some(pause) = &self.live().retry_pause {
            pause.cancel();
        }
    }

    /// Returns whether the session waits before another attempt.
    pub fn is_retrying(&self) -> bool {
        self.live().retry_pause.is_some()
    }

    /// Returns the attempt in progress; 0 while none is.
    pub fn retry_attempt(&self) -> u32 {
        self.live().run.retry_attempt
    }

    /// Returns whether failed turns are tried again.
    pub fn auto_retry_enabled(&self) -> bool {
        self.0.settings.settings().retry_policy().enabled
    }

    /// Has failed turns tried again, or not; the user's settings remember it.
    pub fn set_auto_retry(&self, enabled: bool) -> Result<(), pi_config::SettingsError> {
        let change = |settings: &mut pi_config::Settings| settings.retry.enabled = Some(enabled);
        self.0.settings.update(ConfigScope::User, change)
    }

    pub(super) fn is_retryable(&self, answer: &AssistantMessage) -> bool {
        let model = self.live().model.clone();
        let window = model.map_or(0, |model| model.context_window);
        !is_context_overflow(answer, window) && is_retryable(answer)
    }

    /// Returns whether a run that ended with these messages is tried again.
    pub(super) fn will_retry(&self, messages: &[SharedMessage]) -> bool {
        let attempt = {
            let live = self.live();
            if live.run.abort_requested || live.run.storage_failed {
                return false;
            }
            live.run.retry_attempt
        };
        let policy = self.0.settings.settings().retry_policy();
        let last = messages.iter().rev().find_map(|message| match &**message {
            AgentMessage::Assistant(answer) => Some(answer),
            _ => None,
        });
        policy.allows(attempt + 1) && last.is_some_and(|answer| self.is_retryable(answer))
    }

    /// Leaves the attempt out of the context and waits. False where there is no further attempt.
    pub(super) async fn prepare_retry(&self, answer: &AssistantMessage, id: &EntryId) -> bool {
        let policy = self.0.settings.settings().retry_policy();
        let attempt = self.live().run.retry_attempt + 1;
        if !policy.allows(attempt) {
            return false;
        }
        let delay = policy.delay(attempt);
        self.live().run.retry_attempt = attempt;
        let error_message = answer.error_message.clone();
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
            let mut live = self.live();
            if live.run.abort_requested {
                pause.cancel();
            }
            live.retry_pause = Some(pause.clone());
        }
        let waited = pause.run_until_cancelled(tokio::time::sleep(delay)).await;
        self.live().retry_pause = None;
        if waited.is_none() {
            self.cancel_retry().await;
        }
        waited.is_some()
    }

    /// Leaves entries out of the context for good.
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

    pub(super) async fn end_retry_in_success(&self) {
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

    /// Ends trying again without success.
    pub(super) async fn end_retry(&self, final_error: Option<String>) {
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
        self.end_retry(Some(RETRY_CANCELLED.to_owned())).await;
    }

    fn take_retry_attempt(&self) -> u32 {
        std::mem::take(&mut self.live().run.retry_attempt)
    }
}
