//! The mounts that a confined program sees: everything read-only, writable directories on top, protected and hidden paths on
//! top of those. Paths are opened without following links, so that a link that appears meanwhile leads nowhere.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags,
};

use super::confine::{HelperRequest, SetupError};
use super::devices;
use super::frozen::{self, Entry};
use super::mount_plan::{Treatment, plan};
use super::overlays::Overlay;
use super::placeholders::Placeholders;
use super::system_calls::make_read_only;
use crate::Policy;

/// Files of `/proc` that change the kernel; root could write them.
const KERNEL_SETTINGS: [&str; 12] = [
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/irq",
    "/proc/bus",
    "/proc/fs",
    "/proc/acpi",
    "/proc/asound",
    "/proc/driver",
    "/proc/dynamic_debug",
    "/proc/latency_stats",
    "/proc/mtrr",
    "/proc/scsi",
];

/// Sets up the mounts of this namespace.
pub(super) fn set_up(
    request: &HelperRequest,
    placeholders: &Placeholders,
) -> Result<(), SetupError> {
    let private = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
    rustix::mount::mount_change("/", private)
        .map_err(SetupError::at("cannot change mounts in a user namespace"))?;
    let overlays = &request.overlays;
    let is_in_overlay = |path: &Path| {
        overlays
            .iter()
            .any(|overlay| path.starts_with(&overlay.root))
    };
    let mut planned = plan(&request.policy);
    planned.retain(|(path, _)| {
        !placeholders
            .directories()
            .any(|directory| directory == path)
    });
    let (in_overlays, planned): (Vec<_>, Vec<_>) = planned
        .into_iter()
        .partition(|(path, _)| is_in_overlay(path));
    let open_planned = |(path, treatment)| PlannedMount::open(path, treatment, &request.policy);
    let planned: Vec<PlannedMount> = planned
        .into_iter()
        .map(open_planned)
        .collect::<Result<_, _>>()?;
    let overlays: Vec<(&Path, OwnedFd)> = overlays
        .iter()
        .map(|overlay| Ok((overlay.root.as_path(), mount_overlay(overlay)?)))
        .collect::<Result<_, SetupError>>()?;
    let masks = Masks::create().map_err(SetupError::at("cannot create a file system in memory"))?;
    // While the old one is visible: the kernel allows no more than that.
    let proc = new_file_system("proc", &[]).map_err(SetupError::at("cannot mount /proc"))?;
    let devices = devices::Devices::open().map_err(SetupError::at("cannot open devices"))?;

    open(Path::new("/"))
        .and_then(make_read_only)
        .map_err(SetupError::at("cannot make mounts read-only"))?;
    let mounted = planned.iter().filter(|mount| mount.is_directory);
    let mounted = mounted.map(|mount| mount.path.as_path());
    let overlaid = overlays.iter().map(|(root, _)| *root);
    devices
        .mount(mounted.chain(overlaid))
        .map_err(SetupError::at("cannot mount /dev"))?;
    mount_proc(&proc).map_err(SetupError::at("cannot mount /proc"))?;
    for mount in planned {
        mount.attach(&masks)?;
    }
    for (root, overlay) in overlays {
        attach(&overlay, root).map_err(SetupError::at(root.display().to_string()))?;
    }
    // These are parts of an overlay, and opened in it.
    for planned in in_overlays {
        if planned.1 != Treatment::Writable {
            open_planned(planned)?.attach(&masks)?;
        }
    }
    for path in placeholders.directories() {
        // Readable: programs that read the whole workspace must not fail.
        let mounted = masks.clone_entry(EMPTY_DIRECTORY);
        let mounted = mounted.and_then(|mask| attach(&mask, path));
        mounted.map_err(SetupError::at(path.display().to_string()))?;
    }
    Ok(())
}

/// Mounts an overlay nowhere. Its directories are passed as descriptors, because paths may be too long.
fn mount_overlay(overlay: &Overlay) -> Result<OwnedFd, SetupError> {
    let step = format!("cannot try changes of {}", overlay.root.display());
    let mount = || -> io::Result<OwnedFd> {
        let context = rustix::mount::fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
        let layers = [
            ("lowerdir", &overlay.root),
            ("upperdir", &overlay.upper),
            ("workdir", &overlay.work),
        ];
        let mut opened = Vec::new();
        for (name, path) in layers {
            let layer = open(path)?;
            let path = format!("/proc/self/fd/{}", layer.as_raw_fd());
            rustix::mount::fsconfig_set_string(context.as_fd(), name, path)?;
            opened.push(layer);
        }
        rustix::mount::fsconfig_set_flag(context.as_fd(), "userxattr")?;
        rustix::mount::fsconfig_create(context.as_fd())?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        let flags = FsMountFlags::FSMOUNT_CLOEXEC;
        Ok(rustix::mount::fsmount(context.as_fd(), flags, attributes)?)
    };
    mount().map_err(SetupError::at(step))
}

fn mount_proc(proc: &OwnedFd) -> io::Result<()> {
    attach(proc, Path::new("/proc"))?;
    for path in KERNEL_SETTINGS.map(Path::new) {
        if path.exists() {
            let copy = clone_mount(path)?;
            make_read_only(&copy)?;
            attach(&copy, path)?;
        }
    }
    Ok(())
}

/// A path and what will be mounted on it.
struct PlannedMount {
    path: PathBuf,
    treatment: Treatment,
    is_directory: bool,
    /// The path before anything was made read-only; not for hidden paths.
    copy: Option<OwnedFd>,
    /// What a frozen directory contains.
    entries: Vec<Entry>,
}

impl PlannedMount {
    fn open(path: PathBuf, treatment: Treatment, policy: &Policy) -> Result<Self, SetupError> {
        let mut entries = Vec::new();
        let copy = if treatment == Treatment::Frozen {
            entries = frozen::entries(&path, policy)
                .map_err(SetupError::at(path.display().to_string()))?;
            None
        } else if treatment == Treatment::Hidden {
            None
        } else {
            let copy = clone_mount(&path);
            Some(copy.map_err(SetupError::at(path.display().to_string()))?)
        };
        Ok(Self {
            is_directory: path.is_dir(),
            path,
            treatment,
            copy,
            entries,
        })
    }

    fn attach(&self, masks: &Masks) -> Result<(), SetupError> {
        let step = self.path.display().to_string();
        self.try_attach(masks).map_err(SetupError::at(step))
    }

    fn try_attach(&self, masks: &Masks) -> io::Result<()> {
        if self.treatment == Treatment::Frozen {
            return frozen::attach(&self.path, &self.entries);
        }
        match &self.copy {
            Some(copy) => {
                if self.treatment == Treatment::ReadOnly {
                    make_read_only(copy)?;
                }
                attach(copy, &self.path)
            }
            None => match open(&self.path).and_then(|target| masks.for_target(&target)) {
                Ok(mask) => attach(&mask, &self.path),
                // It was removed in the meantime.
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                Err(error) => Err(error),
            },
        }
    }
}

/// An empty file and an empty directory that cannot be read, and one that can.
struct Masks {
    mount: OwnedFd,
}

const MASK_FILE: &str = "file";
const MASK_DIRECTORY: &str = "directory";

const EMPTY_DIRECTORY: &str = "empty";

impl Masks {
    fn create() -> io::Result<Self> {
        let mount = new_file_system("tmpfs", &[("mode", "0700")])?;
        let none = Mode::empty();
        let create = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
        rustix::fs::openat(&mount, MASK_FILE, create, none)?;
        rustix::fs::mkdirat(&mount, MASK_DIRECTORY, none)?;
        let readable = Mode::RUSR | Mode::XUSR | Mode::RGRP | Mode::XGRP | Mode::ROTH | Mode::XOTH;
        rustix::fs::mkdirat(&mount, EMPTY_DIRECTORY, readable)?;
        make_read_only(&mount)?;
        Ok(Self { mount })
    }

    fn for_target(&self, target: &OwnedFd) -> io::Result<OwnedFd> {
        let mode = rustix::fs::fstat(target)?.st_mode;
        if FileType::from_raw_mode(mode) == FileType::Directory {
            return self.clone_entry(MASK_DIRECTORY);
        }
        self.clone_entry(MASK_FILE)
    }

    fn clone_entry(&self, name: &str) -> io::Result<OwnedFd> {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        Ok(rustix::mount::open_tree(&self.mount, name, flags)?)
    }
}

/// The file system of pseudo-terminals, which are devices.
pub(super) const TERMINALS: &str = "devpts";

/// Mounts a new file system nowhere.
pub(super) fn new_file_system(kind: &str, options: &[(&str, &str)]) -> io::Result<OwnedFd> {
    let context = rustix::mount::fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (name, value) in options {
        rustix::mount::fsconfig_set_string(context.as_fd(), *name, *value)?;
    }
    rustix::mount::fsconfig_create(context.as_fd())?;
    let mut attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    if kind != TERMINALS {
        attributes |= MountAttrFlags::MOUNT_ATTR_NODEV;
    }
    let flags = FsMountFlags::FSMOUNT_CLOEXEC;
    Ok(rustix::mount::fsmount(context.as_fd(), flags, attributes)?)
}

/// Opens a path without following links.
fn open(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    loop {
        let opened =
            rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
        match opened {
            // Something was renamed meanwhile.
            Err(Errno::AGAIN) => {}
            opened => return Ok(opened?),
        }
    }
}

/// Copies the mounts at a path, and below it.
pub(super) fn clone_mount(path: &Path) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    Ok(rustix::mount::open_tree(open(path)?, "", flags)?)
}

/// Mounts something on a path.
pub(super) fn attach(mount: &OwnedFd, path: &Path) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    let target = open(path)?;
    Ok(rustix::mount::move_mount(mount, "", target, "", flags)?)
}
