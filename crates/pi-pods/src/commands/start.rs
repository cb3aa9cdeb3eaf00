//! `start`: starts a model, follows its log until it is ready, and connects it with pi.

use std::ops::ControlFlow;

use secrecy::{ExposeSecret as _, SecretString};

use super::{NamedPod, Program};
use crate::HUB_TOKEN;
use crate::args::StartOptions;
use crate::gpu::{DEFAULT_MEMORY, FIRST_PORT, allocate, taken_ports};
use crate::logs::ModelState;
use crate::model_plan::{ModelPlan, plan};
use crate::output::{Failure, print_line};
use crate::pods_file::{RunningModel, is_valid_name};
use crate::register::{model_id, server_key};
use crate::script::{self, Script, reported};
use crate::ssh::{Connection, SshError};

impl Program {
    pub(crate) fn start(&self, options: &StartOptions) -> Result<(), Failure> {
        let pod = self.pod(options.pod.as_deref())?;
        let plan = plan(&options.plan, &pod.pod).map_err(|error| {
            Failure::new(error).hint("run pi-pods start to list the known models")
        })?;
        let name = options.name.as_deref().unwrap_or(&plan.default_name);
        if !is_valid_name(name) {
            let failure = Failure::usage(format!("\"{name}\" cannot name a model"));
            return Err(failure.hint(
                "choose another one with --name: letters, digits, dots, dashes and underscores",
            ));
        }
        if pod.pod.models.contains_key(name) {
            let failure = Failure::new(format!("{name} is already on {}", pod.name));
            return Err(failure.hint(format!("run pi-pods stop {name}, or choose another --name")));
        }
        let gpus = match plan.gpus {
            Some(count) => {
                let memory = plan.memory.unwrap_or(DEFAULT_MEMORY);
                allocate(&pod.pod, count, memory).map_err(|error| {
                    Failure::new(error).hint("stop a model, or use a smaller --memory for both")
                })?
            }
            None => Vec::new(),
        };
        let key = server_key(&self.agent_dir, &self.env, &pod.name)?;
        let connection = self.connection(&pod)?;
        let model = self.launch(&connection, &pod, name, &plan, &gpus, &key)?;
        print_line(&format!(
            "Starting {} as {name} on {}, GPU {}, port {}",
            model.model,
            pod.name,
            if gpus.is_empty() {
                "chosen by vLLM".to_owned()
            } else {
                gpu_list(&gpus)
            },
            model.port
        ));
        if let Some(note) = &plan.note {
            print_line(&format!("Note: {note}"));
        }
        print_line(
            "Ctrl+C stops following the log; the model goes on starting, and pi-pods tunnel connects it.",
        );
        let state = follow(&connection, name, model.pid)?;
        if let Some(reason) = state.failure() {
            self.discard(&connection, &pod.name, name, model.pid)?;
            let failure = Failure::new(format!("{name} cannot run: {reason}"));
            let failure = state.hint().into_iter().fold(failure, Failure::hint);
            let pod = &pod.name;
            return Err(failure.hint(format!(
                "the log: pi-pods ssh --pod {pod} tail -n 100 .vllm_logs/{name}.log"
            )));
        }
        self.connect(&connection, &pod.name, name)?;
        print_line(&format!("Ready: pi --model {}", model_id(name, &pod.name)));
        Ok(())
    }

    /// Starts the process on the pod and records it.
    fn launch(
        &self,
        connection: &Connection,
        pod: &NamedPod,
        name: &str,
        plan: &ModelPlan,
        gpus: &[u32],
        key: &SecretString,
    ) -> Result<RunningModel, Failure> {
        let ports: Vec<String> = taken_ports(&pod.pod).iter().map(u16::to_string).collect();
        let variables = plan.variables.iter();
        let variables: Vec<String> = variables
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let token = self.env.var(HUB_TOKEN).unwrap_or_default();
        let script = Script::new(script::START)
            .variable("NAME", name)
            .variable("SERVED", &model_id(name, &pod.name))
            .variable("MODEL", &plan.model)
            .variable("FIRST_PORT", &FIRST_PORT.to_string())
            .variable("GPUS", &gpu_list(gpus))
            .variable(
                "MODELS_PATH",
                pod.pod.models_path.as_deref().unwrap_or_default(),
            )
            .variable("HF_TOKEN", &token)
            .variable("API_KEY", key.expose_secret())
            .array("TAKEN_PORTS", ports.iter().map(String::as_str))
            .array("VARIABLES", variables.iter().map(String::as_str))
            .array("ARGUMENTS", plan.arguments.iter().map(String::as_str));
        let output = connection.run(script)?;
        let started = || {
            let pid = reported(&output, "pid")?
                .parse()
                .ok()
                .filter(|pid| *pid > 1)?;
            let port = reported(&output, "port")?.parse().ok()?;
            Some((pid, port))
        };
        let Some((pid, port)) = started() else {
            return Err(Failure::new(format!(
                "{} does not report the process of {name}",
                pod.name
            )));
        };
        let model = RunningModel {
            model: plan.model.clone(),
            port,
            gpu: gpus.to_vec(),
            pid,
            memory: plan.memory,
            context_window: plan.context,
            ..RunningModel::default()
        };
        let recorded = self.pods.change(|config| {
            let pod = config.pods.entry(pod.name.clone()).or_default();
            pod.models.insert(name.to_owned(), model.clone());
        });
        if let Err(error) = recorded {
            // Nothing would know of the process.
            self.discard(connection, &pod.name, name, pid).ok();
            return Err(error.into());
        }
        Ok(model)
    }

    /// Stops what is left of a model that cannot run, and forgets it.
    fn discard(
        &self,
        connection: &Connection,
        pod: &str,
        name: &str,
        pid: u32,
    ) -> Result<(), Failure> {
        connection.run(super::stop::stop_script(name, pid))?;
        self.pods.change(|config| {
            if let Some(pod) = config.pods.get_mut(pod) {
                pod.models.remove(name);
            }
        })?;
        self.close_if_idle(connection, pod)
    }
}

fn gpu_list(gpus: &[u32]) -> String {
    let gpus: Vec<String> = gpus.iter().map(u32::to_string).collect();
    gpus.join(",")
}

/// Shows the log until the model is ready or has failed.
fn follow(connection: &Connection, name: &str, pid: u32) -> Result<ModelState, Failure> {
    let script = Script::new(script::FOLLOW)
        .variable("NAME", name)
        .variable("PID", &pid.to_string())
        .variable("FOLLOW", "yes")
        .variable("LINES", "+1");
    let mut state = ModelState::default();
    let outcome = connection.follow(script, |line| {
        print_line(line);
        state.read(line);
        match state {
            ModelState::Ready => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    match outcome {
        // The log ends when the process does.
        Ok(()) if state == ModelState::Starting => Ok(ModelState::Stopped),
        Ok(()) => Ok(state),
        Err(error @ SshError::Cut { .. }) => {
            let failure = Failure::from(error);
            Err(failure.hint("the model goes on starting; run pi-pods tunnel to connect it"))
        }
        Err(error) => Err(error.into()),
    }
}
