use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;
use crate::memory::MemoryFiles;
use crate::testing::{TestProject, call, call_with_token, text};

const TWELVE: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\ntwelve\n";

/// A file, the edits, the resulting file and the details.
struct EditCase {
    before: &'static str,
    edits: Value,
    after: &'static str,
    diff: &'static str,
    patch: &'static str,
    first_changed_line: usize,
}

fn edit(old: &str, new: &str) -> Value {
    json!({"oldText": old, "newText": new})
}

fn cases() -> Vec<EditCase> {
    vec![
        EditCase {
            before: TWELVE,
            edits: json!([edit("two\n", "TWO\n")]),
            after: "one\nTWO\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\ntwelve\n",
            diff: "  1 one\n- 2 two\n+ 2 TWO\n  3 three\n  4 four\n  5 five\n  6 six\n    ...",
            patch: "@@ -1,6 +1,6 @@\n one\n-two\n+TWO\n three\n four\n five\n six\n",
            first_changed_line: 2,
        },
        EditCase {
            before: TWELVE,
            edits: json!([edit("one\n", "ONE\n"), edit("twelve\n", "12\nextra\n")]),
            after: "ONE\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\n12\nextra\n",
            diff: "- 1 one\n+ 1 ONE\n  2 two\n  3 three\n  4 four\n  5 five\n    ...\n  8 eight\n  9 nine\n 10 ten\n 11 eleven\n-12 twelve\n+12 12\n+13 extra",
            patch: "@@ -1,5 +1,5 @@\n-one\n+ONE\n two\n three\n four\n five\n@@ -8,5 +8,6 @@\n eight\n nine\n ten\n eleven\n-twelve\n+12\n+extra\n",
            first_changed_line: 1,
        },
        EditCase {
            before: TWELVE,
            edits: json!([edit("eleven\n", "")]),
            after: "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\ntwelve\n",
            diff: "    ...\n  7 seven\n  8 eight\n  9 nine\n 10 ten\n-11 eleven\n 12 twelve",
            patch: "@@ -7,6 +7,5 @@\n seven\n eight\n nine\n ten\n-eleven\n twelve\n",
            first_changed_line: 11,
        },
        EditCase {
            before: "only line",
            edits: json!([edit("only", "sole")]),
            after: "sole line",
            diff: "-1 only line\n+1 sole line",
            patch: "@@ -1,1 +1,1 @@\n-only line\n\\ No newline at end of file\n+sole line\n\\ No newline at end of file\n",
            first_changed_line: 1,
        },
        EditCase {
            before: "sole line",
            edits: json!([edit("line", "line\n")]),
            after: "sole line\n",
            diff: "-1 sole line\n+1 sole line",
            patch: "@@ -1,1 +1,1 @@\n-sole line\n\\ No newline at end of file\n+sole line\n",
            first_changed_line: 1,
        },
        EditCase {
            before: "say “hello” now\nkeep “this”\n",
            edits: json!([edit("say \"hello\" now", "say bye")]),
            after: "say bye\nkeep “this”\n",
            diff: "-1 say “hello” now\n+1 say bye\n 2 keep “this”",
            patch: "@@ -1,2 +1,2 @@\n-say “hello” now\n+say bye\n keep “this”\n",
            first_changed_line: 1,
        },
        EditCase {
            before: "first   \nsecond\t\nthird\n",
            edits: json!([edit("first\nsecond\n", "1\n2\n")]),
            after: "1\n2\nthird\n",
            diff: "-1 first   \n-2 second\t\n+1 1\n+2 2\n 3 third",
            patch: "@@ -1,3 +1,3 @@\n-first   \n-second\t\n+1\n+2\n third\n",
            first_changed_line: 1,
        },
        EditCase {
            before: "one\r\ntwo\r\nthree\r\n",
            edits: json!([edit("two\n", "2\n2b\n")]),
            after: "one\r\n2\r\n2b\r\nthree\r\n",
            diff: " 1 one\n-2 two\n+2 2\n+3 2b\n 3 three",
            patch: "@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2b\n three\n",
            first_changed_line: 2,
        },
        EditCase {
            before: "\u{feff}one\r\ntwo\r\n",
            edits: json!([edit("one\r\ntwo", "x\r\ny")]),
            after: "\u{feff}x\r\ny\r\n",
            diff: "-1 one\n-2 two\n+1 x\n+2 y",
            patch: "@@ -1,2 +1,2 @@\n-one\n-two\n+x\n+y\n",
            first_changed_line: 1,
        },
        // Line endings outside the edited text are preserved.
        EditCase {
            before: "a\r\nb\nc\r\n",
            edits: json!([edit("b", "B")]),
            after: "a\r\nB\nc\r\n",
            diff: " 1 a\n-2 b\n+2 B\n 3 c",
            patch: "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n",
            first_changed_line: 2,
        },
        EditCase {
            before: "a\rb\rc",
            edits: json!([edit("b", "B")]),
            after: "a\rB\rc",
            diff: " 1 a\n-2 b\n+2 B\n 3 c",
            patch: "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n\\ No newline at end of file\n",
            first_changed_line: 2,
        },
        // Of several equal lines, the first one is treated as unchanged.
        EditCase {
            before: "x\n}\nb\n",
            edits: json!([edit("x\n", "-\n}\n")]),
            after: "-\n}\n}\nb\n",
            diff: "-1 x\n+1 -\n 2 }\n+3 }\n 3 b",
            patch: "@@ -1,3 +1,4 @@\n-x\n+-\n }\n+}\n b\n",
            first_changed_line: 1,
        },
        EditCase {
            before: "gone",
            edits: json!([edit("gone", "")]),
            after: "",
            diff: "-1 gone",
            patch: "@@ -1,1 +0,0 @@\n-gone\n\\ No newline at end of file\n",
            first_changed_line: 1,
        },
    ]
}

#[tokio::test]
async fn edits_change_the_file_and_return_a_diff() {
    for case in cases() {
        let files = MemoryFiles::default().with("/project/f", case.before);
        let tool = TestProject::new(&files).edit();
        let output = call(&tool, json!({"path": "f", "edits": case.edits}))
            .await
            .unwrap();
        let after = String::from_utf8(files.contents("/project/f").unwrap()).unwrap();
        assert_eq!(after, case.after);
        assert_eq!(
            output.details,
            Some(json!({
                "diff": case.diff,
                "patch": format!("--- f\n+++ f\n{}", case.patch),
                "firstChangedLine": case.first_changed_line,
            })),
            "{:?}",
            case.before
        );
    }
}

#[tokio::test]
async fn common_argument_mistakes_are_accepted() {
    let files = MemoryFiles::default().with("/project/f", "one\ntwo\nthree\nfour\n");
    let tool = TestProject::new(&files).edit();
    for (arguments, is_ok) in [
        (json!({"path": "f", "oldText": "one", "newText": "1"}), true),
        (
            json!({"path": "f", "edits": "[{\"oldText\":\"two\",\"newText\":\"2\"}]"}),
            true,
        ),
        (json!({"path": "f", "edits": edit("three", "3")}), true),
        (json!({"path": "f", "edits": "not json"}), false),
        (json!({"path": "f", "edits": [{"oldText": "four"}]}), false),
        (json!({"path": "f", "edits": []}), false),
    ] {
        assert_eq!(
            call(&tool, arguments.clone()).await.is_ok(),
            is_ok,
            "{arguments}"
        );
    }
    assert_eq!(files.contents("/project/f").unwrap(), b"1\n2\n3\nfour\n");
}

#[tokio::test]
async fn edits_are_applied_all_or_nothing() {
    let files = MemoryFiles::default().with("/project/f", "one\ntwo\n");
    let tool = TestProject::new(&files).edit();
    let edits = json!([edit("one", "1"), edit("tow", "2")]);
    let error = call(&tool, json!({"path": "f", "edits": edits}))
        .await
        .unwrap_err();
    assert_eq!(
        error.0,
        "File not changed: f: edits[1].oldText not found in the file; it must match exactly, \
         including whitespace and line breaks"
    );
    assert_eq!(files.contents("/project/f").unwrap(), b"one\ntwo\n");
}

#[tokio::test]
async fn errors_name_the_path_and_the_reason() {
    let files = MemoryFiles::default().with("/project/dir/f", "x");
    let tool = TestProject::new(&files).edit();
    for (path, message) in [
        (
            "nope",
            "Cannot edit nope: no such file or directory (ENOENT)",
        ),
        ("dir", "Cannot edit dir: is a directory (EISDIR)"),
        (
            "dir/f/g",
            "Cannot edit dir/f/g: a component of the path is not a directory (ENOTDIR)",
        ),
    ] {
        let arguments = json!({"path": path, "edits": [edit("x", "y")]});
        assert_eq!(call(&tool, arguments).await.unwrap_err().0, message);
    }
}

#[tokio::test]
async fn concurrent_edits_of_one_file_are_all_applied() {
    let files = MemoryFiles::default().with("/project/f", "one\ntwo\nthree\n");
    let tool = TestProject::new(&files).edit();
    let one = |old, new| call(&tool, json!({"path": "f", "edits": [edit(old, new)]}));
    let (first, second, third) = tokio::join!(one("one", "1"), one("two", "2"), one("three", "3"));
    for output in [&first, &second, &third] {
        assert_eq!(
            text(output.as_ref().unwrap()),
            "Applied 1 replacement to f."
        );
    }
    let details = second.unwrap().details.unwrap();
    assert_eq!(details["diff"], " 1 1\n-2 two\n+2 2\n 3 three");
    assert_eq!(files.contents("/project/f").unwrap(), b"1\n2\n3\n");
}

#[tokio::test]
async fn a_canceled_call_changes_nothing() {
    let files = MemoryFiles::default().with("/project/f", "x");
    let tool = TestProject::new(&files).edit();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let arguments = json!({"path": "f", "edits": [edit("x", "y")]});
    let error = call_with_token(&tool, arguments, cancel).await.unwrap_err();
    assert_eq!(error.0, "Operation aborted");
    assert_eq!(files.contents("/project/f").unwrap(), b"x");
}
