//! Install scripts of packages: none runs unless the user allowed it for that package by name.

use std::collections::BTreeSet;
use std::path::Path;

use super::build::is_new;
use super::tree::{Tree, read_manifest};
use crate::command::{self, Command};
use crate::error::PackageError;
use crate::progress::{InstallProgress, ProgressListener};

/// Whose install scripts may run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptPolicy(BTreeSet<String>);

impl ScriptPolicy {
    /// Allows the scripts of these packages, and of no other.
    pub fn allowing(names: impl IntoIterator<Item = String>) -> Self {
        Self(names.into_iter().collect())
    }

    fn allows(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}

/// Runs the scripts of new packages that are allowed, and tells of those that are not.
pub(super) async fn run_scripts(
    tree: &Tree,
    dir: &Path,
    policy: &ScriptPolicy,
    progress: &ProgressListener,
) -> Result<(), PackageError> {
    let mut refused = BTreeSet::new();
    for id in tree.below(Tree::ROOT) {
        let Some(node) = tree.node(id).filter(|_| is_new(tree, id)) else {
            continue;
        };
        let package = dir.join(tree.place(id));
        let Some(manifest) = read_manifest(&package) else {
            continue;
        };
        let mut scripts = manifest.install_scripts();
        let builds = package.join("binding.gyp").is_file();
        if builds && !scripts.iter().any(|(name, _)| *name != "postinstall") {
            // npm's own rule for packages that come with a build file.
            scripts.insert(0, ("install", "node-gyp rebuild".to_owned()));
        }
        if scripts.is_empty() {
            continue;
        }
        let name = &node.manifest.name;
        if !policy.allows(name) {
            refused.insert(name.clone());
            continue;
        }
        for (event, script) in scripts {
            progress.tell(InstallProgress::Running {
                command: format!("{event} of {name}"),
            });
            run(&package, dir, name, &manifest.version, event, &script).await?;
        }
    }
    if !refused.is_empty() {
        let names: Vec<&str> = refused.iter().map(String::as_str).collect();
        let allowing: Vec<String> = names
            .iter()
            .map(|name| format!("--allow-scripts {name}"))
            .collect();
        progress.tell(InstallProgress::Note(format!(
            "install scripts were not run: {}; {} runs them",
            names.join(", "),
            allowing.join(" ")
        )));
    }
    Ok(())
}

async fn run(
    package: &Path,
    dir: &Path,
    name: &str,
    version: &str,
    event: &str,
    script: &str,
) -> Result<(), PackageError> {
    let (shell, flag) = if cfg!(windows) {
        ("cmd", "/c")
    } else {
        ("sh", "-c")
    };
    let bin = dir.join("node_modules").join(".bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(bin).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(paths).unwrap_or(path);
    let label = format!("the {event} script of {name}");
    let command = Command::new(shell)
        .args([flag, script])
        .directory(package)
        .variable("PATH", path)
        .variable("INIT_CWD", dir)
        .variable("npm_lifecycle_event", event)
        .variable("npm_package_name", name)
        .variable("npm_package_version", version)
        .labeled(label);
    command::run(command).await.map(drop)
}
