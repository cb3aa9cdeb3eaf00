//! `rg` and `fd` of pi: the options that models use, and where the model's shell finds them.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use pretty_assertions::assert_eq;
use tempfile::TempDir;

use crate::harness::{TestContext, bash_reply, text_reply};

/// A project with ignored, hidden, binary and nested files, and links to pi.
struct Project {
    directory: TempDir,
    links: TempDir,
}

impl Project {
    fn new() -> Self {
        let project = Self {
            directory: tempfile::tempdir().unwrap(),
            links: tempfile::tempdir().unwrap(),
        };
        for name in ["rg", "fd"] {
            let link = project.links.path().join(name);
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pi"), link).unwrap();
        }
        fs::create_dir(project.directory.path().join(".git")).unwrap();
        for (path, content) in [
            (".gitignore", "target/\n"),
            (".hidden", "needle hidden\n"),
            ("a.rs", "one\nneedle two\nthree\nfour\nNeedle five\n"),
            ("b.txt", "no match\n"),
            ("data.bin", "needle\0binary\n"),
            ("src/c.rs", "fn needle() {}\nlet x = needle(1, needle);\n"),
            ("src/empty.rs", ""),
            ("target/d.rs", "needle ignored\n"),
        ] {
            project.write(path, content);
        }
        project
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = fs::File::create(path).unwrap();
        file.write_all(content.as_bytes()).unwrap();
    }

    fn command(&self, line: &str) -> Command {
        let mut words = shlex(line).into_iter();
        let mut command = Command::new(self.links.path().join(words.next().unwrap()));
        command
            .args(words)
            .current_dir(self.directory.path())
            .stdin(Stdio::null());
        command
    }

    fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// Returns the exit code, and the lines of stdout in order of their text.
    fn lines(&self, line: &str) -> (i32, Vec<String>) {
        let output = self.run(line);
        let text = String::from_utf8(output.stdout).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        (output.status.code().unwrap(), lines)
    }
}

/// Splits at spaces; a word in quotes may contain them.
fn shlex(line: &str) -> Vec<String> {
    let parts = line.split('\'').enumerate();
    let words = parts.flat_map(|(index, part)| match index % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    words.collect()
}

fn check(cases: &[(&str, i32, &[&str])]) {
    let project = Project::new();
    for (line, code, expected) in cases {
        let found = project.lines(line);
        let expected: Vec<String> = expected.iter().map(|&line| line.to_owned()).collect();
        assert_eq!(found, (*code, expected), "{line}");
    }
}

#[test]
fn rg_prints_matching_lines() {
    check(&[
        (
            "rg needle",
            0,
            &[
                "a.rs:needle two",
                "src/c.rs:fn needle() {}",
                "src/c.rs:let x = needle(1, needle);",
            ],
        ),
        ("rg -n needle a.rs", 0, &["2:needle two"]),
        ("rg -in needle a.rs", 0, &["2:needle two", "5:Needle five"]),
        ("rg -Sn Needle a.rs", 0, &["5:Needle five"]),
        ("rg -o 'needle\\(\\d' src", 0, &["src/c.rs:needle(1"]),
        ("rg --no-filename -w fn", 0, &["fn needle() {}"]),
        ("rg -F 'needle()' -l", 0, &["src/c.rs"]),
        ("rg -c needle", 0, &["a.rs:1", "src/c.rs:2"]),
        ("rg --count-matches needle src", 0, &["src/c.rs:3"]),
        ("rg -v needle b.txt", 0, &["no match"]),
        ("rg -x three a.rs", 0, &["three"]),
        ("rg -e two -e five a.rs", 0, &["Needle five", "needle two"]),
        ("rg two -r 'n$0' a.rs", 0, &["needle ntwo"]),
        ("rg -U 'two\\nthree' a.rs", 0, &["needle two", "three"]),
        ("rg -m1 needle src/c.rs", 0, &["fn needle() {}"]),
        (
            "rg --vimgrep 'needle\\(1' src",
            0,
            &["src/c.rs:2:9:let x = needle(1, needle);"],
        ),
        ("rg -q needle", 0, &[]),
        ("rg nothing-like-this", 1, &[]),
        (
            "rg needle data.bin",
            0,
            &["binary file matches (found \"\\0\" byte around offset 6)"],
        ),
    ]);
}

#[test]
fn rg_searches_the_files_that_are_asked_for() {
    check(&[
        (
            "rg --files",
            0,
            &["a.rs", "b.txt", "data.bin", "src/c.rs", "src/empty.rs"],
        ),
        ("rg --files -g '*.rs' -g '!src'", 0, &["a.rs"]),
        ("rg -l needle -tpy", 1, &[]),
        ("rg -l needle -trust", 0, &["a.rs", "src/c.rs"]),
        ("rg -l needle -Trust", 1, &[]),
        ("rg -l needle --hidden", 0, &[".hidden", "a.rs", "src/c.rs"]),
        (
            "rg -l needle --no-ignore",
            0,
            &["a.rs", "src/c.rs", "target/d.rs"],
        ),
        (
            "rg -uuu -l needle",
            0,
            &[".hidden", "a.rs", "data.bin", "src/c.rs", "target/d.rs"],
        ),
        ("rg -l needle target/d.rs", 0, &["target/d.rs"]),
        (
            "rg -l needle ./src .",
            0,
            &["./a.rs", "./src/c.rs", "./src/c.rs"],
        ),
        (
            "rg --files-without-match needle -g '*.rs'",
            0,
            &["src/empty.rs"],
        ),
        ("rg --max-depth 1 -l needle", 0, &["a.rs"]),
    ]);
}

#[test]
fn rg_prints_context_and_groups_in_order() {
    let project = Project::new();
    let output = project.run("rg -n -C1 --sort path needle");
    let expected = "a.rs-1-one\na.rs:2:needle two\na.rs-3-three\n--\nsrc/c.rs:1:fn needle() {}\n\
                    src/c.rs:2:let x = needle(1, needle);\n";
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    let output = project.run("rg --heading -n --sort path 'needle two|fn'");
    let expected = "a.rs\n2:needle two\n\nsrc/c.rs\n1:fn needle() {}\n";
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}

#[test]
fn rg_prints_json() {
    let project = Project::new();
    let output = project.run("rg --json two");
    let text = String::from_utf8(output.stdout).unwrap();
    let events: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let types: Vec<&str> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    assert_eq!(types, ["begin", "match", "end", "summary"]);
    assert_eq!(events[1]["data"]["path"]["text"], "a.rs");
    assert_eq!(events[1]["data"]["line_number"], 2);
    assert_eq!(events[3]["data"]["stats"]["matches"], 1);
}

#[test]
fn rg_searches_what_is_piped_in() {
    let project = Project::new();
    let mut child = project
        .command("rg -n needle")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"x\nneedle\n")
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "2:needle\n");
}

#[test]
fn problems_are_named() {
    let project = Project::new();
    for (line, code, problem) in [
        ("rg", 2, "rg: no pattern given"),
        ("rg -P x", 2, "rg: unrecognized flag -P"),
        ("rg '('", 2, "unclosed group"),
        ("rg '(?<=a)b'", 2, "without lookaround"),
        ("rg 'a\\nb'", 2, "use --multiline"),
        ("rg x missing", 2, "missing"),
        ("rg -t nope x", 2, "nope"),
        ("fd -t q", 1, "--type needs"),
        ("fd x missing", 1, "missing is not a directory"),
        ("fd src/c", 1, "--full-path"),
        ("fd -S large", 1, "--size"),
    ] {
        let output = project.run(line);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{line}: {error}");
        assert!(error.contains(problem), "{line}: {error}");
    }
}

#[test]
fn fd_finds_files() {
    check(&[
        (
            "fd",
            0,
            &[
                "a.rs",
                "b.txt",
                "data.bin",
                "src/",
                "src/c.rs",
                "src/empty.rs",
            ],
        ),
        ("fd c", 0, &["src/", "src/c.rs"]),
        ("fd -e rs", 0, &["a.rs", "src/c.rs", "src/empty.rs"]),
        ("fd . src", 0, &["src/c.rs", "src/empty.rs"]),
        ("fd -g '*.rs' -E src", 0, &["a.rs"]),
        ("fd -t d", 0, &["src/"]),
        ("fd -t e", 0, &["src/empty.rs"]),
        ("fd -H hidden", 0, &[".hidden"]),
        ("fd -I d.rs", 0, &["target/d.rs"]),
        ("fd -d 1 rs", 0, &["a.rs"]),
        ("fd --min-depth 2 rs", 0, &["src/c.rs", "src/empty.rs"]),
        ("fd -p 'src/c'", 0, &["src/c.rs"]),
        ("fd -s C.RS", 0, &[]),
        ("fd -1 rs", 0, &["a.rs"]),
        ("fd -S +20b -t f -e rs", 0, &["a.rs", "src/c.rs"]),
        ("fd --changed-within 2d a.rs", 0, &["a.rs"]),
        ("fd --changed-before 2d a.rs", 0, &[]),
        ("fd -q nothing-like-this", 1, &[]),
        ("fd -e rs -x echo {/.}", 0, &["a", "c", "empty"]),
        ("fd -e rs -X echo", 0, &["./a.rs ./src/c.rs ./src/empty.rs"]),
    ]);
}

#[tokio::test]
async fn the_shell_has_the_commands_if_the_machine_does_not() {
    let command = "rg -c project .. --hidden -g note.txt > found.txt; fd note >> found.txt; command -v rg >> found.txt; true";
    let context = TestContext::new([bash_reply(command), text_reply("done")]).await;
    context.home.write("project/note.txt", "project");
    let bin = context.home.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let bash = which("bash");
    std::os::unix::fs::symlink(bash, bin.join("bash")).unwrap();
    let mut pi = context.command(&["--model", "mock/alpha", "-p", "search"]);
    let output = pi.env("PATH", &bin).output().await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let link = context.home.path().join("agent/fallback-commands/rg");
    assert_eq!(
        context.home.read("project/found.txt"),
        format!("../project/note.txt:1\nnote.txt\n{}\n", link.display())
    );
    let target = fs::read_link(link).unwrap();
    assert_eq!(
        target.canonicalize().unwrap(),
        Path::new(env!("CARGO_BIN_EXE_pi")).canonicalize().unwrap()
    );
}

fn which(program: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&path)
        .map(|directory| directory.join(program))
        .find(|path| path.exists())
        .unwrap()
}
