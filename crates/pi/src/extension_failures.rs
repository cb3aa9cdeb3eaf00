//! Extension UI for non-interactive modes: no dialogs, failures go to stderr.

use futures_util::future::BoxFuture;
use pi_host::{ExtensionFailure, ExtensionMode, ExtensionUi};

use crate::output::warn;

pub(crate) struct PrintedFailures(pub(crate) ExtensionMode);

impl ExtensionUi for PrintedFailures {
    fn mode(&self) -> ExtensionMode {
        self.0
    }

    fn report_failure(&self, failure: ExtensionFailure) -> BoxFuture<'static, ()> {
        let ExtensionFailure { event, error, .. } = &failure;
        warn(&match &failure.extension {
            Some(extension) => format!("{extension} failed in {event}: {error}"),
            // The session reports its own problems this way, too.
            None => format!("{event}: {error}"),
        });
        Box::pin(std::future::ready(()))
    }
}
