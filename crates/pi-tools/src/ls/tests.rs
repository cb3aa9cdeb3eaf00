use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;
use crate::memory::MemoryFiles;
use crate::testing::{TestProject, call, text};

fn project() -> MemoryFiles {
    let mut files = MemoryFiles::default();
    for name in [
        "a.txt",
        "src/b.ts",
        "src/c.ts",
        ".hidden",
        "ignored/i.txt",
        ".gitignore",
        "re.txt",
        "B.txt",
    ] {
        files = files.with(format!("/project/{name}"), "");
    }
    files
}

#[tokio::test]
async fn a_directory_is_listed() {
    let tool = TestProject::new(&project()).ls();
    let all = ".gitignore\n.hidden\na.txt\nB.txt\nignored/\nre.txt\nsrc/";
    for (arguments, expected, details) in [
        (json!({}), all, None),
        (json!({"path": ""}), all, None),
        (json!({"path": "src"}), "b.ts\nc.ts", None),
        (
            json!({"limit": 2}),
            ".gitignore\n.hidden\n\n[Limited to 2 entries. Use limit=4 for more]",
            Some(json!({"entryLimitReached": 2})),
        ),
        (json!({"limit": 7}), all, None),
        (
            json!({"path": "src", "limit": 0}),
            "b.ts\n\n[Limited to 1 entries. Use limit=2 for more]",
            Some(json!({"entryLimitReached": 1})),
        ),
    ] {
        let output = call(&tool, arguments.clone()).await.unwrap();
        assert_eq!(
            (text(&output), &output.details),
            (expected, &details),
            "{arguments}"
        );
    }
}

#[tokio::test]
async fn other_paths_are_rejected() {
    let tool = TestProject::new(&project()).ls();
    for (path, message) in [
        (
            "nope",
            "Cannot list /project/nope: no such file or directory (ENOENT)",
        ),
        (
            "a.txt",
            "Cannot list /project/a.txt: a regular file, not a directory; use read for files",
        ),
        (
            "a.txt/x",
            "Cannot list /project/a.txt/x: a component of the path is not a directory (ENOTDIR)",
        ),
    ] {
        assert_eq!(
            call(&tool, json!({"path": path})).await.unwrap_err().0,
            message
        );
    }
}

#[test]
fn an_empty_directory_returns_a_placeholder() {
    assert_eq!(text(&output(&[], 500.0)), "(empty directory)");
}

#[test]
fn long_listings_are_truncated() {
    let names: Vec<String> = (0..1000).map(|number| format!("{number:0>120}")).collect();
    let output = output(&names, 1000.0);
    assert!(text(&output).ends_with("\n\n[Truncated at 50.0KB]"));
    let details: Value = output.details.unwrap();
    assert_eq!(
        details["truncation"]["maxLines"],
        json!(9_007_199_254_740_991_i64)
    );
    assert_eq!(details["truncation"]["outputLines"], 423);
}
