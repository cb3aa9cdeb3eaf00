//! Navigation in the session tree.

use std::time::Instant;

use pi_runtime::NavigateOptions;
use pi_session::EntryId;

use super::App;
use crate::screen::working::Activity;

impl App {
    /// Navigates to an entry; interrupts the current run first.
    pub(super) fn navigate(&mut self, target: EntryId, options: NavigateOptions) {
        let session = self.session.clone();
        if options.summarize {
            self.show_activity(Activity::Summarizing, Instant::now());
        }
        let work = async move {
            if session.is_streaming() {
                session.abort().await;
            }
            let moved = session.navigate_tree(&target, options).await;
            (target, moved)
        };
        self.spawn(work, |app, (target, moved)| {
            app.show_activity(Activity::Idle, Instant::now());
            match moved {
                Ok(moved) if moved.aborted => {
                    app.status("Branch not summarized");
                    app.open_tree(Some(target));
                }
                Ok(moved) if moved.cancelled => app.status("Canceled"),
                Ok(moved) => {
                    app.rebuild_transcript();
                    if let Some(text) = moved.editor_text
                        && app.prompt_text().trim().is_empty()
                    {
                        app.set_prompt(&text);
                    }
                    app.status("Moved to the selected entry");
                    app.send_queued_prompts();
                }
                Err(error) => app.error(pi_runtime::describe_error(&error)),
            }
        });
    }
}
