//! `pi replay FILE`: replays a recorded session offline.

use std::ffi::OsString;
use std::path::Path;

use pi_env::Env;
use pi_export::ReplayReport;
use pi_host::replay;

use crate::output::{Exit, Failure, print};

const HELP: &str = "\
Usage:
  pi replay FILE   Replay a recorded session and report the first difference

FILE is a session file or a /bug archive. Model answers and tool results come from the recording:
nothing is sent, and no tool runs. The exit code is 0 if there is no difference, 1 otherwise.
";

/// Runs the command; `words` follow its name.
pub(crate) async fn run(words: Vec<OsString>, env: Env) -> Exit {
    let path = match words.as_slice() {
        [word] if word == "--help" || word == "-h" => return print(HELP),
        [path] => Path::new(path),
        _ => {
            return Failure::new("pi replay needs one file")
                .hint("usage: pi replay FILE, with a session file or a /bug archive")
                .report();
        }
    };
    match replay(path, &env).await {
        Ok(report) => print_report(&report),
        Err(error) => Failure::from_chain(&error).report(),
    }
}

fn print_report(report: &ReplayReport) -> Exit {
    let replayed = format!(
        "{} messages replayed, {} of them answers",
        report.messages, report.answers
    );
    let skipped = match report.skipped {
        0 => String::new(),
        count => format!("\n{count} more were skipped: an extension started them"),
    };
    let Some(difference) = &report.difference else {
        return print(&format!("{replayed}{skipped}\nno difference\n"));
    };
    let text = format!(
        "{replayed}{skipped}\nmessage {} differs\nrecorded: {}\nreplayed: {}\n",
        difference.position,
        difference.recorded.as_deref().unwrap_or("nothing"),
        difference.replayed.as_deref().unwrap_or("nothing"),
    );
    match print(&text) {
        Exit::Success => Exit::Failure,
        other => other,
    }
}
