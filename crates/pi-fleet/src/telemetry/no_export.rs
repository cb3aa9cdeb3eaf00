//! What the feature `otel` replaces: spans stay in this process.

use pi_env::Env;
use tracing::Span;

/// Exports nothing.
pub(crate) struct Exporter;

impl Exporter {
    #[expect(clippy::unnecessary_wraps, reason = "an exporter may fail")]
    pub(crate) fn start(_env: &Env) -> Result<Self, String> {
        Ok(Self)
    }

    #[expect(clippy::unused_async, reason = "an exporter waits")]
    pub(crate) async fn stop(self) {}
}

pub(super) fn set_parent(_span: &Span, _parent: &str) {}

pub(super) fn trace_parent(_span: &Span) -> Option<String> {
    None
}

pub(super) fn set_finish_reasons(_span: &Span, _reason: &str) {}
