//! User and group IDs in a user namespace: everybody keeps their IDs.

use std::fs;
use std::io::{self, Write as _};

use super::confine::SetupError;

/// Maps the IDs of a process that was cloned into a user namespace.
pub(super) fn write(process: i32) -> Result<(), SetupError> {
    let user = rustix::process::geteuid();
    let group = rustix::process::getegid();
    // Root works with files of other users, so it needs all IDs; that requires privileges which a container may lack.
    if user.is_root() && write_all(process).is_ok() {
        return Ok(());
    }
    let one = |name: &str, id: u32| {
        write_map(process, name, &format!("{id} {id} 1")).map_err(SetupError::at(format!(
            "user namespaces are not available: cannot write {name}"
        )))
    };
    // Required before groups are mapped without privileges.
    write_map(process, "setgroups", "deny")
        .map_err(SetupError::at("user namespaces are not available"))?;
    one("uid_map", user.as_raw())?;
    one("gid_map", group.as_raw())
}

fn write_all(process: i32) -> io::Result<()> {
    for name in ["gid_map", "uid_map"] {
        let own = fs::read_to_string(format!("/proc/self/{name}"))?;
        write_map(process, name, &identity(&own))?;
    }
    Ok(())
}

/// Writes a file of a process, which the kernel reads at once.
fn write_map(process: i32, name: &str, text: &str) -> io::Result<()> {
    let file = format!("/proc/{process}/{name}");
    let mut file = fs::File::options().write(true).open(file)?;
    file.write_all(text.as_bytes())
}

/// Returns the map that keeps all IDs of a namespace, given its own map.
fn identity(map: &str) -> String {
    let lines = map.lines().filter_map(|line| {
        let mut numbers = line.split_whitespace();
        let (first, count) = (numbers.next()?, numbers.nth(1)?);
        Some(format!("{first} {first} {count}\n"))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stay_the_same() {
        assert_eq!(
            identity("         0          0 4294967295\n"),
            "0 0 4294967295\n"
        );
        assert_eq!(identity("0 1000 1\n1 100000 65536\n"), "0 0 1\n1 1 65536\n");
    }
}
