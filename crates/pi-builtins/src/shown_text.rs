//! Untrusted text in questions and reports: names of files, commands, and what a path is, as text of a comparison.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use pi_tools::is_invisible;

/// Longer lines are shortened in the middle: both ends of a path matter.
const MAX_CHARACTERS: usize = 200;

/// Returns text as one line, with control and invisible characters as escapes such as `<U+202E>`.
pub(crate) fn one_line(text: &str) -> String {
    let count = text.chars().count();
    let half = MAX_CHARACTERS / 2;
    let mut line = String::with_capacity(text.len().min(4 * MAX_CHARACTERS));
    for (index, character) in text.chars().enumerate() {
        if count > MAX_CHARACTERS && (half..count - half).contains(&index) {
            if index == half {
                line.push('…');
            }
            continue;
        }
        match character {
            '\n' => line.push_str("\\n"),
            '\t' => line.push_str("\\t"),
            character if character.is_control() || is_invisible(character) => {
                // Writing to a string does not fail.
                write!(line, "<U+{:04X}>", u32::from(character)).ok();
            }
            character => line.push(character),
        }
    }
    line
}

/// Returns a path relative to the working directory, for one line.
pub(crate) fn shown_path(path: &Path, cwd: &Path) -> String {
    let path = path.strip_prefix(cwd).unwrap_or(path);
    one_line(&path.display().to_string())
}

/// Returns the text of a file, or a line that names the target of a link, which may lead anywhere. Empty if there is nothing;
/// `None` for a file that is larger or not text, a pipe or a device.
pub(crate) fn shown_text(path: &Path, max_bytes: u64) -> Option<String> {
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(String::new()),
        Err(_) => return None,
    };
    if metadata.is_symlink() {
        return Some(shown_link(&std::fs::read_link(path).ok()?));
    }
    if !metadata.is_file() || metadata.len() > max_bytes {
        return None;
    }
    String::from_utf8(std::fs::read(path).ok()?).ok()
}

pub(crate) fn shown_link(target: &Path) -> String {
    format!("link to {}\n", target.display())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn names_cannot_hide_or_add_anything() {
        for (name, shown) in [
            ("src/main.rs", "src/main.rs"),
            ("Übung.txt", "Übung.txt"),
            ("a\nRestore b", "a\\nRestore b"),
            ("a\tb\u{1b}[2J", "a\\tb<U+001B>[2J"),
            ("exe\u{202e}txt.sh", "exe<U+202E>txt.sh"),
            ("a\u{200b}b", "a<U+200B>b"),
        ] {
            let path = Path::new("/project").join(name);
            assert_eq!(shown_path(&path, Path::new("/project")), shown);
        }
        let long = format!("{}/one", "d".repeat(300));
        let shown = one_line(&long);
        assert!(shown.ends_with("d/one") && shown.chars().count() == MAX_CHARACTERS + 1);
    }
}
