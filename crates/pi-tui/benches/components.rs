//! Benchmarks of work done while the user types.

use std::time::Instant;

use divan::Bencher;
use pi_tui::{
    Component, Editor, EditorOptions, EditorTheme, InputContext, InputEvent, KeyEvent, Keybindings,
    Platform, TUI_ACTIONS, UserKeybindings,
};

fn main() {
    divan::main();
}

/// Handles and renders one key in a prompt of this many lines.
#[divan::bench(args = [1, 100, 1000])]
fn key_in_the_editor(bencher: Bencher<'_, '_>, lines: usize) {
    let bindings = Keybindings::new(TUI_ACTIONS, Platform::Linux, &UserKeybindings::default());
    let mut editor = Editor::new(EditorTheme::default(), EditorOptions::default());
    editor.set_text(&vec!["a line of the prompt that is somewhat long"; lines].join("\n"));
    editor.render(100);
    let keys = ['a', 'b', ' '].map(|key| InputEvent::Key(KeyEvent::typed(key)));
    let mut count = 0_usize;
    bencher.bench_local(|| {
        count += 1;
        let context = InputContext {
            keybindings: &bindings,
            now: Instant::now(),
            rows: 40,
        };
        if count.is_multiple_of(500) {
            editor.set_text(&vec!["a line of the prompt that is somewhat long"; lines].join("\n"));
        }
        if let Some(key) = keys.get(count % 3) {
            editor.handle_input(key, &context);
        }
        editor.render(100)
    });
}
