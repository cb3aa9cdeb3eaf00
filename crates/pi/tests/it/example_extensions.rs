//! Runs the example extensions of the TypeScript pi: all of them load, and most are exercised. Skipped if the package
//! is not installed.
//!
//! `example_extensions/behavior.json` lists the steps and the expected records per extension. Set
//! `PI_EXAMPLES_PROGRAM` to run another program, for example to verify a row against the TypeScript pi.
//! `PI_EXAMPLES_ONLY` selects the rows whose extension name contains its value.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::extension_driver::{self as driver, ExtensionDriver, pattern, program, replies};
use crate::harness::TestContext;
use crate::reference_client::modules_of;

/// Number of programs that run concurrently.
const CONCURRENCY: usize = 3;

/// The version of the TypeScript pi whose examples run.
const VERSION: &str = "1.5.0";

/// Examples that need a package that is not installed with the TypeScript pi.
const MISSING_PACKAGES: [(&str, &str); 3] = [
    ("custom-provider-anthropic", "@anthropic-ai/sdk"),
    ("gondolin", "@earendil-works/gondolin"),
    ("with-deps", "ms"),
];

/// Minimum number of examples with a row in the table.
const MIN_EXERCISED: usize = 60;

/// Returns the directory of the examples if they are installed.
pub(crate) fn examples_dir() -> Option<PathBuf> {
    let modules = modules_of(VERSION)?;
    let directory = modules.join("@earendil-works/pi-coding-agent/examples/extensions");
    directory.is_dir().then_some(directory)
}

/// Lists the extensions that discovery would load: files, and directories with an `index.ts`.
fn example_names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
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

fn behavior_table() -> Vec<Value> {
    let path = "tests/it/example_extensions/behavior.json";
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Runs all jobs with limited concurrency and returns the failures.
async fn run_all<J, F>(jobs: Vec<J>) -> Vec<String>
where
    J: FnOnce() -> F,
    F: Future<Output = Result<(), String>> + Send + 'static,
{
    let slots = Arc::new(Semaphore::new(CONCURRENCY));
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
    let Some(directory) = examples_dir() else {
        println!("skipped: the examples of the TypeScript pi are not installed");
        return;
    };
    let names = example_names(&directory);
    assert!(names.len() >= 77, "{names:?}");
    let jobs = names.iter().map(|name| {
        let (name, path) = (name.clone(), directory.join(name));
        move || load(name, path)
    });
    let failures = run_all(jobs.collect()).await;
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Returns the package that an example needs and that is not installed.
fn missing_package(name: &str) -> Option<&'static str> {
    let (_, package) = MISSING_PACKAGES.iter().find(|(it, _)| *it == name)?;
    let is_installed = modules_of(VERSION).is_some_and(|modules| modules.join(package).is_dir());
    (!is_installed).then_some(package)
}

async fn load(name: String, path: PathBuf) -> Result<(), String> {
    let context = TestContext::new([]).await;
    let path = path.to_string_lossy().into_owned();
    let arguments = ["--mode", "rpc", "--model", "mock/alpha", "-e", &path];
    let run = context
        .run_with_input(&arguments, "{\"type\":\"get_state\",\"id\":1}\n")
        .await;
    let missing = missing_package(&name);
    let as_expected = match missing {
        None => run.code == Some(0) && run.stderr.is_empty(),
        // The error names the missing package and how to install it.
        Some(package) => {
            run.code == Some(1)
                && run.stderr.contains(package)
                && run.stderr.contains("npm install")
        }
    };
    if as_expected {
        return Ok(());
    }
    Err(format!("{name}: {:?} {}", run.code, run.stderr))
}

#[tokio::test]
async fn examples_behave_as_described() {
    let Some(directory) = examples_dir() else {
        println!("skipped: the examples of the TypeScript pi are not installed");
        return;
    };
    let rows = behavior_table();
    let mut exercised: Vec<&str> = rows
        .iter()
        .map(|row| row["extension"].as_str().unwrap())
        .collect();
    exercised.dedup();
    assert!(
        exercised.len() >= MIN_EXERCISED,
        "only {} examples have a row",
        exercised.len()
    );
    let only = std::env::var("PI_EXAMPLES_ONLY").unwrap_or_default();
    let jobs = rows
        .into_iter()
        .filter(|row| row["extension"].as_str().unwrap().contains(&only))
        .map(|row| {
            let directory = directory.clone();
            move || run_row(row, directory)
        });
    let failures = run_all(jobs.collect()).await;
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[expect(
    clippy::print_stdout,
    reason = "a skipped example is reported in the test output"
)]
async fn run_row(row: Value, directory: PathBuf) -> Result<(), String> {
    let extension = row["extension"].as_str().unwrap().to_owned();
    let description = row["description"].as_str().unwrap().to_owned();
    if let Some(package) = missing_package(&extension) {
        println!("skipped: {extension} needs {package}, which is not installed");
        return Ok(());
    }
    let context = TestContext::new(replies(&row["model"])).await;
    let row = driver::expand_placeholders(&row, &context, &directory);
    driver::prepare(&row, &context);
    // Some rows use a modified copy of the extension.
    let path = directory.join(row["path"].as_str().unwrap_or(&extension));
    let mut driver = ExtensionDriver::start(&context, &program(), &path, &row);
    let outcome = driver.run_steps(&row).await;
    let records = driver.finish(&row).await;
    let failure = match outcome {
        Err(failure) => Some(failure),
        Ok(()) => find_mismatch(&row, &records),
    };
    let Some(failure) = failure else {
        return Ok(());
    };
    let records: Vec<String> = records.iter().map(truncate_record).collect();
    Err(format!(
        "{extension}: {description}: {failure}\n  {}",
        records.join("\n  ")
    ))
}

/// Describes the first missing or forbidden record.
fn find_mismatch(row: &Value, records: &[Value]) -> Option<String> {
    let list = |name: &str| row[name].as_array().cloned().unwrap_or_default();
    let mut never = list("never");
    if row["fails"] != json!(true) {
        never.push(json!({"type": "extension_error"}));
    }
    for expected in list("expect") {
        if !records
            .iter()
            .any(|record| pattern::matches(&expected, record))
        {
            return Some(format!("missing: {expected}"));
        }
    }
    let unexpected = never
        .iter()
        .find_map(|forbidden| records.iter().find(|it| pattern::matches(forbidden, it)))?;
    Some(format!("unexpected: {}", truncate_record(unexpected)))
}

/// Serializes a record and truncates it for the failure message.
fn truncate_record(record: &Value) -> String {
    const MAX_CHARS: usize = 400;
    record.to_string().chars().take(MAX_CHARS).collect()
}
