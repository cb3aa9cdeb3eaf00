//! The table runs the example extensions of the TypeScript pi twice, over RPC with a screen and in a terminal of the same
//! size. It is skipped if the package is not installed.

use std::path::Path;
use std::time::Duration;

use pi_test_support::ScriptedReply;
use serde_json::{Value, json};

use super::{COLUMNS, ROWS, Received, ScreenClient};
use crate::example_extensions::examples_dir;
use crate::harness::{TestContext, bash_reply, text_reply, tool_call_reply};
use crate::terminal::Terminal;

/// Examples with a user interface that the table has at least.
const MIN_EXAMPLES: usize = 30;

/// An example and how to reach what it shows.
#[derive(Clone, Copy)]
struct ExampleRow {
    example: &'static str,
    /// The prompts, such as a command.
    prompts: &'static [&'static str],
    /// Keys, and a text that the component shows before they are typed.
    keys: &'static [(&'static str, &'static str)],
    /// The kind of the component, [`NOTICE`] or [`ROW`].
    kind: &'static str,
    /// A text that is shown at the end.
    text: &'static str,
    /// What is compared.
    rows: ComparedRows,
}

/// A notice or dialog, which clients show in their own way.
const NOTICE: &str = "notice";

/// A row of the transcript that an extension draws.
const ROW: &str = "row";

#[derive(Clone, Copy, PartialEq)]
enum ComparedRows {
    All,
    /// The words of those with words: the rest depends on time or chance.
    Words,
    /// All lines in their order, with others between them.
    InOrder,
}

const fn row(
    example: &'static str,
    prompts: &'static [&'static str],
    kind: &'static str,
    text: &'static str,
) -> ExampleRow {
    ExampleRow {
        example,
        prompts,
        keys: &[],
        kind,
        text,
        rows: ComparedRows::All,
    }
}

/// What is not a component has a frame of the front end around it.
const fn notice(
    example: &'static str,
    prompts: &'static [&'static str],
    text: &'static str,
) -> ExampleRow {
    ExampleRow {
        rows: ComparedRows::InOrder,
        ..row(example, prompts, NOTICE, text)
    }
}

const fn transcript_row(
    example: &'static str,
    prompts: &'static [&'static str],
    text: &'static str,
) -> ExampleRow {
    ExampleRow {
        rows: ComparedRows::InOrder,
        ..row(example, prompts, ROW, text)
    }
}

const EXAMPLES: &[ExampleRow] = &[
    ExampleRow {
        keys: &[("SNAKE", "\x1b[A")],
        rows: ComparedRows::Words,
        ..row("snake.ts", &["/snake"], "custom", "GAME OVER!")
    },
    ExampleRow {
        rows: ComparedRows::Words,
        ..row(
            "space-invaders.ts",
            &["/invaders"],
            "custom",
            "SPACE INVADERS",
        )
    },
    ExampleRow {
        keys: &[("Tic", "\x1b[C")],
        ..row("tic-tac-toe.ts", &["/tic-tac-toe"], "custom", "Tic")
    },
    row("todo.ts", &["/todos"], "custom", "Todos"),
    row("tools.ts", &["/tools"], "custom", "Tool Configuration"),
    ExampleRow {
        keys: &[("Search", "abc\x1b[D"), ("abc", "\x1b[Bx")],
        ..row("overlay-test.ts", &["/overlay-test"], "overlay", "x")
    },
    row(
        "overlay-qa-tests.ts",
        &["/overlay-anchors"],
        "overlay",
        "Anchor Test",
    ),
    row(
        "overlay-qa-tests.ts",
        &["/overlay-margins"],
        "overlay",
        "next config",
    ),
    row(
        "overlay-qa-tests.ts",
        &["/overlay-edge"],
        "overlay",
        "right edge",
    ),
    row(
        "overlay-qa-tests.ts",
        &["/overlay-percent"],
        "overlay",
        "Esc = close",
    ),
    row(
        "overlay-qa-tests.ts",
        &["/overlay-maxheight"],
        "overlay",
        "Line 1",
    ),
    ExampleRow {
        keys: &[("Dashboard", "\x1b[B")],
        ..row(
            "overlay-qa-tests.ts",
            &["/overlay-sidepanel"],
            "overlay",
            "→ Messages",
        )
    },
    row("custom-footer.ts", &["/footer"], "footer", "alpha"),
    row("custom-header.ts", &[], "header", "coding agent"),
    row("question.ts", &["ask me"], "custom", "Which fruit?"),
    ExampleRow {
        keys: &[("navigate", "\x1b[B")],
        ..row("questionnaire.ts", &["ask me more"], "custom", "> 2. Pear")
    },
    ExampleRow {
        keys: &[("INSERT", "abc")],
        ..row("modal-editor.ts", &[], "editor", "abc")
    },
    ExampleRow {
        keys: &[("─", "abc")],
        ..row("rainbow-editor.ts", &[], "editor", "abc")
    },
    ExampleRow {
        keys: &[("alpha", "abc")],
        ..row("border-status-editor.ts", &[], "editor", "abc")
    },
    row("preset.ts", &["/preset"], "custom", "plan"),
    notice("qna.ts", &["ask me", "/qna"], "Q: Which fruit?"),
    notice("handoff.ts", &["ask me", "/handoff buy fruit"], "Buy fruit"),
    notice("plan-mode", &["/plan"], "plan"),
    notice("widget-placement.ts", &[], "Below editor widget"),
    notice("rpc-demo.ts", &[], "Loaded and ready."),
    notice("rpc-demo.ts", &["/rpc-input"], "Enter a value"),
    notice("status-line.ts", &["ask me"], "Turn 1 complete"),
    notice("timed-confirm.ts", &["/timed-select"], "Option C"),
    notice("commands.ts", &["/commands"], "Available Commands"),
    notice("permission-gate.ts", &["clean up"], "rm -rf build"),
    notice(
        "bookmark.ts",
        &["ask me", "/bookmark fruit"],
        "Bookmarked as: fruit",
    ),
    notice("pirate.ts", &["/pirate"], "Arrr!"),
    notice("input-transform.ts", &["ping"], "pong"),
    transcript_row(
        "message-renderer.ts",
        &["/status warn hello"],
        "[WARN] hello",
    ),
    transcript_row(
        "entry-renderer.ts",
        &["/status-card hello"],
        "[status] hello",
    ),
    transcript_row("built-in-tool-renderer.ts", &["list"], "done (2 lines)"),
    transcript_row("minimal-mode.ts", &["list"], "echo one; echo two"),
    transcript_row("truncated-tool.ts", &["search"], "in none"),
    transcript_row("structured-output.ts", &["report"], "1. Eat"),
];

fn replies(row: ExampleRow) -> Vec<ScriptedReply> {
    let options = json!([{ "label": "Apple", "value": "a" }, { "label": "Pear", "value": "p" }]);
    let call = match row.example {
        "question.ts" => {
            let arguments = json!({ "question": "Which fruit?", "options": options });
            tool_call_reply("question", &arguments)
        }
        "questionnaire.ts" => {
            let question = json!({ "id": "q", "prompt": "Which fruit?", "options": options });
            tool_call_reply("questionnaire", &json!({ "questions": [question] }))
        }
        "permission-gate.ts" => bash_reply("rm -rf build"),
        "built-in-tool-renderer.ts" | "minimal-mode.ts" => bash_reply("echo one; echo two"),
        "truncated-tool.ts" => {
            tool_call_reply("rg", &json!({ "pattern": "fruit", "path": "none" }))
        }
        "structured-output.ts" => {
            let arguments =
                json!({ "headline": "Fruit", "summary": "Good", "actionItems": ["Eat"] });
            return vec![tool_call_reply("structured_output", &arguments)];
        }
        "qna.ts" => text_reply("Which fruit? I wonder."),
        "handoff.ts" => text_reply("ok"),
        _ => return vec![text_reply("ok")],
    };
    let last = match row.example {
        "qna.ts" => text_reply("Q: Which fruit?\nA: "),
        "handoff.ts" => text_reply("## Task\nBuy fruit"),
        _ => text_reply("ok"),
    };
    vec![call, last]
}

/// Returns the words of a line.
fn words(line: &str) -> String {
    let kept = line.chars().map(|character| {
        if character.is_ascii_alphabetic() {
            character
        } else {
            ' '
        }
    });
    let text: String = kept.collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns whether the terminal shows the lines.
fn shows(screen: &str, lines: &[String], compared: ComparedRows) -> bool {
    let screen: Vec<&str> = screen.lines().collect();
    match compared {
        ComparedRows::All => (0..screen.len()).any(|start| {
            lines.iter().enumerate().all(|(row, line)| {
                let shown = screen.get(start + row).copied().unwrap_or_default();
                shown.contains(line.trim())
            })
        }),
        ComparedRows::Words => {
            let mut screen = screen.iter().map(|line| words(line));
            let mut wanted = lines.iter().map(|line| words(line));
            wanted.all(|wanted| wanted.is_empty() || screen.any(|shown| shown.contains(&wanted)))
        }
        ComparedRows::InOrder => {
            let mut screen = screen.iter();
            let mut wanted = lines.iter().map(|line| line.trim());
            wanted.all(|wanted| wanted.is_empty() || screen.any(|shown| shown.contains(wanted)))
        }
    }
}

/// Returns the texts of a notice or dialog, in the order in which a front end shows them.
fn notice_lines(record: &Value) -> Vec<String> {
    let names = [
        "title",
        "message",
        "options",
        "prefill",
        "widgetLines",
        "statusText",
        "text",
    ];
    let mut lines = Vec::new();
    for name in names {
        match &record[name] {
            Value::String(text) => lines.extend(text.lines().map(pi_tui::strip_ansi)),
            Value::Array(texts) => {
                let texts = texts.iter().filter_map(Value::as_str);
                lines.extend(texts.map(pi_tui::strip_ansi));
            }
            _ => {}
        }
    }
    lines
        .into_iter()
        .map(|line| line.trim().to_owned())
        .collect()
}

/// Returns the last notice with a text.
fn find_notice(received: &Received, text: &str) -> Option<Vec<String>> {
    let records = received.records.iter().rev();
    let notices = records.filter(|record| record["type"] == "extension_ui_request");
    let mut notices = notices.map(notice_lines);
    notices.find(|lines| lines.iter().any(|line| line.contains(text)))
}

/// Returns the row for `screen_render` of what the extension draws, once the client can have it.
fn find_row(received: &Received, entries: &Value) -> Option<Value> {
    let records = &received.records;
    let find = |kind: &str| records.iter().find(|record| record["type"] == kind);
    if let Some(end) = find("tool_execution_end") {
        let start = find("tool_execution_start")?;
        return Some(
            json!({ "kind": "tool", "toolCallId": end["toolCallId"], "toolName": end["toolName"],
            "args": start["args"], "result": end["result"], "isError": end["isError"] }),
        );
    }
    let mut entries = entries.as_array()?.iter();
    let entry = entries.find(|entry| entry["customType"].is_string())?;
    Some(match entry["type"].as_str()? {
        "custom_message" => {
            let mut message = entry.clone();
            message["role"] = json!("custom");
            json!({ "kind": "message", "message": message })
        }
        _ => json!({ "kind": "entry", "entry": entry }),
    })
}

/// Draws the row of an example for the client.
async fn draw_row(client: &mut ScreenClient) -> Vec<String> {
    for attempt in 0..600 {
        let id = format!("entries {attempt}");
        let entries = client.request(&id, json!({ "type": "get_entries" })).await;
        let row = find_row(&client.received.lock().unwrap(), &entries["entries"]);
        let Some(row) = row else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let command = json!({ "type": "screen_render", "row": row });
        let drawn = client.request("row", command).await;
        let parts = ["call", "result", "lines"].map(|part| drawn[part].clone());
        let lines = parts.iter().filter_map(Value::as_array).flatten();
        let lines = lines.filter_map(Value::as_str).map(pi_tui::strip_ansi);
        return lines.map(|line| line.trim().to_owned()).collect();
    }
    panic!("no row: {:#?}", client.received.lock().unwrap());
}

/// Runs an example over RPC and returns what its client shows.
async fn run_client(row: ExampleRow, context: &TestContext, extension: &Path) -> Vec<String> {
    let mut client = ScreenClient::start(context, extension);
    client.greet().await;
    if row.kind == "header" {
        // An extension that looks for a terminal only when a session starts sees the screen of the next one.
        client.wait_for_record("response").await;
        client.send(json!({ "type": "new_session" })).await;
    }
    for (index, prompt) in row.prompts.iter().enumerate() {
        client.prompt(prompt).await;
        if index + 1 < row.prompts.len() {
            client.wait_for_record("agent_settled").await;
        }
    }
    if row.kind == NOTICE {
        let find = |received: &Received| find_notice(received, row.text);
        return client.wait_for(row.text, find).await;
    }
    if row.kind == ROW {
        let lines = draw_row(&mut client).await;
        let has_text = lines.iter().any(|line| line.contains(row.text));
        assert!(has_text, "{}: {lines:#?}", row.example);
        return lines;
    }
    for (text, keys) in row.keys {
        client.wait_for_text(row.kind, text).await;
        client.type_keys(keys).await;
    }
    client.wait_for_text(row.kind, row.text).await;
    // The last key may still change something.
    tokio::time::sleep(Duration::from_secs(1)).await;
    client.wait_for_text(row.kind, row.text).await
}

async fn new_context(row: ExampleRow) -> TestContext {
    let context = TestContext::new(replies(row)).await;
    let presets = json!({ "plan": { "tools": ["read"] }, "build": { "tools": ["bash"] } });
    context
        .home
        .write("agent/presets.json", presets.to_string());
    context
}

async fn compare(row: ExampleRow, directory: &Path) {
    let extension = directory.join(row.example);
    let context = new_context(row).await;
    let lines = run_client(row, &context, &extension).await;
    let home = context.home.path().to_string_lossy().into_owned();

    let context = new_context(row).await;
    let other = context.home.path().to_string_lossy();
    let lines: Vec<_> = lines
        .iter()
        .map(|line| line.replace(&home, &other))
        .collect();
    let path = extension.to_string_lossy();
    let terminal = Terminal::start_sized(&context, &["-e", &path], (COLUMNS, ROWS));
    terminal.wait("alpha");
    for (index, prompt) in row.prompts.iter().enumerate() {
        terminal.send(prompt);
        terminal.wait(prompt);
        terminal.send("\r");
        if index + 1 < row.prompts.len() {
            terminal.wait_until("the response", |screen| {
                // Whole words: names of examples contain these letters, too.
                let mut words = screen.split_whitespace();
                words.any(|word| ["ok", "wonder."].contains(&word)) && !screen.contains("Working")
            });
        }
    }
    for (text, keys) in row.keys {
        terminal.wait(text);
        terminal.send(keys);
    }
    terminal.wait(row.text);
    let expected = format!("{}:\n{}", row.example, lines.join("\n"));
    terminal.wait_until(&expected, |screen| shows(screen, &lines, row.rows));
}

#[tokio::test(flavor = "multi_thread")]
async fn examples_show_the_same_lines_over_rpc_and_in_the_terminal() {
    let mut names: Vec<&str> = EXAMPLES.iter().map(|row| row.example).collect();
    names.dedup();
    assert!(names.len() >= MIN_EXAMPLES, "{}", names.len());
    let Some(directory) = examples_dir() else {
        println!("skipped: the examples of the TypeScript pi are not installed");
        return;
    };
    let only = std::env::var("PI_EXAMPLES_ONLY").unwrap_or_default();
    for row in EXAMPLES {
        if row.example.contains(&only) || row.prompts.iter().any(|prompt| prompt.contains(&only)) {
            let name = row.example;
            println!("{name}");
            compare(*row, &directory).await;
        }
    }
}
