//! `pi replay FILE`: a recorded conversation, run again offline.

use std::ffi::OsString;
use std::path::Path;

use pi_ai::Env;
use pi_runtime::{ReplayReport, replay};

use crate::output::{Exit, Failure, print, print_foreign};

const HELP: &str = "\
Usage:
  pi replay FILE   Run a recorded conversation again and tell where it differs

FILE is a session file, or the archive that /bug writes. The answers of the model and the results of the
tools come from the record: nothing is sent, and no tool runs. The exit code is 0 if everything happens as
it did, 1 if something differs.
";

/// Serves the command; `words` follow its name.
pub(crate) async fn run(words: Vec<OsString>, env: Env) -> Exit {
    let path = match words.as_slice() {
        [word] if word == "--help" || word == "-h" => return print(HELP),
        [path] => Path::new(path),
        _ => {
            return Failure::new("pi replay needs one file")
                .hint("pi replay FILE; FILE is a session file, or the archive that /bug writes")
                .report();
        }
    };
    match replay(path, &env).await {
        Ok(report) => tell(&report),
        Err(error) => Failure::from_chain(&error).report(),
    }
}

fn tell(report: &ReplayReport) -> Exit {
    let replayed = format!(
        "{} messages, {} of them answers, were run again",
        report.messages, report.answers
    );
    let left_out = match report.skipped {
        0 => String::new(),
        count => format!("\n{count} more were left out: an extension began what led to them"),
    };
    let Some(difference) = &report.difference else {
        return print(&format!("{replayed}{left_out}\nno difference\n"));
    };
    let text = format!(
        "{replayed}{left_out}\nmessage {} differs\nrecorded: {}\nreplayed: {}\n",
        difference.position,
        difference.recorded.as_deref().unwrap_or("nothing"),
        difference.replayed.as_deref().unwrap_or("nothing"),
    );
    match print_foreign(&text) {
        Exit::Success => Exit::Failure,
        other => other,
    }
}
