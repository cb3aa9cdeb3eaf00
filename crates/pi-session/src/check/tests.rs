//! Every kind of problem and how it is reported.

use pi_protocol::EntryId;
use pretty_assertions::assert_eq;

use super::*;
use crate::storage::MemoryFile;

const HEADER: &str = r#"{"type":"session","version":3,"id":"one","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/project"}"#;

fn entry(id: &str, parent: &str) -> String {
    typed(
        "message",
        id,
        parent,
        r#""message":{"role":"user","content":"hi","timestamp":1}"#,
    )
}

fn typed(type_name: &str, id: &str, parent: &str, fields: &str) -> String {
    let parent = match parent {
        "" => "null".to_owned(),
        parent => format!("\"{parent}\""),
    };
    format!(
        r#"{{"type":"{type_name}","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:01.000Z",{fields}}}"#
    )
}

fn inspect(content: &[u8]) -> FileInspection {
    FileInspection::of(&MemoryFile::new(content.to_vec())).unwrap()
}

/// Returns the problems found, such as `3 garbage`.
fn found(content: impl AsRef<[u8]>) -> Vec<String> {
    let inspection = inspect(content.as_ref());
    let problems = inspection.scan.findings.problems.iter();
    let described = problems.map(|problem| match problem.line {
        Some(line) => format!("{line} {}", problem.kind.name()),
        None => problem.kind.name().to_owned(),
    });
    described.collect()
}

fn lines(lines: &[&str]) -> String {
    lines.join("\n") + "\n"
}

#[test]
fn an_intact_file_has_no_problems() {
    let (one, two) = (entry("a", ""), entry("b", "a"));
    let content = lines(&[HEADER, &one, &two]);
    assert_eq!(found(&content), [""; 0]);
    assert_eq!(inspect(content.as_bytes()).scan.entry_count(), 2);
    assert_eq!(found(lines(&[HEADER, "", "  ", "null", &one])), [""; 0]);
}

#[test]
fn problems_with_lines_are_found() {
    let (one, two, three) = (entry("a", ""), entry("b", "a"), entry("c", "b"));
    let torn = two.get(..70).unwrap();
    let deep = typed(
        "custom",
        "b",
        "a",
        &format!(
            r#""customType":"x","data":{}1{}"#,
            "[".repeat(200),
            "]".repeat(200)
        ),
    );
    for (content, expected) in [
        (lines(&[HEADER, &one]) + torn, vec!["3 torn-end"]),
        (lines(&[HEADER, &one, torn]), vec!["3 garbage"]),
        (lines(&[HEADER, &one, "rubbish", &two]), vec!["3 garbage"]),
        (
            lines(&[HEADER, &one, torn, &three]),
            vec!["3 garbage", "4 missing-parent"],
        ),
        (
            lines(&[HEADER, &one, &format!("\0\0\0{two}")]),
            vec!["3 null-bytes"],
        ),
        (
            lines(&[HEADER, &one, "\0\0\0\0", &two]),
            vec!["3 null-bytes"],
        ),
        (
            lines(&[HEADER, &format!("{one}{two}")]),
            vec!["2 joined-records"],
        ),
        (
            lines(&[HEADER, &one, &format!("{torn}{three}")]),
            vec!["3 garbage", "3 missing-parent"],
        ),
        (lines(&[HEADER, &one]) + &two, vec!["3 missing-line-feed"]),
        (
            lines(&[&format!("\u{feff}{HEADER}"), &one]),
            vec!["1 byte-order-mark"],
        ),
        (
            lines(&[HEADER, &one, "7", "[]", "{}"]),
            vec!["3 not-an-entry", "4 not-an-entry", "5 not-an-entry"],
        ),
        (
            lines(&[HEADER, r#"{"type":"custom"}"#, &one]),
            vec!["2 not-an-entry"],
        ),
        (lines(&[HEADER, &one, &deep]), vec!["3 too-deep"]),
        (format!("{HEADER}\r\n{one}\r\n"), vec!["carriage-returns"]),
        (String::new(), vec!["empty"]),
        ("\0".repeat(5000), vec!["nothing-left", "1 null-bytes"]),
        ("# a text\n".to_owned(), vec!["nothing-left", "1 garbage"]),
    ] {
        assert_eq!(found(&content), expected, "{content}");
    }
    let mut invalid = lines(&[HEADER]).into_bytes();
    invalid.extend(one.replace("hi", "h\u{1}").into_bytes());
    invalid.extend(b"\n");
    let at = invalid.iter().position(|byte| *byte == 1).unwrap();
    invalid[at - 1] = 0xff;
    assert!(found(&invalid).contains(&"2 invalid-text".to_owned()));
    assert!(found(&invalid).contains(&"2 control-characters".to_owned()));
}

#[test]
fn problems_with_headers_are_found() {
    let (one, two) = (entry("a", ""), entry("b", "a"));
    let old = HEADER.replace(r#""version":3,"#, "");
    let plain = r#"{"type":"message","timestamp":"t","message":{"role":"user","content":"x"}}"#;
    for (content, expected) in [
        (lines(&[&one, &two]), vec!["missing-header"]),
        (
            lines(&[HEADER.get(..40).unwrap(), &one]),
            vec!["missing-header", "1 garbage"],
        ),
        (
            lines(&[&HEADER.replace(r#""id":"one","#, ""), &one]),
            vec!["missing-header", "1 damaged-header"],
        ),
        (lines(&[&one, HEADER, &two]), vec!["2 header-not-first"]),
        (lines(&["rubbish", HEADER, &one]), vec!["1 garbage"]),
        (
            lines(&[HEADER, &one, HEADER, &two]),
            vec!["3 second-header"],
        ),
        (
            lines(&[&HEADER.replace(":3", ":1"), &one]),
            vec!["doubtful-version"],
        ),
        (
            lines(&[&HEADER.replace(":3", ":\"x\""), &one]),
            vec!["doubtful-version"],
        ),
        (lines(&[&old, plain, plain]), vec!["old-version"]),
        (
            lines(&[&old, plain, "rubbish", plain]),
            vec!["old-version", "3 garbage"],
        ),
        (lines(&[plain, plain]), vec!["missing-header"]),
        (
            lines(&[&HEADER.replace(":3", ":2"), &one]),
            vec!["old-version"],
        ),
        (
            lines(&[&HEADER.replace(":3", ":9"), &one]),
            vec!["newer-version"],
        ),
    ] {
        assert_eq!(found(&content), expected, "{content}");
    }
}

#[test]
fn problems_with_links_are_found() {
    let (one, two) = (entry("a", ""), entry("b", "a"));
    let compaction = |target: &str| {
        let fields = format!(r#""summary":"s","firstKeptEntryId":"{target}","tokensBefore":1"#);
        typed("compaction", "c", "b", &fields)
    };
    for (content, expected) in [
        (
            lines(&[HEADER, &one, &entry("b", "x")]),
            vec!["3 missing-parent"],
        ),
        (lines(&[HEADER, &one, &two, &one]), vec!["4 duplicate-id"]),
        (lines(&[HEADER, &entry("a", "b"), &two]), vec!["2 circle"]),
        (lines(&[HEADER, &entry("a", "a")]), vec!["2 circle"]),
        (lines(&[HEADER, &two, &one]), vec![]),
        (lines(&[HEADER, &one, &two, &compaction("a")]), vec![]),
        (lines(&[HEADER, &one, &two, &compaction("c")]), vec![]),
        (
            lines(&[HEADER, &one, &two, &compaction("x")]),
            vec!["4 unknown-reference"],
        ),
        (
            lines(&[
                HEADER,
                &one,
                &typed("label", "b", "a", r#""targetId":"x","label":"l""#),
            ]),
            vec!["3 unknown-reference"],
        ),
        (
            lines(&[
                HEADER,
                &one,
                &typed(
                    "branch_summary",
                    "b",
                    "a",
                    r#""fromId":"root","summary":"s""#,
                ),
            ]),
            vec![],
        ),
        (
            lines(&[
                HEADER,
                &one,
                &typed("from_the_future", "b", "a", r#""z":1"#),
            ]),
            vec!["unknown-type"],
        ),
        (
            lines(&[
                HEADER,
                &typed(
                    "message",
                    "a",
                    "",
                    r#""message":{"role":"usar","content":"hi"}"#,
                ),
            ]),
            vec!["unknown-type"],
        ),
        (
            lines(&[HEADER, &typed("label", "a", "", r#""x":1"#)]),
            vec!["2 unexpected-shape"],
        ),
    ] {
        assert_eq!(found(&content), expected, "{content}");
    }
}

#[test]
fn a_placeholder_replaces_a_lost_entry_at_its_position() {
    let (one, two, three) = (entry("a", ""), entry("b", "a"), entry("c", "b"));
    let content = lines(&[
        HEADER,
        &one,
        &entry("z", "a"),
        two.get(..80).unwrap(),
        &three,
    ]);
    let placeholders = inspect(content.as_bytes()).link_repairs.placeholders;
    let parents: Vec<_> = placeholders
        .iter()
        .map(|it| (it.id.as_str(), it.parent.as_ref().map(EntryId::as_str)))
        .collect();
    assert_eq!(
        parents,
        [("b", Some("a"))],
        "a partial record contains its parent"
    );

    let content = lines(&[HEADER, &one, &entry("z", "a"), "rubbish", &three]);
    let placeholders = inspect(content.as_bytes()).link_repairs.placeholders;
    assert_eq!(placeholders.len(), 1);
    assert_eq!(placeholders[0].id.as_str(), "b");
    assert_eq!(
        placeholders[0].parent.as_ref().unwrap().as_str(),
        "z",
        "otherwise the preceding entry"
    );
    assert_eq!(placeholders[0].timestamp_ms, 1_767_225_601_000);
}

#[test]
fn excess_problems_are_counted_but_not_kept() {
    let content = lines(&[HEADER]) + &"rubbish\n".repeat(5000);
    let inspection = inspect(content.as_bytes());
    assert_eq!(inspection.scan.findings.damage, 5000);
    assert_eq!(inspection.scan.findings.problems.len(), 1000);
}
