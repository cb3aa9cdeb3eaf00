//! A program in a pseudo-terminal: whatever ends or stops it, the terminal is as it was before.
//!
//! The program is this test binary once more: `program` is an ignored test that the others run.

use std::io::{Read as _, Write};
use std::process::ExitCode;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use pi_tui::{
    InputEvent, ExitBehavior, Runner, RunnerEvent, RunnerOptions, ScreenMode, Text, Tui, TuiOptions,
};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};

/// Far longer than anything here takes; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(30);
const HELLO: &str = "hello from the program";
/// What the program writes when it gives the keyboard back.
const KEYBOARD_GIVEN_BACK: &str = "\x1b[<u";

/// The program: `q` ends it, `p` makes it panic, `f` makes it full-screen, Ctrl+Z stops it.
#[test]
#[ignore = "it is run by the other tests, in a terminal of its own"]
fn program() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut tui = Tui::new(TuiOptions::default());
        tui.transcript_mut().push(Text::new(HELLO));
        let mut runner = Runner::start(tui, RunnerOptions::default()).unwrap();
        loop {
            match runner.next().await.unwrap() {
                RunnerEvent::Terminated => break,
                RunnerEvent::Input {
                    event: InputEvent::Key(key),
                    ..
                } => match (key.text(), key.raw()) {
                    (Some('q'), _) => break,
                    (Some('p'), _) => panic!("as the test asked"),
                    (Some('f'), _) => runner.set_mode(ScreenMode::Full).unwrap(),
                    (_, b"\x1a") => runner.suspend().await.unwrap(),
                    _ => {}
                },
                _ => {}
            }
        }
        runner.stop(ExitBehavior::RestoreScreen).unwrap();
    });
    ExitCode::SUCCESS
}

/// What came out of the terminal so far, and whether its other end is closed.
type Output = Arc<(Mutex<(Vec<u8>, bool)>, Condvar)>;

/// A terminal with a program in it.
struct Terminal {
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
    writer: Box<dyn Write + Send>,
    output: Output,
    /// The line settings before the program ran.
    before: String,
}

impl Terminal {
    /// Runs the program alone in a terminal.
    fn with_program() -> Self {
        let mut command = CommandBuilder::new(std::env::current_exe().unwrap());
        command.args(ARGUMENTS);
        Self::run(command)
    }

    /// Runs a shell script in a terminal, in which `"$@"` is the program.
    fn with_script(script: &str) -> Self {
        let mut command = CommandBuilder::new("/bin/sh");
        command.args(["-c", script, "sh"]);
        command.arg(std::env::current_exe().unwrap());
        command.args(ARGUMENTS);
        Self::run(command)
    }

    fn run(command: CommandBuilder) -> Self {
        let pair = native_pty_system().openpty(PtySize::default()).unwrap();
        let before = settings(pair.master.as_ref());
        let child = pair.slave.spawn_command(command).unwrap();
        let output = Output::default();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let shared = Arc::clone(&output);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            loop {
                // At its end a pseudo-terminal reports an error on Linux and nothing elsewhere.
                let count = reader.read(&mut buffer).unwrap_or(0);
                let mut seen = shared.0.lock().unwrap();
                seen.0.extend_from_slice(&buffer[..count]);
                seen.1 |= count == 0;
                shared.1.notify_all();
                if count == 0 {
                    return;
                }
            }
        });
        Self {
            writer: pair.master.take_writer().unwrap(),
            master: pair.master,
            child,
            output,
            before,
        }
    }

    /// Waits until `text` came after the first `from` bytes; returns where it ends.
    fn wait_for(&self, text: &str, from: usize) -> usize {
        let find = |bytes: &[u8]| {
            let rest = bytes.get(from..).unwrap_or_default();
            let found = rest
                .windows(text.len())
                .position(|part| part == text.as_bytes());
            found.map(|at| from + at + text.len())
        };
        let (seen, changed) = &*self.output;
        let guard = seen.lock().unwrap();
        let (guard, _) = changed
            .wait_timeout_while(guard, PATIENCE, |(bytes, ended)| {
                find(bytes).is_none() && !*ended
            })
            .unwrap();
        find(&guard.0).unwrap_or_else(|| {
            panic!(
                "{text:?} did not come: {:?}",
                String::from_utf8_lossy(&guard.0)
            )
        })
    }

    fn type_in(&mut self, bytes: &str) {
        self.writer.write_all(bytes.as_bytes()).unwrap();
        self.writer.flush().unwrap();
    }

    fn signal(&self, signal: Signal) {
        let id = self.child.process_id().unwrap();
        let id = Pid::from_raw(id.try_into().unwrap()).unwrap();
        kill_process(id, signal).unwrap();
    }

    /// Answers what the program asks at its start, as an old terminal does.
    fn answer_questions(&mut self) -> usize {
        let asked = self.wait_for("\x1b[c", 0);
        self.type_in("\x1b[?62;22c");
        self.wait_for(HELLO, asked)
    }

    /// Waits for the end of everything, and returns the exit code and all that came.
    fn finish(mut self) -> (u32, String) {
        let status = self.child.wait().unwrap();
        assert_eq!(settings(self.master.as_ref()), self.before);
        // The reader ends when nobody holds the terminal any more.
        drop(self.writer);
        drop(self.master);
        let (seen, changed) = &*self.output;
        let guard = seen.lock().unwrap();
        let (guard, _) = changed
            .wait_timeout_while(guard, PATIENCE, |(_, ended)| !*ended)
            .unwrap();
        let output = String::from_utf8_lossy(&guard.0).into_owned();
        assert_restored(&output);
        (status.exit_code(), output)
    }
}

const ARGUMENTS: [&str; 5] = [
    "--exact",
    "pty::program",
    "--ignored",
    "--nocapture",
    "--quiet",
];

/// Returns the line settings of a terminal, to be compared.
fn settings(master: &dyn MasterPty) -> String {
    format!("{:?}", master.get_termios())
}

/// Asserts that every mode that was changed is changed back.
fn assert_restored(output: &str) {
    for (on, off) in [
        ("\x1b[?2004h", "\x1b[?2004l"),
        ("\x1b[?1049h", "\x1b[?1049l"),
        ("\x1b[?1000h", "\x1b[?1000l"),
        ("\x1b[?1003h", "\x1b[?1003l"),
        ("\x1b[?1006h", "\x1b[?1006l"),
        ("\x1b[?2031h", "\x1b[?2031l"),
        ("\x1b[?2026h", "\x1b[?2026l"),
        ("\x1b[?7l", "\x1b[?7h"),
        ("\x1b[?25l", "\x1b[?25h"),
        ("\x1b[>7u", KEYBOARD_GIVEN_BACK),
        ("\x1b[>4;2m", "\x1b[>4;0m"),
    ] {
        let (on, off_at) = (output.rfind(on), output.rfind(off));
        assert!(on <= off_at, "{off:?} is missing in {output:?}");
    }
}

#[test]
fn the_terminal_is_given_back_at_the_end() {
    let mut terminal = Terminal::with_program();
    terminal.answer_questions();
    assert_ne!(settings(terminal.master.as_ref()), terminal.before);
    terminal.type_in("q");
    let (code, output) = terminal.finish();
    assert_eq!(code, 0, "{output:?}");
}

#[test]
fn the_terminal_is_given_back_by_signals() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let mut terminal = Terminal::with_program();
        let shown = terminal.answer_questions();
        terminal.type_in("f");
        terminal.wait_for(HELLO, shown);
        terminal.signal(signal);
        let (code, output) = terminal.finish();
        assert_eq!(code, 0, "{signal:?} {output:?}");
    }
}

#[test]
fn the_terminal_is_given_back_before_a_panic_is_reported() {
    for screen in ["", "f"] {
        let mut terminal = Terminal::with_program();
        let mut shown = terminal.answer_questions();
        if !screen.is_empty() {
            terminal.type_in(screen);
            shown = terminal.wait_for(HELLO, shown);
        }
        terminal.type_in("p");
        let reported = terminal.wait_for("as the test asked", shown);
        let (code, output) = terminal.finish();
        assert_ne!(code, 0);
        let (before, _) = output.split_at(reported);
        assert_restored(before);
    }
}

#[test]
fn answers_on_their_way_do_not_reach_the_shell() {
    let script = r#""$@"; printf READY; read -r line; printf 'read<%s>' "$line""#;
    let mut terminal = Terminal::with_script(script);
    let shown = terminal.wait_for(HELLO, 0);
    terminal.type_in("q");
    let left = terminal.wait_for(KEYBOARD_GIVEN_BACK, shown);
    terminal.type_in("\x1b]11;rgb:0000/0000/0000\x1b\\\x1b[?62;22c");
    let ready = terminal.wait_for("READY", left);
    terminal.type_in("clean\n");
    terminal.wait_for("read<clean>", ready);
    let (code, _) = terminal.finish();
    assert_eq!(code, 0);
}

#[test]
fn a_stopped_program_leaves_the_terminal_and_takes_it_again() {
    let script = r#"set -m; "$@"; printf STOPPED; read -r line; fg; printf ENDED"#;
    let mut terminal = Terminal::with_script(script);
    let shown = terminal.answer_questions();
    let taken = settings(terminal.master.as_ref());
    assert_ne!(taken, terminal.before);
    terminal.type_in("\x1a");
    let stopped = terminal.wait_for("STOPPED", shown);
    assert_eq!(settings(terminal.master.as_ref()), terminal.before);
    terminal.type_in("\n");
    let asked = terminal.wait_for("\x1b[c", stopped);
    terminal.type_in("\x1b[?62;22c");
    let painted = terminal.wait_for(HELLO, asked);
    assert_eq!(settings(terminal.master.as_ref()), taken);
    terminal.type_in("q");
    terminal.wait_for("ENDED", painted);
    let (code, _) = terminal.finish();
    assert_eq!(code, 0);
}
