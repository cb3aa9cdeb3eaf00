//! Landlock: with namespaces a second line of defense, without them the boundary of the file system.
//!
//! Its rules only add rights, so nothing below a writable directory can be protected. What may not be read is left out by
//! granting the right to read everything next to it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd,
    Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, Scope,
};

use super::confine::SetupError;
use crate::Policy;

/// The rights that are handled. Older kernels know fewer.
const RIGHTS: ABI = ABI::V8;

/// The first version that restricts truncation: without it files could be emptied.
const REQUIRED: ABI = ABI::V3;

/// Restricts this process and what it executes. `has_namespaces` is whether mounts restrict it already.
pub(super) fn restrict(policy: &Policy, has_namespaces: bool) -> Result<(), SetupError> {
    rules(policy, has_namespaces)
        .and_then(|ruleset| ruleset.restrict_self().map(drop))
        .map_err(|error| SetupError::at("Landlock is not available")(io::Error::other(error)))
}

fn rules(policy: &Policy, has_namespaces: bool) -> Result<RulesetCreated, RulesetError> {
    let all = AccessFs::from_all(RIGHTS);
    let required = if has_namespaces {
        CompatLevel::BestEffort
    } else {
        CompatLevel::HardRequirement
    };
    let mut rules = Ruleset::default()
        .set_compatibility(required)
        .handle_access(AccessFs::from_all(REQUIRED))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?
        .create()?;
    let list = BitFlags::from(AccessFs::ReadDir);
    let read = AccessFs::ReadFile | AccessFs::Execute;
    if has_namespaces {
        rules = grant(rules, Path::new("/"), read | list)?;
    } else {
        rules = grant(rules, Path::new("/"), list)?;
        let denied = policy.deny_read.expand(&policy.roots);
        let denied: Vec<PathBuf> = denied
            .iter()
            .filter_map(|path| path.canonicalize().ok())
            .collect();
        for path in readable(Path::new("/"), &denied) {
            rules = grant(rules, &path, read)?;
        }
    }
    let write = all & !read & !list;
    let devices = AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    if has_namespaces {
        // A new `/dev`, and a `/proc` whose settings are read-only.
        rules = grant(rules, Path::new("/dev"), write)?;
        rules = grant(rules, Path::new("/proc"), AccessFs::WriteFile.into())?;
    } else {
        for device in [
            "/dev/null",
            "/dev/zero",
            "/dev/full",
            "/dev/tty",
            "/dev/ptmx",
            "/dev/pts",
        ] {
            rules = grant(rules, Path::new(device), devices)?;
        }
    }
    for path in &policy.write {
        rules = grant(rules, path, write)?;
    }
    Ok(rules)
}

/// Grants rights to a path if it exists.
fn grant(
    rules: RulesetCreated,
    path: &Path,
    rights: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(descriptor) = PathFd::new(path) else {
        return Ok(rules);
    };
    let rights = if path.is_dir() {
        rights
    } else {
        rights & AccessFs::from_file(RIGHTS)
    };
    if rights.is_empty() {
        return Ok(rules);
    }
    rules.add_rule(PathBeneath::new(descriptor, rights))
}

/// Returns paths that together contain everything below a directory except for what is denied.
fn readable(directory: &Path, denied: &[PathBuf]) -> Vec<PathBuf> {
    if denied.iter().any(|denied| directory.starts_with(denied)) {
        return Vec::new();
    }
    if !denied.iter().any(|denied| denied.starts_with(directory)) {
        return vec![directory.to_owned()];
    }
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let is_link = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_symlink());
    entries
        // A rule about a link would be one about its target.
        .filter(|entry| !is_link(entry))
        .flat_map(|entry| readable(&entry.path(), denied))
        .collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn everything_next_to_a_denied_path_is_readable() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir_all(root.join("home/.ssh")).unwrap();
        fs::create_dir_all(root.join("home/project")).unwrap();
        fs::create_dir_all(root.join("usr/bin")).unwrap();
        std::os::unix::fs::symlink(root.join("home/.ssh"), root.join("home/keys")).unwrap();
        let mut paths = readable(root, &[root.join("home/.ssh")]);
        paths.sort();
        assert_eq!(paths, [root.join("home/project"), root.join("usr")]);
    }
}
