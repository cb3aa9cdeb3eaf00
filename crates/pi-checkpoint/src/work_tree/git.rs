//! Contents that git has: files that are tracked and not modified need no copy.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The ID of an object in git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GitId(String);

/// Runs git without anything that the configuration of a repository could start.
fn git(root: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(root)
        .args([
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.hooksPath=/dev/null",
        ])
        .env("GIT_OPTIONAL_LOCKS", "0")
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn output(root: &Path, arguments: &[&str]) -> Option<Vec<u8>> {
    let output = git(root).args(arguments).output().ok()?;
    output.status.success().then_some(output.stdout)
}

/// Returns the tracked files that are not modified; empty without git or a repository.
pub(super) fn clean_files(root: &Path) -> HashMap<PathBuf, GitId> {
    let mut clean = HashMap::new();
    let listed = output(root, &["ls-files", "--stage", "-z"]);
    let modified = output(root, &["diff-files", "--relative", "--name-only", "-z"]);
    let (Some(listed), Some(modified)) = (listed, modified) else {
        return clean;
    };
    for line in listed.split(|byte| *byte == 0) {
        let Some(tab) = line.iter().position(|byte| *byte == b'\t') else {
            continue;
        };
        let (head, path) = line.split_at(tab);
        let head = String::from_utf8_lossy(head);
        // Regular files without conflicts: mode, ID, stage.
        if let [mode, id, "0"] = head.split(' ').collect::<Vec<_>>()[..]
            && mode.starts_with("100")
            && let Some(path) = path.get(1..)
        {
            clean.insert(root.join(path_of(path)), GitId(id.to_owned()));
        }
    }
    for path in modified.split(|byte| *byte == 0) {
        clean.remove(&root.join(path_of(path)));
    }
    clean
}

#[cfg(unix)]
fn path_of(bytes: &[u8]) -> PathBuf {
    let path: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(bytes);
    PathBuf::from(path)
}

#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

/// Reads objects; starts git when the first one is needed.
pub(super) struct GitContents<'root> {
    root: &'root Path,
    process: Option<GitProcess>,
}

struct GitProcess {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl<'root> GitContents<'root> {
    pub(super) fn new(root: &'root Path) -> Self {
        Self {
            root,
            process: None,
        }
    }

    /// Returns the contents of an object; `None` if git does not have it.
    pub(super) fn read(&mut self, id: &GitId) -> Option<Vec<u8>> {
        if self.process.is_none() {
            self.process = GitProcess::start(self.root);
        }
        let GitProcess { input, output, .. } = self.process.as_mut()?;
        writeln!(input, "{}", id.0).ok()?;
        // ID, type and size; "missing" instead of both if there is no such object.
        let mut header = String::new();
        output.read_line(&mut header).ok()?;
        let size = header.trim_end().rsplit(' ').next()?;
        let size: usize = size.parse().ok()?;
        let mut contents = vec![0; size];
        output.read_exact(&mut contents).ok()?;
        output.read_exact(&mut [0]).ok()?;
        Some(contents)
    }
}

impl GitProcess {
    fn start(root: &Path) -> Option<Self> {
        let mut child = git(root)
            .args(["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        Some(Self {
            input: child.stdin.take()?,
            output: BufReader::new(child.stdout.take()?),
            child,
        })
    }
}

impl Drop for GitProcess {
    fn drop(&mut self) {
        // All answers were read: nothing is lost, and no process stays behind.
        if let Err(error) = self.child.kill().and_then(|()| self.child.wait()) {
            tracing::debug!(%error, "cannot end git");
        }
    }
}
