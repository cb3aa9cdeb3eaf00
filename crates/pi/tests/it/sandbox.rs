//! `pi --sandbox`: tools and commands of a session write only in the workspace.
#![cfg(target_os = "linux")]

use pi_test_support::ScriptedReply;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::harness::{TestContext, bash_reply, text_reply, tool_call_reply};
use crate::mcp::Client;
use crate::terminal::Terminal;

/// Returns the text that the model got as the result of the last call.
fn last_result(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap();
    messages.last().unwrap()["content"].to_string()
}

#[tokio::test]
async fn tools_and_commands_write_only_in_the_workspace() {
    let write = |path: &str| tool_call_reply("write", &json!({"path": path, "content": "text"}));
    let replies = [
        bash_reply("echo in > by-bash.txt; echo out > ../by-bash.txt; mkdir .pi"),
        write("by-write.txt"),
        write("../by-write.txt"),
        write(".pi/settings.json"),
        text_reply("Done."),
    ];
    let context = TestContext::new(replies).await;
    let output = context.run(&["--sandbox", "-p", "go"]).await;
    if output.stderr.contains("user namespaces") {
        // A container without them; the error itself is what users get there.
        assert_eq!(output.code, Some(1), "{}", output.stderr);
        return;
    }
    assert_eq!(output.stdout, "Done.\n", "{}", output.stderr);
    let (project, home) = (context.project_dir(), context.home.path());
    assert!(project.join("by-bash.txt").exists());
    assert!(project.join("by-write.txt").exists());
    assert!(!home.join("by-bash.txt").exists());
    assert!(!home.join("by-write.txt").exists());
    assert!(!project.join(".pi").exists());
    let requests = context.server.requests();
    let denied = last_result(&requests[3].json());
    assert!(denied.contains("sandbox"), "{denied}");
    let denied = last_result(&requests[4].json());
    assert!(denied.contains("sandbox"), "{denied}");
}

/// The socket of `pi serve --socket` can be anywhere, so it is not hidden: the server recognizes confined clients.
#[tokio::test(flavor = "multi_thread")]
async fn a_confined_command_cannot_steer_a_server() {
    if !is_available().await {
        return;
    }
    let program = "import socket; s = socket.socket(socket.AF_UNIX); s.connect('../serve.sock'); \
         s.sendall(b'GET /v1/sessions HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n'); \
         print('answer', s.recv(12))";
    let command = format!("python3 -c \"{program}\"");
    let replies = || [bash_reply(&command), text_reply("Done.")];
    let context = TestContext::new(replies().into_iter().chain(replies())).await;
    let _served = crate::web_ui::serve(&context).await;
    for (flags, is_answered) in [(&["--sandbox"][..], false), (&[], true)] {
        let mut words = flags.to_vec();
        words.extend(["-p", "go"]);
        let output = context.run(&words).await;
        assert_eq!(output.stdout, "Done.\n", "{}", output.stderr);
        let requests = context.server.requests();
        let result = last_result(&requests.last().unwrap().json());
        if result.contains("python3") && result.contains("not found") {
            eprintln!("skipped: {result}");
            return;
        }
        assert_eq!(
            result.contains("answer b'HTTP/1.1 200"),
            is_answered,
            "{result}"
        );
    }
}

#[tokio::test]
async fn an_invalid_mode_is_refused() {
    let context = TestContext::new([]).await;
    let settings = json!({"sandbox": {"mode": "strict"}}).to_string();
    context.home.write("agent/settings.json", settings);
    let output = context.run(&["-p", "go"]).await;
    assert_eq!(output.code, Some(1));
    assert!(output.stderr.contains("sandbox"), "{}", output.stderr);
    assert!(context.server.requests().is_empty());
}

/// Ignoring what restricts the model would allow more, so nothing is run.
#[tokio::test]
async fn settings_that_restrict_the_model_are_never_ignored() {
    for (settings, expected) in [
        (
            r#"{"sandbox":{"mode":"read-only"},"permissions":{"deny":["bash"]},}"#,
            "the file contains `sandbox`",
        ),
        (r#"{"permissions":{"deny":["bash"]}"#, "`permissions`"),
        (r#"{"sandbox":"read-only"}"#, "`sandbox` must be an object"),
        (r#"{"sandbox":{"Mode":"read-only"}}"#, "`sandbox.Mode`"),
        (
            r#"{"permissions":{"deny":"bash"}}"#,
            "`permissions.deny` must be a list",
        ),
        (
            r#"{"permissions":["bash"]}"#,
            "`permissions` must be an object",
        ),
    ] {
        for file in ["agent/settings.json", "project/.pi/settings.json"] {
            let context = TestContext::new([bash_reply("touch made"), text_reply("done")]).await;
            context.home.write(file, settings);
            let output = context.run(&["--approve", "-p", "go"]).await;
            assert_eq!(output.code, Some(1), "{settings}: {}", output.stderr);
            assert!(output.stderr.contains(expected), "{}", output.stderr);
            assert!(output.stderr.contains("settings.json"), "{}", output.stderr);
            assert!(context.server.requests().is_empty(), "{settings}");
            if file.starts_with("agent") {
                let rules = context.run(&["permissions"]).await;
                assert_eq!(rules.stdout, "", "{settings}");
            } else {
                // A project that is not trusted changes nothing.
                let output = context.run(&["--no-approve", "-p", "go"]).await;
                assert_eq!(output.stdout, "done\n", "{}", output.stderr);
            }
        }
    }
    let context = TestContext::new([text_reply("done")]).await;
    let mut command = context.command(&["-p", "go"]);
    command.env("PI_SETTINGS", r#"{"sandbox":{"Mode":"read-only"}}"#);
    let output = command.output().await.unwrap();
    assert_eq!(output.status.code(), Some(1));
    // Other settings files are reported, and the session starts.
    context
        .home
        .write("agent/settings.json", r#"{"theme":"dark",}"#);
    let output = context.run(&["-p", "go"]).await;
    assert_eq!(output.stdout, "done\n", "{}", output.stderr);
    assert!(output.stderr.contains("cannot read settings"));
}

#[tokio::test]
async fn a_mistyped_mode_is_not_sent_as_a_message() {
    let context = TestContext::new([]).await;
    for arguments in [
        &["--sandbox", "readonly", "-p", "go"][..],
        &["--sandbox=ro", "-p", "go"],
        &["--sandbox", "off", "-p", "go"],
    ] {
        let output = context.run(arguments).await;
        assert_eq!(output.code, Some(1), "{arguments:?}");
        assert!(
            output.stderr.contains("workspace, try or read-only"),
            "{}",
            output.stderr
        );
    }
    assert!(context.server.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_exists_without_a_sandbox() {
    let context = TestContext::new([]).await;
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    terminal.submit("/sandbox");
    terminal.wait("The sandbox is off");
    terminal.wait("--sandbox");
    terminal.quit();
}

/// Whether commands can be confined and tried here; reports why if not.
pub(crate) async fn is_available() -> bool {
    let probe = TestContext::new([text_reply("Done.")]).await;
    let probed = probe.run(&["--sandbox", "try", "-p", "go"]).await;
    if probed.code != Some(0) {
        eprintln!("skipped: {}", probed.stderr);
    }
    probed.code == Some(0)
}

/// Returns a context with settings; `None` where there are no user namespaces.
async fn context_with(settings: Value, replies: Vec<ScriptedReply>) -> Option<TestContext> {
    if !is_available().await {
        return None;
    }
    let context = TestContext::new(replies).await;
    let settings = settings.to_string();
    context.home.write("agent/settings.json", settings);
    Some(context)
}

fn text(context: &TestContext, name: &str) -> Option<String> {
    std::fs::read_to_string(context.project_dir().join(name)).ok()
}

async fn send(client: &mut Client, message: &str) {
    let command = json!({"type": "prompt", "message": message});
    client.send(command).await;
}

/// Waits for a question and chooses the option that starts with a text; returns the title.
async fn choose(client: &mut Client, start: &str) -> String {
    let dialog = client.read_until(|it| it["method"] == "select").await;
    let options = dialog["options"].as_array().unwrap().iter();
    let mut options = options.map(|option| option.as_str().unwrap());
    let option = options.find(|option| option.starts_with(start));
    let option = option.unwrap_or_else(|| panic!("{dialog}"));
    let response = json!({"type": "extension_ui_response", "id": dialog["id"], "value": option});
    client.send(response).await;
    dialog["title"].as_str().unwrap().to_owned()
}

async fn settled(client: &mut Client) {
    client.read_until(|it| it["type"] == "agent_settled").await;
}

#[tokio::test]
async fn tried_commands_are_kept_without_a_user_only_on_request() {
    let command = "echo x > made.txt; rm kept.txt; echo $PI_X > /dev/null";
    for (flags, is_kept) in [
        (&["--sandbox", "try"][..], false),
        (&["--sandbox", "try", "--keep"], true),
    ] {
        let replies = vec![bash_reply(command), text_reply("Done.")];
        let Some(context) = context_with(json!({}), replies).await else {
            return;
        };
        context.home.write("project/kept.txt", "text\n");
        let mut words = flags.to_vec();
        words.extend(["-p", "go"]);
        let output = context.run(&words).await;
        assert_eq!(output.stdout, "Done.\n", "{}", output.stderr);
        assert_eq!(text(&context, "made.txt").is_some(), is_kept);
        assert_eq!(text(&context, "kept.txt").is_some(), !is_kept);
        let result = last_result(&context.server.requests()[1].json());
        let expected = if is_kept {
            "Tried: 1 file created, 1 deleted. The changes were kept."
        } else {
            "Nothing was applied"
        };
        assert!(result.contains(expected), "{result}");
    }
}

#[tokio::test]
async fn the_user_keeps_or_discards_what_a_command_has_changed() {
    let replies = vec![
        bash_reply("echo 1 > one.txt"),
        bash_reply("echo 2 > two.txt; cat one.txt"),
        bash_reply("mkdir d; echo 3 > d/three.txt; echo 4 > four.txt"),
        bash_reply("echo 5 > five.txt"),
        text_reply("Done."),
        text_reply("Noted."),
    ];
    let settings = json!({"sandbox": {"mode": "try"}});
    let Some(context) = context_with(settings, replies).await else {
        return;
    };
    let mut client = Client::start(&context);
    send(&mut client, "go").await;
    let title = choose(&mut client, "Keep").await;
    assert!(title.contains("1 file created\ncreate one.txt"), "{title}");
    choose(&mut client, "Discard").await;
    choose(&mut client, "Choose").await;
    choose(&mut client, "[x] create four.txt").await;
    choose(&mut client, "Keep 2 of 3").await;
    choose(&mut client, "Decide later").await;
    settled(&mut client).await;
    assert_eq!(text(&context, "one.txt").unwrap(), "1\n");
    assert_eq!(text(&context, "two.txt"), None);
    assert_eq!(text(&context, "d/three.txt").unwrap(), "3\n");
    assert_eq!(text(&context, "four.txt"), None);
    assert_eq!(text(&context, "five.txt"), None);
    let requests = context.server.requests();
    let result = |index: usize| last_result(&requests[index].json());
    assert!(
        result(1).contains("The changes were kept."),
        "{}",
        result(1)
    );
    assert!(result(2).starts_with("\"1\\n"), "{}", result(2));
    assert!(
        result(2).contains("The user discarded the changes"),
        "{}",
        result(2)
    );
    assert!(
        result(3).contains("2 of 3 changes were kept"),
        "{}",
        result(3)
    );
    assert!(result(4).contains("Not applied yet"), "{}", result(4));

    // The decision that was made later is reported.
    send(&mut client, "/try").await;
    choose(&mut client, "Discard").await;
    client.read_until(|it| it["method"] == "notify").await;
    send(&mut client, "and?").await;
    settled(&mut client).await;
    let last = context.server.requests().last().unwrap().json().to_string();
    assert!(last.contains("About the tried command"), "{last}");
    assert_eq!(text(&context, "five.txt"), None);
}

#[tokio::test]
async fn rules_and_users_try_single_commands() {
    let replies = vec![
        bash_reply("touch tried.txt"),
        bash_reply("echo direct > direct.txt"),
        text_reply("Done."),
    ];
    let settings = json!({"permissions": {"try": ["bash(touch *)"]}});
    let Some(context) = context_with(settings, replies).await else {
        return;
    };
    let mut client = Client::start(&context);
    send(&mut client, "go").await;
    choose(&mut client, "Discard").await;
    settled(&mut client).await;
    assert_eq!(text(&context, "tried.txt"), None);
    assert_eq!(text(&context, "direct.txt").unwrap(), "direct\n");
    send(&mut client, "/try echo by-user > user.txt").await;
    let title = choose(&mut client, "Keep").await;
    assert!(title.contains("echo by-user"), "{title}");
    client.read_until(|it| it["type"] == "response").await;
    assert_eq!(text(&context, "user.txt").unwrap(), "by-user\n");
}

#[tokio::test]
async fn the_file_history_knows_what_was_kept() {
    let replies = vec![
        tool_call_reply("write", &json!({"path": "by-write.txt", "content": "text"})),
        bash_reply("echo changed > old.txt; rm gone.txt; mkdir d; echo x > d/x"),
        text_reply("Done."),
    ];
    let settings = json!({"sandbox": {"mode": "try"}, "fileHistory": "edits"});
    let Some(context) = context_with(settings, replies).await else {
        return;
    };
    context.home.write("project/old.txt", "old\n");
    context.home.write("project/gone.txt", "gone\n");
    let mut client = Client::start(&context);
    send(&mut client, "go").await;
    choose(&mut client, "Keep").await;
    settled(&mut client).await;
    assert_eq!(text(&context, "old.txt").unwrap(), "changed\n");
    assert_eq!(text(&context, "by-write.txt").unwrap(), "text");
    send(&mut client, "/undo").await;
    client.read_until(|it| it["method"] == "notify").await;
    assert_eq!(text(&context, "old.txt").unwrap(), "old\n");
    assert_eq!(text(&context, "gone.txt").unwrap(), "gone\n");
    assert_eq!(text(&context, "by-write.txt"), None);
    assert!(!context.project_dir().join("d").exists());
}

#[tokio::test]
async fn a_denied_command_runs_again_if_the_user_allows_it() {
    let replies = vec![
        bash_reply("echo 1 > ../outside/one.txt && echo written"),
        tool_call_reply(
            "write",
            &json!({"path": "../outside/two.txt", "content": "2"}),
        ),
        bash_reply("echo 3 > ../outside/three.txt"),
        bash_reply("echo 4 > ../outside/four.txt"),
        text_reply("Done."),
    ];
    let settings = json!({"sandbox": {"mode": "workspace"}});
    let Some(context) = context_with(settings, replies).await else {
        return;
    };
    let outside = context.home.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    let mut client = Client::start(&context);
    send(&mut client, "go").await;
    settled_with(&mut client, &["Once", "No", "In this session"]).await;
    let names = |name: &str| outside.join(name).exists();
    let results = context.server.requests();
    let results: Vec<String> = results
        .iter()
        .skip(1)
        .map(|it| last_result(&it.json()))
        .collect();
    assert!(names("one.txt") && !names("two.txt"), "{results:#?}");
    assert!(names("three.txt") && names("four.txt"));
    let requests = context.server.requests();
    let result = last_result(&requests[1].json());
    assert!(
        result.contains("The user allowed it") && result.contains("written"),
        "{result}"
    );
}

/// What was allowed once stays allowed while the command runs again for something else.
#[tokio::test]
async fn a_command_that_is_denied_twice_is_asked_about_twice() {
    let settings = json!({"sandbox": {"mode": "workspace"}});
    let Some(context) = context_with(settings, Vec::new()).await else {
        return;
    };
    let [one, two] = ["one", "two"].map(|name| context.home.path().join(name));
    for directory in [&one, &two] {
        std::fs::create_dir(directory).unwrap();
    }
    let script = format!(
        "echo run >> runs; echo 1 > {}/x && echo 2 > {}/x",
        one.display(),
        two.display()
    );
    context
        .server
        .reply_to("\"go\"", [bash_reply(&script), text_reply("Done.")]);
    let mut client = Client::start(&context);
    send(&mut client, "go").await;
    settled_with(&mut client, &["Once", "Once"]).await;
    assert_eq!(text(&context, "runs").unwrap(), "run\nrun\nrun\n");
    assert!(one.join("x").exists() && two.join("x").exists());
}

/// What fails for another reason does not run again and again.
#[tokio::test]
async fn an_allowed_command_that_fails_again_is_not_repeated() {
    let script =
        "echo run >> runs; echo 'bash: line 1: OUTSIDE/x: Read-only file system' >&2; exit 1";
    let settings = json!({"sandbox": {"mode": "workspace"}});
    let Some(context) = context_with(settings, Vec::new()).await else {
        return;
    };
    let outside = context.home.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    let script = script.replace("OUTSIDE", outside.to_str().unwrap());
    context
        .server
        .reply_to("\"go\"", [bash_reply(&script), text_reply("Done.")]);
    let mut client = Client::start(&context);
    send(&mut client, "go").await;
    settled_with(&mut client, &["In this session"]).await;
    assert_eq!(text(&context, "runs").unwrap(), "run\nrun\n");
}

/// Answers the questions of a run; bash names a path as the script does, which must be absolute to ask.
async fn settled_with(client: &mut Client, answers: &[&str]) {
    for answer in answers {
        choose(client, answer).await;
    }
    settled(client).await;
}
