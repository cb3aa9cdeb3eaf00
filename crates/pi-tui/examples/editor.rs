//! The prompt editor: type, complete with `/` and `@`, browse history with Up and Down.
//!
//! Run with `cargo run -p pi-tui --example editor`; Ctrl+C exits.

use std::any::Any;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::Instant;

use pi_tui::{
    BlockId, Color, CombinedCompletionProvider, CommandCompletion, Editor, EditorEvent,
    EditorOptions, EditorTheme, ExitBehavior, FocusTarget, FrameRequester, InputEvent,
    InputOutcome, Keybindings, Platform, Runner, RunnerEvent, RunnerOptions, SelectItem,
    SelectTheme, Style, TUI_ACTIONS, Text, Tui, TuiOptions, UserKeybindings, action,
};

/// Returns the UI, its editor, and a receiver of submitted texts.
pub(crate) fn ui() -> (Tui, BlockId, Receiver<String>) {
    let color = |index| Style::plain().fg(Color::Indexed(index));
    let theme = EditorTheme {
        border: color(4).into(),
        popup: SelectTheme {
            selected: color(6).into(),
            description: color(8).into(),
            position: color(8).into(),
            ..SelectTheme::default()
        },
    };
    let mut editor = Editor::new(theme, EditorOptions::default());
    editor.set_status("Enter to send · / commands · @ files");
    let (sender, sent) = mpsc::channel();
    editor.on_event(move |event| {
        if let EditorEvent::Submitted(text) = event {
            // The receiver may already be dropped on exit.
            drop(sender.send(text));
        }
    });
    let commands = vec![
        CommandCompletion::new("help", "Show help"),
        CommandCompletion::new("model", "Choose a model")
            .argument_hint("<name>")
            .arguments(|_| ["large", "small"].map(SelectItem::new).into()),
    ];
    let base = std::env::current_dir().unwrap_or_default();
    let home = std::env::var_os("HOME").map(Into::into);
    editor.set_completion_provider(Arc::new(CombinedCompletionProvider::new(
        commands, base, home,
    )));
    let mut tui = Tui::new(TuiOptions {
        keybindings: Keybindings::new(TUI_ACTIONS, Platform::Linux, &UserKeybindings::default()),
        ..TuiOptions::default()
    });
    let id = tui.dock_mut().push_live(editor);
    tui.scene_mut().set_focus(Some(FocusTarget::Dock(id)));
    (tui, id, sent)
}

fn editor_mut(tui: &mut Tui, id: BlockId) -> Option<&mut Editor> {
    let component: &mut dyn Any = tui.dock_mut().get_mut(id)?;
    component.downcast_mut()
}

/// Adds a submitted text above the editor and to its history.
pub(crate) fn add_submitted(tui: &mut Tui, id: BlockId, text: &str) {
    tui.transcript_mut().push(Text::new(text).padding(2, 0));
    if let Some(editor) = editor_mut(tui, id) {
        editor.add_to_history(text);
    }
}

/// Requests a frame when completions arrive.
fn repaint_on_completions(tui: &mut Tui, id: BlockId, requester: FrameRequester) {
    if let Some(editor) = editor_mut(tui, id) {
        editor.on_completions(move || requester.request());
    }
}

/// Returns when a debounced completion request is due.
fn next_tick(tui: &Tui, id: BlockId) -> Option<Instant> {
    let component: &dyn Any = tui.dock().get(id)?;
    component.downcast_ref::<Editor>()?.next_tick()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (tui, id, sent) = ui();
    let mut runner = Runner::start(tui, RunnerOptions::default())?;
    let requester = runner.requester();
    repaint_on_completions(runner.tui_mut(), id, requester);
    loop {
        let due = next_tick(runner.tui(), id);
        let pause = tokio::time::sleep_until(due.unwrap_or_else(Instant::now).into());
        let event = tokio::select! {
            event = runner.next() => event?,
            () = pause, if due.is_some() => {
                if let Some(editor) = editor_mut(runner.tui_mut(), id) {
                    editor.tick(Instant::now());
                }
                continue;
            }
        };
        if let Ok(text) = sent.try_recv() {
            add_submitted(runner.tui_mut(), id, &text);
        }
        match event {
            RunnerEvent::Terminated => break,
            RunnerEvent::Input {
                event: InputEvent::Key(key),
                outcome: InputOutcome::Ignored,
            } if runner.tui().keybindings().matches(&key, action::INPUT_COPY) => {
                break;
            }
            RunnerEvent::Input { .. }
            | RunnerEvent::OpenUrl(_)
            | RunnerEvent::Colors(_)
            | RunnerEvent::ColorScheme(_)
            | RunnerEvent::Resized => {}
        }
    }
    runner.stop(ExitBehavior::RestoreScreen)?;
    Ok(())
}
