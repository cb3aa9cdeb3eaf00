//! `/bug` and `/session`: reports about a session. Nothing is uploaded.

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use pi_host::WrittenReport;
use pi_views::dialogs::QuestionOptions;
use pi_views::dialogs::intent::QuestionAnswer;
use pi_views::text::byte_size::format_size;

use super::dialogs::{Asker, DialogMsg, DialogRequest};
use crate::app::command::AppCommand;
use crate::transcript::NoticeLevel;

const CHOICES: [&str; 3] = ["Include the conversation", "Leave it out", "Cancel"];

#[derive(Debug)]
pub(crate) enum ReportMsg {
    /// Asks for a description unless one is given, then what to include.
    Start(String),
    Answered(QuestionAnswer),
    Written(Result<WrittenReport, String>),
    /// The text of `/session`.
    SessionDescribed(Result<String, String>),
    DebugRecordWritten(Result<PathBuf, String>),
    /// pi crashed in the previous run.
    CrashFound(Option<PathBuf>),
}

/// The question that is open.
#[derive(Debug, Default, PartialEq, Eq)]
enum ReportQuestion {
    #[default]
    None,
    Description,
    Contents {
        description: Option<String>,
    },
}

#[derive(Debug, Default)]
pub(crate) struct ReportController {
    question: ReportQuestion,
}

impl ReportController {
    pub(crate) fn update(&mut self, message: ReportMsg) -> Vec<AppCommand> {
        match message {
            ReportMsg::Start(description) => vec![self.start(description.trim())],
            ReportMsg::Answered(answer) => vec![self.answered(answer)],
            ReportMsg::Written(Ok(written)) => vec![reported(&written)],
            ReportMsg::SessionDescribed(Ok(report)) => {
                vec![AppCommand::notify(NoticeLevel::Report, report)]
            }
            ReportMsg::DebugRecordWritten(Ok(file)) => vec![AppCommand::status(format!(
                "Debug dump written to {}",
                file.display()
            ))],
            ReportMsg::DebugRecordWritten(Err(error)) => vec![AppCommand::error(format!(
                "Cannot write the debug dump: {error}"
            ))],
            ReportMsg::CrashFound(Some(record)) => vec![AppCommand::notify(
                NoticeLevel::Warning,
                format!(
                    "pi crashed in the previous run; the session was saved. Crash record: {}",
                    record.display()
                ),
            )],
            ReportMsg::CrashFound(None) => Vec::new(),
            ReportMsg::Written(Err(message)) | ReportMsg::SessionDescribed(Err(message)) => {
                vec![AppCommand::error(message)]
            }
        }
    }

    fn start(&mut self, description: &str) -> AppCommand {
        if !description.is_empty() {
            return self.ask_contents(Some(description.to_owned()));
        }
        self.question = ReportQuestion::Description;
        let question = QuestionOptions {
            title: "What went wrong?".to_owned(),
            details: Some(
                "Writes a report archive to the current directory. Nothing is uploaded.".to_owned(),
            ),
            ..QuestionOptions::default()
        };
        ask(DialogRequest::Line {
            question,
            example: "a short description (optional)",
        })
    }

    fn ask_contents(&mut self, description: Option<String>) -> AppCommand {
        self.question = ReportQuestion::Contents { description };
        let question = QuestionOptions {
            title: "Include the conversation?".to_owned(),
            details: Some(
                "The report contains versions, terminal, model and settings, the end of the log and the last crash, with keys and tokens redacted. Include the conversation to make it replayable: your messages, the responses, and all tool input and output."
                    .to_owned(),
            ),
            ..QuestionOptions::default()
        };
        ask(DialogRequest::Choose {
            question,
            choices: CHOICES.map(str::to_owned).to_vec(),
        })
    }

    fn answered(&mut self, answer: QuestionAnswer) -> AppCommand {
        match (std::mem::take(&mut self.question), answer) {
            (ReportQuestion::Description, QuestionAnswer::Text(text)) => {
                let text = text.trim().to_owned();
                self.ask_contents(Some(text).filter(|text| !text.is_empty()))
            }
            (ReportQuestion::Contents { description }, QuestionAnswer::Chosen(index @ (0 | 1))) => {
                AppCommand::WriteReport {
                    description,
                    with_conversation: index == 0,
                }
            }
            _ => AppCommand::status("No report written"),
        }
    }
}

fn ask(request: DialogRequest) -> AppCommand {
    AppCommand::send(DialogMsg::Ask {
        request,
        asker: Asker::Report,
    })
}

fn reported(written: &WrittenReport) -> AppCommand {
    let redacted = match written.redacted {
        0 => "no secrets found".to_owned(),
        1 => "1 secret redacted".to_owned(),
        count => format!("{count} secrets redacted"),
    };
    let text = format!(
        "Report written to {} ({}, {redacted}).\nContents: {}. Nothing was uploaded. Review it before you share it.",
        written.path.display(),
        format_size(written.bytes),
        written.files.join(", "),
    );
    AppCommand::notify(NoticeLevel::Info, text)
}
