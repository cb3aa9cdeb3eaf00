//! Starting, using and stopping models.

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::test_pod::{TestPod, is_listening, wait_until};

#[test]
fn a_started_model_answers_in_pi() {
    let Some(pod) = TestPod::set_up() else { return };
    let output = pod.run(&["start", "qwen"]).succeeded();
    assert!(output.ends_with("Ready: pi --model qwen@dc1\n"), "{output}");
    assert!(!output.contains('\u{1b}'), "{output}");
    assert!(output.lines().all(|line| line.len() < 5000));
    let started: Value = serde_json::from_str(&pod.home.read("fake/vllm.json")).unwrap();
    let arguments: Vec<&str> = started["arguments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it.as_str().unwrap())
        .collect();
    assert_eq!(
        arguments[..4],
        [
            "serve",
            "Qwen/Qwen3-Coder-30B-A3B-Instruct",
            "--host",
            "127.0.0.1"
        ]
    );
    assert_eq!(
        arguments[6..9],
        [
            "--served-model-name",
            "qwen@dc1",
            "--enable-auto-tool-choice"
        ]
    );
    let key = started["variables"]["VLLM_API_KEY"].as_str().unwrap();
    assert!(key.len() >= 32 && !arguments.contains(&key));
    assert_eq!(started["variables"]["CUDA_VISIBLE_DEVICES"], "0");
    assert_eq!(started["variables"]["HF_TOKEN"], "hub-token");
    assert!(!pod.home.read("user/.pi/agent/models.json").contains(key));
    let model = pod.pods()["pods"]["dc1"]["models"]["qwen"].clone();
    assert_eq!(model["contextWindow"], 40960);
    let local = u16::try_from(model["localPort"].as_u64().unwrap()).unwrap();
    assert!(is_listening(local));

    if let Some(answer) = pod.run_pi(&["--model", "qwen@dc1", "-p", "hi"]) {
        assert_eq!(answer.succeeded(), "Hello from the pod.\n");
    }

    let listed: Value = serde_json::from_str(&pod.run(&["list", "--json"]).succeeded()).unwrap();
    let listed = &listed[0]["models"][0];
    assert_eq!(
        (&listed["id"], &listed["status"]),
        (&"qwen@dc1".into(), &"running".into())
    );
    let log = pod.run(&["logs", "qwen", "-n", "1"]).succeeded();
    assert_eq!(log, "INFO:     Application startup complete.\n");

    // The connection is lost, and opened again on the same port.
    pod.relay.cut();
    wait_until(|| !is_listening(local));
    let output = pod.run(&["tunnel"]).succeeded();
    assert_eq!(output, format!("qwen@dc1: http://127.0.0.1:{local}/v1\n"));
    assert!(is_listening(local));

    assert_eq!(
        pod.run(&["stop", "qwen"]).succeeded(),
        "Stopped qwen on dc1\n"
    );
    let remote = u16::try_from(model["port"].as_u64().unwrap()).unwrap();
    wait_until(|| !is_listening(local) && !is_listening(remote));
    assert!(!pod.home.read("user/.pi/agent/models.json").contains("dc1"));
    assert_eq!(pod.pods()["pods"]["dc1"]["models"], serde_json::json!({}));
}

#[test]
fn models_share_a_pod_until_it_is_full() {
    let Some(pod) = TestPod::set_up() else { return };
    pod.home.write(
        "user/.pi/agent/models.json",
        "{\n  // mine\n  \"providers\": {},\n}\n",
    );
    pod.run(&["start", "qwen", "--memory", "50%"]).succeeded();
    pod.run(&["start", "qwen", "--name", "second", "--context", "32k"])
        .succeeded();
    let models = pod.pods()["pods"]["dc1"]["models"].clone();
    assert_eq!(
        (&models["qwen"]["gpu"][0], &models["second"]["gpu"][0]),
        (&0.into(), &1.into())
    );
    assert!(models["qwen"]["port"] != models["second"]["port"]);
    let errors = pod.run(&["start", "org/more"]).failed();
    assert!(
        errors.contains("GPU 0 has 50 % of its memory left, 90 % are needed; it is used by qwen"),
        "{errors}"
    );
    let errors = pod.run(&["start", "qwen"]).failed();
    assert!(errors.contains("qwen is already on dc1"), "{errors}");
    let file = pod.home.read("user/.pi/agent/models.json");
    assert!(
        file.contains("// mine") && file.contains("second@dc1"),
        "{file}"
    );
    pod.run(&["stop", "qwen"]).succeeded();
    let file = pod.home.read("user/.pi/agent/models.json");
    assert!(
        !file.contains("qwen@dc1") && file.contains("second@dc1"),
        "{file}"
    );
    pod.run(&["stop", "--all"]).succeeded();
    pod.run(&["remove", "dc1"]).succeeded();
    assert!(!pod.home.read("user/.pi/agent/auth.json").contains("dc1"));
    assert_eq!(
        pod.home.read("user/.pi/agent/models.json"),
        "{\n  // mine\n  \"providers\": {},\n}\n"
    );
}

#[test]
fn commands_run_on_the_pod() {
    let Some(pod) = TestPod::set_up() else { return };
    let output = pod
        .run(&["ssh", "--pod", "dc1", "echo", "$HOME"])
        .succeeded();
    assert_eq!(output.trim(), pod.path("pod").display().to_string());
    assert_eq!(pod.run(&["ssh", "exit 7"]).code, Some(7));
    assert_eq!(pod.run(&["active"]).succeeded(), "dc1\n");
}
