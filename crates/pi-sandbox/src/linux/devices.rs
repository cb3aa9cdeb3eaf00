//! A `/dev` with the devices that every program may use: disks, terminals of others and hardware are not among them.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};

use super::mounts::{TERMINALS, attach, clone_mount, new_file_system};
use super::system_calls::make_read_only;

const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

const LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

/// The directory of shared memory, where some users have projects, because it is fast.
pub(super) const SHARED_MEMORY: &str = "/dev/shm";

pub(super) struct Devices(Vec<(PathBuf, OwnedFd)>);

impl Devices {
    /// Opens the devices in the old `/dev`; those that do not exist are left out.
    pub(super) fn open() -> io::Result<Self> {
        let mut devices = Vec::new();
        for name in DEVICES {
            let path = Path::new("/dev").join(name);
            match clone_mount(&path) {
                Ok(device) => devices.push((path, device)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self(devices))
    }

    /// Mounts the new `/dev`, with empty directories in its shared memory on which others can be mounted.
    pub(super) fn mount<'a>(self, directories: impl Iterator<Item = &'a Path>) -> io::Result<()> {
        let root = new_file_system("tmpfs", &[("mode", "0755")])?;
        attach(&root, Path::new("/dev"))?;
        for (path, device) in self.0 {
            let create = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
            rustix::fs::openat(CWD, &path, create, Mode::from_raw_mode(0o666))?;
            attach(&device, &path)?;
        }
        for (name, target) in LINKS {
            rustix::fs::symlink(target, Path::new("/dev").join(name))?;
        }
        let directory = |name: &str| {
            let path = Path::new("/dev").join(name);
            rustix::fs::mkdir(&path, Mode::from_raw_mode(0o755)).map(|()| path)
        };
        let (pts, shm) = (directory("pts")?, directory("shm")?);
        // Nothing else is created here.
        make_read_only(&root)?;
        let terminals = [("ptmxmode", "0666"), ("mode", "0620")];
        attach(&new_file_system(TERMINALS, &terminals)?, &pts)?;
        attach(&new_file_system("tmpfs", &[("mode", "1777")])?, &shm)?;
        for directory in directories.filter(|directory| directory.starts_with(&shm)) {
            fs::create_dir_all(directory)?;
        }
        Ok(())
    }
}
