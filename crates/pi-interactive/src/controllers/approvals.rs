//! Tool calls that need the user's approval, asked one at a time.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use pi_protocol::{Answer, Request, RequestId, RequestKind, SessionEvent, json};
use pi_views::dialogs::QuestionOptions;
use pi_views::dialogs::intent::QuestionAnswer;

use super::dialogs::{Asker, DialogMsg, DialogRequest};
use crate::app::command::AppCommand;
use crate::session::command::SessionCommand;

/// The first choice is preselected and changes nothing.
const CHOICES: [&str; 3] = [
    "Deny",
    "Allow once",
    "Allow this exact call in this session",
];

/// Maximum number of characters of the arguments shown.
const MAX_ARGUMENTS: usize = 2000;

#[derive(Debug)]
pub(crate) enum ApprovalMsg {
    Requested(Request),
    /// Answered by any client, or no longer needed.
    Resolved(RequestId),
    Answered(QuestionAnswer),
    /// The answer reached the session, or why it did not.
    Sent(Result<(), String>),
    SessionReplaced,
}

impl ApprovalMsg {
    pub(crate) fn of(event: &SessionEvent) -> Option<Self> {
        match event {
            SessionEvent::ApprovalRequested { request } => Some(Self::Requested(request.clone())),
            SessionEvent::ApprovalResolved { request, .. } => Some(Self::Resolved(request.clone())),
            _ => None,
        }
    }
}

/// The calls that wait for an answer; the question about the first one is open.
#[derive(Debug, Default)]
pub(crate) struct ApprovalController {
    waiting: VecDeque<Request>,
}

impl ApprovalController {
    /// Whether a call waits for an answer.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(crate) fn update(&mut self, message: ApprovalMsg) -> Vec<AppCommand> {
        match message {
            ApprovalMsg::Requested(request) => {
                self.waiting.push_back(request);
                match self.waiting.len() {
                    1 => self.ask().into_iter().collect(),
                    _ => Vec::new(),
                }
            }
            ApprovalMsg::Resolved(id) => self.resolved(&id),
            ApprovalMsg::Answered(answer) => self.answered(&answer),
            ApprovalMsg::Sent(Ok(())) => Vec::new(),
            // Another client answered first, or the call no longer waits.
            ApprovalMsg::Sent(Err(message)) => vec![AppCommand::status(message)],
            ApprovalMsg::SessionReplaced => {
                self.waiting.clear();
                Vec::new()
            }
        }
    }

    /// Opens the question about the first call.
    fn ask(&self) -> Option<AppCommand> {
        let request = self.waiting.front()?;
        let RequestKind::Approval {
            tool_name,
            args,
            reason,
        } = &request.kind
        else {
            return None;
        };
        let command = args.get("command").and_then(|command| command.as_str());
        let arguments = match command.filter(|_| args.len() == 1) {
            Some(command) => command.to_owned(),
            None => json::to_string(args).unwrap_or_default(),
        };
        let mut details = excerpt(&arguments);
        if let Some(reason) = reason {
            details = format!("{reason}\n{details}");
        }
        Some(AppCommand::send(DialogMsg::Ask {
            request: DialogRequest::Choose {
                question: QuestionOptions {
                    title: format!("Allow {tool_name}?"),
                    details: Some(details),
                    guards_type_ahead: true,
                    ..QuestionOptions::default()
                },
                choices: CHOICES.map(str::to_owned).to_vec(),
            },
            asker: Asker::Approval,
        }))
    }

    fn resolved(&mut self, id: &RequestId) -> Vec<AppCommand> {
        let is_open = self.waiting.front().is_some_and(|open| open.id == *id);
        self.waiting.retain(|request| request.id != *id);
        let mut commands = Vec::new();
        if is_open {
            commands.push(AppCommand::send(DialogMsg::Finish(Asker::Approval)));
            commands.extend(self.ask());
        }
        commands
    }

    fn answered(&mut self, answer: &QuestionAnswer) -> Vec<AppCommand> {
        let Some(request) = self.waiting.pop_front() else {
            return Vec::new();
        };
        let answer = match answer {
            QuestionAnswer::Chosen(1) => Answer::Allow,
            QuestionAnswer::Chosen(2) => Answer::AllowForSession,
            _ => Answer::Deny { reason: None },
        };
        let mut commands = vec![AppCommand::Session(SessionCommand::Answer {
            request: request.id,
            answer,
        })];
        commands.extend(self.ask());
        commands
    }
}

fn excerpt(arguments: &str) -> String {
    match arguments.char_indices().nth(MAX_ARGUMENTS) {
        Some((end, _)) => {
            let shown = arguments.get(..end).unwrap_or_default();
            let more = arguments.len() - end;
            format!("{shown}… ({more} more bytes)")
        }
        None => arguments.to_owned(),
    }
}
