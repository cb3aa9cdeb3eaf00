//! Untrusted text cannot control the terminal, and untrusted repositories have no effect before they are trusted.

use std::fmt::Write as _;

use pi_test_support::ScriptedReply;
use serde_json::json;

use crate::harness::{
    TestContext, bash_reply, finish_reply, partial_reply_with, text_reply, tool_call_reply,
};
use crate::terminal::Terminal;

/// Control sequences in 7-bit and 8-bit form that set the title, set an unused mode and clear the screen.
const EVIL: &str = "\x1b]0;owned\x07\x1b[31337h\x1b[2J\u{9b}31337h\x1bP31337\x1b\\\u{9d}0;owned\u{9c}\x1b_31337\x1b\\";

/// Sequences of [`EVIL`] that must never reach the terminal.
const FORBIDDEN: [&str; 6] = [
    "\x1b]0;owned",
    "\x1b[31337h",
    "\u{9b}31337h",
    "\x1bP31337",
    "\u{9d}0;owned",
    "\x1b_31337",
];

fn assert_no_forbidden_sequence(terminal: &Terminal) {
    for sequence in FORBIDDEN {
        terminal.assert_never_wrote(sequence.as_bytes());
    }
}

/// Clears the screen, sets the title, and hides and moves the cursor.
const ATTACK: &str = "before\x1b[2J\x1b]0;owned\x07\x1b[?25l\x1b[1;1Hafter\u{9b}2J";

#[tokio::test(flavor = "multi_thread")]
async fn control_sequences_in_responses_and_tool_output_have_no_effect() {
    let context = TestContext::new([
        bash_reply("printf 'tool\\033[2J\\033]0;owned\\007\\033[1;1Houtput\\n'"),
        text_reply(ATTACK),
    ])
    .await;
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    terminal.submit("be careful");
    terminal.wait("before");
    terminal.wait("after");
    terminal.wait_gone("to stop");
    let screen = terminal.screen();
    assert!(
        screen.contains("be careful"),
        "the screen was cleared:\n{screen}"
    );
    assert!(screen.contains("output"), "{screen}");
    let first = screen.lines().next().unwrap_or_default();
    assert!(
        !first.contains("after") && !first.contains("output"),
        "{screen}"
    );
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn control_sequences_in_names_have_no_effect() {
    let context = TestContext::new([]).await;
    context.home.write(
        "project/.git/HEAD",
        "ref: refs/heads/evil\x1b[2J\x1b]0;owned\x07branch\n",
    );
    context.home.write("project/evil\x1b[2J.txt", "x");
    let terminal = Terminal::start(&context, &["--name", "na\x1b[2Jme"]);
    terminal.wait("alpha");
    terminal.wait("branch");
    terminal.send("@evil");
    terminal.wait("@evil");
    let screen = terminal.screen();
    assert!(screen.contains("pi v"), "the screen was cleared:\n{screen}");
    terminal.send("\x03");
    terminal.wait_gone("@evil");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn conversation_content_is_sanitized() {
    let thinking = json!({"role": "assistant", "reasoning_content": format!("reasoning{EVIL}")});
    let link = format!("[link{EVIL}](https://example.com/{EVIL}) `code{EVIL}`");
    let call = |name: &str, arguments: String| {
        let call = json!({"role": "assistant", "tool_calls": [{
            "index": 0, "id": "call_1", "type": "function",
            "function": {"name": name, "arguments": arguments},
        }]});
        finish_reply(partial_reply_with(&call), "tool_calls")
    };
    let error = json!({"error": {"message": format!("rejected{EVIL}")}}).to_string();
    let octal = EVIL.bytes().fold(String::new(), |mut text, byte| {
        write!(text, "\\{byte:03o}").unwrap();
        text
    });
    let context = TestContext::new([
        finish_reply(partial_reply_with(&thinking), "stop"),
        text_reply(&link),
        call(&format!("tool{EVIL}"), json!({"path": EVIL}).to_string()),
        text_reply("No such tool."),
        call(
            "read",
            json!({"path": format!("missing{EVIL}")}).to_string(),
        ),
        text_reply("No such file."),
        bash_reply(&format!("printf 'printed{octal}\\n'")),
        text_reply("Printed."),
        call("ls", json!({}).to_string()),
        text_reply("Listed."),
        ScriptedReply::full(400, &[], error),
    ])
    .await;
    let file = format!("file{}.txt", EVIL.replace('/', ""));
    context.home.write(&format!("project/{file}"), "x");
    let terminal = Terminal::start_in(&context, &context.project_dir(), &[]);
    terminal.wait("alpha");
    for (prompt, shown) in [
        ("think", "reasoning"),
        ("link", "link code"),
        ("call", "No such tool."),
        ("read", "No such file."),
        ("print", "Printed."),
        ("list", "Listed."),
        ("fail", "rejected"),
    ] {
        terminal.submit(prompt);
        terminal.wait(shown);
        terminal.wait_gone("to stop");
    }
    terminal.send("\x0f");
    terminal.wait("Tool output expanded");
    terminal.submit(&format!("!printf 'mine{octal}\\n'"));
    terminal.wait_until("the end of the command", |screen| {
        screen.contains("mine") && !screen.contains("Running…")
    });
    // Ctrl+U instead of Ctrl+C, which exits when pressed twice.
    terminal.paste(&format!("pasted{EVIL}"));
    terminal.wait("pasted");
    terminal.send("\x15");
    terminal.wait_gone("pasted");
    terminal.send("@file");
    terminal.wait("@file");
    terminal.send("\x15");
    terminal.wait_gone("@file");
    for (command, shown) in [
        ("/tree", "No such tool."),
        ("/fork", "list"),
        ("/resume", "think"),
    ] {
        terminal.submit(command);
        terminal.wait("escape c");
        terminal.wait(shown);
        terminal.send("\x1b");
        terminal.wait_gone("escape c");
    }
    assert_no_forbidden_sequence(&terminal);
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn names_and_descriptions_are_sanitized() {
    let context = TestContext::new([text_reply("Named.")]).await;
    let evil_json = json!(format!("evil{EVIL}")).to_string();
    let models = context.home.read("agent/models.json");
    let models = models.replace("\"name\":\"alpha\"", &format!("\"name\":{evil_json}"));
    context.home.write("agent/models.json", models);
    context.home.write(
        "agent/settings.json",
        format!("{{\"theme\": {evil_json}, \"quietStartup\": false}}"),
    );
    context.home.write(
        "agent/keybindings.json",
        format!("{{\"app.clear\": {evil_json}}}"),
    );
    let name = EVIL.replace('/', "");
    let skill = format!("---\nname: skill\ndescription: |\n  about{EVIL}\n---\nx");
    context.home.write("agent/skills/skill/SKILL.md", skill);
    context.home.write(
        &format!("agent/prompts/template{name}.md"),
        format!("text{EVIL}"),
    );
    let directory = format!("project/directory{name}");
    context.home.write(&format!("{directory}/AGENTS.md"), "x");
    context.home.write(
        &format!("{directory}/.git/HEAD"),
        format!("ref: refs/heads/branch{EVIL}\n"),
    );
    let directory = context.home.path().join(directory);
    let session = format!("session{EVIL}");
    let terminal = Terminal::start_in(&context, &directory, &["--name", &session]);
    terminal.wait("alpha");
    terminal.wait("branch");
    terminal.submit(&format!("a prompt{EVIL}"));
    terminal.wait("Named.");
    terminal.wait_gone("to stop");
    for command in ["/model", "/resume", "/settings", "/trust", "/hotkeys"] {
        terminal.submit(command);
        terminal.wait("escape c");
        terminal.send("\x1b");
        terminal.wait_gone("escape c");
    }
    terminal.submit("/session");
    terminal.wait(".jsonl");
    terminal.send("/");
    terminal.wait("Open settings");
    terminal.send("\x15");
    terminal.wait_gone("Open settings");
    assert_no_forbidden_sequence(&terminal);
    terminal.quit();
}

/// Names of models and files in the output of commands that are not interactive.
#[tokio::test(flavor = "multi_thread")]
async fn names_in_command_output_are_sanitized() {
    let context = TestContext::new([]).await;
    let models = context.home.read("agent/models.json");
    let evil_id = json!(format!("evil{EVIL}\u{202e}")).to_string();
    let models = models.replace("\"id\":\"alpha\"", &format!("\"id\":{evil_id}"));
    context.home.write("agent/models.json", models);
    let file = format!("session{}.jsonl", EVIL.replace('/', ""));
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#;
    context
        .home
        .write(&format!("project/{file}"), format!("{header}\ntorn"));
    let page = file.replace(".jsonl", ".html");
    for (arguments, expected) in [
        (&["--list-models"][..], "evil<U+202E>"),
        (&["fsck", &file], "session"),
        (&["--export", &file, &page], "Exported to"),
    ] {
        let mut terminal = Terminal::start(&context, arguments);
        terminal.wait(expected);
        terminal.exit_code();
        assert_no_forbidden_sequence(&terminal);
    }
}

/// Runs a command once it is on the screen, so that completion does not replace it.
fn run_command(terminal: &Terminal, command: &str) {
    terminal.send(command);
    terminal.wait(command);
    terminal.send("\r");
}

#[tokio::test(flavor = "multi_thread")]
async fn extension_output_is_sanitized() {
    let replies = [
        tool_call_reply("dig", &json!({"where": format!("here{EVIL}")})),
        text_reply("Dug."),
    ];
    let context = TestContext::new(replies).await;
    // Sequences that extensions may use, with forbidden parameters.
    let images = "\x1b_Ga=T,t=f,q=2;L2V0Yy9wYXNzd2Q=\x1b\\\x1b]1337;File=name=eA==:AAAA\x07";
    let links = "\x1b]8;;file://attacker/share\x07click\x1b]8;;\x07";
    let untrusted = format!("{EVIL}{images}{links}");
    let untrusted = context.home.write("untrusted.txt", untrusted);
    let extension = format!(
        "{}/tests/fixtures/extensions/unsanitized.ts",
        env!("CARGO_MANIFEST_DIR")
    );
    let terminal = Terminal::start_with(
        &context,
        &["-e", &extension],
        &[("UNTRUSTED_TEXT", &untrusted.to_string_lossy())],
    );
    terminal.wait("alpha");
    terminal.send("/show v");
    terminal.wait("label");
    terminal.send("\x15");
    terminal.wait_gone("label");
    terminal.send("/sho");
    terminal.wait("about-show");
    terminal.send("\x15");
    terminal.wait_gone("about-show");
    run_command(&terminal, "/show");
    for shown in ["status", "widget", "component", "notified", "prompt"] {
        terminal.wait(shown);
    }
    terminal.send("\x15");
    terminal.wait_gone("\nprompt");
    run_command(&terminal, "/write");
    for shown in ["message", "rendered-card", "thrown"] {
        terminal.wait(shown);
    }
    terminal.submit("dig here");
    for shown in ["call-here", "result", "Dug."] {
        terminal.wait(shown);
    }
    terminal.wait_gone("to stop");
    run_command(&terminal, "/dialogs");
    for (shown, key) in [
        ("choose", "\r"),
        ("really", "\r"),
        ("placeholder", "\r"),
        ("filled", "\r"),
        ("custom", "\r"),
    ] {
        terminal.wait(shown);
        terminal.send(key);
    }
    terminal.wait("all dialogs closed");
    terminal.submit("/hotkeys");
    terminal.wait("escape c");
    terminal.send("\x1b");
    terminal.wait_gone("escape c");
    run_command(&terminal, "/frame");
    // The header may be above the visible rows.
    terminal.wait_written("header");
    terminal.wait("footer");
    assert_no_forbidden_sequence(&terminal);
    for sequence in [
        "\x1b_Ga=T,t=f",
        "\x1b]1337;File=name",
        "\x1b]8;;file://attacker",
    ] {
        terminal.assert_never_wrote(sequence.as_bytes());
    }
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn project_files_have_no_effect_before_the_trust_decision() {
    let context = TestContext::new([text_reply("Fine.")]).await;
    let script = "require('fs').writeFileSync('owned', '')";
    let settings = json!({"theme": "light", "quietStartup": true, "sessionDir": "stolen",
        "defaultTools": [], "packages": ["npm:evil"]});
    for (file, content) in [
        ("settings.json", settings.to_string().as_str()),
        ("extensions/evil.js", script),
        ("SYSTEM.md", "planted system prompt"),
        ("prompts/evil.md", "planted template"),
        ("keybindings.json", r#"{"app.interrupt": "a"}"#),
    ] {
        context.home.write(&format!("project/.pi/{file}"), content);
    }
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("Do not trust this directory");
    assert!(!context.project_dir().join("owned").exists());
    // Dismissing the dialog does not trust the project.
    terminal.send("\x1b");
    terminal.wait("alpha");
    terminal.submit("hello");
    terminal.wait("Fine.");
    terminal.wait_gone("to stop");
    let request = context.server.requests()[0].json().to_string();
    assert!(!request.contains("planted"), "{request}");
    for trace in ["owned", "stolen"] {
        assert!(!context.project_dir().join(trace).exists(), "{trace}");
    }
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_and_pasted_text_does_not_answer_the_trust_question() {
    let context = TestContext::new([]).await;
    let script = "require('fs').writeFileSync('owned', '')";
    context.home.write("project/.pi/extensions/evil.js", script);
    let choose_first = "\x1b[A\x1b[A\x1b[A\x1b[A\x1b[A\r";
    let terminal = Terminal::start(&context, &[]);
    terminal.send(format!("\r{choose_first}"));
    terminal.wait("Do not trust this directory");
    terminal.send(choose_first);
    terminal.paste("\r");
    terminal.send("\r");
    // Leaving is accepted at any time and does not trust the project.
    terminal.send("\x1b[27u");
    terminal.wait("alpha");
    assert!(!context.project_dir().join("owned").exists());
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_in_a_trusted_project_are_reported() {
    let context = TestContext::new([]).await;
    let script = "export default () => {}";
    context.home.write("project/.pi/extensions/tool.js", script);
    let trust = json!({ context.project_dir().canonicalize().unwrap().to_string_lossy(): true });
    context.home.write("agent/trust.json", trust.to_string());
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    assert!(!terminal.screen().contains("new or changed"));
    terminal.quit();
    context.home.write("project/.pi/SYSTEM.md", "Be brief.");
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("new or changed");
    terminal.wait("SYSTEM.md");
    terminal.quit();
    let changed = "export default () => { /* changed */ }";
    context
        .home
        .write("project/.pi/extensions/tool.js", changed);
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("Trust this project again?");
    terminal.wait("changed: .pi/extensions/tool.js");
}
