//! A project, a home directory and things outside that must stay as they are.

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use pi_protocol::settings::SandboxSettings;
use pi_sandbox::{ConfinedProgram, Roots, Sandbox};
use serde_json::{Value, json};

/// Printed by a script whose attack has succeeded.
pub(crate) const ESCAPED: &str = "ESCAPED";

/// Sockets of another program, of a session and of `pi serve`.
const SOCKETS: [&str; 3] = [
    "run/agent.sock",
    "home/.pi/agent/live/session.sock",
    "home/.pi/agent/serve.sock",
];

pub(crate) struct Fixture {
    directory: tempfile::TempDir,
    /// Whether overlays are on another file system than the project, because all directories of this one are in the workspace
    /// or temporary.
    stores_elsewhere: bool,
    /// Connections would be accepted.
    _sockets: [UnixListener; 3],
    _abstract_socket: UnixListener,
    server: TcpListener,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    pub(crate) fn below(parent: &Path) -> Self {
        let directory = tempfile::tempdir_in(parent).unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
        for path in [
            "project/.git/hooks",
            "outside",
            "home/.ssh",
            "home/.pi/agent/live",
            "home/.pi/agent/skills",
            "tmp",
            "run",
        ] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        for (path, text) in [
            ("project/.git/config", "[core]\n"),
            ("project/file.txt", "text\n"),
            ("project/.env", "SECRET=1\n"),
            ("outside/file.txt", "text\n"),
            ("home/.ssh/id", "SECRET\n"),
            ("home/.pi/agent/auth.json", "{}\n"),
            ("home/.pi/agent/mcp-auth.json", "{}\n"),
            ("home/.pi/agent/serve.json", "{}\n"),
            ("home/.pi/agent/settings.json", "{}\n"),
            ("home/.pi/agent/skills/skill.md", "text\n"),
        ] {
            write(&root.join(path), text);
        }
        fs::copy("/proc/self/exe", root.join("attack")).unwrap();
        fs::set_permissions(root.join("attack"), fs::Permissions::from_mode(0o755)).unwrap();
        let name = SocketAddr::from_abstract_name(root.to_str().unwrap()).unwrap();
        Self {
            _sockets: SOCKETS.map(|path| UnixListener::bind(root.join(path)).unwrap()),
            _abstract_socket: UnixListener::bind_addr(&name).unwrap(),
            server: TcpListener::bind("127.0.0.1:0").unwrap(),
            directory,
            stores_elsewhere: false,
        }
    }

    /// Changes of tried commands cannot be moved to the project; `None` if the system does not allow that.
    pub(crate) fn on_other_file_system() -> Option<Self> {
        let fixture = Self {
            stores_elsewhere: true,
            ..Self::new()
        };
        let settings = serde_json::from_value(json!({ "mode": "try" })).unwrap();
        let is_temporary = fixture.root().starts_with("/tmp");
        let starts = Sandbox::start(&settings, &fixture.roots()).is_ok();
        (is_temporary && starts).then_some(fixture)
    }

    /// Returns the stored overlays of this process, or of another one.
    pub(crate) fn overlays(&self, process: u32) -> Vec<PathBuf> {
        let storage = if self.stores_elsewhere {
            "/dev/shm".into()
        } else {
            self.root().join("home/.pi/agent/try")
        };
        let entries = fs::read_dir(storage).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let start = format!("pi-try-{process}-");
        let is_of_process = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_str();
            name.is_some_and(|name| name.starts_with(&start))
        };
        paths.filter(is_of_process).collect()
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    /// The path of this program, in a directory that every user can read.
    pub(crate) fn attack(&self) -> String {
        self.root().join("attack").to_string_lossy().into_owned()
    }

    pub(crate) fn roots(&self) -> Roots {
        let root = self.root();
        Roots {
            workspace: self.project(),
            home: Some(root.join("home")),
            agent_dir: root.join("home/.pi/agent"),
            caches: if self.stores_elsewhere {
                vec!["/tmp".into(), "/var/tmp".into()]
            } else {
                vec![root.join("tmp")]
            },
            sockets: vec![root.join("run")],
            git_dirs: Vec::new(),
            git_files: Vec::new(),
        }
    }

    pub(crate) fn sandbox(&self, settings: &Value) -> Sandbox {
        start(settings, &self.roots()).unwrap()
    }

    pub(crate) fn workspace_sandbox(&self) -> Sandbox {
        self.sandbox(&json!({ "mode": "workspace", "network": "off" }))
    }

    /// Runs a script in the project.
    pub(crate) fn run(&self, sandbox: Option<&Sandbox>, script: &str) -> Output {
        let mut command = self.command(sandbox, "bash");
        command.args(["-c", script]).output().unwrap()
    }

    /// Returns a command in the project.
    pub(crate) fn command(&self, sandbox: Option<&Sandbox>, program: &str) -> Command {
        let root = self.root();
        let mut command = match sandbox {
            Some(sandbox) => {
                let path = std::env::var_os("PATH");
                let program = ConfinedProgram {
                    program: program.as_ref(),
                    path: path.as_deref(),
                    cwd: Some(&self.project()),
                };
                sandbox.command(program).unwrap()
            }
            None => Command::new(program),
        };
        command
            .current_dir(self.project())
            .env("OUTSIDE", root.join("outside"))
            .env("PROJECT", self.project())
            .env("HOME", root.join("home"))
            .env("TMPDIR", root.join("tmp"))
            .env("SOCKET", root.join("run/agent.sock"))
            .env("ABSTRACT", &root)
            .env("PORT", self.server.local_addr().unwrap().port().to_string())
            .env("OUTER", std::process::id().to_string())
            .env("ATTACK", root.join("attack"))
            .stdin(Stdio::null());
        command
    }
}

pub(crate) fn start(settings: &Value, roots: &Roots) -> Result<Sandbox, pi_sandbox::SandboxError> {
    let settings: SandboxSettings = serde_json::from_value(settings.clone()).unwrap();
    Sandbox::start(&settings, roots).map(Option::unwrap)
}

pub(crate) fn text(output: &Output) -> String {
    let streams = [&output.stdout, &output.stderr];
    streams.map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

/// Returns the paths below a directory with their contents, to compare them.
pub(crate) fn contents(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.push((path.clone(), Vec::new()));
            found.extend(contents(&path));
        } else {
            found.push((path.clone(), fs::read(&path).unwrap_or_default()));
        }
    }
    found.sort();
    found
}

/// Writes a file.
pub(crate) fn write(path: &Path, text: &str) {
    let mut file = fs::File::create(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}
