use pi_ai::ThinkingLevel;
use pi_tui::ColorScheme;
use pretty_assertions::assert_eq;

use super::*;
use crate::dialogs::testing::{Stage, model, survives_every_size, withstands_anything};

/// The ids of the reference's settings menu, images included.
const IDS: &str = "autocompact steering-mode follow-up-mode transport http-idle-timeout \
    cache-warming-mode hide-thinking mermaid-rendering cache-miss-notices collapse-changelog \
    quiet-startup install-telemetry default-project-trust double-escape-action tree-filter-mode \
    warnings model-thinking tui-mode fullscreen-exit-output fullscreen-scrollbar \
    fullscreen-copy-on-select theme show-images image-width-cells auto-resize-images block-images \
    skill-commands show-hardware-cursor editor-padding output-padding autocomplete-max-visible \
    clear-on-shrink terminal-progress";

fn choices() -> SettingChoices {
    SettingChoices {
        settings: Arc::new(Settings::default()),
        hardware_cursor: false,
        clear_on_shrink: false,
        themes: ThemeChoices {
            names: ["dark", "light", "sepia"].map(str::to_owned).to_vec(),
            setting: "dark".to_owned(),
            scheme: ColorScheme::Dark,
        },
        models: vec![model("mock", "alpha"), model("acme", "beta")],
        current_model: Some(model("mock", "alpha")),
    }
}

fn stage() -> Stage<Window<SettingsDialog>> {
    let look = Look::for_tests();
    Stage::new(&look, SettingsDialog::open(look.clone(), choices()))
}

#[test]
fn every_setting_of_the_menu_is_there_once() {
    let look = Look::for_tests();
    look.change(|appearance| {
        appearance.capabilities.images = Some(pi_tui::ImageProtocol::Kitty);
    });
    let settings = settings(&choices(), &look.appearance());
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

#[test]
fn the_list_shows_values_and_explains_the_selected_one() {
    insta::assert_snapshot!(stage().screen());
}

#[test]
fn enter_and_space_change_a_value() {
    let mut stage = stage();
    stage.press("enter space");
    assert_eq!(
        stage.intents(),
        [
            Intent::ChangeSetting(SettingChange::AutoCompact(false)),
            Intent::ChangeSetting(SettingChange::AutoCompact(true))
        ]
    );
    assert!(!stage.is_done());
}

#[test]
fn every_value_of_every_setting_can_be_reached() {
    let look = Look::for_tests();
    for mut setting in settings(&choices(), &look.appearance()) {
        let Change::Cycle(values) = &setting.change else {
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
fn a_search_finds_a_setting_and_may_hold_spaces() {
    let mut stage = stage();
    stage.type_text("escape twice");
    let screen = stage.screen();
    assert!(screen.contains("→ Escape twice"), "{screen}");
    stage.press("enter");
    assert_eq!(
        stage.intents(),
        [Intent::ChangeSetting(SettingChange::DoubleEscapeAction(
            pi_config::DoubleEscapeAction::Fork
        ))]
    );
}

#[test]
fn a_value_of_ones_own_shows() {
    let mut choices = choices();
    let settings = Arc::make_mut(&mut choices.settings);
    settings.http_idle_timeout_ms = Some(45_000);
    settings.editor_padding_x = Some(2);
    let look = Look::for_tests();
    let mut stage = Stage::new(&look, SettingsDialog::open(look.clone(), choices));
    stage.type_text("silence");
    assert!(stage.screen().contains("45 s"));
}

#[test]
fn the_theme_menu_previews_and_is_kept() {
    let mut stage = stage();
    stage.press("'theme enter");
    insta::assert_snapshot!(stage.screen());
    stage.press("down enter");
    assert_eq!(
        stage.intents(),
        [
            Intent::PreviewTheme("light".to_owned()),
            Intent::ChangeSetting(SettingChange::Theme("light".to_owned()))
        ]
    );
    assert!(stage.screen().contains("light"));
    assert!(!stage.is_done());
}

#[test]
fn leaving_the_theme_menu_ends_the_preview_and_stays_in_the_list() {
    let mut stage = stage();
    stage.press("'theme enter down escape");
    assert_eq!(
        stage.intents(),
        [
            Intent::PreviewTheme("light".to_owned()),
            Intent::EndThemePreview
        ]
    );
    assert!(!stage.is_done());
    assert!(stage.screen().contains("→ Theme"));
}

#[test]
fn a_model_gets_a_level_of_its_own_and_loses_it() {
    let mut stage = stage();
    stage.type_text("by model");
    stage.press("enter");
    insta::assert_snapshot!(stage.screen());
    stage.press("down enter");
    insta::assert_snapshot!(stage.screen());
    stage.press("down enter enter up enter");
    let change = |level| {
        Intent::ChangeSetting(SettingChange::ModelThinking {
            model: "mock/alpha".to_owned(),
            level,
        })
    };
    let intents = stage.intents();
    assert_eq!(
        intents,
        [
            change(Some(ThinkingLevel::Minimal)),
            change(Some(ThinkingLevel::Off))
        ]
    );
    stage.press("enter up enter");
    assert_eq!(stage.intents(), [change(None)]);
    stage.press("escape");
    assert!(stage.screen().contains("Thinking by model"));
    stage.press("escape");
    assert!(stage.is_done());
}

#[test]
fn the_level_of_all_others_is_the_default() {
    let mut stage = stage();
    stage.type_text("by model");
    stage.press("enter enter up up enter");
    let intents = stage.intents();
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
    let mut stage = stage();
    stage.click("Send no images");
    assert_eq!(
        stage.intents(),
        [Intent::ChangeSetting(SettingChange::BlockImages(true))]
    );
}

#[test]
fn a_tiny_terminal_shows_the_selected_setting() {
    let look = Look::for_tests();
    let dialog = SettingsDialog::open(look.clone(), choices());
    let mut stage = Stage::sized(&look, dialog, 20, 8);
    stage.press("down down");
    let screen = stage.screen();
    assert!(screen.contains("→ Send no …  false"), "{screen}");
    survives_every_size(SettingsDialog::open(Look::for_tests(), choices()));
}

#[test]
fn no_key_and_no_click_breaks_it() {
    let look = Look::for_tests();
    withstands_anything(&look, || SettingsDialog::open(look.clone(), choices()));
}
