//! What must stay as it is so that a protected path does: the path itself, and links and files on the way to it, which could
//! be replaced by a directory with something else in it.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// The limit of Linux.
const MAX_LINKS: usize = 40;

pub(super) struct Guard {
    /// Links and files on the way, and the path itself if it is a link.
    pub(super) on_the_way: Vec<PathBuf>,
    /// The path with its links followed, as far as it exists; `None` if a file is on the way.
    pub(super) target: Option<PathBuf>,
}

impl Guard {
    /// `path` is absolute.
    pub(super) fn of(path: &Path) -> Self {
        let mut on_the_way = Vec::new();
        let mut target = PathBuf::new();
        let mut pending = components_reversed(path);
        while let Some(component) = pending.pop() {
            match component.components().next() {
                Some(Component::ParentDir) => {
                    target.pop();
                }
                Some(Component::Normal(name)) => {
                    let next = target.join(name);
                    match next.symlink_metadata() {
                        Ok(found) if found.is_symlink() && on_the_way.len() < MAX_LINKS => {
                            let leads_to = fs::read_link(&next).unwrap_or_default();
                            pending.extend(components_reversed(&leads_to));
                            on_the_way.push(next);
                        }
                        Ok(found) if !found.is_dir() && !pending.is_empty() => {
                            on_the_way.push(next);
                            return Self {
                                on_the_way,
                                target: None,
                            };
                        }
                        _ => target = next,
                    }
                }
                Some(Component::RootDir | Component::Prefix(_)) => target = component,
                Some(Component::CurDir) | None => {}
            }
        }
        Self {
            on_the_way,
            target: Some(target),
        }
    }
}

fn components_reversed(path: &Path) -> Vec<PathBuf> {
    let mut components: Vec<PathBuf> = path
        .components()
        .map(|component| PathBuf::from(component.as_os_str()))
        .collect();
    components.reverse();
    components
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn links_and_files_on_the_way_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("real/.git")).unwrap();
        fs::File::create(root.join("file")).unwrap();
        symlink("real/.git", root.join("link")).unwrap();
        symlink("../link", root.join("real/second")).unwrap();
        symlink("missing", root.join("dangling")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        for (path, on_the_way, target) in [
            ("real/.git/hooks", &[][..], Some("real/.git/hooks")),
            ("link/hooks", &["link"], Some("real/.git/hooks")),
            (
                "real/second/hooks",
                &["real/second", "link"],
                Some("real/.git/hooks"),
            ),
            ("link", &["link"], Some("real/.git")),
            ("dangling/hooks", &["dangling"], Some("missing/hooks")),
            ("file/hooks", &["file"], None),
            ("file", &[], Some("file")),
        ] {
            let guard = Guard::of(&root.join(path));
            let expected: Vec<PathBuf> = on_the_way.iter().map(|path| root.join(path)).collect();
            assert_eq!(guard.on_the_way, expected, "{path}");
            assert_eq!(guard.target, target.map(|path| root.join(path)), "{path}");
        }
        assert_eq!(Guard::of(&root.join("loop/hooks")).target, None);
    }
}
