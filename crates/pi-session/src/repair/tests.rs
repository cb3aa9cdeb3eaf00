//! Repairing arbitrary damage: complete records survive, the tree is reconnected, and one repair is
//! enough.

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

/// Returns the repaired content and the quarantined data; `None` if nothing can be repaired.
fn repaired(content: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let file = MemoryFile::new(content.to_vec());
    let inspection = FileInspection::of(&file).unwrap();
    if inspection.scan.findings.damage == 0 {
        return Some((content.to_vec(), Vec::new()));
    }
    if !inspection.scan.has_records() {
        return None;
    }
    let rebuild = || header::rebuild(Path::new(PATH), &inspection.scan, &Env::process());
    let plan = RepairPlan::new(&inspection, &file, rebuild).unwrap();
    let (mut repaired_content, mut quarantined) = (Vec::new(), Vec::new());
    plan.write(&file, &mut repaired_content).unwrap();
    plan.write_quarantined(&file, &mut quarantined).unwrap();
    Some((repaired_content, quarantined))
}

fn damage(content: &[u8]) -> Vec<String> {
    let inspection = FileInspection::of(&MemoryFile::new(content.to_vec())).unwrap();
    let report = inspection.report(PathBuf::from(PATH));
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
        .current_branch()
        .ids()
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn a_conversation_is_reconnected_across_lost_entries() {
    let (a, b, c) = (
        line("a", None, "1"),
        line("b", Some("a"), "2"),
        line("c", Some("b"), "3"),
    );
    for damaged_line in [
        b.get(..70).unwrap(),
        "rubbish",
        "\0\0\0\0",
        &b.replace("\"2\"", "\u{1}\"2"),
    ] {
        let content = format!("{HEADER}\n{a}\n{damaged_line}\n{c}\n");
        let (repaired_content, quarantined) = repaired(content.as_bytes()).unwrap();
        assert_eq!(branch(&repaired_content), ["a", "b", "c"], "{damaged_line}");
        let is_filler = damaged_line.starts_with('\0');
        assert_eq!(
            String::from_utf8(quarantined).unwrap().trim_end(),
            if is_filler { "" } else { damaged_line }
        );
    }
}

#[test]
fn a_lost_header_is_rebuilt_from_its_remains() {
    let a = line("a", None, "1");
    let header = |content: String| {
        let (repaired_content, _) = repaired(content.as_bytes()).unwrap();
        let session = open(&repaired_content);
        let header = session.header();
        (
            header.id.clone(),
            header.timestamp.clone(),
            header.cwd.clone(),
        )
    };
    let damaged = HEADER.replacen("\"version\"", "\"ver", 1);
    assert_eq!(
        header(format!("{damaged}\n{a}\n")),
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
fn a_cycle_is_broken_and_the_original_record_is_quarantined() {
    let (a, b) = (line("a", Some("b"), "1"), line("b", Some("a"), "2"));
    let content = format!("{HEADER}\n{a}\n{b}\n");
    let (repaired_content, quarantined) = repaired(content.as_bytes()).unwrap();
    assert_eq!(branch(&repaired_content), ["a", "b"]);
    assert_eq!(String::from_utf8(quarantined).unwrap(), format!("{a}\n"));
    assert!(String::from_utf8(repaired_content).unwrap().contains(&b));
}

#[test]
fn a_wrong_version_does_not_renumber_entries() {
    let (a, b) = (line("a", None, "1"), line("b", Some("a"), "2"));
    let content = format!("{}\n{a}\n{b}\n", HEADER.replace(":3", ":1"));
    let (repaired_content, _) = repaired(content.as_bytes()).unwrap();
    assert_eq!(
        String::from_utf8(repaired_content).unwrap(),
        format!("{HEADER}\n{a}\n{b}\n")
    );
}

#[test]
fn a_file_of_the_first_format_keeps_its_entries() {
    let plain = r#"{"type":"message","timestamp":"t","message":{"role":"user","content":"x"}}"#;
    let header = HEADER.replace(r#""version":3,"#, "");
    let content = format!("{header}\n{plain}\nrubbish\n{plain}\n");
    let (repaired_content, quarantined) = repaired(content.as_bytes()).unwrap();
    assert_eq!(
        String::from_utf8(repaired_content.clone()).unwrap(),
        format!("{header}\n{plain}\n{plain}\n")
    );
    assert_eq!(quarantined, b"rubbish\n");
    assert_eq!(open(&repaired_content).entries().len(), 2);
}

/// One way to corrupt a file.
#[derive(Debug, Clone)]
enum Corruption {
    Byte(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Insert(prop::sample::Index, Vec<u8>),
    Remove(prop::sample::Index, usize),
    Nulls(prop::sample::Index, usize),
    /// Duplicates a part of the file elsewhere, like a bad merge.
    Copy(prop::sample::Index, prop::sample::Index, usize),
}

fn corruptions() -> impl Strategy<Value = Vec<Corruption>> {
    let at = any::<prop::sample::Index>;
    let corruption = prop_oneof![
        6 => (at(), any::<u8>()).prop_map(|(at, byte)| Corruption::Byte(at, byte)),
        2 => (at(), prop::sample::select(b"{}[]\",:\\\n\0".to_vec())).prop_map(|(at, byte)| Corruption::Byte(at, byte)),
        1 => at().prop_map(Corruption::Cut),
        2 => (at(), proptest::collection::vec(any::<u8>(), 1..40)).prop_map(|(at, bytes)| Corruption::Insert(at, bytes)),
        2 => (at(), 1..200_usize).prop_map(|(at, length)| Corruption::Remove(at, length)),
        1 => (at(), 1..300_usize).prop_map(|(at, length)| Corruption::Nulls(at, length)),
        1 => (at(), at(), 1..300_usize).prop_map(|(from, to, length)| Corruption::Copy(from, to, length)),
    ];
    proptest::collection::vec(corruption, 0..6)
}

fn corrupt(content: &mut Vec<u8>, corruption: Corruption) {
    let offset = |at: prop::sample::Index, length: usize| at.index(length + 1);
    let length = content.len();
    match corruption {
        Corruption::Byte(at, byte) => {
            if let Some(target) = content.get_mut(offset(at, length)) {
                *target = byte;
            }
        }
        Corruption::Cut(at) => content.truncate(offset(at, length)),
        Corruption::Insert(at, bytes) => {
            let at = offset(at, length);
            content.splice(at..at, bytes);
        }
        Corruption::Remove(at, count) => {
            let at = offset(at, length);
            content.drain(at..length.min(at + count));
        }
        Corruption::Nulls(at, count) => {
            let at = offset(at, length);
            content[at..length.min(at + count)].fill(0);
        }
        Corruption::Copy(from, to, count) => {
            let (from, to) = (offset(from, length), offset(to, length));
            let part = content[from..length.min(from + count)].to_vec();
            content.splice(to..to, part);
        }
    }
}

/// Messages, labels and compactions in a tree; each entry may follow any earlier one.
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
    fn intact_records_survive_and_one_repair_is_enough(lines in sessions(), corruptions in corruptions()) {
        let mut content = (lines.join("\n") + "\n").into_bytes();
        for corruption in corruptions {
            corrupt(&mut content, corruption);
        }
        let Some((repaired_content, _)) = repaired(&content) else {
            return Ok(());
        };
        prop_assert_eq!(damage(&repaired_content), [""; 0]);
        let entries: HashSet<&[u8]> = lines[1..].iter().map(String::as_bytes).collect();
        let survivors: HashSet<&[u8]> = repaired_content.split(|byte| *byte == b'\n').collect();
        for line in content.split(|byte| *byte == b'\n') {
            if entries.contains(line) {
                prop_assert!(survivors.contains(line), "{}", String::from_utf8_lossy(line));
            }
        }
        if !repaired_content.is_empty() {
            let session = open(&repaired_content);
            prop_assert_eq!(session.open_report().skipped_lines, 0);
            for entry in session.entries().iter() {
                prop_assert!(entry.is_ok());
            }
        }
    }
}
