//! Mistakes and machines that lack something: one message, before a run is started or charged.

use std::path::Path;

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::fixture::{Fixture, describe};
use crate::machines::until;

#[tokio::test]
async fn a_batch_does_not_start_with_what_cannot_work() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    fixture.home.write("file", "");
    fixture.home.write(
        "bad.jsonl",
        "{\"id\":\"a\",\"prompt\":\"x\"}\n{\"id\":\"b\"}\n",
    );
    fixture.home.write("empty.jsonl", "\n");
    let tasks = fixture.tasks(&["a".to_owned()], &json!({}));
    let tasks = tasks.to_str().unwrap();
    let pi = fixture.pi.to_str().unwrap();
    let agent = ("PI_CODING_AGENT_DIR", "file");
    let no_change = ("LANG", "C");
    for (words, variable, expected) in [
        (
            &["run", "bad.jsonl", "--pi", pi][..],
            no_change,
            "error: invalid task file bad.jsonl: line 2: missing field `prompt` (column 10)",
        ),
        (
            &["run", "empty.jsonl", "--pi", pi],
            no_change,
            "error: empty.jsonl has no tasks",
        ),
        (
            &["run", "missing", "--pi", pi],
            no_change,
            "error: cannot read missing: No such file",
        ),
        (
            &["run", tasks, "--pi", pi],
            ("PATH", "/missing"),
            "error: cannot start git: ",
        ),
        (
            &["run", tasks, "--pi", "nowhere"],
            no_change,
            "error: cannot start ",
        ),
        (&["run", tasks, "--pi", pi], agent, "error: cannot "),
        (
            &["run", tasks, "--slots", "2"],
            no_change,
            "error: run does not take --slots",
        ),
        (
            &["ls", "--cost", "2"],
            no_change,
            "error: ls does not take --cost",
        ),
        (
            &["worker"],
            no_change,
            "hint: pass --engine nats://HOST:4222",
        ),
    ] {
        let mut command = fixture.fleet(words);
        let output = command.env(variable.0, variable.1).output().await.unwrap();
        let text = describe(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?} {text}");
        assert!(text.contains(expected), "{words:?} {text}");
    }
    assert_eq!(fixture.model.requests("a"), 0);
    let batches = fixture.home.path().join("agent/fleet/batches");
    assert!(!batches.exists(), "a batch was created");
}

#[tokio::test]
async fn two_commands_share_a_batch() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let names: Vec<String> = (0..6).map(|number| format!("t{number}")).collect();
    let tasks = fixture.tasks(&names, &json!({}));
    let start = || fixture.run(&tasks, &["--workers", "1"]).spawn().unwrap();
    let (one, two) = (start(), start());
    for run in [one, two] {
        let output = run.wait_with_output().await.unwrap();
        assert!(output.status.success(), "{}", describe(&output));
    }
    assert_eq!(fixture.check_results(&names).await, (0, 0));
    for result in fixture.results().await.values() {
        assert_eq!(result["attempts"], 1, "{result}");
    }
}

#[tokio::test]
async fn a_log_of_a_newer_version_is_not_changed() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let tasks = fixture.tasks(&["once".to_owned()], &json!({}));
    let output = fixture
        .run(&tasks, &["--cost", "0"])
        .output()
        .await
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", describe(&output));
    let newer = "{\"v\":2,\"epoch\":1,\"kind\":\"claim\"}\n";
    let log = fixture
        .home
        .write("agent/fleet/batches/b/runs/once.log", newer);
    for words in [&["ls", "b"][..], &["retry", "b"], &["watch", "b"]] {
        let output = fixture.fleet(words).output().await.unwrap();
        let text = describe(&output);
        assert!(output.status.success(), "{text}");
        assert!(text.contains("cannot read once: "), "{text}");
        assert!(text.contains("written by a newer version (2)"), "{text}");
    }
    let output = fixture.run(&tasks, &[]).output().await.unwrap();
    let text = describe(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("written by a newer version (2)"), "{text}");
    assert_eq!(std::fs::read_to_string(log).unwrap(), newer);
    assert_eq!(fixture.model.requests("once"), 0);
}

/// Runs a batch on a small disk, which becomes full while a command works.
#[tokio::test]
async fn runs_wait_while_the_disk_is_full() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let names = ["gated".to_owned()];
    let tasks = fixture.tasks(&names, &json!({}));
    let home = fixture.home.path();
    let disk = home.join("agent/fleet");
    std::fs::create_dir_all(&disk).unwrap();
    let script = format!(
        "home='{home}'; disk='{disk}'\n\
         mount -t tmpfs -o size=4m tmpfs \"$disk\" || exit 99\n\
         wait_for() {{ while [ ! -e \"$home/$1\" ]; do sleep 0.05; done; }}\n\
         (wait_for full; dd if=/dev/zero of=\"$disk/filler\" bs=512 2> \"$home/dd\"; echo > \"$home/filled\"\n\
         wait_for free; rm \"$disk/filler\") &\n\
         '{fleet}' run '{tasks}' --batch b --pi '{pi}' --quiet 2> \"$home/run.txt\"; code=$?\n\
         mkdir \"$home/saved\"; cp -a \"$disk/.\" \"$home/saved\"; exit $code\n",
        home = home.display(),
        disk = disk.display(),
        fleet = env!("CARGO_BIN_EXE_pi-fleet"),
        tasks = tasks.display(),
        pi = fixture.pi.display(),
    );
    let unshare = |words: &[&str]| {
        let namespaces = ["--user", "--map-root-user", "--mount"];
        fixture.program(Path::new("unshare"), &[&namespaces, words].concat())
    };
    let probe = unshare(&["mount", "-t", "tmpfs", "tmpfs", "/mnt"]);
    if !{ probe }
        .output()
        .await
        .is_ok_and(|output| output.status.success())
    {
        eprintln!("skipped: needs user namespaces");
        return;
    }
    let run = unshare(&["sh", "-c", &script]).spawn().unwrap();
    let exists = async |name: &str| {
        until(name, async || home.join(name).exists()).await;
    };
    exists("gated.2.pid").await;
    fixture.home.write("full", "");
    exists("filled").await;
    for number in 2..9 {
        fixture.home.write(&format!("gated.{number}.go"), "");
    }
    let log = home.join("run.txt");
    let has_warning =
        async || std::fs::read_to_string(&log).is_ok_and(|text| text.contains("No space left"));
    until("no warning", has_warning).await;
    fixture.home.write("free", "");
    let output = run.wait_with_output().await.unwrap();
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(output.status.success(), "{} {text}", describe(&output));
    assert!(text.contains("; trying again"), "{text}");
    std::fs::remove_dir(&disk).unwrap();
    std::fs::rename(home.join("saved"), &disk).unwrap();
    fixture.check_results(&names).await;
}
