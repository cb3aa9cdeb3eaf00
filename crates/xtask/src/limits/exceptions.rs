//! What exceeds a limit today. Entries are removed, never added.

use super::Metric;

/// A value that may exceed its limit, up to a bound.
#[derive(Debug, Clone, Copy)]
pub(super) struct SizeException {
    pub(super) metric: Metric,
    /// A crate, or `crate::Type`.
    pub(super) name: &'static str,
    /// The value may fall, but not rise above this.
    pub(super) at_most: usize,
    pub(super) reason: &'static str,
}

/// Types and crates that are to be split.
pub(super) const SPLIT_PENDING: &[SizeException] =
    &[pending(Metric::Methods, "pi-host::AgentSession", 148)];

/// Plain data that mirrors a documented format one to one, where a split would separate the fields
/// from the format.
pub(super) const EXTERNAL_FORMATS: &[SizeException] = &[
    SizeException {
        metric: Metric::Fields,
        name: "pi-providers::CompletionsCompat",
        at_most: 26,
        reason: "the compat object of models.json",
    },
    SizeException {
        metric: Metric::Fields,
        name: "pi-config::Settings",
        at_most: 58,
        reason: "settings.json",
    },
];

const fn pending(metric: Metric, name: &'static str, at_most: usize) -> SizeException {
    SizeException {
        metric,
        name,
        at_most,
        reason: "split pending",
    }
}
