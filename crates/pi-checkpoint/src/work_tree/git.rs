//! Contents that git has: files that are tracked and not modified need no copy.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The ID of an object in git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GitId(String);

fn git(root: &Path) -> Command {
    let mut command = pi_git::command();
    command
        .arg("-C")
        .arg(root)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn output(root: &Path, arguments: &[&str]) -> Option<Vec<u8>> {
    let output = git(root).args(arguments).output().ok()?;
    output.status.success().then_some(output.stdout)
}

/// Selects files that git stores as they are. Filters and encodings change others, possibly without changing their size;
/// conversions of line endings change it.
const STORED_AS_THEY_ARE: &str = ":(attr:!filter !working-tree-encoding)";

/// Returns the tracked files that are not modified, as far as their metadata shows that, and are stored as they are; empty
/// without git or a repository.
///
/// git would compare the others, too, but with the filters of the repository, which are programs that a confined command may
/// have put there.
pub(super) fn clean_files(root: &Path) -> HashMap<PathBuf, GitId> {
    let (Some(index), Some(listed)) = (
        output(root, &["rev-parse", "--git-path", "index"]),
        output(
            root,
            &["ls-files", "--stage", "--debug", "-z", STORED_AS_THEY_ARE],
        ),
    ) else {
        return HashMap::new();
    };
    let index = root.join(path_of(index.trim_ascii_end()));
    let Some(written) = Times::of(&index).map(|times| times.modified) else {
        return HashMap::new();
    };
    // Mode, ID, stage and path, a zero byte, and lines with metadata, which start with spaces.
    let mut clean = HashMap::new();
    let mut entry: &[u8] = &[];
    for part in listed.split(|byte| *byte == 0) {
        let lines = part.split_inclusive(|byte| *byte == b'\n');
        let metadata = lines.take_while(|line| line.starts_with(b"  "));
        let (metadata, next) = part.split_at(metadata.map(<[u8]>::len).sum());
        if let Some((path, id)) = tracked_file(root, entry)
            && let Some(known) = Times::parse(metadata)
            // Otherwise the file may have changed after it was compared, in the same tick of the clock.
            && known.modified < written
            && Times::of(&path).as_ref() == Some(&known)
        {
            clean.insert(path, id);
        }
        entry = next;
    }
    clean
}

/// Parses mode, ID, stage and path of a regular file without conflicts.
fn tracked_file(root: &Path, entry: &[u8]) -> Option<(PathBuf, GitId)> {
    let tab = entry.iter().position(|byte| *byte == b'\t')?;
    let (head, path) = entry.split_at(tab);
    let head = String::from_utf8_lossy(head);
    match head.split(' ').collect::<Vec<_>>()[..] {
        [mode, id, "0"] if mode.starts_with("100") => {
            Some((root.join(path_of(path.get(1..)?)), GitId(id.to_owned())))
        }
        _ => None,
    }
}

/// The metadata by which git recognizes a file that has not changed; seconds and nanoseconds.
#[derive(Debug, PartialEq, Eq)]
struct Times {
    modified: (u64, u64),
    changed: (u64, u64),
    size: u64,
}

impl Times {
    /// Parses what `git ls-files --debug` prints.
    fn parse(lines: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(lines).ok()?;
        let value = |name: &str| {
            let mut lines = text.lines();
            lines.find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(": "))
        };
        let time = |name: &str| {
            let (seconds, nanoseconds) = value(name)?.split_once(':')?;
            Some((seconds.parse().ok()?, nanoseconds.parse().ok()?))
        };
        Some(Self {
            modified: time("mtime")?,
            changed: time("ctime")?,
            size: value("size")?.split_whitespace().next()?.parse().ok()?,
        })
    }

    #[cfg(unix)]
    fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;

        let metadata = path.symlink_metadata().ok()?;
        let time = |seconds: i64, nanoseconds: i64| {
            Some((
                u64::try_from(seconds).ok()?,
                u64::try_from(nanoseconds).ok()?,
            ))
        };
        Some(Self {
            modified: time(metadata.mtime(), metadata.mtime_nsec())?,
            changed: time(metadata.ctime(), metadata.ctime_nsec())?,
            size: metadata.len(),
        })
    }

    /// The index has other times there.
    #[cfg(not(unix))]
    fn of(_path: &Path) -> Option<Self> {
        None
    }
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

    /// Returns the contents of an object of a size; `None` if git does not have it, or the size is another one.
    pub(super) fn read(&mut self, id: &GitId, expected: u64) -> Option<Vec<u8>> {
        if self.process.is_none() {
            self.process = GitProcess::start(self.root);
        }
        let GitProcess { input, output, .. } = self.process.as_mut()?;
        writeln!(input, "{}", id.0).ok()?;
        // ID, type and size; "missing" instead of both if there is no such object.
        let mut header = String::new();
        output.read_line(&mut header).ok()?;
        let size = header.trim_end().rsplit(' ').next()?;
        let size: u64 = size.parse().ok()?;
        let mut contents = Vec::new();
        let mut object = output.take(size);
        if size == expected {
            object.read_to_end(&mut contents).ok()?;
        } else {
            io::copy(&mut object, &mut io::sink()).ok()?;
        }
        output.read_exact(&mut [0]).ok()?;
        (contents.len() as u64 == expected).then_some(contents)
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
