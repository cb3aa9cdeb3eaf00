//! The files of a package: the binary, its version, completions, the page for `man`, license and changelog.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tar::EntryType;

use super::platforms::Platform;
use super::{ReleaseVersion, packaged};

/// The version that the binary reported when it was packaged: one for another platform cannot be asked later.
const VERSION: &str = "VERSION";

/// A file of a package.
#[derive(Debug, Clone)]
pub(super) struct PackagedFile {
    /// Relative, with slashes.
    pub(super) path: String,
    pub(super) mode: u32,
    pub(super) content: Vec<u8>,
}

/// Collects the files of a package. The binary prints its completions and its manual page.
pub(super) fn collect(
    binary: &Path,
    platform: &Platform,
    version: &ReleaseVersion,
    root: &Path,
) -> Result<Vec<PackagedFile>> {
    let read =
        |path: &Path| fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    let name = if platform.is_windows() {
        "pi.exe"
    } else {
        "pi"
    };
    let mut files = vec![
        packaged(name, 0o755, read(binary)?),
        packaged(VERSION, 0o644, format!("{}\n", version.0).into_bytes()),
    ];
    for (path, arguments) in [
        ("completions/pi.bash", ["completions", "bash"]),
        ("completions/_pi", ["completions", "zsh"]),
        ("completions/pi.fish", ["completions", "fish"]),
        ("man/pi.1", ["docs", "--man"]),
    ] {
        let output = Command::new(binary).args(arguments).output()?;
        ensure!(
            output.status.success(),
            "{} {} failed: {}",
            binary.display(),
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr)
        );
        files.push(packaged(path, 0o644, output.stdout));
    }
    for file in ["LICENSE", "README.md", "CHANGELOG.md"] {
        files.push(packaged(file, 0o644, read(&root.join(file))?));
    }
    Ok(files)
}

/// Fails if an archive was not made from a binary of this version.
pub(super) fn check_version(archive: &[u8], version: &ReleaseVersion) -> Result<()> {
    let mut archive = tar::Archive::new(GzDecoder::new(archive));
    for entry in archive.entries()? {
        let mut entry = entry?;
        if !entry.path()?.ends_with(VERSION) {
            continue;
        }
        let mut packaged = String::new();
        entry.read_to_string(&mut packaged)?;
        let packaged = packaged.trim();
        ensure!(
            packaged == version.0,
            "it contains pi {packaged}, but this is the source of {}",
            version.0
        );
        return Ok(());
    }
    bail!("it has no file {VERSION}\nhint: make it with `cargo xtask package`")
}

/// Returns a compressed archive of files below one directory. Equal files give equal archives.
///
/// Directories have entries: dpkg does not create them otherwise.
pub(super) fn archive(directory: &str, files: &[PackagedFile]) -> Result<Vec<u8>> {
    let directory = if directory.is_empty() { "." } else { directory };
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    let mut created = BTreeSet::new();
    for file in files {
        let path = format!("{directory}/{}", file.path);
        for (at, _) in path.match_indices('/') {
            let parent = path.get(..=at).unwrap_or_default().to_owned();
            if created.insert(parent.clone()) {
                append(&mut builder, &parent, 0o755, EntryType::Directory, &[])?;
            }
        }
        append(
            &mut builder,
            &path,
            file.mode,
            EntryType::Regular,
            &file.content,
        )?;
    }
    Ok(builder.into_inner()?.finish()?)
}

fn append(
    builder: &mut tar::Builder<impl Write>,
    path: &str,
    mode: u32,
    kind: EntryType,
    content: &[u8],
) -> Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_mode(mode);
    header.set_size(content.len() as u64);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_entry_type(kind);
    Ok(builder.append_data(&mut header, path, content)?)
}
