//! Which paths get a mount on top of them, and which one.
//!
//! A mount point cannot be renamed or removed by a process in its namespace, but its parent directory can, if it is writable;
//! and what renames the parent can create another file under the protected name. All writable directories above a planned
//! path are therefore planned as well, as mounts of themselves.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::devices::SHARED_MEMORY;
use super::guards::Guard;
use crate::Policy;
use crate::default_paths::temporary_sockets;

/// What is mounted on a path. Later variants win over earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Treatment {
    /// The path itself, so that it stays where it is.
    Pinned,
    /// The path itself.
    Writable,
    /// The path itself, read-only.
    ReadOnly,
    /// A read-only directory with what is in it now and may be read.
    Frozen,
    /// Nothing that can be read.
    Hidden,
}

/// Returns the planned paths; parents come before their children.
pub(super) fn plan(policy: &Policy) -> Vec<(PathBuf, Treatment)> {
    let mut plan = BTreeMap::new();
    let mut add = |path: PathBuf, treatment: Treatment| {
        let planned = plan.entry(path).or_insert(treatment);
        *planned = treatment.max(*planned);
    };
    for path in &policy.write {
        if path.exists() {
            add(path.clone(), Treatment::Writable);
        }
    }
    let is_writable = |path: &Path| policy.write.iter().any(|write| path.starts_with(write));
    // Shared memory is replaced: what is not mounted there is not visible.
    for root in policy
        .roots
        .iter()
        .filter(|root| root.starts_with(SHARED_MEMORY))
    {
        if !is_writable(root) {
            add(root.clone(), Treatment::ReadOnly);
        }
    }
    for path in policy.protect.iter().filter(|path| is_writable(path)) {
        let guard = Guard::of(path);
        let target = guard.target.filter(|target| target.exists());
        let guarded = guard.on_the_way.into_iter().chain(target);
        for path in guarded.filter(|path| is_writable(path)) {
            add(path, Treatment::ReadOnly);
        }
    }
    if policy.agent_dir.is_dir() {
        add(policy.agent_dir.clone(), Treatment::Frozen);
    }
    let mut hidden = policy.deny_read.expand(&policy.roots);
    hidden.extend(policy.hidden_sockets.iter().cloned());
    hidden.extend(temporary_sockets());
    for path in hidden {
        if let Ok(real) = path.canonicalize() {
            add(real, Treatment::Hidden);
        }
    }
    let paths: Vec<PathBuf> = plan.keys().cloned().collect();
    for path in paths {
        let is_below_writable = |parent: &&Path| {
            let mut write = policy.write.iter();
            write.any(|write| parent.starts_with(write) && *parent != write)
        };
        for parent in path.ancestors().skip(1).filter(is_below_writable) {
            plan.entry(parent.to_owned()).or_insert(Treatment::Pinned);
        }
    }
    let is_hidden = |path: &Path| plan.get(path) == Some(&Treatment::Hidden);
    let is_visible = |path: &Path| !path.ancestors().skip(1).any(is_hidden);
    let visible = plan.iter().filter(|(path, _)| is_visible(path));
    visible
        .map(|(path, treatment)| (path.clone(), *treatment))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;
    use crate::Roots;

    #[test]
    fn directories_above_protected_paths_stay_in_place() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let project = root.join("a/project");
        for path in [".git/hooks", ".pi", "secret"] {
            fs::create_dir_all(project.join(path)).unwrap();
        }
        fs::File::create(project.join("secret/.env")).unwrap();
        let roots = Roots {
            workspace: project,
            caches: vec![root.clone()],
            ..Roots::default()
        };
        let settings =
            json!({ "mode": "workspace", "protect": [".git/hooks", ".pi", ".mcp.json"] });
        let settings = serde_json::from_value(settings).unwrap();
        let policy = Policy::new(&settings, &roots).unwrap().unwrap();
        let expected = [
            ("", Treatment::Writable),
            ("a", Treatment::Pinned),
            ("a/project", Treatment::Writable),
            ("a/project/.git", Treatment::Pinned),
            ("a/project/.git/hooks", Treatment::ReadOnly),
            ("a/project/.pi", Treatment::ReadOnly),
            ("a/project/secret", Treatment::Pinned),
            ("a/project/secret/.env", Treatment::Hidden),
        ];
        let expected = expected.map(|(path, treatment)| {
            let path = if path.is_empty() {
                root.clone()
            } else {
                root.join(path)
            };
            (path, treatment)
        });
        let mut planned = plan(&policy);
        // The directories of sockets in `/tmp` are those of this machine.
        planned.retain(|(path, _)| path.starts_with(&root));
        assert_eq!(planned, expected);
    }
}
