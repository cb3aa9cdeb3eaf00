use std::sync::{Arc, Mutex};

use pretty_assertions::assert_eq;

use super::*;
use crate::dialogs::testing::{HOSTILE, Stage, survives_every_size, withstands_anything};

/// A board that remembers what was switched.
#[derive(Clone, Default)]
struct Fake {
    switched: Arc<Mutex<Vec<(BoardSide, usize)>>>,
    entries: Vec<BoardEntry>,
    fails: bool,
}

impl ResourceBoard for Fake {
    fn entries(&self, side: BoardSide) -> Vec<BoardEntry> {
        let switched = self.switched.lock().unwrap();
        let mut entries = self.entries.clone();
        for (place, entry) in entries.iter_mut().enumerate() {
            let times = switched
                .iter()
                .filter(|known| **known == (side, place))
                .count();
            entry.is_dim = side == BoardSide::Project && times == 0;
            entry.mark = match (side, times % 2) {
                (_, 0) => Mark::On,
                (BoardSide::User, _) => Mark::Off,
                (BoardSide::Project, _) => Mark::Unloaded,
            };
        }
        entries
    }

    fn switch(&mut self, side: BoardSide, place: usize) -> Result<(), String> {
        if self.fails {
            return Err("the settings cannot be written".to_owned());
        }
        self.switched.lock().unwrap().push((side, place));
        Ok(())
    }

    fn has_project(&self) -> bool {
        true
    }
}

fn entry(group: &str, kind: &'static str, name: &str) -> BoardEntry {
    BoardEntry {
        group: group.to_owned(),
        kind,
        name: name.to_owned(),
        path: format!("/p/{name}"),
        mark: Mark::On,
        is_dim: false,
    }
}

fn board() -> Fake {
    Fake {
        entries: vec![
            entry("npm:tools (user)", "Extensions", "web.ts"),
            entry("npm:tools (user)", "Skills", "review"),
            entry("~/.pi/agent/ (user)", "Prompts", "daily.md"),
        ],
        ..Fake::default()
    }
}

fn stage(board: &Fake) -> Stage<Window<ResourcesDialog>> {
    let look = Look::for_tests();
    let dialog = ResourcesDialog::open(look.clone(), Box::new(board.clone()), BoardSide::User);
    Stage::new(&look, dialog)
}

#[test]
fn space_and_enter_switch_what_is_selected() {
    let board = board();
    let mut stage = stage(&board);
    let before = stage.screen();
    assert!(before.contains("[x] web.ts"), "{before}");
    stage.press("space down enter");
    let after = stage.screen();
    assert!(after.contains("[ ] web.ts"), "{after}");
    assert!(after.contains("[ ] review"), "{after}");
    assert!(after.contains("[x] daily.md"), "{after}");
    let user = BoardSide::User;
    assert_eq!(*board.switched.lock().unwrap(), [(user, 0), (user, 1)]);
}

#[test]
fn tab_turns_to_the_project() {
    let board = board();
    let mut stage = stage(&board);
    stage.press("tab enter");
    let screen = stage.screen();
    assert!(screen.contains("Resources of this project"), "{screen}");
    assert!(
        screen.contains("[-] web.ts  left out for the project"),
        "{screen}"
    );
    stage.press("tab escape");
    assert!(stage.is_done());
    assert_eq!(*board.switched.lock().unwrap(), [(BoardSide::Project, 0)]);
}

#[test]
fn a_search_leaves_what_matches_under_its_headings() {
    let board = board();
    let mut stage = stage(&board);
    stage.type_text("daily");
    let screen = stage.screen();
    assert!(
        screen.contains("daily.md") && screen.contains("Prompts"),
        "{screen}"
    );
    assert!(!screen.contains("npm:tools"), "{screen}");
    stage.press("enter");
    assert_eq!(*board.switched.lock().unwrap(), [(BoardSide::User, 2)]);
}

#[test]
fn what_cannot_be_saved_is_said() {
    let board = Fake {
        fails: true,
        ..board()
    };
    let mut stage = stage(&board);
    stage.press("enter");
    let screen = stage.screen();
    assert!(
        screen.contains("the settings cannot be written"),
        "{screen}"
    );
}

#[test]
fn it_withstands_hostile_names_and_every_size() {
    let look = Look::for_tests();
    let open = || {
        let mut board = board();
        board.entries.push(entry(HOSTILE, "Themes", HOSTILE));
        ResourcesDialog::open(Look::for_tests(), Box::new(board), BoardSide::User)
    };
    survives_every_size(open());
    withstands_anything(&look, open);
}
