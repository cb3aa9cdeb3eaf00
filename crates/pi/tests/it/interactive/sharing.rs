//! Sharing sessions, and writing and replaying bug reports.

use crate::harness::{TestContext, text_reply};
use crate::terminal::Terminal;

const KEY: &str = "ghp_0123456789abcdefABCDEF0123456789abcd";

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_page_is_redacted_and_its_link_is_shown() {
    let context = TestContext::new([text_reply(&format!("The token is {KEY}, keep it."))]).await;
    let program = context.home.write_program(
        "bin/gh",
        "#!/bin/sh\n[ \"$1\" = auth ] && exit 0\ncp \"$4\" \"$HOME.html\"\n\
         echo https://gist.github.com/me/0123abcdef\n",
    );
    let path = format!(
        "{}:{}",
        program.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let terminal = Terminal::start_with(&context, &[], &[("PATH", &path)]);
    terminal.wait("alpha");
    terminal.submit("what is my token?");
    terminal.wait("keep it.");
    terminal.wait_gone("to stop");
    terminal.submit("/share");
    terminal.wait("Share this session?");
    terminal.send("\x1b");
    terminal.wait("Not shared");
    terminal.submit("/share");
    terminal.wait("Share this session?");
    terminal.send("\r");
    terminal.wait("https://pi.dev/session/#0123abcdef");
    let uploaded = std::fs::read_to_string(context.home.path().join("home.html")).unwrap();
    assert!(!uploaded.contains(KEY));
    assert!(uploaded.contains("[redacted]"));
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bug_report_can_be_replayed() {
    let context = TestContext::new([text_reply(&format!("The token is {KEY}, keep it."))]).await;
    let terminal =
        Terminal::start_with(&context, &[], &[("MY_SECRET", "secret-environment-value")]);
    terminal.wait("alpha");
    terminal.submit("secret-environment-value");
    terminal.wait("keep it.");
    terminal.wait_gone("to stop");
    terminal.submit("/bug");
    terminal.wait("What went wrong?");
    terminal.send("everything\r");
    terminal.wait("Include the conversation?");
    terminal.send("\r");
    terminal.wait("Report written to");
    terminal.quit();
    let files = std::fs::read_dir(context.project_dir()).unwrap();
    let mut names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let archive = names.find(|name| name.ends_with(".tar.gz")).unwrap();
    let unpacked = tokio::process::Command::new("tar")
        .args(["xzOf", &archive])
        .current_dir(context.project_dir())
        .output();
    let text = String::from_utf8(unpacked.await.unwrap().stdout).unwrap();
    assert!(text.contains("everything"), "{text}");
    assert!(!text.contains(KEY) && !text.contains("secret-environment-value"));
    let run = context.run(&["replay", &archive]).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stdout.contains("no difference"), "{run:?}");
}
