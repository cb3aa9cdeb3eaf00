//! The registry document of a package ("packument") and version selection.
//!
//! Only the chosen version is parsed: documents of old packages contain thousands.

use std::collections::{BTreeMap, HashMap};

use pi_config::NpmVersion;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::manifest::NpmManifest;
use super::spec::DependencySpec;
use crate::error::PackageError;

#[derive(Debug, Deserialize)]
pub(crate) struct Packument {
    #[serde(rename = "dist-tags", default)]
    tags: BTreeMap<String, String>,
    #[serde(default)]
    versions: HashMap<String, Box<RawValue>>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Release {
    pub(crate) manifest: NpmManifest,
    /// URL of the archive.
    pub(crate) archive: String,
    /// Space-separated checksums, each `algorithm-base64`.
    pub(crate) integrity: Option<String>,
    /// SHA-1 in hexadecimal, used if there is no `integrity`.
    pub(crate) shasum: Option<String>,
}

impl Packument {
    /// Chooses the version for a spec as npm does: the tagged one if it matches, else the newest,
    /// preferring versions that are not deprecated.
    pub(crate) fn choose(
        &self,
        name: &str,
        spec: &DependencySpec,
        text: &str,
    ) -> Result<Release, PackageError> {
        let missing = || PackageError::NoVersion {
            name: name.to_owned(),
            spec: if text.is_empty() { "*" } else { text }.to_owned(),
        };
        let range = match spec {
            DependencySpec::Tag(tag) => {
                let version = self.tags.get(tag).ok_or_else(missing)?;
                return self.release(name, version)?.ok_or_else(missing);
            }
            DependencySpec::Range(range) => range,
            DependencySpec::Alias { .. } | DependencySpec::External => return Err(missing()),
        };
        let latest = self.tags.get("latest");
        if let Some(latest) = latest
            && let Some(version) = NpmVersion::parse(latest)
            // A bare `*` selects `latest` even if that is a prerelease.
            && (range.contains(&version) || matches!(text.trim(), "" | "*"))
            && let Some(release) = self.release(name, latest)?
        {
            return Ok(release);
        }
        let mut matching: Vec<(NpmVersion, &String)> = self
            .versions
            .keys()
            .filter_map(|text| Some((NpmVersion::parse(text)?, text)))
            .filter(|(version, _)| range.contains(version))
            .collect();
        pi_protocol::sort_by(&mut matching, |left, right| right.0.cmp(&left.0));
        let mut newest = None;
        for (_, version) in matching {
            let Some(release) = self.release(name, version)? else {
                continue;
            };
            if !is_deprecated(&release.manifest) {
                return Ok(release);
            }
            newest.get_or_insert(release);
        }
        newest.ok_or_else(missing)
    }

    /// Returns this exact version, if it exists.
    pub(crate) fn exact_releases(&self, name: &str, version: &str) -> Option<Release> {
        self.release(name, version).ok().flatten()
    }

    fn release(&self, name: &str, version: &str) -> Result<Option<Release>, PackageError> {
        let Some(raw) = self.versions.get(version) else {
            return Ok(None);
        };
        let what = || format!("registry entry of {name}@{version}");
        let json: Map<String, Value> = serde_json::from_str(raw.get())
            .map_err(|error| PackageError::malformed(what(), error))?;
        let about = json.get("dist");
        let text = |key: &str| {
            let value = about?.get(key)?.as_str()?;
            Some(value.to_owned())
        };
        let archive =
            text("tarball").ok_or_else(|| PackageError::malformed(what(), "no archive URL"))?;
        let (integrity, shasum) = (text("integrity"), text("shasum"));
        let mut manifest = NpmManifest::from_json(json);
        // Use the requested name and version, whatever the manifest contains.
        name.clone_into(&mut manifest.name);
        version.clone_into(&mut manifest.version);
        Ok(Some(Release {
            manifest,
            archive,
            integrity,
            shasum,
        }))
    }
}

fn is_deprecated(manifest: &NpmManifest) -> bool {
    match manifest.json.get("deprecated") {
        Some(Value::String(reason)) => !reason.is_empty(),
        Some(Value::Bool(deprecated)) => *deprecated,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn packument() -> Packument {
        let version = |deprecated: bool| {
            let mut manifest = json!({"dist": {"tarball": "http://127.0.0.1/x.tgz"}});
            if deprecated {
                manifest["deprecated"] = json!("old");
            }
            manifest
        };
        let text = json!({
            "dist-tags": {"latest": "1.2.0", "next": "2.0.0-beta.1"},
            "versions": {
                "0.9.0": version(false), "1.0.0": version(false), "1.1.0": version(true),
                "1.2.0": version(false), "1.3.0": version(false), "2.0.0-beta.1": version(false),
                "3.0.0": version(true), "3.1.0": version(true),
            },
        });
        serde_json::from_str(&text.to_string()).unwrap()
    }

    #[test]
    fn chooses_the_same_version_as_npm() {
        for (spec, expected) in [
            ("*", Some("1.2.0")),
            ("latest", Some("1.2.0")),
            ("next", Some("2.0.0-beta.1")),
            // `latest` is preferred over a newer version in the range.
            ("^1.0.0", Some("1.2.0")),
            (">1.2.0 <2", Some("1.3.0")),
            ("~1.1.0", Some("1.1.0")),
            ("<1.2.0", Some("1.0.0")),
            ("^3.0.0", Some("3.1.0")),
            ("^2.0.0-beta.0", Some("2.0.0-beta.1")),
            ("^2.0.0", None),
            ("nope", None),
        ] {
            let chosen = packument().choose("x", &DependencySpec::parse(spec), spec);
            let version = chosen.ok().map(|release| release.manifest.version);
            assert_eq!(version.as_deref(), expected, "{spec}");
        }
    }
}
