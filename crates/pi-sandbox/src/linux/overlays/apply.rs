//! Applies the changes in an overlay to the directory below it. Files are moved where possible; everything is reached through
//! descriptors of directories, without following links.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, Uid};
use rustix::io::Errno;

use super::changes::FoundChanges;
use super::directory::{Directory, FileStatus, copy_attributes};
use super::{MAX_DEPTH, Overlay, too_deep};
use crate::attempt::{ApplyStep, FailedChange, KeptChanges, TriedChange, TriedChangeKind};
use crate::policy::Policy;

/// Name of a file that is complete only when it is renamed.
const UNFINISHED: &str = ".pi-try-unfinished";

pub(super) struct Application<'apply> {
    pub(super) overlay: &'apply Overlay,
    pub(super) policy: &'apply Policy,
    pub(super) started: Timespec,
    pub(super) perform: &'apply mut dyn FnMut(&Path, ApplyStep<'_>) -> io::Result<()>,
    pub(super) kept: &'apply mut KeptChanges,
    /// Files with several names that were copied, by device and number.
    pub(super) placed: BTreeMap<(u64, u64), PathBuf>,
}

impl Application<'_> {
    pub(super) fn run(
        mut self,
        found: &FoundChanges,
        selected: &BTreeSet<&Path>,
    ) -> io::Result<()> {
        let upper = Directory::open_path(&self.overlay.upper)?;
        let lower = Directory::open_path(&self.overlay.root)?;
        let mut is_complete = true;
        let mut directories = BTreeSet::new();
        // A created directory is needed for what is below it.
        let directories_of_selected: BTreeSet<&Path> = selected
            .iter()
            .flat_map(|path| path.ancestors().skip(1))
            .collect();
        // First, because applying a change also changes other names of the same file.
        let is_changed = |change: &&TriedChange| {
            let is_selected = selected.contains(change.path.as_path());
            self.is_changed_since(change, &lower, is_selected)
        };
        let changed_since: BTreeSet<&Path> = found
            .changes
            .iter()
            .filter(is_changed)
            .map(|change| change.path.as_path())
            .collect();
        for change in &found.changes {
            let is_needed = change.is_directory
                && change.kind != TriedChangeKind::Deleted
                && directories_of_selected.contains(change.path.as_path());
            if !selected.contains(change.path.as_path()) && !is_needed {
                is_complete = false;
                continue;
            }
            if change
                .path
                .ancestors()
                .any(|path| changed_since.contains(path))
            {
                is_complete = false;
                self.kept.changed_since.push(change.path.clone());
                continue;
            }
            let relative = self.relative(change);
            match self.apply(change, relative, &upper, &lower) {
                Ok(true) => {
                    if change.is_directory {
                        directories.insert(relative);
                    }
                    self.kept.kept.push(change.path.clone());
                }
                Ok(false) => is_complete = false,
                Err(error) => {
                    is_complete = false;
                    let path = change.path.clone();
                    self.kept.failed.push(FailedChange { path, error });
                }
            }
        }
        // Times of directories last: they change with their entries.
        for (relative, status) in found.directories.iter().rev() {
            if is_complete || directories.contains(relative.as_path()) {
                let is_set = lower.open_below(relative).and_then(|directory| {
                    copy_attributes(&upper.open_below(relative)?, &directory)?;
                    set_attributes(&directory, status)
                });
                if let Err(error) = is_set {
                    let path = self.overlay.root.join(relative);
                    self.kept.failed.push(FailedChange { path, error });
                }
            }
        }
        Ok(())
    }

    fn relative<'change>(&self, change: &'change TriedChange) -> &'change Path {
        let relative = change.path.strip_prefix(&self.overlay.root);
        relative.unwrap_or(&change.path)
    }

    /// Whether something else has changed a path after the command was started. If it is a directory that would be deleted, so
    /// would everything below it, which is examined, too.
    fn is_changed_since(&self, change: &TriedChange, lower: &Directory, is_selected: bool) -> bool {
        let relative = self.relative(change);
        let (Some(parent), Some(name)) = (relative.parent(), relative.file_name()) else {
            return false;
        };
        // If its directory does not exist, or is something else, that is a change, too.
        let Ok(parent) = lower.open_below(parent) else {
            return false;
        };
        let Ok(Some(old)) = parent.status(name) else {
            return false;
        };
        // The time of a directory changes with its entries, which are compared one by one.
        let is_merged =
            old.is_directory() && change.is_directory && change.kind == TriedChangeKind::Modified;
        if is_merged {
            return false;
        }
        old.changed() > self.started
            || (is_selected
                && old.is_directory()
                && is_changed_below(&parent, name, self.started, 0).unwrap_or(true))
    }

    /// Applies a change; returns whether it may be applied.
    fn apply(
        &mut self,
        change: &TriedChange,
        relative: &Path,
        upper: &Directory,
        lower: &Directory,
    ) -> io::Result<bool> {
        let parent = relative.parent().unwrap_or(Path::new(""));
        let name = relative.file_name().unwrap_or_default();
        let lower_parent = lower.open_below(parent)?;
        let old = lower_parent.status(name)?;
        let is_merged = change.is_directory
            && change.kind == TriedChangeKind::Modified
            && old.is_some_and(|old| old.is_directory());
        let contains_protected = |protected: &PathBuf| {
            protected.starts_with(&change.path) && protected.symlink_metadata().is_ok()
        };
        let becomes_file = !change.is_directory && change.kind != TriedChangeKind::Deleted;
        if self.policy.is_protected(&change.path)
            || (becomes_file && self.policy.is_above_protected(&change.path))
            || (!is_merged && self.policy.protect.iter().any(contains_protected))
        {
            self.kept.protected.push(change.path.clone());
            return Ok(false);
        }
        let path = &change.path;
        if change.kind == TriedChangeKind::Deleted {
            self.delete(&lower_parent, name, path, 0)?;
            return Ok(true);
        }
        let upper_parent = upper.open_below(parent)?;
        let Some(new) = upper_parent.status(name)? else {
            return Err(io::ErrorKind::NotFound.into());
        };
        match old {
            Some(old) if old.is_directory() && !new.is_directory() => {
                self.delete(&lower_parent, name, path, 0)?;
            }
            Some(old) if !old.is_directory() && new.is_directory() => {
                self.delete(&lower_parent, name, path, 0)?;
            }
            _ => {}
        }
        let placed = &mut self.placed;
        let relative = relative.to_owned();
        (self.perform)(path, &mut || {
            let place = Place {
                upper: &upper_parent,
                lower: &lower_parent,
                root: lower,
                name,
                relative: &relative,
            };
            place.put(&new, placed)
        })?;
        Ok(true)
    }

    /// Deletes a path with everything below it, one by one.
    fn delete(
        &mut self,
        parent: &Directory,
        name: &OsStr,
        path: &Path,
        depth: usize,
    ) -> io::Result<()> {
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
        let Some(status) = parent.status(name)? else {
            return Ok(());
        };
        let mut flags = AtFlags::empty();
        if status.is_directory() {
            flags = AtFlags::REMOVEDIR;
            let directory = parent.open_readable(name)?;
            for child in directory.names()? {
                self.delete(&directory, &child, &path.join(&child), depth + 1)?;
            }
        }
        (self.perform)(path, &mut || Ok(rustix::fs::unlinkat(parent, name, flags)?))
    }
}

/// Whether something below a directory was changed after a moment.
fn is_changed_below(
    parent: &Directory,
    name: &OsStr,
    started: Timespec,
    depth: usize,
) -> io::Result<bool> {
    if depth > MAX_DEPTH {
        return Err(too_deep());
    }
    let directory = parent.open_readable(name)?;
    for child in directory.names()? {
        let Some(status) = directory.status(&child)? else {
            continue;
        };
        if status.changed() > started
            || (status.is_directory() && is_changed_below(&directory, &child, started, depth + 1)?)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Where an entry of an overlay is put.
struct Place<'place> {
    upper: &'place Directory,
    lower: &'place Directory,
    root: &'place Directory,
    name: &'place OsStr,
    relative: &'place Path,
}

impl Place<'_> {
    fn put(&self, new: &FileStatus, placed: &mut BTreeMap<(u64, u64), PathBuf>) -> io::Result<()> {
        match new.kind() {
            FileType::Directory => {
                match rustix::fs::mkdirat(self.lower, self.name, Mode::RWXU) {
                    // Only its attributes change, in the end.
                    Err(Errno::EXIST) => Ok(()),
                    Err(error) => Err(error.into()),
                    // Without the restrictions that would keep its contents out.
                    Ok(()) => {
                        let mode = new.mode() | Mode::RWXU;
                        let flags = AtFlags::empty();
                        Ok(rustix::fs::chmodat(self.lower, self.name, mode, flags)?)
                    }
                }
            }
            FileType::RegularFile => self.put_file(new, placed),
            FileType::Symlink => self.put_link(new),
            FileType::Fifo => {
                self.remove_old()?;
                rustix::fs::mknodat(self.lower, self.name, FileType::Fifo, new.mode(), 0)?;
                self.set_times(new)
            }
            _ => Err(io::Error::other("not a file, a directory or a link")),
        }
    }

    fn remove_old(&self) -> io::Result<()> {
        match rustix::fs::unlinkat(self.lower, self.name, AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(()),
            removed => Ok(removed?),
        }
    }

    fn put_file(
        &self,
        new: &FileStatus,
        placed: &mut BTreeMap<(u64, u64), PathBuf>,
    ) -> io::Result<()> {
        match self.upper.remove_overlay_attributes(self.name) {
            // Attributes can be removed only from files that can be written.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let flags = AtFlags::empty();
                let writable = Mode::RUSR | Mode::WUSR;
                rustix::fs::chmodat(self.upper, self.name, writable, flags)?;
                self.upper.remove_overlay_attributes(self.name)?;
                rustix::fs::chmodat(self.upper, self.name, new.mode(), flags)?;
            }
            removed => removed?,
        }
        match rustix::fs::renameat(self.upper, self.name, self.lower, self.name) {
            Err(Errno::XDEV) => {}
            renamed => return Ok(renamed?),
        }
        let number = (new.0.st_dev, new.0.st_ino);
        let other_name = placed.get(&number).filter(|_| new.0.st_nlink > 1);
        if let Some(other) = other_name {
            self.remove_old()?;
            let flags = AtFlags::empty();
            rustix::fs::linkat(self.root, other, self.lower, self.name, flags)?;
            return Ok(());
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = || rustix::fs::openat(self.upper, self.name, flags, Mode::empty());
        let source = match open() {
            Err(Errno::ACCESS) => {
                rustix::fs::chmodat(self.upper, self.name, Mode::RUSR, AtFlags::empty())?;
                open()
            }
            opened => opened,
        };
        let (unfinished, mut target) = self.create_unfinished()?;
        let mut source = File::from(source?);
        let copied = io::copy(&mut source, &mut target)
            .and_then(|_| copy_attributes(&source, &target))
            .and_then(|()| set_attributes(&target, new))
            .and_then(|()| {
                rustix::fs::renameat(self.lower, &unfinished, self.lower, self.name)?;
                Ok(())
            });
        if copied.is_err() {
            rustix::fs::unlinkat(self.lower, &unfinished, AtFlags::empty()).ok();
        }
        copied?;
        placed.insert(number, self.relative.to_owned());
        Ok(())
    }

    fn create_unfinished(&self) -> io::Result<(OsString, File)> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        for number in 0_u32.. {
            let name = OsString::from(format!("{UNFINISHED}-{number}"));
            match rustix::fs::openat(self.lower, &name, flags, Mode::RUSR | Mode::WUSR) {
                Ok(file) => return Ok((name, file.into())),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn put_link(&self, new: &FileStatus) -> io::Result<()> {
        let target = rustix::fs::readlinkat(self.upper, self.name, Vec::new())?;
        self.remove_old()?;
        rustix::fs::symlinkat(target.as_c_str(), self.lower, self.name)?;
        self.set_times(new)
    }

    /// Sets the time and, as root, the owner of an entry that cannot be opened.
    fn set_times(&self, new: &FileStatus) -> io::Result<()> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let made = self.lower.status(self.name)?;
        if made.is_some_and(|made| !made.has_same_owner(new)) {
            let (user, group) = owner(new);
            rustix::fs::chownat(self.lower, self.name, user, group, flags)?;
        }
        Ok(rustix::fs::utimensat(
            self.lower,
            self.name,
            &times(new),
            flags,
        )?)
    }
}

fn owner(status: &FileStatus) -> (Option<Uid>, Option<Gid>) {
    (
        Some(Uid::from_raw(status.0.st_uid)),
        Some(Gid::from_raw(status.0.st_gid)),
    )
}

fn times(status: &FileStatus) -> Timestamps {
    Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        },
        last_modification: status.modified(),
    }
}

/// Gives an open file or directory the owner, permissions and time of another one.
fn set_attributes(file: impl std::os::fd::AsFd, status: &FileStatus) -> io::Result<()> {
    let current = FileStatus(rustix::fs::fstat(&file)?);
    if !current.has_same_owner(status) {
        let (user, group) = owner(status);
        rustix::fs::fchown(&file, user, group)?;
    }
    if !FileStatus(rustix::fs::fstat(&file)?).has_same_owner_and_mode(status) {
        rustix::fs::fchmod(&file, status.mode())?;
    }
    if current.modified() != status.modified() {
        rustix::fs::futimens(&file, &times(status))?;
    }
    Ok(())
}
