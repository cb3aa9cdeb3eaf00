//! The file tools on this machine's files, whatever the system.

use std::fs;
use std::io::Write;

use pi_tools::{EditTool, LsTool, ReadTool, WriteTool};
use pretty_assertions::assert_eq;
use serde_json::json;
use tempfile::tempdir;

use crate::support::{call, context, text};

#[tokio::test]
async fn a_file_is_written_edited_read_and_listed() {
    let directory = tempdir().unwrap();
    let context = context(directory.path());
    let (write, edit) = (
        WriteTool::new(context.clone()),
        EditTool::new(context.clone()),
    );
    let (read, ls) = (ReadTool::new(context.clone()), LsTool::new(context));

    let text_before = "grüße\r\n日本 🎉\r\n";
    call(
        &write,
        json!({"path": "deep/er/ä.txt", "content": text_before}),
    )
    .await
    .unwrap();
    let edits = json!([{"oldText": "日本 🎉\n", "newText": "日本\n🎉\n"}]);
    call(&edit, json!({"path": "deep/er/ä.txt", "edits": edits}))
        .await
        .unwrap();
    let output = call(&read, json!({"path": "deep/er/ä.txt"})).await.unwrap();
    assert_eq!(text(&output), "grüße\r\n日本\r\n🎉\r\n");
    let output = call(&ls, json!({"path": "deep/er"})).await.unwrap();
    assert_eq!(text(&output), "ä.txt");
    let output = call(&ls, json!({"path": "deep"})).await.unwrap();
    assert_eq!(text(&output), "er/");
}

#[tokio::test]
async fn characters_split_between_pieces_are_whole() {
    let directory = tempdir().unwrap();
    let read = ReadTool::new(context(directory.path()));
    // Three bytes a character: none of the powers of two at which pieces end is a boundary.
    let long_line = "日".repeat(400_000);
    let mut file = fs::File::create(directory.path().join("f")).unwrap();
    writeln!(file, "{long_line}\nend 日本").unwrap();
    let output = call(&read, json!({"path": "f", "offset": 2}))
        .await
        .unwrap();
    assert_eq!(text(&output), "end 日本\n");
    let output = call(&read, json!({"path": "f"})).await.unwrap();
    assert!(
        text(&output).starts_with("[Line 1 has 1.1MB"),
        "{}",
        text(&output)
    );
    let truncation = &output.details.unwrap()["truncation"];
    assert_eq!(truncation["totalBytes"], 1_200_012);
    assert_eq!(truncation["totalLines"], 2);
}

#[tokio::test]
async fn a_directory_that_is_gone_is_told() {
    let directory = tempdir().unwrap();
    let context = context(directory.path());
    drop(directory);
    let read = call(&ReadTool::new(context.clone()), json!({"path": "f"})).await;
    assert_eq!(
        read.unwrap_err().0,
        "Cannot read f: no such file or directory (ENOENT)"
    );
    let ls = call(&LsTool::new(context), json!({})).await;
    assert!(
        ls.unwrap_err()
            .0
            .ends_with(": no such file or directory (ENOENT)")
    );
}
