//! A terminal whose extensions are also shown to clients.
//!
//! Components are mounted once and drawn for both: the terminal decides their size and focus, clients receive the same
//! lines and may type into them. Notices of extensions reach clients, too.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_host::{
    ChosenCompletion, ClientScreen, ClientUi, ComponentId, DialogResponse, EditorInfo,
    ExtensionCompletionRequest, ExtensionCompletions, ExtensionDialog, ExtensionFailure,
    ExtensionHandle, ExtensionMode, ExtensionNotice, ExtensionScreen, ExtensionShortcut,
    ExtensionUi, MountSerial, ScreenChange, ScreenFeed, ScreenInfo, ThemeData, ThemeInfo,
};
use pi_protocol::settings::Settings;
use pi_protocol::{ScreenRow, ScreenSize};
use serde_json::Value;

use crate::off_screen::{OffScreen, ThemeSource};

/// The extension UI of a terminal, shown to the clients of its session as well.
pub struct MirroredUi {
    screen: MirroredScreen,
    clients: ClientUi,
}

impl MirroredUi {
    /// `clients` shows notices to clients; use the same one in the options of the session. Without a terminal screen,
    /// nothing is mirrored but notices.
    pub fn new(terminal: Arc<dyn ExtensionUi>, clients: ClientUi, theme: ThemeSource) -> Self {
        Self {
            screen: MirroredScreen {
                terminal,
                clients: OffScreen::mirror(theme),
            },
            clients,
        }
    }

    fn terminal(&self) -> &dyn ExtensionUi {
        &*self.screen.terminal
    }
}

impl ExtensionUi for MirroredUi {
    fn mode(&self) -> ExtensionMode {
        self.terminal().mode()
    }

    fn notify(&self, notice: ExtensionNotice) -> BoxFuture<'static, ()> {
        ClientScreen::observe(&self.screen, &notice);
        // Clients never delay an extension.
        drop(self.clients.notify(notice.clone()));
        self.terminal().notify(notice)
    }

    fn show_dialog(&self, dialog: ExtensionDialog) -> BoxFuture<'static, DialogResponse> {
        self.terminal().show_dialog(dialog)
    }

    fn report_failure(&self, failure: ExtensionFailure) -> BoxFuture<'static, ()> {
        drop(self.clients.report_failure(failure.clone()));
        self.terminal().report_failure(failure)
    }

    fn request_shutdown(&self) {
        self.terminal().request_shutdown();
    }

    fn editor_text(&self) -> String {
        self.terminal().editor_text()
    }

    fn console(&self, text: &str) {
        self.terminal().console(text);
    }

    fn theme(&self, settings: &Settings, agent_dir: &Path) -> Option<ThemeData> {
        self.terminal().theme(settings, agent_dir)
    }

    fn screen(&self) -> Option<&dyn ExtensionScreen> {
        ClientScreen::opened(&self.screen)
    }

    fn client_screen(&self) -> Option<&dyn ClientScreen> {
        Some(&self.screen)
    }
}

struct MirroredScreen {
    terminal: Arc<dyn ExtensionUi>,
    clients: OffScreen,
}

impl MirroredScreen {
    /// Draws for clients at the size of the terminal.
    fn follow_size(&self) {
        if let Some(terminal) = self.terminal.screen() {
            let info = terminal.info();
            let cells = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
            self.clients.resize(ScreenSize {
                cols: cells(info.columns),
                rows: cells(info.rows),
            });
        }
    }
}

impl ClientScreen for MirroredScreen {
    fn connect(&self, handle: Option<ExtensionHandle>) {
        ClientScreen::connect(&self.clients, handle.clone());
        if let Some(terminal) = self.terminal.screen() {
            terminal.connect(handle);
        }
    }

    fn opened(&self) -> Option<&dyn ExtensionScreen> {
        self.terminal.screen()?;
        Some(self)
    }

    /// The terminal is the screen.
    fn prepare(&self, _size: ScreenSize) {}

    fn open(&self, size: ScreenSize) -> Box<dyn ScreenFeed> {
        let feed = self.clients.open(size);
        self.follow_size();
        feed
    }

    /// The terminal has the size.
    fn resize(&self, _size: ScreenSize) {}

    fn input(&self, serial: Option<MountSerial>, data: String) {
        self.clients.input(serial, data);
    }

    fn render(&self, row: ScreenRow, expanded: bool, cwd: &Path) -> BoxFuture<'static, Value> {
        self.clients.render(row, expanded, cwd)
    }

    fn observe(&self, notice: &ExtensionNotice) {
        self.clients.observe(notice);
    }

    fn theme(&self, settings: &Settings, agent_dir: &Path) -> ThemeData {
        ClientScreen::theme(&self.clients, settings, agent_dir)
    }
}

impl ExtensionScreen for MirroredScreen {
    fn connect(&self, handle: Option<ExtensionHandle>) {
        ClientScreen::connect(self, handle);
    }

    fn change(&self, extension: Option<&str>, change: ScreenChange) {
        if let Some(terminal) = self.terminal.screen() {
            terminal.change(extension, change.clone());
        }
        if self.clients.has_clients() {
            self.follow_size();
        }
        self.clients.change(extension, change);
    }

    fn input_handled(&self) {
        if self.clients.has_clients() {
            self.clients.change(None, ScreenChange::Redraw);
        }
    }

    fn info(&self) -> ScreenInfo {
        let terminal = self.terminal.screen();
        terminal.map_or_else(ScreenInfo::default, ExtensionScreen::info)
    }

    fn editor_info(&self) -> EditorInfo {
        let terminal = self.terminal.screen();
        terminal.map_or_else(EditorInfo::default, ExtensionScreen::editor_info)
    }

    fn theme(&self, name: Option<&str>) -> Option<ThemeData> {
        self.terminal.screen()?.theme(name)
    }

    fn themes(&self) -> Vec<ThemeInfo> {
        let terminal = self.terminal.screen();
        terminal.map_or_else(Vec::new, ExtensionScreen::themes)
    }

    fn set_theme(&self, name: &str) -> Result<(), String> {
        match self.terminal.screen() {
            Some(terminal) => terminal.set_theme(name),
            None => Ok(()),
        }
    }

    fn shortcuts(&self) -> Vec<ExtensionShortcut> {
        let terminal = self.terminal.screen();
        terminal.map_or_else(Vec::new, ExtensionScreen::shortcuts)
    }

    fn overlay_bounds(&self, id: ComponentId) -> Option<[usize; 4]> {
        self.terminal.screen()?.overlay_bounds(id)
    }

    fn complete(
        &self,
        request: ExtensionCompletionRequest,
    ) -> BoxFuture<'static, Option<ExtensionCompletions>> {
        match self.terminal.screen() {
            Some(terminal) => terminal.complete(request),
            None => Box::pin(std::future::ready(None)),
        }
    }

    fn apply_completion(&self, chosen: &ChosenCompletion) -> (String, usize) {
        match self.terminal.screen() {
            Some(terminal) => terminal.apply_completion(chosen),
            None => (chosen.line.clone(), chosen.column),
        }
    }

    fn completes_path(&self, request: &ExtensionCompletionRequest) -> bool {
        let terminal = self.terminal.screen();
        terminal.is_some_and(|terminal| terminal.completes_path(request))
    }
}
