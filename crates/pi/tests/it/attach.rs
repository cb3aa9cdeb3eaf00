//! Live attach: several terminals with one session, takeover, and sessions in the background.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use pi_test_support::Browser;
use serde_json::Value;

use crate::harness::{
    TestContext, bash_reply, finish_reply, partial_reply, text_delta, text_reply,
};
use crate::terminal::Terminal;
use crate::web_ui;

fn live_directory(context: &TestContext) -> PathBuf {
    context.home.path().join("agent/live")
}

/// Waits for the socket of the only session and returns its ID.
pub(crate) fn wait_for_socket(context: &TestContext) -> String {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let entries = fs::read_dir(live_directory(context)).into_iter().flatten();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut ids = names.filter_map(|name| Some(name.strip_suffix(".sock")?.to_owned()));
        if let Some(id) = ids.next() {
            return id;
        }
        assert!(Instant::now() < deadline, "no session listens");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the roles and texts of the messages in the only session file.
fn stored_messages(context: &TestContext) -> Vec<String> {
    let entries = context.session_records().into_iter();
    entries
        .filter_map(|entry| {
            let message = entry.get("message")?;
            let role = message["role"].as_str()?;
            let text = match &message["content"] {
                Value::String(text) => text.clone(),
                blocks => blocks[0]["text"].as_str().unwrap_or_default().to_owned(),
            };
            (role != "system").then(|| format!("{role} {}", text.trim()))
        })
        .collect()
}

/// Presses a key until a question is gone, which ignores keys right after it appears.
fn press_until_gone(terminal: &Terminal, key: &str, text: &str) {
    for _ in 0..30 {
        std::thread::sleep(Duration::from_millis(800));
        if !terminal.screen().contains(text) {
            return;
        }
        terminal.send(key);
    }
    terminal.wait_gone(text);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_terminals_of_different_sizes_follow_and_steer_the_same_run() {
    let streamed = partial_reply("First part,")
        .gate("second")
        .chunk(text_delta(" second part,"))
        .gate("end")
        .chunk(text_delta(" end."));
    let context = TestContext::new([
        finish_reply(streamed, "stop"),
        text_reply("Steered reply."),
        text_reply("Reply to the owner."),
    ])
    .await;
    let owner = Terminal::start(&context, &[]);
    owner.wait("alpha");
    owner.submit("begin");
    owner.wait("First part,");
    let id = wait_for_socket(&context);
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let socket = live_directory(&context).join(format!("{id}.sock"));
    assert!(fs::metadata(&socket).unwrap().file_type().is_socket());
    assert_eq!(
        (mode(live_directory(&context)), mode(socket)),
        (0o700, 0o600)
    );

    let guest = Terminal::start_sized(&context, &["attach", id.get(..13).unwrap()], (60, 20));
    guest.wait("First part,");
    owner.wait("1 watching");
    guest.wait("1 watching");
    context.server.open_gate("second");
    owner.wait("second part,");
    guest.wait("second part,");
    guest.submit("steer it");
    owner.wait("steer it");
    context.server.open_gate("end");
    for terminal in [&owner, &guest] {
        terminal.wait("second part, end.");
        terminal.wait("Steered reply.");
    }
    owner.submit("from the owner");
    guest.wait("from the owner");
    guest.wait("Reply to the owner.");
    guest.quit();
    owner.wait_gone("watching");
    owner.quit();
    assert_eq!(
        stored_messages(&context),
        [
            "user begin",
            "assistant First part, second part, end.",
            "user steer it",
            "assistant Steered reply.",
            "user from the owner",
            "assistant Reply to the owner.",
        ]
    );
    assert_eq!(fs::read_dir(live_directory(&context)).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_and_a_terminal_follow_the_session_of_another_terminal() {
    let Some(mut browser) = Browser::start(1280, 800) else {
        return;
    };
    let streamed = partial_reply("First part,")
        .gate("second")
        .chunk(text_delta(" second part."));
    let context = TestContext::new([
        finish_reply(streamed, "stop"),
        text_reply("Steered reply."),
        text_reply("Reply to the guest."),
    ])
    .await;
    let owner = Terminal::start(&context, &[]);
    owner.wait("alpha");
    owner.submit("begin");
    owner.wait("First part,");
    let id = wait_for_socket(&context);
    let guest = Terminal::start_sized(&context, &["attach", &id], (60, 20));
    guest.wait("First part,");
    let served = web_ui::serve(&context).await;
    browser.open(&served.url);
    browser.wait_for("document.documentElement.dataset.ready");
    let page = served.url.split('#').next().unwrap();
    browser.open(&format!("{page}#s={id}"));
    web_ui::wait_for_text(&mut browser, "First part,");

    web_ui::send(&mut browser, "steer it");
    owner.wait("steer it");
    context.server.open_gate("second");
    for terminal in [&owner, &guest] {
        terminal.wait("Steered reply.");
    }
    web_ui::wait_until_idle(&mut browser, "Steered reply.");
    guest.submit("from the guest");
    owner.wait("Reply to the guest.");
    web_ui::wait_until_idle(&mut browser, "Reply to the guest.");
    assert_eq!(browser.problems(), [] as [String; 0]);
    guest.quit();
    owner.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_continues_the_session_of_a_killed_owner() {
    let context = TestContext::new([
        text_reply("Before the end."),
        partial_reply("Never finished").stall(),
        text_reply("After the takeover."),
    ])
    .await;
    let owner = Terminal::start(&context, &[]);
    owner.wait("alpha");
    owner.submit("first");
    owner.wait("Before the end.");
    let id = wait_for_socket(&context);
    let guest = Terminal::start(&context, &["attach", &id]);
    guest.wait("Before the end.");
    guest.submit("second");
    guest.wait("Never finished");
    guest.send("third");
    guest.wait("third");
    owner.kill();
    guest.wait("The pi that ran this session has ended");
    press_until_gone(&guest, "\r", "has ended");
    guest.wait("second");
    // What was being typed stays.
    guest.wait("third");
    guest.submit("");
    guest.wait("After the takeover.");
    guest.quit();
    let stored = stored_messages(&context);
    let kept = ["user first", "assistant Before the end.", "user second"];
    assert_eq!(stored[..3], kept);
    assert_eq!(
        stored[stored.len() - 2..],
        ["user third", "assistant After the takeover."]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_detached_run_continues_without_a_terminal() {
    let context = TestContext::new([
        bash_reply("sleep 1; echo tool-output"),
        finish_reply(
            partial_reply("In the")
                .gate("end")
                .chunk(text_delta(" background.")),
            "stop",
        ),
        text_reply("Attached again."),
    ])
    .await;
    let options = ["--model", "mock/alpha", "--api-key", "sk-of-this-run"];
    let mut owner = Terminal::start(&context, &options);
    owner.wait("alpha");
    owner.submit("work");
    owner.wait("sleep 1; echo tool-output");
    let id = wait_for_socket(&context);
    owner.submit("/detach");
    owner.wait_written("continues in the background");
    assert_eq!(owner.exit_code(), 0);
    drop(owner);
    context.server.open_gate("end");
    let guest = Terminal::start(&context, &["attach", &id]);
    guest.wait("In the background.");
    guest.submit("more");
    guest.wait("Attached again.");
    assert!(!guest.screen().contains("hidden by"), "{}", guest.screen());
    // The background process ends like any other.
    let output = context.run(&["attach"]).await;
    let pid = output.stdout.split("PID ").nth(1).unwrap();
    let pid = pid.split_whitespace().next().unwrap();
    // The key is used, but other users cannot read it.
    if cfg!(target_os = "linux") {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap();
        let words = String::from_utf8_lossy(&words).into_owned();
        assert!(words.contains("host") && !words.contains("sk-"), "{words}");
        let variables = fs::read(format!("/proc/{pid}/environ")).unwrap();
        assert!(!String::from_utf8_lossy(&variables).contains("sk-of"));
    }
    let last = context.server.requests().pop().unwrap();
    assert!(format!("{last:?}").contains("sk-of-this-run"), "{last:?}");
    let killed = std::process::Command::new("kill").arg(pid).status();
    assert!(killed.unwrap().success());
    guest.wait("The pi that ran this session has ended");
    press_until_gone(&guest, "\x1b", "has ended");
    guest.quit();
    assert_eq!(
        stored_messages(&context),
        [
            "user work",
            "assistant ",
            "toolResult tool-output",
            "assistant In the background.",
            "user more",
            "assistant Attached again.",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_cannot_change_the_session() {
    let context = TestContext::new([text_reply("Only to read.")]).await;
    let owner = Terminal::start(&context, &[]);
    owner.wait("alpha");
    owner.submit("first");
    owner.wait("Only to read.");
    let id = wait_for_socket(&context);
    let reader = Terminal::start(&context, &["attach", "--read-only", &id]);
    reader.wait("Only to read.");
    reader.submit("let me in");
    reader.wait("only view");
    reader.wait("let me in");
    reader.send("\x03");
    reader.wait_gone("let me in");
    reader.quit();
    owner.quit();
    assert_eq!(stored_messages(&context).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_open_elsewhere_is_attached_to_on_request() {
    let context = TestContext::new([text_reply("One."), text_reply("Two.")]).await;
    let owner = Terminal::start(&context, &[]);
    owner.wait("alpha");
    owner.submit("first");
    owner.wait("One.");
    wait_for_socket(&context);
    let guest = Terminal::start(&context, &["-c"]);
    guest.wait("This session is open in another pi");
    guest.send("\r");
    guest.wait("1 watching");
    guest.submit("second");
    owner.wait("Two.");
    guest.quit();
    owner.quit();
    assert_eq!(stored_messages(&context).len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prepared_socket_directory_is_refused_and_the_session_works() {
    let context = TestContext::new([text_reply("Still works.")]).await;
    let elsewhere = context.home.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, live_directory(&context)).unwrap();
    let owner = Terminal::start(&context, &[]);
    owner.wait("alpha");
    owner.submit("first");
    owner.wait("Still works.");
    let output = context.run(&["attach", "0199"]).await;
    assert_eq!(output.code, Some(1), "{output:?}");
    owner.quit();
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_terminal_attach_lists_the_running_sessions() {
    let context = TestContext::new([text_reply("One.")]).await;
    let output = context.run(&["attach"]).await;
    assert_eq!(output.code, Some(1));
    assert!(
        output.stderr.contains("no session is running"),
        "{output:?}"
    );
    let owner = Terminal::start(&context, &["--name", "the build"]);
    owner.wait("alpha");
    owner.submit("first");
    owner.wait("One.");
    let id = wait_for_socket(&context);
    let output = context.run(&["attach"]).await;
    assert!(output.stdout.contains(&id), "{output:?}");
    assert!(output.stdout.contains("the build"), "{output:?}");
    assert_eq!(
        (output.code, output.stderr.as_str()),
        (Some(0), ""),
        "{output:?}"
    );
    owner.kill();
    let output = context.run(&["attach"]).await;
    assert!(
        output.stderr.contains("no session is running"),
        "{output:?}"
    );
    // The socket of the killed process was removed.
    assert_eq!(fs::read_dir(live_directory(&context)).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_follows_the_owner_to_its_next_session() {
    let context = TestContext::new([
        text_reply("Reply one."),
        text_reply("Reply two."),
        text_reply("Reply three."),
    ])
    .await;
    let owner = Terminal::start(&context, &[]);
    owner.wait("alpha");
    owner.submit("first");
    owner.wait("Reply one.");
    let id = wait_for_socket(&context);
    let guest = Terminal::start(&context, &["attach", &id]);
    guest.wait("Reply one.");
    guest.send("a draft");
    owner.submit("/new");
    owner.wait("New session started");
    guest.wait("It opens here after its first message");
    owner.submit("second");
    owner.wait("Reply two.");
    guest.wait("Reply two.");
    guest.wait("a draft");
    guest.wait_gone("Reply one.");
    // The guest controls the session it follows.
    guest.send("\x15");
    guest.submit("third");
    guest.wait("Reply three.");
    owner.wait("Reply three.");
    guest.quit();
    owner.quit();
}
