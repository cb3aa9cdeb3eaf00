//! The changelog of an installed package.

use std::path::{Path, PathBuf};

use super::manifest::read_package_json;
use super::npm_version::NpmVersion;
use crate::regular_file::{MAX_BYTES, read_prose};
use crate::resources::{canonical, normalize};

/// The installed version of a package and its changelog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageChangelog {
    version: String,
    text: String,
}

impl PackageChangelog {
    /// Reads the changelog that the `pi.changelogPath` of `package.json` names, or `CHANGELOG.md`. Returns `None` for
    /// packages without version or changelog, and for a path outside of the package.
    pub fn read(directory: &Path) -> Option<Self> {
        let package = read_package_json(directory)?;
        let version = package.get("version")?.as_str()?.to_owned();
        let declared = package.get("pi").and_then(|pi| pi.get("changelogPath"));
        let path = match declared {
            Some(path) => inside(directory, path.as_str().filter(|path| !path.is_empty())?)?,
            None => inside(directory, "CHANGELOG.md")?,
        };
        let text = read_prose(&path, MAX_BYTES).ok()??;
        Some(Self { version, text })
    }

    /// Returns the installed version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns the sections of versions after `last`, up to the installed one; `None` without any.
    pub fn since(&self, last: &str) -> Option<String> {
        let last = NpmVersion::parse(last)?;
        let installed = NpmVersion::parse(&self.version)?;
        let mut shown = String::new();
        let mut is_new = false;
        for line in self.text.lines() {
            if let Some(title) = line.strip_prefix("## ") {
                let version = heading_version(title);
                is_new = version.is_some_and(|version| version > last && version <= installed);
            }
            if is_new {
                shown.push_str(line);
                shown.push('\n');
            }
        }
        let shown = shown.trim();
        (!shown.is_empty()).then(|| shown.to_owned())
    }
}

/// Parses headings such as `[1.2.0] - 2026-01-01` and `v1.2.0`.
fn heading_version(title: &str) -> Option<NpmVersion> {
    let word = title.split_whitespace().next()?;
    let word = word.trim_start_matches('[');
    let word = word.split([']', '(']).next()?;
    NpmVersion::parse(word.trim_start_matches('v'))
}

/// Returns a path inside of a directory, also after links are followed.
fn inside(directory: &Path, path: &str) -> Option<PathBuf> {
    let directory = canonical(directory);
    let path = canonical(&normalize(&directory.join(path)));
    path.starts_with(&directory).then_some(path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use pretty_assertions::assert_eq;

    use super::*;

    const TEXT: &str = "# Changes\n\n## [Unreleased]\n- later\n\n## [1.2.0] - 2026-01-02\n- two\n\n## v1.1.0\n- one\n\n## 1.0.0\n- first\n";

    fn package(json: &str, file: &str) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("docs")).unwrap();
        for (name, text) in [("package.json", json), (file, TEXT)] {
            let path = directory.path().join(name);
            pi_fs::private::write_new_file(&path, text.as_bytes()).unwrap();
        }
        directory
    }

    fn since(json: &str, file: &str, last: &str) -> Option<String> {
        PackageChangelog::read(package(json, file).path())?.since(last)
    }

    #[test]
    fn newer_sections_up_to_the_installed_version_are_returned() {
        let json = r#"{"version": "1.1.0"}"#;
        assert_eq!(
            since(json, "CHANGELOG.md", "1.0.0").as_deref(),
            Some("## v1.1.0\n- one")
        );
        assert_eq!(since(json, "CHANGELOG.md", "1.1.0"), None);
        assert_eq!(since(json, "CHANGELOG.md", "nonsense"), None);
        let json = r#"{"version": "1.2.0", "pi": {"changelogPath": "docs/NEWS.md"}}"#;
        let text = since(json, "docs/NEWS.md", "1.0.0").unwrap();
        assert!(text.contains("- two") && text.contains("- one") && !text.contains("later"));
    }

    #[test]
    fn a_changelog_can_be_turned_off_and_must_be_inside_the_package() {
        for path in ["", "../CHANGELOG.md", "/etc/hosts"] {
            let json = format!(r#"{{"version": "1.2.0", "pi": {{"changelogPath": "{path}"}}}}"#);
            assert_eq!(since(&json, "CHANGELOG.md", "1.0.0"), None, "{path:?}");
        }
        assert_eq!(since("{}", "CHANGELOG.md", "1.0.0"), None);
    }
}
