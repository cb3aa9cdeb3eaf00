//! What the session takes from the settings, in the terms of the crates it hands them to.

use pi_agent::QueueMode;
use pi_ai::{Model, StreamOptions, Timeouts};
use pi_config::{DeliveryMode, Settings};
use pi_session::CompactionSettings;

/// Returns how a queue is drained.
pub(super) fn queue_mode(mode: DeliveryMode) -> QueueMode {
    match mode {
        DeliveryMode::All => QueueMode::All,
        DeliveryMode::OneAtATime => QueueMode::OneAtATime,
    }
}

/// Returns how a queue mode is written in settings.
pub(super) fn delivery_mode(mode: QueueMode) -> DeliveryMode {
    match mode {
        QueueMode::All => DeliveryMode::All,
        QueueMode::OneAtATime => DeliveryMode::OneAtATime,
    }
}

/// Returns when to compact the conversation with a model.
pub(super) fn compaction(settings: &Settings, model: &Model) -> CompactionSettings {
    let tokens = settings.compaction_tokens(&model.provider, &model.id);
    CompactionSettings {
        enabled: settings.compaction_enabled(),
        reserve_tokens: tokens.reserve,
        keep_recent_tokens: tokens.keep_recent,
    }
}

/// Returns how requests are made.
pub(super) fn stream_options(settings: &Settings) -> StreamOptions {
    let usual = StreamOptions::default();
    let idle = match settings.provider_timeout() {
        Some(timeout) => Some(timeout),
        None => settings.http_idle_timeout(),
    };
    StreamOptions {
        timeouts: Timeouts {
            first_byte: idle,
            idle,
            websocket_connect: settings.websocket_connect_timeout(),
            ..usual.timeouts
        },
        max_retries: settings.provider_max_retries().unwrap_or(usual.max_retries),
        // A pause of zero lifts the limit, which the settings spell as none.
        max_retry_delay: Some(settings.provider_max_retry_delay().unwrap_or_default()),
        transport: settings.transport(),
        thinking_budgets: settings.thinking_budgets,
        ..usual
    }
}
