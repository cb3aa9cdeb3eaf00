//! Runs every check on its corpus, unchanged and with mutations.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pi_fuzz_checks::{CHECKS, Check};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

/// Mutations per check; checks that use the disk may stop earlier, at the time limit.
const MUTATIONS: usize = 3000;
const TIME_LIMIT: Duration = Duration::from_secs(4);

/// Environment variable with the seconds to run with random mutations, for longer fuzzing.
const SECONDS_VARIABLE: &str = "PI_FUZZ_SECONDS";

/// Maximum length of a mutation.
const MAX_MUTATION_BYTES: usize = 4096;

/// Number of rounds, time limit and random seed.
pub(crate) struct FuzzBudget {
    rounds: usize,
    time: Duration,
    pub(crate) seed: u64,
}

impl FuzzBudget {
    /// Returns a short budget with a fixed seed, or a long one with a random seed if requested.
    pub(crate) fn from_env() -> Self {
        let seconds = std::env::var(SECONDS_VARIABLE)
            .ok()
            .and_then(|it| it.parse().ok());
        match seconds {
            Some(seconds) => Self {
                rounds: usize::MAX,
                time: Duration::from_secs(seconds),
                seed: rand::random(),
            },
            None => Self {
                rounds: MUTATIONS,
                time: TIME_LIMIT,
                seed: 0x7069,
            },
        }
    }

    /// Repeats `round` until the budget is used up; returns the number of rounds.
    pub(crate) fn run(&self, mut round: impl FnMut()) -> usize {
        let started = Instant::now();
        let mut runs = 0;
        while runs < self.rounds && started.elapsed() < self.time {
            round();
            runs += 1;
        }
        runs
    }
}

fn fuzz_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn corpus(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let dir = fs::read_dir(fuzz_dir().join("corpus").join(name)).unwrap();
    let mut files: Vec<PathBuf> = dir.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |path: PathBuf| {
        let bytes = fs::read(&path).unwrap();
        (path, bytes)
    };
    files.into_iter().map(read).collect()
}

fn replay(name: &str) {
    let (_, check) = *CHECKS.iter().find(|(known, _)| *known == name).unwrap();
    let files = corpus(name);
    assert!(files.len() >= 4, "{name} has too few corpus files");
    for (path, bytes) in &files {
        run_check(check, bytes, &format!("{}", path.display()));
    }
    let budget = FuzzBudget::from_env();
    let mut random = StdRng::seed_from_u64(budget.seed);
    let runs = budget.run(|| {
        let (_, bytes) = &files[random.random_range(0..files.len())];
        let (_, other) = &files[random.random_range(0..files.len())];
        let mutated = mutate(bytes.clone(), other, &mut random);
        run_check(check, &mutated, "a mutation");
    });
    eprintln!("{name}: {runs} mutations");
}

/// Runs a check; on failure, prints the input.
pub(crate) fn run_check(check: Check, bytes: &[u8], what: &str) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| check(bytes))) {
        eprintln!("failed for {what}: {:?}", String::from_utf8_lossy(bytes));
        resume_unwind(panic);
    }
}

/// Changes, removes, duplicates and inserts a few bytes, some of them from another file.
fn mutate(mut bytes: Vec<u8>, other: &[u8], random: &mut StdRng) -> Vec<u8> {
    for _ in 0..random.random_range(1..=4_usize) {
        let at = random.random_range(0..=bytes.len());
        let end = (at + random.random_range(0..16_usize)).min(bytes.len());
        match random.random_range(0..5_u8) {
            0 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = random.random();
                }
            }
            1 => drop(bytes.drain(at..end)),
            2 => {
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            3 => {
                let special = b"\n\r\"'\\{}[]()<>:,#-*`|$~\x00\x1b\xff 0";
                bytes.insert(at, special[random.random_range(0..special.len())]);
            }
            _ => {
                let from = random.random_range(0..=other.len());
                let to = (from + random.random_range(0..64_usize)).min(other.len());
                bytes.splice(at..end, other[from..to].iter().copied());
            }
        }
    }
    bytes.truncate(MAX_MUTATION_BYTES);
    bytes
}

macro_rules! replays {
    ($($name:ident),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                replay(stringify!($name));
            }
        )*

        /// A target, a corpus and a replay for every check, and no others.
        #[test]
        fn every_check_has_a_target_a_corpus_and_a_replay() {
            let mut replayed = vec![$(stringify!($name)),*];
            replayed.sort_unstable();
            let mut checks: Vec<&str> = CHECKS.iter().map(|(name, _)| *name).collect();
            checks.sort_unstable();
            assert_eq!(replayed, checks);
            for (dir, suffix) in [("fuzz_targets", ".rs"), ("corpus", "")] {
                let mut names: Vec<String> = fs::read_dir(fuzz_dir().join(dir))
                    .unwrap()
                    .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
                    .map(|name| name.trim_end_matches(suffix).to_owned())
                    .collect();
                names.sort_unstable();
                assert_eq!(names, checks, "{dir}");
            }
        }
    };
}

replays![
    acp_messages,
    chat_messages,
    event_stream,
    file_history,
    fleet_tasks,
    front_matter,
    globs,
    http_requests,
    input,
    markdown,
    mcp_messages,
    models_file,
    mom_events,
    overlay_changes,
    partial_json,
    rpc_lines,
    session_file,
    settings_file,
    shell_rules,
    sse,
    text,
];
