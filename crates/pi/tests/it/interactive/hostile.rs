//! Text from outside is text: it moves no cursor, sets no title, clears no screen.

use std::fmt::Write as _;

use pi_test_support::ScriptedReply;
use serde_json::json;

use crate::process::{World, answer, begin_with, finish, shell_call, tool_call};
use crate::terminal::Terminal;

/// Sets the title, switches a mode that nobody else uses, clears, all in several spellings.
const EVIL: &str = "\x1b]0;owned\x07\x1b[31337h\x1b[2J\u{9b}31337h\x1bP31337\x1b\\\u{9d}0;owned\u{9c}\x1b_31337\x1b\\";

/// What no terminal may get to see of it.
const FORBIDDEN: [&str; 6] = [
    "\x1b]0;owned",
    "\x1b[31337h",
    "\u{9b}31337h",
    "\x1bP31337",
    "\u{9d}0;owned",
    "\x1b_31337",
];

fn assert_harmless(terminal: &Terminal) {
    for sequence in FORBIDDEN {
        terminal.assert_never_wrote(sequence.as_bytes());
    }
}

/// Clears the screen, sets the title, hides the cursor, writes elsewhere.
const ATTACK: &str = "before\x1b[2J\x1b]0;owned\x07\x1b[?25l\x1b[1;1Hafter\u{9b}2J";

#[tokio::test(flavor = "multi_thread")]
async fn sequences_in_answers_and_output_have_no_effect() {
    let world = World::new([
        shell_call("printf 'tool\\033[2J\\033]0;owned\\007\\033[1;1Houtput\\n'"),
        answer(ATTACK),
    ])
    .await;
    let terminal = Terminal::start(&world, &[]);
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
async fn sequences_in_names_have_no_effect() {
    let world = World::new([]).await;
    world.home.write(
        "project/.git/HEAD",
        "ref: refs/heads/evil\x1b[2J\x1b]0;owned\x07branch\n",
    );
    world.home.write("project/evil\x1b[2J.txt", "x");
    let terminal = Terminal::start(&world, &["--name", "na\x1b[2Jme"]);
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
async fn nothing_a_conversation_brings_reaches_the_terminal_raw() {
    let thought = json!({"role": "assistant", "reasoning_content": format!("thought{EVIL}")});
    let link = format!("[link{EVIL}](https://example.com/{EVIL}) `code{EVIL}`");
    let call = |name: &str, arguments: String| {
        let call = json!({"role": "assistant", "tool_calls": [{
            "index": 0, "id": "call_1", "type": "function",
            "function": {"name": name, "arguments": arguments},
        }]});
        finish(begin_with(&call), "tool_calls")
    };
    let error = json!({"error": {"message": format!("refused{EVIL}")}}).to_string();
    let octal = EVIL.bytes().fold(String::new(), |mut text, byte| {
        write!(text, "\\{byte:03o}").unwrap();
        text
    });
    let world = World::new([
        finish(begin_with(&thought), "stop"),
        answer(&link),
        call(&format!("tool{EVIL}"), json!({"path": EVIL}).to_string()),
        answer("No such tool."),
        call(
            "read",
            json!({"path": format!("missing{EVIL}")}).to_string(),
        ),
        answer("No such file."),
        shell_call(&format!("printf 'printed{octal}\\n'")),
        answer("Printed."),
        call("ls", json!({}).to_string()),
        answer("Listed."),
        ScriptedReply::full(400, &[], error),
    ])
    .await;
    let file = format!("file{}.txt", EVIL.replace('/', ""));
    world.home.write(&format!("project/{file}"), "x");
    let terminal = Terminal::start_in(&world, &world.project(), &[]);
    terminal.wait("alpha");
    for (prompt, shown) in [
        ("think", "thought"),
        ("link", "link code"),
        ("call", "No such tool."),
        ("read", "No such file."),
        ("print", "Printed."),
        ("list", "Listed."),
        ("fail", "refused"),
    ] {
        terminal.submit(prompt);
        terminal.wait(shown);
        terminal.wait_gone("to stop");
    }
    terminal.send("\x0f");
    terminal.wait("Details are shown");
    terminal.submit(&format!("!printf 'mine{octal}\\n'"));
    terminal.wait_until("the command's end", |screen| {
        screen.contains("mine") && !screen.contains("Running…")
    });
    // Ctrl+U, since Ctrl+C twice would leave.
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
    assert_harmless(&terminal);
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_everything_are_only_text() {
    let world = World::new([answer("Named.")]).await;
    let spelled = json!(format!("evil{EVIL}")).to_string();
    let models = world.home.read("agent/models.json");
    let models = models.replace("\"name\":\"alpha\"", &format!("\"name\":{spelled}"));
    world.home.write("agent/models.json", models);
    world.home.write(
        "agent/settings.json",
        format!("{{\"theme\": {spelled}, \"quietStartup\": false}}"),
    );
    world.home.write(
        "agent/keybindings.json",
        format!("{{\"app.clear\": {spelled}}}"),
    );
    let name = EVIL.replace('/', "");
    let skill = format!("---\nname: skill\ndescription: |\n  about{EVIL}\n---\nx");
    world.home.write("agent/skills/skill/SKILL.md", skill);
    world.home.write(
        &format!("agent/prompts/template{name}.md"),
        format!("say{EVIL}"),
    );
    let folder = format!("project/folder{name}");
    world.home.write(&format!("{folder}/AGENTS.md"), "x");
    world.home.write(
        &format!("{folder}/.git/HEAD"),
        format!("ref: refs/heads/branch{EVIL}\n"),
    );
    let folder = world.home.path().join(folder);
    let session = format!("session{EVIL}");
    let terminal = Terminal::start_in(&world, &folder, &["--name", &session]);
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
    terminal.wait("Look at and change settings");
    terminal.send("\x15");
    terminal.wait_gone("Look at and change settings");
    assert_harmless(&terminal);
    terminal.quit();
}

/// Runs a command whose completion must not get in the way.
fn run(terminal: &Terminal, command: &str) {
    terminal.send(command);
    terminal.wait(command);
    terminal.send("\r");
}

#[tokio::test(flavor = "multi_thread")]
async fn extensions_pass_on_no_sequence_of_others() {
    let replies = [
        tool_call("dig", &json!({"where": format!("here{EVIL}")})),
        answer("Dug."),
    ];
    let world = World::new(replies).await;
    // What an extension may write in its lines, made to do more than to look different.
    let pictures = "\x1b_Ga=T,t=f,q=2;L2V0Yy9wYXNzd2Q=\x1b\\\x1b]1337;File=name=eA==:AAAA\x07";
    let links = "\x1b]8;;file://attacker/share\x07click\x1b]8;;\x07";
    let foreign = format!("{EVIL}{pictures}{links}");
    let foreign = world.home.write("foreign.txt", foreign);
    let extension = format!(
        "{}/tests/fixtures/extensions/careless.ts",
        env!("CARGO_MANIFEST_DIR")
    );
    let terminal = Terminal::start_with(
        &world,
        &["-e", &extension],
        &[("FOREIGN_TEXT", &foreign.to_string_lossy())],
    );
    terminal.wait("alpha");
    terminal.send("/around v");
    terminal.wait("label");
    terminal.send("\x15");
    terminal.wait_gone("label");
    terminal.send("/aroun");
    terminal.wait("about-around");
    terminal.send("\x15");
    terminal.wait_gone("about-around");
    run(&terminal, "/around");
    for shown in ["status", "widget", "component", "notified", "prompt"] {
        terminal.wait(shown);
    }
    terminal.send("\x15");
    terminal.wait_gone("\nprompt");
    run(&terminal, "/write");
    for shown in ["message", "drawn-drawn", "thrown"] {
        terminal.wait(shown);
    }
    terminal.submit("dig here");
    for shown in ["call-here", "result", "Dug."] {
        terminal.wait(shown);
    }
    terminal.wait_gone("to stop");
    run(&terminal, "/ask");
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
    terminal.wait("all asked");
    terminal.submit("/hotkeys");
    terminal.wait("escape c");
    terminal.send("\x1b");
    terminal.wait_gone("escape c");
    run(&terminal, "/frame");
    terminal.wait("header");
    terminal.wait("footer");
    assert_harmless(&terminal);
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
async fn a_repository_waits_for_the_answer_about_it() {
    let world = World::new([answer("Fine.")]).await;
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
        world.home.write(&format!("project/.pi/{file}"), content);
    }
    let terminal = Terminal::start(&world, &[]);
    terminal.wait("Do not trust this folder");
    assert!(!world.project().join("owned").exists());
    // Whoever leaves the question has not trusted.
    terminal.send("\x1b");
    terminal.wait("alpha");
    terminal.submit("hello");
    terminal.wait("Fine.");
    terminal.wait_gone("to stop");
    let request = world.server.requests()[0].json().to_string();
    assert!(!request.contains("planted"), "{request}");
    for trace in ["owned", "stolen"] {
        assert!(!world.project().join(trace).exists(), "{trace}");
    }
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_that_changes_a_trusted_project_is_told() {
    let world = World::new([]).await;
    let script = "export default () => {}";
    world.home.write("project/.pi/extensions/tool.js", script);
    let trust = json!({ world.project().canonicalize().unwrap().to_string_lossy(): true });
    world.home.write("agent/trust.json", trust.to_string());
    let terminal = Terminal::start(&world, &[]);
    terminal.wait("alpha");
    assert!(!terminal.screen().contains("new or changed"));
    terminal.quit();
    let other = "export default () => { /* something else */ }";
    world.home.write("project/.pi/extensions/tool.js", other);
    let terminal = Terminal::start(&world, &[]);
    terminal.wait("new or changed");
    terminal.wait("tool.js");
    terminal.quit();
}
