//! The command line.

use crate::model_plan::PlanRequest;
use crate::output::Failure;

pub(crate) const HELP: &str = "\
Run models on rented GPU machines, and use them in pi

Usage:
  pi-pods setup NAME SSH [options]     Install vLLM on a machine; resumes where it was cut
      --models-path PATH               Directory of downloaded models on the pod
      --mount COMMAND                  Command that mounts this directory
      --vllm release|nightly|gpt-oss   Version to install (release)
  pi-pods active [NAME]                Show or set the pod that commands use
  pi-pods remove NAME [--force]        Forget a pod; the machine is not changed
  pi-pods shell [NAME]                 Open a shell on a pod
  pi-pods ssh [--pod NAME] COMMAND...  Run a command on a pod
  pi-pods start [MODEL] [options]      Start a model; without MODEL, list the known ones
      --name NAME                      Name of the running model
      --gpus COUNT                     Number of GPUs
      --memory PERCENT                 Share of the memory of each GPU (90%)
      --context TOKENS                 Context window, such as 32k
      --vllm ARGUMENTS...              Use exactly these arguments of vLLM
  pi-pods stop NAME|--all [--force]    Stop models
  pi-pods tunnel [NAME]                Open the tunnels of running models again
  pi-pods list [--json]                List pods and their models
  pi-pods logs NAME [-f] [-n LINES]    Show the log of a model

Options:
  --pod NAME     Use this pod instead of the active one
  -h, --help     Show this help
  --version      Show the version

Environment variables:
  HF_TOKEN       Token of the model hub, for models that need one
  PI_API_KEY     Key of the servers (generated)
  PI_CONFIG_DIR  Directory of pods.json (~/.pi)
";

/// Lines of a log that are shown.
const DEFAULT_LINES: u64 = 200;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Command {
    Help,
    Version,
    Setup(SetupOptions),
    Active(Option<String>),
    Remove {
        name: String,
        force: bool,
    },
    Shell(Option<String>),
    Ssh {
        pod: Option<String>,
        command: String,
    },
    KnownModels,
    Start(StartOptions),
    Stop(StopOptions),
    Tunnel {
        pod: Option<String>,
        name: Option<String>,
    },
    List {
        pod: Option<String>,
        json: bool,
    },
    Logs(LogOptions),
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct SetupOptions {
    pub(crate) name: String,
    pub(crate) ssh: String,
    pub(crate) models_path: Option<String>,
    pub(crate) mount: Option<String>,
    pub(crate) vllm: String,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct StartOptions {
    pub(crate) pod: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) plan: PlanRequest,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct StopOptions {
    pub(crate) pod: Option<String>,
    /// `None` stops all.
    pub(crate) name: Option<String>,
    pub(crate) force: bool,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct LogOptions {
    pub(crate) pod: Option<String>,
    pub(crate) name: String,
    pub(crate) follow: bool,
    pub(crate) lines: u64,
}

/// The words that are left, with the options taken out of them.
struct Words(Vec<String>);

impl Words {
    fn flag(&mut self, name: &str) -> bool {
        let position = self.0.iter().position(|word| word == name);
        position.is_some_and(|position| {
            self.0.remove(position);
            true
        })
    }

    fn option(&mut self, name: &str) -> Result<Option<String>, Failure> {
        let Some(position) = self.0.iter().position(|word| word == name) else {
            return Ok(None);
        };
        self.0.remove(position);
        if position >= self.0.len() {
            return Err(Failure::usage(format!("{name} needs a value")));
        }
        Ok(Some(self.0.remove(position)))
    }

    /// Takes everything after a word.
    fn rest_after(&mut self, name: &str) -> Vec<String> {
        let Some(position) = self.0.iter().position(|word| word == name) else {
            return Vec::new();
        };
        let rest = self.0.split_off(position);
        rest.into_iter().skip(1).collect()
    }

    /// Returns the words, which must be `required`, then at most `optional` more.
    fn positional(self, required: &[&str], optional: usize) -> Result<Vec<String>, Failure> {
        if let Some(option) = self.0.iter().find(|word| word.starts_with('-')) {
            return Err(Failure::usage(format!("unknown option {option}")));
        }
        if let Some(missing) = required.get(self.0.len()) {
            return Err(Failure::usage(format!("{missing} is missing")));
        }
        if let Some(more) = self.0.get(required.len() + optional) {
            return Err(Failure::usage(format!("unexpected argument \"{more}\"")));
        }
        Ok(self.0)
    }

    fn one(self, required: &str) -> Result<String, Failure> {
        Ok(self.positional(&[required], 0)?.remove(0))
    }

    fn at_most_one(self) -> Result<Option<String>, Failure> {
        Ok(self.positional(&[], 1)?.pop())
    }
}

/// Reads a command line without the program's name.
pub(crate) fn parse(words: Vec<String>) -> Result<Command, Failure> {
    let mut words = words.into_iter();
    let command = words.next().unwrap_or_default();
    let mut words = Words(words.collect());
    // What follows is for ssh or vLLM.
    let is_help = command != "ssh"
        && words
            .0
            .iter()
            .take_while(|word| *word != "--vllm")
            .any(|word| word == "--help" || word == "-h");
    if is_help || matches!(command.as_str(), "" | "help" | "-h" | "--help") {
        return Ok(Command::Help);
    }
    match command.as_str() {
        "-v" | "--version" => Ok(Command::Version),
        "setup" => setup(words),
        "active" => Ok(Command::Active(words.at_most_one()?)),
        "remove" => {
            let force = words.flag("--force");
            let name = words.one("NAME")?;
            Ok(Command::Remove { name, force })
        }
        "shell" => {
            let pod = words.option("--pod")?;
            Ok(Command::Shell(words.at_most_one()?.or(pod)))
        }
        "ssh" => {
            // Options after the first word of the command belong to the command.
            let pod = match words.0.first().map(String::as_str) {
                Some("--pod") => words.option("--pod")?,
                _ => None,
            };
            if words.0.is_empty() {
                return Err(Failure::usage("COMMAND is missing"));
            }
            let command = words.0.join(" ");
            Ok(Command::Ssh { pod, command })
        }
        "start" => start(words),
        "stop" => {
            let pod = words.option("--pod")?;
            let force = words.flag("--force");
            let is_all = words.flag("--all");
            let name = if is_all {
                words.positional(&[], 0)?;
                None
            } else {
                Some(words.one("NAME or --all")?)
            };
            Ok(Command::Stop(StopOptions { pod, name, force }))
        }
        "tunnel" => {
            let pod = words.option("--pod")?;
            let name = words.at_most_one()?;
            Ok(Command::Tunnel { pod, name })
        }
        "list" => {
            let pod = words.option("--pod")?;
            let json = words.flag("--json");
            words.positional(&[], 0)?;
            Ok(Command::List { pod, json })
        }
        "logs" => {
            let pod = words.option("--pod")?;
            let follow = words.flag("-f") | words.flag("--follow");
            let lines = match words.option("-n")? {
                Some(count) => number("-n", &count)?,
                None => DEFAULT_LINES,
            };
            let name = words.one("NAME")?;
            Ok(Command::Logs(LogOptions {
                pod,
                name,
                follow,
                lines,
            }))
        }
        other => Err(Failure::usage(format!("unknown command \"{other}\""))),
    }
}

fn setup(mut words: Words) -> Result<Command, Failure> {
    let models_path = words.option("--models-path")?;
    let mount = words.option("--mount")?;
    let vllm = words
        .option("--vllm")?
        .unwrap_or_else(|| "release".to_owned());
    if !["release", "nightly", "gpt-oss"].contains(&vllm.as_str()) {
        return Err(Failure::usage(format!(
            "--vllm must be release, nightly or gpt-oss, not \"{vllm}\""
        )));
    }
    if models_path
        .as_ref()
        .is_some_and(|path| !path.starts_with('/'))
    {
        return Err(Failure::usage(
            "--models-path must be an absolute path on the pod",
        ));
    }
    let mut words = words.positional(&["NAME", "SSH"], 0)?.into_iter();
    let mut next = || words.next().unwrap_or_default();
    Ok(Command::Setup(SetupOptions {
        name: next(),
        ssh: next(),
        models_path,
        mount,
        vllm,
    }))
}

fn start(mut words: Words) -> Result<Command, Failure> {
    let arguments = words.rest_after("--vllm");
    let pod = words.option("--pod")?;
    let name = words.option("--name")?;
    let gpus = words.option("--gpus")?;
    let gpus = gpus.map(|count| number("--gpus", &count)).transpose()?;
    let memory = words.option("--memory")?;
    let memory = memory.map(|share| parse_memory(&share)).transpose()?;
    let context = words.option("--context")?;
    let context = context.map(|tokens| parse_context(&tokens)).transpose()?;
    let is_own = !arguments.is_empty();
    if is_own && (gpus.is_some() || memory.is_some() || context.is_some()) {
        return Err(Failure::usage(
            "--vllm replaces --gpus, --memory and --context",
        ));
    }
    let Some(model) = words.at_most_one()? else {
        return Ok(Command::KnownModels);
    };
    let plan = PlanRequest {
        model,
        gpus: gpus.and_then(|count| usize::try_from(count).ok()),
        context,
        memory,
        arguments,
    };
    Ok(Command::Start(StartOptions { pod, name, plan }))
}

fn number(name: &str, text: &str) -> Result<u64, Failure> {
    let number = text
        .parse()
        .ok()
        .filter(|number| (1..=1_000_000).contains(number));
    number
        .ok_or_else(|| Failure::usage(format!("{name} must be a positive number, not \"{text}\"")))
}

/// Reads `50%`, `50` or `0.5`.
fn parse_memory(text: &str) -> Result<f64, Failure> {
    let number: Option<f64> = text.strip_suffix('%').unwrap_or(text).parse().ok();
    let share = number.map(|number| if number > 1.0 { number / 100.0 } else { number });
    let share = share.filter(|share| (0.01..=1.0).contains(share));
    share.ok_or_else(|| {
        Failure::usage(format!(
            "--memory must be a share such as 50%, not \"{text}\""
        ))
    })
}

/// Reads `32k` or `32768`.
fn parse_context(text: &str) -> Result<u64, Failure> {
    let lower = text.to_ascii_lowercase();
    let tokens: Option<u64> = match lower.strip_suffix('k') {
        Some(thousands) => thousands
            .parse::<u64>()
            .ok()
            .and_then(|it| it.checked_mul(1024)),
        None => lower.parse().ok(),
    };
    let tokens = tokens.filter(|tokens| (256..=100_000_000).contains(tokens));
    tokens.ok_or_else(|| {
        Failure::usage(format!(
            "--context must be a number of tokens such as 32k, not \"{text}\""
        ))
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn read(line: &str) -> Result<Command, Failure> {
        parse(line.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn commands_are_read() {
        let start = read("start qwen --pod dc1 --gpus 2 --memory 50% --context 32k").unwrap();
        let expected = StartOptions {
            pod: Some("dc1".to_owned()),
            name: None,
            plan: PlanRequest {
                model: "qwen".to_owned(),
                gpus: Some(2),
                context: Some(32_768),
                memory: Some(0.5),
                arguments: Vec::new(),
            },
        };
        assert_eq!(start, Command::Start(expected));
        let Command::Start(own) = read("start org/m --name a --vllm -h --pod x").unwrap() else {
            panic!("not a start");
        };
        assert_eq!(
            (own.pod, own.plan.arguments),
            (None, ["-h", "--pod", "x"].map(str::to_owned).to_vec())
        );
        let ssh = Command::Ssh {
            pod: Some("dc1".to_owned()),
            command: "ls --pod -h".to_owned(),
        };
        assert_eq!(read("ssh --pod dc1 ls --pod -h").unwrap(), ssh);
        assert_eq!(read("start").unwrap(), Command::KnownModels);
        assert_eq!(read("").unwrap(), Command::Help);
        assert_eq!(read("list --help").unwrap(), Command::Help);
    }

    #[test]
    fn mistakes_are_reported() {
        for (line, expected) in [
            ("nope", "unknown command \"nope\""),
            ("setup dc1", "SSH is missing"),
            (
                "setup dc1 root@h --vllm old",
                "--vllm must be release, nightly or gpt-oss, not \"old\"",
            ),
            (
                "setup dc1 root@h --models-path models",
                "--models-path must be an absolute path on the pod",
            ),
            ("stop", "NAME or --all is missing"),
            ("list --jsn", "unknown option --jsn"),
            ("logs a b", "unexpected argument \"b\""),
            (
                "start qwen --gpus 0",
                "--gpus must be a positive number, not \"0\"",
            ),
            (
                "start qwen --memory 500%",
                "--memory must be a share such as 50%, not \"500%\"",
            ),
            (
                "start qwen --context 4x",
                "--context must be a number of tokens such as 32k, not \"4x\"",
            ),
            (
                "start qwen --gpus 2 --vllm x",
                "--vllm replaces --gpus, --memory and --context",
            ),
            ("start qwen --name", "--name needs a value"),
        ] {
            let failure = read(line).unwrap_err();
            assert!(failure.is_usage);
            assert!(
                format!("{failure:?}").contains(&format!("{expected:?}")),
                "{line}: {failure:?}"
            );
        }
    }
}
