//! The overlays of a tried command: where they are stored, and what is in them. They are mounted by the helper (`mounts`).

mod apply;
mod changes;
mod directory;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, FlockOperation, Timespec, Timestamps, UTIME_OMIT};
use serde::{Deserialize, Serialize};

use crate::attempt::{ApplyStep, KeptChanges, TriedChange};
use crate::policy::Policy;
use crate::sandbox::SandboxError;
use directory::{Directory, FileStatus};

/// Why changes in deeply nested directories are not listed or applied.
fn too_deep() -> io::Error {
    io::Error::other(format!("more than {MAX_DEPTH} directories are nested"))
}

/// Name of the directory with the overlays of all sessions.
const STORAGE: &str = "try";

/// A file that is locked while its overlays are used.
const LOCK: &str = "lock";

/// `statfs` type of overlays, which cannot store other overlays.
const OVERLAY_FILE_SYSTEM: rustix::fs::FsWord = 0x794c_7630;

/// Directories that may be nested: each level takes two descriptors and a part of the stack.
const MAX_DEPTH: usize = 200;

/// Further places for overlays, if they cannot be in the user's directory.
const OTHER_PLACES: [&str; 3] = ["/var/tmp", "/tmp", "/dev/shm"];

/// A directory that the command sees with its own changes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Overlay {
    pub(super) root: PathBuf,
    /// Contains the changes.
    pub(super) upper: PathBuf,
    /// Used by the kernel.
    pub(super) work: PathBuf,
    /// Whether its changes can be kept.
    is_kept: bool,
}

#[derive(Debug)]
pub(crate) struct Overlays {
    storage: PathBuf,
    directories: Vec<Overlay>,
    /// When the command could start.
    started: Timespec,
    _lock: File,
}

impl Overlays {
    /// Creates empty overlays for the directories of a policy.
    pub(crate) fn create(policy: &Policy, agent_dir: &Path) -> Result<Self, SandboxError> {
        let roots = overlay_roots(policy);
        let places = std::iter::once(agent_dir.join(STORAGE));
        let places = places.chain(OTHER_PLACES.map(PathBuf::from));
        // The kernel refuses an overlay that is stored in one of its own layers.
        let mut places = places.filter(|place| {
            !roots.iter().any(|(root, _)| place.starts_with(root)) && can_store_overlays(place)
        });
        let place = places.next().ok_or_else(|| {
            SandboxError::Unsupported("there is no directory that can store overlays".to_owned())
        })?;
        Ok(Self::create_in(&place, roots)?)
    }

    fn create_in(place: &Path, roots: Vec<(PathBuf, bool)>) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let place = place.canonicalize()?;
        remove_leftovers(&place);
        let storage = loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("{PREFIX}{}-{number}", std::process::id());
            let storage = place.join(name);
            match fs::DirBuilder::new().mode(0o700).create(&storage) {
                Ok(()) => break storage,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        };
        let lock = File::create_new(storage.join(LOCK))?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        let mut overlays = Vec::new();
        for (index, (root, is_kept)) in roots.into_iter().enumerate() {
            let directory = storage.join(index.to_string());
            let [upper, work] = ["upper", "work"].map(|name| directory.join(name));
            fs::create_dir(&directory)?;
            fs::create_dir(&work)?;
            fs::create_dir(&upper)?;
            imitate(&upper, &root)?;
            overlays.push(Overlay {
                root,
                upper,
                work,
                is_kept,
            });
        }
        Ok(Self {
            storage,
            directories: overlays,
            // A file has the clock of file times, which is between the clocks of the system.
            started: FileStatus(rustix::fs::fstat(&lock)?).changed(),
            _lock: lock,
        })
    }

    pub(super) fn list(&self) -> &[Overlay] {
        &self.directories
    }

    fn kept(&self) -> impl Iterator<Item = (usize, &Overlay)> {
        let overlays = self.directories.iter().enumerate();
        overlays.filter(|(_, overlay)| overlay.is_kept)
    }

    pub(crate) fn changes(&self) -> io::Result<Vec<TriedChange>> {
        let mut found = Vec::new();
        for (index, overlay) in self.kept() {
            found.append(&mut changes::find(index, overlay)?.changes);
        }
        Ok(found)
    }

    pub(crate) fn keep(
        &self,
        selected: &[TriedChange],
        policy: &Policy,
        perform: &mut dyn FnMut(&Path, ApplyStep<'_>) -> io::Result<()>,
    ) -> io::Result<KeptChanges> {
        let mut kept = KeptChanges::default();
        for (index, overlay) in self.kept() {
            let found = changes::find(index, overlay)?;
            let selected = selected.iter().filter(|change| change.overlay == index);
            let selected: BTreeSet<&Path> = selected.map(|change| change.path.as_path()).collect();
            apply::Application {
                overlay,
                policy,
                started: self.started,
                perform,
                kept: &mut kept,
                placed: BTreeMap::new(),
            }
            .run(&found, &selected)?;
        }
        Ok(kept)
    }
}

impl Drop for Overlays {
    fn drop(&mut self) {
        // What is left is removed before the next command is tried.
        remove(&self.storage).ok();
    }
}

/// Start of the names of directories with overlays.
const PREFIX: &str = "pi-try-";

/// Removes the overlays of processes that were killed.
fn remove_leftovers(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if !name.to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let path = entry.path();
        let is_ours = path.symlink_metadata().is_ok_and(|metadata| {
            metadata.is_dir() && metadata.uid() == rustix::process::geteuid().as_raw()
        });
        if !is_ours {
            continue;
        }
        let lock = File::open(path.join(LOCK));
        let is_unused = lock.is_ok_and(|lock| {
            rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok()
        });
        if is_unused {
            remove(&path).ok();
        }
    }
}

fn remove(directory: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (directory.parent(), directory.file_name()) else {
        return Ok(());
    };
    Directory::open_path(parent)?.remove_directory(name)
}

/// Whether a directory exists, or can be created, on a file system that stores overlays.
fn can_store_overlays(place: &Path) -> bool {
    if place.file_name() == Some(OsStr::new(STORAGE)) {
        // An error shows when it is used.
        fs::DirBuilder::new().mode(0o700).create(place).ok();
    }
    rustix::fs::access(
        place,
        rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK,
    )
    .is_ok()
        && rustix::fs::statfs(place).is_ok_and(|status| status.f_type != OVERLAY_FILE_SYSTEM)
}

/// Returns the directories that get an overlay, parents first, and whether their changes can be kept. A directory below one
/// whose changes can be kept belongs to it.
fn overlay_roots(policy: &Policy) -> Vec<(PathBuf, bool)> {
    let mut roots: Vec<(PathBuf, bool)> = Vec::new();
    let kept = policy.write.iter().map(|path| (path, true));
    for (path, is_kept) in kept.chain(policy.scratch.iter().map(|path| (path, false))) {
        let is_covered = roots
            .iter()
            .any(|(root, root_is_kept)| path.starts_with(root) && (*root_is_kept || !is_kept));
        if !is_covered && path.is_dir() {
            roots.push((path.clone(), is_kept));
        }
    }
    // Also sorts nested caches after the directories around them, which cover them.
    roots.sort();
    let all = roots.clone();
    roots.retain(|(path, is_kept)| {
        !all.iter().any(|(root, root_is_kept)| {
            root != path && path.starts_with(root) && (*root_is_kept || !is_kept)
        })
    });
    roots
}

/// Compares the directory of an overlay with the one below it.
pub(crate) fn overlay_changes(upper: &Path, root: &Path) -> io::Result<Vec<TriedChange>> {
    let overlay = Overlay {
        root: root.to_owned(),
        upper: upper.to_owned(),
        work: PathBuf::new(),
        is_kept: true,
    };
    Ok(changes::find(0, &overlay)?.changes)
}

/// Gives an empty directory the owner, permissions and times of another one, which an overlay shows instead.
fn imitate(directory: &Path, original: &Path) -> io::Result<()> {
    let metadata = original.metadata()?;
    // Only root may.
    std::os::unix::fs::chown(directory, Some(metadata.uid()), Some(metadata.gid())).ok();
    fs::set_permissions(
        directory,
        fs::Permissions::from_mode(metadata.mode() & 0o7777),
    )?;
    let modified = Timespec {
        tv_sec: metadata.mtime(),
        tv_nsec: metadata.mtime_nsec(),
    };
    let times = Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        },
        last_modification: modified,
    };
    rustix::fs::utimensat(rustix::fs::CWD, directory, &times, AtFlags::empty())?;
    Ok(())
}
