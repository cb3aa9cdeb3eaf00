//! Contents and paths of exports.

use std::fs;

use pi_env::Env;
use pi_protocol::{AgentMessage, SessionInfoEntry};
use pi_session::{NewSession, Session};
use pretty_assertions::assert_eq;
use secrecy::SecretString;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

const NOW: i64 = 1_767_225_600_123;

fn env() -> Env {
    Env::fixed([("HOME", "/home/user")]).with_clock(|| NOW)
}

fn message(value: Value) -> AgentMessage {
    serde_json::from_value(value).unwrap()
}

fn user(text: &str) -> AgentMessage {
    message(json!({"role": "user", "content": text, "timestamp": 1}))
}

fn response(text: &str) -> AgentMessage {
    message(json!({
        "role": "assistant", "content": [{"type": "text", "text": text}], "api": "faux",
        "provider": "faux", "model": "m", "stopReason": "stop", "timestamp": 2,
        "usage": {"input": 10, "output": 5, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 15,
            "cost": {"input": 0.1, "output": 0.2, "cacheRead": 0, "cacheWrite": 0, "total": 0.3}}
    }))
}

fn saved_session(home: &TempDir) -> Session {
    let path = home.path().join("2026-01-01_abc.jsonl");
    let options = NewSession {
        env: env(),
        ..NewSession::default()
    };
    let mut session = Session::create_at(&path, home.path(), options).unwrap();
    session.append(user("first question")).unwrap();
    session.append(response("first answer")).unwrap();
    session
}

fn options(output: PathBuf) -> HtmlOptions {
    HtmlOptions {
        output: Some(output),
        env: env(),
        ..HtmlOptions::default()
    }
}

fn page(session: &Session, home: &TempDir, change: impl FnOnce(&mut HtmlOptions)) -> String {
    let path = home.path().join("page.html");
    let mut options = options(path.clone());
    change(&mut options);
    assert_eq!(export_html(session, &options).unwrap(), path);
    fs::read_to_string(path).unwrap()
}

/// Returns the contents of the elements whose opening tag ends with `tag`.
fn scripts<'page>(page: &'page str, tag: &str) -> Vec<&'page str> {
    page.split(tag)
        .skip(1)
        .map(|rest| rest.split_once("</script>").unwrap().0)
        .collect()
}

fn overview(page: &str) -> Value {
    serde_json::from_str(scripts(page, "id=\"overview\">")[0]).unwrap()
}

fn entries(page: &str) -> Vec<Value> {
    let blocks = scripts(page, "class=\"entries\">");
    blocks
        .into_iter()
        .flat_map(|block| serde_json::from_str::<Vec<Value>>(block).unwrap())
        .collect()
}

#[test]
fn a_page_contains_all_branches_and_their_cost() {
    let home = TempDir::new().unwrap();
    let mut session = saved_session(&home);
    let first = session.current_branch().ids().remove(0);
    session.branch(&first).unwrap();
    session.append(response("another answer")).unwrap();
    session
        .append(SessionInfoEntry {
            name: Some("a <b>name</b>".to_owned()),
        })
        .unwrap();
    let page = page(&session, &home, |options| {
        options.system_prompt = Some("be brief".to_owned());
    });
    let entries = entries(&page);
    let overview = overview(&page);
    assert_eq!(entries.len(), 4);
    assert_eq!(entries[1]["message"]["content"][0]["text"], "first answer");
    assert_eq!(overview["leaf"], 3);
    assert_eq!(overview["exportedAt"], NOW);
    assert_eq!(overview["systemPrompt"], "be brief");
    assert_eq!(overview["totals"]["tokens"]["total"], 30);
    assert_eq!(overview["totals"]["cost"], 0.6);
    assert_eq!(overview["nodes"][2]["parent"], 0);
    assert_eq!(overview["nodes"][2]["text"], "another answer");
    assert_eq!(overview["nodes"][3]["kind"], "name");
    assert!(page.contains("<title>a &lt;b&gt;name&lt;/b&gt; · pi session</title>"));
}

#[test]
fn an_empty_session_cannot_be_exported() {
    let home = TempDir::new().unwrap();
    let path = home.path().join("s.jsonl");
    let mut session = Session::create_at(&path, home.path(), NewSession::default()).unwrap();
    session.set_name("early").unwrap();
    let in_memory = Session::in_memory(home.path(), NewSession::default()).unwrap();
    for session in [session, in_memory] {
        let output = home.path().join("page.html");
        let refused = export_html(&session, &options(output.clone())).unwrap_err();
        assert!(matches!(refused, ExportError::NothingYet), "{refused}");
        assert!(!output.exists());
    }
}

#[test]
fn an_in_memory_session_can_be_exported() {
    let home = TempDir::new().unwrap();
    let mut session = Session::in_memory(home.path(), NewSession::default()).unwrap();
    session.append(response("hello")).unwrap();
    assert_eq!(entries(&page(&session, &home, |_| ())).len(), 1);
    let expected = format!("pi-session-{}.html", session.id());
    assert_eq!(default_page_name(&session), PathBuf::from(expected));
}

#[test]
fn the_default_name_is_derived_from_the_session_file() {
    let home = TempDir::new().unwrap();
    let name = default_page_name(&saved_session(&home));
    assert_eq!(name, PathBuf::from("pi-session-2026-01-01_abc.html"));
}

#[test]
fn exporting_a_file_does_not_modify_it() {
    let home = TempDir::new().unwrap();
    let input = home.path().join("old.jsonl");
    let old = "{\"type\":\"session\",\"id\":\"a\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/x\"}\n\
        {\"type\":\"message\",\"timestamp\":\"2026-01-01T00:00:01.000Z\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n\
        not json\n";
    atomic_file::write(&input, old.as_bytes(), NewFileMode::Default).unwrap();
    let output = home.path().join("page.html");
    export_html_file(&input, &options(output.clone())).unwrap();
    assert_eq!(fs::read_to_string(&input).unwrap(), old);
    let page = fs::read_to_string(output).unwrap();
    assert_eq!(entries(&page)[0]["message"]["content"], "hi");
}

#[test]
fn errors_name_a_missing_or_invalid_session_file() {
    let home = TempDir::new().unwrap();
    let missing = home.path().join("missing.jsonl");
    let other = home.path().join("other.jsonl");
    atomic_file::write(&other, b"{\"type\":\"message\"}\n", NewFileMode::Default).unwrap();
    for input in [missing, other] {
        let output = home.path().join("page.html");
        let error = export_html_file(&input, &options(output.clone())).unwrap_err();
        let name = input.file_name().unwrap().to_string_lossy();
        assert!(error.to_string().contains(&*name), "{error}");
        assert!(!output.exists());
    }
}

#[test]
fn a_failed_export_leaves_no_file() {
    let home = TempDir::new().unwrap();
    let session = saved_session(&home);
    let output = home.path().join("no/such/folder/page.html");
    let error = export_html(&session, &options(output.clone())).unwrap_err();
    assert!(matches!(error, ExportError::Unwritable { path, .. } if path == output));
}

#[test]
fn exports_contain_no_stored_secrets() {
    let home = TempDir::new().unwrap();
    let mut session = saved_session(&home);
    let secret = "sk-very-secret-0123456789";
    session
        .append(user(&format!("my key is {secret}")))
        .unwrap();
    session
        .append(SessionInfoEntry {
            name: Some(format!("about {secret}")),
        })
        .unwrap();
    let redaction = Redactor::new([SecretString::from(secret)]);
    let page = page(&session, &home, |options| {
        options.redaction = redaction.clone();
        options.system_prompt = Some(format!("use {secret}"));
    });
    assert!(!page.contains("very-secret"));
    assert_eq!(
        entries(&page)[2]["message"]["content"],
        "my key is [redacted]"
    );
    let lines = home.path().join("out.jsonl");
    let options = JsonlOptions {
        output: Some(lines.clone()),
        redaction,
        env: env(),
    };
    export_jsonl(&session, &options).unwrap();
    let lines = fs::read_to_string(lines).unwrap();
    assert!(!lines.contains("very-secret") && lines.contains("my key is [redacted]"));
}

#[test]
fn json_lines_contain_only_the_current_branch() {
    let home = TempDir::new().unwrap();
    let mut session = saved_session(&home);
    let first = session.current_branch().ids().remove(0);
    session.branch(&first).unwrap();
    session.append(response("another answer")).unwrap();
    let output = home.path().join("new/folder/out.jsonl");
    let options = JsonlOptions {
        output: Some(output.clone()),
        env: env(),
        ..JsonlOptions::default()
    };
    assert_eq!(export_jsonl(&session, &options).unwrap(), output);
    let copy = Session::open(&output, OpenSession::default()).unwrap();
    assert_eq!(copy.current_branch().ids(), session.current_branch().ids());
    assert_eq!(copy.entries().len(), 2);
}

#[test]
fn the_timestamp_is_a_valid_file_name() {
    assert_eq!(file_timestamp(&env()), "2026-01-01T00-00-00-123Z");
}

#[test]
fn sessions_are_never_overwritten() {
    let home = tempfile::tempdir().unwrap();
    let session = saved_session(&home);
    let own = session.path().unwrap().to_owned();
    let other = home.path().join("other.jsonl");
    Session::create_at(&other, home.path(), NewSession::default())
        .unwrap()
        .append(response("hello"))
        .unwrap();
    let spaced = home.path().join("spaced.html");
    write_file(&spaced, "\n{ \"version\": 3, \"type\": \"session\" }\n");
    let long = home.path().join("long.jsonl");
    let name = "x".repeat(2 * 1024 * 1024);
    write_file(
        &long,
        &format!("{{\"type\":\"session\",\"cwd\":\"{name}\"}}\n"),
    );
    let indirect = home.path().join("none/../2026-01-01_abc.jsonl");
    fs::create_dir(home.path().join("none")).unwrap();
    let hard = home.path().join("hard.html");
    fs::hard_link(&own, &hard).unwrap();
    let mut outputs = vec![own, other, spaced, long, indirect, hard];
    #[cfg(unix)]
    {
        let link = home.path().join("link.html");
        std::os::unix::fs::symlink(session.path().unwrap(), &link).unwrap();
        outputs.push(link);
    }
    for output in outputs {
        let before = fs::read(&output).unwrap();
        let html = export_html(&session, &options(output.clone()));
        let jsonl = export_jsonl(
            &session,
            &JsonlOptions {
                output: Some(output.clone()),
                env: env(),
                ..JsonlOptions::default()
            },
        );
        for exported in [html, jsonl] {
            let error = exported.unwrap_err();
            assert!(
                matches!(error, ExportError::OverwritesSession { .. }),
                "{error}"
            );
        }
        assert!(fs::read(&output).unwrap() == before, "{}", output.display());
    }
}

#[test]
fn a_branch_can_be_exported_to_the_same_file_again() {
    let home = tempfile::tempdir().unwrap();
    let mut session = saved_session(&home);
    let output = home.path().join("out.jsonl");
    let export = |session: &Session| {
        let options = JsonlOptions {
            output: Some(output.clone()),
            env: env(),
            ..JsonlOptions::default()
        };
        export_jsonl(session, &options)
    };
    export(&session).unwrap();
    let first = session.current_branch().ids().remove(0);
    session.branch(&first).unwrap();
    session.append(response("another answer")).unwrap();
    export(&session).unwrap();
    let open = || Session::open(&output, OpenSession::default()).unwrap();
    assert_eq!(
        open().current_branch().ids(),
        session.current_branch().ids()
    );

    // Another process has it open.
    let mut copy = open();
    export(&session).unwrap_err();
    // It has been continued.
    copy.append(user("continued")).unwrap();
    drop(copy);
    export(&session).unwrap_err();
    // It has a branch that one export does not have.
    fs::copy(session.path().unwrap(), &output).unwrap();
    export(&session).unwrap_err();
    // It may have been continued, but its end is damaged.
    fs::remove_file(&output).unwrap();
    export(&session).unwrap();
    let mut damaged = fs::read(&output).unwrap();
    damaged.extend(b"{\"type\":\"message\",");
    atomic_file::write(&output, &damaged, NewFileMode::Private).unwrap();
    export(&session).unwrap_err();
    assert_eq!(fs::read(&output).unwrap(), damaged);
}

#[test]
fn a_session_that_is_not_saved_yet_keeps_its_path() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("new.jsonl");
    let session = Session::create_at(&path, home.path(), NewSession::default()).unwrap();
    let exported = export_jsonl(
        &session,
        &JsonlOptions {
            output: Some(path.clone()),
            ..JsonlOptions::default()
        },
    );
    assert!(matches!(
        exported,
        Err(ExportError::OverwritesSession { .. })
    ));
    assert!(!path.exists());
}

#[test]
fn other_files_are_replaced() {
    let home = tempfile::tempdir().unwrap();
    let session = saved_session(&home);
    let output = home.path().join("page.html");
    for content in ["", "{\"type\":\"message\"}\n", "<!doctype html>\n"] {
        write_file(&output, content);
        export_html(&session, &options(output.clone())).unwrap();
        // The page contains the session header as data.
        export_html(&session, &options(output.clone())).unwrap();
    }
}

fn write_file(path: &Path, content: &str) {
    atomic_file::write(path, content.as_bytes(), NewFileMode::Private).unwrap();
}
