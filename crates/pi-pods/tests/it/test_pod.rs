//! A pod: an sshd on a loopback port, with a private home directory and fake tools.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pi_test_support::TempHome;
use serde_json::Value;

use crate::relay::Relay;

const SSHD: &str = "/usr/sbin/sshd";

const TOOLS: [(&str, &str); 6] = [
    ("nvidia-smi", include_str!("tools/nvidia-smi")),
    ("uv", include_str!("tools/uv")),
    ("df", include_str!("tools/df")),
    ("curl", "#!/bin/sh\nexit 1\n"),
    ("gcc", "#!/bin/sh\nexit 1\n"),
    ("vllm-server", include_str!("tools/vllm.py")),
];

/// Held by each pod: another one could take a local port while its tunnel is opened again.
static LOCAL_PORTS: Mutex<()> = Mutex::new(());

pub(crate) struct TestPod {
    pub(crate) home: TempHome,
    pub(crate) relay: Relay,
    sshd: Child,
    _ports: MutexGuard<'static, ()>,
}

/// The end of a run of a program.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl TestPod {
    /// Starts the server; `None`, with a message, if the machine has no usable sshd.
    pub(crate) fn start() -> Option<Self> {
        let missing = [SSHD, "/usr/bin/python3", "/usr/bin/setsid"].into_iter();
        let missing: Vec<&str> = missing
            .filter(|program| !Path::new(program).exists())
            .collect();
        if !missing.is_empty() {
            eprintln!("skipped: {} is not installed", missing.join(", "));
            return None;
        }
        let ports = LOCAL_PORTS.lock().unwrap_or_else(PoisonError::into_inner);
        let home = TempHome::new();
        for directory in ["user", "pod", "fake", "sshd"] {
            fs::create_dir(home.path().join(directory)).unwrap();
        }
        for (name, text) in TOOLS {
            let fake = home.path().join("fake").display().to_string();
            home.write_program(&format!("fake/bin/{name}"), text.replace("@FAKE@", &fake));
        }
        home.write("fake/driver", "550.54.15\n");
        home.write(
            "fake/gpus",
            "0, NVIDIA H100 80GB HBM3, 81559 MiB\n1, NVIDIA H100 80GB HBM3, 81559 MiB\n",
        );
        home.write("fake/available", "500000000\n");
        for key in ["host", "user"] {
            generate_key(&home.path().join("sshd").join(key));
        }
        fs::copy(
            home.path().join("sshd/user.pub"),
            home.path().join("sshd/authorized"),
        )
        .unwrap();
        let (sshd, port) = start_sshd(&home)?;
        let relay = Relay::start((Ipv4Addr::LOCALHOST, port).into());
        let user = Command::new("id").arg("-un").output().unwrap().stdout;
        let user = String::from_utf8(user).unwrap();
        let directory = home.path().join("sshd").display().to_string();
        let config = format!(
            "Host gpu\n HostName 127.0.0.1\n Port {}\n User {}\n IdentityFile {directory}/user\n \
             IdentitiesOnly yes\n UserKnownHostsFile {directory}/known\n StrictHostKeyChecking accept-new\n",
            relay.port(),
            user.trim(),
        );
        home.write("sshd/client", config);
        Some(Self {
            home,
            relay,
            sshd,
            _ports: ports,
        })
    }

    /// Like [`start`](Self::start), and sets it up as `dc1`.
    pub(crate) fn set_up() -> Option<Self> {
        let pod = Self::start()?;
        pod.run(&["setup", "dc1", &pod.ssh()]).succeeded();
        Some(pod)
    }

    /// Returns the ssh command of the pod.
    pub(crate) fn ssh(&self) -> String {
        format!("ssh -F {} gpu", self.path("sshd/client").display())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub(crate) fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).env_clear().stdin(Stdio::null());
        command.env(
            "PATH",
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        );
        command
            .env("HOME", self.path("user"))
            .env("PI_OFFLINE", "1");
        command.env("HF_TOKEN", "hub-token");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Outcome {
        let program = Path::new(env!("CARGO_BIN_EXE_pi-pods"));
        outcome(self.command(program, arguments))
    }

    /// Starts a run that a test interrupts.
    pub(crate) fn spawn(&self, arguments: &[&str]) -> Child {
        let program = Path::new(env!("CARGO_BIN_EXE_pi-pods"));
        let mut command = self.command(program, arguments);
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Runs pi; `None`, with a message, if it is not built.
    pub(crate) fn run_pi(&self, arguments: &[&str]) -> Option<Outcome> {
        let built = Path::new(env!("CARGO_BIN_EXE_pi-pods")).with_file_name("pi");
        let program = std::env::var_os("PI_TEST_BINARY").map_or(built, PathBuf::from);
        if !program.exists() {
            eprintln!("skipped: pi is not built; run cargo build --workspace");
            return None;
        }
        let mut command = self.command(&program, arguments);
        command.current_dir(self.path("user"));
        Some(outcome(command))
    }

    pub(crate) fn pods(&self) -> Value {
        serde_json::from_str(&self.home.read("user/.pi/pods.json")).unwrap()
    }

    /// Replaces the key of the host.
    pub(crate) fn change_host_key(&mut self) {
        let key = self.path("sshd/host");
        fs::remove_file(&key).unwrap();
        fs::remove_file(key.with_extension("pub")).unwrap();
        generate_key(&key);
        self.restart();
    }

    /// Ends all connections and starts the server again on another port.
    pub(crate) fn restart(&mut self) {
        self.sshd.kill().unwrap();
        self.sshd.wait().unwrap();
        self.relay.cut();
        let (sshd, port) = start_sshd(&self.home).unwrap();
        self.sshd = sshd;
        let former = self.relay.port();
        self.relay = Relay::start((Ipv4Addr::LOCALHOST, port).into());
        let config = self.home.read("sshd/client");
        let config = config.replace(
            &format!("Port {former}"),
            &format!("Port {}", self.relay.port()),
        );
        // The name under which the key is known stays.
        let config = format!("{config} HostKeyAlias gpu\n");
        self.home.write("sshd/client", config);
    }
}

impl Drop for TestPod {
    fn drop(&mut self) {
        self.run(&["stop", "--all", "--pod", "dc1"]);
        self.run(&["remove", "dc1", "--force"]);
        self.sshd.kill().ok();
        self.sshd.wait().ok();
    }
}

impl Outcome {
    #[track_caller]
    pub(crate) fn succeeded(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    #[track_caller]
    pub(crate) fn failed(self) -> String {
        assert_eq!(self.code, Some(1), "{self:?}");
        self.stderr
    }
}

fn outcome(mut command: Command) -> Outcome {
    let output = command.output().unwrap();
    Outcome {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn generate_key(file: &Path) {
    let mut command = Command::new("ssh-keygen");
    command
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(file);
    assert!(command.status().unwrap().success());
}

fn start_sshd(home: &TempHome) -> Option<(Child, u16)> {
    // Another program may take the port in between.
    (0..5).find_map(|_| {
        let probe = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = probe.local_addr().unwrap().port();
        drop(probe);
        let at = |name: &str| home.path().join(name).display().to_string();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {host}\nAuthorizedKeysFile {authorized}\n\
             StrictModes no\nUsePAM no\nPasswordAuthentication no\nPidFile none\n\
             SetEnv HOME={pod} PATH={fake}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n",
            host = at("sshd/host"),
            authorized = at("sshd/authorized"),
            pod = at("pod"),
            fake = at("fake/bin"),
        );
        let config = home.write("sshd/server", config);
        let mut command = Command::new(SSHD);
        command.args(["-D", "-e", "-f"]).arg(config);
        let mut sshd = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(sshd.stderr.take().unwrap());
        let mut line = String::new();
        while log.read_line(&mut line).unwrap() > 0 {
            if line.contains("Server listening") {
                std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
                return Some((sshd, port));
            }
        }
        eprintln!("skipped if this repeats: sshd does not start: {line}");
        sshd.wait().unwrap();
        None
    })
}

/// Waits until a condition holds.
#[track_caller]
pub(crate) fn wait_until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether something listens on a loopback port.
pub(crate) fn is_listening(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}
