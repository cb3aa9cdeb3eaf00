//! Whatever happened to a file: what is whole survives, what is joined opens, and once is enough.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;
use crate::storage::MemoryFile;
use crate::storage::faulty::FaultyDisk;
use crate::{OpenSession, Session};

const PATH: &str = "/sessions/2026-01-01T00-00-00-000Z_one.jsonl";
const HEADER: &str = r#"{"type":"session","version":3,"id":"one","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/project"}"#;

/// What a repair makes of a file, and what it sets aside; none if there is nothing to make a session of.
fn repaired(content: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let file = MemoryFile::new(content.to_vec());
    let examined = Examined::of(&file).unwrap();
    if examined.survey.findings.damage == 0 {
        return Some((content.to_vec(), Vec::new()));
    }
    if !examined.survey.has_records() {
        return None;
    }
    let rebuilt = || header::rebuilt(Path::new(PATH), &examined.survey, &Env::process());
    let plan = Plan::new(&examined, &file, rebuilt).unwrap();
    let (mut whole, mut aside) = (Vec::new(), Vec::new());
    plan.write(&file, &mut whole).unwrap();
    plan.write_aside(&file, &mut aside).unwrap();
    Some((whole, aside))
}

fn damage(content: &[u8]) -> Vec<String> {
    let examined = Examined::of(&MemoryFile::new(content.to_vec())).unwrap();
    let report = examined.report(PathBuf::from(PATH));
    let damage = report.with_severity(crate::Severity::Damage);
    damage.map(|problem| format!("{problem:?}")).collect()
}

fn open(content: &[u8]) -> Session {
    let disk = FaultyDisk::default();
    disk.put(Path::new(PATH), content);
    Session::open_in(Arc::new(disk), Path::new(PATH), OpenSession::default()).unwrap()
}

fn line(id: &str, parent: Option<&str>, text: &str) -> String {
    let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
    let text = serde_json::to_string(text).unwrap();
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"user","content":{text},"timestamp":1}}}}"#
    )
}

fn branch(content: &[u8]) -> Vec<String> {
    let session = open(content);
    session
        .branch_ids()
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn a_conversation_is_joined_over_what_is_lost() {
    let (a, b, c) = (
        line("a", None, "1"),
        line("b", Some("a"), "2"),
        line("c", Some("b"), "3"),
    );
    for middle in [
        b.get(..70).unwrap(),
        "rubbish",
        "\0\0\0\0",
        &b.replace("\"2\"", "\u{1}\"2"),
    ] {
        let content = format!("{HEADER}\n{a}\n{middle}\n{c}\n");
        let (whole, aside) = repaired(content.as_bytes()).unwrap();
        assert_eq!(branch(&whole), ["a", "b", "c"], "{middle}");
        let is_void = middle.starts_with('\0');
        assert_eq!(
            String::from_utf8(aside).unwrap().trim_end(),
            if is_void { "" } else { middle }
        );
    }
}

#[test]
fn a_lost_header_is_written_anew_from_what_is_left() {
    let a = line("a", None, "1");
    let header = |content: String| {
        let (whole, _) = repaired(content.as_bytes()).unwrap();
        let session = open(&whole);
        let header = session.header();
        (
            header.id.clone(),
            header.timestamp.clone(),
            header.cwd.clone(),
        )
    };
    let cut = HEADER.replacen("\"version\"", "\"ver", 1);
    assert_eq!(
        header(format!("{cut}\n{a}\n")),
        (
            "one".to_owned(),
            "2026-01-01T00:00:00.000Z".to_owned(),
            "/project".to_owned()
        )
    );
    let (id, timestamp, _) = header(format!("{a}\n"));
    assert_eq!(
        (id.as_str(), timestamp.as_str()),
        ("one", "2026-01-01T00:00:01.000Z")
    );
}

#[test]
fn a_circle_is_cut_and_the_record_as_it_was_is_set_aside() {
    let (a, b) = (line("a", Some("b"), "1"), line("b", Some("a"), "2"));
    let content = format!("{HEADER}\n{a}\n{b}\n");
    let (whole, aside) = repaired(content.as_bytes()).unwrap();
    assert_eq!(branch(&whole), ["a", "b"]);
    assert_eq!(String::from_utf8(aside).unwrap(), format!("{a}\n"));
    assert!(String::from_utf8(whole).unwrap().contains(&b));
}

#[test]
fn a_wrong_version_does_not_number_the_entries_anew() {
    let (a, b) = (line("a", None, "1"), line("b", Some("a"), "2"));
    let content = format!("{}\n{a}\n{b}\n", HEADER.replace(":3", ":1"));
    let (whole, _) = repaired(content.as_bytes()).unwrap();
    assert_eq!(
        String::from_utf8(whole).unwrap(),
        format!("{HEADER}\n{a}\n{b}\n")
    );
}

#[test]
fn a_file_of_the_first_format_keeps_its_entries() {
    let plain = r#"{"type":"message","timestamp":"t","message":{"role":"user","content":"x"}}"#;
    let header = HEADER.replace(r#""version":3,"#, "");
    let content = format!("{header}\n{plain}\nrubbish\n{plain}\n");
    let (whole, aside) = repaired(content.as_bytes()).unwrap();
    assert_eq!(
        String::from_utf8(whole.clone()).unwrap(),
        format!("{header}\n{plain}\n{plain}\n")
    );
    assert_eq!(aside, b"rubbish\n");
    assert_eq!(open(&whole).len(), 2);
}

/// One thing that happens to a file.
#[derive(Debug, Clone)]
enum Mishap {
    Byte(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Insert(prop::sample::Index, Vec<u8>),
    Remove(prop::sample::Index, usize),
    Nulls(prop::sample::Index, usize),
    /// A part of the file appears again elsewhere, as after a careless merge.
    Copy(prop::sample::Index, prop::sample::Index, usize),
}

fn mishaps() -> impl Strategy<Value = Vec<Mishap>> {
    let at = any::<prop::sample::Index>;
    let mishap = prop_oneof![
        6 => (at(), any::<u8>()).prop_map(|(at, byte)| Mishap::Byte(at, byte)),
        2 => (at(), prop::sample::select(b"{}[]\",:\\\n\0".to_vec())).prop_map(|(at, byte)| Mishap::Byte(at, byte)),
        1 => at().prop_map(Mishap::Cut),
        2 => (at(), proptest::collection::vec(any::<u8>(), 1..40)).prop_map(|(at, bytes)| Mishap::Insert(at, bytes)),
        2 => (at(), 1..200_usize).prop_map(|(at, length)| Mishap::Remove(at, length)),
        1 => (at(), 1..300_usize).prop_map(|(at, length)| Mishap::Nulls(at, length)),
        1 => (at(), at(), 1..300_usize).prop_map(|(from, to, length)| Mishap::Copy(from, to, length)),
    ];
    proptest::collection::vec(mishap, 0..6)
}

fn happen(content: &mut Vec<u8>, mishap: Mishap) {
    let place = |at: prop::sample::Index, length: usize| at.index(length + 1);
    let length = content.len();
    match mishap {
        Mishap::Byte(at, byte) => {
            if let Some(target) = content.get_mut(place(at, length)) {
                *target = byte;
            }
        }
        Mishap::Cut(at) => content.truncate(place(at, length)),
        Mishap::Insert(at, bytes) => {
            let at = place(at, length);
            content.splice(at..at, bytes);
        }
        Mishap::Remove(at, count) => {
            let at = place(at, length);
            content.drain(at..length.min(at + count));
        }
        Mishap::Nulls(at, count) => {
            let at = place(at, length);
            content[at..length.min(at + count)].fill(0);
        }
        Mishap::Copy(from, to, count) => {
            let (from, to) = (place(from, length), place(to, length));
            let part = content[from..length.min(from + count)].to_vec();
            content.splice(to..to, part);
        }
    }
}

/// A session of messages, labels and compactions in a tree; each may follow any before it.
fn sessions() -> impl Strategy<Value = Vec<String>> {
    let entry = (any::<prop::sample::Index>(), 0..8_usize, ".{0,30}");
    proptest::collection::vec(entry, 1..12).prop_map(|entries| {
        let mut lines = vec![HEADER.to_owned()];
        let mut ids: Vec<String> = Vec::new();
        for (number, (parent, kind, text)) in entries.into_iter().enumerate() {
            let id = format!("{:08x}", (number + 1) * 0x0135_79bd);
            let parent = (!ids.is_empty()).then(|| ids[parent.index(ids.len())].clone());
            let mut entry = line(&id, parent.as_deref(), &text);
            if let Some(target) = parent.filter(|_| kind < 2) {
                let start = entry.find(",\"message\":").unwrap();
                entry.truncate(start);
                let (from, to) = match kind {
                    0 => (
                        "message",
                        format!(r#","targetId":"{target}","label":"l"}}"#),
                    ),
                    _ => (
                        "message",
                        format!(
                            r#","summary":"s","firstKeptEntryId":"{target}","tokensBefore":1}}"#
                        ),
                    ),
                };
                let name = if kind == 0 { "label" } else { "compaction" };
                entry = entry.replacen(from, name, 1);
                write!(entry, "{to}").unwrap();
            }
            lines.push(entry);
            ids.push(id);
        }
        lines
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_untouched_record_survives_and_once_is_enough(lines in sessions(), mishaps in mishaps()) {
        let mut content = (lines.join("\n") + "\n").into_bytes();
        for mishap in mishaps {
            happen(&mut content, mishap);
        }
        let Some((whole, _)) = repaired(&content) else {
            return Ok(());
        };
        prop_assert_eq!(damage(&whole), [""; 0]);
        let entries: HashSet<&[u8]> = lines[1..].iter().map(String::as_bytes).collect();
        let survivors: HashSet<&[u8]> = whole.split(|byte| *byte == b'\n').collect();
        for line in content.split(|byte| *byte == b'\n') {
            if entries.contains(line) {
                prop_assert!(survivors.contains(line), "{}", String::from_utf8_lossy(line));
            }
        }
        if !whole.is_empty() {
            let session = open(&whole);
            prop_assert_eq!(session.open_report().skipped_lines, 0);
            for entry in session.entries() {
                prop_assert!(entry.is_ok());
            }
        }
    }
}
