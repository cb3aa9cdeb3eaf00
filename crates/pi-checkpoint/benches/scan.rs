//! A scan of a directory with 100,000 files in which nothing has changed, as before and after every shell command. The design
//! allows 120 ms. `PI_BENCH_TREE` is a directory to use instead of the generated one.

#![expect(
    clippy::expect_used,
    reason = "a benchmark cannot run without its files"
)]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use divan::Bencher;
use pi_checkpoint::{ChangeCause, FileHistory, Position, WorkTree};
use pi_protocol::EntryId;

const DIRECTORIES: usize = 1000;
const FILES_PER_DIRECTORY: usize = 100;

/// Written last, to mark a complete tree.
const COMPLETE: &str = "complete";

/// Contents that are stored in the first scan.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

fn main() {
    // Generate the tree before anything is measured.
    LazyLock::force(&TREE);
    divan::main();
}

static TREE: LazyLock<PathBuf> = LazyLock::new(|| match std::env::var_os("PI_BENCH_TREE") {
    Some(tree) => tree.into(),
    None => {
        let tree = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scan-tree");
        if !tree.join(COMPLETE).exists() {
            make_tree(&tree).expect("the tree can be written");
        }
        tree
    }
});

fn make_tree(tree: &Path) -> std::io::Result<()> {
    for directory in 0..DIRECTORIES {
        let path = tree.join(format!("group-{}/directory-{directory}", directory % 20));
        fs::create_dir_all(&path)?;
        for file in 0..FILES_PER_DIRECTORY {
            let mut file = fs::File::create(path.join(format!("file-{file}.txt")))?;
            writeln!(file, "text of a small file in {directory}")?;
        }
    }
    fs::File::create(tree.join(COMPLETE)).map(drop)
}

#[divan::bench(sample_count = 20)]
fn unchanged(bencher: Bencher<'_, '_>) {
    let stored = tempfile::tempdir().expect("a directory can be created");
    let history = FileHistory::open(&stored.path().join("session.files"), MAX_BYTES);
    let mut history = history.expect("a history can be created");
    let [prompt, response] = ["prompt", "response"].map(EntryId::from);
    let at = Position {
        branch: &[prompt.clone(), response],
        turn: &prompt,
    };
    let root = TREE.canonicalize().expect("the tree exists");
    let mut tree = WorkTree::new(root);
    let mut scan = || {
        let found = tree.scan(&mut history, &at, ChangeCause::Other);
        found.expect("the tree can be read")
    };
    scan();
    bencher.bench_local(scan);
}
