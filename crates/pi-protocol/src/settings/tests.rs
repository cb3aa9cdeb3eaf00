//! Tests of effective values.

use std::time::Duration;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;
use crate::retry::RetryPolicy;

fn settings(value: Value) -> Settings {
    serde_json::from_value(value).unwrap()
}

#[test]
fn defaults() {
    let settings = Settings::default();
    assert_eq!(settings.default_thinking_level(), ThinkingLevel::Medium);
    assert_eq!(settings.steering_mode(), QueueMode::OneAtATime);
    assert_eq!(settings.follow_up_mode(), QueueMode::OneAtATime);
    assert_eq!(settings.cache_warming(), CacheWarming::Streaming);
    assert_eq!(settings.double_escape_action(), DoubleEscapeAction::Tree);
    assert_eq!(settings.tree_filter_mode(), TreeFilterMode::Default);
    assert_eq!(settings.default_project_trust(), ProjectTrustDefault::Ask);
    assert_eq!(settings.transport(), TransportPreference::Auto);
    assert!(settings.compaction_enabled());
    assert_eq!(
        settings.compaction_tokens("p", "m"),
        CompactionTokens {
            reserve: 16_384,
            keep_recent: 20_000
        }
    );
    assert_eq!(settings.branch_summary_reserve_tokens(), 16_384);
    assert_eq!(
        settings.retry_policy(),
        RetryPolicy {
            enabled: true,
            max_retries: 3,
            base_delay: Duration::from_secs(2),
            max_delay: Duration::from_mins(1),
        }
    );
    assert_eq!(settings.retry.provider.timeout(), None);
    assert_eq!(settings.retry.provider.max_retries(), None);
    assert_eq!(
        settings.retry.provider.max_retry_delay(),
        Some(Duration::from_mins(1))
    );
    assert_eq!(settings.http_idle_timeout(), Some(Duration::from_mins(5)));
    assert_eq!(
        settings.websocket_connect_timeout(),
        Some(Duration::from_secs(15))
    );
    assert_eq!(
        (
            settings.editor_padding_x(),
            settings.output_pad(),
            settings.autocomplete_max_visible(),
            settings.terminal.image_width_cells(),
        ),
        (0, 1, 5, 60)
    );
    assert_eq!(settings.markdown.code_block_indent(), "  ");
    assert_eq!(settings.markdown.mermaid_mode(), MermaidMode::Streaming);
    assert!(settings.terminal.show_images() && settings.images.auto_resize());
    assert!(settings.fullscreen_copy_on_select() && settings.enable_skill_commands());
    assert!(settings.warn_anthropic_extra_usage() && !settings.enable_install_telemetry());
    assert!(!settings.images.block_images() && !settings.quiet_startup());
}

#[test]
fn extension_settings_are_keys_of_the_file() {
    let object = json!({
        "extensionHost": {"pi-lens": "node"},
        "extensionBudget": {"heapMb": 64, "onExceeded": "pause"},
        "extensionChangelogVersions": {"p": "1.0.0"},
    });
    let settings = settings(object.clone());
    assert_eq!(settings.extension_settings.budget.heap_mb, Some(64));
    assert_eq!(Value::Object(settings.to_json()), object);
    // Values of the wrong type are found, and an empty group may be null.
    for (value, is_valid) in [
        (json!({"extensionBudget": null}), true),
        (json!({"extensionBudget": {"heapMb": 64.9}}), true),
        (json!({"extensionBudget": 64}), false),
        (json!({"extensionHost": "deno"}), false),
        (json!({"extensionChangelogVersions": []}), false),
    ] {
        let read = serde_json::from_value::<Settings>(value.clone());
        assert_eq!(read.is_ok(), is_valid, "{value}");
    }
}

#[test]
fn out_of_range_numbers_are_clamped() {
    let settings = settings(json!({
        "editorPaddingX": 9,
        "outputPad": 7,
        "autocompleteMaxVisible": 1,
        "fullscreenWheelScrollLines": 1000,
        "terminal": {"imageWidthCells": 0.5},
        "retry": {"maxRetries": 9_000_000_000_u64, "provider": {"maxRetryDelayMs": 0}},
        "httpIdleTimeoutMs": "disabled",
        "websocketConnectTimeoutMs": "250",
    }));
    assert_eq!(settings.editor_padding_x(), 3);
    assert_eq!(settings.output_pad(), 1);
    assert_eq!(settings.autocomplete_max_visible(), 3);
    assert_eq!(settings.fullscreen_wheel_scroll_lines(), Some(100));
    assert_eq!(settings.terminal.image_width_cells(), 1);
    assert_eq!(settings.retry_policy().max_retries, u32::MAX);
    assert_eq!(settings.retry.provider.max_retry_delay(), None);
    assert_eq!(settings.http_idle_timeout(), None);
    assert_eq!(
        settings.websocket_connect_timeout(),
        Some(Duration::from_millis(250))
    );
}

#[test]
fn model_override_takes_precedence_for_compaction() {
    let settings = settings(json!({"compaction": {
        "reserveTokens": 100,
        "modelOverrides": {"p/m": {"keepRecentTokens": 7}},
    }}));
    let tokens = |reserve, keep_recent| CompactionTokens {
        reserve,
        keep_recent,
    };
    assert_eq!(settings.compaction_tokens("p", "m"), tokens(100, 7));
    assert_eq!(settings.compaction_tokens("p", "n"), tokens(100, 20_000));
}

#[test]
fn keys_accept_keywords_and_booleans() {
    for (value, hyperlinks) in [
        (json!(true), Some(true)),
        (json!(false), Some(false)),
        (json!("auto"), None),
    ] {
        let settings = settings(json!({"terminal": {"hyperlinks": value, "trueColor": value}}));
        assert_eq!(settings.terminal.hyperlinks(), hyperlinks);
        assert_eq!(settings.terminal.true_color(), hyperlinks);
    }
    for (value, protocol) in [
        (json!("auto"), None),
        (json!(false), Some(ImageProtocolSetting::Enabled(false))),
        (
            json!("iterm2"),
            Some(ImageProtocolSetting::Protocol(ImageProtocolName::Iterm2)),
        ),
    ] {
        let settings = settings(json!({"terminal": {"images": value}}));
        assert_eq!(settings.terminal.image_protocol(), protocol);
    }
    for (value, quiet, details) in [
        (json!(true), true, true),
        (json!(false), false, false),
        (json!("header"), false, true),
    ] {
        let settings = settings(json!({"quietStartup": value}));
        assert_eq!(settings.quiet_startup(), quiet);
        assert_eq!(settings.hide_startup_details(), details);
    }
}
