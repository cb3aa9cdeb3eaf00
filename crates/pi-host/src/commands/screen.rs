//! Input and size of the screen that clients show.

use pi_extensions::ClientScreen;
use pi_protocol::{ScreenRow, ScreenSize};

use super::{AcceptedCommand, CommandResult};
use crate::runtime::{SessionRuntime, extension_ui};
use crate::session::AgentSession;

/// Without a screen, there is nothing that could receive it.
pub(super) fn input(
    runtime: &SessionRuntime,
    component: Option<u64>,
    data: String,
) -> AcceptedCommand {
    with_screen(runtime, |screen| screen.input(component, data))
}

pub(super) fn resize(runtime: &SessionRuntime, size: ScreenSize) -> AcceptedCommand {
    with_screen(runtime, |screen| screen.resize(size))
}

pub(super) async fn render(
    runtime: &SessionRuntime,
    session: &AgentSession,
    row: ScreenRow,
    expanded: bool,
) -> CommandResult {
    let screen = extension_ui(runtime).client_screen();
    let drawn = match screen {
        Some(screen) => screen.render(row, expanded, session.cwd()).await,
        None => serde_json::json!({}),
    };
    AcceptedCommand::with_data(&drawn)
}

fn with_screen(
    runtime: &SessionRuntime,
    change: impl FnOnce(&dyn ClientScreen),
) -> AcceptedCommand {
    if let Some(screen) = extension_ui(runtime).client_screen() {
        change(screen);
    }
    AcceptedCommand::done()
}
