//! The prompts of all sessions, for searching: one JSON line each, in a private file of the agent directory.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

const FILE: &str = "prompt-history.jsonl";
/// Longer prompts are pastes; they are in their session.
const MAX_PROMPT_BYTES: usize = 8 * 1024;
/// The file is shortened to its newest half when it grows beyond this.
const MAX_FILE_BYTES: u64 = 2 * 1024 * 1024;
/// Number of prompts offered.
const MAX_PROMPTS: usize = 2_000;

/// A prompt, and the directory it was written in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PastPrompt {
    pub(crate) text: String,
    pub(crate) cwd: PathBuf,
}

/// Adds a prompt at the end.
pub(crate) fn append(agent_dir: &Path, prompt: &PastPrompt) -> io::Result<()> {
    if prompt.text.len() > MAX_PROMPT_BYTES {
        return Ok(());
    }
    let path = agent_dir.join(FILE);
    if fs::metadata(&path).is_ok_and(|file| file.len() > MAX_FILE_BYTES) {
        shorten(&path)?;
    }
    let mut line = serde_json::to_string(prompt)?;
    line.push('\n');
    // One write, so that lines of several processes do not mix.
    pi_fs::private::open_for_append(&path)?.write_all(line.as_bytes())
}

fn shorten(path: &Path) -> io::Result<()> {
    let text = fs::read_to_string(path)?;
    let half = text.ceil_char_boundary(text.len() / 2);
    let rest = text.get(half..).unwrap_or_default();
    let kept = rest.split_once('\n').map_or("", |(_, kept)| kept);
    pi_fs::atomic_file::write(path, kept.as_bytes(), pi_fs::NewFileMode::Private)
}

/// Returns the prompts, newest first, each text once. Those of `cwd` come before the others.
pub(crate) fn load(agent_dir: &Path, cwd: &Path) -> Vec<PastPrompt> {
    let Ok(text) = fs::read_to_string(agent_dir.join(FILE)) else {
        return Vec::new();
    };
    let mut seen = HashSet::new();
    let prompts = text.lines().rev();
    let prompts = prompts.filter_map(|line| serde_json::from_str::<PastPrompt>(line).ok());
    let prompts = prompts.filter(|prompt| seen.insert(prompt.text.clone()));
    let (mut here, elsewhere): (Vec<_>, Vec<_>) = prompts
        .take(MAX_PROMPTS)
        .partition(|prompt| prompt.cwd == cwd);
    here.extend(elsewhere);
    here
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn prompt(text: &str, cwd: &str) -> PastPrompt {
        PastPrompt {
            text: text.to_owned(),
            cwd: cwd.into(),
        }
    }

    #[test]
    fn the_newest_prompts_of_the_directory_come_first() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        assert_eq!(load(path, Path::new("/a")), []);
        for (text, cwd) in [
            ("one", "/a"),
            ("two\nlines", "/b"),
            ("three", "/a"),
            ("one", "/a"),
        ] {
            append(path, &prompt(text, cwd)).unwrap();
        }
        append(path, &prompt(&"x".repeat(MAX_PROMPT_BYTES + 1), "/a")).unwrap();
        let texts = |cwd: &str| -> Vec<String> {
            let prompts = load(path, Path::new(cwd)).into_iter();
            prompts.map(|prompt| prompt.text).collect()
        };
        assert_eq!(texts("/a"), ["one", "three", "two\nlines"]);
        assert_eq!(texts("/b"), ["two\nlines", "one", "three"]);
    }

    #[test]
    fn a_long_file_keeps_its_newest_half() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE);
        let line = serde_json::to_string(&prompt(&"é".repeat(1_000), "/a")).unwrap();
        let count = usize::try_from(MAX_FILE_BYTES).unwrap() / line.len() + 2;
        let contents = format!("{line}\n").repeat(count);
        let mode = pi_fs::NewFileMode::Private;
        pi_fs::atomic_file::write(&path, contents.as_bytes(), mode).unwrap();
        append(directory.path(), &prompt("newest", "/a")).unwrap();
        let left = fs::read_to_string(&path).unwrap();
        assert!(left.lines().count() < count / 2 + 3);
        assert!(
            left.lines()
                .all(|line| serde_json::from_str::<PastPrompt>(line).is_ok())
        );
        assert_eq!(load(directory.path(), Path::new("/a"))[0].text, "newest");
    }
}
