//! `/share` and `/export`: shows what would be uploaded, then uploads it with the user's `gh`.

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use pi_host::{Gist, PreparedShare};
use pi_views::dialogs::ProgressUpdate;
use pi_views::dialogs::QuestionOptions;
use pi_views::dialogs::dialog::DialogUpdate;
use pi_views::dialogs::intent::QuestionAnswer;
use pi_views::text::byte_size::format_size;
use tokio_util::sync::CancellationToken;

use super::dialogs::{Asker, DialogMsg, DialogRequest};
use super::terminal::TerminalMsg;
use crate::app::command::{AppCommand, ExportRequest};
use crate::app::tasks::AppTask;
use crate::transcript::TranscriptMsg;

const CHOICES: [&str; 3] = ["Share", "Preview the page", "Cancel"];

#[derive(Debug)]
pub(crate) enum ShareMsg {
    Export(Option<String>),
    Exported(Result<PathBuf, String>),
    /// Prepares a redacted page and asks for confirmation.
    Start,
    Prepared(Result<PreparedShare, String>),
    Answered(QuestionAnswer),
    /// `None` if it was canceled.
    Uploaded(Option<Result<Gist, String>>),
}

#[derive(Debug, Default)]
pub(crate) struct ShareController {
    /// The page that the open question is about.
    prepared: Option<PreparedShare>,
    /// Cancels the upload.
    upload: Option<CancellationToken>,
}

impl ShareController {
    pub(crate) fn update(&mut self, message: ShareMsg) -> Vec<AppCommand> {
        match message {
            ShareMsg::Export(output) => vec![AppCommand::Export(ExportRequest::File(output))],
            ShareMsg::Exported(Ok(path)) => vec![AppCommand::status(format!(
                "Session exported to {}",
                path.display()
            ))],
            ShareMsg::Start => vec![AppCommand::Export(ExportRequest::Share)],
            ShareMsg::Prepared(Ok(prepared)) => vec![self.ask(prepared)],
            ShareMsg::Answered(answer) => self.answered(&answer),
            ShareMsg::Uploaded(uploaded) => self.uploaded(uploaded),
            ShareMsg::Exported(Err(message)) | ShareMsg::Prepared(Err(message)) => {
                vec![AppCommand::error(message)]
            }
        }
    }

    fn ask(&mut self, prepared: PreparedShare) -> AppCommand {
        let page = &prepared.page;
        let redacted = match page.redacted {
            0 => "No secrets found.".to_owned(),
            1 => "1 secret redacted.".to_owned(),
            count => format!("{count} secrets redacted."),
        };
        let question = QuestionOptions {
            title: "Share this session?".to_owned(),
            details: Some(format!(
                "Uploads a {} page with the full conversation, including all branches, to GitHub as a secret gist. Anyone with the link can read it. {redacted} Preview the page if you are unsure.",
                format_size(page.bytes),
            )),
            ..QuestionOptions::default()
        };
        self.prepared = Some(prepared);
        AppCommand::send(DialogMsg::Ask {
            request: DialogRequest::Choose {
                question,
                choices: CHOICES.map(str::to_owned).to_vec(),
            },
            asker: Asker::Share,
        })
    }

    fn answered(&mut self, answer: &QuestionAnswer) -> Vec<AppCommand> {
        if let Some(upload) = self.upload.take() {
            upload.cancel();
            return vec![AppCommand::status("Sharing canceled")];
        }
        let Some(prepared) = self.prepared.take() else {
            return Vec::new();
        };
        match answer {
            QuestionAnswer::Chosen(0) => self.start_upload(prepared),
            QuestionAnswer::Chosen(1) => {
                let path = prepared.page.path().to_owned();
                vec![
                    AppCommand::send(TerminalMsg::OpenFile(path)),
                    self.ask(prepared),
                ]
            }
            _ => vec![AppCommand::status("Not shared")],
        }
    }

    fn start_upload(&mut self, prepared: PreparedShare) -> Vec<AppCommand> {
        let cancel = CancellationToken::new();
        self.upload = Some(cancel.clone());
        vec![
            AppCommand::send(DialogMsg::Ask {
                request: DialogRequest::Progress {
                    title: "Sharing session",
                    subject: format_size(prepared.page.bytes),
                },
                asker: Asker::Share,
            }),
            AppCommand::UpdateDialog(DialogUpdate::Progress(ProgressUpdate {
                message: "Uploading with gh…".to_owned(),
                share: None,
            })),
            AppCommand::Run(AppTask::new("upload the page", async move {
                let uploaded = prepared.upload(&cancel).await;
                ShareMsg::Uploaded(uploaded.map_err(|error| error.describe()).transpose())
            })),
        ]
    }

    fn uploaded(&mut self, uploaded: Option<Result<Gist, String>>) -> Vec<AppCommand> {
        let mut commands = Vec::new();
        if self.upload.take().is_some() {
            commands.push(AppCommand::send(DialogMsg::Finish(Asker::Share)));
        }
        match uploaded {
            Some(Ok(gist)) => {
                let links = vec![
                    ("Share URL", gist.viewer_url.clone()),
                    ("Gist", gist.url.clone()),
                ];
                commands.push(AppCommand::send(TranscriptMsg::Links(links)));
                commands.push(AppCommand::send(TerminalMsg::Copy {
                    text: gist.viewer_url,
                    done: "Link copied",
                }));
            }
            Some(Err(message)) => commands.push(AppCommand::error(message)),
            None => {}
        }
        commands
    }
}
