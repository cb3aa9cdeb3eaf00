//! Every check over its corpus, as it is and changed a little.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pi_fuzz_checks::{CHECKS, Check};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

/// How many mutations a check gets; one that touches the disk stops when its time is up.
const MUTATIONS: usize = 3000;
const TIME: Duration = Duration::from_secs(4);

/// Seconds to go on for with other mutations each time, for those who look for more.
const SECONDS: &str = "PI_FUZZ_SECONDS";

/// The longest text a mutation makes.
const LONGEST: usize = 4096;

/// How long to look, and from which seed on.
pub(crate) struct Budget {
    rounds: usize,
    time: Duration,
    pub(crate) seed: u64,
}

impl Budget {
    /// Returns the same short look each time, or a long one at something else.
    pub(crate) fn of_this_run() -> Self {
        let seconds = std::env::var(SECONDS).ok().and_then(|it| it.parse().ok());
        match seconds {
            Some(seconds) => Self {
                rounds: usize::MAX,
                time: Duration::from_secs(seconds),
                seed: rand::random(),
            },
            None => Self {
                rounds: MUTATIONS,
                time: TIME,
                seed: 0x7069,
            },
        }
    }

    /// Does something as often as it may be done; returns how often that was.
    pub(crate) fn spend(&self, mut round: impl FnMut()) -> usize {
        let begun = Instant::now();
        let mut runs = 0;
        while runs < self.rounds && begun.elapsed() < self.time {
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
    assert!(files.len() >= 4, "{name} has a corpus");
    for (path, bytes) in &files {
        tell(check, bytes, &format!("{}", path.display()));
    }
    let budget = Budget::of_this_run();
    let mut random = StdRng::seed_from_u64(budget.seed);
    let runs = budget.spend(|| {
        let (_, bytes) = &files[random.random_range(0..files.len())];
        let (_, other) = &files[random.random_range(0..files.len())];
        let mutated = mutate(bytes.clone(), other, &mut random);
        tell(check, &mutated, "a mutation");
    });
    eprintln!("{name}: {runs} mutations");
}

/// Runs a check and says which input it failed for.
pub(crate) fn tell(check: Check, bytes: &[u8], what: &str) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| check(bytes))) {
        eprintln!("failed for {what}: {:?}", String::from_utf8_lossy(bytes));
        resume_unwind(panic);
    }
}

/// Changes, drops, doubles and inserts a few bytes; takes some from another file.
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
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            3 => {
                let signs = b"\n\r\"'\\{}[]()<>:,#-*`|$~\x00\x1b\xff 0";
                bytes.insert(at, signs[random.random_range(0..signs.len())]);
            }
            _ => {
                let from = random.random_range(0..=other.len());
                let to = (from + random.random_range(0..64_usize)).min(other.len());
                bytes.splice(at..end, other[from..to].iter().copied());
            }
        }
    }
    bytes.truncate(LONGEST);
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
        fn everything_that_is_checked_is_fuzzed_and_replayed() {
            let mut replayed = vec![$(stringify!($name)),*];
            replayed.sort_unstable();
            let mut checks: Vec<&str> = CHECKS.iter().map(|(name, _)| *name).collect();
            checks.sort_unstable();
            assert_eq!(replayed, checks);
            for (dir, ending) in [("fuzz_targets", ".rs"), ("corpus", "")] {
                let mut names: Vec<String> = fs::read_dir(fuzz_dir().join(dir))
                    .unwrap()
                    .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
                    .map(|name| name.trim_end_matches(ending).to_owned())
                    .collect();
                names.sort_unstable();
                assert_eq!(names, checks, "{dir}");
            }
        }
    };
}

replays![
    event_stream,
    front_matter,
    globs,
    input,
    markdown,
    models_file,
    partial_json,
    rpc_lines,
    session_file,
    settings_file,
    sse,
    text,
];
