//! Session events: updates the transcript, the working indicator and the footer.

use std::time::{Duration, Instant};

use pi_context::CompactionReason;
use pi_core::AgentEvent;
use pi_providers::StreamPhase;
use pi_runtime::SessionEvent;

use super::App;
use crate::working::Activity;

impl App {
    pub(super) fn on_session(&mut self, event: &SessionEvent) {
        let now = Instant::now();
        self.with_transcript(|transcript, document| transcript.on_event(document, event, now));
        self.screen
            .with_working(|working| working.follow(event, now));
        match event {
            SessionEvent::Agent(event) => self.on_agent_event(event, now),
            SessionEvent::AgentEnd { .. } => self.refresh_footer(),
            SessionEvent::AgentSettled => {
                self.show_activity(Activity::Idle, now);
                self.set_progress(false);
                self.refresh_footer();
                self.notify_done();
                self.quit_if_requested();
            }
            SessionEvent::QueueUpdate { .. } => self.refresh_queue(),
            SessionEvent::SessionInfoChanged { .. } => {
                self.refresh_title();
                self.refresh_footer();
            }
            SessionEvent::ThinkingLevelChanged { .. } => {
                self.paint_border();
                self.refresh_footer();
            }
            SessionEvent::CompactionStart { reason } => {
                let automatic = *reason != CompactionReason::Manual;
                self.show_activity(Activity::Compacting { automatic }, now);
                self.set_progress(true);
            }
            SessionEvent::CompactionEnd { will_retry, .. } => {
                self.resume_activity(now);
                self.refresh_footer();
                if !will_retry {
                    self.send_queued_prompts();
                }
            }
            SessionEvent::AutoRetryStart {
                attempt,
                max_attempts,
                delay_ms,
                ..
            }
            | SessionEvent::SummarizationRetryScheduled {
                attempt,
                max_attempts,
                delay_ms,
                ..
            } => {
                let retrying = Activity::Retrying {
                    attempt: *attempt,
                    max_attempts: *max_attempts,
                    until: now + Duration::from_millis(*delay_ms),
                };
                self.show_activity(retrying, now);
            }
            SessionEvent::AutoRetryEnd { .. }
            | SessionEvent::SummarizationRetryAttemptStart { .. }
            | SessionEvent::SummarizationRetryFinished => self.resume_activity(now),
            SessionEvent::BashExecutionUpdate { delta, .. } => {
                self.with_transcript(|transcript, document| {
                    transcript.append_bash_output(document, delta);
                });
            }
            _ => {}
        }
    }

    /// Shows what the current request is doing.
    pub(super) fn on_request_phase(&mut self, phase: Option<StreamPhase>) {
        let now = Instant::now();
        self.screen
            .with_working(|working| working.set_phase(phase, now));
    }

    fn on_agent_event(&mut self, event: &AgentEvent, now: Instant) {
        match event {
            AgentEvent::AgentStart => {
                self.run_started.get_or_insert(now);
                self.show_activity(Activity::Working, now);
                self.set_progress(true);
            }
            AgentEvent::TurnStart => self.show_activity(Activity::Working, now),
            AgentEvent::MessageEnd { .. } | AgentEvent::TurnEnd { .. } => self.refresh_footer(),
            _ => {}
        }
    }

    /// Restores the activity that a compaction or a retry pause interrupted.
    fn resume_activity(&mut self, now: Instant) {
        let activity = if self.session.is_streaming() {
            Activity::Working
        } else {
            Activity::Idle
        };
        self.set_progress(activity != Activity::Idle);
        self.show_activity(activity, now);
    }

    /// Sets the activity of the working indicator.
    pub(super) fn show_activity(&mut self, activity: Activity, now: Instant) {
        self.screen
            .with_working(|working| working.set(activity, now));
    }

    fn set_progress(&mut self, active: bool) {
        let enabled = self
            .session
            .settings()
            .settings()
            .terminal
            .show_terminal_progress();
        if enabled || !active {
            self.write_terminal(|app| app.screen.runner().set_progress(active));
        }
    }
}
