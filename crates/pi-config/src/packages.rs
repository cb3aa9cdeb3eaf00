//! Packages: bundles of resources from npm, git or a local directory.
//!
//! Parses package sources and computes install paths. `pi-packages` installs and updates packages; the
//! `resources` module loads their contents.

mod address;
mod changelog;
mod manifest;
mod npm_version;

use std::path::{Path, PathBuf};

use pi_env::Env;
use pi_protocol::SourceScope;
use sha2::{Digest, Sha256};

pub use address::{GitAddress, NpmAddress, PackageAddress, PackageAddressError};
pub use changelog::PackageChangelog;
pub use manifest::installed_version;
pub(crate) use manifest::{Manifest, provided_dependencies};
pub use npm_version::{NpmRange, NpmVersion};

use crate::AgentDir;
use crate::resources::resolve;

/// A package that is configured or passed on the command line but not installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingPackage {
    /// The source as written.
    pub source: String,
    pub address: PackageAddress,
    pub scope: SourceScope,
    pub install_path: PathBuf,
}

/// Computes where packages are installed.
#[derive(Debug, Clone, Copy)]
pub struct PackageLocations<'a> {
    /// Holds user packages and temporary ones.
    pub agent_dir: &'a AgentDir,
    /// Holds project packages.
    pub cwd: &'a Path,
    /// Used to expand `~` in local sources.
    pub env: &'a Env,
}

impl PackageLocations<'_> {
    /// Returns the base directory for relative local sources of a scope.
    pub fn base(&self, scope: SourceScope) -> PathBuf {
        match scope {
            SourceScope::User => self.agent_dir.path().to_owned(),
            SourceScope::Project => self.cwd.join(".pi"),
            SourceScope::Temporary => self.cwd.to_owned(),
        }
    }

    /// Returns the directory whose `node_modules` contains the npm packages of a scope.
    pub fn npm_root(&self, scope: SourceScope) -> PathBuf {
        match scope {
            SourceScope::User | SourceScope::Project => self.base(scope).join("npm"),
            SourceScope::Temporary => self.temporary("npm", "", None),
        }
    }

    /// Returns the directory of the git packages of a scope. Temporary packages have no common directory.
    pub fn git_root(&self, scope: SourceScope) -> Option<PathBuf> {
        match scope {
            SourceScope::User | SourceScope::Project => Some(self.base(scope).join("git")),
            SourceScope::Temporary => None,
        }
    }

    /// Returns the install path of a package. A local package stays at its own path.
    pub fn install_path(&self, address: &PackageAddress, scope: SourceScope) -> PathBuf {
        match address {
            PackageAddress::Npm(npm) => self.npm_root(scope).join("node_modules").join(&npm.name),
            PackageAddress::Git(git) => match self.git_root(scope) {
                Some(root) => root.join(&git.host).join(&git.path),
                None => {
                    let reference = git.reference.as_deref();
                    self.temporary(&format!("git-{}", git.host), &git.path, reference)
                }
            },
            PackageAddress::Local(path) => resolve(path, &self.base(scope), self.env),
        }
    }

    /// Returns a key that identifies a package regardless of its version.
    pub fn identity(&self, address: &PackageAddress, scope: SourceScope) -> String {
        match address {
            PackageAddress::Npm(npm) => format!("npm:{}", npm.name),
            PackageAddress::Git(git) => format!("git:{}/{}", git.host, git.path),
            PackageAddress::Local(_) => {
                format!("local:{}", self.install_path(address, scope).display())
            }
        }
    }

    /// Returns the directory of a temporary package, the same one that the TypeScript pi uses. Every ref of a
    /// repository has its own.
    fn temporary(&self, prefix: &str, suffix: &str, reference: Option<&str>) -> PathBuf {
        let mut key = format!("{prefix}-{suffix}");
        if let Some(reference) = reference {
            key.push('@');
            key.push_str(reference);
        }
        let digest = Sha256::digest(key);
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
    fn install_paths_match_the_typescript_pi() {
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
            (
                "git:h.x/o/r@v1",
                SourceScope::Temporary,
                "/home/u/.pi/agent/tmp/extensions/git-h.x/8f82c3c8/o/r",
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
