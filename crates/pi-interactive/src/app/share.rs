//! `/share`: shows what would be uploaded, then uploads it with the user's `gh`.

use pi_export::{GhCli, Gist, HtmlOptions, ShareError, SharePage, secrets_in_use};
use tokio_util::sync::CancellationToken;

use super::App;
use crate::block::BlockView;
use crate::blocks::LinksBlock;
use crate::byte_size::format_size;
use crate::dialogs::QuestionOptions;

impl App {
    /// Prepares a redacted page and asks for confirmation.
    pub(crate) fn share(&mut self) {
        let services = self.runtime.services();
        let program = match GhCli::find(&services.env) {
            Ok(program) => program,
            Err(error) => return self.sharing_failed(&error),
        };
        let session = self.session.clone();
        let theme = self.export_theme();
        let cancel = CancellationToken::new();
        let work = async move {
            program.check(&cancel).await?;
            let redaction = secrets_in_use(session.models(), &services.env).await;
            let write = move || {
                let options = HtmlOptions {
                    theme,
                    system_prompt: Some(session.system_prompt()),
                    redaction,
                    env: services.env.clone(),
                    ..HtmlOptions::default()
                };
                session.with_session(|session| SharePage::write(session, options))
            };
            let written = tokio::task::spawn_blocking(write).await;
            let page = written.map_err(|error| ShareError::System {
                what: "cannot write the page",
                source: error.into(),
            })??;
            Ok((program, page))
        };
        self.status("Preparing page…");
        self.spawn(work, |app, prepared| match prepared {
            Ok((program, page)) => app.ask_to_share(program, page),
            Err(error) => app.sharing_failed(&error),
        });
    }

    fn ask_to_share(&mut self, program: GhCli, page: SharePage) {
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
        let choices = ["Share", "Preview the page", "Cancel"];
        self.ask(question, &choices, move |app, chosen| match chosen {
            Some(0) => app.upload(program, page),
            Some(1) => {
                let path = page.path().to_owned();
                app.open_file(path);
                app.ask_to_share(program, page);
            }
            _ => app.status("Not shared"),
        });
    }

    fn upload(&mut self, program: GhCli, page: SharePage) {
        let on_cancel = |app: &mut Self| app.status("Sharing canceled");
        let subject = format_size(page.bytes);
        let work = self.show_progress("Sharing session", &subject, on_cancel);
        let handle = work.clone();
        handle.report("Uploading with gh…", None);
        let create = async move { program.create(&page, &handle.cancel).await };
        self.spawn(create, move |app, created| {
            app.finish_progress(&work);
            match created {
                Ok(gist) => app.shared(&gist),
                Err(ShareError::Cancelled) => {}
                Err(error) => app.sharing_failed(&error),
            }
        });
    }

    fn shared(&mut self, gist: &Gist) {
        let links = LinksBlock::new(vec![
            ("Share URL", gist.viewer_url.clone()),
            ("Gist", gist.url.clone()),
        ]);
        let view = BlockView::new(links, self.ui.clone());
        self.with_transcript(|transcript, document| transcript.append(document, view));
        self.copy(gist.viewer_url.clone(), "Link copied");
    }

    fn sharing_failed(&mut self, error: &ShareError) {
        let message = pi_runtime::describe_error(error);
        self.error(match error.hint() {
            Some(advice) => format!("{message}; {advice}"),
            None => message,
        });
    }
}
