//! What the NATS engine does when writers race, and when its server dies.

use std::time::Duration;

use pi_fleet::{
    AppendError, BucketChange, BucketId, Charge, Delivery, EngineError, FleetEngine as _, LogEntry,
    NatsEngine, NatsOptions, NextRun, Rates, RunContent, RunLog, parse_tasks,
};
use pretty_assertions::assert_eq;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::chaos::setting;
use crate::machines::{today, unqueued, until};
use crate::nats_server::{NatsCluster, NatsServer};

fn entry(epoch: u64, record: &serde_json::Value) -> LogEntry {
    let mut object = record.as_object().unwrap().clone();
    object.extend(json!({"v": 1, "epoch": epoch}).as_object().unwrap().clone());
    serde_json::from_value(object.into()).unwrap()
}

fn claim(epoch: u64, worker: &str) -> LogEntry {
    entry(
        epoch,
        &json!({"kind": "claim", "worker": worker, "attempt": 1, "cut": false, "version": "1"}),
    )
}

fn bytes(epoch: u64, length: usize) -> LogEntry {
    entry(epoch, &json!({"kind": "bytes", "length": length}))
}

async fn next_run(engine: &NatsEngine) -> Delivery {
    for _ in 0..600 {
        match engine.next().await {
            Ok(NextRun::Run(delivery)) => return delivery,
            Ok(NextRun::Done) => panic!("nothing is left"),
            Ok(NextRun::Wait) => {}
            Err(error) => assert!(error.is_transient(), "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("nothing is ready")
}

/// Submits a task and takes it.
async fn take(engine: &NatsEngine) -> Delivery {
    let task = parse_tasks(r#"{"id":"a","prompt":"x"}"#).unwrap();
    engine.submit(&task).await.unwrap();
    next_run(engine).await
}

/// Rounds of a race in one log: all writers read it in each round.
const ROUNDS_PER_LOG: u64 = 50;

/// Eight writers append to the same log at the same time, in each round.
async fn race(engine: &NatsEngine, rounds: u64, mut disturb: impl FnMut(u64)) {
    for round in 1..=rounds {
        let epoch = (round - 1) % ROUNDS_PER_LOG;
        let delivery = &unqueued("b", &format!("r{}", round - epoch));
        let mut logs = Vec::new();
        for _ in 0..8 {
            let log = open(engine, delivery).await;
            assert_eq!(log.state().epoch, epoch);
            logs.push(log);
        }
        let mut writers = tokio::task::JoinSet::new();
        for (writer, mut log) in logs.into_iter().enumerate() {
            writers.spawn(async move {
                let entry = claim(epoch + 1, &format!("w{writer}"));
                log.append(entry, Vec::new()).await
            });
        }
        disturb(round);
        let results = writers.join_all().await;
        let winners = results.iter().filter(|result| result.is_ok()).count();
        let is_fenced =
            |result: &&Result<(), AppendError>| matches!(result, Err(AppendError::Fenced));
        let fenced = results.iter().filter(is_fenced).count();
        assert_eq!((winners, fenced), (1, 7), "round {round}: {results:?}");
    }
}

/// Opens a log, as soon as a killed node is back.
async fn open(engine: &NatsEngine, delivery: &Delivery) -> Box<dyn RunLog> {
    for _ in 0..600 {
        match engine.open(delivery).await {
            Ok(log) => return log,
            Err(error) => assert!(error.is_transient(), "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the log cannot be opened")
}

#[tokio::test]
async fn of_racing_writers_one_wins_each_round() {
    let Some(server) = NatsServer::start().await else {
        return;
    };
    race(&server.engine("race", "b").await, 50, |_| {}).await;
}

#[tokio::test]
async fn of_racing_writers_one_wins_while_nodes_are_killed() {
    let Some(mut cluster) = NatsCluster::start().await else {
        return;
    };
    let rounds = setting("PI_FLEET_RACE_ROUNDS", 20);
    let kills = setting("PI_FLEET_RACE_KILLS", 2).max(1);
    let engine = cluster.engine("race", "b").await;
    let every = rounds / (kills + 1);
    let mut killed: usize = 0;
    race(&engine, rounds, |round| {
        if round.is_multiple_of(every) && round < rounds {
            killed += 1;
            cluster.crash(killed);
        }
    })
    .await;
    eprintln!("{rounds} rounds, {killed} nodes killed, one winner in each");
}

#[tokio::test]
async fn a_server_that_has_lost_its_disk_accepts_no_writer() {
    let Some(mut server) = NatsServer::start().await else {
        return;
    };
    let engine = server.engine("lost", "b").await;
    let delivery = take(&engine).await;
    let mut log = engine.open(&delivery).await.unwrap();
    log.append(claim(1, "w"), Vec::new()).await.unwrap();
    server.kill();
    server.lose_disk();
    server.restart().await;
    // Another client creates the fleet again.
    server.engine("lost", "b").await;
    let appended = log.append(bytes(1, 0), Vec::new()).await;
    let error = appended.unwrap_err().to_string();
    assert!(error.contains("lost messages"), "{error}");
}

#[tokio::test]
async fn servers_that_do_not_fence_are_refused() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let info = json!({
        "server_id": "a", "server_name": "a", "version": "2.9.10", "go": "1", "host": "127.0.0.1", "port": port,
        "headers": true, "max_payload": 1_048_576, "proto": 1, "client_id": 1, "jetstream": true,
    });
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let line = format!("INFO {info}\r\n");
        socket.write_all(line.as_bytes()).await.unwrap();
        let mut received = [0; 4096];
        while socket
            .read(&mut received)
            .await
            .is_ok_and(|count| count > 0)
        {
            socket.write_all(b"PONG\r\n").await.unwrap();
        }
    });
    let url = format!("nats://127.0.0.1:{port}");
    let connected = NatsEngine::connect(&NatsOptions::new(url), "b").await;
    let error = connected.err().unwrap();
    assert!(matches!(error, EngineError::OldServer(_)), "{error}");
}

#[tokio::test]
async fn content_of_any_size_is_read_again() {
    let Some(server) = NatsServer::start().await else {
        return;
    };
    let engine = server.engine("content", "b").await;
    let delivery = take(&engine).await;
    let mut log = engine.open(&delivery).await.unwrap();
    let session = b"line\n".repeat(300_000);
    let (first, second) = session.split_at(1_000_001);
    log.append(claim(1, "w"), Vec::new()).await.unwrap();
    let appended = log.append(bytes(1, first.len()), first.to_vec());
    appended.await.unwrap();
    let tree = entry(1, &json!({"kind": "tree", "base": "b", "tree": "t"}));
    log.append(tree, b"PACK\n\0".to_vec()).await.unwrap();
    let appended = log.append(bytes(1, session.len()), second.to_vec());
    appended.await.unwrap();
    let mut read = engine.open(&delivery).await.unwrap();
    let packs = vec![b"PACK\n\0".to_vec()];
    assert_eq!(read.state(), log.state());
    assert!(read.take_content() == RunContent { session, packs });
    assert!(read.take_content() == RunContent::default());
}

#[tokio::test]
async fn a_killed_server_delays_writers_and_loses_nothing() {
    let Some(mut server) = NatsServer::start().await else {
        return;
    };
    let engine = server.engine("outage", "b").await;
    let other = server.engine("outage", "b").await;
    let delivery = take(&engine).await;
    let mut log = engine.open(&delivery).await.unwrap();
    log.append(claim(1, "w"), Vec::new()).await.unwrap();
    for round in 1..=3 {
        server.kill();
        let mut appending = tokio::spawn(async move {
            let appended = log.append(bytes(1, round), b"x".to_vec()).await;
            (appended, log)
        });
        let early = tokio::time::timeout(Duration::from_millis(300), &mut appending).await;
        assert!(early.is_err(), "appended without a server");
        server.restart().await;
        let (appended, back) = appending.await.unwrap();
        appended.unwrap();
        log = back;
    }
    let mut read = engine.open(&delivery).await.unwrap();
    assert_eq!(read.take_content().session, b"xxx");
    // The server delivers the run again, but its owner lives.
    for _ in 0..3 {
        match other.next().await {
            Ok(NextRun::Run(_)) => panic!("the run has an owner"),
            Ok(NextRun::Wait | NextRun::Done) => {}
            Err(error) => assert!(error.is_transient(), "{error}"),
        }
    }
    drop(delivery);
    assert_eq!(next_run(&other).await.task.id, "a");
}

#[tokio::test]
async fn writers_wait_an_hour_for_a_server() {
    let Some(mut server) = NatsServer::start().await else {
        return;
    };
    let engine = server.engine("hour", "b").await;
    let delivery = take(&engine).await;
    let mut log = engine.open(&delivery).await.unwrap();
    log.append(claim(1, "w"), Vec::new()).await.unwrap();
    server.kill();
    // From here on, time passes as soon as everything waits.
    tokio::time::pause();
    let mut appending = tokio::spawn(async move {
        let appended = log.append(bytes(1, 1), b"x".to_vec()).await;
        (appended, log)
    });
    let hour = Duration::from_hours(1);
    let early = tokio::time::timeout(hour, &mut appending).await;
    assert!(early.is_err(), "appended without a server");
    tokio::time::resume();
    server.restart().await;
    let (appended, mut log) = appending.await.unwrap();
    appended.unwrap();
    log.append(bytes(1, 2), b"y".to_vec()).await.unwrap();
    let mut read = engine.open(&delivery).await.unwrap();
    assert_eq!(read.take_content().session, b"xy");
    log.check_owner().await.unwrap();
}

#[tokio::test]
async fn a_fleet_that_cannot_be_reached_is_an_error() {
    let url = "nats://127.0.0.1:1";
    let connected = NatsEngine::connect(&NatsOptions::new(url), "b").await;
    let error = connected.err().unwrap();
    assert!(error.is_transient(), "{error}");
    let options = NatsOptions {
        fleet: "a.b".to_owned(),
        ..NatsOptions::new(url)
    };
    let error = NatsEngine::connect(&options, "b").await.err().unwrap();
    assert!(matches!(error, EngineError::InvalidFleet(_)), "{error}");
}

#[tokio::test]
async fn a_task_that_is_too_long_is_refused_by_name() {
    let Some(server) = NatsServer::start().await else {
        return;
    };
    let engine = server.engine("long", "b").await;
    let long = json!({"id": "long", "prompt": "x".repeat(17_000_000)}).to_string();
    let tasks = parse_tasks(&format!("{{\"id\":\"a\",\"prompt\":\"x\"}}\n{long}")).unwrap();
    let error = engine.submit(&tasks).await.unwrap_err();
    assert!(
        error.to_string().starts_with("the task `long` has 17000"),
        "{error}"
    );
    assert!(engine.overview().await.unwrap().is_empty());
}

#[tokio::test]
async fn tasks_of_other_clients_are_checked() {
    let Some(server) = NatsServer::start().await else {
        return;
    };
    let engine = server.engine("main", "b").await;
    let client = async_nats::connect(server.url()).await.unwrap();
    let context = async_nats::jetstream::new(client);
    // The names of batches and tasks, in which `=` replaces a dot.
    for (number, (name, id, reference)) in [
        ("b.option", "option", "--upload-pack=x"),
        ("b.other", "option", "main"),
        ("==.x", "x", "main"),
    ]
    .into_iter()
    .enumerate()
    {
        let task = json!({"id": id, "prompt": "x", "ref": reference}).to_string();
        for (subject, payload) in [
            (format!("pi.main.task.{name}"), task),
            (format!("pi.main.run.normal.any.{name}"), String::new()),
        ] {
            let stored = context.publish(subject, payload.into()).await.unwrap();
            stored.await.unwrap();
        }
        for _ in 0..2 {
            assert!(
                matches!(engine.next().await.unwrap(), NextRun::Wait),
                "{number}"
            );
        }
    }
    let valid = json!({"id": "valid", "prompt": "x"}).to_string();
    let stored = context.publish("pi.main.task.b.valid", valid.into()).await;
    stored.unwrap().await.unwrap();
    let queued = context.publish("pi.main.run.normal.any.b.valid", "".into());
    queued.await.unwrap().await.unwrap();
    assert_eq!(next_run(&engine).await.task.id, "valid");
}

#[tokio::test]
async fn a_batch_that_is_submitted_again_keeps_its_budget() {
    let Some(server) = NatsServer::start().await else {
        return;
    };
    let engine = server.engine("budget", "b").await;
    engine.add(Some(0.5)).await.unwrap();
    // Another process, which has not read the budget.
    let again = server.engine("budget", "b").await;
    again.add(None).await.unwrap();
    let delivery = take(&again).await;
    let charge = |id: &str, spent, reserve| Charge {
        id: id.to_owned(),
        spent,
        reserve,
        per_day: None,
    };
    let is_reached = async |charge: &Charge| again.charge(&delivery, charge).await.unwrap();
    assert!(!is_reached(&charge("1", 0.25, 0.125)).await);
    // The response was lost, and the same charge is sent again.
    assert!(!is_reached(&charge("1", 0.25, 0.125)).await);
    assert!(
        is_reached(&charge("2", 0.0, 0.25)).await,
        "0.125 are reserved"
    );
    assert!(!is_reached(&charge("3", 0.0, 0.125)).await);
    assert!(!is_reached(&charge("4", -0.125, 0.0)).await);
    assert!(is_reached(&charge("5", 0.125, 0.0)).await);
    // A day counts all batches.
    let other = server.engine("budget", "c").await;
    let other_delivery = take(&other).await;
    for attempt in 6.. {
        let begin = today();
        is_reached(&charge(&format!("{attempt}"), 0.5, 0.0)).await;
        let day = Charge {
            per_day: Some(0.5),
            ..charge(&format!("{attempt}-day"), 0.0, 0.0)
        };
        let is_day_reached = other.charge(&other_delivery, &day).await.unwrap();
        // Again if the day has ended meanwhile.
        if today() == begin {
            assert!(is_day_reached);
            break;
        }
    }
    let without = charge("without", 0.0, 0.0);
    assert!(!other.charge(&other_delivery, &without).await.unwrap());
}

#[tokio::test]
async fn workers_share_rate_limits() {
    let Some(server) = NatsServer::start().await else {
        return;
    };
    let one = server.engine("rates", "b").await;
    let two = server.engine("rates", "b").await;
    let bucket = BucketId {
        account: String::new(),
        model: "mock/alpha".to_owned(),
    };
    // So slow that nothing is added during the test.
    let rates = Rates {
        requests_per_minute: Some(2),
        input_tokens_per_minute: None,
    };
    let lease = BucketChange::Lease { rates, tokens: 1 };
    let mut granted = 0;
    for _ in 0..2 {
        let (first, second) = tokio::join!(
            one.change_bucket(&bucket, &lease),
            two.change_bucket(&bucket, &lease)
        );
        for grant in [first.unwrap(), second.unwrap()] {
            granted += grant.requests;
        }
    }
    assert_eq!(granted, 2);
    let late = one.change_bucket(&bucket, &lease).await.unwrap();
    assert!(!late.wait.is_zero());
    // A provider has refused a request of one worker: the other one knows.
    let hour = Duration::from_hours(1);
    assert_eq!(two.drained(&bucket), Duration::ZERO);
    let drain = BucketChange::Drain(hour);
    one.change_bucket(&bucket, &drain).await.unwrap();
    let is_drained = async || !two.drained(&bucket).is_zero();
    until("the other worker was not notified", is_drained).await;
    let wait = two.change_bucket(&bucket, &lease).await.unwrap().wait;
    assert!(wait > hour / 2 && wait <= hour, "{wait:?}");
}
