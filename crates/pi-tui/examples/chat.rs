//! A chat on the main screen: responses stream in, and finished lines move to the terminal's
//! scrollback.
//!
//! Run with `cargo run -p pi-tui --example chat [full]`. Enter sends, Ctrl+T switches the screen
//! mode, Ctrl+Z suspends, Ctrl+C exits.

use std::any::Any;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use pi_tui::{
    BlockId, Color, Component, Editor, EditorEvent, EditorOptions, EditorTheme, ExitBehavior,
    FocusTarget, InputEvent, InputOutcome, Key, KeyEvent, KeyId, Keybindings, Line, Lines,
    Liveness, Modifiers, Platform, Runner, RunnerEvent, RunnerOptions, ScreenMode, Style,
    TUI_ACTIONS, Text, TruncateOptions, Tui, TuiOptions, UserKeybindings, WheelSpeed, sanitize,
    truncate_to_width,
};

/// A message with a name above it.
struct ChatMessage {
    name: String,
    content: String,
    text: Text,
    cached: Option<(Lines, Lines)>,
}

impl ChatMessage {
    fn new(name: &str, color: Color, text: &str) -> Self {
        Self {
            name: Style::plain().bold().fg(color).apply(name),
            content: text.to_owned(),
            text: Text::new(sanitize(text)).padding(0, 0),
            cached: None,
        }
    }

    fn append(&mut self, text: &str) {
        self.content.push_str(text);
        self.text.set_text(sanitize(&self.content));
    }
}

impl Component for ChatMessage {
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

const RESPONSE: &str = "Every word of this response streams in separately.\n\n\
Lines that have left the screen are in the terminal's scrollback, written once; \
only the rows below are repainted.\n\n\
The prompt stays below the response, and typing is possible at any time.\n\n\
Select text with the mouse to copy it.";

/// Returns the initial UI, its prompt, and a receiver of submitted texts.
pub(crate) fn ui(mode: ScreenMode) -> (Tui, BlockId, Receiver<String>) {
    let mut tui = Tui::new(TuiOptions {
        mode,
        keybindings: Keybindings::new(TUI_ACTIONS, Platform::Linux, &UserKeybindings::default()),
        wheel: WheelSpeed::Lines(3),
        copy_on_select: true,
        ..TuiOptions::default()
    });
    let greeting = "Type something and press Enter.";
    tui.transcript_mut()
        .push(ChatMessage::new("pi", Color::Indexed(6), greeting));
    let mut editor = Editor::new(EditorTheme::default(), EditorOptions::default());
    editor.set_border(Style::plain().fg(Color::Indexed(4)));
    editor.set_status("chat");
    let (sender, sent) = mpsc::channel();
    editor.on_event(move |event| {
        if let EditorEvent::Submitted(text) = event {
            // The receiver may already be dropped on exit.
            drop(sender.send(text));
        }
    });
    let prompt = tui.dock_mut().push(editor);
    tui.scene_mut().set_focus(Some(FocusTarget::Dock(prompt)));
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
    let mut response: Option<StreamingResponse> = None;
    loop {
        let next_word = tokio::time::sleep(Duration::from_millis(40));
        let event = tokio::select! {
            event = runner.next() => event?,
            () = next_word, if response.is_some() => {
                if stream_word(runner.tui_mut(), &mut response) {
                    runner.set_progress(false)?;
                }
                continue;
            }
        };
        if let Ok(text) = sent.try_recv() {
            response = Some(send(runner.tui_mut(), &text));
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
            | RunnerEvent::Colors(_)
            | RunnerEvent::ColorScheme(_)
            | RunnerEvent::Resized => {}
        }
    }
    runner.stop(ExitBehavior::PrintTranscript)?;
    Ok(())
}

/// A response block and its remaining words.
pub(crate) type StreamingResponse = (BlockId, std::str::SplitInclusive<'static, char>);

/// Adds a message and starts the response to it.
pub(crate) fn send(tui: &mut Tui, text: &str) -> StreamingResponse {
    let transcript = tui.transcript_mut();
    transcript.push(ChatMessage::new("you", Color::Indexed(3), text));
    let response = ChatMessage::new("pi", Color::Indexed(6), "");
    (
        transcript.push_live(response),
        RESPONSE.split_inclusive(' '),
    )
}

/// Appends a word to the response. Returns whether it was the last.
pub(crate) fn stream_word(tui: &mut Tui, response: &mut Option<StreamingResponse>) -> bool {
    let Some((id, words)) = response else {
        return false;
    };
    let Some(word) = words.next() else {
        tui.transcript_mut().set_liveness(*id, Liveness::Settled);
        *response = None;
        return true;
    };
    if let Some(component) = tui.transcript_mut().get_mut(*id)
        && let Some(message) = (component as &mut dyn Any).downcast_mut::<ChatMessage>()
    {
        message.append(word);
    }
    false
}
