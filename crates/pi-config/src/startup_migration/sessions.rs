//! Migrates session files that an earlier version stored directly in the agent directory.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use pi_protocol::ConfigDiagnostic;
use serde::Deserialize;

use super::{info, is_already_migrated};
use crate::{AgentDir, regular_file};

const MAX_HEADER_BYTES: u64 = 64 << 10;

/// The relevant fields of a session file's first line.
#[derive(Deserialize)]
struct SessionFileHeader {
    #[serde(rename = "type")]
    kind: String,
    cwd: String,
}

/// Moves the files to the session directories of their working directories.
pub(super) fn migrate(
    agent_dir: &AgentDir,
    names: &BTreeSet<String>,
    report: &mut Vec<ConfigDiagnostic>,
) {
    let stray = names.iter().filter(|name| {
        Path::new(name)
            .extension()
            .is_some_and(|end| end == "jsonl")
    });
    for name in stray {
        let from = agent_dir.path().join(name);
        let Some(header) = read_header(&from) else {
            continue;
        };
        let dir = agent_dir.sessions().join(dir_name(&header.cwd));
        let to = dir.join(name);
        match move_session(&from, &dir, &to) {
            Ok(()) => report.push(info(
                format!("moved session {name} to {}", to.display()),
                &to,
            )),
            Err(error) if is_already_migrated(&error) => {}
            Err(error) => report.push(ConfigDiagnostic::warning(
                format!("cannot move session {}: {error}", from.display()),
                from,
            )),
        }
    }
}

fn move_session(from: &Path, dir: &Path, to: &Path) -> std::io::Result<()> {
    pi_fs::private::create_directory(dir)?;
    pi_fs::rename_without_replacing(from, to)
}

/// Returns the header of a session file; `None` for any other file.
fn read_header(file: &Path) -> Option<SessionFileHeader> {
    let file = regular_file::open(file).ok()??;
    let mut line = Vec::new();
    BufReader::new(file.take(MAX_HEADER_BYTES))
        .read_until(b'\n', &mut line)
        .ok()?;
    let header: SessionFileHeader = serde_json::from_slice(&line).ok()?;
    (header.kind == "session" && !header.cwd.is_empty()).then_some(header)
}

/// Returns the name of the session directory of a working directory, as in the session store.
fn dir_name(cwd: &str) -> String {
    let inner = cwd.strip_prefix(['/', '\\']).unwrap_or(cwd);
    format!("--{}--", inner.replace(['/', '\\', ':'], "-"))
}
