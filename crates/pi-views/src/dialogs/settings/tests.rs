use pi_protocol::ThinkingLevel;
use pi_protocol::settings::{SETTING_REFERENCE, SettingScope};
use pi_tui::ColorScheme;
use pretty_assertions::assert_eq;

use super::*;
use crate::dialogs::testing::{DialogTester, fits_every_size, survives_random_input};
use crate::test_support::model;

/// The setting IDs of the reference's menu, including images, without those that have no effect here.
const IDS: &str = "autocompact steering-mode follow-up-mode transport http-idle-timeout \
    hide-thinking mermaid-rendering cache-miss-notices collapse-changelog \
    quiet-startup install-telemetry default-project-trust double-escape-action tree-filter-mode \
    warnings model-thinking tui-mode fullscreen-exit-output fullscreen-scrollbar \
    fullscreen-copy-on-select theme show-images image-width-cells auto-resize-images block-images \
    skill-commands show-hardware-cursor editor-padding output-padding autocomplete-max-visible \
    clear-on-shrink max-text-width notify terminal-progress tool-rows";

fn choices() -> SettingsDialogOptions {
    SettingsDialogOptions {
        settings: Arc::new(Settings::default()),
        hardware_cursor: false,
        clear_on_shrink: false,
        themes: ThemeDialogOptions {
            names: ["dark", "light", "sepia"].map(str::to_owned).to_vec(),
            setting: "dark".to_owned(),
            scheme: ColorScheme::Dark,
        },
        models: vec![model("mock", "alpha"), model("acme", "beta")],
        current_model: Some(model("mock", "alpha")),
    }
}

fn tester() -> DialogTester<DialogFrame<SettingsDialog>> {
    let ui = UiTheme::for_tests();
    DialogTester::new(&ui, SettingsDialog::open(ui.clone(), choices()))
}

#[test]
fn every_setting_is_listed_once() {
    let ui = UiTheme::for_tests();
    ui.update(|ctx| {
        ctx.capabilities.images = Some(pi_tui::ImageProtocol::Kitty);
    });
    let settings = settings(&choices(), &ui.context());
    let mut ids: Vec<&str> = settings.iter().map(|setting| setting.id).collect();
    let mut expected: Vec<&str> = IDS.split_whitespace().collect();
    ids.sort_unstable();
    expected.sort_unstable();
    assert_eq!(ids, expected);
    for setting in &settings {
        assert!(!setting.value.is_empty(), "{}", setting.id);
        assert!(!setting.description.is_empty(), "{}", setting.id);
    }
}

/// Returns the paths of all values, such as `compaction.enabled`.
fn paths(value: &serde_json::Value, path: &str) -> Vec<String> {
    match value {
        serde_json::Value::Object(members) => members
            .iter()
            .flat_map(|(key, value)| paths(value, &format!("{path}.{key}")))
            .collect(),
        serde_json::Value::Null => Vec::new(),
        _ => vec![path.trim_start_matches('.').to_owned()],
    }
}

#[test]
fn every_setting_has_an_effect() {
    let ui = UiTheme::for_tests();
    for setting in settings(&choices(), &ui.context()) {
        let SettingAction::Cycle(values) = setting.change else {
            continue;
        };
        for (_, change) in values {
            let mut changed = Settings::default();
            change.apply_to(&mut changed);
            let changed = paths(&serde_json::to_value(&changed).unwrap(), "");
            assert!(!changed.is_empty(), "{} changes nothing", setting.id);
            for path in changed {
                let mut rows = SETTING_REFERENCE.iter();
                let row = rows.find(|row| row.key == path).unwrap();
                assert_ne!(row.scope, SettingScope::Ignored, "{}: {path}", setting.id);
            }
        }
    }
}

#[test]
fn the_list_shows_values_and_a_description() {
    insta::assert_snapshot!(tester().screen());
}

#[test]
fn enter_and_space_change_a_value() {
    let mut tester = tester();
    tester.press("enter space");
    assert_eq!(
        tester.intents(),
        [
            Intent::ChangeSetting(SettingChange::AutoCompact(false)),
            Intent::ChangeSetting(SettingChange::AutoCompact(true))
        ]
    );
    assert!(!tester.is_done());
}

#[test]
fn every_value_of_every_setting_can_be_reached() {
    let ui = UiTheme::for_tests();
    for mut setting in settings(&choices(), &ui.context()) {
        let SettingAction::Cycle(values) = &setting.change else {
            continue;
        };
        let expected: Vec<SettingChange> =
            values.iter().map(|(_, change)| change.clone()).collect();
        let mut seen = Vec::new();
        for _ in 0..expected.len() {
            seen.push(setting.next().unwrap());
        }
        assert!(
            expected.iter().all(|change| seen.contains(change)),
            "{}",
            setting.id
        );
    }
}

#[test]
fn a_search_may_contain_spaces() {
    let mut tester = tester();
    tester.type_text("escape action");
    let screen = tester.screen();
    assert!(screen.contains("→ Double-Escape action"), "{screen}");
    tester.press("enter");
    assert_eq!(
        tester.intents(),
        [Intent::ChangeSetting(SettingChange::DoubleEscapeAction(
            pi_protocol::settings::DoubleEscapeAction::Fork
        ))]
    );
}

#[test]
fn custom_values_are_shown() {
    let mut choices = choices();
    let settings = Arc::make_mut(&mut choices.settings);
    settings.http_idle_timeout_ms = Some(45_000);
    settings.editor_padding_x = Some(2);
    let ui = UiTheme::for_tests();
    let mut tester = DialogTester::new(&ui, SettingsDialog::open(ui.clone(), choices));
    tester.type_text("idle timeout");
    assert!(tester.screen().contains("45s"));
}

#[test]
fn the_theme_menu_previews_and_saves() {
    let mut tester = tester();
    tester.press("'theme enter");
    insta::assert_snapshot!(tester.screen());
    tester.press("down enter");
    assert_eq!(
        tester.intents(),
        [
            Intent::PreviewTheme("light".to_owned()),
            Intent::ChangeSetting(SettingChange::Theme("light".to_owned()))
        ]
    );
    assert!(tester.screen().contains("light"));
    assert!(!tester.is_done());
}

#[test]
fn leaving_the_theme_menu_ends_the_preview_and_stays_in_the_list() {
    let mut tester = tester();
    tester.press("'theme enter down escape");
    assert_eq!(
        tester.intents(),
        [
            Intent::PreviewTheme("light".to_owned()),
            Intent::EndThemePreview
        ]
    );
    assert!(!tester.is_done());
    assert!(tester.screen().contains("→ Theme"));
}

#[test]
fn a_model_level_is_set_and_removed() {
    let mut tester = tester();
    tester.type_text("per model");
    tester.press("enter");
    insta::assert_snapshot!(tester.screen());
    tester.press("down enter");
    insta::assert_snapshot!(tester.screen());
    tester.press("down enter enter up enter");
    let change = |level| {
        Intent::ChangeSetting(SettingChange::ModelThinking {
            model: "mock/alpha".to_owned(),
            level,
        })
    };
    let intents = tester.intents();
    assert_eq!(
        intents,
        [
            change(Some(ThinkingLevel::Minimal)),
            change(Some(ThinkingLevel::Off))
        ]
    );
    tester.press("enter up enter");
    assert_eq!(tester.intents(), [change(None)]);
    tester.press("escape");
    assert!(tester.screen().contains("Thinking level per model"));
    tester.press("escape");
    assert!(tester.is_done());
}

#[test]
fn the_level_of_all_others_is_the_default() {
    let mut tester = tester();
    tester.type_text("per model");
    tester.press("enter enter up up enter");
    let intents = tester.intents();
    assert!(
        matches!(
            intents[..],
            [Intent::ChangeSetting(SettingChange::DefaultThinking(_))]
        ),
        "{intents:?}"
    );
}

#[test]
fn a_click_changes_a_setting() {
    let mut tester = tester();
    tester.click("Block images");
    assert_eq!(
        tester.intents(),
        [Intent::ChangeSetting(SettingChange::BlockImages(true))]
    );
}

#[test]
fn a_tiny_terminal_shows_the_selected_setting() {
    let ui = UiTheme::for_tests();
    let dialog = SettingsDialog::open(ui.clone(), choices());
    let mut tester = DialogTester::sized(&ui, dialog, 20, 8);
    tester.press("down down");
    let screen = tester.screen();
    assert!(screen.contains("→ Block im…  off"), "{screen}");
    fits_every_size(SettingsDialog::open(UiTheme::for_tests(), choices()));
}

#[test]
fn survives_any_input() {
    let ui = UiTheme::for_tests();
    survives_random_input(&ui, || SettingsDialog::open(ui.clone(), choices()));
}
