//! Files of the editor: unsaved text is read from it, and files are written by it if the user wants that.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::client::AcpClient;
use crate::harness::{TestContext, text_reply, tool_call_reply};

const BOTH: &str = r#"{"acp": {"clientFiles": "write"}}"#;

/// Answers requests for files until the turn ends. Reads return `unsaved`; writes go to disk, except those that are refused.
/// Returns the contents of the writes.
async fn serve_files(
    client: &mut AcpClient,
    context: &TestContext,
    writes: usize,
    unsaved: &str,
) -> Vec<String> {
    let mut written = Vec::new();
    while written.len() < writes {
        let question = client.question().await;
        let path = question["params"]["path"].as_str().unwrap().to_owned();
        match question["method"].as_str().unwrap() {
            "fs/read_text_file" => client.answer(&question, json!({"content": unsaved})).await,
            "fs/write_text_file" if path.ends_with("refused.txt") => {
                let error = json!({"code": -32603, "message": "read-only"});
                let id = &question["id"];
                let refusal = json!({"jsonrpc": "2.0", "id": id, "error": error});
                client.send(&refusal).await;
                written.push("refused".to_owned());
            }
            "fs/write_text_file" => {
                let text = question["params"]["content"].as_str().unwrap().to_owned();
                let name = path.rsplit('/').next().unwrap();
                context.home.write(&format!("project/{name}"), text.clone());
                written.push(text);
                client.answer(&question, json!({})).await;
            }
            other => panic!("{other}"),
        }
    }
    written
}

#[tokio::test]
async fn the_editor_writes_files_if_the_user_wants_that() {
    let edits = json!([{"oldText": "one", "newText": "two"}]);
    let replies = [
        tool_call_reply("write", &json!({"path": "new.txt", "content": "one\n"})),
        tool_call_reply("edit", &json!({"path": "new.txt", "edits": edits})),
        tool_call_reply(
            "write",
            &json!({"path": "refused.txt", "content": "on disk\n"}),
        ),
        text_reply("Done."),
    ];
    let context = TestContext::new(replies).await;
    context.home.write("agent/settings.json", BOTH);
    let files = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
    let mut client = AcpClient::start(&context, files).await;
    let session = client.open(&context).await;
    let prompt = client.prompt(&session, "Work").await;
    let unsaved = "one\nunsaved\n";
    let written = serve_files(&mut client, &context, 3, unsaved).await;
    assert_eq!(written, ["one\n", "two\nunsaved\n", "refused"]);
    client.response(prompt).await.unwrap();
    // The diff has the text of the editor, not the one on disk.
    let diffs = client.updates("tool_call_update");
    let diffs: Vec<_> = diffs
        .iter()
        .filter(|update| update["status"] == "completed")
        .map(|update| &update["content"][0])
        .map(|diff| (diff["oldText"].clone(), diff["newText"].clone()))
        .collect();
    assert_eq!(
        diffs,
        [
            (Value::Null, json!("one\n")),
            (json!(unsaved), json!("two\nunsaved\n")),
            (Value::Null, json!("on disk\n")),
        ]
    );
    let refused = context.project_dir().join("refused.txt");
    assert_eq!(std::fs::read_to_string(refused).unwrap(), "on disk\n");
}

#[tokio::test]
async fn files_are_written_to_disk_by_default_and_not_read_if_turned_off() {
    for (settings, reads) in [("{}", true), (r#"{"acp": {"clientFiles": "off"}}"#, false)] {
        let replies = [
            tool_call_reply("read", &json!({"path": "a.txt"})),
            tool_call_reply("write", &json!({"path": "b.txt", "content": "b\n"})),
            text_reply("Done."),
        ];
        let context = TestContext::new(replies).await;
        context.home.write("agent/settings.json", settings);
        context.home.write("project/a.txt", "saved");
        let files = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
        let mut client = AcpClient::start(&context, files).await;
        let session = client.open(&context).await;
        let prompt = client.prompt(&session, "Work").await;
        if reads {
            let question = client.question().await;
            assert_eq!(question["method"], json!("fs/read_text_file"));
            let answer = json!({"content": "unsaved"});
            client.answer(&question, answer).await;
        }
        client.response(prompt).await.unwrap();
        let request = context.server.requests()[1].json().to_string();
        assert_eq!(request.contains("unsaved"), reads, "{request}");
        assert!(context.project_dir().join("b.txt").exists());
    }
}

#[tokio::test]
async fn commands_of_extensions_can_be_left_out() {
    let extension = r#"export default (pi) => pi.registerCommand("shout", { description: "Shouts", handler: () => {} });"#;
    for (settings, is_offered) in [("{}", true), (r#"{"acp": {"commands": "safe"}}"#, false)] {
        let context = TestContext::new([]).await;
        context.home.write("agent/settings.json", settings);
        context.home.write("agent/extensions/shout.js", extension);
        let mut client = AcpClient::start(&context, json!({})).await;
        let session = client.open(&context).await;
        let commands = client.wait_for_update("available_commands_update").await;
        let commands = commands.to_string();
        assert_eq!(commands.contains("\"shout\""), is_offered, "{commands}");
        assert!(commands.contains("\"compact\""));
        let prompt = client.prompt(&session, "/shout now").await;
        let outcome = client.response(prompt).await;
        assert_eq!(outcome.is_ok(), is_offered, "{outcome:?}");
    }
}
