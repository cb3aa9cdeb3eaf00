//! What reaches beyond the screen: the shell, editors, the clipboard, the browser.

use std::path::PathBuf;

use pi_tui::{Capabilities, TerminalEnvironment, probe_tmux_hyperlinks};

use super::App;
use crate::clipboard::{self, Pasted};
use crate::crash;
use crate::external_editor;
use crate::terminal_setup::overrides;
use crate::transcript::NoticeLevel;
use crate::web_address::is_web;

impl App {
    /// Stops the program until the shell continues it.
    pub(super) fn suspend(&mut self) {
        if cfg!(unix) {
            self.suspending = true;
        } else {
            self.status("This system has no shell to suspend to");
        }
    }

    /// Lets the user edit the prompt in an editor of their own; the session goes on meanwhile.
    pub(super) fn edit_externally(&mut self) {
        let text = if self.screen.has_foreign_editor() {
            self.prompt_text()
        } else {
            self.screen
                .with_editor(|area| area.editor().expanded_text())
        };
        self.run_editor(text, |app, edited| app.set_prompt(&edited));
    }

    /// Runs the user's editor on a text.
    pub(crate) fn run_editor(
        &mut self,
        text: String,
        then: impl FnOnce(&mut Self, String) + Send + 'static,
    ) {
        let services = self.runtime.services();
        let command = services.settings.settings().external_editor(&services.env);
        if let Err(error) = self.screen.runner().hand_over() {
            self.error(pi_runtime::describe_error(&error));
            return;
        }
        self.terminal_lent = true;
        self.spawn(external_editor::edit(command, text), |app, result| {
            app.terminal_lent = false;
            if let Err(error) = app.screen.runner().take_back() {
                tracing::error!(%error, "the terminal did not come back from the editor");
                app.leave(crate::ExitReason::Terminated);
                return;
            }
            app.screen.runner().tui().repaint();
            match result {
                Ok(Some(edited)) => then(app, edited),
                Ok(None) => app.status("The editor left the text as it was"),
                Err(error) => app.error(pi_runtime::describe_error(&error)),
            }
        });
    }

    /// Copies the last answer.
    pub(crate) fn copy_answer(&mut self) {
        if let Some(selected) = self.screen.peek().selected_text() {
            self.copy(selected, "The selection is on the clipboard");
            return;
        }
        let session = self.session.clone();
        self.spawn_blocking(
            move || session.last_assistant_text(),
            |app, text| match text {
                Ok(Some(text)) => app.copy(text, "The last answer is on the clipboard"),
                Ok(None) => app.status("There is no answer to copy yet"),
                Err(error) => app.error(pi_runtime::describe_error(&error)),
            },
        );
    }

    /// Copies a text, through the system and through the terminal.
    pub(crate) fn copy(&mut self, text: String, done: &'static str) {
        self.written(|app| app.screen.runner().copy(&text));
        self.spawn_blocking(
            move || clipboard::write(text),
            move |app, result| {
                if let Err(error) = result {
                    // The terminal has been asked too, which is all there is over SSH.
                    tracing::debug!(%error, "the system's clipboard is out of reach");
                }
                app.status(done);
            },
        );
    }

    /// Pastes an image of the clipboard as a file, or its text.
    pub(super) fn paste_clipboard(&mut self) {
        self.spawn_blocking(clipboard::read, |app, pasted| match pasted {
            Ok(Pasted::Image(path)) => app.insert_at_prompt(&path.to_string_lossy()),
            Ok(Pasted::Text(text)) => app.insert_at_prompt(&text),
            Ok(Pasted::Nothing) => app.status("The clipboard is empty"),
            Err(error) => app.status(format!("The clipboard cannot be read: {error}")),
        });
    }

    /// Opens an address in the browser.
    pub(crate) fn open_url(&mut self, url: String) {
        if !is_web(&url) {
            self.tell(
                NoticeLevel::Warning,
                format!("Not opened, it is no web address: {url}"),
            );
            return;
        }
        self.spawn_blocking(
            move || open::that_detached(&url).map_err(|error| (url, error)),
            |app, opened| {
                if let Err((url, error)) = opened {
                    app.tell(
                        NoticeLevel::Warning,
                        format!("{url} could not be opened: {error}"),
                    );
                }
            },
        );
    }

    /// Opens a file with the program the system has for it.
    pub(crate) fn open_file(&mut self, path: PathBuf) {
        self.spawn_blocking(
            move || open::that_detached(&path).map_err(|error| (path, error)),
            |app, opened| {
                if let Err((path, error)) = opened {
                    let text = format!("{} could not be opened: {error}", path.display());
                    app.tell(NoticeLevel::Warning, text);
                }
            },
        );
    }

    /// Tells the user, who may look elsewhere, that long work is done.
    pub(super) fn notify_done(&mut self) {
        let since = self.run_began.take();
        if since.is_some_and(|since| since.elapsed() >= super::LONG_RUN) {
            self.written(|app| app.screen.runner().ring());
        }
    }

    /// Asks tmux, which takes a while, whether it passes links on.
    pub(crate) fn probe_terminal(&mut self) {
        let env = self.runtime.services().env.clone();
        let settings = self.session.settings().settings();
        let before = self.look.appearance().capabilities;
        self.spawn_blocking(
            move || {
                let lookup = |name: &str| env.var(name);
                let environment = TerminalEnvironment::new(&lookup);
                Capabilities::resolve(environment, overrides(&settings), probe_tmux_hyperlinks)
            },
            move |app, capabilities| {
                if capabilities != before {
                    app.change_look(|appearance| appearance.capabilities = capabilities);
                }
            },
        );
    }

    /// Mentions that the program crashed the last time.
    pub(crate) fn mention_crash(&mut self) {
        let directory: PathBuf = self.runtime.services().agent_dir.path().to_owned();
        self.spawn_blocking(
            move || crash::take_record(&directory),
            |app, record| {
                if let Some(record) = record {
                    let text = format!(
                        "pi ended unexpectedly the last time; the session was kept. Details are in {}",
                        record.display()
                    );
                    app.tell(NoticeLevel::Warning, text);
                }
            },
        );
    }

    /// Writes what is on the screen, and what the model sees, to a file.
    pub(crate) fn write_debug_record(&mut self) {
        let file = self
            .runtime
            .services()
            .agent_dir
            .path()
            .join("pi-debug.log");
        let size = self.screen.peek().size();
        let transcript = self.screen.peek().transcript();
        let lines: Vec<String> = transcript
            .lines(0..transcript.line_count())
            .map(|line| format!("{:?}", line.as_str()))
            .collect();
        let session = self.session.clone();
        let env = self.runtime.services().env.clone();
        self.spawn_blocking(
            move || {
                let messages = session.messages().map(|messages| {
                    let lines = messages
                        .iter()
                        .map(|message| serde_json::to_string(&**message));
                    lines.flatten().collect::<Vec<_>>().join("\n")
                });
                let messages = messages.unwrap_or_else(|error| error.to_string());
                let text = format!(
                    "terminal: {}x{}\n\n== lines ==\n{}\n\n== messages ==\n{messages}\n",
                    size.columns,
                    size.rows,
                    lines.join("\n"),
                );
                let redaction = pi_runtime::environment_secrets(&env).and_by_shape();
                let written = pi_config::atomic_file::write(
                    &file,
                    redaction.clean(&text).as_bytes(),
                    pi_config::atomic_file::NewFileMode::Private,
                );
                written.map(|()| file)
            },
            |app, result| match result {
                Ok(file) => app.status(format!("The record is in {}", file.display())),
                Err(error) => app.error(format!("The record could not be written: {error}")),
            },
        );
    }
}
