//! The binary in a pseudo-terminal, seen through an emulator.

use std::io::{Read as _, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::process::World;

/// Far longer than anything here takes; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the program asks a terminal for its attributes with; a terminal that never answers would
/// make every exit wait for it.
const QUESTION: &[u8] = b"\x1b[c";
const ANSWER: &[u8] = b"\x1b[?62;22c";

/// Lines kept above the screen.
const SCROLLBACK: usize = 20_000;

struct Seen {
    emulator: vt100::Parser,
    /// Every byte that was written, for what must never be.
    written: Vec<u8>,
    closed: bool,
}

/// A terminal with the program in it.
pub(crate) struct Terminal {
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
    writer: Arc<Mutex<Box<dyn Write + Send>>>,
    seen: Arc<(Mutex<Seen>, Condvar)>,
    settings_before: String,
}

impl Terminal {
    /// Starts the program in the project of a world.
    pub(crate) fn start(world: &World, arguments: &[&str]) -> Self {
        Self::start_with(world, arguments, &[])
    }

    /// Starts the program with further variables.
    pub(crate) fn start_with(
        world: &World,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_pi"));
        command.args(arguments);
        Self::run(in_world(command, world, variables))
    }

    /// Starts a shell with job control, which runs a script; `$PI` is the program.
    pub(crate) fn start_shell(world: &World, script: &str) -> Self {
        let mut command = CommandBuilder::new("sh");
        command.args(["-m", "-c", script]);
        let program = ("PI", env!("CARGO_BIN_EXE_pi"));
        Self::run(in_world(command, world, &[program]))
    }

    /// Starts the program in another folder.
    pub(crate) fn start_in(world: &World, folder: &std::path::Path, arguments: &[&str]) -> Self {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_pi"));
        command.args(arguments);
        // Such a terminal is offered links.
        let mut command = in_world(command, world, &[("TERM_PROGRAM", "WezTerm")]);
        command.cwd(folder);
        Self::run(command)
    }

    fn run(command: CommandBuilder) -> Self {
        let size = PtySize {
            rows: 30,
            cols: 100,
            ..PtySize::default()
        };
        let pair = native_pty_system().openpty(size).unwrap();
        let settings_before = settings(pair.master.as_ref());
        let child = pair.slave.spawn_command(command).unwrap();
        let writer = Arc::new(Mutex::new(pair.master.take_writer().unwrap()));
        let seen = Arc::new((
            Mutex::new(Seen {
                emulator: vt100::Parser::new(cells(size.rows), cells(size.cols), SCROLLBACK),
                written: Vec::new(),
                closed: false,
            }),
            Condvar::new(),
        ));
        let mut reader = pair.master.try_clone_reader().unwrap();
        let (shared, answering) = (Arc::clone(&seen), Arc::clone(&writer));
        std::thread::spawn(move || {
            let mut buffer = [0; 8192];
            loop {
                // At its end a pseudo-terminal reports an error on Linux and nothing elsewhere.
                let count = reader.read(&mut buffer).unwrap_or(0);
                let bytes = &buffer[..count];
                let asked = bytes.windows(QUESTION.len()).any(|part| part == QUESTION);
                if asked {
                    // The program may be gone already.
                    answering.lock().unwrap().write_all(ANSWER).ok();
                }
                // A test that failed has nothing more to see.
                let Ok(mut seen) = shared.0.lock() else {
                    return;
                };
                seen.emulator.process(bytes);
                seen.written.extend_from_slice(bytes);
                seen.closed |= count == 0;
                shared.1.notify_all();
                if count == 0 {
                    return;
                }
            }
        });
        Self {
            master: pair.master,
            child,
            writer,
            seen,
            settings_before,
        }
    }

    /// Sends bytes as a keyboard does.
    pub(crate) fn send(&self, bytes: impl AsRef<[u8]>) {
        let mut writer = self.writer.lock().unwrap();
        writer.write_all(bytes.as_ref()).unwrap();
        writer.flush().unwrap();
    }

    /// Types a text and sends it.
    pub(crate) fn submit(&self, text: &str) {
        self.send(text);
        // The end of the text must be on the screen, or Enter could take a completion.
        self.send("\r");
    }

    /// Pastes a text.
    pub(crate) fn paste(&self, text: &str) {
        self.send(format!("\x1b[200~{text}\x1b[201~"));
    }

    /// Returns the screen.
    pub(crate) fn screen(&self) -> String {
        self.seen.0.lock().unwrap().emulator.screen().contents()
    }

    /// Checks that something was never written to the terminal.
    pub(crate) fn assert_never_wrote(&self, bytes: &[u8]) {
        let seen = self.seen.0.lock().unwrap();
        let place = seen
            .written
            .windows(bytes.len())
            .position(|part| part == bytes);
        if let Some(place) = place {
            let around = &seen.written[place.saturating_sub(60)..];
            let around = String::from_utf8_lossy(&around[..around.len().min(160)]);
            panic!("{bytes:?} was written: {around:?}");
        }
    }

    /// Returns whether the alternate screen is shown.
    pub(crate) fn is_alternate(&self) -> bool {
        self.seen
            .0
            .lock()
            .unwrap()
            .emulator
            .screen()
            .alternate_screen()
    }

    /// Waits until the screen shows a text.
    pub(crate) fn wait(&self, text: &str) {
        self.wait_until(&format!("\"{text}\" on the screen"), |screen| {
            screen.contains(text)
        });
    }

    /// Waits until the screen does not show a text.
    pub(crate) fn wait_gone(&self, text: &str) {
        self.wait_until(&format!("\"{text}\" gone"), |screen| !screen.contains(text));
    }

    /// Waits until the screen is as wanted.
    pub(crate) fn wait_until(&self, wanted: &str, is_so: impl Fn(&str) -> bool) {
        let (lock, changed) = &*self.seen;
        let limit = Instant::now() + PATIENCE;
        let mut seen = lock.lock().unwrap();
        loop {
            let screen = seen.emulator.screen().contents();
            if is_so(&screen) {
                return;
            }
            let left = limit.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero() && !seen.closed,
                "waited in vain for {wanted}; the screen:\n{screen}"
            );
            seen = changed.wait_timeout(seen, left).unwrap().0;
        }
    }

    /// Changes the size.
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        self.seen
            .0
            .lock()
            .unwrap()
            .emulator
            .screen_mut()
            .set_size(cells(rows), cells(columns));
        let size = PtySize {
            rows,
            cols: columns,
            ..PtySize::default()
        };
        self.master.resize(size).unwrap();
    }

    /// Leaves with Ctrl+D and checks that the terminal is as it was.
    pub(crate) fn quit(mut self) {
        self.send("\x04");
        assert_eq!(self.exit_code(), 0);
        self.assert_restored();
    }

    /// Waits for the end of the program and returns its exit code.
    pub(crate) fn exit_code(&mut self) -> u32 {
        let limit = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                self.drain();
                return status.exit_code();
            }
            assert!(
                Instant::now() < limit,
                "the program does not end:\n{}",
                self.screen()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until everything the program wrote has been seen.
    fn drain(&self) {
        // Something that outlives the program may keep the terminal open.
        let limit = Instant::now() + Duration::from_secs(2);
        let (lock, changed) = &*self.seen;
        let mut seen = lock.lock().unwrap();
        while !seen.closed && Instant::now() < limit {
            let left = limit.saturating_duration_since(Instant::now());
            seen = changed.wait_timeout(seen, left).unwrap().0;
        }
    }

    /// Checks that the program left the terminal as it found it.
    pub(crate) fn assert_restored(&self) {
        let after = settings(self.master.as_ref());
        assert_eq!(after, self.settings_before, "line settings");
        let (lock, changed) = &*self.seen;
        let seen = lock.lock().unwrap();
        // The last bytes may still be on their way when the process is gone.
        let is_open = |seen: &mut Seen| !seen.closed && seen.emulator.screen().bracketed_paste();
        let waited = changed.wait_timeout_while(seen, PATIENCE, is_open);
        let (seen, _) = waited.unwrap();
        let screen = seen.emulator.screen();
        assert!(!screen.hide_cursor(), "the cursor is hidden");
        assert!(!screen.bracketed_paste(), "bracketed paste is on");
        assert!(!screen.alternate_screen(), "the alternate screen is on");
    }

    /// Returns the process id.
    pub(crate) fn process_id(&self) -> u32 {
        self.child.process_id().unwrap()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Most have ended already.
        self.child.kill().ok();
    }
}

fn in_world(
    mut command: CommandBuilder,
    world: &World,
    variables: &[(&str, &str)],
) -> CommandBuilder {
    command.cwd(world.project());
    command.env_clear();
    for (name, value) in world.environment() {
        command.env(name, value);
    }
    command.env("TERM", "xterm-256color");
    for (name, value) in variables {
        command.env(name, value);
    }
    command
}

fn settings(master: &dyn MasterPty) -> String {
    format!("{:?}", master.get_termios())
}

fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap()
}
