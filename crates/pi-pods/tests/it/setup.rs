//! Setting pods up.

use std::fs;
use std::io::Read as _;
use std::process::Command;

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::test_pod::{TestPod, wait_until};

#[test]
fn a_pod_is_set_up_once() {
    let Some(pod) = TestPod::start() else { return };
    let ssh = pod.ssh();
    let output = pod.run(&[
        "setup",
        "dc1",
        &ssh,
        "--models-path",
        &pod.path("models").display().to_string(),
    ]);
    let output = output.succeeded();
    assert!(
        output.contains("GPU 1: NVIDIA H100 80GB HBM3 (81559 MiB)"),
        "{output}"
    );
    let gpu = |id| json!({"id": id, "name": "NVIDIA H100 80GB HBM3", "memory": "81559 MiB"});
    assert_eq!(
        pod.pods(),
        json!({
            "pods": {"dc1": {
                "ssh": ssh, "gpus": [gpu(0), gpu(1)], "models": {},
                "modelsPath": pod.path("models"), "vllmVersion": "release",
            }},
            "active": "dc1",
        })
    );
    let first = pod.home.read("fake/uv.log");
    assert_eq!(first.lines().count(), 3, "{first}");
    let again = pod.run(&["setup", "dc1", &ssh]).succeeded();
    assert!(again.contains("vllm: done before"), "{again}");
    assert_eq!(pod.home.read("fake/uv.log"), first);
    // Another version is installed.
    pod.run(&["setup", "dc1", &ssh, "--vllm", "nightly"])
        .succeeded();
    assert!(
        pod.home
            .read("fake/uv.log")
            .contains("wheels.vllm.ai/nightly")
    );
}

#[test]
fn a_setup_that_was_cut_resumes() {
    let Some(pod) = TestPod::start() else { return };
    let ssh = pod.ssh();
    pod.home.write("fake/block", "");
    let mut cut = pod.spawn(&["setup", "dc1", &ssh]);
    let blocked = pod.path("fake/blocked");
    wait_until(|| fs::read_to_string(&blocked).is_ok_and(|pid| pid.ends_with('\n')));
    pod.relay.cut();
    assert_eq!(cut.wait().unwrap().code(), Some(1));
    let mut errors = String::new();
    cut.stderr
        .take()
        .unwrap()
        .read_to_string(&mut errors)
        .unwrap();
    assert!(errors.contains("the connection to dc1 was cut"), "{errors}");
    assert!(
        errors.contains("resumes after the last finished step"),
        "{errors}"
    );
    assert!(!pod.path("user/.pi/pods.json").exists());
    fs::remove_file(pod.path("fake/block")).unwrap();
    // The step that the connection left running.
    let pid = fs::read_to_string(&blocked).unwrap();
    assert!(
        Command::new("kill")
            .arg(pid.trim())
            .status()
            .unwrap()
            .success()
    );
    let output = pod.run(&["setup", "dc1", &ssh]).succeeded();
    assert!(output.contains("== python: done before"), "{output}");
    assert!(output.contains("== vllm\n"), "{output}");
    let calls = pod.home.read("fake/uv.log");
    let count = |text: &str| calls.lines().filter(|line| line.contains(text)).count();
    assert_eq!(
        (count("venv"), count("vllm>="), count("hf_transfer")),
        (1, 2, 1)
    );
}

#[test]
fn hardware_is_checked_before_anything_is_installed() {
    let Some(pod) = TestPod::start() else { return };
    let ssh = pod.ssh();
    let setup = || pod.run(&["setup", "dc1", &ssh]).failed();
    pod.home.write("fake/available", "1000000\n");
    let errors = setup();
    assert!(
        errors.contains("has 0 GB available, 20 GB are needed"),
        "{errors}"
    );
    pod.home.write("fake/driver", "470.82\n");
    let errors = setup();
    assert!(
        errors.contains("NVIDIA driver 470.82 is too old, 525 or newer"),
        "{errors}"
    );
    pod.home.write("fake/driver", "NVIDIA-SMI has failed\n");
    let errors = setup();
    assert!(
        errors.contains("shows no driver version: NVIDIA-SMI has failed"),
        "{errors}"
    );
    fs::remove_file(pod.path("fake/bin/nvidia-smi")).unwrap();
    let errors = setup();
    assert!(errors.contains("nvidia-smi is missing"), "{errors}");
    assert!(!pod.path("fake/uv.log").exists());
    assert!(!pod.path("user/.pi/pods.json").exists());
}

#[test]
fn a_changed_host_key_is_refused_with_both_fingerprints() {
    let Some(mut pod) = TestPod::start() else {
        return;
    };
    pod.restart();
    let ssh = pod.ssh();
    let fingerprint = |pod: &TestPod| {
        let mut command = Command::new("ssh-keygen");
        command.arg("-lf").arg(pod.path("sshd/host.pub"));
        let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
        output.split(' ').nth(1).unwrap().to_owned()
    };
    pod.run(&["setup", "dc1", &ssh]).succeeded();
    let known = fingerprint(&pod);
    pod.change_host_key();
    let presented = fingerprint(&pod);
    assert!(known != presented);
    let errors = pod.run(&["setup", "dc1", &ssh]).failed();
    assert!(
        errors.contains(&format!("known {known}, presented {presented}")),
        "{errors}"
    );
    assert!(errors.contains("sshd/known:1"), "{errors}");
}
