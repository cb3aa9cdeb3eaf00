//! Unusual environments: no home directory, the C locale, deeply nested directories, a clock that was set back.

use std::time::{Duration, SystemTime};

use pretty_assertions::assert_eq;

use crate::harness::{PiOutput, TEST_TIMEOUT, TestContext, text_reply};

const ARGUMENTS: [&str; 4] = ["--model", "mock/alpha", "-p", "hi"];

#[tokio::test]
async fn home_and_locale_are_optional() {
    let context = TestContext::new([text_reply("grüße 🦀"), text_reply("again")]).await;
    let mut command = context.command(&ARGUMENTS);
    command
        .env_remove("HOME")
        .env("LC_ALL", "C")
        .env("TZ", "Europe/Berlin");
    let output = tokio::time::timeout(TEST_TIMEOUT, command.output()).await;
    let run = PiOutput::new(output.expect("pi timed out").unwrap());
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "grüße 🦀\n"),
        "{run:?}"
    );
    let run = context
        .run(&["-c", "--model", "mock/alpha", "-p", "more"])
        .await;
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "again\n"),
        "{run:?}"
    );
}

#[tokio::test]
async fn sessions_work_in_deeply_nested_directories() {
    let context = TestContext::new([text_reply("one"), text_reply("two")]).await;
    let directory: std::path::PathBuf = std::iter::repeat_n("n".repeat(60), 20).collect();
    let directory = context.project_dir().join(directory);
    std::fs::create_dir_all(&directory).unwrap();
    for (flags, expected) in [(&["-p", "x"][..], "one\n"), (&["-c", "-p", "x"], "two\n")] {
        let mut command = context.command(&["--model", "mock/alpha"]);
        command.args(flags).current_dir(&directory);
        let output = tokio::time::timeout(TEST_TIMEOUT, command.output()).await;
        let run = PiOutput::new(output.expect("pi timed out").unwrap());
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (Some(0), expected),
            "{run:?}"
        );
    }
    let second = context.server.requests()[1].json();
    assert_eq!(second["messages"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn a_session_with_future_timestamps_can_be_resumed() {
    let context = TestContext::new([text_reply("one"), text_reply("two")]).await;
    let run = context.run(&ARGUMENTS).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    // As if the clock had been a century ahead when the session was written.
    let (path, before) = (context.session_file(), context.session_records());
    let text = std::fs::read_to_string(&path).unwrap();
    let dated = text.replace("\"timestamp\":\"20", "\"timestamp\":\"21");
    let relative = path.strip_prefix(context.home.path()).unwrap();
    context.home.write(relative.to_str().unwrap(), dated);
    let future = SystemTime::now() + Duration::from_hours(24 * 365 * 100);
    let file = std::fs::File::options().append(true).open(&path).unwrap();
    file.set_modified(future).unwrap();
    drop(file);

    let run = context
        .run(&["-c", "--model", "mock/alpha", "-p", "more"])
        .await;
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "two\n"),
        "{run:?}"
    );
    let after = context.session_records();
    let last = before.last().unwrap();
    let next = &after[before.len()];
    assert_eq!(
        next["parentId"], last["id"],
        "entries follow file order, not timestamps"
    );
    let request = context.server.requests().pop().unwrap();
    let body = request.json().to_string();
    assert!(
        body.contains("one"),
        "the request contains earlier messages"
    );
}
