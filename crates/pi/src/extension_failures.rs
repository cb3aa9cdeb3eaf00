//! Extensions in modes without a person: nothing is shown or asked, failures go to standard error.

use futures_util::future::BoxFuture;
use pi_runtime::{ExtensionFailure, ExtensionMode, ExtensionUi};

use crate::output::warn;

/// The front end of extensions in print and JSON mode.
pub(crate) struct PrintedFailures(pub(crate) ExtensionMode);

impl ExtensionUi for PrintedFailures {
    fn mode(&self) -> ExtensionMode {
        self.0
    }

    fn report_failure(&self, failure: ExtensionFailure) -> BoxFuture<'static, ()> {
        let whose = failure.extension.as_deref().unwrap_or("an extension");
        warn(&format!(
            "{whose} failed in {}: {}",
            failure.event, failure.error
        ));
        Box::pin(std::future::ready(()))
    }
}
