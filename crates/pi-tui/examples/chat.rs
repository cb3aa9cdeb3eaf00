//! A chat on the main screen: answers stream in, finished lines go into the terminal's scrollback.
//!
//! Run with `cargo run -p pi-tui --example chat [full]`. Enter sends, Ctrl+F changes the kind of
//! screen, Ctrl+Z suspends, Ctrl+C leaves.

use std::any::Any;
use std::time::Duration;

use pi_tui::{
    BlockId, CURSOR_MARKER, Color, Component, FocusTarget, InputContext, InputEvent, InputOutcome,
    Key, KeyEvent, KeyId, Keybindings, Leave, Lines, Liveness, Modifiers, Platform, Runner,
    RunnerEvent, RunnerOptions, ScreenMode, Style, TUI_ACTIONS, Tui, TuiOptions, UserBindings,
    sanitize, truncate_to_width, wrap_text,
};

/// A message with a name above it.
struct Message {
    name: &'static str,
    color: Color,
    text: String,
    cached: Option<(usize, Lines)>,
}

impl Message {
    fn new(name: &'static str, color: Color, text: String) -> Self {
        Self {
            name,
            color,
            text,
            cached: None,
        }
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.cached = None;
    }
}

impl Component for Message {
    fn render(&mut self, width: usize) -> Lines {
        match &self.cached {
            Some((cached_width, lines)) if *cached_width == width => lines.clone(),
            _ => {
                let style = Style::plain().bold().fg(self.color);
                let name = style.apply(&truncate_to_width(
                    self.name,
                    width,
                    pi_tui::Truncation::default(),
                ));
                let lines: Lines = std::iter::once(name)
                    .chain(wrap_text(&self.text, width))
                    .chain([String::new()])
                    .collect();
                self.cached = Some((width, lines.clone()));
                lines
            }
        }
    }
}

/// A line to type into.
#[derive(Default)]
struct Prompt {
    text: String,
    focused: bool,
}

impl Component for Prompt {
    fn render(&mut self, width: usize) -> Lines {
        let rule = Style::plain().dim().apply(&"─".repeat(width));
        let marker = if self.focused { CURSOR_MARKER } else { "" };
        let cursor = Style::plain().inverse().apply(" ");
        let typed = wrap_text(&format!("> {}{marker}{cursor}", self.text), width);
        [rule.clone()]
            .into_iter()
            .chain(typed)
            .chain([rule])
            .collect()
    }

    fn handle_input(&mut self, event: &InputEvent, _context: &InputContext<'_>) -> InputOutcome {
        match event {
            InputEvent::Key(key) if key.is(KeyId::new(Key::Backspace)) => {
                self.text.pop();
            }
            InputEvent::Key(key) => match key.text() {
                Some(character) => self.text.push(character),
                None => return InputOutcome::Ignored,
            },
            InputEvent::Paste(paste) => self.text.push_str(&sanitize(&paste.text)),
            InputEvent::Mouse(_)
            | InputEvent::Focus(_)
            | InputEvent::Reply(_)
            | InputEvent::Unknown(_) => return InputOutcome::Ignored,
        }
        InputOutcome::Consumed
    }

    fn set_focused(&mut self, focused: bool) {
        self.focused = focused;
    }
}

const WORDS: &str = "Every word of this answer arrives by itself. Lines that have left the screen \
    are in the scrollback of the terminal, written once; only the rows below are painted again.";

/// The UI before anything was typed, and its prompt.
pub(crate) fn ui(mode: ScreenMode) -> (Tui, BlockId) {
    let mut tui = Tui::new(TuiOptions {
        mode,
        keybindings: Keybindings::new(TUI_ACTIONS, Platform::Linux, &UserBindings::default()),
        wheel_lines: 3,
        copy_on_select: true,
        ..TuiOptions::default()
    });
    let hello = "Type something and press Enter.".to_owned();
    tui.transcript_mut()
        .push(Message::new("pi", Color::Indexed(6), hello));
    let prompt = tui.dock_mut().push(Prompt::default());
    tui.set_focus(Some(FocusTarget::Dock(prompt)));
    (tui, prompt)
}

fn is_key(key: &KeyEvent, character: char) -> bool {
    key.is(KeyId::new(Key::Char(character)).with(Modifiers::CTRL))
}

/// Takes what was typed.
pub(crate) fn take_prompt(tui: &mut Tui, prompt: BlockId) -> Option<String> {
    let component: &mut dyn Any = tui.dock_mut().get_mut(prompt)?;
    let text = std::mem::take(&mut component.downcast_mut::<Prompt>()?.text);
    (!text.is_empty()).then_some(text)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mode = match std::env::args().nth(1).as_deref() {
        Some("full") => ScreenMode::Full,
        _ => ScreenMode::Main,
    };
    let (tui, prompt) = ui(mode);
    let mut runner = Runner::start(tui, RunnerOptions::default())?;
    runner.set_title("chat")?;
    let mut answers: Option<Answer> = None;
    loop {
        let next_word = tokio::time::sleep(Duration::from_millis(40));
        let event = tokio::select! {
            event = runner.next() => event?,
            () = next_word, if answers.is_some() => {
                if stream_word(runner.tui(), &mut answers) {
                    runner.set_progress(false)?;
                }
                continue;
            }
        };
        let RunnerEvent::Input {
            event: InputEvent::Key(key),
            outcome: InputOutcome::Ignored,
        } = event
        else {
            if event == RunnerEvent::Terminated {
                break;
            }
            continue;
        };
        if is_key(&key, 'c') {
            break;
        } else if is_key(&key, 'z') {
            #[cfg(unix)]
            runner.suspend()?;
        } else if is_key(&key, 'f') {
            let mode = match runner.tui().mode() {
                ScreenMode::Main => ScreenMode::Full,
                ScreenMode::Full => ScreenMode::Main,
            };
            runner.set_mode(mode)?;
        } else if key.is(KeyId::new(Key::Enter))
            && let Some(text) = take_prompt(runner.tui(), prompt)
        {
            answers = Some(send(runner.tui(), text));
            runner.set_progress(true)?;
        }
    }
    runner.stop(Leave::WithTranscript)?;
    Ok(())
}

/// An answer and the words still to come.
pub(crate) type Answer = (BlockId, std::str::SplitInclusive<'static, char>);

/// Sends a message and starts the answer to it.
pub(crate) fn send(tui: &mut Tui, text: String) -> Answer {
    let transcript = tui.transcript_mut();
    transcript.push(Message::new("you", Color::Indexed(3), text));
    let answer = Message::new("pi", Color::Indexed(6), String::new());
    (transcript.push_live(answer), WORDS.split_inclusive(' '))
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
        message.push(word);
    }
    false
}
