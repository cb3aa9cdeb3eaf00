//! `cargo xtask fleet-chaos`: a batch of tasks whose workers and agents are killed at random.
//!
//! The test of `pi-fleet` with more tasks and kills: the real programs work on a scripted model, and every task must end
//! as if nothing had happened.

use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

/// Options, the variables that the test reads, and their values by default.
const SETTINGS: [(&str, &str, &str); 5] = [
    ("--tasks", "PI_FLEET_CHAOS_TASKS", "500"),
    ("--workers", "PI_FLEET_CHAOS_WORKERS", "8"),
    ("--fleet-kills", "PI_FLEET_CHAOS_FLEET_KILLS", "10"),
    ("--agent-kills", "PI_FLEET_CHAOS_AGENT_KILLS", "200"),
    ("--seed", "PI_FLEET_CHAOS_SEED", "1"),
];

pub(crate) fn run(words: &[&str]) -> Result<String> {
    let mut cargo = Command::new(env!("CARGO"));
    ensure!(cargo.args(["build", "--package", "pi"]).status()?.success());
    let mut test = Command::new(env!("CARGO"));
    test.args(["test", "--package", "pi-fleet", "--test", "it", "--"]);
    test.args([
        "--exact",
        "chaos::killed_batches_end_like_undisturbed_ones",
        "--nocapture",
    ]);
    for (_, variable, value) in SETTINGS {
        test.env(variable, value);
    }
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some((_, variable, _)) = SETTINGS.iter().find(|(option, ..)| option == word) else {
            bail!("unknown option {word}");
        };
        let value = words
            .next()
            .with_context(|| format!("{word} needs a value"))?;
        let number: u64 = value.parse().with_context(|| format!("{word} {value}"))?;
        test.env(variable, number.to_string());
    }
    ensure!(
        test.status()?.success(),
        "the batch did not end like an undisturbed one"
    );
    Ok("Every task ended as in an undisturbed batch.\n".to_owned())
}
