//! Lines of the sockets of Slack and Mattermost.

use std::fs;
use std::path::Path;

use pi_mom::fuzz_support::{
    BOT_ID, BOT_NAME, Received, receive_mattermost, receive_slack, store_message,
};
use pi_mom::{ChatError, ChatMessage};
use pretty_assertions::assert_eq;

use crate::temp_files;

/// Checks that only messages of users are received, that those that do not mention the bot are not addressed to it, and that
/// each is stored once, in one line below the workspace.
pub fn chat_messages(data: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let text = String::from_utf8_lossy(data);
    let workspace = temp_files::dir().join("mom");
    if workspace.exists() {
        fs::remove_dir_all(&workspace).unwrap();
    }
    fs::create_dir_all(&workspace).unwrap();
    for line in text.lines().take(8) {
        check(&workspace, line, runtime.block_on(receive_slack(line)));
        check(&workspace, line, runtime.block_on(receive_mattermost(line)));
    }
}

fn check(workspace: &Path, line: &str, received: Result<Received, ChatError>) {
    let received = received.unwrap();
    assert!(received.messages.len() + received.choices.len() <= 1);
    for message in &received.messages {
        assert!(!message.ts.is_empty(), "a message without an ID");
        assert!(!message.user.id.is_empty() && message.user.id != BOT_ID);
        let is_mentioned = line.contains(BOT_ID) || line.contains(BOT_NAME) || line.contains('\\');
        assert!(
            !message.is_addressed || message.channel.is_direct || is_mentioned,
            "{message:?}"
        );
        store(workspace, message);
    }
    for choice in &received.choices {
        assert_ne!(choice.user, BOT_ID);
    }
}

fn store(workspace: &Path, message: &ChatMessage) {
    let channel = &message.channel.id;
    let Some(stored) = store_message(workspace, message).unwrap() else {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        let is_valid = (1..=64).contains(&channel.len()) && channel.chars().all(is_name);
        assert!(!is_valid, "{channel:?} is a valid ID");
        return;
    };
    let directory = workspace.join(channel);
    assert_eq!(stored.log, directory.join("log.jsonl"));
    assert_eq!(directory.parent(), Some(workspace));
    for file in &stored.attachments {
        assert_eq!(file.parent(), Some(&*directory.join("attachments")));
        let name = file.file_name().unwrap().to_str().unwrap();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        assert!(name.chars().all(is_plain), "{name:?}");
    }
    let lines = || fs::read_to_string(&stored.log).unwrap();
    let before = lines();
    let again = store_message(workspace, message).unwrap().unwrap();
    assert_eq!(lines(), before, "stored twice");
    // A message with the same ID may have been stored before.
    let is_first = before.lines().count() == 1;
    assert!(!is_first || (stored.is_last && again.is_last), "{before}");
}
