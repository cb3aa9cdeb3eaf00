//! `cargo xtask fleet-chaos`: a batch of tasks whose processes are killed at random. `cargo xtask fleet-overhead`: what
//! barriers cost.
//!
//! The tests of `pi-fleet` with more tasks and kills: the real programs work on a scripted model, and every task must end
//! as if nothing had happened.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

/// Options, the variables that the tests read, and their values by default.
const SETTINGS: [(&str, &str, &str); 8] = [
    ("--tasks", "PI_FLEET_CHAOS_TASKS", "500"),
    ("--workers", "PI_FLEET_CHAOS_WORKERS", "8"),
    ("--slots", "PI_FLEET_CHAOS_SLOTS", "1"),
    ("--fleet-kills", "PI_FLEET_CHAOS_FLEET_KILLS", "10"),
    ("--agent-kills", "PI_FLEET_CHAOS_AGENT_KILLS", "200"),
    ("--server-kills", "PI_FLEET_CHAOS_SERVER_KILLS", "3"),
    ("--seed", "PI_FLEET_CHAOS_SEED", "1"),
    ("--minutes", "PI_FLEET_CHAOS_MINUTES", "120"),
];

/// Options with programs to test instead of those of the build, and the variables that the tests read.
const PROGRAMS: [(&str, &str); 2] = [
    ("--pi", "PI_TEST_BINARY"),
    ("--fleet", "PI_FLEET_TEST_BINARY"),
];

const OVERHEAD_TEST: &str = "overhead::barriers_cost_a_fraction_of_a_turn";

/// What is killed.
struct ChaosRun {
    engine: &'static str,
    test: &'static str,
}

const RUNS: [ChaosRun; 2] = [
    // The whole command, and agents.
    ChaosRun {
        engine: "local",
        test: "chaos::killed_batches_end_like_undisturbed_ones",
    },
    // Workers, agents and the server.
    ChaosRun {
        engine: "nats",
        test: "machines::killed_machines_and_servers_lose_nothing",
    },
];

pub(crate) fn run(words: &[&str]) -> Result<String> {
    let mut settings = SETTINGS.map(|(_, variable, value)| (variable, value.to_owned()));
    let (programs, words) = take_programs(words)?;
    let mut engine = None;
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let value = words
            .next()
            .with_context(|| format!("{word} needs a value"))?;
        if word == "--engine" {
            engine = Some(value);
            continue;
        }
        let Some(index) = SETTINGS.iter().position(|(option, ..)| *option == word) else {
            bail!("unknown option {word}");
        };
        let number: u64 = value.parse().with_context(|| format!("{word} {value}"))?;
        if let Some(setting) = settings.get_mut(index) {
            setting.1 = number.to_string();
        }
    }
    let chosen = RUNS
        .iter()
        .filter(|run| engine.is_none_or(|engine| engine == run.engine));
    let chosen: Vec<&ChaosRun> = chosen.collect();
    ensure!(!chosen.is_empty(), "--engine is local or nats");
    for run in chosen {
        let mut test = test_command(run.test, &programs)?;
        test.envs(settings.iter().map(|(variable, value)| (variable, value)));
        ensure!(
            test.status()?.success(),
            "the batch on the engine `{}` did not end like an undisturbed one",
            run.engine
        );
    }
    Ok("Every task ended as in an undisturbed batch.\n".to_owned())
}

/// Prints the time per turn with and without barriers.
pub(crate) fn overhead(words: &[&str]) -> Result<String> {
    let (programs, words) = take_programs(words)?;
    ensure!(words.is_empty(), "unknown option {}", words.join(" "));
    let mut test = test_command(OVERHEAD_TEST, &programs)?;
    ensure!(test.arg("--ignored").status()?.success());
    Ok(String::new())
}

/// Variables of the tests, with absolute paths of programs.
type Programs = Vec<(&'static str, PathBuf)>;

/// Splits the options with programs from the others.
fn take_programs<'words>(words: &[&'words str]) -> Result<(Programs, Vec<&'words str>)> {
    let (mut programs, mut others) = (Vec::new(), Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some((_, variable)) = PROGRAMS.iter().find(|(option, _)| option == word) else {
            others.push(*word);
            continue;
        };
        let path = words
            .next()
            .with_context(|| format!("{word} needs a path"))?;
        let path = std::fs::canonicalize(path).with_context(|| format!("{word} {path}"))?;
        programs.push((*variable, path));
    }
    Ok((programs, others))
}

/// Prepares one test of `pi-fleet`, in the build of the workspace, and builds what it starts.
fn test_command(name: &str, programs: &Programs) -> Result<Command> {
    let mut build = Command::new(env!("CARGO"));
    build.args(["test", "--workspace", "--test", "it", "--no-run"]);
    ensure!(build.status()?.success());
    let mut test = Command::new(env!("CARGO"));
    test.args(["test", "--workspace", "--test", "it", "--", "--exact", name]);
    test.arg("--nocapture");
    test.envs(programs.iter().map(|(variable, path)| (variable, path)));
    Ok(test)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_taken_from_the_options() {
        let this = std::env::current_exe().unwrap();
        let words = [
            "--tasks",
            "9",
            "--pi",
            this.to_str().unwrap(),
            "--seed",
            "2",
        ];
        let (programs, others) = take_programs(&words).unwrap();
        let this = this.canonicalize().unwrap();
        assert_eq!(programs, [("PI_TEST_BINARY", this)]);
        assert_eq!(others, ["--tasks", "9", "--seed", "2"]);
        assert!(take_programs(&["--fleet"]).is_err());
        assert!(take_programs(&["--fleet", "/missing"]).is_err());
    }
}
