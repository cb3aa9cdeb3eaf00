//! What may exceed a limit. Entries are removed, never added.

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
        name: "pi-protocol::Settings",
        at_most: 68,
        reason: "settings.json",
    },
];
