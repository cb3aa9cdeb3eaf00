//! Searching through file operations; the integration tests search files on disk.

use pretty_assertions::assert_eq;

use super::*;
use crate::memory::MemoryFiles;
use crate::testing::{BoundTool, TestProject, call, text};

fn project() -> TestProject {
    let files = MemoryFiles::default()
        .with("/project/a.txt", "alpha\nbeta\ngamma\n")
        .with("/project/src/b.ts", "const beta = 1;\n")
        .with("/project/src/.gitignore", "*.out\n!keep.out\n")
        .with("/project/src/x.out", "beta\n")
        .with("/project/src/keep.out", "beta\n")
        .with("/project/.gitignore", "ignored/\n")
        .with("/project/ignored/i.txt", "beta\n")
        .with("/project/node_modules/m/n.ts", "beta\n")
        .with("/project/.git/HEAD", "beta\n")
        .with("/project/binary", "\0beta\n");
    TestProject::new(&files)
}

async fn run(tool: &BoundTool, arguments: Value) -> String {
    match call(tool, arguments).await {
        Ok(output) => text(&output).to_owned(),
        Err(error) => error.0,
    }
}

#[tokio::test]
async fn grep_searches_through_operations() {
    let tool = project().grep();
    for (arguments, expected) in [
        (
            json!({"pattern": "beta"}),
            "a.txt:2: beta\nsrc/b.ts:1: const beta = 1;\nsrc/keep.out:1: beta",
        ),
        (
            json!({"pattern": "beta", "glob": "*.ts"}),
            "src/b.ts:1: const beta = 1;",
        ),
        (
            json!({"pattern": "beta", "path": "a.txt", "context": 1}),
            "a.txt-1- alpha\na.txt:2: beta\na.txt-3- gamma",
        ),
        (
            json!({"pattern": "x", "path": "nope"}),
            "Cannot search /project/nope: no such file or directory (ENOENT)",
        ),
    ] {
        assert_eq!(run(&tool, arguments.clone()).await, expected, "{arguments}");
    }
    let limited = run(&tool, json!({"pattern": "beta", "limit": 1})).await;
    assert_eq!(limited.lines().count(), 3, "{limited}");
}

#[tokio::test]
async fn find_searches_through_operations() {
    let tool = project().find();
    for (arguments, expected) in [
        (json!({"pattern": "*.ts"}), "src/b.ts"),
        (json!({"pattern": "src/*.out"}), "src/keep.out"),
        (json!({"pattern": "src"}), "src/"),
        (json!({"pattern": "HEAD"}), "(no files found)"),
    ] {
        assert_eq!(run(&tool, arguments.clone()).await, expected, "{arguments}");
    }
}
