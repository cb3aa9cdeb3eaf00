//! Runs one start of each kind under callgrind.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use pi_test_support::{PtyCommand, PtyTerminal};
use serde_json::json;
use tempfile::TempDir;

use crate::fake_model::{FakeModel, FakeReply};

const COLUMNS: u16 = 100;
const ROWS: u16 = 30;

const CONTEXT_WINDOW: u64 = 200_000;

const REPLY: &str = "# A reply\n\nWith *Markdown* and `code`.";

/// Loads the JavaScript engine and the TypeScript compiler.
const EXTENSION: &str = include_str!("extension.ts");

/// Responds to the first command of an RPC client.
const RPC_COMMAND: &str = "{\"id\":\"1\",\"type\":\"get_state\"}\n";

/// A binary with symbols, and the home in which it starts.
pub(super) struct StartProfiler {
    binary: PathBuf,
    home: TempDir,
}

impl StartProfiler {
    pub(super) fn new(binary: &Path) -> Result<Self> {
        let home = TempDir::new()?;
        let model = FakeModel::start(|_messages| FakeReply {
            text: REPLY.into(),
            tool_call: None,
            ..FakeReply::default()
        })?;
        for directory in ["agent", "project", "profiles"] {
            fs::create_dir(home.path().join(directory))?;
        }
        let models = model.models_json("dist", "model", CONTEXT_WINDOW);
        for (path, text) in [
            ("agent/models.json", models.as_str()),
            ("extension.ts", EXTENSION),
        ] {
            File::create(home.path().join(path))?.write_all(text.as_bytes())?;
        }
        Ok(Self {
            binary: binary.to_owned(),
            home,
        })
    }

    /// Runs every kind of start, and returns the profiles.
    pub(super) fn record(&self) -> Result<Vec<String>> {
        let with_model = ["--model", "dist/model", "--no-session"];
        let extension = self.home.path().join("extension.ts");
        let extension = extension.to_string_lossy();
        self.run_batch("version", &["--version"], "")?;
        self.run_batch("help", &["--help"], "")?;
        self.run_batch("print", &[&with_model[..], &["-p", "hi"]].concat(), "")?;
        let rpc = [&with_model[..], &["--mode", "rpc"]].concat();
        self.run_batch("rpc", &rpc, RPC_COMMAND)?;
        self.run_editor(&with_model)?;
        self.run_server(&with_model)?;
        self.run_terminal("terminal", &with_model);
        let extended = [&with_model[..], &["--extension", &extension]].concat();
        self.run_terminal("extension", &extended);
        let mut profiles = Vec::new();
        for entry in fs::read_dir(self.home.path().join("profiles"))? {
            profiles.push(fs::read_to_string(entry?.path())?);
        }
        Ok(profiles)
    }

    /// Runs a start that ends at the end of `input`.
    fn run_batch(&self, name: &str, arguments: &[&str], input: &str) -> Result<()> {
        let mut command = self.profiled(name, arguments);
        let mut child = command.stdout(Stdio::null()).spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.as_bytes())?;
        }
        let ended = child.wait_with_output()?;
        let stderr = String::from_utf8_lossy(&ended.stderr);
        ensure!(ended.status.success(), "pi {arguments:?} failed: {stderr}");
        Ok(())
    }

    /// Opens a session as an editor does.
    fn run_editor(&self, arguments: &[&str]) -> Result<()> {
        let arguments = [&["acp"], arguments].concat();
        let mut child = self
            .profiled("acp", &arguments)
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take().context("stdin is not a pipe")?;
        let stdout = child.stdout.take().context("stdout is not a pipe")?;
        let cwd = self.home.path().join("project");
        for request in [
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}),
            json!({"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": {"cwd": cwd, "mcpServers": []}}),
        ] {
            writeln!(&stdin, "{request}")?;
        }
        for line in BufReader::new(stdout).lines() {
            let line: serde_json::Value = serde_json::from_str(&line?)?;
            if line["id"] == 2 {
                break;
            }
        }
        // The end of the input ends the program.
        drop(stdin);
        let ended = child.wait_with_output()?;
        let stderr = String::from_utf8_lossy(&ended.stderr);
        ensure!(ended.status.success(), "pi {arguments:?} failed: {stderr}");
        Ok(())
    }

    /// Starts the server, and opens a session in it.
    fn run_server(&self, arguments: &[&str]) -> Result<()> {
        let socket = self.home.path().join("serve.sock");
        let path = socket.to_string_lossy();
        let arguments = [&["serve", "--socket", &path], arguments].concat();
        let mut terminal = self.terminal("serve", &arguments);
        terminal.wait("Listening on");
        let mut client = UnixStream::connect(&socket)?;
        let body = json!({"cwd": self.home.path().join("project")}).to_string();
        write!(
            client,
            "POST /v1/sessions HTTP/1.1\r\nHost: pi\r\nX-Pi: 1\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )?;
        let mut response = String::new();
        client.read_to_string(&mut response)?;
        ensure!(
            response.starts_with("HTTP/1.1 2"),
            "pi serve opened no session: {response}"
        );
        terminal.send("\x03");
        terminal.exit_code();
        Ok(())
    }

    /// Runs one turn in a terminal.
    fn run_terminal(&self, name: &str, arguments: &[&str]) {
        let terminal = self.terminal(name, arguments);
        // Before the application reads keys, the terminal would echo them and turn Enter into a line break.
        terminal.wait("/ commands");
        terminal.send("hello");
        terminal.wait("hello");
        terminal.send("\r");
        terminal.wait("A reply");
        terminal.quit();
    }

    /// Returns a command with pipes for its input and its errors.
    fn profiled(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("valgrind");
        command
            .args(self.callgrind(name, arguments))
            .current_dir(self.home.path().join("project"))
            .env_clear()
            .envs(self.environment())
            .stdin(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn terminal(&self, name: &str, arguments: &[&str]) -> PtyTerminal {
        let mut command = PtyCommand::new("valgrind");
        command.args(self.callgrind(name, arguments));
        command.cwd(self.home.path().join("project"));
        command.env_clear();
        for (variable, value) in self.environment() {
            command.env(variable, value);
        }
        PtyTerminal::spawn(command, COLUMNS, ROWS)
    }

    fn callgrind(&self, name: &str, arguments: &[&str]) -> Vec<OsString> {
        let profile = self.home.path().join("profiles").join(name);
        let mut words: Vec<OsString> = ["--quiet", "--tool=callgrind", "--demangle=no"]
            .map(OsString::from)
            .into();
        words.push(format!("--callgrind-out-file={}", profile.display()).into());
        words.push(self.binary.clone().into());
        words.extend(arguments.iter().map(OsString::from));
        words
    }

    fn environment(&self) -> [(&'static str, OsString); 6] {
        [
            ("PATH", std::env::var_os("PATH").unwrap_or_default()),
            ("HOME", self.home.path().into()),
            ("PI_CODING_AGENT_DIR", self.home.path().join("agent").into()),
            ("PI_OFFLINE", "1".into()),
            ("TERM", "xterm-256color".into()),
            ("LANG", "C.UTF-8".into()),
        ]
    }
}
