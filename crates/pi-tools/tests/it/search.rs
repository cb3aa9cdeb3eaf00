//! grep and find on real files; expected results match the reference.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use pi_core::{Progress, Tool, ToolError};
use pi_protocol::{ConstrainedSampling, Strictness, ToolOutput};
use pi_tools::{FindTool, GrepTool, ShellTool, ShellToolOptions};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

#[cfg(unix)]
use crate::support::run_isolated;
use crate::support::{TestProject, call, call_until, text};

fn tree(files: &[(&str, &str)]) -> TempDir {
    let directory = TempDir::new().unwrap();
    for (name, contents) in files {
        write_file(directory.path(), name, contents.as_bytes());
    }
    directory
}

#[expect(
    clippy::disallowed_methods,
    reason = "no other process reads the file yet"
)]
fn write_file(directory: &Path, name: &str, contents: &[u8]) {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, contents).unwrap();
}

fn project() -> TempDir {
    tree(&[
        ("a.txt", "alpha\nbeta\ngamma\n"),
        ("src/b.ts", "const beta = 1;\nlet x;\n"),
        ("src/c.ts", "BETA\n"),
        (".hidden", "beta hidden\n"),
        ("ignored/i.txt", "beta ignored\n"),
        (".gitignore", "ignored/\n"),
        ("re.txt", "a.c\nabc\n(paren\n"),
        (".git/HEAD", "ref: refs/heads/main\n"),
    ])
}

async fn grep(directory: &TempDir, arguments: Value) -> Result<ToolOutput, ToolError> {
    call(&TestProject::local(directory.path()).grep(), arguments).await
}

async fn find(directory: &TempDir, arguments: Value) -> Result<ToolOutput, ToolError> {
    call(&TestProject::local(directory.path()).find(), arguments).await
}

#[tokio::test]
async fn grep_matches_the_reference() {
    let project = project();
    for (arguments, expected) in [
        (
            json!({"pattern": "beta"}),
            ".hidden:1: beta hidden\na.txt:2: beta\nsrc/b.ts:1: const beta = 1;",
        ),
        (
            json!({"pattern": "beta", "ignoreCase": true, "glob": "*.ts"}),
            "src/b.ts:1: const beta = 1;\nsrc/c.ts:1: BETA",
        ),
        (
            json!({"pattern": "a.c", "path": "re.txt"}),
            "re.txt:1: a.c\nre.txt:2: abc",
        ),
        (
            json!({"pattern": "a.c", "path": "re.txt", "literal": true}),
            "re.txt:1: a.c",
        ),
        (
            json!({"pattern": "(paren", "path": "re.txt", "literal": true}),
            "re.txt:3: (paren",
        ),
        (
            json!({"pattern": "beta", "path": "a.txt", "context": 1}),
            "a.txt-1- alpha\na.txt:2: beta\na.txt-3- gamma",
        ),
        (json!({"pattern": "nothing_here"}), "(no matches)"),
        (
            json!({"pattern": "beta", "path": "src"}),
            "b.ts:1: const beta = 1;",
        ),
        (
            json!({"pattern": "beta", "path": "ignored"}),
            "i.txt:1: beta ignored",
        ),
        (
            json!({"pattern": "beta", "glob": "src/*.ts"}),
            "src/b.ts:1: const beta = 1;",
        ),
        (
            json!({"pattern": "beta", "glob": "!*.ts", "path": "src"}),
            "(no matches)",
        ),
        (
            json!({"pattern": "refs/heads"}),
            ".git/HEAD:1: ref: refs/heads/main",
        ),
        (
            json!({"pattern": "beta", "path": "", "glob": ""}),
            ".hidden:1: beta hidden\na.txt:2: beta\nsrc/b.ts:1: const beta = 1;",
        ),
    ] {
        let result = grep(&project, arguments.clone()).await.unwrap();
        assert_eq!(
            (text(&result), &result.details),
            (expected, &None),
            "{arguments}"
        );
    }
}

#[tokio::test]
async fn grep_stops_at_its_limit() {
    let project = project();
    let arguments = json!({"pattern": "a", "path": "a.txt", "limit": 1});
    let result = grep(&project, arguments).await.unwrap();
    let (shown, notice) = text(&result).split_once("\n\n").unwrap();
    assert_eq!(shown, "a.txt:1: alpha");
    assert!(
        notice.starts_with('[') && notice.contains("limit=2 "),
        "{notice}"
    );
    assert_eq!(result.details, Some(json!({"matchLimitReached": 1})));

    let many = tree(&[]);
    for number in 0..50 {
        write_file(many.path(), &format!("{number}.txt"), b"x\nx\nx\nx\n");
    }
    let result = grep(&many, json!({"pattern": "x"})).await.unwrap();
    let shown = text(&result).split_once("\n\n").unwrap().0;
    assert_eq!(shown.lines().count(), 100);
    assert_eq!(result.details, Some(json!({"matchLimitReached": 100})));
    let all = grep(&many, json!({"pattern": "x", "limit": 1000}))
        .await
        .unwrap();
    assert_eq!((text(&all).lines().count(), all.details), (200, None));
}

#[tokio::test]
async fn each_match_has_its_own_context() {
    let file = tree(&[("f", "1\nm2\n3\nm4\n5\n6\n7\nm8\n")]);
    let context =
        |lines: Value, limit: usize| json!({"pattern": "m", "context": lines, "limit": limit});
    for (arguments, expected) in [
        (
            context(json!(1), 9),
            "f-1- 1\nf:2: m2\nf-3- 3\nf-3- 3\nf:4: m4\nf-5- 5\nf-7- 7\nf:8: m8",
        ),
        (context(json!(-3), 9), "f:2: m2\nf:4: m4\nf:8: m8"),
        (context(json!(2), 1), "f-1- 1\nf:2: m2\nf-3- 3\nf-4- m4"),
        (
            context(json!(1e12), 1),
            "f-1- 1\nf:2: m2\nf-3- 3\nf-4- m4\nf-5- 5\nf-6- 6\nf-7- 7\nf-8- m8",
        ),
    ] {
        let result = grep(&file, arguments.clone()).await.unwrap();
        let shown = text(&result).split("\n\n").next().unwrap();
        assert_eq!(shown, expected, "{arguments}");
    }
}

#[tokio::test]
async fn patterns_that_look_like_flags_are_patterns() {
    let files = tree(&[("-f.txt", "--files\n-v\nx\n"), ("b", "other\n")]);
    for pattern in ["--files", "-v", "-"] {
        let result = grep(&files, json!({"pattern": pattern, "literal": true}))
            .await
            .unwrap();
        assert!(text(&result).starts_with("-f.txt:"), "{pattern}");
    }
    let result = find(&files, json!({"pattern": "-f*"})).await.unwrap();
    assert_eq!(text(&result), "-f.txt");
    let result = find(&files, json!({"pattern": "--help"})).await.unwrap();
    assert_eq!(text(&result), "(no files found)");
}

#[tokio::test]
async fn lines_are_truncated_and_cleaned() {
    let files = tree(&[]);
    write_file(files.path(), "crlf", b"one needle\r\ntwo\r\n");
    write_file(files.path(), "latin1", b"needle \xe9\n");
    let long = format!("{}needle\n", "é".repeat(499));
    write_file(files.path(), "long", long.as_bytes());
    let pairs = format!("needle{}\n", "😀".repeat(247));
    write_file(files.path(), "pairs", pairs.as_bytes());
    let result = grep(&files, json!({"pattern": "needle"})).await.unwrap();
    let (shown, notice) = text(&result).split_once("\n\n").unwrap();
    let expected = format!(
        "crlf:1: one needle\nlatin1:1: needle \u{fffd}\nlong:1: {}n... [truncated]\npairs:1: {}",
        "é".repeat(499),
        pairs.trim_end(),
    );
    assert_eq!(shown, expected);
    assert!(notice.contains("500 characters"), "{notice}");
    assert_eq!(result.details, Some(json!({"linesTruncated": true})));
}

#[tokio::test]
async fn long_results_are_truncated_at_line_boundaries() {
    let line = format!("needle {}\n", "x".repeat(400));
    let files = tree(&[("f", &line.repeat(1000))]);
    let result = grep(&files, json!({"pattern": "needle", "limit": 500}))
        .await
        .unwrap();
    let details = result.details.as_ref().unwrap();
    assert_eq!(details["matchLimitReached"], json!(500));
    let truncation = &details["truncation"];
    assert_eq!(truncation["totalLines"], json!(500));
    assert_eq!(truncation["truncatedBy"], json!("bytes"));
    assert!(truncation["outputBytes"].as_u64().unwrap() <= 51200);
    let (shown, notice) = text(&result).split_once("\n\n").unwrap();
    assert_eq!(json!(shown), truncation["content"]);
    assert!(notice.contains("50.0KB"), "{notice}");

    // Context repeats lines; lines that cannot be shown are not kept either.
    let arguments = json!({"pattern": "needle", "limit": 1000, "context": 1000});
    let result = grep(&files, arguments).await.unwrap();
    assert_eq!(
        result.details.unwrap()["truncation"]["totalLines"],
        json!(1_000_000)
    );
}

#[tokio::test]
async fn unlimited_context_is_bounded() {
    let line = format!("{}\n", "x".repeat(499));
    let files = tree(&[("a", &format!("{}needle\n", line.repeat(12_000)))]);
    for name in ["b", "c", "d"] {
        fs::hard_link(files.path().join("a"), files.path().join(name)).unwrap();
    }
    let result = grep(&files, json!({"pattern": "needle", "context": 1e9}))
        .await
        .unwrap();
    let notice = text(&result).rsplit_once("\n\n").unwrap().1;
    assert!(
        notice.contains("Stopped after 16.0MB of context lines"),
        "{notice}"
    );
    let found = find(&files, json!({"pattern": "a", "limit": 1e18}))
        .await
        .unwrap();
    assert_eq!((text(&found), &found.details), ("a", &None));
}

#[tokio::test]
async fn binary_files_are_skipped_unless_named() {
    let files = tree(&[("text", "needle\n")]);
    write_file(files.path(), "binary", b"\0\0needle\n");
    write_file(files.path(), "utf16", b"\xff\xfen\0e\0e\0d\0l\0e\0\n\0");
    let result = grep(&files, json!({"pattern": "needle"})).await.unwrap();
    assert_eq!(text(&result), "text:1: needle\nutf16:1: needle");
    let result = grep(&files, json!({"pattern": "needle", "path": "binary"}))
        .await
        .unwrap();
    assert!(text(&result).contains("needle"), "{}", text(&result));
}

#[tokio::test]
async fn invalid_searches_are_explained() {
    let files = tree(&[("re.txt", "x\n")]);
    for (arguments, expected) in [
        (
            json!({"pattern": "(paren", "path": "re.txt"}),
            "set literal=true",
        ),
        (json!({"pattern": "a\nb"}), "Invalid pattern"),
        (json!({"pattern": "x", "path": "nope"}), "no such file"),
        (json!({"pattern": "x", "glob": "a["}), "Invalid glob"),
    ] {
        let error = grep(&files, arguments.clone()).await.unwrap_err();
        assert!(error.0.contains(expected), "{arguments}: {error}");
    }
    for (arguments, expected) in [
        (json!({"pattern": "*", "path": "nope"}), "no such file"),
        (json!({"pattern": "*", "path": "re.txt"}), "not a directory"),
        (json!({"pattern": "a["}), "Invalid glob pattern"),
    ] {
        let error = find(&files, arguments.clone()).await.unwrap_err();
        assert!(error.0.contains(expected), "{arguments}: {error}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn pipes_and_symlinks_do_not_block_a_search() {
    let files = tree(&[("f", "needle\n")]);
    let pipe = files.path().join("pipe");
    let made = std::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .unwrap();
    assert!(made.success());
    std::os::unix::fs::symlink("..", files.path().join("loop")).unwrap();
    std::os::unix::fs::symlink("f", files.path().join("link")).unwrap();
    let result = grep(&files, json!({"pattern": "needle"})).await.unwrap();
    assert_eq!(text(&result), "f:1: needle");
    let result = grep(&files, json!({"pattern": "needle", "path": "link"}))
        .await
        .unwrap();
    assert_eq!(text(&result), "link:1: needle");
    let error = grep(&files, json!({"pattern": "x", "path": "pipe"}))
        .await
        .unwrap_err();
    assert!(error.0.contains("a named pipe"), "{error}");
    let result = find(&files, json!({"pattern": "*"})).await.unwrap();
    assert_eq!(text(&result), "f\nlink\nloop\npipe");
}

#[cfg(unix)]
#[tokio::test]
async fn endless_ignore_files_are_not_read() {
    use std::os::unix::fs::symlink;

    for rules in [".gitignore", ".ignore", ".rgignore", ".fdignore"] {
        let files = tree(&[
            (".git/HEAD", "x"),
            ("f", "needle\n"),
            ("deep/g", "needle\n"),
            ("good/h", "needle\n"),
        ]);
        symlink("/dev/zero", files.path().join("deep").join(rules)).unwrap();
        symlink("../f", files.path().join("good").join(rules)).unwrap();
        let found = grep(&files, json!({"pattern": "needle"})).await.unwrap();
        let found = text(&found);
        assert!(found.contains("f:1: needle"), "{rules}: {found}");
        assert!(found.contains("good/h:1: needle"), "{rules}: {found}");
        let found = find(&files, json!({"pattern": "h"})).await.unwrap();
        assert_eq!(text(&found), "good/h", "{rules}");
        // The directory where the search starts is not skipped.
        let within = grep(&files, json!({"pattern": "needle", "path": "deep"}));
        assert_eq!(text(&within.await.unwrap()), "g:1: needle", "{rules}");
    }
}

#[tokio::test]
async fn expensive_patterns_are_rejected_or_fast() {
    let line = "a".repeat(100_000);
    let files = tree(&[("f", &line), (&format!("{}b", "a".repeat(200)), "x")]);
    let started = Instant::now();
    for pattern in [
        "(a+)+$b",
        "(a|aa)+$b",
        "(.*a){20}b",
        "([a-z]+)*\\d",
        "(a?){50}a{50}b",
    ] {
        let found = grep(&files, json!({"pattern": pattern})).await.unwrap();
        assert_eq!(text(&found), "(no matches)", "{pattern}");
    }
    for pattern in [
        "a{1000}{1000}{1000}",
        "(?:(?:(?:\\w{100}){100}){100})",
        &"(".repeat(10_000),
    ] {
        assert!(grep(&files, json!({"pattern": pattern})).await.is_err());
    }
    let alternatives = "{a,aa}".repeat(30);
    let stars = "*a".repeat(60);
    for glob in [
        &alternatives,
        &stars,
        &"**/".repeat(500),
        &"[a-z]".repeat(500),
        "{{{{{{a}}}}}}",
    ] {
        // Rejected or not, it returns.
        drop(find(&files, json!({"pattern": glob})).await);
        drop(grep(&files, json!({"pattern": "x", "glob": glob})).await);
    }
    // An exponential pattern takes years; allow for a busy machine.
    assert!(started.elapsed() < Duration::from_secs(50));
}

#[tokio::test]
async fn patterns_that_are_too_long_are_rejected() {
    let files = tree(&[("f", "x\n")]);
    let long = "a".repeat(10 << 20);
    let classes = "[a-z]".repeat(96_200);
    for pattern in [&long, &classes] {
        let error = find(&files, json!({"pattern": pattern})).await.unwrap_err();
        assert!(
            error.0.starts_with("Invalid glob pattern: it has "),
            "{error}"
        );
        let query = json!({"pattern": "x", "glob": pattern});
        let error = grep(&files, query).await.unwrap_err();
        assert!(error.0.starts_with("Invalid glob: "));
    }
    for is_literal in [true, false] {
        let query = json!({"pattern": long, "literal": is_literal});
        let error = grep(&files, query).await.unwrap_err();
        let expected = "Invalid pattern: it has 10485760 bytes, at most 65536 are supported";
        assert!(error.0.starts_with(expected), "{error}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_that_became_a_pipe_or_device_is_not_searched() {
    use pi_core::{LineQuery, SearchOperations};

    let files = tree(&[]);
    let pipe = files.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    // The tool rejects these before the search; here they replaced the file after its check.
    for (root, kind) in [(pipe, "a named pipe"), ("/dev/zero".into(), "a device")] {
        let query = LineQuery {
            cwd: files.path().to_owned(),
            root,
            pattern: "x".to_owned(),
            is_literal: false,
            ignore_case: false,
            glob: None,
            context: 0,
            limit: 10,
            max_line_length: 100,
            max_bytes: 1 << 20,
        };
        let found = pi_tools::LocalSearch.find_lines(query, CancellationToken::new());
        let found = found.await.unwrap();
        assert_eq!(found.unreadable.count, 1);
        assert!(found.unreadable.first.ends_with(&format!("is {kind}")));
    }
}

#[tokio::test]
async fn find_matches_the_reference() {
    let project = project();
    for (arguments, expected) in [
        (json!({"pattern": "*.ts"}), "src/b.ts\nsrc/c.ts"),
        (json!({"pattern": "**/*.txt"}), "a.txt\nre.txt"),
        (json!({"pattern": "src/*.ts"}), "src/b.ts\nsrc/c.ts"),
        (json!({"pattern": "*.ts", "path": "src"}), "b.ts\nc.ts"),
        (json!({"pattern": "*.zzz"}), "(no files found)"),
        (json!({"pattern": "src"}), "src/"),
        (json!({"pattern": "i.txt"}), "(no files found)"),
        (json!({"pattern": ".hidden"}), ".hidden"),
        (json!({"pattern": "HEAD"}), ".git/HEAD"),
        (json!({"pattern": "head"}), ".git/HEAD"),
        (json!({"pattern": "B.ts"}), "(no files found)"),
        (json!({"pattern": "{b,re}.*"}), "re.txt\nsrc/b.ts"),
        (json!({"pattern": "**", "path": "src"}), "b.ts\nc.ts"),
        (json!({"pattern": "?.ts"}), "src/b.ts\nsrc/c.ts"),
    ] {
        let result = find(&project, arguments.clone()).await.unwrap();
        assert_eq!(
            (text(&result), &result.details),
            (expected, &None),
            "{arguments}"
        );
    }
    let absolute = format!("{}/*.txt", project.path().display());
    let result = find(&project, json!({"pattern": absolute})).await.unwrap();
    assert_eq!(text(&result), "a.txt\nre.txt");
}

#[tokio::test]
async fn find_stops_at_its_limit() {
    let files = tree(&[("a1.txt", ""), ("only/a2.txt", "")]);
    for (arguments, expected, limit, hint) in [
        (
            json!({"pattern": "*.txt", "limit": 2}),
            "a1.txt\nonly/a2.txt",
            2,
            "limit=4 ",
        ),
        (
            json!({"pattern": "a2*", "limit": 1}),
            "only/a2.txt",
            1,
            "limit=2 ",
        ),
    ] {
        let result = find(&files, arguments).await.unwrap();
        let (shown, notice) = text(&result).split_once("\n\n").unwrap();
        assert_eq!(shown, expected);
        assert!(notice.contains(hint), "{notice}");
        assert_eq!(result.details, Some(json!({"resultLimitReached": limit})));
    }
}

#[tokio::test]
async fn ignore_rules_apply_like_in_git() {
    // Without a repository, find respects .gitignore and grep does not, like `fd` and `rg` as
    // invoked by the reference.
    let files = tree(&[
        (".gitignore", "*.log\n"),
        (".ignore", "left\n"),
        ("a.log", "needle\n"),
        ("left", "needle\n"),
        ("kept", "needle\n"),
    ]);
    let found = find(&files, json!({"pattern": "*"})).await.unwrap();
    assert_eq!(text(&found), ".gitignore\n.ignore\nkept");
    let found = grep(&files, json!({"pattern": "needle"})).await.unwrap();
    assert_eq!(text(&found), "a.log:1: needle\nkept:1: needle");
    // Rules of an outer repository end at a nested one.
    write_file(files.path(), ".git/HEAD", b"");
    write_file(files.path(), "nested/.git/HEAD", b"");
    write_file(files.path(), "nested/b.log", b"needle\n");
    let found = find(&files, json!({"pattern": "*.log"})).await.unwrap();
    assert_eq!(text(&found), "nested/b.log");
}

#[cfg(unix)]
#[tokio::test]
async fn an_unreadable_directory_does_not_fail_the_search() {
    use std::os::unix::fs::PermissionsExt;
    if !run_isolated("search::an_unreadable_directory_does_not_fail_the_search") {
        return;
    }
    let files = tree(&[("closed/f", "needle\n"), ("open", "needle\n")]);
    let closed = files.path().join("closed");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let results = [
        grep(&files, json!({"pattern": "needle"})).await.unwrap(),
        find(&files, json!({"pattern": "open"})).await.unwrap(),
    ];
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    for result in results {
        let (shown, notice) = text(&result).split_once("\n\n").unwrap();
        assert!(shown.starts_with("open"), "{shown}");
        assert!(
            notice.starts_with("[Could not read ") && notice.contains("closed"),
            "{notice}"
        );
    }
}

/// How long a canceled search may continue: far less than it would take to complete.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_can_be_canceled() {
    // A sparse file takes long to read but uses no disk space.
    let files = tree(&[]);
    let huge = fs::File::create(files.path().join("huge")).unwrap();
    huge.set_len(1 << 40).unwrap();
    let project = TestProject::local(files.path());
    let tool = project.grep();
    let cancel = CancellationToken::new();
    // Requested by name, so that it is searched although it is binary.
    let arguments = json!({"pattern": "needle", "path": "huge"});
    let updates = Progress::default();
    let searching = call_until(&tool, arguments, &updates, cancel.clone());
    let canceling = async {
        tokio::task::yield_now().await;
        cancel.cancel();
        Instant::now()
    };
    let (result, canceled_at) = tokio::join!(searching, canceling);
    assert_eq!(result.unwrap_err(), ToolError::new("Operation aborted"));
    assert!(
        canceled_at.elapsed() < CANCEL_TIMEOUT,
        "{:?}",
        canceled_at.elapsed()
    );
    for tool in [tool, project.find()] {
        let arguments = json!({"pattern": "x"});
        let result = call_until(&tool, arguments, &updates, cancel.clone()).await;
        assert_eq!(result.unwrap_err(), ToolError::new("Operation aborted"));
    }
}

/// Checks a declaration except for its descriptions.
fn check_declaration(tool: &dyn Tool, name: &str, required: &str, properties: &[(&str, &str)]) {
    let declaration = tool.declaration();
    assert_eq!(declaration.name, name);
    let strict = (name == "bash").then_some(ConstrainedSampling::JsonSchema(Strictness::Prefer));
    assert_eq!(declaration.constrained_sampling, strict);
    let schema = &declaration.parameters;
    assert_eq!(
        (&schema["type"], &schema["required"]),
        (&json!("object"), &json!([required]))
    );
    let declared: Vec<_> = schema["properties"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, property)| (name.as_str(), property["type"].as_str().unwrap()))
        .collect();
    assert_eq!(declared, properties);
}

#[test]
fn tools_are_declared_correctly() {
    check_declaration(
        &ShellTool::bash(ShellToolOptions::default()),
        "bash",
        "command",
        &[("command", "string"), ("timeout", "number")],
    );
    check_declaration(
        &GrepTool::default(),
        "grep",
        "pattern",
        &[
            ("pattern", "string"),
            ("path", "string"),
            ("glob", "string"),
            ("ignoreCase", "boolean"),
            ("literal", "boolean"),
            ("context", "number"),
            ("limit", "number"),
        ],
    );
    check_declaration(
        &FindTool::default(),
        "find",
        "pattern",
        &[
            ("pattern", "string"),
            ("path", "string"),
            ("limit", "number"),
        ],
    );
}
