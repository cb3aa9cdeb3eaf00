//! A file opened with the index of its writer is read like one that is scanned.

use pretty_assertions::assert_eq;

use super::*;

fn open_with(disk: &FaultyDisk, index: PackedIndex) -> Session {
    let options = OpenSession {
        access: AccessMode::Read,
        index: Some(index),
        ..OpenSession::default()
    };
    Session::open_in(Arc::new(disk.clone()), Path::new(PATH), options).unwrap()
}

/// A session with branches, labels, a name, lines that are not entries, and an entry without its parent.
fn written() -> (FaultyDisk, Session) {
    let disk = FaultyDisk::default();
    let mut content = encode_record(&header()).unwrap();
    content.extend(b"not json\n\n");
    content.extend(
        br#"{"type":"custom","id":"orphan","parentId":"absent","timestamp":"2020-01-01T00:00:00.000Z","customType":"x"}"#,
    );
    content.push(b'\n');
    disk.put(Path::new(PATH), &content);
    let mut session = open(&disk, AccessMode::Write).unwrap();
    session.reset_leaf();
    let root = session.append(user("first")).unwrap();
    session.append(assistant("one")).unwrap();
    session.branch(&root.id).unwrap();
    session.append(assistant("two")).unwrap();
    session.set_label(&root.id, Some("start")).unwrap();
    session.set_name("a name").unwrap();
    (disk, session)
}

/// What is read from the index.
fn seen(session: &Session) -> impl PartialEq + std::fmt::Debug + use<> {
    let report = session.open_report();
    (
        format!("{:?}", session.entries().tree()),
        session.name().map(str::to_owned),
        session.leaf_id().cloned(),
        session.current_branch().ids(),
        (report.skipped_lines, report.torn_tail),
        session.header().clone(),
    )
}

#[test]
fn the_file_is_not_scanned() {
    let (disk, session) = written();
    let index = PackedIndex::of(&session).unwrap();
    let scanned = open(&disk, AccessMode::Read).unwrap();
    assert_eq!(seen(&open_with(&disk, index.clone())), seen(&scanned));

    // An unreadable line would be skipped by a scan.
    let mut content = disk.content(Path::new(PATH)).unwrap();
    let first = content.windows(5).position(|text| text == b"first");
    content[first.unwrap() - 30] = b'\\';
    disk.put(Path::new(PATH), &content);
    assert_eq!(seen(&open_with(&disk, index)), seen(&scanned));
    let skipped = open(&disk, AccessMode::Read).unwrap();
    assert_eq!(skipped.open_report().skipped_lines, 2);
}

#[test]
fn what_was_appended_since_is_read() {
    let (disk, mut session) = written();
    let index = PackedIndex::of(&session).unwrap();
    let added = session.append(user("later")).unwrap();
    let mut content = disk.content(Path::new(PATH)).unwrap();
    // The parent of the first entry, and a record that is being written.
    content.extend(br#"{"type":"custom","id":"absent","parentId":null,"timestamp":"2020-01-01T00:00:00.000Z","customType":"x"}"#);
    content.extend(b"\n{\"type\":");
    disk.put(Path::new(PATH), &content);
    let mut opened = open_with(&disk, index);
    assert_eq!(seen(&opened), seen(&open(&disk, AccessMode::Read).unwrap()));
    assert_eq!(*opened.entries().read(added.id.as_str()).unwrap(), *added);
    let orphan = EntryId::from("orphan");
    let parent = opened.entries().parent_id(&orphan).unwrap();
    assert_eq!(parent, Some(&EntryId::from("absent")));

    content.extend(br#""custom","id":"last","parentId":"absent","timestamp":"2020-01-01T00:00:00.000Z","customType":"x"}"#);
    content.push(b'\n');
    disk.put(Path::new(PATH), &content);
    assert_eq!(opened.load_appended().unwrap().entries, ["last"]);
}

#[test]
fn an_index_of_another_file_is_not_used() {
    let (disk, session) = written();
    let index = PackedIndex::of(&session).unwrap();
    let complete = disk.content(Path::new(PATH)).unwrap();
    let mut moved = encode_record(&header()).unwrap();
    moved.extend(b"\n{\"type\":\"custom\",\"id\":\"new\",\"customType\":\"x\"}\n");
    let longer = [moved.clone(), vec![b'\n'; complete.len()]].concat();
    let shorter = complete[..complete.len() - 20].to_vec();
    for content in [moved, longer, shorter] {
        disk.put(Path::new(PATH), &content);
        let scanned = open(&disk, AccessMode::Read).unwrap();
        assert_eq!(seen(&open_with(&disk, index.clone())), seen(&scanned));
    }
}

#[test]
fn damaged_bytes_cause_no_panic_and_no_endless_path() {
    let (disk, session) = written();
    let index = PackedIndex::of(&session).unwrap();
    for position in 0..index.bytes.len() {
        for change in [1, 0x40, 0x80, 0xFF] {
            let mut damaged = index.clone();
            damaged.bytes[position] ^= change;
            let opened = open_with(&disk, damaged);
            for node in opened.entries().tree().nodes {
                // Reading detects what does not fit.
                opened.entries().read(node.id.as_str()).ok();
                let branch = opened.entries().branch_to(&node.id).unwrap();
                assert!(branch.ids().len() <= opened.entries().len());
            }
        }
        let cut = PackedIndex {
            bytes: index.bytes[..position].to_vec(),
            ..index.clone()
        };
        assert_eq!(
            seen(&open_with(&disk, cut)),
            seen(&open(&disk, AccessMode::Read).unwrap())
        );
    }
}

#[test]
fn an_unusual_order_is_not_packed() {
    let (disk, session) = written();
    let mut content = disk.content(Path::new(PATH)).unwrap();
    content.extend(br#"{"type":"custom","id":"absent","parentId":null,"timestamp":"2020-01-01T00:00:00.000Z","customType":"x"}"#);
    content.push(b'\n');
    drop(session);
    disk.put(Path::new(PATH), &content);
    let session = open(&disk, AccessMode::Read).unwrap();
    assert_eq!(PackedIndex::of(&session), None);
    assert_eq!(PackedIndex::of(&deferred(&disk)), None);
}
