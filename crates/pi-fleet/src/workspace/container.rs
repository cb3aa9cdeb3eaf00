//! Workspaces in containers of docker or podman: the worktree and pi are mounted at their paths on this machine. The
//! container has neither the credentials of the engine nor other runs.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::process::Command;

use crate::settings::ContainerSettings;
use crate::task::{FleetTask, WorkspaceKind};

const PROGRAM: &str = "docker";

/// Where pi and its configuration are in a container.
const PI: &str = "/usr/local/bin/pi";
const AGENT_DIRECTORY: &str = "/pi-agent";

/// The files of the agent directory that pi needs. The others are of no use to a run, such as those of the fleet's server.
const AGENT_FILES: [&str; 3] = ["auth.json", "models.json", "settings.json"];

/// How long a command that lists or removes containers may take.
const CONTROL_TIMEOUT: Duration = Duration::from_mins(1);

/// Variables of the worker that pi needs.
const KEY_ENDING: &str = "_API_KEY";

/// How a worker starts containers.
#[derive(Clone, Default)]
pub struct ContainerOptions {
    settings: ContainerSettings,
    agent_directory: PathBuf,
}

impl ContainerOptions {
    pub(crate) fn new(settings: ContainerSettings, agent_directory: PathBuf) -> Self {
        Self {
            settings,
            agent_directory,
        }
    }
}

/// The container of a run.
pub(crate) struct RunContainer {
    program: String,
    /// The start of the name of its containers, which end with the epoch.
    name: String,
    epoch: u64,
    image: String,
    /// Arguments of `run` that are the same for all commands of the run.
    arguments: Vec<String>,
}

/// What a container needs to know of its run.
pub(crate) struct ContainerPlan<'run> {
    /// Identifies the run on this machine.
    pub(crate) name: &'run str,
    pub(crate) pi: &'run Path,
    pub(crate) workspace: &'run Path,
    pub(crate) sessions: &'run Path,
    /// The mirror of the repository.
    pub(crate) mirror: Option<PathBuf>,
    /// Variables of the run.
    pub(crate) environment: &'run [(String, String)],
}

impl RunContainer {
    /// Returns the container of a task; `None` if it runs on this machine, or why it cannot run.
    pub(crate) fn of(
        options: &ContainerOptions,
        task: &FleetTask,
        plan: &ContainerPlan<'_>,
    ) -> Result<Option<Self>, String> {
        let Some(WorkspaceKind::Container { image }) = &task.workspace else {
            return Ok(None);
        };
        let settings = &options.settings;
        let image = image.clone().or_else(|| settings.image.clone());
        let image = image.ok_or(
            "the task has no container image, and neither have the settings of this worker",
        )?;
        let program = settings
            .program
            .clone()
            .unwrap_or_else(|| PROGRAM.to_owned());
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut arguments: Vec<String> = vec!["--workdir".to_owned(), text(plan.workspace)];
        let mut mount = |from: &Path, to: &str, mode: &str| {
            arguments.extend(["--volume".to_owned(), format!("{}:{to}{mode}", text(from))]);
        };
        // At the same paths: sessions and worktrees refer to them.
        mount(plan.workspace, &text(plan.workspace), "");
        mount(plan.sessions, &text(plan.sessions), "");
        if let Some(mirror) = &plan.mirror {
            mount(mirror, &text(mirror), ":ro");
        }
        mount(plan.pi, PI, ":ro");
        for name in AGENT_FILES {
            let file = options.agent_directory.join(name);
            if file.is_file() {
                mount(&file, &format!("{AGENT_DIRECTORY}/{name}"), ":ro");
            }
        }
        if Path::new(&program)
            .file_name()
            .is_some_and(|name| name == "podman")
        {
            arguments.push("--userns=keep-id".to_owned());
        }
        #[cfg(unix)]
        {
            let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
            arguments.push(format!("--user={}:{}", user.as_raw(), group.as_raw()));
        }
        let mut variable = |assignment: String| arguments.extend(["--env".to_owned(), assignment]);
        variable(format!("PI_CODING_AGENT_DIR={AGENT_DIRECTORY}"));
        variable("HOME=/tmp".to_owned());
        // By name: values would be visible in the list of processes.
        let of_run = plan
            .environment
            .iter()
            .filter(|(_, value)| !value.is_empty());
        let of_run = of_run.map(|(name, _)| name.clone());
        let hidden = |name: &String| plan.environment.iter().any(|(run, _)| run == name);
        let keys = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        let keys = keys.filter(|name| name.ends_with(KEY_ENDING) && !hidden(name));
        of_run.chain(keys).for_each(&mut variable);
        arguments.extend(settings.arguments.iter().cloned());
        let digest = pi_protocol::hex(&Sha256::digest(plan.name.as_bytes()));
        let digest: String = digest.chars().take(16).collect();
        Ok(Some(Self {
            program,
            name: format!("pi-fleet-{digest}-"),
            epoch: 0,
            image,
            arguments,
        }))
    }

    /// Names the containers that follow after the epoch of their worker.
    pub(crate) fn set_epoch(&mut self, epoch: u64) {
        self.epoch = epoch;
    }

    /// Returns the program and the arguments that start a program of the container with its standard streams.
    pub(crate) fn start(&self, program: &str) -> (PathBuf, Vec<String>) {
        let name = format!("{}{}", self.name, self.epoch);
        let start = ["run", "--rm", "--interactive", "--init", "--name", &name];
        let mut arguments: Vec<String> = start.map(str::to_owned).into();
        arguments.extend(self.arguments.iter().cloned());
        arguments.extend([self.image.clone(), program.to_owned()]);
        (PathBuf::from(&self.program), arguments)
    }

    /// Returns the path of pi in the container.
    pub(crate) fn pi() -> &'static str {
        PI
    }

    /// Ends what killed workers have left in containers, up to an epoch.
    pub(crate) async fn remove(&self, epoch: u64) {
        let filter = format!("name={}", self.name);
        let list = ["ps", "--all", "--format", "{{.Names}}", "--filter", &filter];
        let listed = self.control(&list.map(str::to_owned)).await;
        let found = listed.lines().filter(|name| {
            let found = name.strip_prefix(&self.name);
            let found = found.and_then(|found| found.parse::<u64>().ok());
            found.is_some_and(|found| found <= epoch)
        });
        let mut arguments = vec!["rm".to_owned(), "--force".to_owned()];
        let options = arguments.len();
        arguments.extend(found.map(str::to_owned));
        if arguments.len() > options {
            self.control(&arguments).await;
        }
    }

    /// Returns the output of a command that manages containers. What it cannot do is noticed when a container starts.
    async fn control(&self, arguments: &[String]) -> String {
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let output = tokio::time::timeout(CONTROL_TIMEOUT, command.output()).await;
        let output = output.ok().and_then(Result::ok);
        let output = output.map(|output| output.stdout).unwrap_or_default();
        String::from_utf8_lossy(&output).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn task(workspace: &str) -> FleetTask {
        let line = format!("{{\"id\":\"a\",\"prompt\":\"x\",\"workspace\":{workspace}}}");
        crate::task::parse_tasks(&line).unwrap().remove(0)
    }

    #[test]
    fn a_container_has_the_files_and_variables_of_its_run_only() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("models.json"), "{}").unwrap();
        let settings = ContainerSettings {
            image: Some("tools:1".to_owned()),
            arguments: vec!["--network=host".to_owned()],
            ..ContainerSettings::default()
        };
        let options = ContainerOptions::new(settings, directory.path().to_owned());
        let environment = [("NPM_TOKEN", "value"), ("PI_FLEET_CREDENTIALS", "")];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let plan = ContainerPlan {
            name: "m",
            pi: Path::new("/opt/pi"),
            workspace: Path::new("/w"),
            sessions: Path::new("/s"),
            mirror: Some("/m.git".into()),
            environment: &environment,
        };
        let container = RunContainer::of(&options, &task(r#"{"kind":"container"}"#), &plan);
        let (program, arguments) = container.unwrap().unwrap().start("sh");
        assert_eq!(program, Path::new("docker"));
        let values = |option: &str| {
            let pairs = arguments.windows(2).filter(|pair| pair[0] == option);
            pairs.map(|pair| pair[1].clone()).collect::<Vec<_>>()
        };
        let models = directory.path().join("models.json");
        assert_eq!(
            values("--volume"),
            [
                "/w:/w",
                "/s:/s",
                "/m.git:/m.git:ro",
                "/opt/pi:/usr/local/bin/pi:ro",
                &format!("{}:/pi-agent/models.json:ro", models.display()),
            ]
        );
        let variables = values("--env");
        assert!(variables.contains(&"NPM_TOKEN".to_owned()), "{variables:?}");
        assert!(!arguments.join(" ").contains("PI_FLEET_CREDENTIALS"));
        assert!(!arguments.join(" ").contains("value"));
        assert_eq!(
            arguments[arguments.len() - 3..],
            ["--network=host", "tools:1", "sh"]
        );
    }

    #[test]
    fn the_image_of_the_task_comes_first() {
        let plan = ContainerPlan {
            name: "m",
            pi: Path::new("/pi"),
            workspace: Path::new("/w"),
            sessions: Path::new("/s"),
            mirror: None,
            environment: &[],
        };
        let options = ContainerOptions::default();
        let of = |workspace: &str| RunContainer::of(&options, &task(workspace), &plan);
        let container = of(r#"{"kind":"container","image":"rust:1"}"#)
            .unwrap()
            .unwrap();
        assert_eq!(container.image, "rust:1");
        assert!(of(r#"{"kind":"container"}"#).is_err());
        assert!(of(r#"{"kind":"worktree"}"#).unwrap().is_none());
    }
}
