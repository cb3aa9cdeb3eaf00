//! Tests with hostile archives, and one valid archive.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use pretty_assertions::assert_eq;
use tar::{Builder, Header};

use super::*;

/// Writes an entry with exactly this header, which the tar builder would reject if it is unsafe.
fn add(builder: &mut Builder<Vec<u8>>, kind: EntryType, name: &str, link: &str, content: &[u8]) {
    let mut header = Header::new_old();
    header.set_entry_type(kind);
    header.set_size(content.len() as u64);
    header.set_mode(0o755);
    let fields = header.as_old_mut();
    fields
        .name
        .get_mut(..name.len())
        .unwrap()
        .copy_from_slice(name.as_bytes());
    fields
        .linkname
        .get_mut(..link.len())
        .unwrap()
        .copy_from_slice(link.as_bytes());
    header.set_cksum();
    builder.append(&header, content).unwrap();
}

fn archive(entries: &[(EntryType, &str, &str, &[u8])]) -> File {
    let mut builder = Builder::new(Vec::new());
    for (kind, name, link, content) in entries {
        add(&mut builder, *kind, name, link, content);
    }
    compressed(&builder.into_inner().unwrap())
}

fn compressed(bytes: &[u8]) -> File {
    let mut encoder = GzEncoder::new(tempfile::tempfile().unwrap(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    let mut file = encoder.finish().unwrap();
    file.rewind().unwrap();
    file
}

const GOOD: (EntryType, &str, &str, &[u8]) = (EntryType::Regular, "package/a.txt", "", b"a");

#[test]
fn unpacks_a_valid_archive() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("x");
    let mut file = archive(&[
        (EntryType::Directory, "package/lib/", "", b""),
        GOOD,
        (EntryType::Regular, "package/lib/b.js", "", b"bb"),
        (EntryType::Symlink, "package/lib/c.js", "b.js", b""),
        (EntryType::Regular, "package/a.txt", "", b"again"),
    ]);
    let done = unpack("x", &mut file, &target, UnpackLimits::DEFAULT).unwrap();
    assert_eq!(done, UnpackStats { files: 3, bytes: 8 });
    assert_eq!(fs::read_to_string(target.join("a.txt")).unwrap(), "again");
    assert_eq!(fs::read_to_string(target.join("lib/b.js")).unwrap(), "bb");
    assert!(!target.join("lib/c.js").exists());
}

#[test]
fn unsafe_entries_are_rejected() {
    for entry in [
        (EntryType::Regular, "package/../../evil", "", &b"x"[..]),
        (EntryType::Regular, "/etc/evil", "", b"x"),
        (EntryType::Regular, "../evil", "", b"x"),
        (EntryType::Regular, "package/..\\evil", "", b"x"),
        (EntryType::Directory, "package/../../evil/", "", b""),
        (EntryType::Symlink, "package/l", "/etc/passwd", b""),
        (EntryType::Symlink, "package/l", "../evil", b""),
        (EntryType::Symlink, "package/d/l", "../../evil", b""),
        (EntryType::Link, "package/l", "/etc/passwd", b""),
        (EntryType::Link, "package/l", "../evil", b""),
        (EntryType::Char, "package/tty", "", b""),
        (EntryType::Block, "package/disk", "", b""),
        (EntryType::Fifo, "package/pipe", "", b""),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("deep/x");
        let result = unpack(
            "x",
            &mut archive(&[GOOD, entry]),
            &target,
            UnpackLimits::DEFAULT,
        );
        assert!(
            matches!(result, Err(PackageError::UnsafeArchive { .. })),
            "{entry:?}: {result:?}"
        );
        assert!(!dir.path().join("evil").exists(), "{entry:?}");
        assert!(!dir.path().join("deep/evil").exists(), "{entry:?}");
    }
}

#[test]
fn archive_bombs_are_limited() {
    let dir = tempfile::tempdir().unwrap();
    let limits = UnpackLimits {
        bytes: 64 * 1024,
        entries: 10,
    };
    let large = vec![0; 1024 * 1024];
    let mut bomb = archive(&[(EntryType::Regular, "package/zeros", "", &large)]);
    let result = unpack("x", &mut bomb, &dir.path().join("a"), limits);
    assert!(
        matches!(result, Err(PackageError::TooLarge { .. })),
        "{result:?}"
    );
    let written = fs::metadata(dir.path().join("a/zeros")).unwrap().len();
    assert!(written <= 64 * 1024 + 1, "{written}");

    let names: Vec<String> = (0..20).map(|number| format!("package/{number}")).collect();
    let entries: Vec<_> = names
        .iter()
        .map(|name| (EntryType::Regular, name.as_str(), "", &b""[..]))
        .collect();
    let result = unpack("x", &mut archive(&entries), &dir.path().join("b"), limits);
    assert!(
        matches!(result, Err(PackageError::TooLarge { .. })),
        "{result:?}"
    );
}

#[test]
fn invalid_archives_are_rejected() {
    let dir = tempfile::tempdir().unwrap();
    for (index, bytes) in [&b""[..], b"not an archive", &[0x1f, 0x8b, 1, 2, 3]]
        .into_iter()
        .enumerate()
    {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        let target = dir.path().join(index.to_string());
        assert!(
            unpack("x", &mut file, &target, UnpackLimits::DEFAULT).is_err(),
            "{bytes:?}"
        );
    }
}
