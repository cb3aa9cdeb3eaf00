//! A program in a pseudo-terminal, observed through a terminal emulator.

use std::io::{Read as _, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// Far longer than anything takes here; a wait that reaches it has failed.
const WAIT_TIMEOUT: Duration = Duration::from_mins(2);

/// How long to wait for output after the program exited; a grandchild may keep the terminal open.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Primary device attributes: the query and a typical response. A terminal that never responds
/// would delay every exit by the program's own timeout.
const DEVICE_ATTRIBUTES_QUERY: &[u8] = b"\x1b[c";
const DEVICE_ATTRIBUTES_RESPONSE: &[u8] = b"\x1b[?62;22c";

const SCROLLBACK_LINES: usize = 20_000;

struct Capture {
    emulator: vt100::Parser,
    /// All bytes the program wrote, to check for sequences that must never appear.
    written: Vec<u8>,
    closed: bool,
}

/// A running program, its pseudo-terminal and the emulated screen. Dropping it kills the program.
pub struct PtyTerminal {
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
    writer: Arc<Mutex<Box<dyn Write + Send>>>,
    capture: Arc<(Mutex<Capture>, Condvar)>,
    initial_line_settings: String,
}

impl PtyTerminal {
    /// Starts `command` in a terminal of the given size.
    pub fn spawn(command: CommandBuilder, columns: u16, rows: u16) -> Self {
        let pair = native_pty_system()
            .openpty(pty_size(columns, rows))
            .unwrap();
        let initial_line_settings = line_settings(pair.master.as_ref());
        let child = pair.slave.spawn_command(command).unwrap();
        let writer = Arc::new(Mutex::new(pair.master.take_writer().unwrap()));
        let capture = Arc::new((
            Mutex::new(Capture {
                emulator: vt100::Parser::new(non_zero(rows), non_zero(columns), SCROLLBACK_LINES),
                written: Vec::new(),
                closed: false,
            }),
            Condvar::new(),
        ));
        let reader = pair.master.try_clone_reader().unwrap();
        let (shared, responder) = (Arc::clone(&capture), Arc::clone(&writer));
        std::thread::spawn(move || read_output(reader, &shared, &responder));
        Self {
            master: pair.master,
            child,
            writer,
            capture,
            initial_line_settings,
        }
    }

    /// Sends bytes as a keyboard does.
    pub fn send(&self, bytes: impl AsRef<[u8]>) {
        let mut writer = self.writer.lock().unwrap();
        writer.write_all(bytes.as_ref()).unwrap();
        writer.flush().unwrap();
    }

    /// Types `text` and presses Enter.
    pub fn submit(&self, text: &str) {
        self.send(text);
        self.send("\r");
    }

    /// Sends `text` as a bracketed paste.
    pub fn paste(&self, text: &str) {
        self.send(format!("\x1b[200~{text}\x1b[201~"));
    }

    /// Returns the text on the screen.
    pub fn screen(&self) -> String {
        self.with_screen(vt100::Screen::contents)
    }

    /// Calls `inspect` with the emulated screen.
    pub fn with_screen<T>(&self, inspect: impl FnOnce(&vt100::Screen) -> T) -> T {
        inspect(self.capture.0.lock().unwrap().emulator.screen())
    }

    /// Asserts that `bytes` were never written to the terminal.
    #[track_caller]
    pub fn assert_never_wrote(&self, bytes: &[u8]) {
        let capture = self.capture.0.lock().unwrap();
        if let Some(position) = memmem(&capture.written, bytes) {
            let context = &capture.written[position.saturating_sub(60)..];
            let context = String::from_utf8_lossy(&context[..context.len().min(160)]);
            panic!("{bytes:?} was written: {context:?}");
        }
    }

    /// Returns whether the alternate screen is active.
    pub fn is_alternate(&self) -> bool {
        self.with_screen(vt100::Screen::alternate_screen)
    }

    /// Waits until the screen contains `text`.
    #[track_caller]
    pub fn wait(&self, text: &str) {
        self.wait_until(&format!("\"{text}\" on the screen"), |screen| {
            screen.contains(text)
        });
    }

    /// Waits until `text` was written to the terminal, also to rows that have scrolled off the screen.
    #[track_caller]
    pub fn wait_written(&self, text: &str) {
        let (lock, changed) = &*self.capture;
        let deadline = Instant::now() + WAIT_TIMEOUT;
        let mut capture = lock.lock().unwrap();
        while memmem(&capture.written, text.as_bytes()).is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero() && !capture.closed,
                "timed out waiting for output that contains \"{text}\""
            );
            capture = changed.wait_timeout(capture, left).unwrap().0;
        }
    }

    /// Waits until the screen no longer contains `text`.
    #[track_caller]
    pub fn wait_gone(&self, text: &str) {
        self.wait_until(&format!("\"{text}\" gone"), |screen| !screen.contains(text));
    }

    /// Waits until `condition` holds for the text on the screen; `expected` names it in the panic message.
    #[track_caller]
    pub fn wait_until(&self, expected: &str, condition: impl Fn(&str) -> bool) {
        let (lock, changed) = &*self.capture;
        let deadline = Instant::now() + WAIT_TIMEOUT;
        let mut capture = lock.lock().unwrap();
        loop {
            let screen = capture.emulator.screen().contents();
            if condition(&screen) {
                return;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero() && !capture.closed,
                "timed out waiting for {expected}; the screen:\n{screen}"
            );
            capture = changed.wait_timeout(capture, left).unwrap().0;
        }
    }

    /// Resizes the terminal and its emulator.
    pub fn resize(&self, columns: u16, rows: u16) {
        let mut capture = self.capture.0.lock().unwrap();
        let screen = capture.emulator.screen_mut();
        screen.set_size(non_zero(rows), non_zero(columns));
        drop(capture);
        self.master.resize(pty_size(columns, rows)).unwrap();
    }

    /// Sends Ctrl+D, expects exit code 0 and a restored terminal.
    #[track_caller]
    pub fn quit(mut self) {
        self.send("\x04");
        assert_eq!(self.exit_code(), 0);
        self.assert_restored();
    }

    /// Waits until the program exits and returns its exit code.
    #[track_caller]
    pub fn exit_code(&mut self) -> u32 {
        let deadline = Instant::now() + WAIT_TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                self.drain();
                return status.exit_code();
            }
            assert!(
                Instant::now() < deadline,
                "the program does not exit:\n{}",
                self.screen()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until all output of an exited program was read.
    fn drain(&self) {
        let deadline = Instant::now() + DRAIN_TIMEOUT;
        let (lock, changed) = &*self.capture;
        let mut capture = lock.lock().unwrap();
        while !capture.closed && Instant::now() < deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            capture = changed.wait_timeout(capture, left).unwrap().0;
        }
    }

    /// Asserts that the program left the terminal as it was at the start.
    #[track_caller]
    pub fn assert_restored(&self) {
        let line_settings = line_settings(self.master.as_ref());
        assert_eq!(line_settings, self.initial_line_settings, "line settings");
        let (lock, changed) = &*self.capture;
        let capture = lock.lock().unwrap();
        // The last bytes may still be in flight when the process is gone.
        let pending =
            |capture: &mut Capture| !capture.closed && capture.emulator.screen().bracketed_paste();
        let (capture, _) = changed
            .wait_timeout_while(capture, WAIT_TIMEOUT, pending)
            .unwrap();
        let screen = capture.emulator.screen();
        assert!(!screen.hide_cursor(), "the cursor is hidden");
        assert!(!screen.bracketed_paste(), "bracketed paste is on");
        assert!(!screen.alternate_screen(), "the alternate screen is on");
    }

    pub fn process_id(&self) -> u32 {
        self.child.process_id().unwrap()
    }
}

impl Drop for PtyTerminal {
    fn drop(&mut self) {
        // Most programs have exited already.
        self.child.kill().ok();
    }
}

/// Feeds output to the emulator until the terminal closes, and responds to attribute queries.
fn read_output(
    mut reader: Box<dyn std::io::Read + Send>,
    shared: &(Mutex<Capture>, Condvar),
    responder: &Mutex<Box<dyn Write + Send>>,
) {
    let mut buffer = [0; 8192];
    loop {
        // A closed pseudo-terminal is an error on Linux and end of file elsewhere.
        let count = reader.read(&mut buffer).unwrap_or(0);
        let bytes = &buffer[..count];
        let queried = bytes
            .windows(DEVICE_ATTRIBUTES_QUERY.len())
            .any(|window| window == DEVICE_ATTRIBUTES_QUERY);
        if queried {
            // The program may have exited already.
            responder
                .lock()
                .unwrap()
                .write_all(DEVICE_ATTRIBUTES_RESPONSE)
                .ok();
        }
        // Poisoned by a failed test, which needs no more output.
        let Ok(mut capture) = shared.0.lock() else {
            return;
        };
        capture.emulator.process(bytes);
        capture.written.extend_from_slice(bytes);
        capture.closed |= count == 0;
        shared.1.notify_all();
        if count == 0 {
            return;
        }
    }
}

fn line_settings(master: &dyn MasterPty) -> String {
    format!("{:?}", master.get_termios())
}

fn pty_size(columns: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols: columns,
        ..PtySize::default()
    }
}

fn non_zero(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap()
}

/// Returns the position of the first occurrence.
fn memmem(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack
        .windows(needle.len())
        .position(|window| window == needle)
}
