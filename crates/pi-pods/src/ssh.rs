//! Connections to pods with the ssh of the system: one master connection per pod, which commands and tunnels share.

use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Read as _, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use pi_fs::private;
use sha2::{Digest as _, Sha256};

use crate::host_key::ChangedHostKey;
use crate::script::Script;
use crate::{API_KEY, HUB_TOKEN};

/// Output of a script beyond this is an error.
const MAX_OUTPUT: u64 = 1 << 20;

/// Characters of a line that are shown; the rest of a longer line is dropped.
const MAX_LINE: u64 = 4096;

/// Bytes that the path of a socket may have, with what ssh appends while it creates it.
const MAX_SOCKET_PATH: usize = 85;

/// Status of ssh if the connection fails.
const CONNECTION_FAILED: i32 = 255;

/// For every connection. Ours come first, so they win over the user's: a rented machine gets neither the user's agent
/// nor the display.
const OPTIONS: [&str; 10] = [
    "-o",
    "ForwardAgent=no",
    "-o",
    "ForwardX11=no",
    "-o",
    "ServerAliveInterval=15",
    "-o",
    "ServerAliveCountMax=4",
    "-o",
    "ConnectTimeout=20",
];

#[derive(Debug, thiserror::Error)]
pub(crate) enum SshError {
    #[error("cannot start ssh: {0}")]
    Missing(#[source] io::Error),
    #[error("\"{0}\" is not an ssh command; expected user@host, or ssh with options")]
    NotSsh(String),
    #[error("cannot use {}: {source}", path.display())]
    Directory {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot connect to {pod}: {key}")]
    HostKeyChanged { pod: String, key: ChangedHostKey },
    #[error("cannot connect to {pod}: {reason}")]
    Unreachable { pod: String, reason: String },
    #[error("the connection to {pod} was cut")]
    Cut { pod: String },
    #[error("{pod}: {message}")]
    Script { pod: String, message: String },
    #[error("{pod} sends more than {MAX_OUTPUT} bytes")]
    TooLong { pod: String },
    #[error("cannot forward port {port} of {pod}: {reason}")]
    Forward {
        pod: String,
        port: u16,
        reason: String,
    },
}

/// The ssh command of a pod, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SshCommand {
    program: String,
    arguments: Vec<String>,
}

impl SshCommand {
    /// Reads `user@host`, or an ssh command with options.
    pub(crate) fn parse(text: &str) -> Result<Self, SshError> {
        let not_ssh = || SshError::NotSsh(text.to_owned());
        if text.chars().any(char::is_control) {
            return Err(not_ssh());
        }
        let mut words = text.split_whitespace().map(str::to_owned).peekable();
        let is_ssh = |word: &String| {
            Path::new(word)
                .file_name()
                .is_some_and(|name| name == "ssh")
        };
        let program = words.next_if(is_ssh).unwrap_or_else(|| "ssh".to_owned());
        let arguments: Vec<String> = words.collect();
        let is_destination = arguments
            .first()
            .is_some_and(|first| !first.contains('/') || first.starts_with("ssh:"));
        // Without options before it, the first word is the destination.
        let has_destination = arguments.len() > 1 || is_destination;
        let is_option = arguments.last().is_some_and(|last| last.starts_with('-'));
        if !has_destination || is_option {
            return Err(not_ssh());
        }
        Ok(Self { program, arguments })
    }
}

impl std::fmt::Display for SshCommand {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}", self.program, self.arguments.join(" "))
    }
}

/// The connection to a pod.
#[derive(Debug)]
pub(crate) struct Connection {
    pod: String,
    command: SshCommand,
    /// Where the master connection listens.
    socket: PathBuf,
    log: PathBuf,
}

impl Connection {
    /// Connects to nothing yet. Sockets are in `directory`, or in a private directory with a shorter name.
    pub(crate) fn new(pod: &str, ssh: &str, directory: &Path) -> Result<Self, SshError> {
        let command = SshCommand::parse(ssh)?;
        // A pod whose command changes does not use the connection to the former host.
        let digest = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(ssh.as_bytes()));
        let digest: String = digest.chars().take(8).collect();
        let name = format!("{pod}-{digest}");
        let mut directory = directory.to_owned();
        if directory.join(&name).as_os_str().len() > MAX_SOCKET_PATH {
            directory = short_directory();
        }
        private::claim_directory(&directory).map_err(|source| SshError::Directory {
            path: directory.clone(),
            source,
        })?;
        Ok(Self {
            pod: pod.to_owned(),
            command,
            socket: directory.join(&name),
            log: directory.join(format!("{name}.log")),
        })
    }

    fn ssh(&self) -> Command {
        let mut command = Command::new(&self.command.program);
        command.env_remove(API_KEY).env_remove(HUB_TOKEN);
        let socket = self.socket.display().to_string().replace('%', "%%");
        command.args(["-S", &socket]).args(OPTIONS);
        command
    }

    /// Opens the master connection unless it is open. ssh may ask the user on the terminal.
    pub(crate) fn open(&self) -> Result<(), SshError> {
        if self.is_open() {
            return Ok(());
        }
        match std::fs::remove_file(&self.log) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(SshError::Directory {
                    path: self.log.clone(),
                    source,
                });
            }
            Ok(()) | Err(_) => {}
        }
        let mut command = self.ssh();
        command
            .args(["-M", "-N", "-f", "-o", "ControlPersist=yes", "-E"])
            .arg(&self.log);
        if !io::stdin().is_terminal() {
            command.args(["-o", "BatchMode=yes"]);
        }
        command.args(&self.command.arguments);
        // The connection stays: it must not keep pipes of ours open.
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let status = command.status().map_err(SshError::Missing)?;
        if status.success() {
            return Ok(());
        }
        let log = std::fs::read(&self.log).unwrap_or_default();
        Err(self.unreachable(&String::from_utf8_lossy(&log)))
    }

    fn unreachable(&self, log: &str) -> SshError {
        let pod = self.pod.clone();
        if let Some(key) = ChangedHostKey::find(log) {
            return SshError::HostKeyChanged { pod, key };
        }
        let mut lines = log.lines().map(str::trim).filter(|line| !line.is_empty());
        let reason = lines.next_back().unwrap_or("ssh gives no reason");
        SshError::Unreachable {
            pod,
            reason: reason.to_owned(),
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.socket.exists() && self.control("check", &[]).is_ok()
    }

    /// Closes the master connection and its tunnels.
    pub(crate) fn close(&self) {
        // If it is not open, there is nothing to close.
        self.control("exit", &[]).ok();
    }

    /// Sends a command to the master connection.
    fn control(&self, command: &str, arguments: &[&str]) -> Result<(), String> {
        let mut ssh = self.ssh();
        ssh.args(["-O", command])
            .args(arguments)
            .args(&self.command.arguments);
        let output = ssh
            .stdin(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(());
        }
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }

    /// Forwards a loopback port of this machine to one of the pod.
    pub(crate) fn forward(&self, local: u16, remote: u16) -> Result<(), SshError> {
        let tunnel = tunnel(local, remote);
        self.control("forward", &["-L", &tunnel])
            .map_err(|reason| SshError::Forward {
                pod: self.pod.clone(),
                port: remote,
                reason,
            })
    }

    pub(crate) fn cancel_forward(&self, local: u16, remote: u16) {
        if self.is_open() {
            // It may have been closed with an earlier connection.
            self.control("cancel", &["-L", &tunnel(local, remote)]).ok();
        }
    }

    /// Runs a script and returns its output. What it reports as an error fails.
    pub(crate) fn run(&self, script: Script) -> Result<String, SshError> {
        let mut text = String::new();
        let mut is_long = false;
        self.follow(script, |line| {
            text.push_str(line);
            text.push('\n');
            is_long = text.len() as u64 > MAX_OUTPUT;
            if is_long {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        if is_long {
            return Err(SshError::TooLong {
                pod: self.pod.clone(),
            });
        }
        Ok(text)
    }

    /// Runs a script and passes each line of its output on, until `on_line` breaks. Long lines are cut.
    pub(crate) fn follow(
        &self,
        script: Script,
        mut on_line: impl FnMut(&str) -> ControlFlow<()>,
    ) -> Result<(), SshError> {
        self.open()?;
        let mut command = self.ssh();
        command
            .args(["-o", "BatchMode=yes", "-T"])
            .args(&self.command.arguments)
            .arg("bash -s");
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = Running(command.spawn().map_err(SshError::Missing)?);
        let mut input = child.0.stdin.take();
        let text = script.into_text();
        let errors = child.0.stderr.take();
        let errors = std::thread::spawn(move || {
            let mut text = Vec::new();
            if let Some(errors) = errors {
                errors.take(MAX_OUTPUT).read_to_end(&mut text).ok();
            }
            String::from_utf8_lossy(&text).into_owned()
        });
        // If the connection fails, its status says more than the closed pipe.
        if let Some(input) = &mut input {
            input.write_all(text.as_bytes()).ok();
        }
        drop(input);
        let mut failed = None;
        let mut is_stopped = false;
        if let Some(output) = child.0.stdout.take() {
            let mut lines = BufReader::new(output);
            while let Some(line) = read_line(&mut lines) {
                if let Some(message) = line.strip_prefix("pi-pods:error:") {
                    failed = Some(message.to_owned());
                }
                if on_line(&line).is_break() {
                    is_stopped = true;
                    break;
                }
            }
        }
        if is_stopped {
            return Ok(());
        }
        let status = child.0.wait().map_err(SshError::Missing)?;
        let pod = self.pod.clone();
        if let Some(message) = failed {
            return Err(SshError::Script { pod, message });
        }
        let errors = errors.join().unwrap_or_default();
        match status.code() {
            Some(0) => Ok(()),
            Some(CONNECTION_FAILED) if ChangedHostKey::find(&errors).is_some() => {
                Err(self.unreachable(&errors))
            }
            Some(CONNECTION_FAILED) | None => Err(SshError::Cut { pod }),
            Some(code) => {
                let last = errors.lines().next_back().unwrap_or_default();
                let message = format!("the script has ended with status {code}: {last}");
                Err(SshError::Script { pod, message })
            }
        }
    }

    /// Runs a command of the user, or the login shell, with the terminal. Opens no master connection, which would stay.
    pub(crate) fn interactive(&self, shell_command: Option<&str>) -> Result<ExitStatus, SshError> {
        let mut command = self.ssh();
        command.args(&self.command.arguments).args(shell_command);
        command.status().map_err(SshError::Missing)
    }
}

fn tunnel(local: u16, remote: u16) -> String {
    format!("127.0.0.1:{local}:127.0.0.1:{remote}")
}

/// A directory with a short path, for this user only.
fn short_directory() -> PathBuf {
    #[cfg(unix)]
    let name = format!("pi-pods-{}", private::effective_user());
    #[cfg(not(unix))]
    let name = "pi-pods";
    Path::new("/tmp").join(name)
}

/// Reads a line of at most [`MAX_LINE`] bytes and skips the rest of a longer one; `None` at the end.
fn read_line(lines: &mut impl io::BufRead) -> Option<String> {
    let mut line = Vec::new();
    let read = lines.take(MAX_LINE).read_until(b'\n', &mut line).ok()?;
    if read == 0 {
        return None;
    }
    if line.last() != Some(&b'\n') {
        lines.skip_until(b'\n').ok();
    }
    let text = String::from_utf8_lossy(&line);
    Some(text.trim_end_matches(['\n', '\r']).to_owned())
}

/// A process that does not outlive us.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn commands_are_ssh_with_a_destination() {
        for (text, expected) in [
            ("root@10.0.0.1", "ssh root@10.0.0.1"),
            ("gpu", "ssh gpu"),
            ("ssh -p 2222  root@h", "ssh -p 2222 root@h"),
            ("/usr/bin/ssh root@h", "/usr/bin/ssh root@h"),
        ] {
            assert_eq!(SshCommand::parse(text).unwrap().to_string(), expected);
        }
        for text in [
            "",
            "ssh",
            "ssh -p",
            "bash -c",
            "/bin/sh",
            "root@h\nx",
            "-oProxyCommand=id",
        ] {
            let error = SshCommand::parse(text).unwrap_err();
            assert!(matches!(error, SshError::NotSsh(_)), "{text}");
        }
    }

    #[test]
    fn sockets_have_short_paths_and_change_with_the_command() {
        let directory = tempfile::tempdir().unwrap();
        let long = directory.path().join("x".repeat(90));
        let first = Connection::new("dc1", "root@a", &long).unwrap();
        let second = Connection::new("dc1", "root@b", &long).unwrap();
        assert!(first.socket.as_os_str().len() <= MAX_SOCKET_PATH);
        assert!(first.socket != second.socket);
        let near = Connection::new("dc1", "root@a", directory.path()).unwrap();
        assert_eq!(near.socket.parent(), Some(directory.path()));
    }

    #[test]
    fn long_lines_are_cut() {
        let long = "x".repeat(10_000_000);
        let text = format!("{long}\nshort\r\nlast\u{1b}");
        let mut lines = BufReader::new(text.as_bytes());
        assert_eq!(read_line(&mut lines).unwrap().len() as u64, MAX_LINE);
        assert_eq!(read_line(&mut lines).unwrap(), "short");
        assert_eq!(read_line(&mut lines).unwrap(), "last\u{1b}");
        assert_eq!(read_line(&mut lines), None);
    }
}
