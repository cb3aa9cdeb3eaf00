//! The hunks of a numbered diff: shown one by one, and undone one by one.

use super::{DiffRow, LineChange, read};

/// Unchanged lines between two changes of one hunk.
const JOINED_LINES: usize = 6;

/// Changed lines with the unchanged ones around them, as lines of a numbered diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffHunk {
    /// The lines of the diff.
    pub text: String,
    /// Number of the first changed line.
    pub line: Option<usize>,
    pub added: usize,
    pub removed: usize,
}

/// Why a hunk cannot be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevertError {
    /// The lines of the hunk are no longer in the file.
    Changed,
    /// They occur more than once.
    Ambiguous,
}

impl std::fmt::Display for RevertError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Changed => "the file has changed since",
            Self::Ambiguous => "the lines occur more than once",
        })
    }
}

impl DiffHunk {
    /// Returns the hunks of a numbered diff.
    pub fn split(diff: &str) -> Vec<Self> {
        let mut hunks = Vec::new();
        let mut lines: Vec<&str> = Vec::new();
        let mut kept = 0;
        for line in diff.trim_end_matches('\n').split('\n') {
            let row = read(line);
            // Lines without a number stand for lines that were left out.
            if row.number.is_empty() {
                hunks.extend(Self::of(&lines));
                lines.clear();
                kept = 0;
                continue;
            }
            if row.change == LineChange::Kept {
                kept += 1;
            } else {
                if kept > JOINED_LINES {
                    let middle = lines.len() - kept / 2;
                    hunks.extend(Self::of(lines.get(..middle).unwrap_or_default()));
                    lines.drain(..middle);
                }
                kept = 0;
            }
            lines.push(line);
        }
        hunks.extend(Self::of(&lines));
        hunks
    }

    /// Returns a hunk for a file that was written as a whole.
    pub fn written(contents: &str) -> Option<Self> {
        let width = contents.lines().count().to_string().len();
        let lines: Vec<String> = contents
            .lines()
            .enumerate()
            .map(|(index, line)| format!("+{:>width$} {line}", index + 1))
            .collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        Self::of(&lines)
    }

    fn of(lines: &[&str]) -> Option<Self> {
        let rows: Vec<DiffRow<'_>> = lines.iter().map(|line| read(line)).collect();
        let count = |change| rows.iter().filter(|row| row.change == change).count();
        let first = rows.iter().find(|row| row.change != LineChange::Kept)?;
        Some(Self {
            text: lines.join("\n"),
            line: first.number.trim().parse().ok(),
            added: count(LineChange::Added),
            removed: count(LineChange::Removed),
        })
    }

    /// Returns the contents of a file with this hunk undone. Other line endings are kept.
    pub fn revert(&self, contents: &str) -> Result<String, RevertError> {
        let rows: Vec<DiffRow<'_>> = self.text.split('\n').map(read).collect();
        let side = |left_out: LineChange| -> Vec<&str> {
            let rows = rows.iter().filter(|row| row.change != left_out);
            rows.map(|row| row.text).collect()
        };
        let (old, new) = (side(LineChange::Added), side(LineChange::Removed));
        let lines: Vec<&str> = contents.split('\n').collect();
        let plain = |line: &&str| line.strip_suffix('\r').unwrap_or(line).to_owned();
        let file: Vec<String> = lines.iter().map(plain).collect();
        let found = |start: &usize| {
            let window = file.get(*start..*start + new.len());
            window.is_some_and(|window| window.iter().zip(&new).all(|(a, b)| a == b))
        };
        let mut places = (0..=file.len().saturating_sub(new.len())).filter(found);
        let start = places.next().ok_or(RevertError::Changed)?;
        if places.next().is_some() {
            return Err(RevertError::Ambiguous);
        }
        let ending = if lines.get(start).is_some_and(|line| line.ends_with('\r')) {
            "\r"
        } else {
            ""
        };
        let before = lines.iter().take(start).map(|line| (*line).to_owned());
        let after = lines
            .iter()
            .skip(start + new.len())
            .map(|line| (*line).to_owned());
        let restored = old.iter().map(|line| format!("{line}{ending}"));
        let all: Vec<String> = before.chain(restored).chain(after).collect();
        Ok(all.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    const DIFF: &str = " 1 a\n-2 b\n+2 B\n 3 c\n   ...\n 8 h\n+9 i\n 10 j";

    #[test]
    fn parts_that_are_far_apart_are_hunks() {
        let hunks = DiffHunk::split(DIFF);
        let facts: Vec<_> = hunks
            .iter()
            .map(|it| (it.line, it.added, it.removed))
            .collect();
        assert_eq!(facts, [(Some(2), 1, 1), (Some(9), 1, 0)]);
        assert_eq!(hunks[0].text, " 1 a\n-2 b\n+2 B\n 3 c");
        let kept: Vec<String> = (2..12).map(|line| format!(" {line} x")).collect();
        let long = format!("+1 new\n{}\n-12 old", kept.join("\n"));
        assert_eq!(DiffHunk::split(&long).len(), 2);
        assert_eq!(DiffHunk::split(""), []);
        assert_eq!(DiffHunk::written("a\nb\n").unwrap().added, 2);
        let long = DiffHunk::written(&"x\n".repeat(10)).unwrap();
        assert!(long.text.starts_with("+ 1 x\n"), "{}", long.text);
        assert!(long.text.ends_with("\n+10 x"), "{}", long.text);
    }

    #[test]
    fn a_hunk_is_undone_where_its_lines_are() {
        let hunks = DiffHunk::split(DIFF);
        let file = "moved\na\nB\nc\nd\n";
        assert_eq!(hunks[0].revert(file).unwrap(), "moved\na\nb\nc\nd\n");
        assert_eq!(
            hunks[0].revert("a\r\nB\r\nc\r\n").unwrap(),
            "a\r\nb\r\nc\r\n"
        );
        assert_eq!(hunks[0].revert("a\nb\nc\n"), Err(RevertError::Changed));
        assert_eq!(
            hunks[0].revert("a\nB\nc\na\nB\nc\n"),
            Err(RevertError::Ambiguous)
        );
        assert_eq!(hunks[1].revert("h\ni\nj").unwrap(), "h\nj");
    }
}
