//! Changes of shell commands, found by scans of the working directory.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use pi_checkpoint::{ChangeCause, ChangeSource, Position, Resolution, WorkTree};
use pretty_assertions::assert_eq;

use crate::random_trees::{Random, restore_and_compare};
use crate::simulated_session::{SimulatedSession, text, write};

fn shell(directory: &Path, script: &str) {
    let status = Command::new("sh")
        .args(["-c", script])
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .status();
    assert!(status.unwrap().success(), "{script}");
}

/// Longer than a tick of the kernel's clock, which the times of files have.
const TICK: Duration = Duration::from_millis(20);

const GIT_INIT: &str = "git init -q . && git config user.name n && git config user.email e";

/// Commands that work on whatever is there.
const COMMANDS: [&str; 14] = [
    "echo $RANDOM_TEXT > a",
    "mkdir -p d/e && echo $RANDOM_TEXT > d/e/f && echo $RANDOM_TEXT >> d/g",
    "rm -rf d",
    "chmod 755 a || true",
    "rm -f link; ln -s a link",
    "rm -f a link",
    "test -d d && mv d moved-$RANDOM_TEXT || true",
    "mkdir empty-$RANDOM_TEXT",
    "test -f a && sed -i s/1/22/g a || true",
    "git add -A && git commit -qm $RANDOM_TEXT || true",
    "git checkout -q HEAD~1 || true",
    "git checkout -q -- . || true",
    "git stash -q -u || true",
    "rm -rf a && mkdir -p a-dir && echo $RANDOM_TEXT > a-dir/x",
];

#[test]
fn restoring_any_entry_gives_the_files_of_that_moment() {
    for seed in 1..=4 {
        let mut random = Random(seed);
        let mut session = SimulatedSession::new();
        let project = session.project();
        write(&session.path("a"), "first\n");
        shell(&project, GIT_INIT);
        shell(&project, "git add -A && git commit -qm start");
        write(&session.path("untracked"), "u\n");
        let mut tree = WorkTree::new(project.clone());
        for _ in 0..8 {
            session.prompt();
            for _ in 0..=random.below(3) {
                let number = random.below(1000).to_string();
                let command = COMMANDS[random.below(COMMANDS.len())];
                let script = command.replace("$RANDOM_TEXT", &number);
                session.command(&mut tree, || shell(&project, &script));
            }
            session.write("a2", &random.below(1000).to_string());
            session.end_turn();
            if random.below(3) == 0 {
                let entry = session.entries[random.below(session.entries.len())].clone();
                if random.below(2) == 0 {
                    restore_and_compare(&mut session, &entry, seed);
                }
                session.leaf = Some(entry);
            }
        }
        for entry in session.entries.clone() {
            restore_and_compare(&mut session, &entry, seed);
        }
    }
}

#[test]
fn changes_of_the_user_are_not_those_of_the_command() {
    let mut session = SimulatedSession::new();
    let (a, b, project) = (session.path("a"), session.path("b"), session.project());
    write(&a, "old");
    let mut tree = WorkTree::new(project);
    session.prompt();
    session.command(&mut tree, || write(&b, "b"));
    write(&a, "mine");
    session.prompt();
    session.command(&mut tree, || write(&b, "bb"));
    let branch = session.branch(session.leaf.as_ref().unwrap());
    let plan = session.history.plan_undo(&branch).unwrap().unwrap();
    session.history.restore(&plan, Resolution::Skip).unwrap();
    assert_eq!(text(&b).unwrap(), "b");
    assert_eq!(text(&a).unwrap(), "mine");
    let sources = session.history.changes().iter();
    let of_user = sources.filter(|change| change.source == ChangeSource::Other);
    assert_eq!(of_user.count(), 1);
}

#[test]
fn a_file_that_becomes_visible_is_not_deleted_by_a_restore() {
    let mut session = SimulatedSession::new();
    let (project, secret) = (session.project(), session.path("secret"));
    shell(&project, GIT_INIT);
    write(&session.path(".gitignore"), "secret\n");
    write(&secret, "s");
    let mut tree = WorkTree::new(project);
    let prompt = session.prompt();
    let ignore = session.path(".gitignore");
    session.command(&mut tree, || {});
    session.command(&mut tree, || write(&ignore, "\n"));
    let branch = session.branch(&prompt);
    let plan = session.history.plan(&branch).unwrap();
    session.history.restore(&plan, Resolution::Skip).unwrap();
    assert_eq!(text(&secret).unwrap(), "s");
    assert_eq!(text(&session.path(".gitignore")).unwrap(), "secret\n");
}

#[test]
fn the_first_scan_records_nothing_and_stays_within_its_budget() {
    let mut session = SimulatedSession::with_limit(1000);
    for name in ["a", "b", "c"] {
        write(&session.path(name), &"x".repeat(400));
    }
    let mut tree = WorkTree::new(session.project());
    let prompt = session.prompt();
    let branch = session.branch(&prompt);
    let at = Position {
        branch: &branch,
        turn: &prompt,
    };
    tree.scan(&mut session.history, &at, ChangeCause::Other)
        .unwrap();
    assert!(session.history.changes().is_empty());
}

/// Directories that have not changed for a while are not listed again. What changes in them is found all the same.
#[test]
fn changes_in_settled_directories_are_found() {
    for (script, count) in [
        ("true", 0),
        ("echo x > d/e/new", 1),
        ("echo x > new", 1),
        ("rm d/e/1", 1),
        ("echo y > d/e/1", 1),
        ("printf 2 > d/e/1", 1),
        ("chmod 700 d/e/1", 1),
        ("chmod 700 d/e", 1),
        ("ln -s x d/link", 1),
        ("mkdir -p n/m && echo x > n/m/1", 3),
        ("mv d/e d/f", 6),
        ("rm -rf d", 4),
        ("rm -rf d/e && echo x > d/e", 3),
        ("rm -rf d/e && mkdir -p d/e/1 && echo x > d/e/1/x", 3),
        ("echo x > d/e/new && touch -d 2020-01-01 d/e d/e/new", 1),
        ("echo x > ignored/new", 0),
        // The directory appears, but not what was in it before.
        ("rm .gitignore", 2),
        ("rm .gitignore && echo x > ignored/new", 3),
        ("printf 'ignore_\n' > .gitignore && echo x > ignored/new", 3),
        ("mkdir -p g/h && echo h > g/.gitignore && echo x > g/h/1", 2),
    ] {
        let mut session = SimulatedSession::new();
        let project = session.project();
        shell(&project, GIT_INIT);
        shell(
            &project,
            "mkdir -p d/e ignored && printf 1 > d/e/1 && printf 2 > d/e/2 && echo ignored > .gitignore && echo 1 > ignored/1 && \
             find . -exec touch -h -d 2020-01-01 {} +",
        );
        let prompt = session.prompt();
        let at = Position {
            branch: std::slice::from_ref(&prompt),
            turn: &prompt,
        };
        let mut tree = WorkTree::new(project.clone());
        let mut scan = || {
            let found = tree.scan(&mut session.history, &at, ChangeCause::Other);
            found.unwrap()
        };
        assert_eq!([scan(), scan()], [0, 0], "{script}");
        // The clock of files is up to a tick late: what changes right after a scan may look older than the scan.
        std::thread::sleep(TICK);
        shell(&project, script);
        assert_eq!(scan(), count, "{script}");
        assert_eq!(scan(), 0, "{script}");
        // What was found is known.
        shell(
            &project,
            "find . -name .git -prune -o -type f -exec sh -c 'echo more >> \"$1\"' sh {} \\;",
        );
        let files = scan();
        assert!(files > 0, "{script}");
    }
}
