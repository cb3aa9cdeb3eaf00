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
const COMMANDS: [&str; 17] = [
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
    "test -d d && ! test -L d && mv d real-$RANDOM_TEXT && ln -s real-$RANDOM_TEXT d || true",
    "test -L d && rm d && mkdir d && echo $RANDOM_TEXT > d/g || true",
    "chmod 640 a d/g 2> /dev/null || true",
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

/// An excluded file is the user's, even if a command makes it visible and changes it.
#[test]
fn an_excluded_file_is_not_deleted_by_undoing_the_command_that_revealed_it() {
    let mut session = SimulatedSession::new();
    let (project, secret) = (session.project(), session.path("secret"));
    shell(&project, GIT_INIT);
    write(&session.path(".gitignore"), "secret\n");
    write(&secret, "s");
    std::thread::sleep(TICK);
    let mut tree = WorkTree::new(project.clone());
    session.prompt();
    session.command(&mut tree, || {
        shell(&project, "rm .gitignore; echo more >> secret; echo x > new");
    });
    undo(&mut session);
    assert_eq!(text(&secret).unwrap(), "smore\n");
    assert_eq!(text(&session.path("new")), None);
    assert_eq!(text(&session.path(".gitignore")).unwrap(), "secret\n");
}

fn undo(session: &mut SimulatedSession) {
    let branch = session.branch(session.leaf.as_ref().unwrap());
    let plan = session.history.plan_undo(&branch).unwrap().unwrap();
    let report = session.history.restore(&plan, Resolution::Skip).unwrap();
    assert!(report.failed.is_empty() && report.skipped.is_empty());
}

/// The files are in both directories as far as their paths are concerned.
#[test]
fn a_directory_that_a_command_moved_and_linked_comes_back() {
    for settles in [false, true] {
        let mut session = SimulatedSession::new();
        let project = session.project();
        shell(&project, "mkdir -p d/e && echo 1 > d/1 && echo 2 > d/e/2");
        if settles {
            shell(&project, "find . -exec touch -h -d 2020-01-01 {} +");
        }
        let before = session.files();
        let mut tree = WorkTree::new(project.clone());
        session.prompt();
        session.command(&mut tree, || shell(&project, "mv d r && ln -s r d"));
        let moved = session.files();
        session.prompt();
        session.command(&mut tree, || shell(&project, "echo 3 > d/e/3"));
        let paths = session.history.changes().iter();
        let below_link = paths.filter(|change| change.path.ends_with("d/e/3"));
        assert_eq!(below_link.count(), 0);
        undo(&mut session);
        assert_eq!(session.files(), moved, "{settles}");
        undo(&mut session);
        assert_eq!(session.files(), before, "{settles}");
    }
}

/// The settings of a repository name programs, which git runs to compare files.
#[test]
fn the_first_scan_runs_no_program_of_the_repository() {
    let mut session = SimulatedSession::new();
    let project = session.project();
    shell(
        &project,
        "git init -q . && git config user.name n && git config user.email e; echo 1 > a; echo 2 > b; \
         echo '* filter=evil' > .gitattributes; git add -A && git commit -qm start; \
         git config filter.evil.clean 'touch ran; cat'; git config core.fsmonitor 'touch ran; false'; touch a",
    );
    let mut tree = WorkTree::new(project.clone());
    session.prompt();
    session.command(&mut tree, || {
        shell(&project, "echo new > a; echo new > b; rm .gitattributes");
    });
    assert_eq!(text(&session.path("ran")), None);
    undo(&mut session);
    assert_eq!(text(&session.path("a")).unwrap(), "1\n");
    assert_eq!(text(&session.path("b")).unwrap(), "2\n");
}

/// git stores such files in another form, which has the same size.
#[test]
fn files_with_filters_and_encodings_come_back_as_they_were() {
    let mut session = SimulatedSession::new();
    let project = session.project();
    shell(
        &project,
        "git init -q . && git config user.name n && git config user.email e; \
         git config filter.rot.clean 'tr a-z n-za-m'; git config filter.rot.smudge 'tr a-z n-za-m'; \
         echo 'a filter=rot' > .gitattributes; echo 'b working-tree-encoding=EBCDIC-US' >> .gitattributes; \
         echo hello > a; printf '\\210\\205' > b; echo plain > c; \
         touch -d '1 hour ago' a b c; git add -A && git commit -qm start",
    );
    let before = session.files();
    let mut tree = WorkTree::new(project.clone());
    session.prompt();
    session.command(&mut tree, || {
        shell(
            &project,
            "rm .gitattributes; echo x > a; echo y > b; echo z > c",
        );
    });
    undo(&mut session);
    assert_eq!(session.files(), before);
}

/// A command that writes a file as it was makes the scan read it, and nothing stores what it read.
#[test]
fn a_file_that_git_has_comes_back_after_scans_that_found_it_unchanged() {
    let mut session = SimulatedSession::new();
    let (project, a) = (session.project(), session.path("a"));
    shell(&project, GIT_INIT);
    write(&a, "first\n");
    std::thread::sleep(TICK);
    shell(&project, "git add -A && git commit -qm start");
    let mut tree = WorkTree::new(project);
    session.prompt();
    session.command(&mut tree, || write(&a, "first\n"));
    session.command(&mut tree, || std::fs::remove_file(&a).unwrap());
    undo(&mut session);
    assert_eq!(text(&a).unwrap(), "first\n");
}

/// Files in a directory without permissions are neither gone nor new when it has permissions again.
#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_cannot_be_searched_hides_its_files_only() {
    // Root may search every directory, so this thread becomes another user.
    let test = || {
        let user = rustix::process::geteuid();
        if user.is_root() {
            let user = rustix::process::Uid::from_raw(65534);
            rustix::thread::set_thread_res_uid(user, user, user).unwrap();
        }
        let mut session = SimulatedSession::new();
        let project = session.project();
        shell(&project, "mkdir d && echo 1 > d/1 && echo old > a");
        let mut tree = WorkTree::new(project.clone());
        session.prompt();
        session.command(&mut tree, || shell(&project, "echo new > a; chmod 0 d"));
        undo(&mut session);
        assert_eq!(text(&session.path("a")).unwrap(), "old\n");
        session.prompt();
        session.command(&mut tree, || shell(&project, "chmod 0 d; echo x > a"));
        session.prompt();
        session.command(&mut tree, || shell(&project, "chmod 755 d; echo y > a"));
        undo(&mut session);
        shell(&project, "chmod 755 d");
        assert_eq!(text(&session.path("d/1")).unwrap(), "1\n");
        assert_eq!(text(&session.path("a")).unwrap(), "x\n");
    };
    std::thread::spawn(test).join().unwrap();
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
        // The directory and what was in it before have not been created.
        ("rm .gitignore", 1),
        ("rm .gitignore && echo x > ignored/new", 2),
        ("printf 'ignore_\n' > .gitignore && echo x > ignored/new", 2),
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
