//! `/bug`: writes a bug report to disk. Nothing is uploaded.

use pi_export::{BugReport, WrittenReport, secrets_in_use};
use serde_json::json;

use super::App;
use crate::byte_size::format_size;
use crate::crash;
use crate::dialogs::QuestionOptions;
use crate::transcript::NoticeLevel;

/// Environment variable with the path of the log file.
const LOG: &str = "PI_LOG";

impl App {
    /// Asks for a description unless one is given, then what to include.
    pub(crate) fn report_problem(&mut self, description: &str) {
        let description = description.trim();
        if !description.is_empty() {
            return self.ask_report(Some(description.to_owned()));
        }
        let question = QuestionOptions {
            title: "What went wrong?".to_owned(),
            details: Some(
                "Writes a report archive to the current directory. Nothing is uploaded.".to_owned(),
            ),
            ..QuestionOptions::default()
        };
        self.ask_line(
            question,
            "a short description (optional)",
            |app, text| match text {
                Some(text) => {
                    let text = text.trim().to_owned();
                    app.ask_report(Some(text).filter(|text| !text.is_empty()));
                }
                None => app.status("No report written"),
            },
        );
    }

    fn ask_report(&mut self, description: Option<String>) {
        let question = QuestionOptions {
            title: "Include the conversation?".to_owned(),
            details: Some(
                "The report contains versions, terminal, model and settings, the end of the log and the last crash, with keys and tokens redacted. Include the conversation to make it replayable: your messages, the responses, and all tool input and output."
                    .to_owned(),
            ),
            ..QuestionOptions::default()
        };
        let choices = ["Include the conversation", "Leave it out", "Cancel"];
        self.ask(question, &choices, move |app, chosen| match chosen {
            Some(index @ (0 | 1)) => app.write_report(description, index == 0),
            _ => app.status("No report written"),
        });
    }

    fn write_report(&mut self, description: Option<String>, with_conversation: bool) {
        let services = self.runtime.services();
        let size = self.screen.peek().size();
        let capabilities = self.ui.context().capabilities;
        let report = BugReport {
            description,
            with_conversation,
            version: self.options.version.clone(),
            terminal: json!({
                "columns": size.columns,
                "rows": size.rows,
                "capabilities": format!("{capabilities:?}"),
            }),
            log: services.env.var(LOG).map(Into::into),
            crash: crash::last_record(services.agent_dir.path()),
        };
        let session = self.session.clone();
        let work = async move {
            let redaction = secrets_in_use(session.models(), &services.env).await;
            let writing = (session.clone(), report.clone(), services.clone());
            let written = tokio::task::spawn_blocking(move || {
                let (session, report, services) = writing;
                let reported = session.reported(&services);
                session.with_session(|session| {
                    report.write(session, &reported, &redaction, &services.cwd)
                })
            });
            let written = written.await.map_err(|error| error.to_string())?;
            let written = written.map_err(|error| pi_runtime::describe_error(&error))?;
            let (kind, data) = report.entry(&written, &services.env);
            let remembered = session.append_custom_entry(kind, Some(data)).await;
            if let Err(error) = remembered {
                tracing::warn!(%error, "cannot record the report in the session");
            }
            Ok::<_, String>(written)
        };
        self.spawn(work, |app, written| match written {
            Ok(written) => app.reported(&written),
            Err(message) => app.error(message),
        });
    }

    fn reported(&mut self, written: &WrittenReport) {
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
        self.notify(NoticeLevel::Info, text);
    }
}
