//! The web UI in a real browser against `pi serve` and a scripted model. Skipped where no browser is installed.

use std::process::Stdio;

use pi_test_support::{Browser, HOSTILE_TEXTS, ScriptedReply};
use pretty_assertions::assert_eq;
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Child;

use crate::harness::{
    TestContext, delta_event, finish_reply, partial_reply, text_delta, text_reply,
};

const DESKTOP: (u32, u32) = (1280, 800);
const PHONE: (u32, u32) = (390, 844);

/// The transcript without IDs, times and durations, which differ between runs.
const TRANSCRIPT: &str = "[...document.querySelectorAll('#transcript article')].map((article) => {
  const copy = article.cloneNode(true);
  for (const node of [copy, ...copy.querySelectorAll('*')]) for (const name of ['id', 'href']) node.removeAttribute(name);
  for (const node of copy.querySelectorAll('.anchor, .call-state')) node.remove();
  return copy.outerHTML;
}).join('\\n')";

/// A running server; it ends when this is dropped.
pub(crate) struct Served {
    _process: Child,
    /// Signs in one browser.
    pub(crate) url: String,
}

pub(crate) async fn serve(context: &TestContext) -> Served {
    let socket = context.home.path().join("serve.sock");
    let socket = socket.to_string_lossy();
    let arguments = [
        "serve",
        "--web",
        "--port",
        "0",
        "--socket",
        &socket,
        "--model",
        "mock/alpha",
    ];
    let mut command = context.command(&arguments);
    let mut process = command.stderr(Stdio::inherit()).spawn().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let url = loop {
        let line = lines
            .next_line()
            .await
            .unwrap()
            .expect("a line with the URL");
        let url = line.split_whitespace().find(|word| word.contains("#code="));
        if let Some(url) = url {
            break url.to_owned();
        }
    };
    // The server writes more lines later.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    Served {
        _process: process,
        url,
    }
}

/// Signs in and starts a session in the project.
fn start_session(browser: &mut Browser, served: &Served) {
    browser.open(&served.url);
    browser.wait_for(
        "document.documentElement.dataset.ready && !document.getElementById('welcome').hidden",
    );
    browser.click("#welcome-new");
    browser.wait_for("document.querySelector('#picker[open] input')");
    browser.click("#picker .primary");
    browser.wait_for("document.getElementById('pick-model').textContent === 'alpha'");
}

pub(crate) fn send(browser: &mut Browser, text: &str) {
    browser.type_into("#prompt", text);
    browser.evaluate("document.getElementById('composer').requestSubmit()");
}

const IDLE: &str = "!document.querySelector('.is-running, .growing, .tail > *')";

pub(crate) fn wait_for_text(browser: &mut Browser, text: &str) {
    browser.wait_for(&format!(
        "document.getElementById('transcript').textContent.includes({})",
        json!(text)
    ));
}

pub(crate) fn wait_until_idle(browser: &mut Browser, text: &str) {
    browser.wait_for(&format!(
        "{IDLE} && document.getElementById('transcript').textContent.includes({})",
        json!(text)
    ));
}

/// Text that waits in its middle, then a call that edits a file.
fn editing_reply() -> ScriptedReply {
    let arguments = json!({"path": "a.txt", "edits": [{"oldText": "one", "newText": "two"}]});
    let call = json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function",
        "function": {"name": "edit", "arguments": arguments.to_string()}}]});
    let reply = partial_reply("I will *change* ")
        .gate("text")
        .chunk(text_delta("the file.\n\n- one\n- two\n"))
        .chunk(delta_event(&call, None));
    finish_reply(reply, "tool_calls")
}

/// Runs the prompt that edits a file; `between` runs while the text waits. Returns the transcript.
async fn edit_run(size: (u32, u32), between: impl FnOnce(&mut Browser)) -> Option<String> {
    let context = TestContext::new([editing_reply(), text_reply("Changed.")]).await;
    context.home.write("project/a.txt", "zero\none\n");
    let mut browser = Browser::start(size.0, size.1)?;
    let served = serve(&context).await;
    start_session(&mut browser, &served);
    send(&mut browser, "change it");
    wait_for_text(&mut browser, "I will change");
    assert_eq!(
        browser.evaluate("document.querySelector('.growing em')?.textContent"),
        "change"
    );
    between(&mut browser);
    wait_for_text(&mut browser, "I will change");
    context.server.open_gate("text");
    wait_until_idle(&mut browser, "Changed.");
    assert_eq!(browser.problems(), [] as [String; 0]);
    let transcript = browser.evaluate(TRANSCRIPT);
    Some(transcript.as_str().unwrap().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_streams_and_a_reload_in_its_middle_changes_nothing() {
    for size in [DESKTOP, PHONE] {
        let Some(undisturbed) = edit_run(size, |_| {}).await else {
            return;
        };
        assert!(undisturbed.contains("class=\"call done\""), "{undisturbed}");
        assert!(
            undisturbed.contains("diff-line numbered added"),
            "{undisturbed}"
        );
        let reloaded = edit_run(size, Browser::reload).await.unwrap();
        assert_eq!(reloaded, undisturbed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_steered_stopped_asked_and_forked() {
    for size in [DESKTOP, PHONE] {
        steer_stop_ask_and_fork(size).await;
    }
}

async fn steer_stop_ask_and_fork((width, height): (u32, u32)) {
    let bash = json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function",
        "function": {"name": "bash", "arguments": "{\"command\":\"echo from-bash\"}"}}]});
    let steered = partial_reply("Working ")
        .gate("steer")
        .chunk(delta_event(&bash, None));
    let replies = [
        partial_reply("Endless ").gate("never"),
        finish_reply(steered, "tool_calls"),
        text_reply("Steered."),
        text_reply("Seen."),
        text_reply("Forked."),
    ];
    let context = TestContext::new(replies).await;
    context.home.write(
        "agent/extensions/ask.ts",
        "export default (pi) => pi.registerCommand('ask', { description: 'Ask', handler: async (args, ctx) => {
           ctx.ui.notify('answer ' + (await ctx.ui.confirm('Sure?', 'Really')));
         } });",
    );
    let Some(mut browser) = Browser::start(width, height) else {
        return;
    };
    let served = serve(&context).await;
    start_session(&mut browser, &served);

    send(&mut browser, "never ends");
    wait_for_text(&mut browser, "Endless");
    browser.click("#stop");
    wait_until_idle(&mut browser, "aborted");

    send(&mut browser, "go");
    wait_for_text(&mut browser, "Working");
    send(&mut browser, "use make");
    browser.wait_for("document.querySelector('.queued-text')?.textContent === 'use make'");
    context.server.open_gate("steer");
    wait_until_idle(&mut browser, "Steered.");
    assert!(browser.text("#transcript").contains("from-bash"));
    assert!(browser.text("#transcript").contains("use make"));

    send(&mut browser, "/ask");
    browser.wait_for("document.querySelector('.request h3')?.textContent === 'Sure?'");
    browser.click(".request .primary");
    browser.wait_for("document.getElementById('notices').textContent.includes('answer true')");
    browser.wait_for("!document.querySelector('.request')");

    browser.click("#pick-model");
    browser.wait_for("document.querySelectorAll('.choice').length === 2");
    browser.type_into("#picker input", "beta");
    browser.press("Enter");
    browser.wait_for("document.getElementById('pick-model').textContent === 'beta'");

    let image = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    browser.evaluate(&format!(
        "(() => {{ const bytes = Uint8Array.from(atob('{image}'), (c) => c.charCodeAt(0)); const data = new DataTransfer(); data.items.add(new File([bytes], 'a.png', {{ type: 'image/png' }})); document.getElementById('prompt').dispatchEvent(new ClipboardEvent('paste', {{ clipboardData: data, bubbles: true }})); }})()"
    ));
    browser.wait_for("document.querySelector('.attachment img')");
    send(&mut browser, "what is this");
    wait_until_idle(&mut browser, "Seen.");
    browser.wait_for("document.querySelector('.entry.user img')");
    let request = context.server.requests().pop().unwrap();
    assert!(String::from_utf8_lossy(&request.body).contains("data:image/png;base64,"));

    let before = browser.evaluate("location.hash");
    browser.click("#open-tree");
    browser.wait_for("document.querySelectorAll('.row.user').length === 4");
    browser.evaluate("[...document.querySelectorAll('.row.user')][1].click()");
    browser.wait_for(
        "document.querySelectorAll('.tree-actions button')[1]?.textContent.includes('Fork')",
    );
    browser.evaluate("document.querySelectorAll('.tree-actions button')[1].click()");
    browser.wait_for(&format!(
        "location.hash !== {before} && document.getElementById('prompt').value === 'go'"
    ));
    wait_until_idle(&mut browser, "never ends");
    assert!(!browser.text("#transcript").contains("Steered."));
    browser.evaluate("document.getElementById('composer').requestSubmit()");
    wait_until_idle(&mut browser, "Forked.");
    assert_eq!(browser.problems(), [] as [String; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_texts_in_events_stay_text() {
    let hostile = HOSTILE_TEXTS.join("\n\n");
    let arguments = json!({"command": format!("printf '%s' '{}'", hostile.replace('\'', ""))});
    let call = json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function",
        "function": {"name": "bash", "arguments": arguments.to_string()}}]});
    let calling = finish_reply(
        partial_reply(&hostile).chunk(delta_event(&call, None)),
        "tool_calls",
    );
    let context = TestContext::new([calling, text_reply(&format!("{hostile} Ended."))]).await;
    let Some(mut browser) = Browser::start(DESKTOP.0, DESKTOP.1) else {
        return;
    };
    let served = serve(&context).await;
    start_session(&mut browser, &served);
    send(&mut browser, &hostile);
    wait_until_idle(&mut browser, "Ended.");
    // Events over time, then the same as entries of a snapshot.
    for _ in 0..2 {
        assert_eq!(
            browser.evaluate("document.documentElement.dataset.ran ?? null"),
            json!(null)
        );
        let elements = "document.querySelectorAll('#transcript :is(script, iframe, style, link, base, meta, form, object, embed)').length";
        assert_eq!(browser.evaluate(elements), json!(0));
        let links = "[...document.querySelectorAll('#transcript a, #transcript img')].map((it) => it.href ?? it.src).filter((it) => /^(javascript|vbscript|file|data:text)/i.test(it)).length";
        assert_eq!(browser.evaluate(links), json!(0));
        assert!(browser.text("#transcript").contains("<script>"));
        browser.reload();
        wait_until_idle(&mut browser, "Ended.");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_has_the_colors_of_the_theme_until_another_scheme_is_chosen() {
    let context = TestContext::new([]).await;
    let theme = json!({ "name": "sea", "vars": { "deep": "#001020" }, "export": { "pageBg": "deep", "cardBg": "#002030" } });
    context
        .home
        .write("agent/themes/sea.json", theme.to_string());
    let settings = json!({ "theme": "sea" });
    context
        .home
        .write("agent/settings.json", settings.to_string());
    let served = serve(&context).await;
    let Some(mut browser) = Browser::start(DESKTOP.0, DESKTOP.1) else {
        return;
    };
    browser.open(&served.url);
    let colors = "document.documentElement.dataset.scheme === 'dark' && getComputedStyle(document.body).getPropertyValue('--page') === '#001020' && getComputedStyle(document.body).getPropertyValue('--card') === '#002030'";
    browser.wait_for(colors);
    browser.click("#side-menu");
    browser.wait_for("document.querySelector('#picker[open]')");
    browser.evaluate("[...document.querySelectorAll('#picker button')].find((button) => button.textContent.includes('Light colors')).click()");
    browser.wait_for("document.documentElement.dataset.scheme === 'light' && !document.documentElement.style.getPropertyValue('--page')");
}
