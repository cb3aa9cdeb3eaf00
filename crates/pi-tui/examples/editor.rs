//! The prompt editor in a bare loop: type, complete with `/` and `@`, leave with Ctrl+C.
//!
//! It draws without the renderer, to show how little a component needs: lines out, events in.

#[cfg(unix)]
fn main() -> std::io::Result<()> {
    unix::run()
}

#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
mod unix {
    use std::io::{self, Read, Write};
    use std::sync::mpsc::{self, RecvTimeoutError};
    use std::sync::{Arc, Mutex};
    use std::thread;
    use std::time::{Duration, Instant};

    use pi_tui::{
        CURSOR_MARKER, Color, CombinedProvider, CommandCompletion, Component, Editor, EditorEvent,
        EditorOptions, EditorTheme, InputContext, InputDecoder, InputEvent, InputOutcome,
        InputTiming, Keybindings, KeyboardMode, Platform, SelectItem, SelectTheme, Style,
        TUI_ACTIONS, UserBindings, action,
    };
    use rustix::stdio::stdin;
    use rustix::termios::{OptionalActions, tcgetattr, tcgetwinsize, tcsetattr};

    enum Wake {
        Bytes(Vec<u8>),
        Completions,
        End,
    }

    pub(super) fn run() -> io::Result<()> {
        let before = tcgetattr(stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(stdin(), OptionalActions::Flush, &raw)?;
        let result = edit();
        tcsetattr(stdin(), OptionalActions::Flush, &before)?;
        write("\x1b[?2004l\r\n")?;
        result
    }

    fn editor() -> (Editor, Arc<Mutex<Vec<String>>>) {
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
        let submitted = Arc::new(Mutex::new(Vec::new()));
        let sent = Arc::clone(&submitted);
        editor.on_event(move |event| {
            if let EditorEvent::Submitted(text) = event
                && let Ok(mut sent) = sent.lock()
            {
                sent.push(text);
            }
        });
        let commands = vec![
            CommandCompletion::new("help", "Show what can be done"),
            CommandCompletion::new("model", "Choose a model")
                .argument_hint("<name>")
                .arguments(|_| ["large", "small"].map(SelectItem::new).into()),
        ];
        let base = std::env::current_dir().unwrap_or_default();
        let home = std::env::var_os("HOME").map(Into::into);
        let provider = CombinedProvider::new(commands, base, home);
        editor.set_completion_provider(Arc::new(provider));
        editor.set_focused(true);
        (editor, submitted)
    }

    fn edit() -> io::Result<()> {
        let (mut editor, submitted) = editor();
        let (sender, wakes) = mpsc::channel();
        let answers = sender.clone();
        // The loop may be gone when a late answer comes.
        editor.on_completions(move || drop(answers.send(Wake::Completions)));
        thread::spawn(move || read_input(&sender));
        let bindings = Keybindings::new(TUI_ACTIONS, Platform::Linux, &UserBindings::default());
        let mut decoder = InputDecoder::new(InputTiming::default(), KeyboardMode::default());
        let mut painted = 0;
        write("\x1b[?2004h")?;
        loop {
            for text in submitted
                .lock()
                .map(|mut sent| std::mem::take(&mut *sent))
                .into_iter()
                .flatten()
            {
                editor.add_to_history(&text);
                erase(painted)?;
                write(&format!("> {}\r\n", text.replace('\n', "\r\n  ")))?;
                painted = 0;
            }
            painted = paint(&mut editor, painted)?;
            let due = [editor.next_tick(), decoder.deadline()]
                .into_iter()
                .flatten()
                .min();
            let wait = due.map_or(Duration::from_hours(1), |due| {
                due.saturating_duration_since(Instant::now())
            });
            let events = match wakes.recv_timeout(wait) {
                Ok(Wake::Bytes(bytes)) => decoder.push(&bytes, Instant::now()),
                Ok(Wake::Completions) => Vec::new(),
                Err(RecvTimeoutError::Timeout) => decoder.expire(Instant::now()),
                Ok(Wake::End) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            let context = InputContext {
                keybindings: &bindings,
                now: Instant::now(),
                rows: size().1,
            };
            for event in events {
                let outcome = editor.handle_input(&event, &context);
                if let InputEvent::Key(key) = &event
                    && outcome == InputOutcome::Ignored
                    && bindings.matches(key, action::INPUT_COPY)
                {
                    return Ok(());
                }
            }
            editor.tick(Instant::now());
        }
    }

    fn read_input(sender: &mpsc::Sender<Wake>) {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = io::stdin().read(&mut buffer) {
            let bytes = buffer.get(..length).unwrap_or_default().to_vec();
            if sender.send(Wake::Bytes(bytes)).is_err() {
                return;
            }
        }
        drop(sender.send(Wake::End));
    }

    fn size() -> (usize, usize) {
        tcgetwinsize(stdin()).map_or((80, 24), |size| {
            (usize::from(size.ws_col).max(1), usize::from(size.ws_row))
        })
    }

    fn erase(rows: usize) -> io::Result<()> {
        let up = if rows > 1 {
            format!("\x1b[{}A", rows - 1)
        } else {
            String::new()
        };
        write(&format!("\r{up}\x1b[J"))
    }

    /// Paints over what was painted and returns the number of rows.
    fn paint(editor: &mut Editor, painted: usize) -> io::Result<usize> {
        let lines = editor.render(size().0);
        if painted > 0 {
            erase(painted)?;
        }
        let lines: Vec<String> = lines
            .iter()
            .map(|line| line.replace(CURSOR_MARKER, ""))
            .collect();
        write(&lines.join("\x1b[0m\r\n"))?;
        Ok(lines.len())
    }

    fn write(bytes: &str) -> io::Result<()> {
        let mut output = io::stdout().lock();
        output.write_all(bytes.as_bytes())?;
        output.flush()
    }
}
