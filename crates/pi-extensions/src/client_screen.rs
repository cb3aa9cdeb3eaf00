//! Components of extensions for clients without a terminal.

use std::path::Path;

use futures_util::future::BoxFuture;
use pi_protocol::settings::Settings;
use pi_protocol::{ScreenRow, ScreenSize};
use serde_json::Value;

use crate::front_end::ExtensionNotice;
use crate::handle::ExtensionHandle;
use crate::screen::{ExtensionScreen, ThemeData};

/// Identifies a shown component for clients: the `id` of its `screen_mount`. Never reused by a screen.
pub type MountSerial = u64;

/// Draws components of extensions off-screen, for any number of clients.
pub trait ClientScreen: Send + Sync {
    /// Connects the extensions of a session, or none. Everything previous extensions showed is removed.
    fn connect(&self, handle: Option<ExtensionHandle>);

    /// Returns the screen, once a client has opened it.
    fn opened(&self) -> Option<&dyn ExtensionScreen>;

    /// Opens the screen before a session starts, so that its extensions see it from the beginning.
    fn prepare(&self, size: ScreenSize);

    /// Opens the screen for a client. The size applies to all clients.
    fn open(&self, size: ScreenSize) -> Box<dyn ScreenFeed>;

    fn resize(&self, size: ScreenSize);

    /// Queues input for a component, or for the focused one.
    fn input(&self, serial: Option<MountSerial>, data: String);

    /// Draws a row of the transcript. Returns the lines by part; none if no extension draws it.
    fn render(&self, row: ScreenRow, expanded: bool, cwd: &Path) -> BoxFuture<'static, Value>;

    /// Records what components can query, such as status lines.
    fn observe(&self, notice: &ExtensionNotice);

    /// Returns the theme that `settings` select.
    fn theme(&self, settings: &Settings, agent_dir: &Path) -> ThemeData;
}

/// What a client shows, as lines of the protocol. Dropping it disconnects the client.
pub trait ScreenFeed: Send {
    /// Waits for the next line. Can be canceled without losing one.
    fn next(&mut self) -> BoxFuture<'_, String>;
}
