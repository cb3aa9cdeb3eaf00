//! A chat on the main screen: answers stream in, finished lines go into the terminal's scrollback.
//!
//! Run with `cargo run -p pi-tui --example chat [full]`. Enter sends, Ctrl+T changes the kind of
//! screen, Ctrl+Z suspends, Ctrl+C leaves.

use std::any::Any;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use pi_tui::{
    BlockId, Color, Component, Editor, EditorEvent, EditorOptions, EditorTheme, FocusTarget,
    InputEvent, InputOutcome, Key, KeyEvent, KeyId, Keybindings, ExitBehavior, Line, Lines, Liveness,
    Markdown, MarkdownTheme, Modifiers, Platform, Runner, RunnerEvent, RunnerOptions, ScreenMode,
    Style, SyntaxStyles, TUI_ACTIONS, TruncateOptions, Tui, TuiOptions, UserKeybindings, truncate_to_width,
};

/// A message with a name above it.
struct Message {
    name: String,
    text: Markdown,
    cached: Option<(Lines, Lines)>,
}

impl Message {
    fn new(name: &str, color: Color, text: &str) -> Self {
        Self {
            name: Style::plain().bold().fg(color).apply(name),
            text: Markdown::new(text, theme()),
            cached: None,
        }
    }
}

impl Component for Message {
    fn render(&mut self, width: usize) -> Lines {
        let text = self.text.render(width);
        if let Some((shown, lines)) = &self.cached
            && shown.ptr_eq(&text)
        {
            return lines.clone();
        }
        let name = truncate_to_width(&self.name, width, TruncateOptions::default());
        let lines: Lines = std::iter::once(Line::from(name))
            .chain(text.iter().cloned())
            .chain([Line::default()])
            .collect();
        self.cached = Some((text, lines.clone()));
        lines
    }

    fn invalidate(&mut self) {
        self.cached = None;
        self.text.invalidate();
    }
}

fn theme() -> MarkdownTheme {
    let color = |index| Style::plain().fg(Color::Indexed(index));
    MarkdownTheme {
        code: color(6),
        code_block_border: color(8),
        list_bullet: color(6),
        syntax: SyntaxStyles {
            keyword: color(5),
            function: color(4),
            string: color(2),
            ..SyntaxStyles::default()
        },
        ..MarkdownTheme::default()
    }
}

const ANSWER: &str = "Every *word* of this answer arrives by itself.\n\n\
- Lines that have left the screen are in the scrollback of the terminal, **written once**;\n\
- only the rows below are painted again.\n\n\
```rust\nfn main() {\n    println!(\"hello\");\n}\n```\n";

/// The UI before anything was typed, its prompt, and what is sent with it.
pub(crate) fn ui(mode: ScreenMode) -> (Tui, BlockId, Receiver<String>) {
    let mut tui = Tui::new(TuiOptions {
        mode,
        keybindings: Keybindings::new(TUI_ACTIONS, Platform::Linux, &UserKeybindings::default()),
        wheel_lines: 3,
        copy_on_select: true,
        ..TuiOptions::default()
    });
    let hello = "Type something and press `Enter`.";
    tui.transcript_mut()
        .push(Message::new("pi", Color::Indexed(6), hello));
    let mut editor = Editor::new(EditorTheme::default(), EditorOptions::default());
    editor.set_border(Style::plain().fg(Color::Indexed(4)));
    editor.set_status("chat");
    let (sender, sent) = mpsc::channel();
    editor.on_event(move |event| {
        if let EditorEvent::Submitted(text) = event {
            // The program may be leaving, and then needs no more messages.
            drop(sender.send(text));
        }
    });
    let prompt = tui.dock_mut().push(editor);
    tui.set_focus(Some(FocusTarget::Dock(prompt)));
    (tui, prompt, sent)
}

fn is_key(key: &KeyEvent, character: char) -> bool {
    key.is(KeyId::new(Key::Char(character)).with(Modifiers::CTRL))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mode = match std::env::args().nth(1).as_deref() {
        Some("full") => ScreenMode::Full,
        _ => ScreenMode::Main,
    };
    let (tui, _, sent) = ui(mode);
    let mut runner = Runner::start(tui, RunnerOptions::default())?;
    runner.set_title("chat")?;
    let mut answer: Option<Answer> = None;
    loop {
        let next_word = tokio::time::sleep(Duration::from_millis(40));
        let event = tokio::select! {
            event = runner.next() => event?,
            () = next_word, if answer.is_some() => {
                if stream_word(runner.tui_mut(), &mut answer) {
                    runner.set_progress(false)?;
                }
                continue;
            }
        };
        if let Ok(text) = sent.try_recv() {
            answer = Some(send(runner.tui_mut(), &text));
            runner.set_progress(true)?;
        }
        match event {
            RunnerEvent::Terminated => break,
            RunnerEvent::Input {
                event: InputEvent::Key(key),
                outcome: InputOutcome::Ignored,
            } => {
                if is_key(&key, 'c') {
                    break;
                }
                #[cfg(unix)]
                if is_key(&key, 'z') {
                    runner.suspend().await?;
                }
                if is_key(&key, 't') {
                    let mode = match runner.tui().mode() {
                        ScreenMode::Main => ScreenMode::Full,
                        ScreenMode::Full => ScreenMode::Main,
                    };
                    runner.set_mode(mode)?;
                }
            }
            RunnerEvent::Input { .. }
            | RunnerEvent::OpenUrl(_)
            | RunnerEvent::ColorScheme(_)
            | RunnerEvent::Resized => {}
        }
    }
    runner.stop(ExitBehavior::PrintTranscript)?;
    Ok(())
}

/// An answer and the words still to come.
pub(crate) type Answer = (BlockId, std::str::SplitInclusive<'static, char>);

/// Sends a message and starts the answer to it.
pub(crate) fn send(tui: &mut Tui, text: &str) -> Answer {
    let transcript = tui.transcript_mut();
    transcript.push(Message::new("you", Color::Indexed(3), text));
    let answer = Message::new("pi", Color::Indexed(6), "");
    (transcript.push_live(answer), ANSWER.split_inclusive(' '))
}

/// Adds a word to the answer; returns whether that was the last.
pub(crate) fn stream_word(tui: &mut Tui, answers: &mut Option<Answer>) -> bool {
    let Some((id, words)) = answers else {
        return false;
    };
    let Some(word) = words.next() else {
        tui.transcript_mut().set_liveness(*id, Liveness::Settled);
        *answers = None;
        return true;
    };
    if let Some(component) = tui.transcript_mut().get_mut(*id)
        && let Some(message) = (component as &mut dyn Any).downcast_mut::<Message>()
    {
        message.text.append(word);
    }
    false
}
