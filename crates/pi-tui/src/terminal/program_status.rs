//! Reports the state of the program to terminals that show it (program status protocol, OSC 7501).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::input::TerminalReply;

/// Asks whether the terminal supports the protocol.
pub(crate) const QUERY_PROGRAM_STATUS: &str = "\x1b]7501;?\x1b\\";

/// Longest message, in bytes.
const MAX_MESSAGE: usize = 2048;

/// Why the program waits for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockedKind {
    Question,
    Permission,
    Auth,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgramState {
    #[default]
    Idle,
    Working,
    Blocked(BlockedKind),
    Done,
    Error,
}

/// What the terminal shows about the program. The message must not contain prompts or model output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramStatus {
    pub state: ProgramState,
    pub message: Option<String>,
}

impl ProgramStatus {
    /// Returns the report for a program named `app`.
    pub fn sequence(&self, app: &str) -> String {
        let (state, kind) = match self.state {
            ProgramState::Idle => ("idle", ""),
            ProgramState::Working => ("working", ""),
            ProgramState::Blocked(BlockedKind::Question) => ("blocked", ":kind=question"),
            ProgramState::Blocked(BlockedKind::Permission) => ("blocked", ":kind=permission"),
            ProgramState::Blocked(BlockedKind::Auth) => ("blocked", ":kind=auth"),
            ProgramState::Done => ("done", ""),
            ProgramState::Error => ("error", ""),
        };
        let message = self.message.as_deref().map(shortened);
        let message = message
            .filter(|message| !message.is_empty())
            .map(|message| format!(":msg={}", STANDARD.encode(message)))
            .unwrap_or_default();
        format!("\x1b]7501;state={state}:app={app}{kind}{message}\x1b\\")
    }
}

/// Returns the longest part of a message that fits.
fn shortened(message: &str) -> &str {
    let end = message.floor_char_boundary(MAX_MESSAGE);
    message.get(..end).unwrap_or_default().trim()
}

/// Whether to report the status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgramStatusSupport {
    /// Only after the terminal has confirmed that it supports the protocol.
    #[default]
    Query,
    Always,
    Never,
}

/// Sends changes of the status to a terminal that supports it.
#[derive(Debug, Default)]
pub(crate) struct ProgramStatusReport {
    support: ProgramStatusSupport,
    status: ProgramStatus,
    sent: Option<ProgramStatus>,
}

impl ProgramStatusReport {
    pub(crate) fn new(support: ProgramStatusSupport) -> Self {
        Self {
            support,
            ..Self::default()
        }
    }

    /// Returns the query to send at start.
    pub(crate) fn start(&mut self) -> &'static str {
        self.sent = None;
        match self.support {
            ProgramStatusSupport::Query => QUERY_PROGRAM_STATUS,
            ProgramStatusSupport::Always | ProgramStatusSupport::Never => "",
        }
    }

    /// Sets the status and returns the bytes to write.
    pub(crate) fn set(&mut self, status: ProgramStatus, app: &str) -> String {
        self.status = status;
        self.pending(app)
    }

    /// Processes a reply and returns the bytes to write.
    pub(crate) fn receive(&mut self, reply: &TerminalReply, app: &str) -> String {
        if *reply == TerminalReply::ProgramStatus && self.support == ProgramStatusSupport::Query {
            self.support = ProgramStatusSupport::Always;
        }
        self.pending(app)
    }

    fn pending(&mut self, app: &str) -> String {
        if self.support != ProgramStatusSupport::Always || self.sent.as_ref() == Some(&self.status)
        {
            return String::new();
        }
        self.sent = Some(self.status.clone());
        self.status.sequence(app)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn working() -> ProgramStatus {
        ProgramStatus {
            state: ProgramState::Working,
            message: Some("fix it".to_owned()),
        }
    }

    #[test]
    fn reports_have_state_kind_and_message() {
        let status = |state, message: &str| ProgramStatus {
            state,
            message: Some(message.to_owned()),
        };
        for (status, expected) in [
            (ProgramStatus::default(), "state=idle:app=pi"),
            (working(), "state=working:app=pi:msg=Zml4IGl0"),
            (
                status(ProgramState::Blocked(BlockedKind::Auth), ""),
                "state=blocked:app=pi:kind=auth",
            ),
        ] {
            assert_eq!(status.sequence("pi"), format!("\x1b]7501;{expected}\x1b\\"));
        }
        let long = status(ProgramState::Error, &"ä".repeat(2_000)).sequence("pi");
        let text = long
            .split_once("msg=")
            .unwrap()
            .1
            .trim_end_matches("\x1b\\");
        assert_eq!(STANDARD.decode(text).unwrap().len(), MAX_MESSAGE);
    }

    #[test]
    fn changes_are_sent_once_the_terminal_confirms() {
        let mut report = ProgramStatusReport::new(ProgramStatusSupport::Query);
        assert_eq!(report.start(), QUERY_PROGRAM_STATUS);
        assert_eq!(report.set(working(), "pi"), "");
        assert_ne!(report.receive(&TerminalReply::ProgramStatus, "pi"), "");
        assert_eq!(report.set(working(), "pi"), "", "unchanged");
        assert_ne!(report.set(ProgramStatus::default(), "pi"), "");
        let mut never = ProgramStatusReport::new(ProgramStatusSupport::Never);
        assert_eq!(never.start(), "");
        assert_eq!(never.receive(&TerminalReply::ProgramStatus, "pi"), "");
        assert_eq!(never.set(working(), "pi"), "");
    }
}
