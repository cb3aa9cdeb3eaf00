//! `list`: pods, their GPUs and their models.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::tunnel::{ModelStatus, statuses};
use super::{NamedPod, Program};
use crate::output::{Failure, error_line, print_line, print_text};
use crate::pods_file::is_valid_name;
use crate::register::model_id;

impl Program {
    pub(crate) fn list(&self, pod: Option<&str>, as_json: bool) -> Result<(), Failure> {
        let config = self.pods.read()?;
        let pods: Vec<NamedPod> = match pod {
            Some(name) => vec![self.pod(Some(name))?],
            None => {
                let pods = config.pods.into_iter();
                pods.map(|(name, pod)| NamedPod { name, pod }).collect()
            }
        };
        let mut listed = Vec::new();
        for pod in &pods {
            let states = self.states(pod);
            if as_json {
                listed.push(row(pod, config.active.as_deref(), &states));
            } else {
                print_pod(pod, config.active.as_deref(), &states);
            }
        }
        if as_json {
            print_text(&format!("{:#}", Value::from(listed)));
        } else if pods.is_empty() {
            print_line("No pods. Run pi-pods setup NAME SSH to add one.");
        }
        Ok(())
    }

    /// A pod without models is not contacted.
    fn states(&self, pod: &NamedPod) -> BTreeMap<String, ModelStatus> {
        if pod.pod.models.is_empty() || !is_valid_name(&pod.name) {
            return BTreeMap::new();
        }
        let states = self
            .connection(pod)
            .and_then(|connection| Ok(statuses(&connection, pod)?));
        states.unwrap_or_else(|failure| {
            failure.report();
            let models = pod.pod.models.keys();
            models
                .map(|name| (name.clone(), ModelStatus::Unreachable))
                .collect()
        })
    }
}

fn row(pod: &NamedPod, active: Option<&str>, known: &BTreeMap<String, ModelStatus>) -> Value {
    let models = pod.pod.models.iter().map(|(name, model)| {
        json!({
            "name": name,
            "id": model_id(name, &pod.name),
            "model": model.model,
            "status": known.get(name),
            "gpu": model.gpu,
            "pid": model.pid,
            "port": model.port,
            "localPort": model.local_port,
            "baseUrl": model.local_port.map(|port| format!("http://127.0.0.1:{port}/v1")),
            "contextWindow": model.context_window,
        })
    });
    json!({
        "name": pod.name,
        "active": active == Some(pod.name.as_str()),
        "ssh": pod.pod.ssh,
        "gpus": pod.pod.gpus,
        "modelsPath": pod.pod.models_path,
        "vllmVersion": pod.pod.vllm_version,
        "models": models.collect::<Vec<Value>>(),
    })
}

fn print_pod(pod: &NamedPod, active: Option<&str>, known: &BTreeMap<String, ModelStatus>) {
    let marker = if active == Some(pod.name.as_str()) {
        '*'
    } else {
        ' '
    };
    let gpus = match pod.pod.gpus.as_slice() {
        [] => "no GPUs".to_owned(),
        [first, ..] => format!("{}x {}", pod.pod.gpus.len(), first.name),
    };
    print_line(&format!("{marker} {}  {gpus}  {}", pod.name, pod.pod.ssh));
    for (name, model) in &pod.pod.models {
        let status = known
            .get(name)
            .copied()
            .map_or("unknown", ModelStatus::name);
        let gpus: Vec<String> = model.gpu.iter().map(u32::to_string).collect();
        let url = model
            .local_port
            .map(|port| format!("  http://127.0.0.1:{port}/v1"));
        print_line(&format!(
            "    {}  {status}  GPU {}  {}{}",
            model_id(name, &pod.name),
            gpus.join(","),
            model.model,
            url.unwrap_or_default()
        ));
        if status == "stopped" {
            error_line(&format!(
                "hint: run pi-pods stop {name} --pod {} to forget it",
                pod.name
            ));
        }
    }
}
