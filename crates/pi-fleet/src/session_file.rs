//! What a worker reads from the session file of a run. Only pi writes to it while the agent runs, but the commands of a task
//! may replace it: a link is not followed.

use std::collections::HashSet;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use pi_protocol::MISSING_RESULT;
use serde_json::Value;

use crate::regular_file;
use crate::run_result::RunUsage;
use crate::secrets::SecretMask;

/// The messages of a session, as far as the state of a run depends on them.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct SessionSummary {
    /// Where the last message of a user begins.
    pub(crate) last_prompt: Option<u64>,
    pub(crate) turns: u64,
    pub(crate) cost: f64,
    pub(crate) usage: RunUsage,
    pub(crate) interrupted_calls: u32,
    /// Why the last response stopped.
    pub(crate) last_stop: Option<String>,
    pub(crate) last_error: Option<String>,
    /// Whether a response follows the last barrier.
    pub(crate) has_new_response: bool,
    /// The calls whose results follow the last barrier.
    pub(crate) new_results: HashSet<String>,
}

/// Finds the session file with this ID.
pub(crate) fn find(directory: &Path, id: &str) -> io::Result<Option<PathBuf>> {
    Ok(find_all(directory, id)?.into_iter().next())
}

fn find_all(directory: &Path, id: &str) -> io::Result<Vec<PathBuf>> {
    let files = match std::fs::read_dir(directory) {
        Ok(files) => files,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for file in files {
        let file = file?;
        if !file.file_type()?.is_file() {
            continue;
        }
        let name = file.file_name();
        // IDs may contain the character that separates them from the time.
        let (_time, rest) = name.to_str().and_then(|name| name.split_once('_')).unzip();
        if rest.and_then(|rest| rest.strip_suffix(".jsonl")) == Some(id) {
            found.push(file.path());
        }
    }
    found.sort();
    Ok(found)
}

/// Removes what an agent has left that was killed before its session had a prompt. Another agent would write another file
/// with the same ID.
pub(crate) fn remove(directory: &Path, id: &str) -> io::Result<()> {
    for path in find_all(directory, id)? {
        std::fs::remove_file(&path)?;
        remove_checksums(&path)?;
    }
    Ok(())
}

/// Makes the session file of this machine one that starts with what the log has. A longer file is kept: it has responses
/// that are paid for. Without a file, or with that of another course of the run, writes what the log has.
pub(crate) fn adopt(
    directory: &Path,
    id: &str,
    stored: &[u8],
    mask: &SecretMask,
) -> io::Result<()> {
    if let Some(path) = find(directory, id)? {
        let found = regular_file::read(&path)?;
        // The log has no secrets.
        if found.starts_with(stored) || mask.apply(found).starts_with(stored) {
            return Ok(());
        }
        std::fs::remove_file(&path)?;
        remove_checksums(&path)?;
    }
    if stored.is_empty() {
        return Ok(());
    }
    pi_fs::private::create_directory(directory)?;
    let path = directory.join(format!("{}_{id}.jsonl", file_time(stored)));
    pi_fs::atomic_file::write(&path, stored, pi_fs::NewFileMode::Private)
}

/// Returns the time in the name of a session file, which is that of its first line.
fn file_time(session: &[u8]) -> String {
    let header = session.split(|byte| *byte == b'\n').next();
    let header: Option<Value> = serde_json::from_slice(header.unwrap_or_default()).ok();
    let time = header.as_ref().and_then(|header| header.get("timestamp"));
    let time = time.and_then(Value::as_str).unwrap_or("unknown");
    let replaced = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    time.chars().map(replaced).collect()
}

/// Reads a range of bytes of a session file.
pub(crate) fn read_range(path: &Path, range: std::ops::Range<u64>) -> io::Result<Vec<u8>> {
    let mut file = regular_file::open(path)?;
    let is_complete = range.start <= range.end && range.end <= file.metadata()?.len();
    if !is_complete {
        return Err(io::Error::other("the session is shorter than its log"));
    }
    file.seek(SeekFrom::Start(range.start))?;
    let mut bytes = Vec::new();
    file.take(range.end - range.start).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the calls whose results are in a range of a session file.
pub(crate) fn results(path: &Path, range: std::ops::Range<u64>) -> io::Result<HashSet<String>> {
    let bytes = read_range(path, range)?;
    let mut summary = SessionSummary::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        let entry = serde_json::from_slice::<Value>(line).ok();
        if let Some(message) = entry.as_ref().and_then(|entry| entry.get("message")) {
            summary.add(message, 0, 0);
        }
    }
    Ok(summary.new_results)
}

/// Reads the complete lines of a session file. `barrier` is the length at the last barrier.
pub(crate) fn summarize(path: &Path, barrier: u64) -> io::Result<SessionSummary> {
    let text = crate::journal::read_complete_lines(&mut regular_file::open(path)?)?;
    let mut summary = SessionSummary::default();
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        let start = end;
        end += line.len() as u64;
        let Ok(entry) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        if let Some(message) = entry.get("message") {
            summary.add(message, start, barrier);
        }
    }
    Ok(summary)
}

impl SessionSummary {
    /// Whether a message of a user begins there or later.
    pub(crate) fn has_prompt(&self, since: u64) -> bool {
        self.last_prompt.is_some_and(|prompt| prompt >= since)
    }

    fn add(&mut self, message: &Value, start: u64, barrier: u64) {
        let is_new = start >= barrier;
        let text = |name: &str| message.get(name).and_then(Value::as_str);
        match text("role") {
            Some("user") => self.last_prompt = Some(start),
            Some("assistant") => {
                self.turns += 1;
                self.has_new_response |= is_new;
                self.last_stop = text("stopReason").map(str::to_owned);
                self.last_error = text("errorMessage").map(str::to_owned);
                let usage = message.get("usage");
                let number = |name: &str| usage.and_then(|usage| usage.get(name)?.as_u64());
                self.usage.input += number("input").unwrap_or_default();
                self.usage.output += number("output").unwrap_or_default();
                self.usage.cache_read += number("cacheRead").unwrap_or_default();
                let cost = usage.and_then(|usage| usage.get("cost")?.get("total")?.as_f64());
                self.cost += cost.unwrap_or_default();
            }
            Some("toolResult") => {
                if is_new && let Some(call) = text("toolCallId") {
                    self.new_results.insert(call.to_owned());
                }
                let content = message.get("content").and_then(Value::as_array);
                let mut blocks = content.into_iter().flatten();
                let is_interrupted = blocks
                    .any(|block| block.get("text").and_then(Value::as_str) == Some(MISSING_RESULT));
                self.interrupted_calls += u32::from(is_interrupted);
            }
            _ => {}
        }
    }
}

/// Removes everything after the last barrier. The checksums of the file cover what is removed, so they are removed, too.
pub(crate) fn truncate(path: &Path, length: u64) -> io::Result<()> {
    let file = regular_file::open_for_writing(path)?;
    if file.metadata()?.len() > length {
        file.set_len(length)?;
        remove_checksums(path)?;
    }
    Ok(())
}

fn remove_checksums(session: &Path) -> io::Result<()> {
    let mut checksums = session.as_os_str().to_owned();
    checksums.push(".sums");
    match std::fs::remove_file(checksums) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_session_is_found_by_its_whole_id() {
        let directory = tempfile::tempdir().unwrap();
        let path = |id: &str| {
            directory
                .path()
                .join(format!("2026-01-01T00-00-00-000Z_{id}.jsonl"))
        };
        for id in ["x_a", "a", "ba"] {
            assert_eq!(find(directory.path(), id).unwrap(), None);
            std::fs::write(path(id), "").unwrap();
            assert_eq!(find(directory.path(), id).unwrap(), Some(path(id)));
        }
        remove(directory.path(), "a").unwrap();
        assert_eq!(find(directory.path(), "a").unwrap(), None);
        assert!(path("x_a").exists() && path("ba").exists());
    }

    #[test]
    fn a_session_is_summarized_up_to_its_last_complete_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("2026_a.jsonl");
        let before =
            "{\"type\":\"session\"}\n{\"type\":\"message\",\"message\":{\"role\":\"user\"}}\n";
        let after = format!(
            "{{\"message\":{{\"role\":\"assistant\",\"stopReason\":\"toolUse\",\"usage\":{{\"input\":3,\"output\":2,\
             \"cacheRead\":1,\"cost\":{{\"total\":0.5}}}}}}}}\n{{\"message\":{{\"role\":\"toolResult\",\"toolCallId\":\
             \"c\",\"content\":[{{\"type\":\"text\",\"text\":\"{MISSING_RESULT}\"}}]}}}}\n{{\"mess"
        );
        std::fs::write(&path, format!("{before}{after}")).unwrap();
        let found = find(directory.path(), "a").unwrap().unwrap();
        let summary = summarize(&found, before.len() as u64).unwrap();
        assert_eq!(
            summary,
            SessionSummary {
                last_prompt: Some(19),
                turns: 1,
                cost: 0.5,
                usage: RunUsage {
                    input: 3,
                    output: 2,
                    cache_read: 1
                },
                interrupted_calls: 1,
                last_stop: Some("toolUse".to_owned()),
                last_error: None,
                has_new_response: true,
                new_results: ["c".to_owned()].into(),
            }
        );
        truncate(&path, before.len() as u64).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    }

    #[test]
    fn a_longer_session_of_this_machine_is_kept_and_another_one_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let stored = b"{\"timestamp\":\"2026-01-02T03:04:05.678Z\"}\nline\n";
        let read = || {
            let path = find(directory.path(), "a").unwrap().unwrap();
            std::fs::read(path).unwrap()
        };
        let adopt = |directory: &Path, id: &str, stored: &[u8]| {
            adopt(
                directory,
                id,
                stored,
                &SecretMask::new(["secret-value"].into_iter()),
            )
        };
        adopt(directory.path(), "a", b"").unwrap();
        assert_eq!(find(directory.path(), "a").unwrap(), None);
        adopt(directory.path(), "a", stored).unwrap();
        assert_eq!(read(), stored);
        let path = directory.path().join("2026-01-02T03-04-05-678Z_a.jsonl");
        let longer = [&stored[..], b"paid\n"].concat();
        std::fs::write(&path, &longer).unwrap();
        adopt(directory.path(), "a", stored).unwrap();
        assert_eq!(read(), longer);
        assert_eq!(
            read_range(&path, stored.len() as u64..longer.len() as u64).unwrap(),
            b"paid\n"
        );
        let with_secret = [&longer[..], b"secret-value\n"].concat();
        std::fs::write(&path, &with_secret).unwrap();
        adopt(
            directory.path(),
            "a",
            &[&longer[..], b"************"].concat(),
        )
        .unwrap();
        assert_eq!(read(), with_secret);
        let too_long = u64::MAX - 1..u64::MAX;
        assert!(read_range(&path, too_long).is_err());
        adopt(directory.path(), "a", b"{}\nother\n").unwrap();
        assert_eq!(read(), b"{}\nother\n");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_no_sessions() {
        let directory = tempfile::tempdir().unwrap();
        let outside = directory.path().join("outside");
        let sessions = directory.path().join("sessions");
        std::fs::create_dir(&sessions).unwrap();
        std::fs::write(&outside, "text\n").unwrap();
        let link = sessions.join("0_a.jsonl");
        std::os::unix::fs::symlink(&outside, &link).unwrap();
        assert_eq!(find(&sessions, "a").unwrap(), None);
        std::fs::write(sessions.join("1_a.jsonl"), "{}\n").unwrap();
        let found = find(&sessions, "a").unwrap();
        assert_eq!(found, Some(sessions.join("1_a.jsonl")));
        // It may be replaced at any time.
        assert!(read_range(&link, 0..1).is_err());
        assert!(summarize(&link, 0).is_err());
        assert!(truncate(&link, 0).is_err());
        assert_eq!(std::fs::read_to_string(&outside).unwrap(), "text\n");
    }

    #[test]
    fn a_run_without_a_session_has_no_file() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(find(&directory.path().join("none"), "a").unwrap(), None);
        std::fs::write(directory.path().join("2026_ba.jsonl"), "").unwrap();
        assert_eq!(find(directory.path(), "a").unwrap(), None);
    }
}
