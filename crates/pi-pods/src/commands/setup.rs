//! `setup`: prepares a machine and records it.

use std::ops::ControlFlow;

use super::{NamedPod, Program};
use crate::args::SetupOptions;
use crate::gpu::parse_gpus;
use crate::output::{Failure, print_line};
use crate::pods_file::{Pod, is_valid_name};
use crate::script::{self, Report, Script};
use crate::ssh::{Connection, SshCommand, SshError};

/// Of the NVIDIA driver: the first that runs CUDA 12.
const MIN_DRIVER: u32 = 525;

/// Space for vLLM and its libraries.
const MIN_HOME_GB: u32 = 20;

/// Space for a small model.
const MIN_MODELS_GB: u32 = 20;

impl Program {
    pub(crate) fn setup(&self, options: &SetupOptions) -> Result<(), Failure> {
        let name = options.name.as_str();
        if !is_valid_name(name) {
            let failure = Failure::usage(format!("\"{name}\" cannot name a pod"));
            return Err(failure.hint("use letters, digits, dots, dashes and underscores"));
        }
        let ssh = SshCommand::parse(&options.ssh)?.to_string();
        let known = self.pods.read()?.pods.remove(name);
        if let Some(known) = known.filter(|known| known.ssh != ssh) {
            if !known.models.is_empty() {
                let failure =
                    Failure::new(format!("{name} is another machine and still runs models"));
                return Err(failure.hint(format!("run pi-pods stop --all --pod {name}")));
            }
            let former = NamedPod {
                name: name.to_owned(),
                pod: known,
            };
            if let Ok(connection) = self.connection(&former) {
                connection.close();
            }
        }
        // Like the TypeScript program: a mount command ends with its directory.
        let mounted = options
            .mount
            .as_deref()
            .and_then(|mount| mount.split_whitespace().next_back());
        let mounted = mounted.filter(|path| path.starts_with('/'));
        let models_path = options
            .models_path
            .as_deref()
            .or(mounted)
            .unwrap_or_default();
        if options.mount.is_some() && models_path.is_empty() {
            return Err(Failure::usage("--mount needs --models-path"));
        }
        let connection = Connection::new(name, &ssh, &self.sockets)?;
        let script = Script::new(script::SETUP)
            .variable("MODELS_PATH", models_path)
            .variable("MOUNT", options.mount.as_deref().unwrap_or_default())
            .variable("VLLM", &options.vllm)
            .variable("MIN_DRIVER", &MIN_DRIVER.to_string())
            .variable("MIN_HOME_GB", &MIN_HOME_GB.to_string())
            .variable("MIN_MODELS_GB", &MIN_MODELS_GB.to_string());
        let prepared = prepare(&connection, script, name)?;
        self.pods.change(|config| {
            let pod = config
                .pods
                .entry(name.to_owned())
                .or_insert_with(Pod::default);
            pod.ssh = ssh;
            pod.gpus = parse_gpus(prepared.gpus.iter().map(String::as_str));
            pod.models_path = Some(prepared.models_path);
            pod.vllm_version = Some(options.vllm.clone());
            config.active.get_or_insert_with(|| name.to_owned());
        })?;
        self.close_if_idle(&connection, name)?;
        let pod = self.pod(Some(name))?.pod;
        for gpu in &pod.gpus {
            print_line(&format!("GPU {}: {} ({})", gpu.id, gpu.name, gpu.memory));
        }
        print_line(&format!(
            "{name} is ready. Start a model: pi-pods start qwen --pod {name}"
        ));
        Ok(())
    }
}

#[derive(Default)]
struct Prepared {
    gpus: Vec<String>,
    models_path: String,
    is_finished: bool,
}

/// Runs the script and shows its progress.
fn prepare(connection: &Connection, script: Script, name: &str) -> Result<Prepared, Failure> {
    let mut prepared = Prepared::default();
    let outcome = connection.follow(script, |line| {
        match Report::read(line) {
            Some(Report { key: "step", value }) => print_line(&format!("== {value}")),
            Some(Report { key: "gpu", value }) => prepared.gpus.push(value.to_owned()),
            Some(Report {
                key: "modelspath",
                value,
            }) => value.clone_into(&mut prepared.models_path),
            Some(Report {
                key: "finished", ..
            }) => prepared.is_finished = true,
            Some(Report { key: "error", .. }) => {}
            Some(_) | None => print_line(line),
        }
        ControlFlow::Continue(())
    });
    match outcome {
        Ok(()) if prepared.is_finished => Ok(prepared),
        Ok(()) => Err(Failure::new(format!("setup of {name} has ended early"))),
        Err(error @ SshError::Cut { .. }) => {
            let failure = Failure::from(error);
            Err(failure.hint("run the same command again: it resumes after the last finished step"))
        }
        Err(error) => Err(error.into()),
    }
}
