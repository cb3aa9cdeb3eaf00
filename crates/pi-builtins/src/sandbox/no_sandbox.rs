//! `/sandbox` in a session without a sandbox: how to turn it on.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pi_host::{
    ExtensionMode, ExtensionNotice, ExtensionUi, InputHook, NativeCommand, NativeParts,
    Participants,
};

use super::{DESCRIPTION, SHOW};

/// What `/sandbox` shows.
pub(super) const OFF: &str = "The sandbox is off: tools and commands run with your permissions.\n\
     To turn it on, start pi with --sandbox, or set \"sandbox\": {\"mode\": \"workspace\"} in settings.json and run /reload.";

/// Returns the command. Only the terminal lists it: RPC clients see the commands of the TypeScript pi.
pub(super) fn parts(ui: &Arc<dyn ExtensionUi>) -> NativeParts {
    let command = NativeCommand {
        name: SHOW,
        description: DESCRIPTION,
    };
    let is_listed = ui.mode() == ExtensionMode::Terminal;
    let hook = Arc::new(ShowOff(Arc::clone(ui)));
    NativeParts {
        commands: is_listed.then_some(command).into_iter().collect(),
        participants: Participants::builder().input(hook).build(),
        ..NativeParts::default()
    }
}

struct ShowOff(Arc<dyn ExtensionUi>);

impl InputHook for ShowOff {
    fn has_command(&self, name: &str) -> bool {
        name == SHOW
    }

    fn run_command<'a>(&'a self, _name: &'a str, _arguments: &'a str) -> BoxFuture<'a, ()> {
        let notice = ExtensionNotice::Notify {
            message: OFF.to_owned(),
            notify_type: Some("info".to_owned()),
        };
        self.0.notify(notice).boxed()
    }
}
