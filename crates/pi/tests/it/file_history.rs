//! The file history: `/undo`, the question when moving in the tree, `pi files`, and nothing of it by default.
#![cfg(unix)]

use std::path::PathBuf;

use pi_test_support::ScriptedReply;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::harness::{TestContext, bash_reply, partial_reply, text_reply, tool_call_reply};
use crate::mcp::Client;
use crate::terminal::Terminal;

fn write_reply(path: &str, content: &str) -> ScriptedReply {
    tool_call_reply("write", &json!({"path": path, "content": content}))
}

/// Two turns that change the same file, the second one also creates another.
fn two_turns() -> Vec<ScriptedReply> {
    vec![
        write_reply("a.txt", "one\n"),
        text_reply("First done."),
        write_reply("a.txt", "two\n"),
        write_reply("new/b.txt", "b\n"),
        text_reply("Second done."),
    ]
}

async fn context_with(mode: &str, replies: Vec<ScriptedReply>) -> TestContext {
    let skip = json!({"skipPrompt": true});
    context_with_summaries(mode, &skip, replies).await
}

async fn context_with_summaries(
    mode: &str,
    summaries: &Value,
    replies: Vec<ScriptedReply>,
) -> TestContext {
    let context = TestContext::new(replies).await;
    let settings = json!({"fileHistory": mode, "branchSummary": summaries});
    context
        .home
        .write("agent/settings.json", settings.to_string());
    context
}

fn text(context: &TestContext, name: &str) -> Option<String> {
    std::fs::read_to_string(context.project_dir().join(name)).ok()
}

async fn prompt(client: &mut Client, message: &str) {
    let command = json!({"type": "prompt", "message": message});
    client.send(command).await;
    client.read_until(|it| it["type"] == "agent_settled").await;
}

/// Runs `/undo` and returns what it reports.
async fn undo(client: &mut Client) -> String {
    client
        .send(json!({"type": "prompt", "message": "/undo"}))
        .await;
    report(client).await
}

async fn report(client: &mut Client) -> String {
    let notified = client.read_until(|it| it["method"] == "notify").await;
    notified["message"].as_str().unwrap().to_owned()
}

fn is_dialog(record: &Value) -> bool {
    record["method"] == "select"
}

async fn answer(client: &mut Client, dialog: &Value, start: &str) {
    let options = dialog["options"].as_array().unwrap().iter();
    let mut options = options.map(|option| option.as_str().unwrap());
    let option = options.find(|option| option.starts_with(start));
    let option = option.unwrap_or_else(|| panic!("{dialog}"));
    let response = json!({"type": "extension_ui_response", "id": dialog["id"], "value": option});
    client.send(response).await;
}

/// Returns the directories with file histories.
fn histories(context: &TestContext) -> Vec<PathBuf> {
    let sessions = context.home.path().join("agent/sessions");
    let projects = std::fs::read_dir(sessions).unwrap();
    let files = projects.flat_map(|project| std::fs::read_dir(project.unwrap().path()).unwrap());
    let paths = files.map(|file| file.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|it| it == "files"))
        .collect()
}

#[tokio::test]
async fn undo_restores_one_turn_after_the_other() {
    let context = context_with("edits", two_turns()).await;
    let mut client = Client::start(&context);
    prompt(&mut client, "first").await;
    prompt(&mut client, "second").await;
    assert_eq!(text(&context, "a.txt").unwrap(), "two\n");
    let reported = undo(&mut client).await;
    assert_eq!(reported, "Restored 3 files\nnew/b.txt\nnew\na.txt");
    assert_eq!(text(&context, "a.txt").unwrap(), "one\n");
    assert!(!context.project_dir().join("new").exists());
    undo(&mut client).await;
    assert_eq!(text(&context, "a.txt"), None);
    assert_eq!(undo(&mut client).await, "No file changes to undo");
}

#[tokio::test]
async fn undo_asks_about_files_that_were_changed_since() {
    let context = context_with("edits", two_turns()).await;
    let mut client = Client::start(&context);
    prompt(&mut client, "first").await;
    context.home.write("project/a.txt", "mine\n");
    client
        .send(json!({"type": "prompt", "message": "/undo"}))
        .await;
    let dialog = client.read_until(is_dialog).await;
    let title = dialog["title"].as_str().unwrap();
    assert!(title.contains("1 changed outside pi since"), "{title}");
    assert!(
        title.contains("delete a.txt (changed outside pi)"),
        "{title}"
    );
    answer(&mut client, &dialog, "Cancel").await;
    assert_eq!(report(&mut client).await, "Canceled");
    assert_eq!(text(&context, "a.txt").unwrap(), "mine\n");
    client
        .send(json!({"type": "prompt", "message": "/undo"}))
        .await;
    let dialog = client.read_until(is_dialog).await;
    answer(&mut client, &dialog, "Restore 1 file, overwrite").await;
    report(&mut client).await;
    assert_eq!(text(&context, "a.txt"), None);
}

/// The answer to the question of `/undo` may come when another client, or a queued message, has started a run.
#[tokio::test]
async fn nothing_is_undone_while_the_agent_runs() {
    let replies = vec![
        write_reply("a.txt", "one\n"),
        text_reply("First done."),
        partial_reply("Second").stall(),
    ];
    let context = context_with("edits", replies).await;
    let mut client = Client::start(&context);
    prompt(&mut client, "first").await;
    context.home.write("project/a.txt", "mine\n");
    client
        .send(json!({"type": "prompt", "message": "/undo"}))
        .await;
    let dialog = client.read_until(is_dialog).await;
    client
        .send(json!({"type": "prompt", "message": "second"}))
        .await;
    client.read_until(|it| it["type"] == "agent_start").await;
    answer(&mut client, &dialog, "Restore 1 file, overwrite").await;
    let reported = report(&mut client).await;
    assert!(reported.starts_with("The agent is busy"), "{reported}");
    assert_eq!(text(&context, "a.txt").unwrap(), "mine\n");
}

/// Each session has a separate history, also that of a sub-agent.
#[tokio::test]
async fn changes_of_a_sub_agent_are_in_the_history_of_its_session() {
    let replies = vec![
        tool_call_reply("task", &json!({"prompt": "child"})),
        text_reply("Done."),
    ];
    let context = context_with("edits", replies).await;
    let child = [write_reply("a.txt", "one\n"), text_reply("Written.")];
    context.server.reply_to("\"child\"", child);
    let output = context.run(&["-e", "builtin:task", "-p", "go"]).await;
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(text(&context, "a.txt").unwrap(), "one\n");
    assert_eq!(histories(&context), Vec::<PathBuf>::new());
    let sessions = context.home.path().join("agent/sessions");
    let mut found = Vec::new();
    let mut pending = vec![sessions];
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with("session.jsonl") {
                found.push(path);
            } else if path.is_dir() {
                pending.push(path);
            }
        }
    }
    let [file] = found.as_slice() else {
        panic!("{found:?}");
    };
    let listed = context
        .run(&["files", "list", file.to_str().unwrap()])
        .await;
    assert!(listed.stdout.contains("a.txt"), "{listed:?}");
}

#[tokio::test]
async fn files_are_listed_compared_and_restored() {
    let context = context_with("edits", two_turns()).await;
    let run = context
        .run(&["--model", "mock/alpha", "-p", "first", "second"])
        .await;
    assert_eq!(run.code, Some(0), "{run:?}");
    let listed = context.run(&["files", "list"]).await.stdout;
    let lines: Vec<&str> = listed.lines().collect();
    assert!(lines[0].ends_with("  first"), "{listed}");
    assert!(lines[1].ends_with("create  a.txt"), "{listed}");
    assert!(lines[2].ends_with("  second"), "{listed}");
    assert_eq!(lines.len(), 6, "{listed}");
    let second = lines[2].split_whitespace().next().unwrap();
    let after_first = lines[1].split_whitespace().next().unwrap();

    let compared = context
        .run(&["files", "diff", second, "a.txt"])
        .await
        .stdout;
    assert!(compared.contains("-two\n+one\n"), "{compared}");
    let restored = context.run(&["files", "restore", second, "new"]).await;
    assert_eq!(restored.code, Some(0), "{restored:?}");
    assert!(!context.project_dir().join("new").exists());
    assert_eq!(text(&context, "a.txt").unwrap(), "two\n");

    context.home.write("project/a.txt", "mine\n");
    let skipped = context.run(&["files", "restore", after_first]).await;
    assert_eq!(skipped.code, Some(1), "{skipped:?}");
    assert!(skipped.stdout.contains("skipped a.txt"), "{skipped:?}");
    let restored = context
        .run(&["files", "restore", after_first, "--overwrite"])
        .await;
    assert_eq!(restored.code, Some(0), "{restored:?}");
    assert_eq!(text(&context, "a.txt").unwrap(), "one\n");

    let checked = context.run(&["fsck", "--json"]).await.stdout;
    let checked: Value = serde_json::from_str(&checked).unwrap();
    assert_eq!(checked["fileHistory"]["status"], "sound", "{checked}");
    let history = &histories(&context)[0];
    let stored = std::fs::read_dir(history.join("contents")).unwrap().next();
    std::fs::File::create(stored.unwrap().unwrap().path()).unwrap();
    assert_eq!(context.run(&["fsck"]).await.code, Some(1));
    assert_eq!(context.run(&["fsck", "--repair"]).await.code, Some(0));
    assert_eq!(context.run(&["fsck"]).await.code, Some(0));
}

#[tokio::test]
async fn shell_commands_are_undone_if_all_changes_are_recorded() {
    let replies = vec![
        bash_reply("echo changed > kept.txt; rm gone.txt; mkdir made; echo x > made/x"),
        text_reply("Done."),
    ];
    let context = context_with("all", replies).await;
    context.home.write("project/kept.txt", "old\n");
    context.home.write("project/gone.txt", "gone\n");
    let mut client = Client::start(&context);
    prompt(&mut client, "go").await;
    assert_eq!(text(&context, "kept.txt").unwrap(), "changed\n");
    let reported = undo(&mut client).await;
    assert!(reported.starts_with("Restored 4 files"), "{reported}");
    assert_eq!(text(&context, "kept.txt").unwrap(), "old\n");
    assert_eq!(text(&context, "gone.txt").unwrap(), "gone\n");
    assert!(!context.project_dir().join("made").exists());
}

#[tokio::test]
async fn by_default_nothing_is_recorded() {
    let context = TestContext::new(two_turns()).await;
    let mut client = Client::start(&context);
    prompt(&mut client, "first").await;
    let commands = client.request(json!({"type": "get_commands"})).await;
    assert!(!commands.to_string().contains("\"undo\""), "{commands}");
    assert_eq!(histories(&context), Vec::<PathBuf>::new());
    let listed = context.run(&["files", "list"]).await;
    assert_eq!(listed.code, Some(1));
    assert!(listed.stderr.contains("fileHistory"), "{listed:?}");
}

/// Two turns, and the question of the tree about the second prompt.
fn asked_about_the_second_turn(context: &TestContext) -> Terminal {
    let terminal = Terminal::start(context, &[]);
    terminal.wait("alpha");
    terminal.submit("first");
    terminal.wait("First done.");
    terminal.wait_gone("to stop");
    terminal.submit("repeat");
    terminal.wait("Second done.");
    terminal.wait_gone("to stop");
    terminal.submit("/tree");
    terminal.wait("Session tree");
    // The row of the first prompt, and of the second.
    terminal.wait("2 files");
    terminal.send("repeat");
    terminal.send("\r");
    terminal.wait("Restoring 3 files would:");
    terminal.wait("delete new/b.txt");
    assert_eq!(text(context, "a.txt").unwrap(), "two\n");
    terminal
}

#[tokio::test(flavor = "multi_thread")]
async fn moving_in_the_tree_asks_to_restore_the_files() {
    let context = context_with("edits", two_turns()).await;
    let terminal = asked_about_the_second_turn(&context);
    terminal.send("\x1b[B");
    terminal.send("\r");
    terminal.wait("Restored 3 files");
    assert_eq!(text(&context, "a.txt").unwrap(), "one\n");
    assert!(!context.project_dir().join("new").exists());
    // The editor has the text of the prompt, and the answer is on another branch.
    terminal.wait_gone("Second done.");
    terminal.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_summary_is_asked_about_after_what_is_restored() {
    let context = context_with_summaries("edits", &json!({}), two_turns()).await;
    let terminal = asked_about_the_second_turn(&context);
    terminal.send("\x1b[B");
    terminal.send("\r");
    terminal.wait("Summarize the current branch");
    assert_eq!(text(&context, "a.txt").unwrap(), "two\n");
    // Back in the tree, the same entry asks again.
    terminal.send("\x1b");
    terminal.wait("Session tree");
    terminal.send("\r");
    terminal.wait("Restore conversation, files or both?");
    terminal.send("\x1b[B");
    terminal.send("\r");
    terminal.wait("Summarize the current branch");
    terminal.send("\r");
    terminal.wait("Restored 3 files");
    assert_eq!(text(&context, "a.txt").unwrap(), "one\n");
    terminal.wait_gone("Second done.");
    terminal.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_restored_without_moving_in_the_tree() {
    let context = context_with("edits", two_turns()).await;
    let terminal = asked_about_the_second_turn(&context);
    context.home.write("project/a.txt", "mine\n");
    terminal.send("\x1b[B\x1b[B");
    terminal.send("\r");
    terminal.wait("skipped a.txt");
    terminal.wait("Conversation unchanged");
    assert!(!context.project_dir().join("new").exists());
    assert_eq!(
        text(&context, "a.txt").unwrap(),
        "mine\n",
        "a file that changed after the question is not overwritten"
    );
    terminal.kill();
}
