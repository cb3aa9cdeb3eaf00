//! Parses the words of a command line.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::absolute;
use crate::engine::ControlMessage;
use crate::settings::{DefaultWorkspace, FleetSettings};
use crate::task::{FleetTask, WorkspaceKind, is_id, is_label, parse_tasks};

pub(super) const HELP: &str = "\
Run batches of tasks with several agents; any process may be killed and resumed.

Usage: pi fleet COMMAND

  run TASKS [OPTIONS]      Run a file with one task per line, or resume it
  run --prompt TEXT --repos FILE
                           Run one prompt in every repository of a list
  ls [BATCH]               List batches, or the runs of a batch
  watch [BATCH]            Show progress, cost and the runs in progress, live
  show RUN                 Show details of a run
  attach RUN [--json]      Follow the agent of a run and send it messages and commands
  steer RUN TEXT           Send a message to the agent of a run
  cancel RUN|BATCH         End runs
  pause RUN|BATCH          Stop runs at their next request or tool call
  resume RUN|BATCH         End a pause
  retry RUN|BATCH          Queue the runs that are not done again, from their start; with --failed, not those that were
                           canceled or reached a limit
  results BATCH --out DIR  Write results, sessions, patches, artifacts and preds.json
  delete BATCH             Remove a batch with its logs and files; on a server, as admin
  check                    Check Git, pi, file locks and the store; with a server, also versions, permissions and clocks

  up                       Run the server of a fleet of many machines, with users for workers and clients
  worker                   Drive runs of a fleet on this machine
  submit TASKS [OPTIONS]   Add tasks to a fleet; takes the task options of run
  resubmit DIR             Add the runs of a directory of this machine, with their progress, to a fleet that lost them

Options of every command:
  --artifacts URL          Where results are stored, such as file:///srv/pi; by default with the engine
  --engine URL             The server of a fleet, nats://HOST:4222; by default PI_FLEET_ENGINE, or this machine
  --fleet NAME             One of several fleets of a server (default main)

Options of worker:
  --slots N                Number of agents at the same time (default 4)
  --label NAME,NAME        Also take tasks of these queues
  --drain                  Stop when no run is left

Options of up:
  --listen HOST:PORT       Where the server listens (default 127.0.0.1:4222)
  --dir DIR                Configuration, credentials and data of the server
  --server PROGRAM         The server, version 2.12 or newer (default nats-server)

Options of run:
  --workers N              Number of agents at the same time (default 4)
  --cost DOLLARS           Stop before the batch costs more
  --model MODEL            Model of tasks that name none
  --batch NAME             Name of the batch; by default from the task file
  --out DIR                Write the results there when all runs have ended
  --pi PROGRAM             The pi program; by default the one next to this program
  --secret NAME=SOURCE     Offer a secret to tasks that name it: $VARIABLE, !COMMAND or the path of a file
  --quiet                  Do not draw a table
  -- ARGUMENTS             Further arguments of every pi process

RUN is BATCH/TASK. PI_FLEET_CREDENTIALS names the file with the user and password of the server. Run `pi docs fleet` for the formats of tasks and results.
Exit codes of run: 0 all done, 1 some failed, 2 usage, 3 budget reached, 130 interrupted.
";

/// An error for the user.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) cause: String,
    pub(super) hints: Vec<String>,
}

impl Failure {
    pub(super) fn new(cause: impl Into<String>) -> Self {
        Self {
            cause: cause.into(),
            hints: Vec::new(),
        }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl From<crate::engine::EngineError> for Failure {
    fn from(error: crate::engine::EngineError) -> Self {
        let failure = Self::new(error.to_string());
        match error {
            crate::engine::EngineError::Denied(_) => failure.hint(super::remote::USERS),
            crate::engine::EngineError::UnknownRun(_) => {
                failure.hint("run pi fleet ls BATCH for its runs")
            }
            _ => failure,
        }
    }
}

#[derive(Debug, PartialEq)]
pub(super) enum Command {
    Help,
    Run(RunArgs),
    List {
        batch: Option<String>,
    },
    Watch {
        batch: Option<String>,
    },
    Show {
        run: String,
    },
    Attach {
        run: String,
        is_json: bool,
    },
    Send {
        target: String,
        message: ControlMessage,
    },
    Retry {
        target: String,
        /// Runs that were canceled or reached a limit stay as they are.
        only_failed: bool,
    },
    Delete {
        batch: String,
    },
    Resubmit {
        directory: PathBuf,
    },
    Results {
        batch: String,
        out: PathBuf,
    },
    Check {
        program: Option<String>,
    },
    Up(UpArgs),
    Worker(WorkerArgs),
    Submit(SubmitArgs),
}

#[derive(Debug, PartialEq)]
pub(super) struct UpArgs {
    /// `HOST:PORT`.
    pub(super) listen: Option<String>,
    pub(super) directory: Option<PathBuf>,
    pub(super) server: PathBuf,
}

#[derive(Debug, PartialEq)]
pub(super) struct WorkerArgs {
    pub(super) slots: Option<usize>,
    pub(super) labels: Vec<String>,
    pub(super) secrets: Vec<(String, String)>,
    pub(super) drain: bool,
    pub(super) program: Option<String>,
    pub(super) arguments: Vec<String>,
}

#[derive(Debug, PartialEq)]
pub(super) struct SubmitArgs {
    pub(super) batch: RunArgs,
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct RunArgs {
    pub(super) tasks: Option<String>,
    pub(super) prompt: Option<String>,
    pub(super) repos: Option<String>,
    pub(super) workers: Option<usize>,
    pub(super) secrets: Vec<(String, String)>,
    pub(super) cost: Option<f64>,
    pub(super) model: Option<String>,
    pub(super) batch: Option<String>,
    pub(super) out: Option<PathBuf>,
    pub(super) program: Option<String>,
    pub(super) quiet: bool,
    pub(super) arguments: Vec<String>,
}

pub(super) const FLAGS: [&str; 5] = ["--quiet", "--failed", "--drain", "--json", "--help"];

const MAX_SLOTS: usize = 10_000;

/// What each command takes besides its operands; other commands take nothing. `--` precedes arguments of pi.
const TAKEN: [(&str, &[&str]); 8] = [
    (
        "run",
        &[
            "--workers",
            "--cost",
            "--model",
            "--batch",
            "--out",
            "--pi",
            "--prompt",
            "--repos",
            "--secret",
            "--quiet",
            "--",
        ],
    ),
    (
        "submit",
        &["--cost", "--model", "--batch", "--prompt", "--repos"],
    ),
    (
        "worker",
        &["--slots", "--label", "--secret", "--drain", "--pi", "--"],
    ),
    ("up", &["--listen", "--dir", "--server"]),
    ("attach", &["--json"]),
    ("retry", &["--failed"]),
    ("results", &["--out"]),
    ("check", &["--pi"]),
];

/// The options that take a value.
pub(super) const VALUES: [&str; 14] = [
    "--slots",
    "--label",
    "--secret",
    "--listen",
    "--dir",
    "--server",
    "--workers",
    "--cost",
    "--model",
    "--batch",
    "--out",
    "--pi",
    "--prompt",
    "--repos",
];

/// The words of a command line, by kind.
#[derive(Default)]
struct SplitWords {
    options: Vec<(String, String)>,
    flags: Vec<String>,
    operands: VecDeque<String>,
    /// What follows `--`.
    arguments: Vec<String>,
    /// The names of all options and flags.
    used: Vec<String>,
}

impl SplitWords {
    fn of(mut words: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let mut split = Self::default();
        while let Some(word) = words.next() {
            if word.starts_with("--") {
                split.used.push(word.clone());
            }
            if word == "--" {
                split.arguments.extend(words.by_ref());
            } else if FLAGS.contains(&word.as_str()) {
                split.flags.push(word);
            } else if VALUES.contains(&word.as_str()) {
                let value = words.next();
                let value = value.ok_or_else(|| usage(format!("{word} needs a value")))?;
                split.options.push((word, value));
            } else if word.starts_with("--") {
                return Err(usage(format!("unknown option {word}")));
            } else {
                split.operands.push_back(word);
            }
        }
        Ok(split)
    }

    fn has(&self, name: &str) -> bool {
        self.flags.iter().any(|flag| flag == name)
    }

    /// Returns the last value of an option.
    fn option(&self, name: &str) -> Option<String> {
        self.all(name).pop()
    }

    fn all(&self, name: &str) -> Vec<String> {
        let found = self.options.iter().filter(|(option, _)| option == name);
        found.map(|(_, value)| value.clone()).collect()
    }

    /// Takes the next operand.
    fn next(&mut self, what: &str) -> Result<String, Failure> {
        let operand = self.operands.pop_front();
        operand.ok_or_else(|| usage(format!("missing {what}")))
    }

    /// Fails if something is left that a command does not take.
    fn check_taken(&self, name: &str) -> Result<(), Failure> {
        let taken = TAKEN.iter().find(|(command, _)| *command == name);
        let taken = taken.map_or(&[][..], |(_, options)| options);
        let mut used = self.used.iter();
        if let Some(option) = used.find(|option| !taken.contains(&option.as_str())) {
            return Err(usage(match option.as_str() {
                "--" => format!("{name} takes no arguments of pi"),
                option => format!("{name} does not take {option}"),
            }));
        }
        match self.operands.front() {
            Some(word) => Err(usage(format!("unexpected argument `{word}`"))),
            None => Ok(()),
        }
    }
}

pub(super) fn parse(words: Vec<String>) -> Result<Command, Failure> {
    let mut words = words.into_iter();
    let name = words.next().unwrap_or_else(|| "help".to_owned());
    let mut split = SplitWords::of(words)?;
    if split.has("--help") {
        return Ok(Command::Help);
    }
    let command = parse_command(&name, &mut split)?;
    split.check_taken(&name)?;
    Ok(command)
}

fn parse_command(name: &str, words: &mut SplitWords) -> Result<Command, Failure> {
    let send = |target: String, message| Command::Send { target, message };
    Ok(match name {
        "help" | "--help" | "-h" => Command::Help,
        "run" => Command::Run(RunArgs::parse(words)?),
        "submit" => Command::Submit(SubmitArgs {
            batch: RunArgs::parse(words)?,
        }),
        "worker" => Command::Worker(WorkerArgs::parse(words)?),
        "up" => Command::Up(UpArgs::parse(words)?),
        "ls" => Command::List {
            batch: words.operands.pop_front(),
        },
        "watch" => Command::Watch {
            batch: words.operands.pop_front(),
        },
        "show" => Command::Show {
            run: words.next("RUN")?,
        },
        "attach" => Command::Attach {
            run: words.next("RUN")?,
            is_json: words.has("--json"),
        },
        "steer" => {
            let target = words.next("RUN")?;
            let message = words.next("the message")?;
            send(target, ControlMessage::Steer { message })
        }
        "cancel" => send(words.next("RUN or BATCH")?, ControlMessage::Cancel),
        "pause" => send(words.next("RUN or BATCH")?, ControlMessage::Pause),
        "resume" => send(words.next("RUN or BATCH")?, ControlMessage::Resume),
        "retry" => Command::Retry {
            target: words.next("RUN or BATCH")?,
            only_failed: words.has("--failed"),
        },
        "delete" => Command::Delete {
            batch: words.next("BATCH")?,
        },
        "resubmit" => Command::Resubmit {
            directory: absolute(&words.next("DIR")?)?,
        },
        "results" => {
            let out = words.option("--out");
            let out = out.ok_or_else(|| usage("missing --out DIR"))?;
            Command::Results {
                batch: words.next("BATCH")?,
                out: absolute(&out)?,
            }
        }
        "check" => Command::Check {
            program: words.option("--pi"),
        },
        other => return Err(usage(format!("unknown command `{other}`"))),
    })
}

impl RunArgs {
    fn parse(words: &mut SplitWords) -> Result<Self, Failure> {
        let cost = words.option("--cost").map(|value| value.parse::<f64>());
        let cost = cost.transpose().ok();
        let cost = cost.filter(|cost| cost.is_none_or(|cost| cost.is_finite() && cost >= 0.0));
        let out = words.option("--out").map(|out| absolute(&out));
        Ok(Self {
            tasks: words.operands.pop_front(),
            prompt: words.option("--prompt"),
            repos: words.option("--repos"),
            workers: parse_count("--workers", words.option("--workers"))?,
            secrets: parse_secrets(&words.all("--secret"))?,
            cost: cost.ok_or_else(|| usage("--cost needs an amount in dollars"))?,
            model: words.option("--model"),
            batch: words.option("--batch"),
            out: out.transpose()?,
            program: words.option("--pi"),
            quiet: words.has("--quiet"),
            arguments: std::mem::take(&mut words.arguments),
        })
    }
}

impl WorkerArgs {
    fn parse(words: &mut SplitWords) -> Result<Self, Failure> {
        Ok(Self {
            slots: parse_count("--slots", words.option("--slots"))?,
            labels: parse_labels(&words.all("--label"))?,
            secrets: parse_secrets(&words.all("--secret"))?,
            drain: words.has("--drain"),
            program: words.option("--pi"),
            arguments: std::mem::take(&mut words.arguments),
        })
    }
}

impl UpArgs {
    fn parse(words: &SplitWords) -> Result<Self, Failure> {
        let directory = words.option("--dir").map(|path| absolute(&path));
        let server = words.option("--server");
        Ok(Self {
            listen: words.option("--listen"),
            directory: directory.transpose()?,
            server: server.map_or_else(|| "nats-server".into(), PathBuf::from),
        })
    }
}

/// Parses the number of agents at the same time.
fn parse_count(option: &str, value: Option<String>) -> Result<Option<usize>, Failure> {
    let Some(value) = value else {
        return Ok(None);
    };
    let count = value.parse::<usize>().ok();
    let count = count.filter(|count| (1..=MAX_SLOTS).contains(count));
    count
        .map(Some)
        .ok_or_else(|| usage(format!("{option} needs a number")))
}

fn parse_labels(values: &[String]) -> Result<Vec<String>, Failure> {
    let labels = values.iter().flat_map(|value| value.split(','));
    let labels = labels.map(|label| {
        let invalid = || usage(format!("invalid label `{label}`"));
        is_label(label)
            .then(|| label.to_owned())
            .ok_or_else(invalid)
    });
    labels.collect()
}

/// Parses `NAME=SOURCE`; without a source, the environment variable with the name of the secret.
fn parse_secrets(values: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let secrets = values.iter().map(|value| match value.split_once('=') {
        Some((name, source)) if !name.is_empty() => Ok((name.to_owned(), source.to_owned())),
        None if !value.is_empty() => {
            Ok((value.clone(), format!("${}", value.to_ascii_uppercase())))
        }
        _ => Err(usage(format!("invalid secret `{value}`"))),
    });
    secrets.collect()
}

pub(super) fn usage(cause: impl Into<String>) -> Failure {
    Failure::new(cause).hint("run pi fleet --help for usage")
}

impl RunArgs {
    /// Returns the name of the batch and its tasks.
    pub(super) fn load(
        &self,
        settings: &FleetSettings,
    ) -> Result<(String, Vec<FleetTask>), Failure> {
        let (stem, text) = match (&self.tasks, &self.prompt, &self.repos) {
            (Some(file), None, None) => {
                let stem = Path::new(file).file_stem().unwrap_or_default();
                (stem.to_string_lossy().into_owned(), read(file)?)
            }
            (None, Some(prompt), Some(repos)) => (
                "repos".to_owned(),
                tasks_of_repositories(prompt, &read(repos)?),
            ),
            _ => return Err(usage("run needs a task file, or --prompt and --repos")),
        };
        let file = self.tasks.as_ref().or(self.repos.as_ref());
        let file = file.map_or("", String::as_str);
        let mut tasks = parse_tasks(&text)
            .map_err(|error| Failure::new(format!("invalid task file {file}: {error}")))?;
        if tasks.is_empty() {
            return Err(Failure::new(format!("{file} has no tasks")));
        }
        for task in &mut tasks {
            if task.model.is_none() {
                task.model.clone_from(&self.model);
            }
            if task.workspace.is_none() && settings.workspace == DefaultWorkspace::Container {
                task.workspace = Some(WorkspaceKind::Container { image: None });
            }
        }
        let name = match &self.batch {
            Some(name) if !is_id(name) => {
                return Err(usage(format!("invalid name of a batch: `{name}`")));
            }
            Some(name) => name.clone(),
            // The same file is the same batch.
            None => {
                let is_allowed = |c: &char| c.is_ascii_alphanumeric() || *c == '-';
                let stem: String = stem.chars().filter(is_allowed).take(40).collect();
                let digest = pi_protocol::hex(&Sha256::digest(text.as_bytes()));
                let digest: String = digest.chars().take(8).collect();
                let stem = stem.trim_matches('-');
                let stem = if stem.is_empty() { "batch" } else { stem };
                format!("{stem}-{digest}")
            }
        };
        Ok((name, tasks))
    }
}

fn read(path: &str) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("cannot read {path}: {error}")))
}

/// Returns one task per line of a list of repositories.
fn tasks_of_repositories(prompt: &str, repositories: &str) -> String {
    let mut lines = String::new();
    let repositories = repositories.lines().map(str::trim);
    let repositories = repositories.filter(|line| !line.is_empty() && !line.starts_with('#'));
    for (number, repository) in (1..).zip(repositories) {
        let name = repository.trim_end_matches('/').trim_end_matches(".git");
        let name = name.rsplit(['/', ':']).next().unwrap_or_default();
        let is_allowed = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let name: String = name.chars().filter(is_allowed).take(60).collect();
        let id = format!("{number}-{name}");
        let id = id.trim_end_matches(['-', '_']);
        let task = serde_json::json!({"id": id, "prompt": prompt, "repo": repository});
        lines.push_str(&task.to_string());
        lines.push('\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn words(line: &str) -> Result<Command, Failure> {
        parse(line.split(' ').map(str::to_owned).collect())
    }

    #[test]
    fn commands_are_parsed() {
        let Ok(Command::Run(run)) = words("run tasks.jsonl --workers 8 --cost 2.5 -- --offline")
        else {
            panic!("not a run");
        };
        assert_eq!((run.workers, run.cost), (Some(8), Some(2.5)));
        assert_eq!(run.tasks.as_deref(), Some("tasks.jsonl"));
        assert_eq!(run.arguments, ["--offline"]);
        assert_eq!(
            words("steer b/a hurry").unwrap(),
            Command::Send {
                target: "b/a".to_owned(),
                message: ControlMessage::Steer {
                    message: "hurry".to_owned()
                },
            }
        );
        let Ok(Command::Worker(worker)) =
            words("worker --label linux,docker --label gpu --secret npm_token --secret a=!printf")
        else {
            panic!("not a worker");
        };
        assert_eq!(worker.labels, ["linux", "docker", "gpu"]);
        assert_eq!(worker.slots, None);
        let pair = |name: &str, source: &str| (name.to_owned(), source.to_owned());
        assert_eq!(
            worker.secrets,
            [pair("npm_token", "$NPM_TOKEN"), pair("a", "!printf")]
        );
        assert_eq!(words("ls").unwrap(), Command::List { batch: None });
        assert_eq!(words("help").unwrap(), Command::Help);
        assert_eq!(words("run --help").unwrap(), Command::Help);
    }

    #[test]
    fn mistakes_are_usage_errors() {
        for line in [
            "fly",
            "run t --workers 0",
            "run t --workers x",
            "run t --cost -1",
            "run t --cost nan",
            "run t --bogus",
            "run t --out",
            "run t u",
            "show",
            "steer b/a",
            "results b",
            "worker --slots 0",
            "worker --label a.b",
            "worker --secret =x",
            "attach",
            "resubmit",
            "up x",
            "run t --slots 4",
            "worker --workers 4",
            "ls b --failed",
            "submit t --quiet",
            "ls -- --offline",
        ] {
            let failure = words(line).expect_err(line);
            assert_eq!(failure.hints, ["run pi fleet --help for usage"], "{line}");
        }
    }

    #[test]
    fn the_same_file_is_the_same_batch() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("my tasks!.jsonl");
        std::fs::write(&path, "{\"id\":\"a\",\"prompt\":\"x\"}\n").unwrap();
        let run = RunArgs {
            tasks: Some(path.to_string_lossy().into_owned()),
            model: Some("mock/a".to_owned()),
            ..RunArgs::default()
        };
        let settings = FleetSettings::default();
        let load = || run.load(&settings).unwrap();
        let (name, tasks) = load();
        assert_eq!(load().0, name);
        assert!(name.starts_with("mytasks-"), "{name}");
        assert_eq!(tasks[0].model.as_deref(), Some("mock/a"));
        std::fs::write(&path, "{\"id\":\"b\",\"prompt\":\"x\"}\n").unwrap();
        assert!(load().0 != name);
        assert_eq!(load().1[0].workspace, None);
        let in_containers = FleetSettings {
            workspace: DefaultWorkspace::Container,
            ..FleetSettings::default()
        };
        let (_, tasks) = run.load(&in_containers).unwrap();
        let container = WorkspaceKind::Container { image: None };
        assert_eq!(tasks[0].workspace, Some(container));
    }

    #[test]
    fn a_list_of_repositories_becomes_tasks() {
        let text = tasks_of_repositories(
            "port it",
            "# all\nhttps://git.example/a b.git\n\nhost:x/y/\n",
        );
        let tasks = parse_tasks(&text).unwrap();
        let ids: Vec<_> = tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, ["1-ab", "2-y"]);
    }
}
