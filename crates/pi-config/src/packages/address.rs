//! Parses package sources: npm packages, git repositories and local paths.
//!
//! Sources come from settings files and later become paths and command arguments, so anything that could
//! escape the install directory or be parsed as an option is rejected here.

use std::fmt;

use super::npm_version::{NpmRange, NpmVersion};
use crate::resources::percent_decode;

/// A parsed package source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackageAddress {
    /// `npm:name[@version]`.
    Npm(NpmAddress),
    /// `git:host/owner/repo[@ref]`, or a URL.
    Git(GitAddress),
    /// A path as written.
    Local(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NpmAddress {
    /// Including its `@scope/`.
    pub name: String,
    /// A version, range or tag.
    pub version: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitAddress {
    /// The URL to clone.
    pub repository: String,
    /// Lowercase; part of the package identity.
    pub host: String,
    /// The path on the host without `.git`; part of the package identity.
    pub path: String,
    /// The branch, tag or commit to check out.
    pub reference: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PackageAddressError {
    /// The name would escape the install directory.
    #[error("invalid npm package name: {0:?}")]
    UnsafeName(String),
    /// Not a repository URL, or its path would escape the install directory.
    #[error("invalid git source: {0:?}; use git:host/owner/repo or a repository URL")]
    UnsafeRepository(String),
    /// The ref could be parsed as an option.
    #[error("invalid git ref: {0:?}")]
    UnsafeReference(String),
}

impl PackageAddress {
    /// Parses a source as written in settings and on the command line.
    pub fn parse(source: &str) -> Result<Self, PackageAddressError> {
        let trimmed = source.trim();
        if let Some(spec) = trimmed.strip_prefix("npm:") {
            return NpmAddress::parse(spec.trim()).map(Self::Npm);
        }
        if let Some(rest) = trimmed.strip_prefix("git:") {
            // `git://host/…` is a URL, not the short form.
            let location = if rest.starts_with("//") {
                trimmed
            } else {
                rest.trim()
            };
            return GitAddress::parse(location).map(Self::Git);
        }
        let scheme = trimmed
            .split_once("://")
            .map(|(scheme, _)| scheme.to_ascii_lowercase());
        if matches!(scheme.as_deref(), Some("http" | "https" | "ssh")) {
            return GitAddress::parse(trimmed).map(Self::Git);
        }
        Ok(Self::Local(source.to_owned()))
    }

    /// Returns whether the source names a fixed version or ref, which updates do not change.
    pub fn is_pinned(&self) -> bool {
        match self {
            Self::Npm(npm) => npm.is_pinned(),
            Self::Git(git) => git.reference.is_some(),
            Self::Local(_) => false,
        }
    }
}

impl NpmAddress {
    fn parse(spec: &str) -> Result<Self, PackageAddressError> {
        let scoped = spec.strip_prefix('@');
        let (name, version) = match scoped.unwrap_or(spec).split_once('@') {
            Some((name, version)) if !version.is_empty() => (name, Some(version.to_owned())),
            Some((name, _)) => (name, None),
            None => (scoped.unwrap_or(spec), None),
        };
        let parts: Vec<&str> = name.split('/').collect();
        let expected = if scoped.is_some() { 2 } else { 1 };
        if parts.len() != expected || !parts.iter().all(|part| is_npm_name(part)) {
            return Err(PackageAddressError::UnsafeName(spec.to_owned()));
        }
        let at = if scoped.is_some() { "@" } else { "" };
        Ok(Self {
            name: format!("{at}{name}"),
            version,
        })
    }

    /// Returns whether the source names one exact version.
    pub fn is_pinned(&self) -> bool {
        self.version
            .as_deref()
            .is_some_and(|version| NpmVersion::parse(version).is_some())
    }

    /// Returns whether an installed version satisfies the source. A tag is satisfied by any version.
    pub fn accepts(&self, installed: &str) -> bool {
        match self.version.as_deref().and_then(NpmRange::parse) {
            None => true,
            Some(range) => {
                NpmVersion::parse(installed).is_some_and(|version| range.contains(&version))
            }
        }
    }
}

fn is_npm_name(part: &str) -> bool {
    !part.is_empty()
        && !part.starts_with(['.', '-'])
        && part
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || "-_.~!*'()".contains(character))
}

impl GitAddress {
    fn parse(location: &str) -> Result<Self, PackageAddressError> {
        let refuse = || PackageAddressError::UnsafeRepository(location.to_owned());
        let (address, fragment) = match location.split_once('#') {
            Some((address, fragment)) => (address, Some(fragment)),
            None => (location, None),
        };
        let form = RepositoryUrl::parse(address).ok_or_else(refuse)?;
        let (path, reference) = match form.path.split_once('@') {
            Some((path, reference)) if !path.is_empty() && !reference.is_empty() => {
                (path, Some(reference))
            }
            _ => (form.path, None),
        };
        let path = path.trim_end_matches('/');
        // A GitHub branch URL contains both repository and branch.
        let (path, branch) = match path.split_once("/tree/") {
            Some((path, branch)) if form.host.ends_with("github.com") => (path, Some(branch)),
            _ => (path, None),
        };
        let repository = format!("{}{path}", form.prefix);
        let path = path.strip_suffix(".git").unwrap_or(path);
        let host = form.host.strip_prefix("www.").unwrap_or(&form.host);
        let is_safe_host = !host.is_empty()
            && !host.starts_with(['-', '.'])
            && host
                .chars()
                .all(|character| character.is_ascii_alphanumeric() || "-._".contains(character));
        if !is_safe_host || path.split('/').count() < 2 || !is_safe_path(path) {
            return Err(refuse());
        }
        let reference = reference
            .or(branch)
            .or(fragment)
            .filter(|text| !text.is_empty());
        if let Some(reference) = reference
            && (reference.starts_with('-') || reference.contains(char::is_control))
        {
            return Err(PackageAddressError::UnsafeReference(reference.to_owned()));
        }
        Ok(Self {
            repository,
            host: host.to_owned(),
            path: path.to_owned(),
            reference: reference.map(str::to_owned),
        })
    }
}

/// The parts of a repository URL, before a ref is split off.
struct RepositoryUrl<'a> {
    /// The part of the clone URL before the path.
    prefix: String,
    host: String,
    path: &'a str,
}

impl<'a> RepositoryUrl<'a> {
    fn parse(address: &'a str) -> Option<Self> {
        if let Some((scheme, rest)) = address.split_once("://") {
            let (authority, path) = rest.split_once('/')?;
            let server = authority
                .rsplit_once('@')
                .map_or(authority, |(_, server)| server);
            let host = server.split_once(':').map_or(server, |(host, _)| host);
            let scheme = scheme.to_ascii_lowercase();
            return ["http", "https", "ssh", "git"]
                .contains(&scheme.as_str())
                .then(|| Self {
                    prefix: format!("{scheme}://{authority}/"),
                    host: host.to_ascii_lowercase(),
                    path: path.trim_start_matches('/'),
                });
        }
        if let Some(rest) = address.strip_prefix("git@") {
            let (host, path) = rest.split_once(':')?;
            return Some(Self {
                prefix: format!("git@{host}:"),
                host: host.to_ascii_lowercase(),
                path,
            });
        }
        let short = address.strip_prefix("github:");
        let (host, path) = short.unwrap_or(address).split_once('/')?;
        if short.is_none() && (host.contains('.') || host == "localhost") {
            return Some(Self {
                prefix: format!("https://{host}/"),
                host: host.to_ascii_lowercase(),
                path,
            });
        }
        // `owner/repo` alone means GitHub.
        let repository = path.split_once('@').map_or(path, |(path, _)| path);
        (!repository.contains('/')).then(|| Self {
            prefix: "https://github.com/".to_owned(),
            host: "github.com".to_owned(),
            path: short.unwrap_or(address),
        })
    }
}

fn is_safe_path(path: &str) -> bool {
    let decoded = percent_decode(path);
    [path, decoded.as_str()].iter().all(|text| {
        !text.contains(['\\', ':'])
            && !text.contains(char::is_control)
            && text.split('/').all(|part| {
                !part.is_empty() && part != "." && part != ".." && !part.starts_with('-')
            })
    })
}

impl fmt::Display for PackageAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Npm(npm) => write!(formatter, "npm:{}", npm.name),
            Self::Git(git) => write!(formatter, "git:{}/{}", git.host, git.path),
            Self::Local(path) => formatter.write_str(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn git(repository: &str, host: &str, path: &str, reference: Option<&str>) -> PackageAddress {
        PackageAddress::Git(GitAddress {
            repository: repository.to_owned(),
            host: host.to_owned(),
            path: path.to_owned(),
            reference: reference.map(str::to_owned),
        })
    }

    fn npm(name: &str, version: Option<&str>) -> PackageAddress {
        PackageAddress::Npm(NpmAddress {
            name: name.to_owned(),
            version: version.map(str::to_owned),
        })
    }

    #[test]
    fn all_source_forms_are_parsed() {
        let github = |reference| git("https://github.com/o/r", "github.com", "o/r", reference);
        for (source, expected) in [
            ("npm:left-pad", npm("left-pad", None)),
            ("npm:@scope/name@^1.2", npm("@scope/name", Some("^1.2"))),
            ("npm: x@1.0.0 ", npm("x", Some("1.0.0"))),
            ("git:github.com/o/r", github(None)),
            ("git:github.com/o/r@v1", github(Some("v1"))),
            ("git:o/r", github(None)),
            ("https://github.com/o/r#main", github(Some("main"))),
            ("https://github.com/o/r/tree/dev", github(Some("dev"))),
            (
                "https://user@GitLab.example:8443/g/s/r.git@v2",
                git(
                    "https://user@GitLab.example:8443/g/s/r.git",
                    "gitlab.example",
                    "g/s/r",
                    Some("v2"),
                ),
            ),
            (
                "git:git@github.com:o/r.git@abc",
                git("git@github.com:o/r.git", "github.com", "o/r", Some("abc")),
            ),
            (
                "ssh://git@host.x/o/r",
                git("ssh://git@host.x/o/r", "host.x", "o/r", None),
            ),
            (
                "git://host.x/o/r",
                git("git://host.x/o/r", "host.x", "o/r", None),
            ),
            ("./local", PackageAddress::Local("./local".to_owned())),
            ("github:o/r", PackageAddress::Local("github:o/r".to_owned())),
            (
                "git@github.com:o/r",
                PackageAddress::Local("git@github.com:o/r".to_owned()),
            ),
        ] {
            assert_eq!(PackageAddress::parse(source), Ok(expected), "{source}");
        }
    }

    #[test]
    fn unsafe_sources_are_rejected() {
        for source in [
            "npm:../../etc",
            "npm:@a/../b",
            "npm:a/b",
            "npm:-g",
            "npm:",
            "npm:.hidden",
            "npm:a\\b",
            "git:github.com/../../x",
            "git:github.com/o/%2e%2e/r",
            "git:github.com//o/r",
            "git:github.com/o",
            "git:host/o/r",
            "git:-x.y/o/r",
            "git:ext::sh -c evil/x",
            "git:github.com/o/r@--upload-pack=evil",
            "https://github.com/o/r#-x",
            "git:git@--option:o/r",
            "git:host.x/o/-r",
        ] {
            assert!(PackageAddress::parse(source).is_err(), "{source}");
        }
    }

    #[test]
    fn exact_version_is_pinned() {
        for (source, pinned) in [
            ("npm:a@1.2.3", true),
            ("npm:a@^1.2.3", false),
            ("npm:a@latest", false),
            ("npm:a", false),
            ("git:h.x/o/r@v1", true),
            ("git:h.x/o/r", false),
        ] {
            assert_eq!(
                PackageAddress::parse(source).unwrap().is_pinned(),
                pinned,
                "{source}"
            );
        }
    }
}
