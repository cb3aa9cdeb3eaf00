//! Workers that hang or cannot reach their server, and servers that go away.

use std::path::PathBuf;

use pi_fleet::FleetEngine as _;
use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::fixture::{Fixture, describe};
use crate::machines::{check_log, fleet, submit, until, wait, worker};

const TASK: &str = "gated";

fn gate(fixture: &Fixture, number: u64, extension: &str) -> PathBuf {
    let home = fixture.home.path();
    home.join(format!("{TASK}.{number}.{extension}"))
}

/// Waits for a shell command of the task, and returns its process.
async fn command(fixture: &Fixture, number: u64) -> Pid {
    let path = gate(fixture, number, "pid");
    // Complete with its line feed.
    let is_written = async || std::fs::read_to_string(&path).is_ok_and(|text| text.ends_with('\n'));
    until("the command has not started", is_written).await;
    let text = std::fs::read_to_string(&path).unwrap();
    Pid::from_raw(text.trim().parse().unwrap()).unwrap()
}

fn open_gates(fixture: &Fixture, numbers: std::ops::RangeInclusive<u64>) {
    for number in numbers {
        std::fs::File::create(gate(fixture, number, "go")).unwrap();
    }
}

async fn wait_for_death(process: Pid) {
    let stat = format!("/proc/{}/stat", process.as_raw_nonzero());
    let is_dead = async || !std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
    until("the command is still running", is_dead).await;
}

/// Waits until a worker has written this to its log.
async fn wait_for_line(fixture: &Fixture, machine: &str, text: &str) {
    let path = fixture.home.path().join(format!("{machine}.txt"));
    let has_line = async || std::fs::read_to_string(&path).is_ok_and(|log| log.contains(text));
    until(text, has_line).await;
}

#[tokio::test]
async fn a_worker_that_hangs_writes_nothing_later() {
    let Some((fixture, server)) = fleet().await else {
        return;
    };
    submit(&fixture, &[TASK.to_owned()], &json!({}), &[]).await;
    let mut zombie = worker(&fixture, "one", &["--slots", "1"]);
    let shell = command(&fixture, 2).await;
    let process = Pid::from_raw(zombie.id().unwrap().cast_signed()).unwrap();
    kill_process(process, Signal::STOP).unwrap();
    open_gates(&fixture, 3..=9);
    let _worker = worker(&fixture, "two", &["--slots", "1"]);
    wait(&fixture, 1).await;
    assert_eq!(fixture.check_results(&[TASK.to_owned()]).await, (0, 1));
    kill_process(process, Signal::CONT).unwrap();
    wait_for_line(&fixture, "one", "another worker owns the run").await;
    wait_for_death(shell).await;
    let engine = server.engine("main", "b").await;
    assert_eq!(check_log(&fixture, &engine, TASK).await, 2);
    zombie.kill().await.unwrap();
}

/// Forwards connections to a server, or swallows what they carry.
struct Proxy {
    url: String,
    is_cut: watch::Sender<bool>,
}

impl Proxy {
    async fn start(server: (&'static str, u16)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("nats://{}", listener.local_addr().unwrap());
        let is_cut = watch::Sender::new(false);
        let cut = is_cut.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(server).await else {
                    continue;
                };
                let (client_in, client_out) = client.into_split();
                let (server_in, server_out) = server.into_split();
                tokio::spawn(forward(client_in, server_out, cut.subscribe()));
                tokio::spawn(forward(server_in, client_out, cut.subscribe()));
            }
        });
        Self { url, is_cut }
    }
}

async fn forward(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    is_cut: watch::Receiver<bool>,
) {
    let mut bytes = [0; 8192];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        if !*is_cut.borrow() && to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn a_worker_that_is_cut_off_writes_nothing_later() {
    let Some((mut fixture, server)) = fleet().await else {
        return;
    };
    submit(&fixture, &[TASK.to_owned()], &json!({}), &[]).await;
    let direct = fixture.engine.clone();
    let proxy = Proxy::start(server.address()).await;
    fixture.engine = Some(proxy.url.clone());
    let mut lost = worker(&fixture, "one", &["--slots", "1"]);
    fixture.engine = direct;
    let shell = command(&fixture, 2).await;
    proxy.is_cut.send_replace(true);
    open_gates(&fixture, 3..=9);
    let _worker = worker(&fixture, "two", &["--slots", "1"]);
    wait(&fixture, 1).await;
    assert_eq!(fixture.check_results(&[TASK.to_owned()]).await, (0, 1));
    proxy.is_cut.send_replace(false);
    wait_for_line(&fixture, "one", "another worker owns the run").await;
    wait_for_death(shell).await;
    let engine = server.engine("main", "b").await;
    assert_eq!(check_log(&fixture, &engine, TASK).await, 2);
    lost.kill().await.unwrap();
}

#[tokio::test]
async fn agents_wait_while_the_server_is_away() {
    let Some((fixture, mut server)) = fleet().await else {
        return;
    };
    submit(&fixture, &[TASK.to_owned()], &json!({}), &[]).await;
    // One slot works, the other one notices that the queue is gone.
    let mut worker = worker(&fixture, "one", &["--slots", "2"]);
    command(&fixture, 2).await;
    server.kill();
    wait_for_line(&fixture, "one", "warning: queue").await;
    // The command ends, and the agent waits at its barrier.
    open_gates(&fixture, 2..=9);
    server.restart().await;
    wait(&fixture, 1).await;
    assert_eq!(fixture.check_results(&[TASK.to_owned()]).await, (0, 0));
    assert_eq!(fixture.results().await[TASK]["attempts"], 1);
    let engine = server.engine("main", "b").await;
    assert_eq!(check_log(&fixture, &engine, TASK).await, 1);
    worker.kill().await.unwrap();
}

#[tokio::test]
async fn a_run_that_cannot_be_read_does_not_stop_its_worker() {
    let Some((fixture, server)) = fleet().await else {
        return;
    };
    let names = ["damaged".to_owned(), "sound".to_owned()];
    submit(&fixture, &names, &json!({}), &[]).await;
    // A record of a newer version.
    let engine = server.engine("main", "b").await;
    let client = async_nats::connect(server.url()).await.unwrap();
    let context = async_nats::jetstream::new(client);
    let subject = format!("pi.main.log.{}.b.damaged", shard("b.damaged"));
    let record = r#"{"v":2,"epoch":1,"kind":"claim"}"#;
    let message = ("pi.main.msg.b.sound".to_owned(), r#"{"control":"dance"}"#);
    for (subject, content) in [(subject, record), message] {
        let stored = context.publish(subject, content.into()).await.unwrap();
        stored.await.unwrap();
    }
    let mut worker = worker(&fixture, "one", &["--slots", "1"]);
    wait_for_line(&fixture, "one", "newer version").await;
    let is_finished = async || {
        let runs = engine.overview().await.unwrap();
        runs.iter().any(|run| run.state.result.is_some())
    };
    until("no run has finished", is_finished).await;
    assert!(worker.try_wait().unwrap().is_none());
    worker.kill().await.unwrap();
}

#[tokio::test]
async fn a_task_of_a_newer_version_does_not_hide_the_others() {
    let Some((fixture, server)) = fleet().await else {
        return;
    };
    submit(&fixture, &["sound".to_owned()], &json!({}), &[]).await;
    let client = async_nats::connect(server.url()).await.unwrap();
    let context = async_nats::jetstream::new(client);
    for (subject, stored) in [
        (
            "task.b.newer",
            r#"{"id":"newer","prompt":"x","planet":"mars"}"#,
        ),
        ("msg.b.sound", r#"{"control":"dance"}"#),
    ] {
        let subject = format!("pi.main.{subject}");
        let stored = context.publish(subject, stored.into()).await.unwrap();
        stored.await.unwrap();
    }
    let output = fixture.fleet(&["ls", "b"]).output().await.unwrap();
    let text = describe(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("b: 0/2 finished"), "{text}");
    assert!(text.contains("cannot read newer: "), "{text}");
    assert!(text.contains("unknown field `planet`"), "{text}");
    assert!(text.contains("cannot read sound: "), "{text}");
}

/// The stream that has the log of a run.
fn shard(run: &str) -> u8 {
    use sha2::{Digest as _, Sha256};
    Sha256::digest(run.as_bytes())[0] % 16
}
