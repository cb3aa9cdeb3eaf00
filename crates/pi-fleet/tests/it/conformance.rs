//! What every engine guarantees.

use std::time::Duration;

use pi_fleet::{
    AppendError, ControlMessage, Delivery, FleetEngine, FleetTask, LocalEngine, LogEntry, NextRun,
    RunLog, RunRecord, parse_tasks,
};
use pretty_assertions::assert_eq;

use crate::nats_server::NatsServer;

fn tasks(lines: &[&str]) -> Vec<FleetTask> {
    parse_tasks(&lines.join("\n")).unwrap()
}

fn entry(epoch: u64, record: &RunRecord) -> LogEntry {
    let json = serde_json::to_value(record).unwrap();
    let mut object = serde_json::json!({"v": 1, "epoch": epoch});
    object
        .as_object_mut()
        .unwrap()
        .extend(json.as_object().unwrap().clone());
    serde_json::from_value(object).unwrap()
}

fn claim(worker: &str) -> RunRecord {
    RunRecord::Claim {
        worker: worker.to_owned(),
        attempt: 1,
        cut: false,
        version: "1".to_owned(),
        pi: "1".to_owned(),
    }
}

/// Waits until a run is ready: a server needs a moment to notice that a lease has ended.
async fn next_run(engine: &dyn FleetEngine) -> Delivery {
    for _ in 0..600 {
        match engine.next().await.unwrap() {
            NextRun::Run(delivery) => return delivery,
            NextRun::Wait => tokio::time::sleep(Duration::from_millis(50)).await,
            NextRun::Done => panic!("nothing is left"),
        }
    }
    panic!("nothing is ready")
}

async fn append(log: &mut dyn RunLog, epoch: u64, record: &RunRecord) -> Result<(), AppendError> {
    log.append(entry(epoch, record), Vec::new()).await
}

async fn has_next(engine: &dyn FleetEngine) -> bool {
    matches!(engine.next().await.unwrap(), NextRun::Run(_))
}

/// Submits twice; tasks are delivered by priority, and once at a time.
async fn queue(engine: &dyn FleetEngine, other: &dyn FleetEngine) {
    let tasks = tasks(&[
        r#"{"id":"low","prompt":"x"}"#,
        r#"{"id":"first","prompt":"x","priority":1}"#,
        r#"{"id":"second","prompt":"x","priority":1}"#,
    ]);
    assert_eq!(engine.submit(&tasks).await.unwrap(), 3);
    assert_eq!(other.submit(&tasks).await.unwrap(), 0);
    let first = next_run(engine).await;
    let second = next_run(other).await;
    let third = next_run(engine).await;
    let ids = [&first, &second, &third].map(|delivery| delivery.task.id.clone());
    assert_eq!(ids, ["first", "second", "low"]);
    assert!(!has_next(engine).await && !has_next(other).await);
    // A lease ends with its holder.
    drop(second);
    let second = next_run(engine).await;
    assert_eq!(second.task.id, "second");
    // A run that is released for later is not delivered now.
    engine
        .release(third, Duration::from_hours(1))
        .await
        .unwrap();
    drop(first);
    assert_eq!(next_run(engine).await.task.id, "first");
    drop(second);
}

/// Of two workers with the log of a run, the one that appended last owns it.
async fn fence(engine: &dyn FleetEngine) {
    engine
        .submit(&tasks(&[r#"{"id":"a","prompt":"x"}"#]))
        .await
        .unwrap();
    let delivery = next_run(engine).await;
    let mut zombie = engine.open(&delivery).await.unwrap();
    append(&mut *zombie, 1, &claim("zombie")).await.unwrap();
    let mut owner = engine.open(&delivery).await.unwrap();
    assert_eq!(owner.state().epoch, 1);
    append(&mut *owner, 2, &claim("owner")).await.unwrap();
    for _ in 0..2 {
        let late = append(&mut *zombie, 1, &RunRecord::Control { delivered: 9 }).await;
        assert!(matches!(late, Err(AppendError::Fenced)), "{late:?}");
    }
    append(&mut *owner, 2, &RunRecord::Control { delivered: 7 })
        .await
        .unwrap();
    let read = engine.open(&delivery).await.unwrap();
    assert_eq!(read.state(), owner.state());
    assert_eq!(read.state().workers, ["zombie", "owner"]);
}

/// A finished run is not delivered again until it is reopened.
async fn finish(engine: &dyn FleetEngine) {
    engine
        .submit(&tasks(&[r#"{"id":"a","prompt":"x"}"#]))
        .await
        .unwrap();
    let delivery = next_run(engine).await;
    assert!(
        engine.reopen("a", None).await.is_err(),
        "the run is in progress"
    );
    let mut log = engine.open(&delivery).await.unwrap();
    append(&mut *log, 1, &claim("w")).await.unwrap();
    let result = serde_json::json!({
        "kind": "end", "result": {"task": "a", "run": "b/a", "status": "failed", "exit": 1, "turns": 1, "cost": 0.5,
        "usage": {"input": 1, "output": 1, "cacheRead": 0}, "attempts": 1, "cutRequests": 0, "interruptedCalls": 0,
        "workers": ["w"], "artifacts": []},
    });
    let end: RunRecord = serde_json::from_value(result).unwrap();
    append(&mut *log, 1, &end).await.unwrap();
    drop(log);
    engine.finish(delivery).await.unwrap();
    assert!(matches!(engine.next().await.unwrap(), NextRun::Done));
    assert!(engine.reopen("a", None).await.unwrap());
    assert!(!engine.reopen("a", None).await.unwrap());
    let overview = engine.overview().await.unwrap();
    assert_eq!((overview[0].state.round, overview[0].state.epoch), (1, 1));
    assert_eq!(next_run(engine).await.task.id, "a");
}

/// Messages reach the run in order, once each; a paused run is not delivered.
async fn control(engine: &dyn FleetEngine, other: &dyn FleetEngine) {
    let submitted = tasks(&[r#"{"id":"a","prompt":"x"}"#]);
    engine.submit(&submitted).await.unwrap();
    other.submit(&submitted).await.unwrap();
    let steer = |text: &str| ControlMessage::Steer {
        message: text.to_owned(),
    };
    other.send("a", steer("one")).await.unwrap();
    let delivery = next_run(engine).await;
    assert_eq!(engine.control(&delivery, 0).await.unwrap().len(), 1);
    other.send("a", ControlMessage::Pause).await.unwrap();
    assert!(other.send("missing", steer("x")).await.is_err());
    let mut messages = Vec::new();
    while messages.len() < 2 {
        messages = engine.control(&delivery, 0).await.unwrap();
    }
    assert_eq!(messages[1].message, ControlMessage::Pause);
    assert_eq!(
        (messages[0].number, &messages[0].message),
        (1, &steer("one"))
    );
    assert_eq!(engine.control(&delivery, 1).await.unwrap(), messages[1..]);
    drop(delivery);
    assert!(!has_next(engine).await);
    assert!(engine.overview().await.unwrap()[0].is_paused);
    other.send("a", ControlMessage::Resume).await.unwrap();
    assert_eq!(next_run(engine).await.task.id, "a");
}

#[tokio::test]
async fn the_local_engine_conforms() {
    let directory = tempfile::tempdir().unwrap();
    let open = |name: &str| LocalEngine::open(&directory.path().join(name)).unwrap();
    queue(&open("queue"), &open("queue")).await;
    fence(&open("fence")).await;
    finish(&open("finish")).await;
    control(&open("control"), &open("control")).await;
}

#[tokio::test]
async fn the_nats_engine_conforms() {
    let Some(server) = NatsServer::start().await else {
        return;
    };
    let open = async |fleet: &str| server.engine(fleet, "b").await;
    queue(&open("queue").await, &open("queue").await).await;
    fence(&open("fence").await).await;
    finish(&open("finish").await).await;
    control(&open("control").await, &open("control").await).await;
}
