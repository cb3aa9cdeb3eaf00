//! Install scripts of packages; a script only runs if the user allowed it for that package by name.

use std::collections::BTreeSet;
use std::path::Path;

use super::build::is_new;
use super::tree::{PackageTree, read_manifest};
use crate::command::{self, Command};
use crate::error::PackageError;
use crate::progress::{InstallProgress, ProgressListener};

/// The packages whose install scripts may run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptPolicy(BTreeSet<String>);

impl ScriptPolicy {
    /// Allows only the scripts of these packages.
    pub fn allowing(names: impl IntoIterator<Item = String>) -> Self {
        Self(names.into_iter().collect())
    }

    fn allows(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}

/// Runs the allowed scripts of new packages and reports those that were skipped.
pub(super) async fn run_scripts(
    tree: &PackageTree,
    dir: &Path,
    policy: &ScriptPolicy,
    progress: &ProgressListener,
) -> Result<(), PackageError> {
    let mut refused = BTreeSet::new();
    for id in tree.below(PackageTree::ROOT) {
        let Some(node) = tree.node(id).filter(|_| is_new(tree, id)) else {
            continue;
        };
        let package = dir.join(tree.path(id));
        let Some(manifest) = read_manifest(&package) else {
            continue;
        };
        let mut scripts = manifest.install_scripts();
        let builds = package.join("binding.gyp").is_file();
        if builds && !scripts.iter().any(|(name, _)| *name != "postinstall") {
            // npm's default for packages with a `binding.gyp`.
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
            progress.report(InstallProgress::Running {
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
        progress.report(InstallProgress::Note(format!(
            "skipped install scripts of {}; to run them, use {}",
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
    let label = format!("{event} script of {name}");
    let command = Command::new(shell)
        .args([flag, script])
        .directory(package)
        .variable("PATH", path)
        .variable("INIT_CWD", dir)
        .variable("npm_lifecycle_event", event)
        .variable("npm_package_name", name)
        .variable("npm_package_version", version)
        .label(label);
    command::run(command).await.map(drop)
}
