//! Odd surroundings: no home, a plain locale, a clock that jumps.

use std::time::{Duration, SystemTime};

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::process::{Finished, LIMIT, World, answer};

const ARGUMENTS: [&str; 4] = ["--model", "mock/alpha", "-p", "hi"];

#[tokio::test]
async fn neither_a_home_nor_a_locale_is_needed() {
    let world = World::new([answer("grüße 🦀"), answer("again")]).await;
    let mut command = world.command(&ARGUMENTS);
    command
        .env_remove("HOME")
        .env("LC_ALL", "C")
        .env("TZ", "Europe/Berlin");
    let output = tokio::time::timeout(LIMIT, command.output()).await;
    let run = Finished::new(output.expect("pi hangs").unwrap());
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "grüße 🦀\n"),
        "{run:?}"
    );
    let run = world
        .run(&["-c", "--model", "mock/alpha", "-p", "on"])
        .await;
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "again\n"),
        "{run:?}"
    );
}

#[tokio::test]
async fn a_folder_far_down_has_sessions_too() {
    let world = World::new([answer("one"), answer("two")]).await;
    let folder: std::path::PathBuf = std::iter::repeat_n("n".repeat(60), 20).collect();
    let folder = world.project().join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    for (flags, expected) in [(&["-p", "x"][..], "one\n"), (&["-c", "-p", "x"], "two\n")] {
        let mut command = world.command(&["--model", "mock/alpha"]);
        command.args(flags).current_dir(&folder);
        let output = tokio::time::timeout(LIMIT, command.output()).await;
        let run = Finished::new(output.expect("pi hangs").unwrap());
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (Some(0), expected),
            "{run:?}"
        );
    }
    let second = world.server.requests()[1].json();
    assert_eq!(second["messages"].as_array().unwrap().len(), 4);
}

/// The newest session, line by line.
fn session(world: &World) -> (std::path::PathBuf, Vec<Value>) {
    let root = world.home.path().join("agent/sessions");
    let folder = std::fs::read_dir(root).unwrap().next().unwrap().unwrap();
    let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap();
    let path = file.unwrap().path();
    let text = std::fs::read_to_string(&path).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    (path, lines.collect())
}

#[tokio::test]
async fn a_session_from_the_future_goes_on_where_it_ended() {
    let world = World::new([answer("one"), answer("two")]).await;
    let run = world.run(&ARGUMENTS).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    // The clock was a century ahead when that was written, and has been put back.
    let (path, before) = session(&world);
    let text = std::fs::read_to_string(&path).unwrap();
    let dated = text.replace("\"timestamp\":\"20", "\"timestamp\":\"21");
    let below = path.strip_prefix(world.home.path()).unwrap();
    world.home.write(below.to_str().unwrap(), dated);
    let ahead = SystemTime::now() + Duration::from_hours(24 * 365 * 100);
    let file = std::fs::File::options().append(true).open(&path).unwrap();
    file.set_modified(ahead).unwrap();
    drop(file);

    let run = world
        .run(&["-c", "--model", "mock/alpha", "-p", "on"])
        .await;
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "two\n"),
        "{run:?}"
    );
    let (_, after) = session(&world);
    let last = before.last().unwrap();
    let next = &after[before.len()];
    assert_eq!(
        next["parentId"], last["id"],
        "order is the file's, not the clock's"
    );
    let request = world.server.requests().pop().unwrap();
    let heard = request.json().to_string();
    assert!(heard.contains("one"), "the model hears what was said");
}
