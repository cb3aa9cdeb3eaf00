//! What a worker reads from the session file of a run. Only pi writes to it while the agent runs.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use pi_protocol::MISSING_RESULT;
use serde_json::Value;

use crate::run_result::RunUsage;

/// The messages of a session, as far as the state of a run depends on them.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct SessionSummary {
    pub(crate) has_prompt: bool,
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
    let ending = format!("_{id}.jsonl");
    let files = match std::fs::read_dir(directory) {
        Ok(files) => files,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    for file in files {
        let file = file?;
        if file.file_name().to_string_lossy().ends_with(&ending) {
            return Ok(Some(file.path()));
        }
    }
    Ok(None)
}

/// Reads the complete lines of a session file. `barrier` is the length at the last barrier.
pub(crate) fn summarize(path: &Path, barrier: u64) -> io::Result<SessionSummary> {
    let text = crate::journal::read(path)?;
    let mut summary = SessionSummary::default();
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        let is_new = end >= barrier;
        end += line.len() as u64;
        let Ok(entry) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        if let Some(message) = entry.get("message") {
            summary.add(message, is_new);
        }
    }
    Ok(summary)
}

impl SessionSummary {
    fn add(&mut self, message: &Value, is_new: bool) {
        let text = |name: &str| message.get(name).and_then(Value::as_str);
        match text("role") {
            Some("user") => self.has_prompt = true,
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
    let file = std::fs::OpenOptions::new().write(true).open(path)?;
    if file.metadata()?.len() > length {
        file.set_len(length)?;
        let mut checksums = path.as_os_str().to_owned();
        checksums.push(".sums");
        match std::fs::remove_file(checksums) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

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
                has_prompt: true,
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
    fn a_run_without_a_session_has_no_file() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(find(&directory.path().join("none"), "a").unwrap(), None);
        std::fs::write(directory.path().join("2026_ba.jsonl"), "").unwrap();
        assert_eq!(find(directory.path(), "a").unwrap(), None);
    }
}
