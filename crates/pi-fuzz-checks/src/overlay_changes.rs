//! What a tried command has left in its overlay. Each line creates an entry: a letter for what it is, and its path.

/// Checks that the changes that are found make the directory below an overlay what the command saw.
#[cfg(target_os = "linux")]
pub fn overlay_changes(data: &[u8]) {
    linux::overlay_changes(data);
}

/// There are no overlays.
#[cfg(not(target_os = "linux"))]
pub fn overlay_changes(_data: &[u8]) {}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;
    use std::fs::{self, DirBuilder, File, FileType};
    use std::io;
    use std::os::unix::fs::FileTypeExt as _;
    use std::path::{Path, PathBuf};

    use pi_sandbox::fuzz_support::{self, create_whiteout, make_opaque};
    use pi_sandbox::{TriedChange, TriedChangeKind};
    use pretty_assertions::assert_eq;

    use crate::temp_files;

    /// Entries of both directories.
    const MAX_LINES: usize = 32;

    const MAX_DEPTH: usize = 4;

    const NAMES: [&str; 4] = ["a", "b", "c", "d"];

    /// The entries of a directory with their contents; `None` for directories.
    type Tree = BTreeMap<PathBuf, Option<Vec<u8>>>;

    pub(super) fn overlay_changes(data: &[u8]) {
        let base = temp_files::dir().canonicalize().unwrap().join("overlay");
        if base.exists() {
            fs::remove_dir_all(&base).unwrap();
        }
        let [upper, lower] = ["upper", "lower"].map(|name| base.join(name));
        for directory in [&upper, &lower] {
            fs::create_dir_all(directory).unwrap();
        }
        let mut opaque = Vec::new();
        for line in data.split(|byte| *byte == b'\n').take(MAX_LINES) {
            if let Some((kind, path)) = line.split_first() {
                // An entry cannot be below a file, for example.
                create(*kind, &relative(path), [&upper, &lower], &mut opaque).ok();
            }
        }
        let changes = fuzz_support::overlay_changes(&upper, &lower).unwrap();
        let mut before = Tree::new();
        read(&lower, Path::new(""), &mut before);
        let mut expected = Tree::new();
        merge(&upper, Some(&lower), Path::new(""), &opaque, &mut expected);
        assert_eq!(apply(before, &changes, &lower), expected, "{changes:#?}");
    }

    fn relative(path: &[u8]) -> PathBuf {
        if path.is_empty() {
            return PathBuf::new();
        }
        let parts = path.split(|byte| *byte == b'/').take(MAX_DEPTH);
        let name =
            |part: &[u8]| NAMES[part.iter().map(|byte| usize::from(*byte)).sum::<usize>() % 4];
        parts.map(name).collect()
    }

    fn create(
        kind: u8,
        relative: &Path,
        [upper, lower]: [&Path; 2],
        opaque: &mut Vec<PathBuf>,
    ) -> io::Result<()> {
        let path = if kind.is_ascii_lowercase() {
            upper.join(relative)
        } else {
            lower.join(relative)
        };
        DirBuilder::new()
            .recursive(true)
            .create(path.parent().unwrap_or(&path))?;
        match kind {
            b'd' | b'D' => fs::create_dir(&path),
            b'w' => create_whiteout(&path),
            b'o' => {
                DirBuilder::new().recursive(true).create(&path)?;
                make_opaque(&path)?;
                opaque.push(relative.to_owned());
                Ok(())
            }
            other => io::Write::write_all(&mut File::create_new(&path)?, &[other]),
        }
    }

    /// Reads everything below a path.
    fn read(directory: &Path, relative: &Path, tree: &mut Tree) {
        for (name, kind) in entries(&directory.join(relative)) {
            let path = relative.join(name);
            if kind.is_dir() {
                tree.insert(path.clone(), None);
                read(directory, &path, tree);
            } else {
                let contents = fs::read(directory.join(&path)).unwrap();
                tree.insert(path, Some(contents));
            }
        }
    }

    /// Reads a directory as an overlay shows it.
    fn merge(upper: &Path, lower: Option<&Path>, at: &Path, opaque: &[PathBuf], tree: &mut Tree) {
        let lower = lower.filter(|_| !opaque.iter().any(|path| path == at));
        let below = lower.map_or_else(BTreeMap::new, |lower| entries(&lower.join(at)));
        let above = entries(&upper.join(at));
        for (name, kind) in &below {
            if !above.contains_key(name) {
                let path = at.join(name);
                if kind.is_dir() {
                    tree.insert(path.clone(), None);
                    read(lower.unwrap(), &path, tree);
                } else {
                    let contents = fs::read(lower.unwrap().join(&path)).unwrap();
                    tree.insert(path, Some(contents));
                }
            }
        }
        for (name, kind) in above {
            let path = at.join(&name);
            if kind.is_dir() {
                tree.insert(path.clone(), None);
                let is_merged = below.get(&name).is_some_and(FileType::is_dir);
                merge(upper, lower.filter(|_| is_merged), &path, opaque, tree);
            } else if !kind.is_char_device() {
                let contents = fs::read(upper.join(&path)).unwrap();
                tree.insert(path, Some(contents));
            }
        }
    }

    fn entries(directory: &Path) -> BTreeMap<PathBuf, FileType> {
        let entries = fs::read_dir(directory).unwrap().map(Result::unwrap);
        let entries = entries.map(|entry| (entry.file_name().into(), entry.file_type().unwrap()));
        entries.collect()
    }

    fn apply(mut tree: Tree, changes: &[TriedChange], lower: &Path) -> Tree {
        for change in changes {
            let path = change.path.strip_prefix(lower).unwrap();
            let is_kept_directory = change.is_directory
                && change.kind != TriedChangeKind::Deleted
                && tree.get(path) == Some(&None);
            if is_kept_directory {
                continue;
            }
            let is_known = tree.contains_key(path);
            assert_eq!(
                is_known,
                change.kind != TriedChangeKind::Created,
                "{change:?}"
            );
            tree.retain(|known, _| !known.starts_with(path));
            if change.kind != TriedChangeKind::Deleted {
                let contents =
                    (!change.is_directory).then(|| fs::read(&change.tried_path).unwrap());
                tree.insert(path.to_owned(), contents);
            }
        }
        tree
    }
}
