//! The file tools on local files, on any system.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use pi_core::{Environment, NoSession, Tool, ToolContext};
use pi_protocol::{ConstrainedSampling, Strictness};
use pi_tools::{
    FileSearch, GrepTool, MemoryFiles, MemoryProcesses, ReadTool, SharedImagePolicy, ShellTool,
    ShellToolOptions, local_environment,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::support::{BoundTool, TestProject, call, text};

/// Returns a schema without its descriptions.
fn shape(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| *name != "description")
            .map(|(name, value)| (name.clone(), shape(value)))
            .collect(),
        Value::Array(items) => items.iter().map(shape).collect(),
        other => other.clone(),
    }
}

#[test]
fn tools_are_declared_correctly() {
    let project = TestProject::local(Path::new("/project"));
    let strict = Some(ConstrainedSampling::JsonSchema(Strictness::Prefer));
    let (string, number) = (json!({"type": "string"}), json!({"type": "number"}));
    let edit = json!({
        "type": "object",
        "required": ["oldText", "newText"],
        "properties": {"oldText": string, "newText": string},
    });
    let cases: [(BoundTool, &str, Value, _); 4] = [
        (
            project.read(),
            "read",
            json!({
                "type": "object",
                "required": ["path"],
                "properties": {"path": string, "offset": number, "limit": number},
            }),
            &strict,
        ),
        (
            project.edit(),
            "edit",
            json!({
                "type": "object",
                "required": ["path", "edits"],
                "properties": {"path": string, "edits": {"type": "array", "items": edit}},
            }),
            &strict,
        ),
        (
            project.write(),
            "write",
            json!({
                "type": "object",
                "required": ["path", "content"],
                "properties": {"path": string, "content": string},
            }),
            &strict,
        ),
        (
            project.ls(),
            "ls",
            json!({"type": "object", "properties": {"path": string, "limit": number}}),
            &None,
        ),
    ];
    for (tool, name, parameters, sampling) in cases {
        let declaration = tool.tool.declaration();
        assert_eq!(declaration.name, name);
        assert_eq!(shape(&declaration.parameters), parameters);
        assert_eq!(&declaration.constrained_sampling, sampling);
    }
}

#[tokio::test]
async fn a_file_is_written_edited_read_and_listed() {
    let directory = tempdir().unwrap();
    let project = TestProject::local(directory.path());
    let (write, edit) = (project.write(), project.edit());
    let (read, ls) = (project.read(), project.ls());

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
async fn characters_split_between_chunks_are_complete() {
    let directory = tempdir().unwrap();
    let read = TestProject::local(directory.path()).read();
    // Three bytes per character: no power of two is a character boundary.
    let long_line = "日".repeat(400_000);
    let mut file = fs::File::create(directory.path().join("f")).unwrap();
    writeln!(file, "{long_line}\nend 日本").unwrap();
    let output = call(&read, json!({"path": "f", "offset": 2}))
        .await
        .unwrap();
    assert_eq!(text(&output), "end 日本\n");
    let output = call(&read, json!({"path": "f"})).await.unwrap();
    assert!(
        text(&output).starts_with("[Line 1 is 1.1MB"),
        "{}",
        text(&output)
    );
    let truncation = &output.details.unwrap()["truncation"];
    assert_eq!(truncation["totalBytes"], 1_200_012);
    assert_eq!(truncation["totalLines"], 2);
}

#[tokio::test]
async fn a_deleted_directory_is_reported() {
    let directory = tempdir().unwrap();
    let project = TestProject::local(directory.path());
    drop(directory);
    let read = call(&project.read(), json!({"path": "f"})).await;
    assert_eq!(
        read.unwrap_err().0,
        "Cannot read f: no such file or directory (ENOENT)"
    );
    let ls = call(&project.ls(), json!({})).await;
    assert!(
        ls.unwrap_err()
            .0
            .ends_with(": no such file or directory (ENOENT)")
    );
}

#[tokio::test]
async fn a_tool_works_in_the_environment_of_each_call() {
    let directory = tempdir().unwrap();
    let mut file = fs::File::create(directory.path().join("f")).unwrap();
    writeln!(file, "local").unwrap();
    let memory = Arc::new(MemoryFiles::default().with("/project/f", "memory\n"));
    let container = Environment {
        files: memory.clone(),
        processes: Arc::new(MemoryProcesses::default().with("cat f", &[b"memory\n"], Some(0))),
        search: Arc::new(FileSearch(memory)),
        ..local_environment()
    };
    let tools: [(Box<dyn Tool>, Value); 3] = [
        (
            Box::new(ReadTool::new(SharedImagePolicy::default())),
            json!({"path": "f"}),
        ),
        (
            Box::new(ShellTool::bash(ShellToolOptions::default())),
            json!({"command": "cat f"}),
        ),
        (Box::new(GrepTool::default()), json!({"pattern": "l|m"})),
    ];
    let places = [
        (directory.path(), local_environment(), "local"),
        (Path::new("/project"), container, "memory"),
    ];
    for (cwd, environment, expected) in places {
        let environment = Arc::new(environment);
        for (tool, arguments) in &tools {
            let session = Arc::new(NoSession::at(cwd));
            let cx = ToolContext::new("call_1", session, Arc::clone(&environment));
            let arguments = arguments.as_object().unwrap().clone();
            let output = tool.call(cx, arguments).await.unwrap();
            let shown = text(&output).trim_end().trim_start_matches("f:1: ");
            assert_eq!(shown, expected, "{}", tool.declaration().name);
        }
    }
}
