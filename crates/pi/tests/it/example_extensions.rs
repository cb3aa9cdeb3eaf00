//! The example extensions of the TypeScript pi, run by our binary: each loads, and most are driven through what
//! they are for. Skips where the package is not installed.
//!
//! `example_extensions/behavior.json` says what is done with each and what must be seen. A run with
//! `PI_EXAMPLES_PROGRAM` set drives that program instead, which shows whether a row states a fact about the
//! TypeScript pi; `PI_EXAMPLES_ONLY` picks the rows whose extension has these words in its name.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::extension_driver::{self as driver, Driver, pattern, program, replies};
use crate::process::World;
use crate::reference_client::modules;

/// How many programs run side by side.
const SIDE_BY_SIDE: usize = 3;

/// What cannot be loaded where only the TypeScript pi is installed, and the package it lacks.
const WITHOUT_THEIR_PACKAGES: [(&str, &str); 2] = [
    ("gondolin", "@earendil-works/gondolin"),
    ("sandbox", "@anthropic-ai/sandbox-runtime"),
];

/// How many of the examples have a row of behavior.
const DRIVEN: usize = 40;

/// Returns where the examples are, if they are installed.
pub(crate) fn folder() -> Option<PathBuf> {
    let folder = modules()?.join("@earendil-works/pi-coding-agent/examples/extensions");
    folder.is_dir().then_some(folder)
}

/// Lists what discovery would load: files, and folders with an index.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.join("index.ts").is_file()
                || path.extension().is_some_and(|extension| extension == "ts")
        })
        .filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    names
}

fn table() -> Vec<Value> {
    let path = "tests/it/example_extensions/behavior.json";
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Runs every job, a few at a time, and returns what went wrong.
async fn run_all<J, F>(jobs: Vec<J>) -> Vec<String>
where
    J: FnOnce() -> F,
    F: Future<Output = Result<(), String>> + Send + 'static,
{
    let slots = Arc::new(Semaphore::new(SIDE_BY_SIDE));
    let mut running = JoinSet::new();
    for job in jobs {
        let slot = Arc::clone(&slots).acquire_owned().await.unwrap();
        let job = job();
        running.spawn(async move {
            let outcome = job.await;
            drop(slot);
            outcome
        });
    }
    let outcomes = running.join_all().await;
    let mut failures: Vec<String> = outcomes.into_iter().filter_map(Result::err).collect();
    failures.sort();
    failures
}

#[tokio::test]
async fn every_example_loads() {
    let Some(folder) = folder() else {
        println!("skipped: the examples of the TypeScript pi are not installed");
        return;
    };
    let names = names(&folder);
    assert!(names.len() >= 77, "{names:?}");
    let jobs = names.iter().map(|name| {
        let (name, path) = (name.clone(), folder.join(name));
        move || load(name, path)
    });
    let failures = run_all(jobs.collect()).await;
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

async fn load(name: String, path: PathBuf) -> Result<(), String> {
    let world = World::new([]).await;
    let path = path.to_string_lossy().into_owned();
    let arguments = ["--mode", "rpc", "--model", "mock/alpha", "-e", &path];
    let run = world
        .run_with_input(&arguments, "{\"type\":\"get_state\",\"id\":1}\n")
        .await;
    let lacking = WITHOUT_THEIR_PACKAGES.iter().find(|(it, _)| *it == name);
    let expected = match lacking {
        None => run.code == Some(0) && run.stderr.is_empty(),
        // It says which package is missing, and what to do.
        Some((_, package)) => {
            run.code == Some(1)
                && run.stderr.contains(package)
                && run.stderr.contains("npm install")
        }
    };
    if expected {
        return Ok(());
    }
    Err(format!("{name}: {:?} {}", run.code, run.stderr))
}

#[tokio::test]
async fn the_examples_do_what_they_are_for() {
    let Some(folder) = folder() else {
        println!("skipped: the examples of the TypeScript pi are not installed");
        return;
    };
    let rows = table();
    let mut driven: Vec<&str> = rows
        .iter()
        .map(|row| row["extension"].as_str().unwrap())
        .collect();
    driven.dedup();
    assert!(driven.len() >= DRIVEN, "{} are driven", driven.len());
    let only = std::env::var("PI_EXAMPLES_ONLY").unwrap_or_default();
    let jobs = rows
        .into_iter()
        .filter(|row| row["extension"].as_str().unwrap().contains(&only))
        .map(|row| {
            let folder = folder.clone();
            move || drive(row, folder)
        });
    let failures = run_all(jobs.collect()).await;
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

async fn drive(row: Value, folder: PathBuf) -> Result<(), String> {
    let extension = row["extension"].as_str().unwrap().to_owned();
    let about = row["about"].as_str().unwrap().to_owned();
    let world = World::new(replies(&row["model"])).await;
    let row = driver::fill(&row, &world, &folder);
    driver::prepare(&row, &world);
    // Some are driven in a copy, with another address in it.
    let path = folder.join(row["path"].as_str().unwrap_or(&extension));
    let mut driver = Driver::start(&world, &program(), &path, &row);
    let outcome = driver.follow(&row).await;
    let seen = driver.finish(&row).await;
    let complaint = match outcome {
        Err(complaint) => Some(complaint),
        Ok(()) => complaint(&row, &seen),
    };
    let Some(complaint) = complaint else {
        return Ok(());
    };
    let seen: Vec<String> = seen.iter().map(brief).collect();
    Err(format!(
        "{extension}: {about}: {complaint}\n  {}",
        seen.join("\n  ")
    ))
}

/// Returns what was expected and not seen, or seen and not expected.
fn complaint(row: &Value, seen: &[Value]) -> Option<String> {
    let list = |name: &str| row[name].as_array().cloned().unwrap_or_default();
    let mut never = list("never");
    if row["fails"] != json!(true) {
        never.push(json!({"type": "extension_error"}));
    }
    for expected in list("expect") {
        if !seen
            .iter()
            .any(|record| pattern::matches(&expected, record))
        {
            return Some(format!("not seen: {expected}"));
        }
    }
    let unwanted = never
        .iter()
        .find_map(|unwanted| seen.iter().find(|it| pattern::matches(unwanted, it)))?;
    Some(format!("seen: {}", brief(unwanted)))
}

/// Shortens a record for a person to read.
fn brief(record: &Value) -> String {
    const LENGTH: usize = 400;
    record.to_string().chars().take(LENGTH).collect()
}
