use std::sync::Arc;

use parking_lot::Mutex;
use pretty_assertions::assert_eq;

use super::*;
use crate::dialogs::testing::{DialogTester, HOSTILE, fits_every_size, survives_random_input};

/// Records what was toggled.
#[derive(Clone, Default)]
struct FakeToggles {
    toggled: Arc<Mutex<Vec<(ResourceScope, usize)>>>,
    entries: Vec<ResourceEntry>,
    fails: bool,
}

impl ToggleStore for FakeToggles {
    fn entries(&self, scope: ResourceScope) -> Vec<ResourceEntry> {
        let toggled = self.toggled.lock();
        let mut entries = self.entries.clone();
        for (index, entry) in entries.iter_mut().enumerate() {
            let times = toggled
                .iter()
                .filter(|known| **known == (scope, index))
                .count();
            entry.is_inherited = scope == ResourceScope::Project && times == 0;
            entry.mark = match (scope, times % 2) {
                (_, 0) => ToggleState::On,
                (ResourceScope::User, _) => ToggleState::Off,
                (ResourceScope::Project, _) => ToggleState::Unloaded,
            };
        }
        entries
    }

    fn toggle(&mut self, scope: ResourceScope, index: usize) -> Result<(), String> {
        if self.fails {
            return Err("cannot write settings".to_owned());
        }
        self.toggled.lock().push((scope, index));
        Ok(())
    }

    fn has_project(&self) -> bool {
        true
    }
}

fn entry(group: &str, kind: &'static str, name: &str) -> ResourceEntry {
    ResourceEntry {
        group: group.to_owned(),
        kind,
        name: name.to_owned(),
        path: format!("/p/{name}"),
        mark: ToggleState::On,
        is_inherited: false,
    }
}

fn toggles() -> FakeToggles {
    FakeToggles {
        entries: vec![
            entry("npm:tools (user)", "Extensions", "web.ts"),
            entry("npm:tools (user)", "Skills", "review"),
            entry("~/.pi/agent/ (user)", "Prompts", "daily.md"),
        ],
        ..FakeToggles::default()
    }
}

fn tester(toggles: &FakeToggles) -> DialogTester<DialogFrame<ResourcesDialog>> {
    let ui = UiTheme::for_tests();
    let dialog = ResourcesDialog::open(ui.clone(), Box::new(toggles.clone()), ResourceScope::User);
    DialogTester::new(&ui, dialog)
}

#[test]
fn space_and_enter_toggle_the_selection() {
    let toggles = toggles();
    let mut tester = tester(&toggles);
    let before = tester.screen();
    assert!(before.contains("[x] web.ts"), "{before}");
    tester.press("space down enter");
    let after = tester.screen();
    assert!(after.contains("[ ] web.ts"), "{after}");
    assert!(after.contains("[ ] review"), "{after}");
    assert!(after.contains("[x] daily.md"), "{after}");
    let user = ResourceScope::User;
    assert_eq!(*toggles.toggled.lock(), [(user, 0), (user, 1)]);
}

#[test]
fn tab_switches_to_the_project() {
    let toggles = toggles();
    let mut tester = tester(&toggles);
    tester.press("tab enter");
    let screen = tester.screen();
    assert!(screen.contains("Project resources"), "{screen}");
    assert!(
        screen.contains("[-] web.ts  disabled for this project"),
        "{screen}"
    );
    tester.press("tab escape");
    assert!(tester.is_done());
    assert_eq!(*toggles.toggled.lock(), [(ResourceScope::Project, 0)]);
}

#[test]
fn a_search_keeps_matches_under_their_headings() {
    let toggles = toggles();
    let mut tester = tester(&toggles);
    tester.type_text("daily");
    let screen = tester.screen();
    assert!(
        screen.contains("daily.md") && screen.contains("Prompts"),
        "{screen}"
    );
    assert!(!screen.contains("npm:tools"), "{screen}");
    tester.press("enter");
    assert_eq!(*toggles.toggled.lock(), [(ResourceScope::User, 2)]);
}

#[test]
fn save_errors_are_shown() {
    let toggles = FakeToggles {
        fails: true,
        ..toggles()
    };
    let mut tester = tester(&toggles);
    tester.press("enter");
    let screen = tester.screen();
    assert!(screen.contains("cannot write settings"), "{screen}");
}

#[test]
fn survives_hostile_names_and_every_size() {
    let ui = UiTheme::for_tests();
    let open = || {
        let mut toggles = toggles();
        toggles.entries.push(entry(HOSTILE, "Themes", HOSTILE));
        ResourcesDialog::open(UiTheme::for_tests(), Box::new(toggles), ResourceScope::User)
    };
    fits_every_size(open());
    survives_random_input(&ui, open);
}
