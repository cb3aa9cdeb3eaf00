//! Tunnels: a loopback port of this machine for each running model.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener};

use secrecy::ExposeSecret as _;

use super::{NamedPod, Program, running};
use crate::gpu::local_port;
use crate::output::{Failure, print_line};
use crate::pods_file::is_valid_name;
use crate::register::{model_id, server_key};
use crate::script::{self, Report, Script, reported};
use crate::ssh::{Connection, SshError};

/// What a model does, as its pod reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ModelStatus {
    Running,
    Starting,
    Stopped,
    /// The pod cannot be reached.
    Unreachable,
}

impl ModelStatus {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Starting => "starting",
            Self::Stopped => "stopped",
            Self::Unreachable => "unreachable",
        }
    }
}

impl Program {
    /// Opens the tunnels of one model or all models of a pod again.
    pub(crate) fn tunnel(&self, pod: Option<&str>, name: Option<&str>) -> Result<(), Failure> {
        let pod = self.pod(pod)?;
        if let Some(name) = name {
            running(&pod, name)?;
        }
        let connection = self.connection(&pod)?;
        let states = statuses(&connection, &pod)?;
        let wanted = states
            .into_iter()
            .filter(|(model, _)| name.is_none_or(|name| name == model));
        let mut count = 0;
        for (model, status) in wanted {
            count += 1;
            if status == ModelStatus::Running {
                let port = self.connect(&connection, &pod.name, &model)?;
                let id = model_id(&model, &pod.name);
                print_line(&format!("{id}: http://127.0.0.1:{port}/v1"));
            } else {
                print_line(&format!("{model} is {}", status.name()));
            }
        }
        if count == 0 {
            print_line(&format!("No models on {}", pod.name));
        }
        Ok(())
    }

    /// Opens the tunnel of a model and registers it in pi. Returns the local port.
    pub(super) fn connect(
        &self,
        connection: &Connection,
        pod: &str,
        name: &str,
    ) -> Result<u16, Failure> {
        let known = self.pod(Some(pod))?;
        let model = running(&known, name)?;
        let (remote, former) = (model.port, model.local_port);
        let context = match model.context_window {
            Some(context) => Some(context),
            None => self.context_window(connection, pod, remote)?,
        };
        connection.open()?;
        let reopened = former.filter(|port| connection.forward(*port, remote).is_ok());
        let port = match reopened {
            Some(port) => port,
            None => self.open_tunnel(connection, pod, remote)?,
        };
        self.change_model(pod, name, |model| {
            model.local_port = Some(port);
            model.context_window = context;
        })?;
        self.register(pod)?;
        Ok(port)
    }

    /// Forwards a free port.
    fn open_tunnel(&self, connection: &Connection, pod: &str, remote: u16) -> Result<u16, Failure> {
        let config = self.pods.read()?;
        let models = config.pods.values().flat_map(|pod| pod.models.values());
        let is_free = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
        let port =
            local_port(models, is_free).ok_or_else(|| Failure::new("no local port is free"))?;
        connection.forward(port, remote).map_err(|error| {
            Failure::from(error).hint(format!("run pi-pods tunnel --pod {pod}"))
        })?;
        Ok(port)
    }

    /// Returns the context window that a server reports.
    fn context_window(
        &self,
        connection: &Connection,
        pod: &str,
        port: u16,
    ) -> Result<Option<u64>, Failure> {
        let key = server_key(&self.agent_dir, &self.env, pod)?;
        let script = Script::new(script::CONTEXT)
            .variable("PORT", &port.to_string())
            .variable("API_KEY", key.expose_secret());
        let output = connection.run(script)?;
        let context = reported(&output, "context").and_then(|tokens| tokens.parse().ok());
        Ok(context.filter(|tokens| *tokens > 0))
    }
}

/// Returns what the models of a pod do.
pub(super) fn statuses(
    connection: &Connection,
    pod: &NamedPod,
) -> Result<BTreeMap<String, ModelStatus>, SshError> {
    let models = pod
        .pod
        .models
        .iter()
        .filter(|(name, _)| is_valid_name(name));
    let words: Vec<String> = models
        .flat_map(|(name, model)| [name.clone(), model.pid.to_string(), model.port.to_string()])
        .collect();
    if words.is_empty() {
        return Ok(BTreeMap::new());
    }
    let script = Script::new(script::STATUS).array("MODELS", words.iter().map(String::as_str));
    let output = connection.run(script)?;
    let reports = output.lines().filter_map(Report::read);
    let states = reports
        .filter(|report| report.key == "status")
        .filter_map(|report| {
            let (name, state) = report.value.split_once(' ')?;
            let state = match state {
                "running" => ModelStatus::Running,
                "starting" => ModelStatus::Starting,
                _ => ModelStatus::Stopped,
            };
            pod.pod
                .models
                .contains_key(name)
                .then(|| (name.to_owned(), state))
        });
    Ok(states.collect())
}
