//! Ctrl-C, cancellations, pauses and kills while a command of a run is at work: `setup`, `verify`, Git, or one of the
//! agent.

use std::path::PathBuf;

use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;
use tokio::process::{Child, Command};

use crate::fixture::{Fixture, describe};
use crate::machines::{text, until};

const TASK: &str = "a";

/// A shell command that waits for a file.
struct Gate {
    process: PathBuf,
    opened: PathBuf,
}

impl Gate {
    fn new(fixture: &Fixture, name: &str) -> Self {
        let path = |ending: &str| fixture.home.path().join(format!("{name}.{ending}"));
        Self {
            process: path("pid"),
            opened: path("go"),
        }
    }

    /// Returns a command that waits in a child process of its shell.
    fn command(&self) -> String {
        let (process, opened) = (self.process.display(), self.opened.display());
        format!(
            "sh -c 'echo $$ > {process}; while [ ! -e {opened} ]; do sleep 0.05; done'; echo ran >> {process}s"
        )
    }

    fn open(&self) {
        std::fs::File::create(&self.opened).unwrap();
    }

    /// Waits until the command has started, and returns its process.
    async fn wait(&self) -> Pid {
        let path = &self.process;
        let is_written =
            async || std::fs::read_to_string(path).is_ok_and(|text| text.ends_with('\n'));
        until("the command has not started", is_written).await;
        let text = std::fs::read_to_string(path).unwrap();
        std::fs::remove_file(path).unwrap();
        Pid::from_raw(text.trim().parse().unwrap()).unwrap()
    }

    /// Returns how often the command ended.
    fn count(&self) -> usize {
        let path = self.process.with_extension("pids");
        std::fs::read_to_string(path).map_or(0, |text| text.lines().count())
    }
}

fn is_alive(process: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// Starts a command as a shell does: in a process group that Ctrl-C interrupts.
fn start(mut command: Command) -> Child {
    command.process_group(0).spawn().unwrap()
}

fn interrupt(process: &Child) {
    let group = Pid::from_raw(process.id().unwrap().cast_signed()).unwrap();
    kill_process_group(group, Signal::INT).unwrap();
}

#[tokio::test]
async fn the_same_command_resumes_what_ctrl_c_has_stopped() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let [setup, verify] = ["setup", "verify"].map(|name| Gate::new(&fixture, name));
    let fields = json!({"setup": setup.command(), "verify": verify.command()});
    let task = ["gated".to_owned()];
    let tasks = fixture.tasks(&task, &fields);
    let agent = Gate {
        process: fixture.home.path().join("gated.2.pid"),
        opened: fixture.home.path().join("gated.2.go"),
    };
    for gate in [&setup, &agent, &verify] {
        let run = start(fixture.run(&tasks, &[]));
        let process = gate.wait().await;
        interrupt(&run);
        let output = run.wait_with_output().await.unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", describe(&output));
        until("the command is still running", async || !is_alive(process)).await;
        gate.open();
        if gate.opened == agent.opened {
            // The model asks for the interrupted command again.
            for number in 3..9 {
                fixture.home.write(&format!("gated.{number}.go"), "");
            }
        }
    }
    let output = fixture.run(&tasks, &[]).output().await.unwrap();
    assert!(output.status.success(), "{}", describe(&output));
    let result = &fixture.results().await["gated"];
    assert_eq!(
        (&result["status"], &result["attempts"]),
        (&json!("done"), &json!(4))
    );
    assert_eq!((setup.count(), verify.count()), (1, 1));
    assert_eq!(fixture.check_results(&task).await, (0, 1));
}

#[tokio::test]
async fn ctrl_c_explains_how_to_resume() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let gate = Gate::new(&fixture, "setup");
    let tasks = fixture.tasks(&[TASK.to_owned()], &json!({"setup": gate.command()}));
    let run = start(fixture.run(&tasks, &[]));
    gate.wait().await;
    interrupt(&run);
    let output = run.wait_with_output().await.unwrap();
    let text = describe(&output);
    assert!(text.contains("Press Ctrl-C again"), "{text}");
    assert!(text.contains("Run the same command to resume"), "{text}");
}

#[cfg(unix)]
#[tokio::test]
async fn an_agent_that_does_not_start_is_ended() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let gate = Gate::new(&fixture, "agent");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --mode ] && {}\nexec '{}' \"$@\"\n",
        gate.command(),
        fixture.pi.display()
    );
    let program = fixture.home.write_program("silent-pi", script);
    let more = ["--pi", program.to_str().unwrap()];
    let wall = json!({"limits": {"wall": "1s"}});
    for (name, fields, expected) in [("w", wall, "limit"), ("c", json!({}), "canceled")] {
        let tasks = fixture.tasks(&[name.to_owned()], &fields);
        let run = fixture.run(&tasks, &more).spawn().unwrap();
        let process = gate.wait().await;
        if expected == "canceled" {
            let target = format!("b/{name}");
            let output = fixture.fleet(&["cancel", &target]).output().await.unwrap();
            assert!(output.status.success(), "{}", describe(&output));
        }
        let output = run.wait_with_output().await.unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", describe(&output));
        assert_eq!(fixture.results().await[name]["status"], expected);
        until("the agent is still running", async || !is_alive(process)).await;
    }
}

#[tokio::test]
async fn a_cancellation_ends_the_command_of_a_run() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    for (name, field) in [("s", "setup"), ("v", "verify"), ("gated-c", "")] {
        let (gate, fields) = if field.is_empty() {
            let path = |ending: &str| fixture.home.path().join(format!("{name}.2.{ending}"));
            let gate = Gate {
                process: path("pid"),
                opened: path("go"),
            };
            (gate, json!({}))
        } else {
            let gate = Gate::new(&fixture, field);
            let command = gate.command();
            (gate, json!({ field: command }))
        };
        let tasks = fixture.tasks(&[name.to_owned()], &fields);
        let run = fixture.run(&tasks, &[]).spawn().unwrap();
        let process = gate.wait().await;
        text(&fixture, &["cancel", &format!("b/{name}")]).await;
        let output = run.wait_with_output().await.unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", describe(&output));
        assert_eq!(fixture.results().await[name]["status"], "canceled");
        until("the command is still running", async || !is_alive(process)).await;
    }
}

#[tokio::test]
async fn a_command_may_not_take_longer_than_the_run() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let fields = json!({"setup": "sleep 1000", "limits": {"wall": "1s"}});
    let tasks = fixture.tasks(&[TASK.to_owned()], &fields);
    let output = fixture.run(&tasks, &[]).output().await.unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", describe(&output));
    let result = &fixture.results().await[TASK];
    assert_eq!(
        (&result["status"], &result["error"]),
        (&json!("limit"), &json!("wall"))
    );
}

#[tokio::test]
async fn a_pause_lasts_until_it_is_ended() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let task = "gated-p".to_owned();
    let tasks = fixture.tasks(std::slice::from_ref(&task), &json!({}));
    let gate = Gate {
        process: fixture.home.path().join("gated-p.2.pid"),
        opened: fixture.home.path().join("gated-p.2.go"),
    };
    let run = fixture.run(&tasks, &[]).spawn().unwrap();
    gate.wait().await;
    text(&fixture, &["pause", "b"]).await;
    for number in 2..9 {
        fixture.home.write(&format!("gated-p.{number}.go"), "");
    }
    let is_paused = async || text(&fixture, &["ls", "b"]).await.contains(" paused ");
    until("the run is not paused", is_paused).await;
    let requests = fixture.model.requests(&task);
    text(&fixture, &["resume", "b"]).await;
    let output = run.wait_with_output().await.unwrap();
    assert!(output.status.success(), "{}", describe(&output));
    // Nothing was sent while it was paused, and nothing was lost.
    assert_eq!((requests, fixture.model.requests(&task)), (2, 4));
    assert_eq!(fixture.check_results(&[task]).await, (0, 0));
}

#[tokio::test]
async fn commands_of_a_killed_batch_run_again() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let [setup, verify] = ["setup", "verify"].map(|name| Gate::new(&fixture, name));
    let fields = json!({"setup": setup.command(), "verify": verify.command()});
    let task = [TASK.to_owned()];
    let tasks = fixture.tasks(&task, &fields);
    for gate in [&setup, &verify] {
        let mut run = fixture.run(&tasks, &[]).spawn().unwrap();
        let left = gate.wait().await;
        run.kill().await.unwrap();
        assert!(is_alive(left));
        let mut run = fixture.run(&tasks, &[]).spawn().unwrap();
        let again = gate.wait().await;
        assert!(!is_alive(left) && is_alive(again));
        run.kill().await.unwrap();
        gate.open();
    }
    let output = fixture.run(&tasks, &[]).output().await.unwrap();
    assert!(output.status.success(), "{}", describe(&output));
    assert_eq!(fixture.check_results(&task).await, (0, 0));
    assert_eq!(fixture.results().await[TASK]["verify"]["exit"], 0);
}

#[tokio::test]
async fn a_killed_batch_leaves_no_git_that_disturbs_the_next_one() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let gate = Gate::new(&fixture, "clone");
    // Cloning takes a while, and writes to the mirror at its end.
    let found = std::env::var("PATH").unwrap();
    let script = format!(
        "#!/bin/sh\nPATH='{found}'\ncase \" $* \" in *' clone '*) for last; do :; done; {}; mkdir -p \"$last\"; echo late > \
         \"$last/late\";; esac\nexec git \"$@\"\n",
        gate.command()
    );
    let program = fixture.home.write_program("bin/git", script);
    let task = [TASK.to_owned()];
    let tasks = fixture.tasks(&task, &json!({}));
    let path = format!("{}:{found}", program.parent().unwrap().display());
    let mut slow = fixture.run(&tasks, &[]);
    let mut run = slow.env("PATH", &path).spawn().unwrap();
    let process = gate.wait().await;
    run.kill().await.unwrap();
    assert!(is_alive(process));
    let output = fixture.run(&tasks, &[]).output().await.unwrap();
    assert!(output.status.success(), "{}", describe(&output));
    assert!(!is_alive(process));
    assert_eq!(fixture.check_results(&task).await, (0, 0));
}
