//! Common tools work in a workspace.

use std::process::Command;

use pi_env::Env;
use pi_sandbox::Roots;
use serde_json::json;

use crate::fixture::{Fixture, start, text, write};

fn is_missing(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output();
    let is_missing = !found.is_ok_and(|output| output.status.success());
    if is_missing {
        println!("skipped: {program} is not installed");
    }
    is_missing
}

fn check(fixture: &Fixture, script: &str) {
    let sandbox = fixture.workspace_sandbox();
    let output = fixture.run(Some(&sandbox), &format!("set -e; {script}"));
    assert!(output.status.success(), "{script}: {}", text(&output));
}

pub(crate) fn git() {
    if is_missing("git") {
        return;
    }
    let fixture = Fixture::new();
    std::fs::remove_dir_all(fixture.project().join(".git")).unwrap();
    let init = "git init -q && git config user.name me && git config user.email me@example.com && touch a && git add a && git commit -qm first";
    let output = fixture.run(None, init);
    assert!(output.status.success(), "{}", text(&output));
    check(
        &fixture,
        "echo x > b; git add b; git commit -qm second; git checkout -qb branch; git mv b c; git commit -qam third; \
         git rebase -q HEAD~1; git stash list; git gc -q; test \"$(git log --oneline | wc -l)\" = 3; test -z \"$(git status --porcelain -uno)\"",
    );
    let sandbox = fixture.workspace_sandbox();
    let output = fixture.run(Some(&sandbox), "git config core.hooksPath evil");
    assert!(!output.status.success());
}

/// A worktree, whose `.git` is a file, and the repository around it.
pub(crate) fn git_worktree() {
    if is_missing("git") {
        return;
    }
    let fixture = Fixture::new();
    std::fs::remove_dir_all(fixture.project()).unwrap();
    std::fs::create_dir(fixture.project()).unwrap();
    let make = "cd .. && git init -q main && cd main && git config user.name me && git config user.email me@example.com && \
        git commit -q --allow-empty -m first && git worktree add -q --force ../project";
    let output = fixture.run(None, make);
    assert!(output.status.success(), "{}", text(&output));
    let roots = fixture.roots();
    let found = Roots::find(
        &roots.workspace,
        &roots.agent_dir,
        &Env::fixed([("HOME", "/")]),
    );
    let roots = Roots {
        git_dirs: found.git_dirs,
        git_files: found.git_files,
        ..roots
    };
    let sandbox = start(&json!({ "mode": "workspace" }), &roots).unwrap();
    let script = "set -e; echo x > b; git add b; git commit -qm second; git checkout -qb branch; git gc -q; git log --oneline";
    let output = fixture.run(Some(&sandbox), script);
    assert_eq!(text(&output).lines().count(), 2, "{}", text(&output));
    let output = fixture.run(None, "git status --porcelain && git -C ../main branch");
    assert_eq!(
        text(&output).matches("branch").count(),
        1,
        "{}",
        text(&output)
    );
}

pub(crate) fn cargo() {
    if is_missing("cargo") {
        return;
    }
    let fixture = Fixture::new();
    let project = fixture.project();
    std::fs::create_dir(project.join("src")).unwrap();
    write(
        &project.join("src/main.rs"),
        "fn main() { println!(\"built\"); }\n",
    );
    let manifest =
        "[package]\nname = \"hello\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n";
    write(&project.join("Cargo.toml"), manifest);
    let sandbox = fixture.sandbox(&json!({ "mode": "workspace", "network": "off" }));
    let mut command = fixture.command(Some(&sandbox), "bash");
    // The toolchain is in the home directory of who runs the test.
    for name in ["HOME", "CARGO_HOME", "RUSTUP_HOME"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.env_remove("CARGO_TARGET_DIR");
    let output = command
        .args(["-c", "cargo run --offline -q"])
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "built\n",
        "{}",
        text(&output)
    );
}

pub(crate) fn npm() {
    if is_missing("npm") {
        return;
    }
    let fixture = Fixture::new();
    let project = fixture.project();
    std::fs::create_dir_all(project.join("dependency")).unwrap();
    write(
        &project.join("dependency/package.json"),
        r#"{"name":"dependency","version":"1.0.0"}"#,
    );
    let manifest =
        r#"{"name":"app","version":"1.0.0","dependencies":{"dependency":"file:dependency"}}"#;
    write(&project.join("package.json"), manifest);
    check(
        &fixture,
        "export npm_config_cache=$TMPDIR/npm; npm install --offline --no-audit --no-fund; test -e node_modules/dependency/package.json",
    );
}

pub(crate) fn python() {
    if is_missing("python3") {
        return;
    }
    check(
        &Fixture::new(),
        "python3 -m venv --without-pip venv; venv/bin/python -c 'import tempfile; tempfile.mkstemp()'",
    );
}
