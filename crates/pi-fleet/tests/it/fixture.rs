//! A temporary home with a repository, a scripted model and tasks.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use pi_test_support::TempHome;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::model_server::ModelServer;

/// Returns the pi binary of this build, or the one in `PI_TEST_BINARY`.
pub(crate) fn pi_binary() -> Option<PathBuf> {
    let chosen = std::env::var_os("PI_TEST_BINARY").map(PathBuf::from);
    let built = || Path::new(env!("CARGO_BIN_EXE_pi-fleet")).with_file_name("pi");
    let path = chosen.unwrap_or_else(built);
    let has_git = std::process::Command::new("git")
        .arg("--version")
        .output()
        .is_ok();
    if !path.exists() || !has_git {
        eprintln!("skipped: needs git and {}", path.display());
        return None;
    }
    Some(path)
}

/// Returns the pi-fleet binary of this build, or the one in `PI_FLEET_TEST_BINARY`.
pub(crate) fn fleet_binary() -> PathBuf {
    let chosen = std::env::var_os("PI_FLEET_TEST_BINARY");
    chosen.map_or_else(|| env!("CARGO_BIN_EXE_pi-fleet").into(), PathBuf::from)
}

pub(crate) struct Fixture {
    /// The engine of a fleet of many machines.
    pub(crate) engine: Option<String>,
    pub(crate) home: TempHome,
    pub(crate) model: ModelServer,
    pub(crate) pi: PathBuf,
}

impl Fixture {
    /// Creates the home; `None` if a program is missing.
    pub(crate) async fn new() -> Option<Self> {
        let pi = pi_binary()?;
        let home = TempHome::new();
        let server = ModelServer::start(home.path().join("markers")).await;
        let model = |id: &str| {
            json!({
                "id": id, "name": id, "input": ["text"], "contextWindow": 200_000, "maxTokens": 8192,
                "cost": {"input": 10, "output": 20, "cacheRead": 0, "cacheWrite": 0},
            })
        };
        let models = json!({"providers": {"mock": {
            "baseUrl": server.url(), "api": "openai-completions", "apiKey": "k",
            "models": [model("alpha"), model("beta")],
        }}});
        home.write("agent/models.json", models.to_string());
        home.write("repository/.gitignore", "*.log\n");
        home.write("repository/readme", "text\n");
        for arguments in [
            &["init", "--quiet", "-b", "main"][..],
            &["add", "."],
            &[
                "-c",
                "user.name=a",
                "-c",
                "user.email=a@localhost",
                "commit",
                "--quiet",
                "-m",
                "one",
            ],
        ] {
            let mut git = std::process::Command::new("git");
            git.args(arguments)
                .current_dir(home.path().join("repository"));
            assert!(git.status().unwrap().success());
        }
        Some(Self {
            engine: None,
            home,
            model: server,
            pi,
        })
    }

    /// Writes a task file and returns its path. Fields are those of every task.
    pub(crate) fn tasks(&self, names: &[String], fields: &Value) -> PathBuf {
        let mut text = String::new();
        for name in names {
            let mut task = json!({
                "id": name, "prompt": name, "repo": self.home.path().join("repository"), "model": "mock/alpha",
            });
            let fields = fields.as_object().unwrap().clone();
            task.as_object_mut().unwrap().extend(fields);
            text.push_str(&task.to_string());
            text.push('\n');
        }
        self.home.write("tasks.jsonl", text)
    }

    pub(crate) fn batch(&self) -> PathBuf {
        self.home.path().join("agent/fleet/batches/b")
    }

    /// Prepares `pi-fleet` with these words.
    pub(crate) fn fleet(&self, words: &[&str]) -> Command {
        self.program(&fleet_binary(), words)
    }

    /// Prepares a program in the home.
    pub(crate) fn program(&self, program: &Path, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(words)
            .current_dir(self.home.path())
            .env_clear()
            .envs(self.environment())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let path = |name: &str| self.home.path().join(name).to_string_lossy().into_owned();
        [
            ("PATH", std::env::var("PATH").unwrap_or_default()),
            ("HOME", path("home")),
            ("PI_CODING_AGENT_DIR", path("agent")),
            ("PI_OFFLINE", "1".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .chain(
            self.engine
                .iter()
                .map(|url| ("PI_FLEET_ENGINE".to_owned(), url.clone())),
        )
        .collect()
    }

    /// Prepares `pi-fleet` on another machine: with a separate agent directory.
    pub(crate) fn fleet_on(&self, machine: &str, words: &[&str]) -> Command {
        // Once: an agent may be reading it.
        let models = format!("{machine}/models.json");
        if !self.home.path().join(&models).exists() {
            self.home
                .write(&models, self.home.read("agent/models.json"));
        }
        let mut command = self.fleet(words);
        command.env("PI_CODING_AGENT_DIR", self.home.path().join(machine));
        command
    }

    /// Prepares `pi-fleet run` for the batch `b`.
    pub(crate) fn run(&self, tasks: &Path, more: &[&str]) -> Command {
        let (tasks, pi) = (tasks.to_str().unwrap(), self.pi.to_str().unwrap());
        let mut words = vec!["run", tasks, "--batch", "b", "--pi", pi, "--quiet"];
        words.extend(more);
        self.fleet(&words)
    }

    /// Collects the results and returns them by task.
    pub(crate) async fn results(&self) -> BTreeMap<String, Value> {
        let out = self.home.path().join("out");
        let words = ["results", "b", "--out", out.to_str().unwrap()];
        let output = self.fleet(&words).output().await.unwrap();
        assert!(output.status.success(), "{}", describe(&output));
        let lines = self.home.read("out/results.jsonl");
        let results = lines.lines().map(|line| {
            let result: Value = serde_json::from_str(line).unwrap();
            (result["task"].as_str().unwrap().to_owned(), result)
        });
        results.collect()
    }

    /// Checks what holds for every task, however often its processes were killed. Returns the number of requests that
    /// were cut, and of calls that were interrupted.
    pub(crate) async fn check_results(&self, names: &[String]) -> (u64, u64) {
        let results = self.results().await;
        let (mut cut, mut interrupted) = (0, 0);
        for name in names {
            let result = &results[name];
            assert_eq!(result["status"], "done", "{result}");
            let number = |field: &str| result[field].as_u64().unwrap();
            let requests = self.model.requests(name);
            let turns = number("turns");
            assert!(
                (turns..=turns + number("cutRequests")).contains(&requests),
                "{requests} requests: {result}"
            );
            cut += number("cutRequests");
            interrupted += number("interruptedCalls");
            let patch = self.home.read(&format!("out/patches/{name}.patch"));
            assert_eq!(patch, expected_patch(name), "{result}");
            // The format of SWE-bench.
            let predictions = self.home.read("out/preds.json");
            let predictions: Vec<Value> = serde_json::from_str(&predictions).unwrap();
            let predicted = predictions.iter().find(|one| one["instance_id"] == **name);
            assert_eq!(predicted.unwrap()["model_patch"], patch, "{result}");
            let session = result["session"].as_str().unwrap();
            self.check_session(&self.home.path().join("out").join(session))
                .await;
            if self.engine.is_none() {
                self.check_session(&self.batch().join(session)).await;
            }
        }
        let markers = std::fs::read_to_string(self.home.path().join("markers")).unwrap();
        let mut seen = HashSet::new();
        for marker in markers.lines() {
            assert!(seen.insert(marker), "the call {marker} ran twice");
        }
        (cut, interrupted)
    }

    async fn check_session(&self, session: &Path) {
        let checked = self.program(&self.pi, &["fsck", session.to_str().unwrap()]);
        let output = { checked }.output().await.unwrap();
        assert!(output.status.success(), "{}", describe(&output));
    }
}

pub(crate) fn describe(output: &Output) -> String {
    format!(
        "{}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Returns the patch of a run that nothing has disturbed.
fn expected_patch(name: &str) -> String {
    let blob = |content: &str| {
        use std::io::Write as _;
        let mut git = std::process::Command::new("git");
        git.args(["hash-object", "--stdin"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut git = git.spawn().unwrap();
        git.stdin
            .take()
            .unwrap()
            .write_all(content.as_bytes())
            .unwrap();
        let output = git.wait_with_output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let none = "0".repeat(40);
    let file = |path: &str, lines: &[&str]| {
        let content: String = lines.iter().flat_map(|line| [*line, "\n"]).collect();
        let added: String = lines.iter().flat_map(|line| ["+", *line, "\n"]).collect();
        let count = if lines.len() == 1 {
            String::new()
        } else {
            format!(",{}", lines.len())
        };
        format!(
            "diff --git a/{path} b/{path}\nnew file mode 100644\nindex {none}..{}\n--- /dev/null\n+++ b/{path}\n@@ -0,0 \
             +1{count} @@\n{added}",
            blob(&content)
        )
    };
    file("a.txt", &[name, "two"]) + &file("b.txt", &[name])
}
