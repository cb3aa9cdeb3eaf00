//! Asks the terminal what it supports, over /dev/tty.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::time::{Duration, Instant};

use pi_env::Env;
use pi_fs::private;
use pi_tui::RawModeGuard;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::finding::Finding;
use super::probe::{ProbeResult, TerminalProbe, ends_probe};
use crate::output::{Failure, warn};

/// How long a reply may take.
const QUERY_LIMIT: Duration = Duration::from_millis(200);

/// Replies that arrive later are read and dropped for this long before the modes are restored.
const DRAIN: Duration = Duration::from_millis(100);

/// Bytes of a reply that are kept.
const MAX_REPLY: usize = 4096;

pub(super) fn run(log: Option<&Path>, env: &Env) -> Result<Vec<Finding>, Failure> {
    let tty = OpenOptions::new().read(true).write(true).open("/dev/tty");
    let tty = tty.map_err(|error| {
        Failure::new(format!("cannot open the terminal: {error}"))
            .hint("run pi doctor --terminal in a terminal")
    })?;
    let log = match log {
        None => None,
        Some(path) => {
            warn(
                "the log contains everything that the terminal sends, also keys that you press now",
            );
            let file = private::create_file(path);
            Some(file.map_err(|error| {
                Failure::new(format!("cannot write the log: {}: {error}", path.display()))
            })?)
        }
    };
    let _raw = RawModeGuard::enable()
        .map_err(|error| Failure::new(format!("cannot use raw mode: {error}")))?;
    let mut conversation = TerminalConversation {
        tty,
        log,
        started: Instant::now(),
    };
    let probes = TerminalProbe::all();
    let replies = probes.iter().map(|probe| conversation.ask(&probe.query()));
    let replies: Vec<Vec<u8>> = replies.collect();
    conversation.drain();
    // A terminal that never replied would get one finding for every probe.
    if replies.iter().all(|reply| !ends_probe(reply)) {
        let message = "it replies to no query: keys, colors and widths cannot be checked";
        return Ok(vec![Finding::warning("terminal", message)]);
    }
    let color = env.var("COLORTERM").unwrap_or_default();
    let has_true_color = ["truecolor", "24bit"].contains(&color.as_str());
    let results = probes.iter().zip(&replies);
    // Not all terminals report colors that they show.
    let results =
        results.filter(|(probe, _)| !(has_true_color && **probe == TerminalProbe::TrueColor));
    Ok(results
        .map(|(probe, reply)| finding(*probe, &probe.result(reply)))
        .collect())
}

fn finding(probe: TerminalProbe, result: &ProbeResult) -> Finding {
    let area = "terminal";
    let name = probe.name();
    match result {
        ProbeResult::Supported(details) if details.is_empty() => {
            Finding::ok(area, format!("{name}: yes"))
        }
        ProbeResult::Supported(details) => Finding::ok(area, format!("{name}: {details}")),
        ProbeResult::WrongWidth { assumed, actual } => Finding::warning(
            area,
            format!(
                "width of {name}: {actual} cells, pi assumes {assumed}; lines with it may be misaligned"
            ),
        ),
        ProbeResult::Unsupported => unsupported(probe),
    }
}

/// Returns a finding where something does not work without the feature, with what to do.
fn unsupported(probe: TerminalProbe) -> Finding {
    let area = "terminal";
    let name = probe.name();
    match probe {
        TerminalProbe::KittyKeyboard => Finding::warning(
            area,
            format!("{name}: no; Shift+Enter may send the prompt instead of starting a line"),
        )
        .fix("use Ctrl+J or a backslash before Enter for a new line, or a terminal with this protocol"),
        TerminalProbe::TrueColor => Finding::warning(
            area,
            format!("{name}: not reported; colors may be reduced to 256"),
        )
        .fix("export COLORTERM=truecolor, if the terminal shows true color"),
        TerminalProbe::SynchronizedOutput
        | TerminalProbe::FocusReports
        | TerminalProbe::BracketedPaste => Finding::ok(area, format!("{name}: not reported")),
        _ => Finding::ok(area, format!("{name}: no")),
    }
}

struct TerminalConversation {
    tty: File,
    log: Option<File>,
    started: Instant,
}

impl TerminalConversation {
    /// Writes a query and returns what is received until its end or until time is up.
    fn ask(&mut self, query: &str) -> Vec<u8> {
        self.record('>', query.as_bytes());
        let mut reply = Vec::new();
        if self.tty.write_all(query.as_bytes()).is_err() {
            return reply;
        }
        let deadline = Instant::now() + QUERY_LIMIT;
        while !ends_probe(&reply) && reply.len() < MAX_REPLY {
            let rest = deadline.saturating_duration_since(Instant::now());
            if rest.is_zero() || !self.read(rest, &mut reply) {
                break;
            }
        }
        self.record('<', &reply);
        reply
    }

    /// Reads late replies, so that they are not taken for typed text.
    fn drain(&mut self) {
        let mut rest = Vec::new();
        while rest.len() < MAX_REPLY && self.read(DRAIN, &mut rest) {}
        self.record('<', &rest);
    }

    /// Waits for bytes and appends them; returns false if there are none.
    fn read(&mut self, limit: Duration, received: &mut Vec<u8>) -> bool {
        let Ok(limit) = Timespec::try_from(limit) else {
            return false;
        };
        let ready = {
            let mut polled = [PollFd::from_borrowed_fd(self.tty.as_fd(), PollFlags::IN)];
            poll(&mut polled, Some(&limit))
        };
        if !matches!(ready, Ok(count) if count > 0) {
            return false;
        }
        let mut bytes = [0; 256];
        match self.tty.read(&mut bytes) {
            Ok(count) if count > 0 => {
                received.extend(bytes.get(..count).unwrap_or_default());
                true
            }
            _ => false,
        }
    }

    fn record(&mut self, direction: char, bytes: &[u8]) {
        let Some(log) = &mut self.log else { return };
        if bytes.is_empty() {
            return;
        }
        let seconds = self.started.elapsed().as_secs_f64();
        let escaped = bytes.escape_ascii();
        // The log is an addition; the report does not depend on it.
        writeln!(log, "{seconds:9.4} {direction} {escaped}").ok();
    }
}
