//! Tests of effective values and of merging.

use std::collections::BTreeMap;
use std::time::Duration;

use pi_env::Env;
use pi_protocol::retry::RetryPolicy;
use pi_protocol::{ThinkingLevel, TransportPreference};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::merge::{apply, difference, merge, merge_layer, to_object};
use super::*;

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is not an object"),
    }
}

fn settings(value: Value) -> Settings {
    let decoded = decode::decode(object(value));
    assert_eq!(decoded.rejected, []);
    decoded.settings
}

#[test]
fn defaults() {
    let env = Env::fixed([("HOME", "/home/u")]);
    let settings = Settings::default();
    assert_eq!(settings.default_thinking_level(), ThinkingLevel::Medium);
    assert_eq!(settings.steering_mode(), DeliveryMode::OneAtATime);
    assert_eq!(settings.follow_up_mode(), DeliveryMode::OneAtATime);
    assert_eq!(settings.cache_warming(), CacheWarming::Streaming);
    assert_eq!(settings.double_escape_action(), DoubleEscapeAction::Tree);
    assert_eq!(settings.tree_filter_mode(), TreeFilterMode::Default);
    assert_eq!(settings.default_project_trust(), ProjectTrustDefault::Ask);
    assert_eq!(settings.transport(), TransportPreference::Auto);
    assert_eq!(
        settings.external_editor(&env),
        if cfg!(windows) { "notepad" } else { "nano" }
    );
    assert_eq!(settings.shell_path(&env), None);
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
    assert!(!settings.show_hardware_cursor(&env) && !settings.terminal.clear_on_shrink(&env));
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
fn setting_takes_precedence_over_environment() {
    let env = Env::fixed([
        ("VISUAL", "vi"),
        ("PI_HARDWARE_CURSOR", "1"),
        ("PI_CLEAR_ON_SHRINK", "1"),
        ("HOME", "/home/u"),
    ]);
    let unset = Settings::default();
    assert_eq!(unset.external_editor(&env), "vi");
    assert!(unset.show_hardware_cursor(&env) && unset.terminal.clear_on_shrink(&env));
    let set = settings(json!({
        "externalEditor": "code --wait",
        "showHardwareCursor": false,
        "terminal": {"clearOnShrink": false},
        "shellPath": "~/bin/zsh",
    }));
    assert_eq!(set.external_editor(&env), "code --wait");
    assert!(!set.show_hardware_cursor(&env) && !set.terminal.clear_on_shrink(&env));
    assert_eq!(
        set.shell_path(&env),
        Some(std::path::PathBuf::from("/home/u/bin/zsh"))
    );
    let blank = settings(json!({"externalEditor": " ", "shellPath": ""}));
    assert_eq!(blank.external_editor(&env), "vi");
    assert_eq!(blank.shell_path(&env), None);
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
    for (value, quiet, header) in [
        (json!(true), true, true),
        (json!(false), false, false),
        (json!("header"), false, true),
    ] {
        let settings = settings(json!({"quietStartup": value}));
        assert_eq!(settings.quiet_startup(), quiet);
        assert_eq!(settings.hide_startup_header(), header);
    }
}

#[test]
fn invalid_types_are_dropped_and_reported() {
    let decoded = decode::decode(object(json!({
        "theme": {"name": "dark"},
        "steeringMode": "sometimes",
        "hideThinkingBlock": "yes",
        "compaction": {"enabled": 1, "reserveTokens": -5, "keepRecentTokens": 3.5, "new": true,
            "modelOverrides": {"p/a": [1, 2], "p/b": null}},
        "retry": [],
        "modelThinkingLevels": {"p/a": "high", "p/b": "huge"},
        "skills": ["good", 5, "fine"],
        "packages": ["npm:x", {"autoload": true}, {"source": "git:y", "later": 1}],
        "quietStartup": "loud",
        "unknown": {"kept": [1]},
        "followUpMode": null,
        "terminal": null,
    })));
    let keys: Vec<_> = decoded.rejected.iter().map(|it| it.key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "theme",
            "steeringMode",
            "hideThinkingBlock",
            "compaction.enabled",
            "compaction.reserveTokens",
            "compaction.keepRecentTokens",
            "compaction.modelOverrides.p/a",
            "retry",
            "modelThinkingLevels.p/b",
            "skills[1]",
            "packages[1]",
            "quietStartup",
        ]
    );
    assert_eq!(
        Value::Object(decoded.object),
        json!({
            "compaction": {"new": true, "modelOverrides": {"p/b": null}},
            "modelThinkingLevels": {"p/a": "high"},
            "skills": ["good", "fine"],
            "packages": ["npm:x", {"source": "git:y", "later": 1}],
            "unknown": {"kept": [1]},
            "followUpMode": null,
            "terminal": null,
        })
    );
    assert_eq!(
        decoded.settings,
        Settings {
            model_thinking_levels: BTreeMap::from([("p/a".to_owned(), ThinkingLevel::High)]),
            compaction: CompactionSettings {
                model_overrides: BTreeMap::from([(
                    "p/b".to_owned(),
                    CompactionModelOverride::default()
                )]),
                ..CompactionSettings::default()
            },
            skills: Some(vec!["good".to_owned(), "fine".to_owned()]),
            packages: Some(vec![
                "npm:x".into(),
                PackageSource::Filtered(PackageFilter {
                    source: "git:y".to_owned(),
                    other: object(json!({"later": 1})),
                    ..PackageFilter::default()
                }),
            ]),
            ..Settings::default()
        }
    );
}

#[test]
fn messages_are_truncated_and_escaped() {
    let decoded = decode::decode(object(json!({
        "hideThinkingBlock": format!("\u{1b}]0;title\u{7}{}", "x".repeat(1_000_000)),
    })));
    let problem = &decoded.rejected.first().unwrap().problem;
    assert!(problem.chars().count() < 200, "{problem}");
    assert!(!problem.chars().any(char::is_control), "{problem}");
}

/// Generates valid settings.
fn any_settings() -> impl Strategy<Value = Settings> {
    let level = prop::sample::select(ThinkingLevel::ALL.to_vec());
    (
        prop::option::of("[a-c]"),
        prop::option::of(any::<bool>()),
        prop::option::of(0_u64..3),
        prop::option::of(prop::collection::vec("[a-c]", 0..3)),
        prop::collection::btree_map("[a-c]", level, 0..3),
        prop::option::of(0_u64..3),
        prop::option::of(any::<bool>()),
    )
        .prop_map(
            |(theme, enabled, reserve, skills, levels, delay, hyperlinks)| Settings {
                theme,
                skills,
                model_thinking_levels: levels,
                compaction: CompactionSettings {
                    enabled,
                    reserve_tokens: reserve,
                    ..CompactionSettings::default()
                },
                retry: RetrySettings {
                    provider: ProviderRetrySettings {
                        max_retry_delay_ms: delay,
                        ..ProviderRetrySettings::default()
                    },
                    ..RetrySettings::default()
                },
                terminal: TerminalSettings {
                    hyperlinks: hyperlinks.map(BoolOrAuto::Value),
                    ..TerminalSettings::default()
                },
                ..Settings::default()
            },
        )
}

fn merged(base: &Map<String, Value>, over: &Map<String, Value>) -> Map<String, Value> {
    let mut result = base.clone();
    merge(&mut result, over);
    result
}

/// Generates arbitrary JSON.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((any_key(), inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

fn any_key() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c]",
        prop::sample::select(vec![
            "theme",
            "skills",
            "packages",
            "retry",
            "provider",
            "maxDelayMs",
            "compaction",
            "enabled",
            "modelOverrides",
            "queueMode",
            "terminal",
            "images",
            "source",
        ])
        .prop_map(str::to_owned),
    ]
}

fn any_object() -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec((any_key(), any_json()), 0..8)
        .prop_map(|entries| entries.into_iter().collect())
}

#[test]
fn changes_of_the_default_tools_add_to_the_list_below() {
    for (below, over, expected) in [
        (
            json!(["+grep"]),
            json!(["+ls", "-edit"]),
            json!(["+grep", "+ls", "-edit"]),
        ),
        (json!(["read"]), json!(["-read"]), json!(["read", "-read"])),
        (
            json!(["+grep"]),
            json!(["find", "-read"]),
            json!(["find", "-read"]),
        ),
        (json!(["+grep"]), json!([]), json!(["+grep"])),
    ] {
        let layer = |tools: &Value| Map::from_iter([("defaultTools".to_owned(), tools.clone())]);
        let mut merged = layer(&below);
        merge_layer(&mut merged, &layer(&over));
        assert_eq!(merged, layer(&expected), "{below} {over}");
    }
}

proptest! {
    #[test]
    fn settings_survive_a_round_trip(settings in any_settings()) {
        let decoded = decode::decode(to_object(&settings));
        prop_assert_eq!(decoded.rejected, []);
        prop_assert_eq!(decoded.settings, settings);
    }

    #[test]
    fn merge_is_associative_with_identity(
        a in any_settings(), b in any_settings(), c in any_settings()
    ) {
        let (a, b, c) = (to_object(&a), to_object(&b), to_object(&c));
        prop_assert_eq!(merged(&merged(&a, &b), &c), merged(&a, &merged(&b, &c)));
        prop_assert_eq!(&merged(&a, &a), &a);
        prop_assert_eq!(&merged(&a, &Map::new()), &a);
        prop_assert_eq!(&merged(&Map::new(), &a), &a);
    }

    #[test]
    fn upper_layer_wins(base in any_settings(), over in any_settings()) {
        let result = decode::deserialize_valid(&merged(&to_object(&base), &to_object(&over)));
        prop_assert_eq!(&result.theme, over.theme.as_ref().map_or(&base.theme, |_| &over.theme));
        prop_assert_eq!(&result.skills, over.skills.as_ref().map_or(&base.skills, |_| &over.skills));
        prop_assert_eq!(
            result.compaction.enabled,
            over.compaction.enabled.or(base.compaction.enabled)
        );
        for (model, level) in &base.model_thinking_levels {
            let expected = over.model_thinking_levels.get(model).unwrap_or(level);
            prop_assert_eq!(result.model_thinking_levels.get(model), Some(expected));
        }
    }

    #[test]
    fn edits_apply_to_another_object(
        before in any_settings(), after in any_settings(), mut file in any_object()
    ) {
        let edits = difference(&to_object(&before), &to_object(&after));
        let mut same = to_object(&before);
        apply(&mut same, &edits);
        prop_assert_eq!(same, to_object(&after));

        file.insert("unknown".to_owned(), json!({"kept": [1]}));
        let untouched: Vec<_> = file
            .iter()
            .filter(|(key, _)| !["theme", "skills", "retry", "compaction", "terminal", "modelThinkingLevels"].contains(&key.as_str()))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        apply(&mut file, &edits);
        for (key, value) in untouched {
            prop_assert_eq!(file.get(&key), Some(&value));
        }
    }

    #[test]
    fn any_object_can_be_decoded(mut file in any_object()) {
        migrate::migrate(&mut file);
        let decoded = decode::decode(file);
        // The rest is valid, and decoding it again rejects nothing.
        let again = decode::decode(decoded.object.clone());
        prop_assert_eq!(again.rejected, []);
        prop_assert_eq!(again.settings, decoded.settings);
        prop_assert_eq!(again.object, decoded.object);
    }
}
