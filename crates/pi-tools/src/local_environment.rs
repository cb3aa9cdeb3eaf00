//! The local machine as an environment of tools.

use std::path::Path;
use std::sync::Arc;

use pi_core::{Environment, Variables};

use crate::local_files::LocalFiles;
use crate::search::LocalSearch;
use crate::shell::LocalShell;

/// Returns the local machine, with the variables and the home directory of this process.
pub fn local_environment() -> Environment {
    Environment {
        files: Arc::new(LocalFiles),
        processes: Arc::new(LocalShell::default()),
        search: Arc::new(LocalSearch),
        vars: std::env::vars_os().collect(),
        home: std::env::home_dir(),
    }
}

/// Puts a directory first on the `PATH`, unless it is on it.
pub fn put_on_path(variables: &mut Variables, directory: &Path) {
    // Windows spells it `Path`; keep the existing spelling.
    let name = variables
        .keys()
        .find(|name| name.eq_ignore_ascii_case("PATH"))
        .cloned()
        .unwrap_or_else(|| "PATH".into());
    let value = variables.get(&name).cloned().unwrap_or_default();
    if value.is_empty() {
        variables.insert(name, directory.into());
        return;
    }
    if std::env::split_paths(&value).any(|known| known == directory) {
        return;
    }
    // Joined by hand to keep the existing value unchanged, including empty components.
    let mut path = directory.as_os_str().to_owned();
    path.push(if cfg!(windows) { ";" } else { ":" });
    path.push(value);
    variables.insert(name, path);
}

#[cfg(all(test, unix))]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_directory_comes_first_once() {
        for (name, before, after) in [
            ("PATH", "/usr/bin:/bin", "/agent/bin:/usr/bin:/bin"),
            ("PATH", "/usr/bin:/agent/bin", "/usr/bin:/agent/bin"),
            ("PATH", "/usr/bin::", "/agent/bin:/usr/bin::"),
            ("PATH", "", "/agent/bin"),
            ("Path", "/usr/bin", "/agent/bin:/usr/bin"),
        ] {
            let mut variables = Variables::from([(name.into(), before.into())]);
            put_on_path(&mut variables, Path::new("/agent/bin"));
            assert_eq!(variables, Variables::from([(name.into(), after.into())]));
        }
        let mut variables = Variables::new();
        put_on_path(&mut variables, Path::new("/agent/bin"));
        let expected = Variables::from([("PATH".into(), "/agent/bin".into())]);
        assert_eq!(variables, expected);
    }
}
