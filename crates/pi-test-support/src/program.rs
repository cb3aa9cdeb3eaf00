//! Programs that a test writes and runs.
//!
//! This process never has such a file open for writing: a child that another test forks at the same moment would
//! inherit the descriptor until its `exec`, and a program that is open for writing cannot be executed (`ETXTBSY`).

use std::path::Path;

/// Writes an executable file, which replaces an earlier one.
#[cfg(unix)]
pub fn write_program(path: &Path, content: impl AsRef<[u8]>) {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    let mut writer = Command::new("sh")
        .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = writer.stdin.take().unwrap();
    input.write_all(content.as_ref()).unwrap();
    drop(input);
    let status = writer.wait().unwrap();
    assert!(status.success(), "cannot write {}", path.display());
}

/// Writes an executable file, which replaces an earlier one.
#[cfg(not(unix))]
pub fn write_program(path: &Path, content: impl AsRef<[u8]>) {
    std::fs::File::create(path)
        .and_then(|mut file| std::io::Write::write_all(&mut file, content.as_ref()))
        .unwrap();
}

/// Copies an executable file.
#[cfg(unix)]
pub fn copy_program(from: &Path, to: &Path) {
    let status = std::process::Command::new("cp").args([from, to]).status();
    assert!(status.unwrap().success(), "cannot copy {}", from.display());
}

/// Copies an executable file.
#[cfg(not(unix))]
pub fn copy_program(from: &Path, to: &Path) {
    std::fs::copy(from, to).unwrap();
}
