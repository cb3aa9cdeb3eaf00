//! The state of the session as terminals show it (program status protocol).

use pi_host::{BlockedReason, BlockedStatus};
use pi_protocol::{AgentEvent, AgentMessage, CompactionReason, SessionEvent, StopReason};
use pi_tui::{BlockedKind, ProgramState, ProgramStatus};

/// Follows a session and returns its state. Messages never contain prompts or model output.
#[derive(Debug, Default)]
pub(crate) struct RunStatus {
    is_running: bool,
    is_compacting: bool,
    /// How the current run ends, as far as it is known.
    outcome: ProgramStatus,
    /// The state while nothing runs.
    resting: ProgramStatus,
}

/// What the program waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitingFor<'a> {
    Nothing,
    /// A dialog of an extension, with its title.
    Answer(&'a str),
    /// The sign-in of a provider.
    SignIn(&'a str),
    /// A component of an extension that states what it waits for.
    Component(&'a BlockedStatus),
}

impl RunStatus {
    /// Follows an event; returns whether the state may have changed.
    pub(crate) fn follow(&mut self, event: &SessionEvent) -> bool {
        match event {
            SessionEvent::Agent(AgentEvent::AgentStart) => {
                self.is_running = true;
                self.outcome = state(ProgramState::Done);
            }
            // The latest response decides: a retry replaces an error.
            SessionEvent::Agent(AgentEvent::MessageEnd { message }) => match &**message {
                AgentMessage::Assistant(answer) => {
                    self.outcome = match answer.stop_reason {
                        StopReason::Error => failed(answer.error_message.as_deref()),
                        _ => state(ProgramState::Done),
                    };
                }
                _ => return false,
            },
            SessionEvent::CompactionStart { .. } => self.is_compacting = true,
            SessionEvent::CompactionEnd {
                reason,
                aborted,
                error_message,
                ..
            } => self.compacted(*reason, *aborted, error_message.as_deref()),
            SessionEvent::AgentSettled { aborted } => {
                self.is_running = false;
                self.resting = if *aborted {
                    ProgramStatus::default()
                } else {
                    std::mem::take(&mut self.outcome)
                };
            }
            SessionEvent::SessionInfoChanged { .. } => {}
            _ => return false,
        }
        true
    }

    fn compacted(&mut self, reason: CompactionReason, aborted: bool, error: Option<&str>) {
        self.is_compacting = false;
        let outcome = match error {
            _ if aborted => Some(ProgramStatus::default()),
            Some(error) => Some(failed(Some(error))),
            None => None,
        };
        if self.is_running {
            self.outcome = outcome.unwrap_or(std::mem::take(&mut self.outcome));
        } else if aborted || reason == CompactionReason::Manual {
            self.resting = outcome.unwrap_or(state(ProgramState::Done));
        }
    }

    /// Forgets the session before.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }

    /// Returns the status to report; `name` is the session's.
    pub(crate) fn current(&self, name: Option<&str>, waiting: WaitingFor<'_>) -> ProgramStatus {
        let with = |state: ProgramState, message: &str| ProgramStatus {
            state,
            message: Some(message.to_owned()),
        };
        match waiting {
            WaitingFor::SignIn(provider) => {
                let message = format!("Sign in to {provider}");
                return with(ProgramState::Blocked(BlockedKind::Auth), &message);
            }
            WaitingFor::Answer(title) => {
                return with(ProgramState::Blocked(BlockedKind::Question), title);
            }
            WaitingFor::Component(blocked) => {
                let kind = match blocked.kind {
                    BlockedReason::Question => BlockedKind::Question,
                    BlockedReason::Permission => BlockedKind::Permission,
                    BlockedReason::Auth => BlockedKind::Auth,
                };
                return with(ProgramState::Blocked(kind), &blocked.message);
            }
            WaitingFor::Nothing => {}
        }
        if self.is_compacting {
            return with(ProgramState::Working, "Compacting");
        }
        let mut status = if self.is_running {
            state(ProgramState::Working)
        } else {
            self.resting.clone()
        };
        if matches!(status.state, ProgramState::Working | ProgramState::Done) {
            status.message = name.map(str::to_owned);
        }
        status
    }
}

fn state(state: ProgramState) -> ProgramStatus {
    ProgramStatus {
        state,
        message: None,
    }
}

/// Returns the status of a failed run, with the first line of the error.
fn failed(error: Option<&str>) -> ProgramStatus {
    let line = error.and_then(|error| error.lines().next());
    let line = line.map(str::trim).filter(|line| !line.is_empty());
    ProgramStatus {
        state: ProgramState::Error,
        message: Some(line.unwrap_or("Error").to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn event(event: serde_json::Value) -> SessionEvent {
        serde_json::from_value(event).unwrap()
    }

    fn states(status: &mut RunStatus, events: &[serde_json::Value]) -> Vec<ProgramState> {
        events
            .iter()
            .map(|value| {
                status.follow(&event(value.clone()));
                status.current(None, WaitingFor::Nothing).state
            })
            .collect()
    }

    #[test]
    fn a_run_is_working_then_done() {
        let mut status = RunStatus::default();
        let seen = states(
            &mut status,
            &[
                json!({"type": "agent_start"}),
                json!({"type": "agent_settled", "aborted": false}),
                json!({"type": "agent_start"}),
                json!({"type": "agent_settled", "aborted": true}),
            ],
        );
        let expected = [
            ProgramState::Working,
            ProgramState::Done,
            ProgramState::Working,
            ProgramState::Idle,
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_failed_compaction_is_an_error() {
        let mut status = RunStatus::default();
        let end = json!({"type": "compaction_end", "reason": "manual", "aborted": false,
            "willRetry": false, "errorMessage": "no room\nsecond line"});
        let start = json!({"type": "compaction_start", "reason": "manual"});
        let seen = states(&mut status, &[start, end]);
        assert_eq!(seen, [ProgramState::Working, ProgramState::Error]);
        let current = status.current(Some("name"), WaitingFor::Nothing);
        assert_eq!(current.message.as_deref(), Some("no room"));
        status.reset();
        let current = status.current(None, WaitingFor::Nothing);
        assert_eq!(current, ProgramStatus::default());
    }

    #[test]
    fn an_open_question_takes_precedence() {
        let mut status = RunStatus::default();
        status.follow(&event(json!({"type": "agent_start"})));
        let current = status.current(Some("name"), WaitingFor::Answer("Sure?"));
        assert_eq!(current.state, ProgramState::Blocked(BlockedKind::Question));
        assert_eq!(current.message.as_deref(), Some("Sure?"));
        let blocked = BlockedStatus {
            kind: BlockedReason::Permission,
            message: "Allow it?".to_owned(),
        };
        let current = status.current(Some("name"), WaitingFor::Component(&blocked));
        let expected = ProgramState::Blocked(BlockedKind::Permission);
        assert_eq!(current.state, expected);
        assert_eq!(current.message.as_deref(), Some("Allow it?"));
        let current = status.current(Some("name"), WaitingFor::Nothing);
        assert_eq!(current.message.as_deref(), Some("name"));
    }
}
