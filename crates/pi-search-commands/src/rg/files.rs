//! Which files are searched.

use std::fs::Metadata;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ignore::overrides::OverrideBuilder;
use ignore::types::TypesBuilder;
use ignore::{DirEntry, WalkBuilder};

use super::options::{Options, SortKey, TypeChange, WalkOptions};
use crate::{FOUND, Failure, NOT_FOUND, report};

/// A file to search.
#[derive(Debug)]
pub(super) struct FoundFile {
    pub(super) path: PathBuf,
    /// The command line names it.
    pub(super) is_named: bool,
}

impl FoundFile {
    /// Returns the file of an entry; `None` for directories, and for special files that are not named.
    pub(super) fn of(entry: DirEntry) -> Option<Self> {
        let is_named = entry.depth() == 0;
        let kind = entry.file_type()?;
        if kind.is_dir() || !(is_named || kind.is_file()) {
            return None;
        }
        Some(Self {
            path: entry.into_path(),
            is_named,
        })
    }
}

/// Prints the files that a search would read.
pub(super) fn run(options: &Options, stdout: std::io::Stdout) -> Result<u8, Failure> {
    let mut output = BufWriter::new(stdout);
    let (files, failed) = list(options)?;
    let end: &[u8] = if options.output.lines.null {
        b"\0"
    } else {
        b"\n"
    };
    for file in &files {
        if !options.output.quiet {
            output.write_all(shown(&file.path, options).as_os_str().as_encoded_bytes())?;
            output.write_all(end)?;
        }
    }
    output.flush()?;
    Ok(match (files.is_empty(), failed) {
        (_, true) => 2,
        (true, false) => NOT_FOUND,
        (false, false) => FOUND,
    })
}

/// Returns the files in order, and whether some places could not be read.
pub(super) fn list(options: &Options) -> Result<(Vec<FoundFile>, bool), Failure> {
    let mut files = Vec::new();
    let mut failed = false;
    for entry in walk(options)?.build() {
        match entry {
            Ok(entry) => files.extend(FoundFile::of(entry)),
            Err(error) => {
                failed = true;
                if !options.output.without_messages {
                    report("rg", &error.to_string());
                }
            }
        }
    }
    if let Some((key, reversed)) = options.walk.sort {
        sort(&mut files, key, reversed);
    }
    Ok((files, failed))
}

fn sort(files: &mut [FoundFile], key: SortKey, reversed: bool) {
    let time = |file: &FoundFile| -> Option<SystemTime> {
        let metadata: Metadata = file.path.metadata().ok()?;
        match key {
            SortKey::Path => None,
            SortKey::Modified => metadata.modified().ok(),
            SortKey::Accessed => metadata.accessed().ok(),
            SortKey::Created => metadata.created().ok(),
        }
    };
    files.sort_by_cached_key(|file| (time(file), file.path.clone()));
    if reversed {
        files.reverse();
    }
}

/// Returns a path as it is printed: without the `./` of the implied directory.
pub(super) fn shown<'path>(path: &'path Path, options: &Options) -> &'path Path {
    if options.paths.is_empty() {
        path.strip_prefix(IMPLIED).unwrap_or(path)
    } else {
        path
    }
}

/// The directory that is searched if the command line names none.
const IMPLIED: &str = "./";

/// Returns the walk over all paths of the command line.
pub(super) fn walk(options: &Options) -> Result<WalkBuilder, Failure> {
    // Stdin is read separately.
    let mut paths = options.paths.iter().filter(|path| *path != Path::new("-"));
    let first = paths.next().map_or(Path::new(IMPLIED), PathBuf::as_path);
    let mut builder = WalkBuilder::new(first);
    for path in paths {
        builder.add(path);
    }
    let walk = &options.walk;
    let with_ignore = !walk.without_ignore;
    let with_vcs = with_ignore && !walk.without_vcs_ignore;
    builder
        .hidden(!walk.hidden)
        .parents(with_ignore && !walk.without_parent_ignore)
        .ignore(with_ignore && !walk.without_dot_ignore)
        .git_ignore(with_vcs)
        .git_exclude(with_vcs)
        .git_global(with_vcs && !walk.without_global_ignore)
        .require_git(!walk.without_git)
        .follow_links(walk.follow)
        .same_file_system(walk.one_file_system)
        .max_depth(walk.max_depth)
        .max_filesize(walk.max_filesize)
        .threads(walk.threads)
        .overrides(overrides(walk)?)
        .types(types(walk)?);
    if with_ignore && !walk.without_dot_ignore {
        builder.add_custom_ignore_filename(".rgignore");
    }
    for file in &walk.ignore_files {
        if let Some(error) = builder.add_ignore(file) {
            report("rg", &error.to_string());
        }
    }
    if walk.sort == Some((SortKey::Path, false)) {
        builder.sort_by_file_name(Ord::cmp);
    }
    Ok(builder)
}

fn overrides(walk: &WalkOptions) -> Result<ignore::overrides::Override, String> {
    let mut builder = OverrideBuilder::new(".");
    let problem = |error: ignore::Error| error.to_string();
    for (glob, ignores_case) in &walk.globs {
        builder
            .case_insensitive(*ignores_case || walk.globs_ignore_case)
            .and_then(|builder| builder.add(glob))
            .map_err(problem)?;
    }
    builder.build().map_err(problem)
}

fn types(walk: &WalkOptions) -> Result<ignore::types::Types, String> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    for change in &walk.types {
        match change {
            TypeChange::Select(name) => {
                builder.select(name);
            }
            TypeChange::Negate(name) => {
                builder.negate(name);
            }
            TypeChange::Add(definition) => {
                let added = builder.add_def(definition);
                added.map_err(|error| error.to_string())?;
            }
        }
    }
    builder.build().map_err(|error| error.to_string())
}
