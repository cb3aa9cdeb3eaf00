//! The home and project that a package runs in, and which files it changes there.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use super::normalize::Normalizer;

const PROBE: &str = include_str!("probe.js");
/// Files larger than this are compared by their size, like those without text.
const MAX_FILE: u64 = 64 * 1024;
/// Files of the project, enough for tools that read, search and summarize.
const PROJECT_FILES: [(&str, &str); 5] = [
    ("notes.txt", "hello world\nsecond line\n"),
    ("README.md", "# Sample\n\nhello from the sample project\n"),
    (
        "src/index.ts",
        "export function hello(name: string): string {\n  return `hello ${name}`;\n}\n",
    ),
    (
        "package.json",
        "{\"name\": \"sample\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"echo ok\"}}\n",
    ),
    (".gitignore", ".pi/\n"),
];
/// Directories whose files vary between runs or between the programs: sessions, caches, the repository's objects.
const SKIPPED: [&str; 11] = [
    ".git",
    // Sockets of running sessions, and programs of our shell.
    "live",
    "fallback-commands",
    "sessions",
    "node_modules",
    ".cache",
    ".npm",
    "bin",
    "fd",
    "tmp",
    "cache",
];
/// Files that the programs write for themselves, and locks with numbers of processes.
const OWN_FILES: [&str; 9] = [
    "lock.mdb",
    "models.json",
    "auth.json",
    "settings.json",
    "trust.json",
    "probe.js",
    "result.json",
    "models-store.json",
    "mcp-cache.json",
];

/// Files in which pi-lens measures itself: memory, load and durations.
const MEASUREMENTS: [&str; 3] = ["instances.json", "latency.log", "sessionstart.log"];

/// The directories of one run.
pub(super) struct RunDirectory {
    pub(super) root: PathBuf,
}

impl RunDirectory {
    /// Creates the directories with a repository as project; `models` is the `models.json`.
    pub(super) fn create(root: &Path, program: &Path, node: &Path, models: &str) -> Result<Self> {
        if root.exists() {
            fs::remove_dir_all(root)?;
        }
        let run = Self {
            root: root.to_owned(),
        };
        for directory in ["bin", "tmp", "home/.pi/agent", "project/src"] {
            fs::create_dir_all(root.join(directory))?;
        }
        symlink(program, root.join("bin/pi"))?;
        symlink(node, root.join("bin/node"))?;
        let mut files: Vec<(PathBuf, &str)> = PROJECT_FILES
            .iter()
            .map(|(path, text)| (run.project().join(path), *text))
            .collect();
        files.push((run.agent().join("models.json"), models));
        files.push((root.join("probe.js"), PROBE));
        for (path, text) in files {
            fs::File::create(&path)?.write_all(text.as_bytes())?;
        }
        run.git(&["init", "-q", "-b", "main"])?;
        run.git(&["add", "-A"])?;
        run.git(&[
            "-c",
            "user.name=sample",
            "-c",
            "user.email=sample@localhost",
            "commit",
            "-qm",
            "sample",
        ])?;
        Ok(run)
    }

    pub(super) fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    pub(super) fn agent(&self) -> PathBuf {
        self.root.join("home/.pi/agent")
    }

    /// Sets the environment in which both programs and the packages run.
    pub(super) fn configure(&self, command: &mut Command) {
        let path = format!(
            "{}:/usr/local/bin:/usr/bin:/bin",
            self.root.join("bin").display()
        );
        command
            .current_dir(self.project())
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.root.join("home"))
            .env("TMPDIR", self.root.join("tmp"))
            .env("PI_CODING_AGENT_DIR", self.agent())
            .env("PI_OFFLINE", "1")
            // Loading takes longer on a loaded machine.
            .env("PI_EXTENSION_TIMEOUT_MS", "180000")
            // Without a server, pi-headroom installs one with pip when a session starts; none listens on this port.
            .env("HEADROOM_URL", "http://127.0.0.1:9")
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
            .env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z");
    }

    fn git(&self, arguments: &[&str]) -> Result<()> {
        let mut command = Command::new("git");
        self.configure(&mut command);
        let status = command
            .args(arguments)
            .stdout(Stdio::null())
            .status()
            .context("cannot run git")?;
        if !status.success() {
            bail!("git {arguments:?} failed");
        }
        Ok(())
    }

    /// Returns the files of home and project with their contents.
    pub(super) fn files(&self, normalizer: &Normalizer) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for directory in ["home", "project"] {
            collect(
                &self.root,
                &self.root.join(directory),
                normalizer,
                &mut found,
            );
        }
        let joined = |(path, contents): (String, Vec<String>)| (path, contents.join("\n"));
        found.into_iter().map(joined).collect()
    }
}

fn collect(
    root: &Path,
    directory: &Path,
    normalizer: &Normalizer,
    found: &mut BTreeMap<String, Vec<String>>,
) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            continue;
        };
        if metadata.is_dir() {
            if !SKIPPED.contains(&name.as_ref()) {
                collect(root, &path, normalizer, found);
            }
            continue;
        }
        let is_own = OWN_FILES.contains(&name.as_ref()) || name.ends_with(".lock");
        if is_own || MEASUREMENTS.contains(&name.as_ref()) {
            continue;
        }
        let text = (metadata.len() <= MAX_FILE)
            .then(|| fs::read_to_string(&path).ok())
            .flatten();
        let content = match text {
            Some(text) => normalizer.text(&text),
            None => format!("{} bytes", metadata.len()),
        };
        let shown = path.strip_prefix(root).unwrap_or(&path);
        // Files with random names have the same normalized name: keep all, in an order that does not vary.
        let known = found.entry(normalizer.text(&shown.display().to_string()));
        let contents = known.or_default();
        contents.push(content);
        contents.sort();
    }
}

/// Returns what changed from one snapshot to the next: new contents, or `deleted`.
pub(super) fn changes(
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let written = after
        .iter()
        .filter(|(path, content)| before.get(*path) != Some(content))
        .map(|(path, content)| (path.clone(), content.clone()));
    let deleted = before
        .keys()
        .filter(|path| !after.contains_key(*path))
        .map(|path| (path.clone(), "deleted".to_owned()));
    written.chain(deleted).collect()
}
