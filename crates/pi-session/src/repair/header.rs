//! Rebuilds a lost session header from the remains of the old one, the file name and sibling files:
//! sessions in one directory usually have the same working directory.

use std::path::Path;

use pi_env::Env;
use pi_protocol::{SessionHeader, timestamp};

use crate::check::file_scan::{FileScan, SegmentKind};
use crate::check::text_after;
use crate::directory;
use crate::listing;
use crate::session_id::{check_session_id, new_session_id};

/// How many sibling files are checked for their working directory.
const MAX_SIBLINGS: usize = 50;

pub(super) fn rebuild(path: &Path, scan: &FileScan, env: &Env) -> SessionHeader {
    let remains = scan.damaged_header.as_deref().unwrap_or_default();
    let id = text_after(remains, "id")
        .or_else(|| id_from_file_name(path))
        .filter(|id| check_session_id(id).is_ok())
        .unwrap_or_else(new_session_id);
    let timestamp = text_after(remains, "timestamp")
        .filter(|timestamp| timestamp::parse_iso(timestamp).is_some())
        .unwrap_or_else(|| {
            timestamp::to_iso(first_timestamp_ms(scan).unwrap_or_else(|| env.now_ms()))
        });
    let cwd = text_after(remains, "cwd")
        .or_else(|| sibling_cwd(path))
        .unwrap_or_else(|| {
            directory::resolve(Path::new("."))
                .to_string_lossy()
                .into_owned()
        });
    let mut header = SessionHeader::new(id, timestamp, cwd);
    header.parent_session = text_after(remains, "parentSession");
    header.version = (!scan.is_first_format()).then_some(SessionHeader::CURRENT_VERSION);
    header
}

/// Extracts the ID from a file name, which ends with it.
fn id_from_file_name(path: &Path) -> Option<String> {
    let name = path.file_stem()?.to_str()?;
    let (_, id) = name.split_once('_')?;
    Some(id.to_owned())
}

fn first_timestamp_ms(scan: &FileScan) -> Option<i64> {
    scan.segments
        .iter()
        .find_map(|segment| match &segment.kind {
            SegmentKind::Entry(info) => info.timestamp_ms,
            SegmentKind::Header
            | SegmentKind::EntryWithoutId
            | SegmentKind::Blank
            | SegmentKind::Unreadable(_) => None,
        })
}

/// Returns the working directory of the other sessions in the directory, if they agree.
fn sibling_cwd(path: &Path) -> Option<String> {
    let files = listing::files(listing::SearchScope::Directory(path.parent()?));
    let others = files.iter().filter(|file| *file != path).take(MAX_SIBLINGS);
    let mut directories = others.filter_map(|file| Some(listing::read_header(file)?.cwd));
    let first = directories.next().filter(|cwd| !cwd.is_empty())?;
    directories.all(|cwd| cwd == first).then_some(first)
}
