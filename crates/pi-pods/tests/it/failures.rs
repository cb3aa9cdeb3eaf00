//! What goes wrong is explained and leaves nothing behind.

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::test_pod::TestPod;

#[test]
fn a_model_that_cannot_run_is_removed() {
    let Some(pod) = TestPod::set_up() else { return };
    for (model, expected, hint) in [
        (
            "org/memory",
            "memory cannot run: the GPUs have too little memory",
            "--context 16k",
        ),
        (
            "org/gated",
            "gated cannot run: the model hub denies access to the model",
            "set HF_TOKEN",
        ),
    ] {
        let errors = pod.run(&["start", model]).failed();
        assert!(errors.contains(expected), "{errors}");
        assert!(errors.contains(hint), "{errors}");
        assert_eq!(pod.pods()["pods"]["dc1"]["models"], json!({}));
        assert!(!pod.path("user/.pi/agent/models.json").exists());
    }
}

#[test]
fn hostile_names_run_nothing() {
    let Some(pod) = TestPod::set_up() else { return };
    let marker = pod.path("marker");
    let command = format!("$(touch {})", marker.display());
    let pods = ["start", "stop", "logs", "tunnel"];
    for name in [&command, "a;id", "../../x", "-n", "'"] {
        for verb in pods {
            assert!(pod.run(&[verb, name]).code != Some(0), "{verb} {name}");
        }
        assert!(pod.run(&["start", "qwen", "--name", name]).code != Some(0));
        assert!(pod.run(&["setup", name, &pod.ssh()]).code != Some(0));
        // Passed as one word to a server that ignores it.
        let own = pod.run(&["start", "org/own", "--name", "own", "--vllm", "--x", name]);
        own.succeeded();
        assert!(
            pod.home
                .read("fake/vllm.json")
                .contains(&json!(name).to_string())
        );
        pod.run(&["stop", "own"]).succeeded();
    }
    assert!(!marker.exists());
}

#[test]
fn a_pod_that_is_gone_is_reported() {
    let Some(mut pod) = TestPod::set_up() else {
        return;
    };
    pod.run(&["start", "qwen"]).succeeded();
    pod.restart();
    let client = pod.home.read("sshd/client");
    pod.home
        .write("sshd/client", format!("{client} ProxyCommand false\n"));
    let listed = pod.run(&["list"]);
    assert!(
        listed.stdout.contains("qwen@dc1  unreachable"),
        "{listed:?}"
    );
    let errors = pod.run(&["stop", "qwen"]).failed();
    assert!(errors.contains("cannot connect to dc1: "), "{errors}");
    assert!(errors.contains("add --force"), "{errors}");
    pod.run(&["remove", "dc1"]).failed();
    // The machine can be reached again.
    pod.home.write("sshd/client", client);
    pod.run(&["stop", "qwen"]).succeeded();
}
