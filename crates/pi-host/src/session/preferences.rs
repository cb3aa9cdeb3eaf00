//! Converts settings to the types of the crates that use them.

use pi_context::CompactionSettings;
use pi_protocol::Model;
use pi_protocol::settings::Settings;
use pi_providers::{StreamOptions, Timeouts};

/// Returns the compaction settings for a model.
pub(super) fn compaction(settings: &Settings, model: &Model) -> CompactionSettings {
    let tokens = settings.compaction_tokens(&model.provider, &model.id);
    CompactionSettings {
        enabled: settings.compaction_enabled(),
        reserve_tokens: tokens.reserve,
        keep_recent_tokens: tokens.keep_recent,
    }
}

/// Returns the request options.
pub(super) fn stream_options(settings: &Settings) -> StreamOptions {
    let defaults = StreamOptions::default();
    let idle = match settings.retry.provider.timeout() {
        Some(timeout) => Some(timeout),
        None => settings.http_idle_timeout(),
    };
    StreamOptions {
        timeouts: Timeouts {
            first_byte: idle,
            idle,
            websocket_connect: settings.websocket_connect_timeout(),
            ..defaults.timeouts
        },
        max_retries: settings
            .retry
            .provider
            .max_retries()
            .unwrap_or(defaults.max_retries),
        // A delay of zero disables the limit, which the settings express as `None`.
        max_retry_delay: Some(
            settings
                .retry
                .provider
                .max_retry_delay()
                .unwrap_or_default(),
        ),
        transport: settings.transport(),
        thinking_budgets: settings.thinking_budgets,
        ..defaults
    }
}
