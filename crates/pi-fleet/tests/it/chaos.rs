//! Batches whose processes are killed at random. `cargo xtask fleet-chaos` runs them with more tasks and kills.

use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use serde_json::json;

use crate::fixture::{Fixture, describe};
use crate::undisturbed::Undisturbed;

pub(crate) fn setting(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value
        .and_then(|value| value.parse().ok())
        .unwrap_or(default)
}

/// Deterministic pseudo-random numbers (`SplitMix64`).
pub(crate) fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let number = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

#[tokio::test]
async fn killed_batches_end_like_undisturbed_ones() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let count = setting("PI_FLEET_CHAOS_TASKS", 6);
    let mut fleet_kills = setting("PI_FLEET_CHAOS_FLEET_KILLS", 3);
    let mut agent_kills = setting("PI_FLEET_CHAOS_AGENT_KILLS", 6);
    let planned = (fleet_kills, agent_kills);
    let workers = setting("PI_FLEET_CHAOS_WORKERS", 3).to_string();
    let mut random = setting("PI_FLEET_CHAOS_SEED", 1);
    let names: Vec<String> = (0..count).map(|number| format!("task-{number}")).collect();
    let tasks = fixture.tasks(&names, &json!({"limits": {"attempts": 1000}}));
    let mut starts = 0;
    let status: ExitStatus = loop {
        starts += 1;
        let mut fleet = fixture
            .run(&tasks, &["--workers", &workers])
            .spawn()
            .unwrap();
        let mut stderr = fleet.stderr.take().unwrap();
        let output = tokio::spawn(async move {
            let mut text = String::new();
            tokio::io::AsyncReadExt::read_to_string(&mut stderr, &mut text)
                .await
                .ok();
            text
        });
        let status = loop {
            let pause = Duration::from_millis(100 + splitmix64(&mut random) % 600);
            if fleet_kills + agent_kills == 0 {
                break fleet.wait().await.unwrap();
            }
            match tokio::time::timeout(pause, fleet.wait()).await {
                Ok(status) => break status.unwrap(),
                Err(_running) if splitmix64(&mut random).is_multiple_of(3) && fleet_kills > 0 => {
                    fleet_kills -= 1;
                    fleet.start_kill().unwrap();
                }
                Err(_running) if agent_kills > 0 => {
                    if kill_agent(&fixture.batch(), splitmix64(&mut random)) {
                        agent_kills -= 1;
                    }
                }
                Err(_running) => {}
            }
        };
        let text = output.await.unwrap();
        if status.code().is_some() {
            assert!(status.success(), "{status}: {text}");
            break status;
        }
    };
    assert!(status.success());
    let (cut, interrupted) = fixture.check_results(&names).await;
    if let Some(undisturbed) = Undisturbed::run().await {
        undisturbed.check(&fixture, &names).await;
    }
    eprintln!(
        "{count} tasks, {} kills of the command, {} of agents, {starts} starts; {cut} requests cut, {interrupted} calls \
         interrupted",
        planned.0 - fleet_kills,
        planned.1 - agent_kills,
    );
}

/// An agent that is killed while it creates its session leaves a file without a prompt, or even a header.
#[tokio::test]
async fn what_an_agent_left_before_its_prompt_is_replaced() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let header = |id: &str| {
        let header = json!({"type": "session", "version": 3, "id": id, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/"});
        format!("{header}\n")
    };
    for (task, left) in [
        ("empty", String::new()),
        ("torn", header("torn").chars().take(20).collect()),
        ("header", header("header")),
    ] {
        let file = format!("agent/fleet/batches/b/sessions/2026-01-01T00-00-00-000Z_{task}.jsonl");
        fixture.home.write(&file, left);
    }
    let names = ["empty", "torn", "header"].map(str::to_owned);
    let tasks = fixture.tasks(&names, &json!({}));
    let output = fixture.run(&tasks, &[]).output().await.unwrap();
    assert!(output.status.success(), "{}", describe(&output));
    fixture.check_results(&names).await;
}

/// Kills the agent of some run; returns whether there was one.
pub(crate) fn kill_agent(batch: &Path, random: u64) -> bool {
    let files = std::fs::read_dir(batch.join("runs")).into_iter().flatten();
    let mut agents: Vec<_> = files
        .filter_map(|file| Some(file.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "agent"))
        .collect();
    agents.sort();
    let Some(index) = usize::try_from(random).unwrap().checked_rem(agents.len()) else {
        return false;
    };
    let text = std::fs::read_to_string(&agents[index]).unwrap_or_default();
    let process = text.split(' ').next().and_then(|id| id.parse().ok());
    let process = process.and_then(rustix::process::Pid::from_raw);
    process.is_some_and(|process| {
        rustix::process::kill_process(process, rustix::process::Signal::KILL).is_ok()
    })
}

#[tokio::test]
async fn an_undisturbed_batch_starts_every_run_once() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let names = ["one".to_owned(), "two".to_owned()];
    let tasks = fixture.tasks(
        &names,
        &json!({"verify": "test -f b.txt", "artifacts": ["*.log"]}),
    );
    let output = fixture.run(&tasks, &[]).output().await.unwrap();
    assert!(output.status.success(), "{}", describe(&output));
    assert_eq!(fixture.check_results(&names).await, (0, 0));
    let results = fixture.results().await;
    for name in &names {
        let result = &results[name];
        assert_eq!(result["attempts"], 1);
        assert_eq!(result["turns"], 4);
        assert_eq!(result["verify"]["exit"], 0);
        assert_eq!(result["artifacts"], json!(["build.log"]));
        assert_eq!(
            fixture
                .home
                .read(&format!("out/artifacts/{name}/build.log")),
            "x\n"
        );
        // 4 × (1000 × $10 + 500 × $20) per million tokens.
        let cost = result["cost"].as_f64().unwrap();
        assert!((cost - 0.08).abs() < 1e-9, "{cost}");
    }
    // The same command has nothing left to do.
    let again = fixture.run(&tasks, &[]).output().await.unwrap();
    assert!(again.status.success());
    assert_eq!(fixture.model.requests("one"), 4);
}
