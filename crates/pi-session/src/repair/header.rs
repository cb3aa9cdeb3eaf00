//! A header for a session that has lost its own.
//!
//! What is left of the old one counts first, then the file's name and its neighbors: sessions in one
//! folder usually belong to one working directory.

use std::path::Path;

use pi_ai::Env;

use crate::check::survey::{Content, Survey};
use crate::check::text_after;
use crate::directory;
use crate::header::{CURRENT_VERSION, SessionHeader};
use crate::listing;
use crate::moment;
use crate::session_id::{check_session_id, new_session_id};

/// How many neighbors are asked for their working directory.
const NEIGHBORS: usize = 50;

/// Makes a header from what is left.
pub(super) fn rebuilt(path: &Path, survey: &Survey, env: &Env) -> SessionHeader {
    let left = survey.damaged_header.as_deref().unwrap_or_default();
    let id = text_after(left, "id")
        .or_else(|| id_of_name(path))
        .filter(|id| check_session_id(id).is_ok())
        .unwrap_or_else(new_session_id);
    let timestamp = text_after(left, "timestamp")
        .filter(|timestamp| moment::parse_iso(timestamp).is_some())
        .unwrap_or_else(|| moment::to_iso(first_moment(survey).unwrap_or_else(|| env.now_ms())));
    let cwd = text_after(left, "cwd")
        .or_else(|| cwd_of_neighbors(path))
        .unwrap_or_else(|| {
            directory::resolve(Path::new("."))
                .to_string_lossy()
                .into_owned()
        });
    let mut header = SessionHeader::new(id, timestamp, cwd);
    header.parent_session = text_after(left, "parentSession");
    header.with_version((!survey.is_first_format()).then_some(CURRENT_VERSION))
}

/// Reads the id from a file's name, which ends with it.
fn id_of_name(path: &Path) -> Option<String> {
    let name = path.file_stem()?.to_str()?;
    let (_, id) = name.split_once('_')?;
    Some(id.to_owned())
}

fn first_moment(survey: &Survey) -> Option<i64> {
    survey.pieces.iter().find_map(|piece| match &piece.content {
        Content::Entry(facts) => facts.timestamp_ms,
        Content::Header | Content::EntryWithoutId | Content::Nothing | Content::Lost(_) => None,
    })
}

/// Returns the working directory of the other sessions in a folder, if they agree.
fn cwd_of_neighbors(path: &Path) -> Option<String> {
    let files = listing::files(listing::SearchScope::Directory(path.parent()?));
    let others = files.iter().filter(|file| *file != path).take(NEIGHBORS);
    let mut directories = others.filter_map(|file| Some(listing::read_header(file)?.cwd));
    let first = directories.next().filter(|cwd| !cwd.is_empty())?;
    directories.all(|cwd| cwd == first).then_some(first)
}
