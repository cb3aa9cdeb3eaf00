//! Context messages as JSON: copied from the file where possible, and equal to the parsed messages.

use pi_protocol::AgentMessage;
use pi_session::Session;
use pretty_assertions::assert_eq;

use crate::temp_files::{HEADER, TempFiles, append_bytes, assistant, open, read, user};

/// A session file line; each entry follows the previous one.
fn line(number: usize, fields: &str) -> String {
    let parent = match number {
        0 => "null".to_owned(),
        _ => format!("\"e{}\"", number - 1),
    };
    format!(
        r#"{{"type":{fields},"id":"e{number}","parentId":{parent},"timestamp":"2026-01-01T00:00:00.000Z"}}"#
    )
}

fn session(temp: &TempFiles, entries: &[&str]) -> Session {
    let lines: Vec<String> = entries
        .iter()
        .enumerate()
        .map(|(number, fields)| line(number, fields))
        .collect();
    let content = format!("{HEADER}\n{}\n", lines.join("\n"));
    open(&temp.write("s.jsonl", content)).unwrap()
}

fn read_back(session: &Session) -> Vec<AgentMessage> {
    serde_json::from_str(&session.current_branch().messages_json().unwrap()).unwrap()
}

fn projected(session: &Session) -> Vec<AgentMessage> {
    session
        .current_branch()
        .projection()
        .unwrap()
        .messages()
        .cloned()
        .collect()
}

const PROMPT: &str = r#""message","message":{"role":"user","content":"hi","timestamp":1}"#;

#[test]
fn messages_are_copied_verbatim() {
    let temp = TempFiles::new();
    let odd = r#"{"role":"user", "later":[1.0], "content":"two  blanks","timestamp":1}"#;
    let session = session(
        &temp,
        &[
            r#""model_change","provider":"p","modelId":"m""#,
            PROMPT,
            &format!(r#""message","message":{odd}"#),
        ],
    );
    assert_eq!(
        session.current_branch().messages_json().unwrap(),
        format!(r#"[{{"role":"user","content":"hi","timestamp":1}},{odd}]"#)
    );
    assert_eq!(read_back(&session), projected(&session));
}

#[test]
fn a_session_without_messages_is_an_empty_array() {
    let temp = TempFiles::new();
    assert_eq!(
        session(&temp, &[])
            .current_branch()
            .messages_json()
            .unwrap(),
        "[]"
    );
    let renamed = session(&temp, &[r#""session_info","name":"n""#]);
    assert_eq!(renamed.current_branch().messages_json().unwrap(), "[]");
}

#[test]
fn other_entries_are_parsed() {
    let temp = TempFiles::new();
    for odd in [
        r#""custom_message","customType":"c","content":"from an extension","display":true"#,
        r#""branch_summary","fromId":"e0","summary":"what was tried""#,
        r#""compaction","summary":"before","firstKeptEntryId":"e0","tokensBefore":5"#,
        r#""context_edit","targetId":"e0","replacement":null"#,
        r#""context_edit","targetId":"e0","replacement":{"content":"instead"}"#,
        r#""message","message":{"role":"bashExecution","command":"ls","output":"x","timestamp":1}"#,
        r#""message","message":{"role":"fromTheFuture","payload":[1,2]}"#,
        r#""message","message":"no object""#,
        r#""message","message":{"role":"toolResult","content":"bare","timestamp":null}"#,
        r#""message","message":{"role":"user","content":"half \ud83d"}"#,
        "\"message\",\"message\":{\"role\":\"user\",\"content\":\"a\ttab\"}",
        r#""from_the_future","a":1"#,
    ] {
        let session = session(&temp, &[PROMPT, odd, PROMPT]);
        assert_eq!(read_back(&session), projected(&session), "{odd}");
    }
}

#[test]
fn only_the_branch_of_the_leaf_is_included() {
    let temp = TempFiles::new();
    let mut session = session(&temp, &[PROMPT]);
    let root = session.leaf_id().unwrap().clone();
    for branch in 0..3 {
        session.branch(&root).unwrap();
        for turn in 0..4 {
            session
                .append_message(user(&format!("{branch} {turn}")))
                .unwrap();
            let long = "x".repeat(100_000);
            session.append_message(assistant(&long)).unwrap();
        }
    }
    let leaves: Vec<_> = session
        .entries()
        .tree()
        .nodes
        .iter()
        .map(|node| node.id.clone())
        .collect();
    for leaf in leaves {
        session.branch(&leaf).unwrap();
        assert_eq!(read_back(&session), projected(&session), "{leaf}");
    }
    session.reset_leaf();
    assert_eq!(session.current_branch().messages_json().unwrap(), "[]");
}

#[test]
fn sessions_in_memory_are_supported() {
    let mut session = Session::in_memory(
        std::path::Path::new("/project"),
        pi_session::NewSession::default(),
    )
    .unwrap();
    session.append_message(user("hi")).unwrap();
    session.append_message(assistant("ho")).unwrap();
    assert_eq!(read_back(&session), projected(&session));
}

#[test]
fn in_place_modifications_are_detected() {
    let temp = TempFiles::new();
    let session = session(&temp, &[PROMPT, PROMPT]);
    let path = session.path().unwrap();
    let changed = read(path).replace("\"id\":\"e1\"", "\"id\":\"e7\"");
    std::fs::OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(path)
        .unwrap();
    append_bytes(path, &changed);
    let error = session.current_branch().messages_json().unwrap_err();
    assert!(
        format!("{error:?}").contains("modified the file in place"),
        "{error:?}"
    );
}
