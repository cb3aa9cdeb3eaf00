//! Fleets of several machines: workers with separate agent directories, and a NATS server between them.

use std::process::Stdio;
use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use serde_json::json;
use tokio::io::AsyncBufReadExt as _;
use tokio::process::{Child, Command};

use crate::chaos::{kill_agent, setting, splitmix64};
use crate::fixture::{Fixture, describe};
use crate::nats_server::{self, NatsServer};

/// How long a batch may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(10);

/// A fixture with a server.
async fn fleet() -> Option<(Fixture, NatsServer)> {
    let mut fixture = Fixture::new().await?;
    let server = NatsServer::start().await?;
    // Creates the fleet with short leases.
    server.engine("main", "").await;
    fixture.engine = Some(server.url());
    Some((fixture, server))
}

async fn text(fixture: &Fixture, words: &[&str]) -> String {
    let output = fixture.fleet(words).output().await.unwrap();
    assert!(output.status.success(), "{words:?}: {}", describe(&output));
    String::from_utf8(output.stdout).unwrap()
}

async fn submit(fixture: &Fixture, names: &[String], fields: &serde_json::Value, more: &[&str]) {
    let tasks = fixture.tasks(names, fields);
    let words = ["submit", tasks.to_str().unwrap(), "--batch", "b"];
    assert_eq!(text(fixture, &[&words, more].concat()).await, "b\n");
}

fn worker(fixture: &Fixture, machine: &str, more: &[&str]) -> Child {
    let words = ["worker", "--pi", fixture.pi.to_str().unwrap()];
    let mut worker = fixture.fleet_on(machine, &[&words, more].concat());
    // Nothing reads a pipe.
    let log = std::fs::File::options()
        .create(true)
        .append(true)
        .open(fixture.home.path().join(format!("{machine}.txt")))
        .unwrap();
    worker.stderr(log).stdout(Stdio::null());
    worker.spawn().unwrap()
}

/// Waits until a batch of this many runs is finished.
async fn wait(fixture: &Fixture, count: usize) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let output = fixture.fleet(&["ls", "b"]).output().await.unwrap();
        let table = String::from_utf8(output.stdout).unwrap();
        if table.contains(&format!("{count}/{count} finished")) {
            return;
        }
        if Instant::now() > deadline {
            let log = |name: &str| fixture.home.read(&format!("{name}.txt"));
            panic!("{table}\n{}\n{}", log("one"), log("two"));
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test]
async fn two_machines_share_a_batch() {
    let Some((fixture, _server)) = fleet().await else {
        return;
    };
    let names: Vec<String> = (0..4).map(|number| format!("t.{number}")).collect();
    let fields = json!({"verify": "test -f b.txt", "artifacts": ["*.log"]});
    submit(&fixture, &names, &fields, &[]).await;
    submit(&fixture, &names, &fields, &[]).await;
    let workers = ["one", "two"].map(|name| worker(&fixture, name, &["--slots", "1", "--drain"]));
    for worker in workers {
        let output = worker.wait_with_output().await.unwrap();
        assert!(output.status.success(), "{}", describe(&output));
    }
    assert_eq!(fixture.check_results(&names).await, (0, 0));
    let results = fixture.results().await;
    assert_eq!(results["t.0"]["artifacts"], json!(["build.log"]));
    assert_eq!(fixture.home.read("out/artifacts/t.0/build.log"), "x\n");
    assert!(text(&fixture, &["ls"]).await.starts_with("b: 4/4 finished"));
    assert!(text(&fixture, &["show", "b/t.0"]).await.contains("done"));
    let output = fixture.fleet(&["show", "c/t"]).output().await.unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", describe(&output));
}

#[tokio::test]
async fn users_of_a_server_have_only_the_rights_they_need() {
    let Some(mut fixture) = Fixture::new().await else {
        return;
    };
    let Some(program) = tokio::task::spawn_blocking(nats_server::program)
        .await
        .unwrap()
    else {
        return;
    };
    let address = format!("127.0.0.1:{}", nats_server::free_port());
    let program = program.to_str().unwrap();
    let words = [
        "up", "--dir", "server", "--listen", &address, "--server", program,
    ];
    let mut server = fixture.fleet(&words).spawn().unwrap();
    let mut lines = tokio::io::BufReader::new(server.stdout.take().unwrap()).lines();
    let ready = lines.next_line().await.unwrap().unwrap();
    assert!(ready.starts_with("The fleet `main` is ready."), "{ready}");
    fixture.engine = Some(format!("nats://{address}"));
    let directory = fixture.home.path().join("server");
    let as_user = |mut command: Command, user: &str| {
        command.env("PI_FLEET_CREDENTIALS", directory.join(user));
        command
    };
    let pi = fixture.pi.to_str().unwrap();

    let output = fixture.fleet(&["ls"]).output().await.unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", describe(&output));
    assert!(
        describe(&output).contains("PI_FLEET_CREDENTIALS"),
        "{}",
        describe(&output)
    );
    for (user, code, permissions) in [
        ("worker", 0, "may not delete streams"),
        ("submit", 0, "may not delete streams"),
        ("admin", 1, "this user may delete streams"),
    ] {
        let output = as_user(fixture.fleet(&["check", "--pi", pi]), user);
        let output = { output }.output().await.unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", describe(&output));
        assert!(
            describe(&output).contains(permissions),
            "{}",
            describe(&output)
        );
    }

    let names = ["t".to_owned()];
    let tasks = fixture.tasks(&names, &json!({}));
    let words = ["submit", tasks.to_str().unwrap(), "--batch", "b"];
    // A worker cannot add tasks.
    let output = as_user(fixture.fleet(&words), "worker")
        .output()
        .await
        .unwrap();
    assert!(!output.status.success(), "{}", describe(&output));
    let output = as_user(fixture.fleet(&words), "submit")
        .output()
        .await
        .unwrap();
    assert!(output.status.success(), "{}", describe(&output));
    // A client cannot take runs.
    let words = ["worker", "--slots", "1", "--drain", "--pi", pi];
    let output = as_user(fixture.fleet_on("one", &words), "submit")
        .output()
        .await
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", describe(&output));
    assert!(
        describe(&output).contains("refused"),
        "{}",
        describe(&output)
    );
    let output = as_user(fixture.fleet_on("one", &words), "worker")
        .output()
        .await
        .unwrap();
    assert!(output.status.success(), "{}", describe(&output));
    let output = as_user(fixture.fleet(&["ls", "b"]), "submit")
        .output()
        .await
        .unwrap();
    assert!(
        describe(&output).contains("1/1 finished"),
        "{}",
        describe(&output)
    );
    server.kill().await.unwrap();
}

#[tokio::test]
async fn a_budget_holds_for_all_workers() {
    let Some((fixture, _server)) = fleet().await else {
        return;
    };
    let names: Vec<String> = (0..4).map(|number| format!("t{number}")).collect();
    submit(&fixture, &names, &json!({}), &["--cost", "0.1"]).await;
    for machine in ["one", "two"] {
        let worker = worker(&fixture, machine, &["--slots", "1", "--drain"]);
        let output = worker.wait_with_output().await.unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", describe(&output));
    }
    let requests: u64 = names.iter().map(|name| fixture.model.requests(name)).sum();
    // $0.02 per request: five reach the budget, and one more per slot may be in flight.
    assert!((5..=7).contains(&requests), "{requests}");
    submit(&fixture, &names, &json!({}), &["--cost", "1"]).await;
    let _worker = worker(&fixture, "one", &["--slots", "4"]);
    wait(&fixture, 4).await;
    assert_eq!(fixture.check_results(&names).await, (0, 0));
}

#[tokio::test]
async fn killed_machines_and_servers_lose_nothing() {
    let Some((fixture, mut server)) = fleet().await else {
        return;
    };
    let count = setting("PI_FLEET_CHAOS_TASKS", 4);
    let mut fleet_kills = setting("PI_FLEET_CHAOS_FLEET_KILLS", 3);
    let mut agent_kills = setting("PI_FLEET_CHAOS_AGENT_KILLS", 3);
    let mut server_kills = setting("PI_FLEET_CHAOS_SERVER_KILLS", 1);
    let slots = (setting("PI_FLEET_CHAOS_WORKERS", 4) / 2)
        .max(1)
        .to_string();
    let mut random = setting("PI_FLEET_CHAOS_SEED", 1);
    let names: Vec<String> = (0..count).map(|number| format!("task-{number}")).collect();
    submit(
        &fixture,
        &names,
        &json!({"limits": {"attempts": 1000}}),
        &[],
    )
    .await;
    let machines = ["one", "two"];
    let start = |machine: &str| worker(&fixture, machine, &["--slots", &slots]);
    let mut workers = machines.map(start);
    while fleet_kills + agent_kills + server_kills > 0 {
        let pause = 200 + splitmix64(&mut random) % 800;
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let index = usize::from(splitmix64(&mut random).is_multiple_of(2));
        match splitmix64(&mut random) % 3 {
            0 if fleet_kills > 0 => {
                fleet_kills -= 1;
                workers[index].kill().await.unwrap();
                workers[index] = start(machines[index]);
            }
            1 if server_kills > 0 => {
                server_kills -= 1;
                server.kill();
                tokio::time::sleep(Duration::from_millis(pause)).await;
                server.restart().await;
            }
            _ if agent_kills > 0 => {
                let batch = fixture.home.path().join(machines[index]);
                let batch = batch.join("fleet/batches/b");
                let is_killed = kill_agent(&batch, splitmix64(&mut random));
                agent_kills -= u64::from(is_killed);
            }
            _ => {}
        }
        let table = fixture.fleet(&["ls", "b"]).output().await.unwrap();
        let table = String::from_utf8(table.stdout).unwrap();
        if table.contains(&format!("{count}/{count} finished")) {
            break;
        }
    }
    wait(&fixture, names.len()).await;
    let (cut, interrupted) = fixture.check_results(&names).await;
    eprintln!("{count} tasks, {cut} requests cut, {interrupted} calls interrupted");
}
