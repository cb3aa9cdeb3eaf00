//! Tools in a container: with a fake `docker` that runs commands in the workspace, and with podman where it works.

use std::process::{Command, Stdio};

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::harness::{BotTest, text_reply, tool_reply};

/// Shows the workspace as `/workspace`, in both directions.
const FAKE_DOCKER: &str = r#"#!/bin/bash
shift
while [ "${1#-}" != "$1" ]; do
  case $1 in
    -i) shift ;;
    -w) dir=$2; shift 2 ;;
    -e) export "$2"; shift 2 ;;
  esac
done
[ "$1" = box ] || { echo "No such container: $1" >&2; exit 1; }
cd "${dir//\/workspace/ROOT}" || exit 1
IN_CONTAINER=yes "$2" "$3" "${4//\/workspace/ROOT}" 2>&1 | sed "s#ROOT#/workspace#g"
exit "${PIPESTATUS[0]}"
"#;

fn install(test: &BotTest) {
    let root = test.workspace().display().to_string();
    let docker = FAKE_DOCKER.replace("ROOT", &root);
    test.home.write_program("bin/docker", docker);
}

#[tokio::test]
async fn tools_work_in_the_container() {
    let test = BotTest::with_config(
        [
            tool_reply("bash", &json!({"command": "pwd; echo $IN_CONTAINER; env | grep -c MOM_"})),
            tool_reply("write", &json!({"path": "scratch/it's.txt", "content": "one\n"})),
            tool_reply("edit", &json!({"path": "/workspace/C1/scratch/it's.txt", "edits": [{"oldText": "one", "newText": "two"}]})),
            tool_reply("attach", &json!({"path": "/workspace/C1/scratch/it's.txt"})),
            tool_reply("read", &json!({"path": "scratch/missing"})),
            text_reply("done"),
        ],
        &json!({"sandbox": "docker:box"}),
    )
    .await;
    install(&test);
    let _bot = test.start();
    test.slack.say("C1", "U1", "<@UBOT> go");
    test.slack.wait_for_answer("C1", "done").await;
    let mut results = Vec::new();
    for request in 1..=5 {
        let request = test.model.wait_for_request(request).await;
        results.push(last_message(&request.json()));
    }
    assert!(
        results[0].starts_with("/workspace/C1\nyes\n0\n"),
        "{results:#?}"
    );
    assert!(
        results[4].contains("no such file or directory"),
        "{results:#?}"
    );
    let stored = std::fs::read_to_string(test.workspace().join("C1/scratch/it's.txt"));
    assert_eq!(stored.unwrap(), "two\n");
    let uploads = test.slack.uploads();
    assert_eq!(uploads[0].bytes, b"two\n");
    assert_eq!(uploads[0].name, "it's.txt");
}

fn last_message(body: &serde_json::Value) -> String {
    let messages = body["messages"].as_array().unwrap();
    let content = &messages.last().unwrap()["content"];
    content.as_str().map_or_else(
        || content[0]["text"].as_str().unwrap_or_default().to_owned(),
        str::to_owned,
    )
}

#[tokio::test]
async fn a_missing_container_is_an_error_at_the_start() {
    let test = BotTest::new([]).await;
    install(&test);
    let workspace = test.workspace();
    let workspace = workspace.to_str().unwrap();
    let output = test
        .command(&["check", "--sandbox", "docker:other", workspace])
        .output()
        .await;
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("No such container: other"), "{error}");
    let output = test
        .command(&["check", "--sandbox=docker:box", workspace])
        .output()
        .await
        .unwrap();
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(
        report.contains("Slack: @mom in Test\nScopes: missing ")
            && report.ends_with("Sandbox: container box\n"),
        "{report}"
    );
}

/// A running container of podman with the workspace; removed when dropped.
struct RealContainer {
    options: &'static [&'static str],
    name: String,
}

impl RealContainer {
    /// Starts a container that has only busybox; `None`, with a message, where that does not work.
    fn start(test: &BotTest) -> Option<Self> {
        let root = test.home.path().join("rootfs");
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-ec", script]).current_dir(test.home.path());
            command.output().unwrap()
        };
        let name = format!("pi-mom-test-{}", std::process::id());
        let image = shell(&format!(
            "mkdir -p rootfs/bin rootfs/tmp && cp \"$(command -v busybox)\" rootfs/bin/ && \
             for name in $(busybox --list); do [ $name = busybox ] || ln -s busybox {}/bin/$name; done && \
             tar c -C rootfs . | podman import -q - {name}",
            root.display()
        ));
        let mut container = Self { options: &[], name };
        let mut problem = String::from_utf8_lossy(&image.stderr).into_owned();
        let all_options: [&[&str]; 2] = [&[], &["--runtime", "runc"]];
        for options in all_options.into_iter().filter(|_| image.status.success()) {
            container.options = options;
            let volume = format!("{}:/workspace", test.workspace().display());
            let started = container.podman(&[
                "run",
                "-d",
                "--replace",
                "--name",
                &container.name,
                "--network",
                "none",
                "-v",
                &volume,
                "--ulimit",
                "nofile=1024:1024",
                "--ulimit",
                "nproc=1024:1024",
                &container.name,
                "sleep",
                "600",
            ]);
            if started.status.success() {
                return Some(container);
            }
            problem = String::from_utf8_lossy(&started.stderr).into_owned();
        }
        skip(&problem);
        None
    }

    fn podman(&self, arguments: &[&str]) -> std::process::Output {
        let mut command = Command::new("sh");
        // Podman may be missing.
        command.args(["-c", "exec podman \"$@\"", "sh"]);
        command
            .args(self.options)
            .args(arguments)
            .stdin(Stdio::null());
        command.output().unwrap()
    }
}

impl Drop for RealContainer {
    fn drop(&mut self) {
        self.podman(&["rm", "-f", "-t", "0", &self.name]);
        self.podman(&["rmi", "-f", &self.name]);
    }
}

#[expect(clippy::print_stderr, reason = "a skipped test says why")]
fn skip(problem: &str) {
    eprintln!("skipped: no container can be started: {problem}");
}

#[tokio::test]
async fn tools_work_in_a_real_container() {
    let test = BotTest::with_config(
        [
            tool_reply("bash", &json!({"command": "pwd; ls /; env | grep -c MOM_; ln -s /etc/os-release scratch/link"})),
            tool_reply("write", &json!({"path": "scratch/it's.txt", "content": "one\n"})),
            tool_reply("edit", &json!({"path": "scratch/it's.txt", "edits": [{"oldText": "one", "newText": "two"}]})),
            // A file of this machine, but not of the container.
            tool_reply("read", &json!({"path": "scratch/link"})),
            tool_reply("attach", &json!({"path": "scratch/link"})),
            text_reply("done"),
        ],
        &json!({"sandbox": format!("docker:pi-mom-test-{}", std::process::id())}),
    )
    .await;
    let Some(container) = RealContainer::start(&test) else {
        return;
    };
    let home = std::env::var("HOME").unwrap_or_default();
    let docker = format!(
        "#!/bin/sh\nHOME='{home}' exec podman {} \"$@\"\n",
        container.options.join(" ")
    );
    test.home.write_program("bin/docker", docker);
    let _bot = test.start();
    test.slack.say("C1", "U1", "<@UBOT> go");
    test.slack.wait_for_answer("C1", "done").await;
    let mut results = Vec::new();
    for request in 1..=5 {
        let request = test.model.wait_for_request(request).await;
        results.push(last_message(&request.json()));
    }
    assert!(
        results[0].starts_with("/workspace/C1\nbin\n"),
        "{results:#?}"
    );
    assert!(results[0].contains("\nworkspace\n0"), "{results:#?}");
    for result in &results[3..] {
        assert!(!result.contains("NAME="), "{results:#?}");
    }
    assert!(test.slack.uploads().is_empty());
    let stored = std::fs::read_to_string(test.workspace().join("C1/scratch/it's.txt"));
    assert_eq!(stored.unwrap(), "two\n");
}
