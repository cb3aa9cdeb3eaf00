//! Links the executables of packages into `node_modules/.bin`, where scripts find them.

use std::fs;
use std::path::{Component, Path};

use super::tree::{NodeId, NodeOrigin, PackageTree};
use crate::error::PackageError;

/// Links the executables of all packages, in the root `node_modules` and in nested ones.
/// Does nothing on Windows, where a symlink would not be executable.
pub(super) fn link_programs(tree: &PackageTree, dir: &Path) -> Result<(), PackageError> {
    if !cfg!(unix) {
        return Ok(());
    }
    let mut nodes = tree.below(PackageTree::ROOT);
    nodes.sort();
    for id in nodes {
        link_of(tree, id, dir)?;
    }
    Ok(())
}

fn link_of(tree: &PackageTree, id: NodeId, dir: &Path) -> Result<(), PackageError> {
    let Some(node) = tree.node(id) else {
        return Ok(());
    };
    let Some(parent) = node.parent else {
        return Ok(());
    };
    if matches!(node.origin, NodeOrigin::Link(_)) {
        return Ok(());
    }
    let bin = dir.join(tree.path(parent)).join("node_modules/.bin");
    let package = dir.join(tree.path(id));
    for (name, path) in &node.manifest.bin {
        let program = package.join(path);
        if !is_plain(name) || !stays_inside(path) || !program.is_file() {
            continue;
        }
        fs::create_dir_all(&bin).map_err(PackageError::disk(&bin))?;
        let link = bin.join(name);
        if fs::symlink_metadata(&link).is_ok() {
            continue;
        }
        let target = Path::new("..").join(&node.dir).join(path);
        crate::dir_ops::link(&target, &link).map_err(PackageError::disk(&link))?;
        make_executable(&program)?;
    }
    Ok(())
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0'])
}

fn stays_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

#[cfg(unix)]
fn make_executable(program: &Path) -> Result<(), PackageError> {
    use std::os::unix::fs::PermissionsExt as _;

    let metadata = fs::metadata(program).map_err(PackageError::disk(program))?;
    let mut permissions = metadata.permissions();
    if permissions.mode() & 0o111 == 0o111 {
        return Ok(());
    }
    permissions.set_mode(permissions.mode() | 0o111);
    fs::set_permissions(program, permissions).map_err(PackageError::disk(program))
}

#[cfg(not(unix))]
fn make_executable(_program: &Path) -> Result<(), PackageError> {
    Ok(())
}
