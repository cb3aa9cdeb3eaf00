use pretty_assertions::assert_eq;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::truncate::{MAX_BYTES, MAX_LINES, TruncatedBy, truncate_tail};

fn spool(form: OutputForm) -> (OutputSpool, TempDir) {
    let directory = TempDir::new().unwrap();
    let target = SpillTarget {
        directory: directory.path().to_owned(),
        prefix: "pi-bash",
    };
    (OutputSpool::new(form, target), directory)
}

fn numbers(range: std::ops::RangeInclusive<u32>) -> String {
    let lines: Vec<_> = range.map(|number| number.to_string()).collect();
    lines.join("\n") + "\n"
}

#[tokio::test]
async fn short_output_stays_in_memory() {
    let (mut spool, directory) = spool(OutputForm::Raw);
    let text = numbers(1..=2000);
    for chunk in text.as_bytes().chunks(7) {
        spool.push(chunk).await;
    }
    spool.finish().await;
    let snapshot = spool.snapshot();
    assert_eq!(
        snapshot.truncation,
        truncate_tail(&text, TruncationLimits::default())
    );
    assert!(!snapshot.truncation.truncated);
    assert_eq!(snapshot.full_output_path, None);
    assert_eq!(directory.path().read_dir().unwrap().count(), 0);
}

#[tokio::test]
async fn long_output_goes_to_a_private_file() {
    let (mut spool, directory) = spool(OutputForm::Raw);
    let mut bytes = numbers(1..=3000).into_bytes();
    bytes.extend_from_slice(b"\xff\x1b[0m end");
    for chunk in bytes.chunks(1000) {
        spool.push(chunk).await;
    }
    spool.finish().await;
    let snapshot = spool.snapshot();
    assert_eq!(
        (
            snapshot.truncation.total_lines,
            snapshot.truncation.output_lines
        ),
        (3001, MAX_LINES)
    );
    let path = snapshot.full_output_path.unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    let name = path.file_name().unwrap().to_str().unwrap();
    let hex = name
        .strip_prefix("pi-bash-")
        .unwrap()
        .strip_suffix(".log")
        .unwrap();
    assert_eq!(path.parent(), Some(directory.path()));
    assert!(
        hex.len() == 16 && hex.bytes().all(|b| b.is_ascii_hexdigit()),
        "{name}"
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[tokio::test]
async fn the_size_of_the_last_line_includes_dropped_text() {
    for (text, last_line) in [
        ("x".repeat(70_000), 70_000),
        ("x".repeat(70_000) + "\n", 70_000),
        ("x".repeat(70_000) + "\n\n", 0),
        ("first\n".to_owned() + &"x".repeat(300_000), 300_000),
    ] {
        let (mut spool, _directory) = spool(OutputForm::Raw);
        for chunk in text.as_bytes().chunks(4096) {
            spool.push(chunk).await;
        }
        spool.finish().await;
        assert_eq!(spool.last_line_bytes(), last_line);
    }
}

#[tokio::test]
async fn memory_does_not_grow_with_the_output() {
    let (mut spool, _directory) = spool(OutputForm::Raw);
    let chunk = "line of some length\n".repeat(3000);
    for _ in 0..400 {
        spool.push(chunk.as_bytes()).await;
        assert!(
            spool.tail.capacity() < 16 * MAX_BYTES,
            "{}",
            spool.tail.capacity()
        );
        assert!(matches!(spool.spill, Spill::File(_)));
    }
    let cut = spool.snapshot().truncation;
    assert_eq!(
        (cut.total_lines, cut.total_bytes, cut.truncated_by),
        (400 * 3000, 400 * chunk.len(), Some(TruncatedBy::Lines))
    );
}

#[tokio::test]
async fn the_file_has_a_limit() {
    let (mut spool, _directory) = spool(OutputForm::Raw);
    let chunk = vec![b'y'; 1 << 20];
    for _ in 0..MAX_FILE_BYTES >> 20 {
        spool.push(&chunk).await;
    }
    assert!(!spool.file_is_truncated());
    for _ in 0..3 {
        spool.push(b"more").await;
    }
    spool.finish().await;
    assert!(spool.file_is_truncated());
    let saved = std::fs::read(spool.snapshot().full_output_path.unwrap()).unwrap();
    assert!(saved.ends_with(b"y\n[Output truncated]\n"));
    assert_eq!(saved.len(), MAX_FILE_BYTES + 20);
    assert!(
        spool
            .snapshot()
            .truncation
            .content
            .ends_with("moremoremore")
    );
}

#[test]
fn files_of_the_past_are_removed() {
    let (_, directory) = spool(OutputForm::Raw);
    let target = SpillTarget {
        directory: directory.path().to_owned(),
        prefix: "pi-bash",
    };
    let now = std::time::SystemTime::now();
    let hours = |hours: u64| now - std::time::Duration::from_secs(hours * 60 * 60);
    for (name, size, hours_ago) in [
        ("pi-bash-0000000000000000.log", 1, 25),
        ("pi-bash-0000000000000001.log", 1, 23),
        // Three times the limit of one file, twice: too much in total.
        ("pi-bash-0000000000000002.log", 3 << 28, 1),
        ("pi-bash-0000000000000003.log", 3 << 28, 2),
        ("pi-bash-notes.log", 1, 99),
        ("other-0000000000000000.log", 1, 99),
    ] {
        let file = std::fs::File::create(directory.path().join(name)).unwrap();
        file.set_len(size).unwrap();
        file.set_modified(hours(hours_ago)).unwrap();
    }
    target.remove_old(now);
    let kept = directory.path().read_dir().unwrap();
    let mut kept: Vec<_> = kept.map(|entry| entry.unwrap().file_name()).collect();
    kept.sort();
    assert_eq!(
        kept,
        [
            "other-0000000000000000.log",
            "pi-bash-0000000000000002.log",
            "pi-bash-notes.log"
        ]
    );
}

#[tokio::test]
async fn plain_output_is_saved_as_plain_text() {
    let (mut spool, _directory) = spool(OutputForm::Plain);
    let mut shown = String::new();
    for _ in 0..3000 {
        for chunk in [&b"\x1b[3"[..], b"1mr\xc3", b"\xa9d\x1b[0m\r\n"] {
            shown.push_str(spool.push(chunk).await);
        }
    }
    shown.push_str(spool.finish().await);
    assert_eq!(shown, "réd\n".repeat(3000));
    let path = spool.snapshot().full_output_path.unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), shown);
}

#[tokio::test]
async fn output_that_cannot_be_saved_is_still_returned() {
    let (mut spool, directory) = spool(OutputForm::Raw);
    drop(directory);
    spool.push(numbers(1..=3000).as_bytes()).await;
    spool.push(b"3001\n").await;
    spool.finish().await;
    let snapshot = spool.snapshot();
    assert_eq!(snapshot.full_output_path, None);
    assert!(snapshot.truncation.content.ends_with("\n3001"));
    assert_eq!(spool.failure().unwrap().kind(), io::ErrorKind::NotFound);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn result_does_not_depend_on_chunking(
        lines in prop::collection::vec("[a日]{0,9}|x{2000}|y{60000}", 0..40),
        size in 300..70_000usize,
    ) {
        let text = lines.join("\n");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let snapshot = runtime.block_on(async {
            let (mut spool, _directory) = spool(OutputForm::Raw);
            for chunk in text.as_bytes().chunks(size) {
                spool.push(chunk).await;
            }
            spool.finish().await;
            spool.snapshot()
        });
        prop_assert_eq!(snapshot.truncation, truncate_tail(&text, TruncationLimits::default()));
    }
}
