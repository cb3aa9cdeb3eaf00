//! What the page shows and sends.

use pi_test_support::{Browser, HOSTILE_TEXTS};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::scripted_host::ScriptedHost;

/// The transcript without what depends on the moment: markup of stored entries only.
const TRANSCRIPT: &str = "[...document.querySelectorAll('#transcript article')].map((article) => article.outerHTML).join('\\n')";

const DESKTOP: (u32, u32) = (1280, 800);
const PHONE: (u32, u32) = (390, 844);

fn user(text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1})
}

fn response(timestamp: u64, content: &Value) -> Value {
    json!({"role": "assistant", "content": content, "api": "faux", "provider": "faux", "model": "m1",
        "stopReason": "stop", "timestamp": timestamp,
        "usage": {"input": 10, "output": 5, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 15,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.25}}})
}

/// Opens the session and signs in.
fn opened(host: &ScriptedHost, (width, height): (u32, u32)) -> Option<Browser> {
    let mut browser = Browser::start(width, height)?;
    browser.open(&host.sign_in_address());
    browser.wait_for("document.documentElement.dataset.ready && document.getElementById('pick-model').textContent === 'Model m1'");
    Some(browser)
}

/// Emits a run: a prompt, text in pieces, a call with a diff, and a last text. `between` runs in the middle of the text.
fn run(host: &ScriptedHost, mut between: impl FnMut()) {
    host.emit(&json!({"type": "agent_start"}));
    host.end_message(&user("change it"));
    let call =
        json!({"type": "toolCall", "id": "c1", "name": "edit", "arguments": {"path": "src/a.rs"}});
    host.start_response(&response(2, &json!([])));
    for piece in [
        "I read ",
        "the *file*.\n\n",
        "- one\n",
        "- two\n\n```rust\nfn a",
        "() {}\n```\n\nDo",
        "ne.",
    ] {
        host.delta(0, piece);
        between();
    }
    let text = "I read the *file*.\n\n- one\n- two\n\n```rust\nfn a() {}\n```\n\nDone.";
    let mut first = response(2, &json!([{"type": "text", "text": text}, call]));
    first["stopReason"] = json!("toolUse");
    host.end_message(&first);
    host.emit(&json!({"type": "tool_execution_start", "toolCallId": "c1", "toolName": "edit", "args": {"path": "src/a.rs"}}));
    between();
    let result = json!({"content": [{"type": "text", "text": "ok"}], "details": {"diff": " 1 a\n-2 let b = 1;\n+2 let b = 2;"}});
    host.emit(&json!({"type": "tool_execution_end", "toolCallId": "c1", "toolName": "edit", "result": result, "isError": false, "durationMs": 1200}));
    let mut stored = result;
    stored["role"] = json!("toolResult");
    stored["toolCallId"] = json!("c1");
    stored["toolName"] = json!("edit");
    stored["isError"] = json!(false);
    stored["durationMs"] = json!(1200);
    stored["timestamp"] = json!(3);
    host.end_message(&stored);
    host.start_response(&response(4, &json!([])));
    host.delta(0, "All done");
    host.end_message(&response(4, &json!([{"type": "text", "text": "All done"}])));
    host.emit(&json!({"type": "agent_settled", "aborted": false}));
}

/// Waits for the end of a run and returns the transcript.
fn settled(browser: &mut Browser) -> String {
    browser.wait_for("!document.querySelector('.is-running, .growing') && /All done/.test(document.getElementById('transcript').textContent)");
    browser.wait_for("document.querySelectorAll('#transcript .tail > *').length === 0");
    browser.evaluate(TRANSCRIPT).as_str().unwrap().to_owned()
}

#[test]
fn a_run_streams_and_ends_with_the_same_page_as_after_reloads() {
    for size in [DESKTOP, PHONE] {
        let host = ScriptedHost::start();
        host.store(&user("earlier"));
        let Some(mut browser) = opened(&host, size) else {
            return;
        };
        let mut seen = Vec::new();
        run(&host, || {
            // The first piece is shown before the next one is sent.
            browser.wait_for("document.querySelector('.is-running') && /I read/.test(document.getElementById('transcript').textContent)");
            seen.push(browser.text("#transcript"));
        });
        let undisturbed = settled(&mut browser);
        assert!(
            seen.iter()
                .any(|text| text.contains("I read") && !text.contains("two")),
            "{seen:?}"
        );
        assert!(undisturbed.contains("<em>file</em>"), "{undisturbed}");
        assert!(undisturbed.contains("class=\"call done\""), "{undisturbed}");
        assert!(undisturbed.contains("1.2 s"), "{undisturbed}");
        assert!(
            undisturbed.contains("diff-line numbered removed"),
            "{undisturbed}"
        );
        assert_eq!(browser.text("#title"), "earlier");
        assert_eq!(browser.text("#context-text"), "42%");
        assert_eq!(browser.problems(), [] as [String; 0]);

        let host = ScriptedHost::start();
        host.store(&user("earlier"));
        let Some(mut browser) = opened(&host, size) else {
            return;
        };
        run(&host, || {
            browser.open(&host.address());
            browser.reload();
            browser.wait_for("document.querySelector('.is-running') && document.querySelector('#transcript article')");
        });
        assert_eq!(settled(&mut browser), undisturbed);

        let host = ScriptedHost::start();
        host.store(&user("earlier"));
        let Some(mut browser) = opened(&host, size) else {
            return;
        };
        run(&host, || host.disconnect());
        assert_eq!(settled(&mut browser), undisturbed);
        browser.wait_for("document.getElementById('banner').hidden");
    }
}

#[test]
fn the_composer_prompts_steers_stops_and_attaches_images() {
    let host = ScriptedHost::start();
    let Some(mut browser) = opened(&host, DESKTOP) else {
        return;
    };
    browser.type_into("#prompt", "fix the bug");
    let image = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    browser.evaluate(&format!(
        "(() => {{ const bytes = Uint8Array.from(atob('{image}'), (c) => c.charCodeAt(0)); const data = new DataTransfer(); data.items.add(new File([bytes], 'a.png', {{ type: 'image/png' }})); document.getElementById('prompt').dispatchEvent(new ClipboardEvent('paste', {{ clipboardData: data, bubbles: true }})); }})()"
    ));
    browser.wait_for("document.querySelector('.attachment img')");
    browser.press("Enter");
    let prompt = host.received("prompt");
    assert_eq!(prompt["message"], "fix the bug");
    assert_eq!(
        prompt["images"][0],
        json!({"type": "image", "data": image, "mimeType": "image/png"})
    );
    browser.wait_for(
        "document.getElementById('prompt').value === '' && !document.querySelector('.attachment')",
    );

    host.emit(&json!({"type": "agent_start"}));
    browser.wait_for("!document.getElementById('stop').hidden");
    browser.type_into("#prompt", "and the tests");
    browser.click("#follow-up");
    browser.wait_for("document.getElementById('prompt').value === ''");
    host.emit(
        &json!({"type": "queue_update", "steering": ["first"], "followUp": ["and the tests"]}),
    );
    browser.wait_for("document.querySelectorAll('.queued').length === 2");
    browser.evaluate("document.getElementById('prompt').focus()");
    browser.press("Escape");
    host.received("abort");

    browser.type_into("#prompt", "/rev");
    browser.wait_for("document.querySelector('.suggestion')?.textContent.includes('/review')");
    browser.press("Tab");
    browser.wait_for("document.getElementById('prompt').value === '/review '");
    browser.evaluate("document.getElementById('prompt').value = ''");
    browser.type_into("#prompt", "look at @ma");
    browser.wait_for("document.querySelector('.suggestion')?.textContent.includes('main.rs')");
    browser.press("Enter");
    browser.wait_for("document.getElementById('prompt').value === 'look at @src/main.rs '");
    browser.reload();
    browser.wait_for("document.getElementById('prompt').value === 'look at @src/main.rs '");
    assert_eq!(browser.problems(), [] as [String; 0]);
}

#[test]
fn questions_models_and_branches() {
    for size in [DESKTOP, PHONE] {
        let host = ScriptedHost::start();
        let entry = host.store(&user("first prompt"));
        host.store(&response(
            2,
            &json!([{"type": "text", "text": "first answer"}]),
        ));
        let Some(mut browser) = opened(&host, size) else {
            return;
        };
        host.emit(&json!({"type": "extension_ui_request", "id": "q", "method": "confirm", "title": "Delete?", "message": "12 files"}));
        browser.wait_for("document.querySelector('.request h3')?.textContent === 'Delete?'");
        browser.reload();
        browser.click(".request .primary");
        assert_eq!(
            host.received("confirmed"),
            json!({"type": "confirmed", "confirmed": true})
        );
        browser.wait_for("!document.querySelector('.request')");
        host.emit(&json!({"type": "extension_ui_request", "id": "i", "method": "input", "title": "Name?"}));
        browser.wait_for("document.querySelector('.request input')");
        browser.type_into(".request input", "pi");
        host.emit(
            &json!({"type": "request_resolved", "request": "i", "answer": {"type": "cancelled"}}),
        );
        browser.wait_for("!document.querySelector('.request')");

        browser.click("#pick-model");
        browser.wait_for("document.querySelectorAll('.choice').length === 2");
        browser.press("ArrowDown");
        browser.press("Enter");
        assert_eq!(host.received("set_model")["modelId"], "m2");
        browser.wait_for("document.getElementById('pick-model').textContent === 'Model m2'");

        browser.click("#open-tree");
        browser.click(".row.user");
        browser.wait_for("document.querySelectorAll('.tree-actions button').length === 3");
        browser.evaluate("document.querySelectorAll('.tree-actions button')[1].click()");
        assert_eq!(host.received("fork")["entryId"], entry);
        host.replace("s2");
        browser.wait_for("document.getElementById('prompt').value === 'forked text' && location.hash === '#s=s2'");
        assert_eq!(browser.problems(), [] as [String; 0]);
        let overflow = "document.documentElement.scrollWidth > innerWidth";
        assert_eq!(
            browser.evaluate(overflow),
            false,
            "the page is wider than the screen"
        );
    }
}

#[test]
fn components_of_extensions_are_shown_and_receive_keys() {
    for size in [DESKTOP, PHONE] {
        let host = ScriptedHost::start();
        host.store(&user("first prompt"));
        let Some(mut browser) = opened(&host, size) else {
            return;
        };
        let mount = |id: u64, place: Value, focused: bool| json!({"type": "screen_mount", "id": id, "place": place, "cols": 30, "focused": focused});
        let lines = |id: u64, texts: &[(usize, &str)], rows: usize| {
            let lines = texts.iter();
            let lines = lines.map(|(row, text)| json!({"row": row, "text": text}));
            json!({"type": "screen_lines", "id": id, "rows": rows, "lines": lines.collect::<Vec<_>>(), "cursor": null})
        };
        let widget = json!({"kind": "widget", "key": "w", "placement": "aboveEditor"});
        host.emit(&mount(1, widget, false));
        host.emit(&lines(
            1,
            &[(0, "\u{1b}[31mred\u{1b}[0m  x"), (1, "second")],
            2,
        ));
        host.emit(&mount(2, json!({"kind": "footer"}), false));
        host.emit(&lines(2, &[(0, "\u{1b}[7mfooter\u{1b}[27m")], 1));
        browser.wait_for("document.querySelector('#screen-below')?.textContent.includes('footer')");
        let red = "document.querySelector('#screen-above .t-fg-red').textContent";
        assert_eq!(browser.evaluate(red), "red");
        host.emit(&lines(1, &[(1, "changed")], 2));
        browser.wait_for(
            "document.querySelector('#screen-above').innerText.includes('red  x\\nchanged')",
        );

        // A dialog replaces the prompt, has the focus, and gets keys as a terminal sends them.
        host.emit(&mount(3, json!({"kind": "custom"}), true));
        host.emit(&lines(3, &[(0, "Pick one"), (1, "> first")], 2));
        browser.wait_for("document.activeElement?.className === 'screen-keys' && document.querySelector('.screen-custom').textContent.includes('Pick one')");
        let has_prompt = "document.querySelector('#composer .box').checkVisibility()";
        assert_eq!(browser.evaluate(has_prompt), false);
        browser.press("ArrowDown");
        let input = host.received("screen_input");
        assert_eq!(
            (&input["component"], &input["data"]),
            (&json!(3), &json!("\u{1b}[B"))
        );
        host.emit(&mount(
            4,
            json!({"kind": "overlay", "anchor": "top-right"}),
            true,
        ));
        host.emit(&lines(4, &[(0, "overlay <b>text</b>")], 1));
        browser.wait_for("document.querySelector('[role=dialog].screen-overlay')?.textContent.includes('<b>text</b>')");
        for id in [4, 3] {
            host.emit(&json!({"type": "screen_unmount", "id": id}));
        }
        browser.wait_for(
            "!document.querySelector('.screen-overlay') && document.activeElement?.id === 'prompt'",
        );
        assert_eq!(browser.evaluate(has_prompt), true);
        let overflow = "document.documentElement.scrollWidth > innerWidth";
        assert_eq!(browser.evaluate(overflow), false);

        // The server sends all components again with each stream.
        host.disconnect();
        browser.wait_for("!document.querySelector('.screen-component')");
        let keys = "import('/assets/live/screen.js').then(({ keySequence }) => [
          { key: 'c', ctrlKey: true }, { key: 'Tab', shiftKey: true }, { key: 'ArrowLeft', altKey: true }, { key: 'a' }, { key: 'x', altKey: true }, { key: 'F5' },
        ].map((event) => keySequence(event) ?? ''))";
        assert_eq!(
            browser.evaluate(keys),
            json!([
                "\u{3}",
                "\u{1b}[Z",
                "\u{1b}[1;3D",
                "",
                "\u{1b}x",
                "\u{1b}[15~"
            ])
        );
        browser.clear_problems();
    }
}

#[test]
fn a_phone_has_large_targets_in_one_column() {
    let host = ScriptedHost::start();
    host.store(&user("prompt"));
    let call =
        json!({"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}});
    host.store(&response(
        2,
        &json!([{"type": "text", "text": "text"}, call]),
    ));
    let Some(mut browser) = opened(&host, PHONE) else {
        return;
    };
    browser.wait_for("document.querySelector('.fold-card')");
    let small = "[...document.querySelectorAll('#main button')].filter((button) => button.checkVisibility({ visibilityProperty: true }) && button.getBoundingClientRect().height < 44 && !button.matches('.copy, .more')).map((button) => button.id || button.className)";
    assert_eq!(browser.evaluate(small), json!([]));
    assert_eq!(
        browser.evaluate("getComputedStyle(document.getElementById('sidebar')).visibility"),
        "hidden"
    );
    browser.click("#open-sidebar");
    browser
        .wait_for("getComputedStyle(document.getElementById('sidebar')).visibility === 'visible'");
}

#[test]
fn a_long_session_shows_its_end_and_earlier_entries_on_demand() {
    let host = ScriptedHost::start();
    let lines = "line\n\n".repeat(10);
    for number in 0..1000 {
        host.store(&user(&format!("{lines}message {number}")));
    }
    host.limit_snapshots(500);
    let Some(mut browser) = opened(&host, DESKTOP) else {
        return;
    };
    browser.wait_for("/message 999$/.test(document.querySelector('#transcript article:last-of-type')?.textContent)");
    let count = "document.querySelectorAll('#transcript article').length";
    assert_eq!(browser.evaluate(count), 30);
    // Each time the start is reached, earlier entries are added above it.
    browser.wait_for("(() => { document.getElementById('scroller').scrollTop = 0; return /message 0$/.test(document.querySelector('#transcript article')?.textContent); })()");
    assert_eq!(browser.evaluate(count), 1000);
    assert_eq!(browser.problems(), [] as [String; 0]);
}

#[test]
fn rows_of_branches_follow_the_width_of_the_window() {
    let host = ScriptedHost::start();
    host.store(&user("one"));
    host.store(&user("two"));
    let Some(mut browser) = opened(&host, DESKTOP) else {
        return;
    };
    let heights = "JSON.stringify((() => { const [one, two] = [...document.querySelectorAll('#tree-panel .row')].map((row) => row.getBoundingClientRect()); return [two?.top - one?.top, one?.height]; })())";
    browser.click("#open-tree");
    browser.wait_for(&format!("{heights} === '[26,26]'"));
    browser.command(
        "Emulation.setDeviceMetricsOverride",
        &json!({"width": PHONE.0, "height": PHONE.1, "deviceScaleFactor": 1, "mobile": true}),
    );
    browser.wait_for(&format!("{heights} === '[44,44]'"));
}

#[test]
fn short_entries_fill_the_page() {
    let host = ScriptedHost::start();
    for number in 0..200 {
        host.store(&json!({"role": "custom", "customType": "note", "content": number.to_string(), "display": number % 10 == 0, "timestamp": 1}));
    }
    host.limit_snapshots(100);
    let Some(mut browser) = opened(&host, DESKTOP) else {
        return;
    };
    browser.wait_for("document.getElementById('scroller').scrollHeight > document.getElementById('scroller').clientHeight || !document.querySelector('.older')");
    assert_eq!(browser.problems(), [] as [String; 0]);
}

/// Makes the page believe that it is hidden or shown.
fn set_visibility(browser: &mut Browser, state: &str) {
    browser.evaluate(&format!(
        "Object.defineProperty(document, 'visibilityState', {{ value: '{state}', configurable: true }}); document.dispatchEvent(new Event('visibilitychange'))"
    ));
}

/// Browsers allow six connections to a server.
#[test]
fn pages_in_the_background_leave_the_connections_to_the_one_that_is_shown() {
    let host = ScriptedHost::start();
    host.store(&user("earlier"));
    let Some(mut browser) = opened(&host, DESKTOP) else {
        return;
    };
    host.emit(&json!({"type": "agent_start"}));
    host.start_response(&response(2, &json!([])));
    host.delta(0, "one ");
    let shows = |text: &str| {
        format!("document.getElementById('transcript').textContent.includes({text:?})")
    };
    let mut hidden = Vec::new();
    for _ in 0..8 {
        browser.wait_for(&shows("one"));
        set_visibility(&mut browser, "hidden");
        hidden.push(browser.new_page(DESKTOP.0, DESKTOP.1));
        browser.open(&host.address());
    }
    browser.wait_for(&shows("one"));
    host.delta(0, "two ");
    browser.wait_for(&shows("one two"));
    // Requests still find a connection.
    browser.type_into("#prompt", "steer it");
    browser.evaluate("document.getElementById('composer').requestSubmit()");
    host.received("prompt");
    // A page continues where it was.
    host.end_message(&response(
        2,
        &json!([{"type": "text", "text": "one two three"}]),
    ));
    host.emit(&json!({"type": "agent_settled", "aborted": false}));
    for page in hidden {
        browser.switch_to(page);
        set_visibility(&mut browser, "visible");
        browser.wait_for(&format!(
            "{} && !document.querySelector('.is-running')",
            shows("one two three")
        ));
        set_visibility(&mut browser, "hidden");
    }
}

#[test]
fn the_text_of_sessions_is_searched_and_a_hit_opens_at_its_entry() {
    for size in [DESKTOP, PHONE] {
        let host = ScriptedHost::start();
        let lines = "line\n\n".repeat(10);
        let mut entries = Vec::new();
        for number in 0..60 {
            entries.push(host.store(&user(&format!("{lines}message {number}"))));
        }
        host.limit_snapshots(20);
        host.add_hit("message", &entries[7], HOSTILE_TEXTS[0], "message 7");
        for text in HOSTILE_TEXTS {
            host.add_hit("message", &entries[50], text, text);
        }
        host.index_during(2);
        let Some(mut browser) = opened(&host, size) else {
            return;
        };
        if size == PHONE {
            browser.click("#open-sidebar");
        } else {
            browser.evaluate("document.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, bubbles: true }))");
        }
        browser.wait_for(
            "getComputedStyle(document.getElementById('sidebar')).visibility === 'visible'",
        );
        let target = "document.getElementById('search-text').getBoundingClientRect()";
        if size == PHONE {
            let is_large = format!("Math.min({target}.width, {target}.height) >= 44");
            assert_eq!(browser.evaluate(&is_large), true);
        }
        browser.click("#search-text");
        browser.wait_for("document.getElementById('session-list').hidden && document.activeElement.id === 'session-search'");
        browser.type_into("#session-search", "message");
        browser.wait_for("document.querySelectorAll('.hit').length === 1");
        assert_eq!(browser.text("#text-hits .note"), "Indexing 25% · 1 match");
        assert_eq!(browser.text(".hit .snippet"), "before message 7 after");
        assert_eq!(browser.text(".hit mark"), "message 7");
        let facts = browser.text(".hit .session-facts");
        assert!(facts.starts_with("tool result · "), "{facts}");
        // The search is repeated until all sessions are indexed.
        let count = HOSTILE_TEXTS.len() + 1;
        browser.wait_for(&format!(
            "document.querySelectorAll('.hit').length === {count}"
        ));
        assert_eq!(browser.text("#text-hits .note"), format!("{count} matches"));
        let elements = "document.querySelectorAll('.hit :not(mark, span)').length";
        assert_eq!(browser.evaluate(elements), 0);
        // An entry that is not loaded yet.
        browser.press("ArrowDown");
        browser.wait_for("document.activeElement.matches('.hit:first-child')");
        browser.press("Enter");
        browser.wait_for(
            "/message 7$/.test(document.querySelector('#transcript .marked')?.textContent)",
        );
        browser.wait_for("(() => { const { top } = document.querySelector('#transcript .marked').getBoundingClientRect(); return top >= 0 && top < innerHeight; })()");
        let address = browser.evaluate("location.href");
        assert_eq!(address, host.address());
        assert_eq!(browser.problems(), [] as [String; 0]);
    }
}

#[test]
fn a_hit_on_another_branch_is_shown_with_the_branches() {
    let host = ScriptedHost::start();
    host.store(&user("one"));
    let entry = host.store(&user("two"));
    host.move_to_first();
    host.store(&user("three"));
    let Some(mut browser) = opened(&host, DESKTOP) else {
        return;
    };
    let hit = format!("{}&e={entry}", host.address());
    browser.open("about:blank");
    browser.open(&hit);
    browser
        .wait_for("/two/.test(document.querySelector('.tree-actions:not([hidden])')?.textContent)");
    assert!(browser.text("#transcript").contains("three"));
    browser.open(&format!("{}&e=unknown", host.address()));
    browser.wait_for("/no longer has/.test(document.getElementById('notices').textContent)");
}

#[test]
fn a_signed_in_browser_stays_signed_in_whatever_code_its_address_has() {
    let host = ScriptedHost::start();
    host.store(&user("one"));
    let Some(mut browser) = opened(&host, DESKTOP) else {
        return;
    };
    let used = host.sign_in_address().replace("one-time-code", "used");
    for _ in 0..3 {
        browser.evaluate(&format!("location.href = {}", json!(used)));
        browser.wait_for("!location.href.includes('code=')");
    }
    browser.open("about:blank");
    browser.open(&used);
    browser.wait_for("document.documentElement.dataset.ready && document.getElementById('pick-model').textContent === 'Model m1'");
    assert_eq!(
        browser.evaluate("document.getElementById('sign-in').hidden"),
        true
    );
    assert_eq!(host.all_received("login").len(), 1, "attempts with a code");
}

#[test]
fn the_address_that_signs_in_works_in_a_page_that_is_open() {
    let host = ScriptedHost::start();
    let Some(mut browser) = Browser::start(DESKTOP.0, DESKTOP.1) else {
        return;
    };
    browser.open(&host.address());
    browser.wait_for("!document.getElementById('sign-in').hidden");
    let address = json!(host.sign_in_address());
    browser.evaluate(&format!("location.href = {address}"));
    browser.wait_for("document.getElementById('sign-in').hidden && document.getElementById('pick-model').textContent === 'Model m1'");
    let address = browser.evaluate("location.href");
    assert!(!address.as_str().unwrap().contains("code="), "{address}");
}

#[test]
fn a_page_that_is_not_signed_in_asks_for_a_code() {
    let host = ScriptedHost::start();
    let Some(mut browser) = Browser::start(1280, 800) else {
        return;
    };
    browser.open(&host.address());
    browser.wait_for("!document.getElementById('sign-in').hidden");
    browser.type_into("#sign-in-code", "wrong");
    browser.press("Enter");
    browser.wait_for("document.getElementById('sign-in-error').textContent !== ''");
    browser.evaluate("document.getElementById('sign-in-code').value = ''");
    browser.type_into("#sign-in-code", crate::scripted_host::CODE);
    browser.evaluate("document.getElementById('sign-in').requestSubmit()");
    browser.wait_for("document.getElementById('sign-in').hidden && document.getElementById('title').textContent !== 'pi'");
    assert!(!browser.text("#title").is_empty());
    let address = browser.evaluate("location.href");
    assert!(!address.as_str().unwrap().contains("code"), "{address}");
}

/// Text of any origin stays text: nothing in it runs, becomes an element or is requested.
#[test]
fn hostile_text_in_live_events_stays_text() {
    let host = ScriptedHost::start();
    for text in HOSTILE_TEXTS {
        host.store(&user(text));
    }
    let Some(mut browser) = opened(&host, DESKTOP) else {
        return;
    };
    browser.click("#open-tree");
    host.emit(&json!({"type": "agent_start"}));
    for (number, text) in HOSTILE_TEXTS.iter().enumerate() {
        let timestamp = 100 + number as u64;
        host.start_response(&response(timestamp, &json!([])));
        for piece in text.split_inclusive(' ') {
            host.delta(0, piece);
        }
        let call = |id: &str, name: &str| {
            json!({"type": "toolCall", "id": format!("{id}{number}"), "name": name,
                "arguments": {"path": text, "command": text, "content": text, *text: text}})
        };
        let content = json!([{"type": "text", "text": text}, {"type": "thinking", "thinking": text},
            call("a", text), call("b", "bash"), call("w", "write"), call("r", "read"), {"type": text}]);
        let mut message = response(timestamp, &content);
        message["errorMessage"] = json!(text);
        message["model"] = json!(text);
        host.end_message(&message);
        let result =
            json!({"content": [{"type": "text", "text": text}], "details": {"diff": text}});
        let id = format!("b{number}");
        host.emit(&json!({"type": "tool_execution_start", "toolCallId": id, "toolName": "bash", "args": {}}));
        host.emit(&json!({"type": "tool_execution_update", "toolCallId": id, "toolName": "bash", "args": {}, "partialResult": result}));
        host.emit(&json!({"type": "tool_execution_end", "toolCallId": id, "toolName": "bash", "result": result, "isError": true}));
        host.emit(&json!({"type": "queue_update", "steering": [text], "followUp": [text]}));
        host.emit(&json!({"type": "session_warning", "message": text}));
        host.emit(&json!({"type": "extension_error", "extensionPath": text, "event": text, "error": text}));
        host.emit(&json!({"type": "auto_retry_start", "attempt": 1, "maxAttempts": 2, "delayMs": 1, "errorMessage": text}));
        host.emit(&json!({"type": "session_info_changed", "name": text}));
        host.emit(&json!({"type": "bash_execution_start", "command": text}));
        host.emit(&json!({"type": "bash_execution_update", "delta": text}));
        host.emit(&json!({"type": text, "method": text}));
        for method in ["notify", "setStatus", "setWidget", "setTitle"] {
            host.emit(&json!({"type": "extension_ui_request", "id": "n", "method": method, "message": text, "title": text,
                "statusKey": text, "statusText": text, "widgetKey": text, "widgetLines": [text], "notifyType": text}));
        }
        for method in ["confirm", "select", "input", "editor"] {
            host.emit(&json!({"type": "extension_ui_request", "id": format!("{method}{number}{text}"), "method": method, "title": text,
                "message": text, "options": [text], "placeholder": text, "prefill": text}));
        }
        host.emit(&json!({"type": "approval_requested", "request": {"id": format!("p{number}"), "method": "approval", "toolName": text, "args": {"command": text}, "reason": text}}));
    }
    let last = HOSTILE_TEXTS.len() - 1;
    browser.wait_for(&format!(
        "document.querySelector('[data-call=\"b{last}\"].failed')"
    ));
    browser.evaluate(
        "for (const details of document.querySelectorAll('details')) details.open = true",
    );
    browser.evaluate("new Promise((resolve) => setTimeout(resolve, 300))");
    assert_eq!(
        browser.evaluate("document.documentElement.dataset.ran ?? null"),
        Value::Null
    );
    let made = "document.body.querySelectorAll('script, iframe, style, link, base, meta, object, embed, svg script, [onerror], [onload], [onfocus], [onmouseover], [style*=url]').length";
    assert_eq!(browser.evaluate(made), 0);
    let links = "[...document.querySelectorAll('a[href]')].filter((link) => !['http:', 'https:', 'mailto:'].includes(link.protocol)).length";
    assert_eq!(browser.evaluate(links), 0);
    let images = "[...document.querySelectorAll('img')].filter((image) => !/^data:image\\/(png|jpeg|gif|webp);/.test(image.src)).length";
    assert_eq!(browser.evaluate(images), 0);
    assert_eq!(browser.problems(), [] as [String; 0]);
}
