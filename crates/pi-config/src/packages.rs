//! Packages: bundles of resources from npm, git or a local directory.
//!
//! Here is what a source means and where an installed package lies. Installing and updating is
//! left to others; what a package holds is gathered by the resources.

mod address;
mod manifest;
mod npm_version;

use std::path::{Path, PathBuf};

use pi_ai::Env;
use sha2::{Digest, Sha256};

pub use address::{GitAddress, NpmAddress, PackageAddress, PackageAddressError};
pub(crate) use manifest::Manifest;
pub use manifest::installed_version;
pub use npm_version::{NpmRange, NpmVersion};

use crate::AgentDir;
use crate::resources::{SourceScope, resolve};

/// A package the settings or the command line want that is not installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingPackage {
    /// The source as written.
    pub source: String,
    pub address: PackageAddress,
    pub scope: SourceScope,
    /// Where it is to be installed.
    pub install_path: PathBuf,
}

/// Where packages lie.
#[derive(Debug, Clone, Copy)]
pub struct PackageLocations<'a> {
    /// The agent directory: the user's packages and those of one run.
    pub agent_dir: &'a AgentDir,
    /// The working directory: the project's packages.
    pub cwd: &'a Path,
    /// For `~` in local sources.
    pub env: &'a Env,
}

impl PackageLocations<'_> {
    /// Returns the directory that relative local sources of a scope start at.
    pub fn base(&self, scope: SourceScope) -> PathBuf {
        match scope {
            SourceScope::User => self.agent_dir.path().to_owned(),
            SourceScope::Project => self.cwd.join(".pi"),
            SourceScope::Temporary => self.cwd.to_owned(),
        }
    }

    /// Returns the directory whose `node_modules` holds the npm packages of a scope.
    pub fn npm_root(&self, scope: SourceScope) -> PathBuf {
        match scope {
            SourceScope::User | SourceScope::Project => self.base(scope).join("npm"),
            SourceScope::Temporary => self.temporary("npm", ""),
        }
    }

    /// Returns the directory of the git packages of a scope. Those of one run have none in common.
    pub fn git_root(&self, scope: SourceScope) -> Option<PathBuf> {
        match scope {
            SourceScope::User | SourceScope::Project => Some(self.base(scope).join("git")),
            SourceScope::Temporary => None,
        }
    }

    /// Returns where a package is or will be installed; a local one lies where it says.
    pub fn install_path(&self, address: &PackageAddress, scope: SourceScope) -> PathBuf {
        match address {
            PackageAddress::Npm(npm) => self.npm_root(scope).join("node_modules").join(&npm.name),
            PackageAddress::Git(git) => match self.git_root(scope) {
                Some(root) => root.join(&git.host).join(&git.path),
                None => self.temporary(&format!("git-{}", git.host), &git.path),
            },
            PackageAddress::Local(path) => resolve(path, &self.base(scope), self.env),
        }
    }

    /// Returns what makes a package the same package, whatever its version.
    pub fn identity(&self, address: &PackageAddress, scope: SourceScope) -> String {
        match address {
            PackageAddress::Npm(npm) => format!("npm:{}", npm.name),
            PackageAddress::Git(git) => format!("git:{}/{}", git.host, git.path),
            PackageAddress::Local(_) => {
                format!("local:{}", self.install_path(address, scope).display())
            }
        }
    }

    /// Returns the directory of a package wanted for one run, the one the TypeScript pi uses.
    fn temporary(&self, prefix: &str, suffix: &str) -> PathBuf {
        let digest = Sha256::digest(format!("{prefix}-{suffix}"));
        let mut hash = String::new();
        for byte in digest.iter().take(4) {
            hash.extend([byte >> 4, byte & 0xf].map(hex_digit));
        }
        let root = self.agent_dir.path().join("tmp").join("extensions");
        root.join(prefix).join(hash).join(suffix)
    }
}

fn hex_digit(value: u8) -> char {
    char::from_digit(u32::from(value), 16).unwrap_or('0')
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn packages_lie_where_the_typescript_pi_puts_them() {
        let agent_dir = AgentDir::at("/home/u/.pi/agent");
        let env = Env::fixed([("HOME", "/home/u")]);
        let locations = PackageLocations {
            agent_dir: &agent_dir,
            cwd: Path::new("/srv/p"),
            env: &env,
        };
        for (source, scope, expected) in [
            (
                "npm:@s/n@1",
                SourceScope::User,
                "/home/u/.pi/agent/npm/node_modules/@s/n",
            ),
            (
                "npm:n",
                SourceScope::Project,
                "/srv/p/.pi/npm/node_modules/n",
            ),
            (
                "git:h.x/o/r@v1",
                SourceScope::User,
                "/home/u/.pi/agent/git/h.x/o/r",
            ),
            (
                "git:h.x/o/r",
                SourceScope::Project,
                "/srv/p/.pi/git/h.x/o/r",
            ),
            ("../x", SourceScope::User, "/home/u/.pi/x"),
            ("../x", SourceScope::Project, "/srv/p/x"),
            ("./x", SourceScope::Temporary, "/srv/p/x"),
            ("~/x", SourceScope::Temporary, "/home/u/x"),
            (
                "git:h.x/o/r",
                SourceScope::Temporary,
                "/home/u/.pi/agent/tmp/extensions/git-h.x/04c916bb/o/r",
            ),
        ] {
            let address = PackageAddress::parse(source).unwrap();
            assert_eq!(
                locations.install_path(&address, scope),
                Path::new(expected),
                "{source}"
            );
        }
    }
}
