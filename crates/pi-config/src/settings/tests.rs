//! Tests of decoding and merging.

use std::collections::BTreeMap;

use pi_protocol::ThinkingLevel;
use pi_protocol::settings::{
    BoolOrAuto, CompactionModelOverride, CompactionSettings, PackageFilter, PackageSource,
    ProviderRetrySettings, RetrySettings, Settings, TerminalSettings,
};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::merge::{apply, difference, merge};
use super::{decode, migrate};

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is not an object"),
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

proptest! {
    #[test]
    fn settings_survive_a_round_trip(settings in any_settings()) {
        let decoded = decode::decode(settings.to_json());
        prop_assert_eq!(decoded.rejected, []);
        prop_assert_eq!(decoded.settings, settings);
    }

    #[test]
    fn merge_is_associative_with_identity(
        a in any_settings(), b in any_settings(), c in any_settings()
    ) {
        let (a, b, c) = (a.to_json(), b.to_json(), c.to_json());
        prop_assert_eq!(merged(&merged(&a, &b), &c), merged(&a, &merged(&b, &c)));
        prop_assert_eq!(&merged(&a, &a), &a);
        prop_assert_eq!(&merged(&a, &Map::new()), &a);
        prop_assert_eq!(&merged(&Map::new(), &a), &a);
    }

    #[test]
    fn upper_layer_wins(base in any_settings(), over in any_settings()) {
        let result = decode::deserialize_valid(&merged(&base.to_json(), &over.to_json()));
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
        let edits = difference(&before.to_json(), &after.to_json());
        let mut same = before.to_json();
        apply(&mut same, &edits);
        prop_assert_eq!(same, after.to_json());

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
