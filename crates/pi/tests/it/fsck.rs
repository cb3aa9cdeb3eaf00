//! `pi fsck`: what it tells, what it repairs, how it ends.

use std::path::PathBuf;

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::process::{World, answer};

const HEADER: &str = r#"{"type":"session","version":3,"id":"hurt","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/elsewhere"}"#;

fn line(id: &str, parent: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"user","content":"hi","timestamp":1}}}}"#
    )
}

const FILE: &str = "agent/sessions/--elsewhere--/2026-01-01T00-00-00-000Z_hurt.jsonl";

/// A damaged session of another project.
fn hurt(world: &World) -> PathBuf {
    let (one, three) = (line("a", "null"), line("c", "\"b\""));
    let content = format!("{HEADER}\n{one}\n{{\"type\":\"mess\u{1b}[31m\n{three}\n");
    world.home.write(FILE, content)
}

#[tokio::test]
async fn damage_is_told_repaired_on_request_and_then_gone() {
    let world = World::new([answer("hello")]).await;
    let run = world.run(&["-p", "hi"]).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    let path = hurt(&world);

    let here = world.run(&["fsck"]).await;
    assert_eq!(
        (here.code, here.stdout.as_str()),
        (Some(0), "1 session: 1 ok\n")
    );

    let before = std::fs::read(&path).unwrap();
    let check = world.run(&["fsck", "--all"]).await;
    assert_eq!((check.code, check.stderr.as_str()), (Some(1), ""));
    let expected = format!(
        "{}
  line 3: unreadable data
    TODO
  damaged, 2 entries readable
2 sessions: 1 ok, 1 damaged
run pi fsck --repair --all to repair them; the original files are kept
",
        path.display()
    );
    assert_eq!(check.stdout, expected);
    assert_eq!(std::fs::read(&path).unwrap(), before);

    let repair = world.run(&["fsck", "--repair", "hur"]).await;
    assert_eq!(repair.code, Some(0), "{repair:?}");
    assert!(
        repair.stdout.contains("repaired, 2 entries kept"),
        "{repair:?}"
    );
    assert!(
        repair.stdout.ends_with("1 session: 1 repaired\n"),
        "{repair:?}"
    );
    let again = world.run(&["fsck", "hurt"]).await;
    assert_eq!(again.code, Some(0));
    assert!(again.stdout.contains("ok, 3 entries"), "{again:?}");
    let all = world.run(&["fsck", "--all"]).await;
    assert_eq!(
        all.stdout, "2 sessions: 2 ok\n",
        "neither backup nor rest is a session"
    );
}

#[tokio::test]
async fn scripts_get_a_line_for_every_file() {
    let world = World::new([]).await;
    let path = hurt(&world);
    let run = world.run(&["fsck", "--all", "--json"]).await;
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
    let run = world.run(&["fsck", "--all", "--json", "--repair"]).await;
    assert_eq!(run.code, Some(0));
    let line: Value = serde_json::from_str(run.stdout.trim_end()).unwrap();
    assert_eq!(line["status"], "repaired");
    assert!(line["backup"].as_str().unwrap().ends_with(".jsonl.bak"));
}

#[tokio::test]
async fn a_session_without_header_is_found_by_its_name_and_works_again() {
    let world = World::new([answer("on we go")]).await;
    let path = world.home.write(FILE, format!("{}\n", line("a", "null")));
    let run = world
        .run(&["-p", "hi", "--session", path.to_str().unwrap()])
        .await;
    assert_eq!(run.code, Some(1), "it does not open: {run:?}");
    let run = world.run(&["fsck", "--repair", "hurt"]).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    let run = world
        .run(&["-p", "hi", "--session", path.to_str().unwrap()])
        .await;
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "on we go\n"),
        "{run:?}"
    );
}

#[tokio::test]
async fn wrong_command_lines_and_unknown_sessions_are_told_apart() {
    let world = World::new([]).await;
    for (arguments, code, part) in [
        (vec!["fsck", "--frobnicate"], 2, "no option"),
        (vec!["fsck", "--all", "x"], 2, "--all"),
        (vec!["fsck", "nobody"], 1, "no session matches"),
    ] {
        let run = world.run(&arguments).await;
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
    let run = world.run(&["fsck", "missing.jsonl"]).await;
    assert_eq!(run.code, Some(1));
    assert!(run.stdout.contains("session file not found"), "{run:?}");
    let run = world.run(&["fsck"]).await;
    assert_eq!(run.code, Some(0));
    assert!(
        run.stdout.starts_with("this project has no sessions"),
        "{run:?}"
    );
}
