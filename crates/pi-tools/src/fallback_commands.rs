//! Commands that the program itself provides in the model's shell, if the machine does not have them.
//!
//! A directory with links to the program comes last on the `PATH`: a command that is installed later takes precedence.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pi_core::Variables;

/// The commands that a program can be started as.
#[derive(Debug, Clone)]
pub struct FallbackCommands {
    names: &'static [&'static str],
    program: PathBuf,
    directory: PathBuf,
}

impl FallbackCommands {
    /// Commands of `program`, which `directory` will contain links to.
    pub fn new(names: &'static [&'static str], program: PathBuf, directory: PathBuf) -> Self {
        Self {
            names,
            program,
            directory,
        }
    }

    /// Adds the directory to the `PATH` of a command if one of the commands is missing.
    pub(crate) fn provide(&self, variables: &mut Variables) {
        let Some((name, path)) = variables
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("PATH"))
            .map(|(name, path)| (name.clone(), path.clone()))
        else {
            return;
        };
        let is_installed = |command: &&str| which::which_in(command, Some(&path), "/").is_ok();
        if self.names.iter().all(is_installed) {
            return;
        }
        match self.link() {
            Ok(()) => {
                let mut path = path;
                path.push(":");
                path.push(&self.directory);
                variables.insert(name, path);
            }
            Err(error) => {
                tracing::debug!(directory = %self.directory.display(), %error, "cannot link commands");
            }
        }
    }

    /// Creates missing links, and replaces those to another program.
    fn link(&self) -> io::Result<()> {
        fs::create_dir_all(&self.directory)?;
        for name in self.names {
            let link = self.directory.join(name);
            if fs::read_link(&link).is_ok_and(|target| target == self.program) {
                continue;
            }
            // Another process may use the link now.
            let new = self
                .directory
                .join(format!(".{name}-{}", uuid::Uuid::now_v7()));
            symlink(&self.program, &new)?;
            fs::rename(&new, &link)?;
        }
        Ok(())
    }
}

#[cfg(unix)]
fn symlink(program: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(program, link)
}

/// Links need a privilege on Windows.
#[cfg(not(unix))]
fn symlink(_program: &Path, _link: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(all(test, unix))]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_directory_is_used_only_for_missing_commands() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("commands");
        let path = |variables: &Variables| variables[std::ffi::OsStr::new("PATH")].clone();
        let provided = |names: &'static [&'static str], program: &str| {
            let mut variables = Variables::from([("PATH".into(), "/bin:/usr/bin".into())]);
            FallbackCommands::new(names, program.into(), directory.clone()).provide(&mut variables);
            path(&variables)
        };
        assert_eq!(provided(&["sh"], "/old"), "/bin:/usr/bin");
        assert!(!directory.exists());

        let expected = format!("/bin:/usr/bin:{}", directory.display());
        for program in ["/old", "/new", "/new"] {
            assert_eq!(
                provided(&["sh", "no-such-command"], program),
                expected.as_str()
            );
            let target = fs::read_link(directory.join("no-such-command")).unwrap();
            assert_eq!(target, Path::new(program));
        }
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 2);
    }
}
