//! Exported pages: hostile text, rendering in a browser, and size.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use pi_export::{ExportTheme, HtmlOptions, export_html};
use pi_protocol::{
    AgentMessage, CompactionEntry, CustomMessageEntry, EntryId, LabelEntry, ModelChangeEntry,
    SessionInfoEntry,
};
use pi_session::{BranchSummary, NewSession, Session};
use pi_test_support::HOSTILE_TEXTS;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

mod browser;

fn message(value: Value) -> AgentMessage {
    serde_json::from_value(value).unwrap()
}

fn response(content: &Value, more: &Value) -> AgentMessage {
    let mut response = json!({
        "role": "assistant", "content": content, "api": "faux", "provider": "faux", "model": "m",
        "stopReason": "stop", "timestamp": 2,
        "usage": {"input": 10, "output": 5, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 15,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.25}}
    });
    for (name, value) in more.as_object().unwrap() {
        response[name] = value.clone();
    }
    message(response)
}

fn session(home: &TempDir) -> Session {
    Session::in_memory(home.path(), NewSession::default()).unwrap()
}

/// Puts a text into every text field of a session.
fn append_everywhere(session: &mut Session, text: &str) {
    let user = json!({"role": "user", "content": text, "timestamp": 1});
    let user = session.append(message(user)).unwrap().id.clone();
    let call = |id: &str, name: &str| {
        json!({"type": "toolCall", "id": id, "name": name,
            "arguments": {"path": text, "command": text, "content": text, text: text}})
    };
    let content = json!([
        {"type": "thinking", "thinking": text}, {"type": "text", "text": text},
        call(text, text), call("b", "bash"), call("w", "write"), call("r", "read"), {"type": text}
    ]);
    let more = json!({"errorMessage": text, "stopReason": "error", "model": text});
    session.append(response(&content, &more)).unwrap();
    let result = json!({
        "role": "toolResult", "toolCallId": text, "toolName": text, "isError": true, "timestamp": 3,
        "details": {"diff": text},
        "content": [{"type": "text", "text": text}, {"type": "image", "mimeType": "image/png", "data": text},
            {"type": "image", "mimeType": "image/svg+xml", "data": BASE64.encode(text)}]
    });
    session.append(message(result)).unwrap();
    let bash = json!({"role": "bashExecution", "command": text, "output": text, "timestamp": 4});
    session.append(message(bash)).unwrap();
    let compaction = json!({"summary": text, "firstKeptEntryId": user, "tokensBefore": 7});
    let compaction: CompactionEntry = serde_json::from_value(compaction).unwrap();
    session.append(compaction).unwrap();
    session
        .append(CustomMessageEntry {
            custom_type: text.to_owned(),
            content: text.into(),
            display: true,
            details: None,
        })
        .unwrap();
    session
        .append(ModelChangeEntry {
            provider: text.to_owned(),
            model_id: text.to_owned(),
        })
        .unwrap();
    session
        .append(LabelEntry {
            target_id: user,
            label: Some(text.to_owned()),
        })
        .unwrap();
    let name = Some(text.to_owned());
    session.append(SessionInfoEntry { name }).unwrap();
}

fn hostile_session(home: &TempDir) -> Session {
    let mut session = session(home);
    for text in HOSTILE_TEXTS {
        append_everywhere(&mut session, text);
    }
    session
}

/// A conversation with a branch, a tool, an image and Markdown.
fn tour(home: &TempDir) -> Session {
    let mut session = session(home);
    let question =
        json!({"role": "user", "content": "Please **look** at `lib.rs`", "timestamp": 1});
    let question = session.append(message(question)).unwrap().id.clone();
    let call = json!([{"type": "thinking", "thinking": "hm"},
        {"type": "toolCall", "id": "c1", "name": "edit", "arguments": {"path": "src/lib.rs"}}]);
    session.append(response(&call, &json!({}))).unwrap();
    let result = json!({"role": "toolResult", "toolCallId": "c1", "toolName": "edit", "isError": false,
        "content": [{"type": "text", "text": "done"}], "details": {"diff": "-1 old\n+1 new"}, "timestamp": 3});
    session.append(message(result)).unwrap();
    let text = "## Result\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n- one\n- two\n\n[docs](https://example.com/x)";
    let content = json!([{"type": "text", "text": text}]);
    session.append(response(&content, &json!({}))).unwrap();
    let summary = BranchSummary {
        summary: "we tried".to_owned(),
        ..BranchSummary::default()
    };
    session
        .branch_with_summary(Some(&question), summary)
        .unwrap();
    let content = json!([{"type": "text", "text": "the other way"}]);
    session.append(response(&content, &json!({}))).unwrap();
    session
        .append(LabelEntry {
            target_id: question,
            label: Some("start".to_owned()),
        })
        .unwrap();
    session
}

fn export(session: &Session, home: &TempDir, options: HtmlOptions) -> PathBuf {
    let output = home.path().join("page.html");
    let options = HtmlOptions {
        output: Some(output),
        ..options
    };
    export_html(session, &options).unwrap()
}

fn between<'page>(page: &'page str, start: &str, end: &str) -> &'page str {
    let rest = page.split_once(start).unwrap().1;
    rest.split_once(end).unwrap().0
}

#[test]
fn hostile_text_is_only_data() {
    let home = TempDir::new().unwrap();
    let page = export(&hostile_session(&home), &home, HtmlOptions::default());
    let page = fs::read_to_string(page).unwrap();
    // The entries, the overview and our script: no other element is opened or closed.
    assert_eq!(page.matches("<script").count(), 3);
    assert_eq!(page.matches("</script").count(), 3);
    assert_eq!(page.matches("<style").count(), 1);
    assert!(!page.contains(['\u{2028}', '\u{2029}']));
    let entries = between(&page, "class=\"entries\">", "</script>");
    assert_eq!(entries.find(['<', '>', '&']), None);
    let entries: Vec<Value> = serde_json::from_str(entries).unwrap();
    for (number, text) in HOSTILE_TEXTS.iter().enumerate() {
        let user = &entries[number * ENTRIES_A_TEXT];
        assert_eq!(user["message"]["content"], *text);
    }
}

#[test]
fn the_policy_allows_only_our_script_and_style() {
    let home = TempDir::new().unwrap();
    let theme = ExportTheme::from_theme_json(r##"{"export":{"pageBg":"#18181e"}}"##);
    let options = HtmlOptions {
        theme,
        ..HtmlOptions::default()
    };
    let page = fs::read_to_string(export(&tour(&home), &home, options)).unwrap();
    let hash = |text: &str| BASE64.encode(Sha256::digest(text));
    let script = between(&page, "<script>", "</script>");
    let style = between(&page, "<style>", "</style>");
    assert!(style.contains("--page:#18181e;") && page.contains("data-scheme=\"dark\""));
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\"");
    assert_eq!(
        policy,
        format!(
            "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; \
             base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; \
             trusted-types 'none'",
            hash(script),
            hash(style)
        )
    );
    // Our own files comply with it: no markup from text, no event attributes, no style attributes.
    for forbidden in [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
    ] {
        assert!(!script.contains(forbidden), "{forbidden}");
    }
    let skeleton = page.replace(script, "").replace(style, "");
    assert!(!skeleton.contains(" onclick") && !skeleton.contains(" style="));
}

#[test]
fn a_page_contains_no_external_urls() {
    let home = TempDir::new().unwrap();
    let mut session = session(&home);
    session.append(response(&json!([]), &json!({}))).unwrap();
    let page = fs::read_to_string(export(&session, &home, HtmlOptions::default())).unwrap();
    for (position, _) in page.match_indices("//") {
        let before = page.get(position.saturating_sub(6)..position).unwrap();
        assert!(
            !before.ends_with("http:") && !before.ends_with("https:"),
            "{before}"
        );
    }
}

#[test]
fn a_long_session_is_split_into_blocks_and_complete() {
    let home = TempDir::new().unwrap();
    let mut session = session(&home);
    let filler = "x".repeat(9 << 20);
    for number in 0..3 {
        let content = json!([{"type": "text", "text": format!("{number} {filler}")}]);
        session.append(response(&content, &json!({}))).unwrap();
    }
    let page = fs::read_to_string(export(&session, &home, HtmlOptions::default())).unwrap();
    let blocks: Vec<Vec<Value>> = page
        .split("class=\"entries\">")
        .skip(1)
        .map(|rest| serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap())
        .collect();
    assert_eq!(blocks.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
    // Each entry is on its own line, so the page finds it without parsing the rest.
    for block in page.split("class=\"entries\">").skip(1) {
        let lines: Vec<_> = block
            .split_once("</script>")
            .unwrap()
            .0
            .split('\n')
            .collect();
        assert!(lines.first() == Some(&"[") && lines.last() == Some(&"]"));
        assert!(
            lines
                .iter()
                .skip(1)
                .all(|line| *line == "]" || line.starts_with('{'))
        );
    }
}

/// Entries a text produces in [`append_everywhere`], and how many of them are shown on their own.
const ENTRIES_A_TEXT: usize = 9;
const SHOWN_A_TEXT: usize = 7;

#[test]
fn in_a_browser_hostile_text_stays_text() {
    let home = TempDir::new().unwrap();
    let session = hostile_session(&home);
    let page = export(&session, &home, HtmlOptions::default());
    let ids = ids(&session);
    // The page renders the entries near the one it is opened at; these two cover all of them.
    let mut shown = 0;
    for text in [HOSTILE_TEXTS.len() / 4, HOSTILE_TEXTS.len() * 3 / 4] {
        let Some(rendered) = browser::rendered(&page, &ids[text * ENTRIES_A_TEXT]) else {
            return;
        };
        assert!(!rendered.contains("data-ran"), "a script ran");
        let main = between(&rendered, "<main", "</main>");
        check_inert(main);
        shown += main.matches("<article").count();
    }
    assert!(shown >= SHOWN_A_TEXT * HOSTILE_TEXTS.len(), "{shown}");
}

fn check_inert(main: &str) {
    assert!(!main.contains("cannot be shown"));
    for tag in [
        "<script", "<style", "<iframe", "<svg", "<form", "<link", "<base", "<meta",
    ] {
        assert!(!main.contains(tag), "{tag}");
    }
    for address in main.split("href=\"").skip(1) {
        let mut allowed = ["#e-", "https://", "http://"].iter();
        assert!(
            allowed.any(|start| address.starts_with(start)),
            "{address:.60}"
        );
    }
    for source in main.split("src=\"").skip(1) {
        assert!(source.starts_with("data:image/png;base64,"), "{source:.60}");
    }
}

fn ids(session: &Session) -> Vec<EntryId> {
    let nodes = session.entries().tree().nodes.into_iter();
    nodes.map(|node| node.id).collect()
}

#[test]
fn in_a_browser_a_session_is_rendered_as_a_conversation() {
    let home = TempDir::new().unwrap();
    let session = tour(&home);
    let page = export(&session, &home, HtmlOptions::default());
    let Some(rendered) = browser::rendered(&page, session.leaf_id().unwrap()) else {
        return;
    };
    for expected in [
        "Please <strong>look</strong> at <code>lib.rs</code>",
        "<span class=\"label\" title=\"Label\">start</span>",
        "the other way",
        "we tried",
    ] {
        assert!(rendered.contains(expected), "{expected}");
    }
    // The branch that was left is in the tree, not in the transcript.
    assert!(rendered.contains("## Result | a | b |") && !rendered.contains("<h2>Result</h2>"));
}

/// Presses a key in an exported page once it is loaded. The policy of the page would not run the script.
fn press_key(page: &Path, key: &str, times: usize) {
    let html = fs::read_to_string(page).unwrap();
    let script = format!(
        "<script>addEventListener('load', () => {{ for (let n = 0; n < {times}; n++) \
         document.dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}', bubbles: true }})); }});</script></body>"
    );
    let html = html
        .replace("http-equiv=\"Content-Security-Policy\"", "name=\"policy\"")
        .replace("</body>", &script);
    let mut file = fs::File::create(page).unwrap();
    file.write_all(html.as_bytes()).unwrap();
}

#[test]
fn in_a_browser_a_key_shows_and_hides_hidden_messages() {
    for (times, expected) in [(0, false), (1, true), (2, false)] {
        let home = TempDir::new().unwrap();
        let mut session = tour(&home);
        session
            .append(CustomMessageEntry {
                custom_type: "note".to_owned(),
                content: "not for everyone".into(),
                display: false,
                details: None,
            })
            .unwrap();
        let content = json!([{"type": "text", "text": "the end"}]);
        session.append(response(&content, &json!({}))).unwrap();
        let page = export(&session, &home, HtmlOptions::default());
        press_key(&page, "H", times);
        let Some(rendered) = browser::rendered(&page, session.leaf_id().unwrap()) else {
            return;
        };
        let main = between(&rendered, "<main", "</main>");
        assert!(main.contains("the end"), "{main}");
        assert_eq!(main.contains("not for everyone"), expected, "{times}");
    }
}

#[test]
fn in_a_browser_code_and_formulas_are_typeset_and_results_are_named_by_their_calls() {
    let home = TempDir::new().unwrap();
    let mut session = session(&home);
    let text = "```rust\nlet a = \"b\"; // c\nlet end = index;\n```\n\nIt costs $5, $HOME:$PATH; $E = mc^2$ and \\(\\frac{1}{\\sqrt x}\\).";
    let content = json!([{"type": "text", "text": text},
        {"type": "toolCall", "id": "r", "name": "read", "arguments": {"path": "src/a.rs", "offset": 3, "limit": 2}},
        {"type": "toolCall", "id": "w", "name": "write", "arguments": {"path": "b.py", "content": "def f(): pass"}}]);
    session.append(response(&content, &json!({}))).unwrap();
    for (id, name, text) in [("r", "read", "fn read() {}"), ("w", "write", "fn written")] {
        let result = json!({"role": "toolResult", "toolCallId": id, "toolName": name, "isError": false,
            "content": [{"type": "text", "text": text}], "timestamp": 3});
        session.append(message(result)).unwrap();
    }
    let page = export(&session, &home, HtmlOptions::default());
    let Some(rendered) = browser::rendered(&page, session.leaf_id().unwrap()) else {
        return;
    };
    for expected in [
        "<span class=\"k-keyword\">let</span> a = <span class=\"k-string\">\"b\"</span>; <span class=\"k-comment\">// c</span>\n<span class=\"k-keyword\">let</span> end = index;",
        "1 response, 2 tool calls",
        "It costs $5, $HOME:$PATH; <math title=\"E = mc^2\"><mrow><mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup>",
        "<mfrac><mrow><mn>1</mn></mrow><mrow><msqrt><mi>x</mi></msqrt></mrow></mfrac>",
        "<span class=\"k-keyword\">fn</span> read() {}",
        "<span class=\"k-keyword\">def</span> f(): <span class=\"k-keyword\">pass</span>",
        "fn written",
        "<span class=\"row-text\">[read: src/a.rs:3-4]</span>",
        "<span class=\"row-text\">[write: b.py]</span>",
    ] {
        assert!(rendered.contains(expected), "{expected}\n{rendered}");
    }
}

#[test]
fn in_a_browser_a_hash_opens_the_branch_of_its_entry() {
    let home = TempDir::new().unwrap();
    let session = tour(&home);
    let page = export(&session, &home, HtmlOptions::default());
    let Some(rendered) = browser::rendered(&page, &ids(&session)[3]) else {
        return;
    };
    for expected in [
        "<h2>Result</h2>",
        "<li>one</li>",
        "<td class=\"align-right\">2</td>",
        "<span class=\"diff-line added\">+1 new\n</span>",
        "<details class=\"thinking-block\"><summary>Thinking</summary>",
        "<a href=\"https://example.com/x\" target=\"_blank\" rel=\"noopener noreferrer\">docs</a>",
        "This is not the session's current branch",
    ] {
        assert!(rendered.contains(expected), "{expected}");
    }
}

/// Fails if a test file is not declared as a module.
#[test]
fn every_test_file_is_declared_as_a_module() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let main = fs::read_to_string(folder.join("main.rs")).unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let is_module = path.extension().is_some_and(|extension| extension == "rs");
        assert!(
            !is_module || stem == "main" || main.contains(&format!("mod {stem};")),
            "{stem}"
        );
    }
}
