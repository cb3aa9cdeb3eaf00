//! `pi fsck`: reports, repairs and exit codes.

use std::path::PathBuf;

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::harness::{TestContext, text_reply};

const HEADER: &str = r#"{"type":"session","version":3,"id":"damaged","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/elsewhere"}"#;

fn entry_line(id: &str, parent: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"user","content":"hi","timestamp":1}}}}"#
    )
}

const SESSION_FILE: &str = "agent/sessions/--elsewhere--/2026-01-01T00-00-00-000Z_damaged.jsonl";

/// Writes a session of another project with an unreadable line.
fn write_damaged_session(context: &TestContext) -> PathBuf {
    let (first, third) = (entry_line("a", "null"), entry_line("c", "\"b\""));
    let damaged = format!("{HEADER}\n{first}\n{{\"type\":\"mess\u{1b}[31m\n{third}\n");
    context.home.write(SESSION_FILE, damaged)
}

#[tokio::test]
async fn damage_is_reported_and_repaired_on_request() {
    let context = TestContext::new([text_reply("hello")]).await;
    let run = context.run(&["-p", "hi"]).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    let path = write_damaged_session(&context);

    let project = context.run(&["fsck"]).await;
    assert_eq!(
        (project.code, project.stdout.as_str()),
        (Some(0), "1 session: 1 ok\n")
    );

    let before = std::fs::read(&path).unwrap();
    let check = context.run(&["fsck", "--all"]).await;
    assert_eq!((check.code, check.stderr.as_str()), (Some(1), ""));
    let expected = format!(
        "{}
  line 3: unreadable data
    the original data is lost; a repair moves the line to the .lost file and keeps every complete record
  line 4: the parent b of entry c is not in the file
    the preceding conversation is disconnected; a repair adds a placeholder that reconnects it
  damaged, 2 entries readable
2 sessions: 1 ok, 1 damaged
run pi fsck --repair --all to repair them; the original files are kept
",
        path.display()
    );
    assert_eq!(check.stdout, expected);
    assert_eq!(std::fs::read(&path).unwrap(), before);

    let repair = context.run(&["fsck", "--repair", "dama"]).await;
    assert_eq!(repair.code, Some(0), "{repair:?}");
    assert!(
        repair.stdout.contains("repaired, 2 entries kept"),
        "{repair:?}"
    );
    assert!(
        repair.stdout.ends_with("1 session: 1 repaired\n"),
        "{repair:?}"
    );
    let again = context.run(&["fsck", "damaged"]).await;
    assert_eq!(again.code, Some(0));
    assert!(again.stdout.contains("ok, 3 entries"), "{again:?}");
    let all = context.run(&["fsck", "--all"]).await;
    assert_eq!(
        all.stdout, "2 sessions: 2 ok\n",
        "backup and .lost files are not listed as sessions"
    );
}

#[tokio::test]
async fn json_output_has_one_line_per_file() {
    let context = TestContext::new([]).await;
    let path = write_damaged_session(&context);
    let run = context.run(&["fsck", "--all", "--json"]).await;
    assert_eq!(run.code, Some(1));
    let line: Value = serde_json::from_str(run.stdout.trim_end()).unwrap();
    assert_eq!(line["path"], path.to_str().unwrap());
    assert_eq!(
        (&line["status"], &line["damage"]),
        (&"damaged".into(), &2.into())
    );
    let kinds: Vec<_> = line["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["kind"])
        .collect();
    assert_eq!(kinds, ["garbage", "missing-parent"]);
    let run = context.run(&["fsck", "--all", "--json", "--repair"]).await;
    assert_eq!(run.code, Some(0));
    let line: Value = serde_json::from_str(run.stdout.trim_end()).unwrap();
    assert_eq!(line["status"], "repaired");
    assert!(line["backup"].as_str().unwrap().ends_with(".jsonl.bak"));
}

#[tokio::test]
async fn a_session_without_a_header_can_be_repaired_by_id() {
    let context = TestContext::new([text_reply("resumed")]).await;
    let path = context
        .home
        .write(SESSION_FILE, format!("{}\n", entry_line("a", "null")));
    let run = context
        .run(&["-p", "hi", "--session", path.to_str().unwrap()])
        .await;
    assert_eq!(run.code, Some(1), "cannot be opened: {run:?}");
    let run = context.run(&["fsck", "--repair", "damaged"]).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    let run = context
        .run(&["-p", "hi", "--session", path.to_str().unwrap()])
        .await;
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "resumed\n"),
        "{run:?}"
    );
}

#[tokio::test]
async fn usage_errors_and_unknown_sessions_have_different_exit_codes() {
    let context = TestContext::new([]).await;
    for (arguments, code, part) in [
        (vec!["fsck", "--frobnicate"], 2, "no option"),
        (vec!["fsck", "--all", "x"], 2, "--all"),
        (vec!["fsck", "unknown"], 1, "no session matches"),
    ] {
        let run = context.run(&arguments).await;
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (Some(code), ""),
            "{arguments:?}"
        );
        assert!(
            run.stderr.contains(part) && run.stderr.contains("hint: "),
            "{run:?}"
        );
    }
    let run = context.run(&["fsck", "missing.jsonl"]).await;
    assert_eq!(run.code, Some(1));
    assert!(run.stdout.contains("session file not found"), "{run:?}");
    let run = context.run(&["fsck"]).await;
    assert_eq!(run.code, Some(0));
    assert!(
        run.stdout.starts_with("this project has no sessions"),
        "{run:?}"
    );
}
