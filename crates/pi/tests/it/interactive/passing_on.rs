//! What leaves the program: shared pages, reports about problems, and their replay.

use std::os::unix::fs::PermissionsExt as _;

use crate::process::{World, answer};
use crate::terminal::Terminal;

const KEY: &str = "ghp_0123456789abcdefABCDEF0123456789abcd";

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_page_holds_no_secret_and_its_link_is_shown() {
    let world = World::new([answer(&format!("The token is {KEY}, keep it."))]).await;
    let program = world.home.write(
        "bin/gh",
        "#!/bin/sh\n[ \"$1\" = auth ] && exit 0\ncp \"$4\" \"$HOME.html\"\n\
         echo https://gist.github.com/me/0123abcdef\n",
    );
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!(
        "{}:{}",
        program.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let terminal = Terminal::start_with(&world, &[], &[("PATH", &path)]);
    terminal.wait("alpha");
    terminal.submit("what is my token?");
    terminal.wait("keep it.");
    terminal.wait_gone("to stop");
    terminal.submit("/share");
    terminal.wait("Share this session?");
    terminal.send("\x1b");
    terminal.wait("Nothing was shared");
    terminal.submit("/share");
    terminal.wait("Share this session?");
    terminal.send("\r");
    terminal.wait("https://pi.dev/session/#0123abcdef");
    let sent = std::fs::read_to_string(world.home.path().join("home.html")).unwrap();
    assert!(!sent.contains(KEY));
    assert!(sent.contains("[redacted]"));
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_can_be_run_again() {
    let world = World::new([answer(&format!("The token is {KEY}, keep it."))]).await;
    let terminal = Terminal::start_with(&world, &[], &[("MY_SECRET", "hidden-in-the-shell")]);
    terminal.wait("alpha");
    terminal.submit("hidden-in-the-shell");
    terminal.wait("keep it.");
    terminal.wait_gone("to stop");
    terminal.submit("/bug");
    terminal.wait("What went wrong?");
    terminal.send("everything\r");
    terminal.wait("Include the conversation?");
    terminal.send("\r");
    terminal.wait("The report is in");
    terminal.quit();
    let files = std::fs::read_dir(world.project()).unwrap();
    let mut names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let archive = names.find(|name| name.ends_with(".tar.gz")).unwrap();
    let unpacked = tokio::process::Command::new("tar")
        .args(["xzOf", &archive])
        .current_dir(world.project())
        .output();
    let text = String::from_utf8(unpacked.await.unwrap().stdout).unwrap();
    assert!(text.contains("everything"), "{text}");
    assert!(!text.contains(KEY) && !text.contains("hidden-in-the-shell"));
    let run = world.run(&["replay", &archive]).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stdout.contains("no difference"), "{run:?}");
}
