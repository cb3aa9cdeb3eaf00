//! The commands: what each reads, does on the pod, and records.

mod list;
mod setup;
mod start;
mod stop;
mod tunnel;

use std::path::PathBuf;
use std::process::ExitCode;

use pi_config::AgentDir;
use pi_env::Env;

use crate::CONFIG_DIR;
use crate::args::LogOptions;
use crate::model_plan::known_models;
use crate::output::{Failure, print_line};
use crate::pods_file::{Pod, PodsFile, PodsFileError, RunningModel, is_valid_name};
use crate::register::RegisterError;
use crate::script::{self, Script};
use crate::ssh::{Connection, SshError};

/// What commands use.
pub(crate) struct Program {
    env: Env,
    pods: PodsFile,
    agent_dir: AgentDir,
    /// Of connections.
    sockets: PathBuf,
}

/// A pod of `pods.json`.
struct NamedPod {
    name: String,
    pod: Pod,
}

impl Program {
    pub(crate) fn new(env: Env) -> Self {
        let directory = match env.var(CONFIG_DIR) {
            Some(directory) => PathBuf::from(directory),
            None => env.home_dir().unwrap_or_default().join(".pi"),
        };
        Self {
            pods: PodsFile::new(directory.join("pods.json")),
            agent_dir: AgentDir::from_env(&env),
            sockets: directory.join("pods"),
            env,
        }
    }

    /// Returns a pod by its name, or the active one.
    fn pod(&self, name: Option<&str>) -> Result<NamedPod, Failure> {
        let mut config = self.pods.read()?;
        let name = match (name, config.active) {
            (Some(name), _) => name.to_owned(),
            (None, Some(active)) => active,
            (None, None) => {
                let failure = Failure::new("there is no active pod");
                return Err(failure.hint("add --pod NAME, or run pi-pods active NAME"));
            }
        };
        let Some(pod) = config.pods.remove(&name).filter(|_| is_valid_name(&name)) else {
            let names: Vec<String> = config.pods.into_keys().collect();
            let failure = Failure::new(format!("there is no pod \"{name}\""));
            return Err(failure.hint(if names.is_empty() {
                "run pi-pods setup NAME SSH".to_owned()
            } else {
                format!("known pods: {}", names.join(", "))
            }));
        };
        Ok(NamedPod { name, pod })
    }

    fn connection(&self, pod: &NamedPod) -> Result<Connection, Failure> {
        Ok(Connection::new(&pod.name, &pod.pod.ssh, &self.sockets)?)
    }

    /// Writes the provider of a pod as `pods.json` has it now.
    fn register(&self, name: &str) -> Result<(), Failure> {
        let mut config = self.pods.read()?;
        let pod = config.pods.remove(name).unwrap_or_default();
        Ok(crate::register::register(&self.agent_dir, name, &pod)?)
    }

    /// Closes the connection to a pod without models, so that no process stays for it.
    fn close_if_idle(&self, connection: &Connection, pod: &str) -> Result<(), Failure> {
        let config = self.pods.read()?;
        let is_idle = config.pods.get(pod).is_none_or(|pod| pod.models.is_empty());
        if is_idle {
            connection.close();
        }
        Ok(())
    }

    /// Changes a model in `pods.json`, if it is still there.
    fn change_model(
        &self,
        pod: &str,
        name: &str,
        change: impl FnOnce(&mut RunningModel),
    ) -> Result<(), Failure> {
        Ok(self.pods.change(|config| {
            let models = config.pods.get_mut(pod).map(|pod| &mut pod.models);
            if let Some(model) = models.and_then(|models| models.get_mut(name)) {
                change(model);
            }
        })?)
    }

    /// Shows or sets the active pod.
    pub(crate) fn active(&self, name: Option<&str>) -> Result<(), Failure> {
        let pod = self.pod(name)?;
        if name.is_some() {
            self.pods
                .change(|config| config.active = Some(pod.name.clone()))?;
        }
        print_line(&pod.name);
        Ok(())
    }

    /// Forgets a pod.
    pub(crate) fn remove(&self, name: &str, force: bool) -> Result<(), Failure> {
        let pod = self.pod(Some(name))?;
        if !pod.pod.models.is_empty() && !force {
            let models: Vec<&str> = pod.pod.models.keys().map(String::as_str).collect();
            let failure = Failure::new(format!("{name} still runs {}", models.join(", ")));
            return Err(failure.hint(format!(
                "run pi-pods stop --all --pod {name}, or add --force"
            )));
        }
        if let Ok(connection) = self.connection(&pod) {
            connection.close();
        }
        self.pods.change(|config| {
            config.pods.remove(name);
            config.active.take_if(|active| active == name);
        })?;
        self.register(name)?;
        crate::register::forget_key(&self.agent_dir, name)?;
        print_line(&format!("Removed {name}. The machine was not changed."));
        Ok(())
    }

    /// Runs a command of the user, or a shell, on a pod.
    pub(crate) fn interactive(
        &self,
        pod: Option<&str>,
        command: Option<&str>,
    ) -> Result<ExitCode, Failure> {
        let connection = self.connection(&self.pod(pod)?)?;
        let status = connection.interactive(command)?;
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        Ok(ExitCode::from(code.unwrap_or(1)))
    }

    /// Shows the log of a model.
    pub(crate) fn logs(&self, options: &LogOptions) -> Result<(), Failure> {
        let pod = self.pod(options.pod.as_deref())?;
        let model = running(&pod, &options.name)?;
        let script = Script::new(script::FOLLOW)
            .variable("NAME", &options.name)
            .variable("PID", &model.pid.to_string())
            .variable("FOLLOW", if options.follow { "yes" } else { "no" })
            .variable("LINES", &options.lines.to_string());
        self.connection(&pod)?.follow(script, |line| {
            print_line(line);
            std::ops::ControlFlow::Continue(())
        })?;
        Ok(())
    }
}

/// Returns a model of a pod. Names of a file that others wrote may be anything.
fn running<'pod>(pod: &'pod NamedPod, name: &str) -> Result<&'pod RunningModel, Failure> {
    let model = pod.pod.models.get(name).filter(|_| is_valid_name(name));
    model.ok_or_else(|| {
        let failure = Failure::new(format!("there is no model \"{name}\" on {}", pod.name));
        let names: Vec<&str> = pod.pod.models.keys().map(String::as_str).collect();
        if names.is_empty() {
            failure
        } else {
            failure.hint(format!("its models: {}", names.join(", ")))
        }
    })
}

/// Lists the models that can be started by their alias.
pub(crate) fn print_known_models() {
    for model in known_models() {
        let layouts = model.layouts.iter();
        let layouts: Vec<String> = layouts
            .map(|layout| format!("{}x {}", layout.gpus, layout.types.join("/")))
            .collect();
        print_line(&format!(
            "{:<15} {:<42} {}",
            model.alias,
            model.model,
            layouts.join(", ")
        ));
        if let Some(note) = model.note {
            print_line(&format!("{:<15} {note}", ""));
        }
    }
    print_line("Other models: pi-pods start ORG/MODEL --vllm ARGUMENTS...");
}

impl From<PodsFileError> for Failure {
    fn from(error: PodsFileError) -> Self {
        Self::new(error)
    }
}

impl From<RegisterError> for Failure {
    fn from(error: RegisterError) -> Self {
        Self::new(error)
    }
}

impl From<SshError> for Failure {
    fn from(error: SshError) -> Self {
        let failure = Self::new(&error);
        match error {
            SshError::HostKeyChanged { .. } => failure.hint(
                "if the machine was reinstalled, compare the presented fingerprint with that of your provider and \
                 remove the line; else someone may intercept the connection",
            ),
            SshError::Missing(_) => failure.hint("install the OpenSSH client"),
            _ => failure,
        }
    }
}
