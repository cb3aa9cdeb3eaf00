//! `/share`: what is about to leave the machine is shown first, then uploaded with the user's `gh`.

use pi_runtime::{Gist, GhCli, HtmlOptions, ShareError, SharePage, secrets_in_use};
use tokio_util::sync::CancellationToken;

use super::App;
use crate::block::BlockView;
use crate::blocks::LinksBlock;
use crate::dialogs::Question;
use crate::size_text::size_text;

impl App {
    /// Prepares a page without secrets and asks whether it may be shared.
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
                what: "the page could not be written",
                source: error.into(),
            })??;
            Ok((program, page))
        };
        self.status("Preparing the page…");
        self.spawn(work, |app, prepared| match prepared {
            Ok((program, page)) => app.ask_to_share(program, page),
            Err(error) => app.sharing_failed(&error),
        });
    }

    fn ask_to_share(&mut self, program: GhCli, page: SharePage) {
        let redacted = match page.redacted {
            0 => "No secrets were found in it.".to_owned(),
            1 => "One secret was replaced in it.".to_owned(),
            count => format!("{count} secrets were replaced in it."),
        };
        let question = Question {
            title: "Share this session?".to_owned(),
            details: Some(format!(
                "A page of {} with the whole conversation, all its branches, is uploaded to GitHub \
                 as a secret gist. Whoever has the link can read it. {redacted} Have a look at it \
                 first if you are not sure.",
                size_text(page.bytes),
            )),
            ..Question::default()
        };
        let choices = ["Share it", "Look at the page first", "Do not share it"];
        self.ask(question, &choices, move |app, chosen| match chosen {
            Some(0) => app.upload(program, page),
            Some(1) => {
                let path = page.path().to_owned();
                app.open_file(path);
                app.ask_to_share(program, page);
            }
            _ => app.status("Nothing was shared"),
        });
    }

    fn upload(&mut self, program: GhCli, page: SharePage) {
        let given_up = |app: &mut Self| app.status("Sharing was cancelled");
        let subject = size_text(page.bytes);
        let work = self.watch_work("Sharing the session", &subject, given_up);
        let watched = work.clone();
        watched.tell("gh uploads the page…", None);
        let create = async move { program.create(&page, &watched.cancel).await };
        self.spawn(create, move |app, created| {
            app.end_work(&work);
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
        let view = BlockView::new(links, self.look.clone());
        self.with_transcript(|transcript, document| transcript.append(document, view));
        self.copy(gist.viewer_url.clone(), "The link is on the clipboard");
    }

    fn sharing_failed(&mut self, error: &ShareError) {
        let told = pi_runtime::describe_error(error);
        self.error(match error.hint() {
            Some(advice) => format!("{told}; {advice}"),
            None => told,
        });
    }
}
