//! Fleets of several machines: workers with separate agent directories, and a NATS server between them.

use std::process::Stdio;
use std::time::{Duration, Instant};

use pi_fleet::{Delivery, FleetEngine as _, Lease, NatsEngine, parse_tasks};
use pretty_assertions::assert_eq;
use serde_json::json;
use tokio::io::AsyncBufReadExt as _;
use tokio::process::{Child, Command};

use crate::chaos::{kill_agent, setting, splitmix64};
use crate::fixture::{Fixture, describe};
use crate::nats_server::{self, NatsServer};
use crate::undisturbed::Undisturbed;

/// How long a batch may take on a busy machine.
const PATIENCE_MINUTES: u64 = 10;

/// A fixture with a server.
pub(crate) async fn fleet() -> Option<(Fixture, NatsServer)> {
    let mut fixture = Fixture::new().await?;
    let server = NatsServer::start().await?;
    // Creates the fleet with short leases.
    server.engine("main", "").await;
    fixture.engine = Some(server.url());
    Some((fixture, server))
}

pub(crate) async fn text(fixture: &Fixture, words: &[&str]) -> String {
    let output = fixture.fleet(words).output().await.unwrap();
    assert!(output.status.success(), "{words:?}: {}", describe(&output));
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) async fn submit(
    fixture: &Fixture,
    names: &[String],
    fields: &serde_json::Value,
    more: &[&str],
) {
    let tasks = fixture.tasks(names, fields);
    let words = ["submit", tasks.to_str().unwrap(), "--batch", "b"];
    assert_eq!(text(fixture, &[&words, more].concat()).await, "b\n");
}

pub(crate) fn worker(fixture: &Fixture, machine: &str, more: &[&str]) -> Child {
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

/// Waits for a condition, but not forever.
pub(crate) async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(PATIENCE_MINUTES);
    while !condition().await {
        assert!(Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Returns the number of this day (UTC) since 1970, which is what a budget of a day refers to.
pub(crate) fn today() -> u64 {
    let time = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    time.as_secs() / (24 * 60 * 60)
}

/// Waits until a batch of this many runs is finished.
pub(crate) async fn wait(fixture: &Fixture, count: usize) {
    let deadline =
        Instant::now() + Duration::from_mins(setting("PI_FLEET_CHAOS_MINUTES", PATIENCE_MINUTES));
    loop {
        let output = fixture.fleet(&["ls", "b"]).output().await.unwrap();
        let table = String::from_utf8(output.stdout).unwrap();
        if table.contains(&format!("{count}/{count} finished")) {
            return;
        }
        if Instant::now() > deadline {
            let files = std::fs::read_dir(fixture.home.path()).unwrap();
            let files = files.map(|file| file.unwrap().path());
            let logs = files.filter(|path| path.extension().is_some_and(|ending| ending == "txt"));
            let logs: String = logs
                .filter_map(|path| std::fs::read_to_string(path).ok())
                .collect();
            panic!("{table}\n{logs}");
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
    let text = describe(&output);
    assert!(
        text.contains("refused") && text.contains("workers need `worker`"),
        "{text}"
    );
    // Another fleet does not exist, and only the administrator may create it.
    let words = ["ls", "--fleet", "other"];
    let output = as_user(fixture.fleet(&words), "worker")
        .output()
        .await
        .unwrap();
    let text = describe(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("refused"), "{text}");
    let words = ["worker", "--slots", "1", "--drain", "--pi", pi];
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
    // A kill would leave the program that it has started.
    let process = rustix::process::Pid::from_raw(server.id().unwrap().cast_signed()).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    assert_eq!(server.wait().await.unwrap().code(), Some(130));
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
    let planned = [fleet_kills, agent_kills, server_kills];
    let workers = setting("PI_FLEET_CHAOS_WORKERS", 2).max(1);
    let slots = setting("PI_FLEET_CHAOS_SLOTS", 2).to_string();
    let mut random = setting("PI_FLEET_CHAOS_SEED", 1);
    let names: Vec<String> = (0..count).map(|number| format!("task-{number}")).collect();
    submit(
        &fixture,
        &names,
        &json!({"limits": {"attempts": 1000}}),
        &[],
    )
    .await;
    let machines: Vec<String> = (0..workers).map(|number| format!("m{number}")).collect();
    let start = |machine: &String| worker(&fixture, machine, &["--slots", &slots]);
    let mut processes: Vec<Child> = machines.iter().map(start).collect();
    let engine = server.engine("main", "b").await;
    while fleet_kills + agent_kills + server_kills > 0 {
        let pause = Duration::from_millis(100 + splitmix64(&mut random) % 400);
        tokio::time::sleep(pause).await;
        let index = usize::try_from(splitmix64(&mut random) % workers).unwrap();
        match splitmix64(&mut random) % 8 {
            0..3 if fleet_kills > 0 => {
                fleet_kills -= 1;
                processes[index].kill().await.unwrap();
                processes[index] = start(&machines[index]);
            }
            3 if server_kills > 0 => {
                server_kills -= 1;
                server.kill();
                tokio::time::sleep(pause).await;
                server.restart().await;
            }
            _ if agent_kills > 0 => {
                let batch = fixture.home.path().join(&machines[index]);
                let batch = batch.join("fleet/batches/b");
                let is_killed = kill_agent(&batch, splitmix64(&mut random));
                agent_kills -= u64::from(is_killed);
            }
            _ => {}
        }
        let runs = engine.overview().await;
        if runs.is_ok_and(|runs| runs.iter().all(|run| run.state.result.is_some())) {
            break;
        }
    }
    wait(&fixture, names.len()).await;
    let (cut, interrupted) = fixture.check_results(&names).await;
    if let Some(undisturbed) = Undisturbed::run().await {
        undisturbed.check(&fixture, &names).await;
    }
    for name in &names {
        check_log(&fixture, &engine, name).await;
    }
    let kills = planned[0] - fleet_kills;
    eprintln!(
        "{count} tasks, {workers} workers; {kills} kills of workers, {} of agents, {} of the server; {cut} requests cut, \
         {interrupted} calls interrupted",
        planned[1] - agent_kills,
        planned[2] - server_kills,
    );
}

/// Checks that the log of a run equals its session, and that no worker has written after the next one. Returns the number
/// of workers.
pub(crate) async fn check_log(fixture: &Fixture, engine: &NatsEngine, name: &str) -> usize {
    let delivery = unqueued("b", name);
    let mut log = engine.open(&delivery).await.unwrap();
    let result = log.state().result.clone().unwrap();
    let session = fixture
        .home
        .path()
        .join("out")
        .join(result.session.unwrap());
    assert!(log.take_content().session == std::fs::read(session).unwrap());
    // Each start has one claim, and nothing follows that of the next one.
    let state = log.state();
    assert_eq!(state.epoch, u64::from(state.attempts));
    state.workers.len()
}

/// Returns what opens the log of a run without a lease.
pub(crate) fn unqueued(batch: &str, task: &str) -> Delivery {
    let tasks = parse_tasks(&json!({"id": task, "prompt": "x"}).to_string()).unwrap();
    Delivery {
        batch: batch.to_owned(),
        task: tasks.into_iter().next().unwrap(),
        lease: Lease(Box::new(())),
    }
}
