//! What the NATS engine does when writers race, and when its server dies.

use std::time::Duration;

use pi_fleet::{
    AppendError, Delivery, EngineError, FleetEngine as _, LogEntry, NatsEngine, NatsOptions,
    NextRun, RunContent, parse_tasks,
};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::nats_server::NatsServer;

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

#[tokio::test]
async fn of_racing_writers_one_wins_each_round() {
    const ROUNDS: u64 = 50;
    let Some(server) = NatsServer::start().await else {
        return;
    };
    let engine = server.engine("race", "b").await;
    let delivery = take(&engine).await;
    for round in 1..=ROUNDS {
        let mut logs = Vec::new();
        for _ in 0..8 {
            let log = engine.open(&delivery).await.unwrap();
            assert_eq!(log.state().epoch, round - 1);
            logs.push(log);
        }
        let mut writers = tokio::task::JoinSet::new();
        for (writer, mut log) in logs.into_iter().enumerate() {
            writers.spawn(async move {
                let entry = claim(round, &format!("w{writer}"));
                log.append(entry, Vec::new()).await
            });
        }
        let results = writers.join_all().await;
        let winners = results.iter().filter(|result| result.is_ok()).count();
        let is_fenced =
            |result: &&Result<(), AppendError>| matches!(result, Err(AppendError::Fenced));
        let fenced = results.iter().filter(is_fenced).count();
        assert_eq!((winners, fenced), (1, 7), "round {round}: {results:?}");
    }
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
    assert!(!again.charge(&delivery, 0.25).await.unwrap());
    assert!(again.charge(&delivery, 0.25).await.unwrap());
}
