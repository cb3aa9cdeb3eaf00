//! grep and find over a tree of 30,000 files, compared with `rg` and `fd`. The programs are taken
//! from PATH, or from `PI_BENCH_RG` and `PI_BENCH_FD`; without them only our tools are measured.
//! `PI_BENCH_TREE` is a tree to use instead of the generated one.

#![expect(
    clippy::expect_used,
    reason = "a benchmark cannot run without its files"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, LazyLock};

use divan::Bencher;
use pi_core::{NoSession, Tool, ToolContext};
use pi_tools::{FindTool, GrepTool, local_environment};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

const PACKAGES: usize = 200;
const FILES_PER_PACKAGE: usize = 150;
const NEEDLE: &str = "needle_7f3a";
const ABSENT: &str = "no_such_needle_7f3a";

/// Written last, to mark a complete tree.
const COMPLETE: &str = ".git/HEAD";

fn main() {
    // Generate the tree before anything is measured.
    LazyLock::force(&TREE);
    divan::main();
}

static TREE: LazyLock<PathBuf> = LazyLock::new(|| match std::env::var_os("PI_BENCH_TREE") {
    Some(tree) => tree.into(),
    None => {
        let tree = Path::new(env!("CARGO_TARGET_TMPDIR")).join("search-tree");
        if !tree.join(COMPLETE).exists() {
            make_tree(&tree);
        }
        tree
    }
});

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime"));

fn make_tree(root: &Path) {
    write_file(
        &root.join(".gitignore"),
        "build/\n*.log\n*.tmp\n!keep.log\n",
    );
    let directories = [
        "src",
        "src/core",
        "src/ui",
        "tests",
        "docs",
        ".config",
        "build",
        "generated",
    ];
    let suffixes = ["rs", "ts", "py", "md", "json"];
    for package in 0..PACKAGES {
        let directory = root.join(format!("group{}/package{package:03}", package % 10));
        write_file(&directory.join(".gitignore"), "/generated/\n");
        write_file(&directory.join("package.toml"), "version = 1\n");
        let needle = if package < 60 { NEEDLE } else { "nothing" };
        write_file(
            &directory.join("src/marked.rs"),
            &format!("{}{needle}\n", words(package)),
        );
        for file in 0..FILES_PER_PACKAGE - 3 {
            let subdirectory = directories.iter().cycle().nth(file).expect("a directory");
            let suffix = suffixes.iter().cycle().nth(file / 7).expect("a suffix");
            let path = directory
                .join(subdirectory)
                .join(format!("file_{file}.{suffix}"));
            write_file(&path, &words(package + file));
        }
    }
    write_file(&root.join(COMPLETE), "ref: refs/heads/main\n");
}

fn words(seed: usize) -> String {
    let line = "state parse value return width render entry index token buffer\n";
    line.repeat(5 + seed % 25)
}

#[expect(
    clippy::disallowed_methods,
    reason = "no other process reads the file yet"
)]
fn write_file(path: &Path, contents: &str) {
    fs::create_dir_all(path.parent().expect("a directory")).expect("a writable directory");
    fs::write(path, contents).expect("a writable file");
}

fn call(tool: &dyn Tool, arguments: &Value) -> usize {
    let arguments = arguments.as_object().cloned().expect("an object");
    let session = Arc::new(NoSession::at(&*TREE));
    let cx = ToolContext::new("call", session, Arc::new(local_environment()));
    let running = tool.call(cx, arguments);
    RUNTIME.block_on(running).expect("a result").content.len()
}

fn program(variable: &str, name: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).map(PathBuf::from);
    named.or_else(|| which::which(name).ok())
}

fn bench_program(bencher: Bencher<'_, '_>, program: Option<PathBuf>, arguments: &[&str]) {
    let Some(program) = program else { return };
    bencher.bench_local(|| {
        let mut command = Command::new(&program);
        command.args(arguments).arg(&*TREE).stdin(Stdio::null());
        command.output().expect("a result").stdout.len()
    });
}

#[divan::bench(args = [NEEDLE, ABSENT])]
fn grep(bencher: Bencher<'_, '_>, pattern: &str) {
    let tool = GrepTool::default();
    bencher.bench_local(|| call(&tool, &json!({"pattern": pattern})));
}

#[divan::bench(args = [NEEDLE, ABSENT])]
fn grep_by_rg(bencher: Bencher<'_, '_>, pattern: &str) {
    let arguments = [
        "--json",
        "--line-number",
        "--color=never",
        "--hidden",
        "--",
        pattern,
    ];
    bench_program(bencher, program("PI_BENCH_RG", "rg"), &arguments);
}

#[divan::bench(args = ["*.toml", "src/**/*.rs", "*.absent"])]
fn find(bencher: Bencher<'_, '_>, pattern: &str) {
    let tool = FindTool::default();
    bencher.bench_local(|| call(&tool, &json!({"pattern": pattern})));
}

#[divan::bench(args = ["*.toml", "src/**/*.rs", "*.absent"])]
fn find_by_fd(bencher: Bencher<'_, '_>, pattern: &str) {
    let full_path = format!("**/{pattern}");
    let mut arguments = vec![
        "--glob",
        "--color=never",
        "--hidden",
        "--max-results",
        "1000",
    ];
    if pattern.contains('/') {
        arguments.extend(["--full-path", "--", &full_path]);
    } else {
        arguments.extend(["--", pattern]);
    }
    bench_program(bencher, program("PI_BENCH_FD", "fd"), &arguments);
}
