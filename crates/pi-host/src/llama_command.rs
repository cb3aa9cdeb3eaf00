//! The `/llama` command of front ends without a terminal: it names the mode that has it, as clients of the TypeScript pi
//! expect. The terminal application has its own.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pi_extensions::{ExtensionMode, ExtensionNotice, ExtensionUi};

use crate::native_extensions::{NativeCommand, NativeContext, NativeParts};
use crate::participants::{InputHook, Participants};

const COMMAND: &str = "llama";

pub(crate) fn load(context: &NativeContext<'_>) -> NativeParts {
    if context.ui.mode() == ExtensionMode::Terminal {
        return NativeParts::default();
    }
    let hook = LlamaCommand {
        ui: Arc::clone(context.ui),
    };
    NativeParts {
        commands: vec![NativeCommand {
            name: COMMAND,
            description: "Load, unload and download llama.cpp models",
        }],
        participants: Participants::builder().input(Arc::new(hook)).build(),
        ..NativeParts::default()
    }
}

struct LlamaCommand {
    ui: Arc<dyn ExtensionUi>,
}

impl InputHook for LlamaCommand {
    fn has_command(&self, name: &str) -> bool {
        name == COMMAND
    }

    fn run_command<'a>(&'a self, _name: &'a str, _arguments: &'a str) -> BoxFuture<'a, ()> {
        let notice = ExtensionNotice::Notify {
            message: "/llama needs a terminal: run pi without --mode and --print".to_owned(),
            notify_type: Some("warning".to_owned()),
        };
        self.ui.notify(notice).boxed()
    }
}
