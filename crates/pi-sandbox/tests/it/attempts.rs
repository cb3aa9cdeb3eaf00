//! Tried commands: what is discarded leaves no trace, and what is kept is as if the command had run directly.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use pi_sandbox::TriedChangeKind::{Created, Deleted, Modified};
use pi_sandbox::{
    ApplyStep, Attempt, ConfinedProgram, KeptChanges, Roots, Sandbox, TriedChangeKind,
};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::attacks::ATTACK;
use crate::fixture::{Fixture, contents, start, text, write};
use crate::runner::RESTRICTED;

/// Everything about a path that a command can change. Links to one file have the same group.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Recorded {
    mode: u32,
    owner: (u32, u32),
    /// `None` if it is after the start of the test.
    modified: Option<(i64, i64)>,
    /// Contents, or the target of a link.
    contents: Vec<u8>,
    /// The first path of the same file.
    group: Option<PathBuf>,
    attributes: Vec<(String, Vec<u8>)>,
}

/// Returns the extended attributes of a file or directory.
fn attributes(path: &Path) -> Vec<(String, Vec<u8>)> {
    let mut list = vec![0; 4096];
    let length = rustix::fs::llistxattr(path, &mut list).unwrap_or_default();
    list.truncate(length);
    let list = String::from_utf8(list).unwrap();
    let names = list.split_terminator('\0').map(str::to_owned);
    let mut found: Vec<_> = names
        .map(|name| {
            let mut value = vec![0; 4096];
            let length = rustix::fs::lgetxattr(path, name.as_str(), &mut value).unwrap();
            value.truncate(length);
            (name, value)
        })
        .collect();
    found.sort();
    found
}

fn record(root: &Path, recent: SystemTime) -> BTreeMap<PathBuf, Recorded> {
    fn walk(
        root: &Path,
        directory: &Path,
        recent: i64,
        groups: &mut BTreeMap<u64, PathBuf>,
        found: &mut BTreeMap<PathBuf, Recorded>,
    ) {
        let mut paths: Vec<PathBuf> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        paths.sort();
        paths.push(directory.to_owned());
        for path in paths {
            let metadata = path.symlink_metadata().unwrap();
            let relative = path.strip_prefix(root).unwrap().to_owned();
            if metadata.is_dir() && path != directory {
                walk(root, &path, recent, groups, found);
                continue;
            }
            let contents = if metadata.is_symlink() {
                fs::read_link(&path)
                    .unwrap()
                    .into_os_string()
                    .into_encoded_bytes()
            } else if metadata.is_file() {
                fs::read(&path).unwrap_or_default()
            } else {
                Vec::new()
            };
            let has_links = metadata.is_file() && metadata.nlink() > 1;
            let group = has_links.then(|| {
                groups
                    .entry(metadata.ino())
                    .or_insert_with(|| relative.clone())
                    .clone()
            });
            let modified = (metadata.mtime(), metadata.mtime_nsec());
            let recorded = Recorded {
                mode: metadata.mode(),
                owner: (metadata.uid(), metadata.gid()),
                modified: (modified.0 < recent).then_some(modified),
                contents,
                group,
                attributes: attributes(&path),
            };
            found.insert(relative, recorded);
        }
    }
    let recent = recent
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let mut found = BTreeMap::new();
    walk(
        root,
        root,
        i64::try_from(recent).unwrap(),
        &mut BTreeMap::new(),
        &mut found,
    );
    found
}

/// Times of the files of a test, in the past.
fn old() -> SystemTime {
    SystemTime::now() - std::time::Duration::from_hours(1000)
}

/// Fills a project with files of all kinds, whose times are in the past.
fn fill(project: &Path) {
    for directory in ["a/b/c", "d/e", "f"] {
        fs::create_dir_all(project.join(directory)).unwrap();
    }
    for file in [
        "a/1", "a/2", "a/b/3", "a/b/c/4", "d/5", "d/e/6", "x", "y", "h1", "sp ace",
    ] {
        write(&project.join(file), file);
    }
    fs::hard_link(project.join("h1"), project.join("d/h2")).unwrap();
    symlink("a/1", project.join("l")).unwrap();
    symlink("a", project.join("ld")).unwrap();
    fs::set_permissions(project.join("y"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::set_permissions(project.join("f"), fs::Permissions::from_mode(0o700)).unwrap();
    let touched = std::process::Command::new("find")
        .args([
            ".",
            "-exec",
            "touch",
            "-h",
            "-d",
            "2020-02-03 04:05:06.789",
            "{}",
            "+",
        ])
        .current_dir(project)
        .status();
    assert!(touched.unwrap().success());
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }
}

const FILES: &[&str] = &[
    "a/1",
    "a/2",
    "a/b/3",
    "a/b/c/4",
    "d/5",
    "d/e/6",
    "x",
    "y",
    "'sp ace'",
    "new",
    "f/new",
    "$'\\xff\\n'",
    "n/m/o",
    "h3",
];
const DIRECTORIES: &[&str] = &[
    "a", "a/b", "a/b/c", "d", "d/e", "f", "n", "n/m", "x", "moved", "copied",
];

/// Returns one command. It may fail. None writes or moves a file that had several names before: an overlay copies it.
fn random_command(random: &mut Random) -> String {
    let (file, other) = (random.pick(FILES), random.pick(FILES));
    let (directory, target) = (random.pick(DIRECTORIES), random.pick(DIRECTORIES));
    let number = random.below(1000);
    match random.below(22) {
        0 => format!("echo {number} > {file}"),
        1 => format!("echo {number} >> {file}"),
        2 => format!("rm -f {file}"),
        3 => format!("rm -rf {directory}"),
        4 => format!("mkdir -p {directory}"),
        5 => format!("mv {file} {other}"),
        6 => format!("mv -T {directory} {target}"),
        7 => format!("cp -aT {directory} copied"),
        8 => format!("ln -s {other} {file}"),
        9 => format!("ln -sfn {directory} l"),
        10 => format!(
            "chmod {} {file}",
            random.pick(&["600", "755", "000", "444"])
        ),
        11 => format!("chmod {} {directory}", random.pick(&["700", "755", "1777"])),
        12 => format!("touch -d 2021-01-01 {file}"),
        13 => format!("touch -d 2021-01-01 {directory}"),
        14 => format!("touch -r x {file}"),
        15 => format!("truncate -s 3 {file}"),
        16 => format!("mkfifo {file}"),
        17 => {
            format!("rm -rf {directory} && mkdir {directory} && echo {number} > {directory}/again")
        }
        18 => format!("rm -rf {directory} && echo {number} > {directory}"),
        19 => format!("rm -f new h4 && echo {number} > new && ln new h4"),
        20 => random.pick(&["rm -f h1", "rm -f d/h2"]).to_owned(),
        _ => format!("sed -i s/a/{number}/ {file}"),
    }
}

fn script(seed: u64) -> String {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
    let mut commands: Vec<String> = (0..12).map(|_| random_command(&mut random)).collect();
    for names in [FILES, DIRECTORIES] {
        let name = random.pick(names);
        commands.push(format!("$ATTACK __attack set-attribute {name}"));
    }
    format!("exec 2>/dev/null\n{}\ntrue", commands.join("\n"))
}

/// Directories that are removed and created again with directories that they had before.
const RECREATED: [&str; 2] = [
    "rm -r a && mkdir -p a/b/c && echo new > a/b/5 && touch -d 2021-01-01 a/b/c a/b a",
    "rm -r a && mkdir -p a/b && chmod 700 a/b && rm -rf d && mkdir -p d/e && echo 7 > d/e/7",
];

fn try_sandbox(fixture: &Fixture) -> Sandbox {
    fixture.sandbox(&json!({ "mode": "try" }))
}

fn run(fixture: &Fixture, attempt: &Attempt, script: &str) -> String {
    text(&fixture.run(Some(attempt.sandbox()), script))
}

fn keep_all(attempt: &Attempt) -> KeptChanges {
    let changes = attempt.changes().unwrap();
    let mut perform = |_: &Path, step: ApplyStep<'_>| step();
    attempt.keep(&changes, &mut perform).unwrap()
}

/// Every random sequence of commands leaves no trace if it is discarded, and is as if run directly if it is kept.
pub(crate) fn random_commands() {
    compare_random_commands(60, || Some(Fixture::new()));
}

/// Files cannot be moved from the overlay to the workspace.
pub(crate) fn other_file_system() {
    compare_random_commands(30, Fixture::on_other_file_system);
}

fn compare_random_commands(seeds: u64, fixture: fn() -> Option<Fixture>) {
    let chosen = RECREATED.map(str::to_owned).into_iter();
    for (seed, script) in chosen.chain((0..seeds).map(script)).enumerate() {
        let (Some(tried), Some(direct)) = (fixture(), fixture()) else {
            println!("skipped: there is no other file system");
            return;
        };
        for fixture in [&tried, &direct] {
            fill(&fixture.project());
        }
        let before = record(&tried.project(), old());
        let sandbox = try_sandbox(&tried);
        let attempt = sandbox.attempt().unwrap();
        assert_eq!(run(&tried, &attempt, &script), "");
        assert_eq!(
            record(&tried.project(), old()),
            before,
            "seed {seed}\n{script}"
        );
        drop(attempt);
        assert_eq!(
            record(&tried.project(), old()),
            before,
            "seed {seed}\n{script}"
        );

        let attempt = sandbox.attempt().unwrap();
        run(&tried, &attempt, &script);
        let kept = keep_all(&attempt);
        assert!(
            kept.failed.is_empty() && kept.protected.is_empty() && kept.changed_since.is_empty(),
            "seed {seed}\n{script}\n{kept:?}"
        );
        drop(attempt);
        direct.run(None, &script);
        assert_eq!(
            record(&tried.project(), old()),
            record(&direct.project(), old()),
            "seed {seed}\n{script}"
        );
        let left = tried.overlays(std::process::id());
        assert_eq!(left, Vec::<PathBuf>::new(), "seed {seed}");
    }
}

/// Temporary files are usable and thrown away; nothing outside is written, and nothing survives the command.
pub(crate) fn boundaries() {
    let fixture = Fixture::new();
    let sandbox = try_sandbox(&fixture);
    let outside = contents(&fixture.root().join("outside"));
    let attempt = sandbox.attempt().unwrap();
    let output = run(
        &fixture,
        &attempt,
        "echo x > $TMPDIR/t && cat $TMPDIR/t; echo x > $OUTSIDE/new; \
         (sleep 0.3; echo late > late) >/dev/null 2>&1 & echo x > new; echo x > .git/hooks/pre-commit; cat .env",
    );
    assert!(output.starts_with("x\n"), "{output}");
    assert_eq!(
        output.matches("Read-only file system").count(),
        2,
        "{output}"
    );
    assert!(!output.contains("SECRET"), "{output}");
    let kept = keep_all(&attempt);
    assert_eq!(kept.kept, [fixture.project().join("new")]);
    drop(attempt);
    assert!(!fixture.root().join("tmp/t").exists());
    assert_eq!(contents(&fixture.root().join("outside")), outside);
    assert!(!fixture.project().join("late").exists());
    // A command that is not tried writes nothing.
    let output = text(&fixture.run(Some(&sandbox), "echo x > direct; echo x > $TMPDIR/t"));
    assert_eq!(
        output.matches("Read-only file system").count(),
        2,
        "{output}"
    );
}

/// Pipes, sockets, links with several names and attributes: kept as they are, or discarded.
pub(crate) fn special_files() {
    for fixture in [Some(Fixture::new()), Fixture::on_other_file_system()] {
        let Some(fixture) = fixture else {
            println!("skipped: there is no other file system");
            continue;
        };
        let project = fixture.project();
        fill(&project);
        let sandbox = try_sandbox(&fixture);
        let attempt = sandbox.attempt().unwrap();
        let script = "set -e; mkfifo -m 600 d/pipe; rm x; mkfifo x; rm -rf a; mkdir a; mkfifo a/pipe; echo 1 > n1; \
            ln n1 n2; ln n2 d/n3; $ATTACK __attack set-attribute n1; mkdir -m 1770 s; $ATTACK __attack set-attribute s; \
            rm -rf d/e; ln -s /nonexistent d/e; truncate -s 100M sparse; mknod null c 1 3 2> /dev/null || true; \
            mknod whiteout c 0 0 2> /dev/null || true; $ATTACK __attack bind d/socket";
        let output = fixture.run(Some(attempt.sandbox()), script);
        assert!(output.status.success(), "{}", text(&output));
        let kept = keep_all(&attempt);
        assert!(kept.failed.is_empty(), "{kept:?}");
        drop(attempt);
        let found = record(&project, old());
        let of = |name: &str| &found[Path::new(name)];
        for (name, mode) in [("d/pipe", 0o600), ("x", 0o644), ("a/pipe", 0o644)] {
            assert_eq!(of(name).mode, libc::S_IFIFO | mode, "{name}");
        }
        assert_eq!(of("s").mode, libc::S_IFDIR | 0o1770);
        for name in ["n1", "n2"] {
            assert_eq!(of(name).group, Some("d/n3".into()), "{name}");
            assert_eq!(of(name).attributes.len(), 1, "{name}");
        }
        assert_eq!(of("s").attributes[0].1, b"s");
        assert_eq!(of("d/e").contents, b"/nonexistent");
        assert_eq!(of("sparse").contents.len(), 100 << 20);
        for name in ["a/1", "d/socket", "null", "whiteout"] {
            assert!(!found.contains_key(Path::new(name)), "{name}");
        }
    }
}

/// Directories that are nested deeper than paths and the stack allow are refused, and leave nothing behind.
pub(crate) fn deep_directories() {
    let fixture = Fixture::new();
    let sandbox = try_sandbox(&fixture);
    let attempt = sandbox.attempt().unwrap();
    let nested = |attempt: &Attempt, depth: usize| {
        let mut command = fixture.command(Some(attempt.sandbox()), &fixture.attack());
        let depth = depth.to_string();
        let status = command.args([ATTACK, "nest", &depth]).status();
        assert!(status.unwrap().success());
    };
    nested(&attempt, 20_000);
    let error = attempt.changes().unwrap_err();
    assert!(error.to_string().contains("nested"), "{error}");
    drop(attempt);
    let storage = fixture.root().join("home/.pi/agent/try");
    assert_eq!(contents(&storage), []);
    let attempt = sandbox.attempt().unwrap();
    nested(&attempt, 150);
    let kept = keep_all(&attempt);
    assert_eq!((kept.kept.len(), kept.failed.len()), (150, 0));
}

/// Variables of the process that is killed.
const ROOT: &str = "PI_TEST_ROOT";
const CACHE: &str = "PI_TEST_CACHE";
const STEP: &str = "PI_TEST_STEP";

/// Keeps changes and is killed at a step.
pub(crate) fn keep_and_die() {
    let variable = |name| std::env::var(name).unwrap();
    let root = Path::new(&variable(ROOT)).to_owned();
    let project = root.join("project");
    let last: usize = variable(STEP).parse().unwrap();
    let roots = Roots {
        workspace: project.clone(),
        agent_dir: root.join("home/.pi/agent"),
        caches: vec![variable(CACHE).into(), "/var/tmp".into()],
        ..Roots::default()
    };
    let sandbox = start(&json!({ "mode": "try" }), &roots).unwrap();
    let attempt = sandbox.attempt().unwrap();
    let script = "for file in m*; do echo new > $file; done; mkdir c; for i in 1 2 3; do echo new > c/$i; done; rm r*; rm -r d";
    let path = std::env::var_os("PATH");
    let program = ConfinedProgram {
        program: "bash".as_ref(),
        path: path.as_deref(),
        cwd: None,
    };
    let mut command = attempt.sandbox().command(program).unwrap();
    let command = command.args(["-c", script]).current_dir(&project);
    assert!(command.status().unwrap().success());
    let mut done = 0;
    let mut perform = |_: &Path, step: ApplyStep<'_>| {
        if done == last {
            rustix::process::kill_process(
                rustix::process::getpid(),
                rustix::process::Signal::KILL,
            )?;
        }
        done += 1;
        step()
    };
    attempt
        .keep(&attempt.changes().unwrap(), &mut perform)
        .unwrap();
}

/// Every file is the old or the new one, and the overlay is removed before the next command.
pub(crate) fn killed_while_keeping() {
    for fixture in [Some(Fixture::new()), Fixture::on_other_file_system()] {
        let Some(fixture) = fixture else {
            println!("skipped: there is no other file system");
            continue;
        };
        let project = fixture.project();
        for step in 0.. {
            fs::remove_dir_all(&project).unwrap();
            fs::create_dir_all(project.join("d/e")).unwrap();
            for name in ["m1", "m2", "m3", "r1", "r2", "d/1", "d/e/2"] {
                write(&project.join(name), "old\n");
            }
            let mut child = std::process::Command::new("/proc/self/exe")
                .args([RESTRICTED, "none", "restricted::attempts::keep_and_die"])
                .env(ROOT, fixture.root())
                .env(CACHE, &fixture.roots().caches[0])
                .env(STEP, step.to_string())
                .spawn()
                .unwrap();
            let status = child.wait().unwrap();
            for (path, contents) in contents(&project) {
                let name = path.strip_prefix(&project).unwrap().to_str().unwrap();
                let expected: &[&[u8]] = match name {
                    "d" | "d/e" | "c" => &[b""],
                    _ if name.starts_with('m') => &[b"old\n", b"new\n"],
                    _ if name.starts_with('c') => &[b"new\n"],
                    _ => &[b"old\n"],
                };
                assert!(expected.contains(&contents.as_slice()), "{step}: {name}");
            }
            let left = fixture.overlays(child.id());
            assert_eq!(left.is_empty(), status.success(), "{step}");
            drop(try_sandbox(&fixture).attempt().unwrap());
            let left = fixture.overlays(child.id());
            assert_eq!(left, Vec::<PathBuf>::new(), "{step}");
            if status.success() {
                // All of them were done.
                assert!(step > 10);
                break;
            }
        }
    }
}

/// What is protected is not kept, even if it did not exist.
pub(crate) fn protected_paths() {
    let fixture = Fixture::new();
    let sandbox = try_sandbox(&fixture);
    for script in [
        "mkdir .pi && echo {} > .pi/settings.json",
        "mkdir d && echo {} > d/settings.json && mv -T d .pi",
        "mkdir d && ln -s d .pi; echo x > d/settings.json",
        "echo {} > .mcp.json; echo x > .git/hooks/x; echo x > .git/config",
        "rm -rf .git; mv .git g; rm -rf .git/hooks; mv .git/config c",
        "mv .git/hooks .git/h; ln -sfn /tmp .git/hooks",
    ] {
        let attempt = sandbox.attempt().unwrap();
        run(&fixture, &attempt, script);
        keep_all(&attempt);
        let project = fixture.project();
        assert!(project.join(".pi").symlink_metadata().is_err(), "{script}");
        assert!(!project.join(".mcp.json").exists(), "{script}");
        assert_eq!(fs::read(project.join(".git/config")).unwrap(), b"[core]\n");
        assert_eq!(contents(&project.join(".git/hooks")), [], "{script}");
    }
}

/// Links that a command makes, and links that appear before its changes are kept, lead nowhere.
pub(crate) fn links() {
    let fixture = Fixture::new();
    let project = fixture.project();
    let outside = fixture.root().join("outside");
    let sandbox = try_sandbox(&fixture);
    fs::create_dir(project.join("d")).unwrap();
    write(&project.join("d/file"), "text");
    symlink(&outside, project.join("out")).unwrap();
    let before = contents(&outside);

    // The link in the workspace is replaced, not followed.
    let attempt = sandbox.attempt().unwrap();
    run(
        &fixture,
        &attempt,
        "rm out && mkdir out && echo x > out/file.txt",
    );
    keep_all(&attempt);
    assert_eq!(contents(&outside), before);
    assert_eq!(fs::read(project.join("out/file.txt")).unwrap(), b"x\n");

    let attempt = sandbox.attempt().unwrap();
    run(&fixture, &attempt, "echo x > d/file; echo x > d/file.txt");
    fs::rename(project.join("d"), project.join("moved")).unwrap();
    symlink(&outside, project.join("d")).unwrap();
    let kept = keep_all(&attempt);
    assert_eq!(contents(&outside), before);
    assert!(kept.kept.is_empty() && kept.failed.is_empty(), "{kept:?}");
}

/// What someone else has changed meanwhile stays, and some of the changes can be kept.
/// A directory is deleted only if nothing below it was changed since.
pub(crate) fn changes_below_deleted_directories() {
    let fixture = Fixture::new();
    let project = fixture.project();
    for directory in ["docs/old/notes", "became/file", "gone/deep"] {
        fs::create_dir_all(project.join(directory)).unwrap();
        write(&project.join(directory).join("x.md"), "old");
    }
    let sandbox = try_sandbox(&fixture);
    let attempt = sandbox.attempt().unwrap();
    run(
        &fixture,
        &attempt,
        "rm -rf docs/old gone became && echo tried > became",
    );
    let changes = attempt.changes().unwrap();
    // The clock of file times has a resolution of some milliseconds.
    let marker = project.join("became/file/x.md");
    let time_of = |path: &Path| {
        let metadata = path.symlink_metadata().unwrap();
        (metadata.ctime(), metadata.ctime_nsec())
    };
    let made = changes
        .iter()
        .find(|change| change.kind != Deleted)
        .unwrap();
    let started = time_of(&made.tried_path);
    while time_of(&marker) <= started {
        write(&marker, "changed by the user");
    }
    write(&project.join("docs/old/notes/x.md"), "changed by the user");
    let kept = attempt.keep(&changes, &mut |_, step: ApplyStep<'_>| step());
    let kept = kept.unwrap();
    assert_eq!(
        kept.changed_since,
        ["became", "docs/old"].map(|path| project.join(path))
    );
    assert_eq!(kept.kept, [project.join("gone")]);
    for path in ["docs/old/notes/x.md", "became/file/x.md"] {
        let text = fs::read(project.join(path)).unwrap();
        assert_eq!(text, b"changed by the user", "{path}");
    }
}

pub(crate) fn selection_and_conflicts() {
    let fixture = Fixture::new();
    let project = fixture.project();
    write(&project.join("mine"), "old");
    write(&project.join("gone"), "old");
    let sandbox = try_sandbox(&fixture);
    let attempt = sandbox.attempt().unwrap();
    run(
        &fixture,
        &attempt,
        "echo tried > mine; echo tried > file.txt; rm gone; mkdir -p n/m; echo 1 > n/m/1; echo 2 > n/2",
    );
    let changes = attempt.changes().unwrap();
    let listed: Vec<(String, TriedChangeKind)> = changes
        .iter()
        .map(|change| {
            (
                change
                    .path
                    .strip_prefix(&project)
                    .unwrap()
                    .display()
                    .to_string(),
                change.kind,
            )
        })
        .collect();
    assert_eq!(
        listed,
        [
            ("file.txt", Modified),
            ("gone", Deleted),
            ("mine", Modified),
            ("n", Created),
            ("n/2", Created),
            ("n/m", Created),
            ("n/m/1", Created)
        ]
        .map(|(path, kind)| (path.to_owned(), kind))
    );
    // The clock of file times has a resolution of some milliseconds.
    let file = project.join("mine");
    loop {
        write(&file, "changed by the user");
        let metadata = file.metadata().unwrap();
        let started = attempt.changes().unwrap()[2].tried_path.metadata().unwrap();
        if (metadata.ctime(), metadata.ctime_nsec()) > (started.ctime(), started.ctime_nsec()) {
            break;
        }
    }
    let selected: Vec<_> = changes
        .iter()
        .filter(|change| change.path.ends_with("mine") || change.path.ends_with("n/m/1"))
        .cloned()
        .collect();
    let mut seen = Vec::new();
    let kept = attempt.keep(&selected, &mut |path: &Path, step: ApplyStep<'_>| {
        seen.push((path.to_owned(), path.exists()));
        step()
    });
    let kept = kept.unwrap();
    assert_eq!(kept.changed_since, [project.join("mine")]);
    assert_eq!(
        kept.kept,
        ["n", "n/m", "n/m/1"].map(|path| project.join(path))
    );
    assert_eq!(
        seen,
        ["n", "n/m", "n/m/1"].map(|path| (project.join(path), false))
    );
    assert_eq!(
        fs::read(project.join("mine")).unwrap(),
        b"changed by the user"
    );
    assert_eq!(fs::read(project.join("file.txt")).unwrap(), b"text\n");
    assert!(project.join("gone").exists() && !project.join("n/2").exists());
}

/// Overlays of a process that was killed are removed; those in use stay.
pub(crate) fn leftovers() {
    let fixture = Fixture::new();
    let sandbox = try_sandbox(&fixture);
    let storage = fixture.root().join("home/.pi/agent/try");
    let left = storage.join("pi-try-1-1");
    fs::create_dir_all(left.join("0/upper/locked")).unwrap();
    write(&left.join("lock"), "");
    write(&left.join("0/upper/locked/file"), "text");
    fs::set_permissions(
        left.join("0/upper/locked"),
        fs::Permissions::from_mode(0o500),
    )
    .unwrap();
    let [first, second] = [sandbox.attempt().unwrap(), sandbox.attempt().unwrap()];
    assert_eq!(fs::read_dir(&storage).unwrap().count(), 2);
    drop((first, second));
    assert_eq!(contents(&storage), []);
}

/// Without user namespaces there is no overlay, and nothing runs.
pub(crate) fn no_support_is_an_error() {
    let fixture = Fixture::new();
    let error = start(
        &json!({ "mode": "try", "landlockOnly": true }),
        &fixture.roots(),
    );
    let message = error.unwrap_err().to_string();
    assert!(
        message.contains("user namespaces are not available"),
        "{message}"
    );
}
