//! The directories that a part of a command may run in, after those that change it.

use std::path::{Path, PathBuf};

use crate::launchers;
use crate::shell_split::SimpleCommand;

/// Further directories are unknown.
const MAX_DIRECTORIES: usize = 64;

pub(crate) struct ShellDirectories {
    possible: Vec<PathBuf>,
    /// There are others, too.
    pub(crate) is_unknown: bool,
}

impl ShellDirectories {
    pub(crate) fn new(working_directory: &Path) -> Self {
        Self {
            possible: vec![working_directory.to_owned()],
            is_unknown: false,
        }
    }

    /// Adds the directories that a command changes to, if it runs and succeeds.
    pub(crate) fn change(&mut self, command: &SimpleCommand, home: Option<&Path>) {
        for words in launchers::reachable(&command.words) {
            let Some((program, arguments)) = words.split_first() else {
                continue;
            };
            if !matches!(program.text.as_str(), "cd" | "chdir" | "pushd" | "popd") {
                continue;
            }
            let mut targets = arguments
                .iter()
                .filter(|word| !matches!(word.text.as_str(), "-P" | "-L" | "--"));
            let target = match targets.next() {
                Some(word) if !word.is_expanded && !word.text.starts_with(['-', '+']) => {
                    let path = Path::new(&word.text);
                    match (path.strip_prefix("~"), home) {
                        (Ok(below), Some(home)) => Some(home.join(below)),
                        _ => Some(path.to_owned()),
                    }
                }
                None if program.text == "cd" => home.map(Path::to_owned),
                _ => None,
            };
            match target {
                Some(target) if self.possible.len() < MAX_DIRECTORIES => {
                    let changed = self
                        .possible
                        .iter()
                        .map(|directory| directory.join(&target));
                    let changed: Vec<PathBuf> = changed.collect();
                    self.possible.extend(changed);
                }
                _ => self.is_unknown = true,
            }
        }
    }

    /// Returns where a file may be. `~` is left to the reader.
    pub(crate) fn resolve(&self, file: &Path) -> Vec<PathBuf> {
        if file.is_absolute() || file.starts_with("~") {
            return vec![file.to_owned()];
        }
        let paths = self.possible.iter().map(|directory| directory.join(file));
        paths.collect()
    }
}
