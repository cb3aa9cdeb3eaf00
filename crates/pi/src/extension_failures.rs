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
        let name = failure.extension.as_deref().unwrap_or("an extension");
        warn(&format!(
            "{name} failed in {}: {}",
            failure.event, failure.error
        ));
        Box::pin(std::future::ready(()))
    }
}
