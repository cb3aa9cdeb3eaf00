//! Runs a program in a pseudo-terminal: however it exits or stops, the terminal must be restored.
//!
//! The program is this test binary itself: `program` is an ignored test that the others run.

use std::io::{Read as _, Write};
use std::process::ExitCode;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use pi_tui::{
    ExitBehavior, InputEvent, Runner, RunnerEvent, RunnerOptions, ScreenMode, Text, Tui, TuiOptions,
};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};

/// Far longer than any test takes; a wait this long is a failure.
const TIMEOUT: Duration = Duration::from_secs(30);
const HELLO: &str = "hello from the program";
/// Written by the program when it restores the keyboard mode.
const KEYBOARD_RESTORED: &str = "\x1b[<u";

/// The program: `q` quits, `p` panics, `f` switches to full-screen mode, Ctrl+Z suspends.
#[test]
#[ignore = "run by the other tests in a pseudo-terminal"]
fn program() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut tui = Tui::new(TuiOptions::default());
        tui.dock_mut().push(Text::new(HELLO));
        let mut runner = Runner::start(tui, RunnerOptions::default()).unwrap();
        loop {
            match runner.next().await.unwrap() {
                RunnerEvent::Terminated => break,
                RunnerEvent::Input {
                    event: InputEvent::Key(key),
                    ..
                } => match (key.text(), key.raw()) {
                    (Some('q'), _) => break,
                    (Some('p'), _) => panic!("requested by the test"),
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

/// The terminal output so far, and whether the other end is closed.
type Output = Arc<(Mutex<(Vec<u8>, bool)>, Condvar)>;

/// A pseudo-terminal with a running program.
struct PtySession {
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
    writer: Box<dyn Write + Send>,
    output: Output,
    /// Terminal attributes before the program started.
    before: String,
}

impl PtySession {
    /// Runs the program directly in a terminal.
    fn with_program() -> Self {
        let mut command = CommandBuilder::new(std::env::current_exe().unwrap());
        command.args(ARGUMENTS);
        Self::run(command)
    }

    /// Runs a shell script in a terminal, with the program as `"$@"`.
    fn with_script(script: &str) -> Self {
        let mut command = CommandBuilder::new("/bin/sh");
        command.args(["-c", script, "sh"]);
        command.arg(std::env::current_exe().unwrap());
        command.args(ARGUMENTS);
        Self::run(command)
    }

    fn run(command: CommandBuilder) -> Self {
        let pair = native_pty_system().openpty(PtySize::default()).unwrap();
        let before = terminal_attributes(pair.master.as_ref());
        let child = pair.slave.spawn_command(command).unwrap();
        let output = Output::default();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let shared = Arc::clone(&output);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            loop {
                // At the end of output, a pseudo-terminal returns an error on Linux and nothing
                // elsewhere.
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

    /// Waits until `text` appears after the first `from` bytes, and returns where it ends.
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
            .wait_timeout_while(guard, TIMEOUT, |(bytes, ended)| {
                find(bytes).is_none() && !*ended
            })
            .unwrap();
        find(&guard.0).unwrap_or_else(|| {
            panic!(
                "{text:?} did not appear: {:?}",
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

    /// Replies to the program's startup queries like an old terminal.
    fn reply_to_queries(&mut self) -> usize {
        let queried = self.wait_for("\x1b[c", 0);
        self.type_in("\x1b[?62;22c");
        self.wait_for(HELLO, queried)
    }

    /// Waits for the program and all output, and returns the exit code and the output.
    fn finish(mut self) -> (u32, String) {
        let status = self.child.wait().unwrap();
        assert_eq!(terminal_attributes(self.master.as_ref()), self.before);
        // The reader ends when the last handle to the terminal is closed.
        drop(self.writer);
        drop(self.master);
        let (seen, changed) = &*self.output;
        let guard = seen.lock().unwrap();
        let (guard, _) = changed
            .wait_timeout_while(guard, TIMEOUT, |(_, ended)| !*ended)
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

/// Returns the terminal attributes for comparison.
fn terminal_attributes(master: &dyn MasterPty) -> String {
    format!("{:?}", master.get_termios())
}

/// Asserts that every changed mode is restored.
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
        ("\x1b[>7u", KEYBOARD_RESTORED),
        ("\x1b[>4;2m", "\x1b[>4;0m"),
    ] {
        let (on, off_at) = (output.rfind(on), output.rfind(off));
        assert!(on <= off_at, "{off:?} is missing in {output:?}");
    }
}

#[test]
fn terminal_is_restored_on_exit() {
    let mut terminal = PtySession::with_program();
    terminal.reply_to_queries();
    assert_ne!(
        terminal_attributes(terminal.master.as_ref()),
        terminal.before
    );
    terminal.type_in("q");
    let (code, output) = terminal.finish();
    assert_eq!(code, 0, "{output:?}");
}

#[test]
fn terminal_is_restored_by_signals() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let mut terminal = PtySession::with_program();
        let shown = terminal.reply_to_queries();
        terminal.type_in("f");
        terminal.wait_for(HELLO, shown);
        terminal.signal(signal);
        let (code, output) = terminal.finish();
        assert_eq!(code, 0, "{signal:?} {output:?}");
    }
}

#[test]
fn terminal_is_restored_before_a_panic_is_reported() {
    for screen in ["", "f"] {
        let mut terminal = PtySession::with_program();
        let mut shown = terminal.reply_to_queries();
        if !screen.is_empty() {
            terminal.type_in(screen);
            shown = terminal.wait_for(HELLO, shown);
        }
        terminal.type_in("p");
        let reported = terminal.wait_for("requested by the test", shown);
        let (code, output) = terminal.finish();
        assert_ne!(code, 0);
        let (before, _) = output.split_at(reported);
        assert_restored(before);
    }
}

#[test]
fn pending_replies_do_not_reach_the_shell() {
    let script = r#""$@"; printf READY; read -r line; printf 'read<%s>' "$line""#;
    let mut terminal = PtySession::with_script(script);
    let shown = terminal.wait_for(HELLO, 0);
    terminal.type_in("q");
    let left = terminal.wait_for(KEYBOARD_RESTORED, shown);
    terminal.type_in("\x1b]11;rgb:0000/0000/0000\x1b\\\x1b[?62;22c");
    let ready = terminal.wait_for("READY", left);
    terminal.type_in("clean\n");
    terminal.wait_for("read<clean>", ready);
    let (code, _) = terminal.finish();
    assert_eq!(code, 0);
}

#[test]
fn suspending_releases_and_reclaims_the_terminal() {
    let script = r#"set -m; "$@"; printf STOPPED; read -r line; fg; printf ENDED"#;
    let mut terminal = PtySession::with_script(script);
    let shown = terminal.reply_to_queries();
    let taken = terminal_attributes(terminal.master.as_ref());
    assert_ne!(taken, terminal.before);
    terminal.type_in("\x1a");
    let stopped = terminal.wait_for("STOPPED", shown);
    assert_eq!(
        terminal_attributes(terminal.master.as_ref()),
        terminal.before
    );
    terminal.type_in("\n");
    let queried = terminal.wait_for("\x1b[c", stopped);
    terminal.type_in("\x1b[?62;22c");
    let painted = terminal.wait_for(HELLO, queried);
    assert_eq!(terminal_attributes(terminal.master.as_ref()), taken);
    terminal.type_in("q");
    terminal.wait_for("ENDED", painted);
    let (code, _) = terminal.finish();
    assert_eq!(code, 0);
}
