//! What tasks ask for: secrets, labels, containers; and where results and progress are kept.

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::fixture::{Fixture, describe};
use crate::machines::{fleet, submit, text, until, wait, worker};
use crate::nats_server::NatsServer;

#[tokio::test]
async fn a_run_sees_the_secrets_it_names_and_its_files_hide_them() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let with_secret = json!({
        "secrets": ["npm_token"], "setup": "echo $NPM_TOKEN > token.txt",
        "verify": "echo $NPM_TOKEN > token.log; test \"$NPM_TOKEN\" = value-of-secret || exit 1; echo $NPM_TOKEN; exit 7",
        "artifacts": ["*.log"],
    });
    let tasks = fixture.tasks(&["a".to_owned()], &with_secret);
    let run = |offered: &str| {
        let mut command = fixture.run(&tasks, &["--secret", offered]);
        command.env("NPM_SOURCE", "value-of-secret");
        command
    };
    let output = run("npm_token=$NPM_SOURCE").output().await.unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", describe(&output));
    let result = &fixture.results().await["a"];
    assert_eq!(
        result["error"],
        "verify exited with code 7: ***************"
    );
    assert_eq!(
        fixture.home.read("out/artifacts/a/token.log"),
        "***************\n"
    );
    let patch = fixture.home.read("out/patches/a.patch");
    assert!(patch.contains("+***************\n"), "{patch}");

    std::fs::remove_dir_all(fixture.batch()).unwrap();
    let output = run("other=$NPM_SOURCE").output().await.unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", describe(&output));
    assert!(
        describe(&output).contains("does not offer the secret `npm_token`"),
        "{}",
        describe(&output)
    );

    std::fs::remove_dir_all(fixture.batch()).unwrap();
    let without = json!({"verify": "test -z \"$NPM_TOKEN$NPM_SOURCE\""});
    fixture.tasks(&["a".to_owned()], &without);
    let output = run("npm_token=$NPM_SOURCE").output().await.unwrap();
    assert!(output.status.success(), "{}", describe(&output));
}

#[tokio::test]
async fn tasks_of_a_queue_wait_for_a_worker_with_its_label() {
    let Some((fixture, _server)) = fleet().await else {
        return;
    };
    submit(&fixture, &["plain".to_owned()], &json!({}), &[]).await;
    submit(
        &fixture,
        &["graphics".to_owned()],
        &json!({"queue": "gpu"}),
        &[],
    )
    .await;
    let drain = ["--slots", "1", "--drain"];
    let output = worker(&fixture, "one", &drain)
        .wait_with_output()
        .await
        .unwrap();
    assert!(output.status.success(), "{}", describe(&output));
    let table = text(&fixture, &["ls", "b"]).await;
    assert!(table.starts_with("b: 1/2 finished"), "{table}");
    let labeled = [&drain[..], &["--label", "docker,gpu"]].concat();
    let output = worker(&fixture, "two", &labeled)
        .wait_with_output()
        .await
        .unwrap();
    assert!(output.status.success(), "{}", describe(&output));
    let names = ["plain".to_owned(), "graphics".to_owned()];
    assert_eq!(fixture.check_results(&names).await, (0, 0));
}

#[tokio::test]
async fn results_are_stored_at_a_url() {
    let Some((fixture, _server)) = fleet().await else {
        return;
    };
    let names = ["a".to_owned()];
    submit(&fixture, &names, &json!({"artifacts": ["*.log"]}), &[]).await;
    let url = format!("file://{}/store", fixture.home.path().display());
    let settings = json!({"fleet": {"artifacts": url}}).to_string();
    for directory in ["one", "agent"] {
        fixture
            .home
            .write(&format!("{directory}/settings.json"), &settings);
    }
    let drain = ["--slots", "1", "--drain"];
    let output = worker(&fixture, "one", &drain)
        .wait_with_output()
        .await
        .unwrap();
    assert!(output.status.success(), "{}", describe(&output));
    assert_eq!(fixture.home.read("store/b/artifacts/a/build.log"), "x\n");
    assert_eq!(fixture.check_results(&names).await, (0, 0));
    // Nothing is stored with the engine.
    let out = fixture.home.path().join("other");
    fixture.home.write("agent/settings.json", "{}");
    let words = ["results", "b", "--out", out.to_str().unwrap()];
    let output = fixture.fleet(&words).output().await.unwrap();
    assert!(
        describe(&output).contains("is not stored"),
        "{}",
        describe(&output)
    );
}

/// Continues finished runs with another prompt.
async fn continue_with_another_prompt(fixture: &Fixture, run: impl AsyncFn()) {
    run().await;
    let names = ["a".to_owned()];
    assert_eq!(fixture.check_results(&names).await, (0, 0));
    fixture.tasks(&names, &json!({"prompt": "Is it done?"}));
    for _ in 0..2 {
        // The second time, nothing is left to do.
        run().await;
        let result = &fixture.results().await["a"];
        assert_eq!(
            (&result["status"], &result["turns"]),
            (&json!("done"), &json!(5))
        );
        let session = fixture
            .home
            .read(&format!("out/{}", result["session"].as_str().unwrap()));
        assert!(session.contains("Is it done?"));
        // With the files of the first part, and one session for both.
        assert_eq!(fixture.check_results(&names).await, (0, 0));
        assert_eq!(
            std::fs::read_dir(fixture.home.path().join("out/sessions"))
                .unwrap()
                .count(),
            1
        );
    }
}

#[tokio::test]
async fn a_finished_task_continues_with_another_prompt() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let tasks = fixture.tasks(&["a".to_owned()], &json!({}));
    continue_with_another_prompt(&fixture, async || {
        let output = fixture.run(&tasks, &[]).output().await.unwrap();
        assert!(output.status.success(), "{}", describe(&output));
    })
    .await;
}

#[tokio::test]
async fn a_finished_task_continues_on_another_machine() {
    let Some((fixture, _server)) = fleet().await else {
        return;
    };
    let tasks = fixture.tasks(&["a".to_owned()], &json!({}));
    let machine = std::cell::Cell::new("one");
    continue_with_another_prompt(&fixture, async || {
        text(
            &fixture,
            &["submit", tasks.to_str().unwrap(), "--batch", "b"],
        )
        .await;
        let drain = ["--slots", "1", "--drain"];
        let worker = worker(&fixture, machine.replace("two"), &drain);
        let output = worker.wait_with_output().await.unwrap();
        assert!(output.status.success(), "{}", describe(&output));
    })
    .await;
}

#[tokio::test]
async fn canceled_runs_are_retried_on_request() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let names = ["a".to_owned()];
    let tasks = fixture.tasks(&names, &json!({}));
    let output = fixture
        .run(&tasks, &["--cost", "0"])
        .output()
        .await
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", describe(&output));
    text(&fixture, &["cancel", "b/a"]).await;
    let output = fixture.run(&tasks, &[]).output().await.unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", describe(&output));
    let retried = text(&fixture, &["retry", "b", "--failed"]).await;
    assert!(retried.starts_with("0 runs"), "{retried}");
    let retried = text(&fixture, &["retry", "b/a"]).await;
    assert!(retried.starts_with("1 runs"), "{retried}");
    let output = fixture.run(&tasks, &[]).output().await.unwrap();
    assert!(output.status.success(), "{}", describe(&output));
    assert_eq!(fixture.check_results(&names).await, (0, 0));
}

#[tokio::test]
async fn runs_are_rebuilt_after_the_server_lost_its_disk() {
    let Some((mut fixture, server)) = fleet().await else {
        return;
    };
    let names = ["a".to_owned(), "hold-b".to_owned()];
    submit(&fixture, &names, &json!({}), &[]).await;
    let mut killed = worker(&fixture, "one", &["--slots", "2"]);
    wait_for(&fixture, "1/2 finished").await;
    while fixture.model.requests("hold-b") == 0 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    killed.kill().await.unwrap();
    drop(server);
    let Some(server) = NatsServer::start().await else {
        return;
    };
    server.engine("main", "").await;
    fixture.engine = Some(server.url());
    let directory = fixture.home.path().join("one/fleet/batches/b");
    for expected in [
        "2 of 2 runs were added to b.\n",
        "0 of 2 runs were added to b.\n",
    ] {
        let mut command = fixture.fleet_on("one", &["resubmit", directory.to_str().unwrap()]);
        let output = command.output().await.unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            expected,
            "{}",
            describe(&output)
        );
    }
    fixture.model.open_gate();
    let _worker = worker(&fixture, "two", &["--slots", "1"]);
    wait(&fixture, 2).await;
    assert_eq!(fixture.check_results(&names).await, (1, 0));
    assert_eq!(fixture.model.requests("a"), 4);
}

async fn wait_for(fixture: &Fixture, expected: &str) {
    while !text(fixture, &["ls", "b"]).await.contains(expected) {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn results_are_stored_again_without_another_start() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let names = ["a".to_owned()];
    let tasks = fixture.tasks(&names, &json!({}));
    // A file where the store needs a directory.
    let blocked = fixture.home.write("store/b", "x");
    let url = format!("file://{}", fixture.home.path().join("store").display());
    let run = fixture.run(&tasks, &["--artifacts", &url]).spawn().unwrap();
    let patch = fixture.batch().join("patches/a.patch");
    until("the run has no patch", async || patch.exists()).await;
    std::fs::remove_file(blocked).unwrap();
    let output = run.wait_with_output().await.unwrap();
    assert!(output.status.success(), "{}", describe(&output));
    let words = ["ls", "b", "--artifacts", &url];
    let output = fixture.fleet(&words).output().await.unwrap();
    assert!(
        describe(&output).contains("1 done"),
        "{}",
        describe(&output)
    );
    let log = std::fs::read_to_string(fixture.batch().join("runs/a.log")).unwrap();
    assert_eq!(log.matches(r#""kind":"claim""#).count(), 1, "{log}");
}

#[tokio::test]
async fn an_agent_works_in_a_container() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let home = fixture.home.path().display();
    // Runs the program of the container on this machine, with the variables that the container would have.
    let script = format!(
        "#!/bin/sh\necho \"$@\" >> '{home}/containers'\n\
         # One that a killed worker has left.\ncase \"$1\" in ps) echo \"${{6#name=}}0\"; exit;; rm) exit;; esac\nshift\nwhile :; do case \"$1\" in\n\
         --workdir) cd \"$2\"; shift 2;;\n--env) case \"$2\" in PI_*) ;; *=*) export \"$2\";; esac; shift 2;;\n\
         --volume|--name) shift 2;;\n--*) shift;;\n*) break;;\nesac; done\nshift\nprogram=$1; shift\n\
         [ \"$program\" = /usr/local/bin/pi ] && program='{}'\nexec \"$program\" \"$@\"\n",
        fixture.pi.display()
    );
    let program = fixture.home.write_program("podman", script);
    let settings = json!({"fleet": {"container": {"program": program, "image": "tools:1"}}});
    fixture
        .home
        .write("agent/settings.json", settings.to_string());
    let names = ["a".to_owned()];
    let fields =
        json!({"workspace": {"kind": "container"}, "setup": "true", "verify": "test -f b.txt"});
    let tasks = fixture.tasks(&names, &fields);
    let mut command = fixture.run(&tasks, &[]);
    command
        .env("PI_FLEET_CREDENTIALS", "/credentials")
        .env("PI_FLEET_ENGINE", "local");
    let output = command.output().await.unwrap();
    assert!(output.status.success(), "{}", describe(&output));
    let session = &fixture.results().await["a"]["session"];
    assert!(
        session.as_str().unwrap().starts_with("sessions/a/"),
        "{session}"
    );
    assert_eq!(fixture.check_results(&names).await, (0, 0));
    let containers = fixture.home.read("containers");
    for expected in [
        "tools:1 /usr/local/bin/pi --mode rpc",
        "tools:1 sh -c test -f b.txt",
        "rm --force pi-fleet-",
        "--filter name=pi-fleet-",
    ] {
        assert!(containers.contains(expected), "{containers}");
    }
    assert!(!containers.contains("CREDENTIALS") && !containers.contains("PI_FLEET_ENGINE"));
    assert!(containers.contains("--userns=keep-id"), "{containers}");
}

#[tokio::test]
async fn pi_runs_the_program_next_to_it() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let fleet = std::path::Path::new(env!("CARGO_BIN_EXE_pi-fleet"));
    let directory = fixture.home.path().join("bin");
    std::fs::create_dir(&directory).unwrap();
    for (name, program) in [("pi-fleet", fleet), ("pi", &fixture.pi)] {
        // A program finds itself by the path of its file, not by that of a link.
        let path = directory.join(name);
        if std::fs::hard_link(program, &path).is_err() {
            pi_test_support::copy_program(program, &path);
        }
    }
    let tasks = fixture.tasks(&["a".to_owned()], &json!({}));
    for (words, code, expected) in [
        (
            &[
                "fleet",
                "run",
                tasks.to_str().unwrap(),
                "--batch",
                "b",
                "--quiet",
            ][..],
            0,
            "1/1 finished",
        ),
        (&["fleet", "watch"], 0, "a done $0.08\nb: 1/1 finished"),
        (&["fleet", "ls", "b"], 0, "RUN"),
        (&["fleet", "show", "b/x"], 2, "no run `x`"),
        (&["fleet", "check"], 0, "ok      pi: "),
        (&["fleet", "--help"], 0, "attach RUN"),
    ] {
        let output = fixture
            .program(&directory.join("pi"), words)
            .output()
            .await
            .unwrap();
        assert_eq!(
            output.status.code(),
            Some(code),
            "{words:?} {}",
            describe(&output)
        );
        assert!(
            describe(&output).contains(expected),
            "{words:?} {}",
            describe(&output)
        );
    }
    assert_eq!(fixture.check_results(&["a".to_owned()]).await, (0, 0));
}
