//! `fd`: finds files by name.

mod execute;
mod filter;
mod options;

use std::ffi::OsString;
use std::io::{BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use ignore::overrides::OverrideBuilder;

use crate::{FOUND, Failure, NOT_FOUND, report};
use filter::Filter;
use options::{FLAGS, Options};

/// The directory that is searched if the command line names none.
const CURRENT: &str = "./";

/// Runs the command.
pub(crate) fn run(words: Vec<OsString>, mut stdout: Stdout) -> Result<u8, Failure> {
    let options = Options::parse(words)?;
    if options.output.help {
        writeln!(
            stdout,
            "usage: fd [OPTIONS] [PATTERN] [PATH ...]\n\n{}",
            crate::flags::list(FLAGS)
        )?;
        return Ok(FOUND);
    }
    if options.output.version {
        writeln!(stdout, "fd of pi {}", env!("CARGO_PKG_VERSION"))?;
        return Ok(FOUND);
    }
    if let Some(directory) = &options.base_directory {
        std::env::set_current_dir(directory)
            .map_err(|error| format!("{}: {error}", directory.display()))?;
    }
    let (found, failed) = find(&options)?;
    let output = &options.output;
    if output.quiet {
        return Ok(if found.is_empty() { NOT_FOUND } else { FOUND });
    }
    if let Some(command) = &output.command {
        return Ok(execute::each(command, &found));
    }
    if let Some(command) = &output.batch_command {
        return Ok(execute::batch(command, &found));
    }
    let mut writer = BufWriter::new(stdout);
    let end: &[u8] = if output.null { b"\0" } else { b"\n" };
    for path in &found {
        writer.write_all(path.as_os_str().as_encoded_bytes())?;
        writer.write_all(end)?;
    }
    writer.flush()?;
    Ok(u8::from(failed))
}

/// Returns the paths in order as they are printed, and whether some places could not be read.
fn find(options: &Options) -> Result<(Vec<PathBuf>, bool), Failure> {
    let filter = Filter::new(&options.matching)?;
    let limit = options.output.max_results.unwrap_or(usize::MAX);
    let mut found = Vec::new();
    let mut failed = false;
    for entry in walk(options)?.build() {
        match entry {
            Ok(entry) if filter.accepts(&entry) => {
                found.push(shown(&entry, options)?);
                if found.len() >= limit {
                    break;
                }
            }
            Ok(_) => {}
            Err(error) => {
                failed = true;
                report("fd", &error.to_string());
            }
        }
    }
    Ok((found, failed))
}

/// Returns a path as it is printed: directories end with a slash, and the current directory is not named unless another
/// program reads the path.
fn shown(entry: &ignore::DirEntry, options: &Options) -> Result<PathBuf, String> {
    let output = &options.output;
    let runs = output.command.is_some() || output.batch_command.is_some();
    let keeps_prefix = output.keeps_prefix.unwrap_or(output.null || runs);
    let mut path = match entry.path() {
        path if output.absolute => {
            std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))?
        }
        path if keeps_prefix || !options.paths.is_empty() => path.to_owned(),
        path => path.strip_prefix(CURRENT).unwrap_or(path).to_owned(),
    };
    if entry.file_type().is_some_and(|kind| kind.is_dir()) && !runs {
        path.push("");
    }
    Ok(path)
}

fn walk(options: &Options) -> Result<WalkBuilder, String> {
    let mut paths = options.paths.iter();
    let first = paths.next().map_or(Path::new(CURRENT), PathBuf::as_path);
    for path in &options.paths {
        if !path.is_dir() {
            return Err(format!("{} is not a directory", path.display()));
        }
    }
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
        .ignore(with_ignore)
        .git_ignore(with_vcs)
        .git_exclude(with_vcs)
        .git_global(with_vcs)
        .require_git(!walk.without_git)
        .follow_links(walk.follow)
        .same_file_system(walk.one_file_system)
        .max_depth(walk.max_depth)
        .sort_by_file_name(Ord::cmp);
    if with_ignore {
        builder.add_custom_ignore_filename(".fdignore");
    }
    let mut excluded = OverrideBuilder::new(".");
    for glob in &walk.excluded {
        let added = excluded.add(&format!("!{glob}"));
        added.map_err(|error| error.to_string())?;
    }
    builder.overrides(excluded.build().map_err(|error| error.to_string())?);
    for file in &walk.ignore_files {
        if let Some(error) = builder.add_ignore(file) {
            report("fd", &error.to_string());
        }
    }
    Ok(builder)
}
