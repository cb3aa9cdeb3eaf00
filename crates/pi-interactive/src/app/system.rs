//! Interaction with the system: the shell, external editors, the clipboard, the browser.

use std::path::PathBuf;

use pi_tui::{TerminalCapabilities, TerminalEnvironment, probe_tmux_hyperlinks};

use super::App;
use crate::clipboard::{self, ClipboardContents};
use crate::crash;
use crate::external_editor;
use crate::terminal_setup::overrides;
use crate::transcript::NoticeLevel;
use crate::web_address::is_web;

impl App {
    /// Suspends the process until the shell resumes it.
    pub(super) fn suspend(&mut self) {
        if cfg!(unix) {
            self.suspending = true;
        } else {
            self.status("Suspending is not supported on this platform");
        }
    }

    /// Opens the prompt in an external editor; the session keeps running.
    pub(super) fn edit_externally(&mut self) {
        let text = if self.screen.has_extension_editor() {
            self.prompt_text()
        } else {
            self.screen
                .with_editor(|area| area.editor().expanded_text())
        };
        self.run_editor(text, |app, edited| app.set_prompt(&edited));
    }

    /// Edits a text in the external editor.
    pub(crate) fn run_editor(
        &mut self,
        text: String,
        then: impl FnOnce(&mut Self, String) + Send + 'static,
    ) {
        let services = self.runtime.services();
        let command = services.settings.settings().external_editor(&services.env);
        if let Err(error) = self.screen.runner().release_terminal() {
            self.error(pi_runtime::describe_error(&error));
            return;
        }
        self.terminal_suspended = true;
        self.spawn(external_editor::edit(command, text), |app, result| {
            app.terminal_suspended = false;
            if let Err(error) = app.screen.runner().reclaim_terminal() {
                tracing::error!(%error, "cannot restore the terminal after the editor");
                app.leave(crate::ExitReason::Terminated);
                return;
            }
            app.screen.runner().tui_mut().repaint();
            match result {
                Ok(Some(edited)) => then(app, edited),
                Ok(None) => app.status("No changes from the editor"),
                Err(error) => app.error(pi_runtime::describe_error(&error)),
            }
        });
    }

    /// Copies the selection, or else the last response.
    pub(crate) fn copy_answer(&mut self) {
        if let Some(selected) = self.screen.peek().selected_text() {
            self.copy(selected, "Copied the selection");
            return;
        }
        let session = self.session.clone();
        self.spawn_blocking(
            move || session.last_assistant_text(),
            |app, text| match text {
                Ok(Some(text)) => app.copy(text, "Copied the last response"),
                Ok(None) => app.status("No response to copy"),
                Err(error) => app.error(pi_runtime::describe_error(&error)),
            },
        );
    }

    /// Copies text through the system clipboard and through the terminal (OSC 52).
    pub(crate) fn copy(&mut self, text: String, done: &'static str) {
        self.write_terminal(|app| app.screen.runner().copy(&text));
        self.spawn_blocking(
            move || clipboard::write(text),
            move |app, result| {
                if let Err(error) = result {
                    // Over SSH only OSC 52 works, and the text was already sent that way.
                    tracing::debug!(%error, "system clipboard not available");
                }
                app.status(done);
            },
        );
    }

    /// Pastes the clipboard: an image as the path of a temporary file, otherwise text.
    pub(super) fn paste_clipboard(&mut self) {
        self.spawn_blocking(clipboard::read, |app, pasted| match pasted {
            Ok(ClipboardContents::Image(path)) => app.insert_at_prompt(&path.to_string_lossy()),
            Ok(ClipboardContents::Text(text)) => app.insert_at_prompt(&text),
            Ok(ClipboardContents::Nothing) => app.status("The clipboard is empty"),
            Err(error) => app.status(format!("Cannot read the clipboard: {error}")),
        });
    }

    /// Opens a URL in the browser.
    pub(crate) fn open_url(&mut self, url: String) {
        if !is_web(&url) {
            self.notify(
                NoticeLevel::Warning,
                format!("Not a web URL, not opened: {url}"),
            );
            return;
        }
        self.spawn_blocking(
            move || open::that_detached(&url).map_err(|error| (url, error)),
            |app, opened| {
                if let Err((url, error)) = opened {
                    app.notify(NoticeLevel::Warning, format!("Cannot open {url}: {error}"));
                }
            },
        );
    }

    /// Opens a file with the default application.
    pub(crate) fn open_file(&mut self, path: PathBuf) {
        self.spawn_blocking(
            move || open::that_detached(&path).map_err(|error| (path, error)),
            |app, opened| {
                if let Err((path, error)) = opened {
                    let text = format!("Cannot open {}: {error}", path.display());
                    app.notify(NoticeLevel::Warning, text);
                }
            },
        );
    }

    /// Sends a notification that a long run is done.
    pub(super) fn notify_done(&mut self) {
        let since = self.run_started.take();
        if since.is_some_and(|since| since.elapsed() >= super::LONG_RUN) {
            self.write_terminal(|app| app.screen.runner().ring_bell());
        }
    }

    /// Asks tmux whether it forwards hyperlinks; this takes a moment, so it runs in the background.
    pub(crate) fn probe_terminal(&mut self) {
        let env = self.runtime.services().env.clone();
        let settings = self.session.settings().settings();
        let before = self.ui.context().capabilities;
        self.spawn_blocking(
            move || {
                let lookup = |name: &str| env.var(name);
                let environment = TerminalEnvironment::new(&lookup);
                TerminalCapabilities::resolve(
                    environment,
                    overrides(&settings),
                    probe_tmux_hyperlinks,
                )
            },
            move |app, capabilities| {
                if capabilities != before {
                    app.update_ui(|ctx| ctx.capabilities = capabilities);
                }
            },
        );
    }

    /// Reports a crash of the previous run, once.
    pub(crate) fn report_last_crash(&mut self) {
        let directory: PathBuf = self.runtime.services().agent_dir.path().to_owned();
        self.spawn_blocking(
            move || crash::take_unreported(&directory),
            |app, record| {
                if let Some(record) = record {
                    let text = format!(
                        "pi crashed in the previous run; the session was saved. Crash record: {}",
                        record.display()
                    );
                    app.notify(NoticeLevel::Warning, text);
                }
            },
        );
    }

    /// Writes the screen contents and the model's messages to a file.
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
                let redaction = pi_export::environment_secrets(&env).with_pattern_detection();
                let written = pi_fs::atomic_file::write(
                    &file,
                    redaction.redact(&text).as_bytes(),
                    pi_fs::NewFileMode::Private,
                );
                written.map(|()| file)
            },
            |app, result| match result {
                Ok(file) => app.status(format!("Debug dump written to {}", file.display())),
                Err(error) => app.error(format!("Cannot write the debug dump: {error}")),
            },
        );
    }
}
