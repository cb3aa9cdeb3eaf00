//! What a registry says about a package, and which of its versions is meant.
//!
//! Only the version that is chosen is read: documents of long-lived packages hold thousands.

use std::collections::{BTreeMap, HashMap};

use pi_config::NpmVersion;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::manifest::Manifest;
use super::spec::Spec;
use crate::error::PackageError;

/// The document of a package.
#[derive(Debug, Deserialize)]
pub(crate) struct Packument {
    #[serde(rename = "dist-tags", default)]
    tags: BTreeMap<String, String>,
    #[serde(default)]
    versions: HashMap<String, Box<RawValue>>,
}

/// A version that can be fetched.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Release {
    pub(crate) manifest: Manifest,
    /// Where its archive is.
    pub(crate) archive: String,
    /// Its checksums, as `algorithm-base64`, parted by spaces.
    pub(crate) integrity: Option<String>,
    /// Its SHA-1 in hexadecimal, where there is nothing better.
    pub(crate) shasum: Option<String>,
}

impl Packument {
    /// Chooses the version a spec asks for, as npm does: the tagged one if it will do, else the newest,
    /// in either case rather one that is not deprecated.
    pub(crate) fn choose(
        &self,
        name: &str,
        spec: &Spec,
        text: &str,
    ) -> Result<Release, PackageError> {
        let missing = || PackageError::NoVersion {
            name: name.to_owned(),
            wanted: if text.is_empty() { "*" } else { text }.to_owned(),
        };
        let range = match spec {
            Spec::Tag(tag) => {
                let version = self.tags.get(tag).ok_or_else(missing)?;
                return self.release(name, version)?.ok_or_else(missing);
            }
            Spec::Range(range) => range,
            Spec::Alias { .. } | Spec::Foreign => return Err(missing()),
        };
        let latest = self.tags.get("latest");
        if let Some(latest) = latest
            && let Some(version) = NpmVersion::parse(latest)
            // A bare `*` takes the latest even if it is a prerelease.
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
        matching.sort_by(|left, right| right.0.cmp(&left.0));
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

    /// Returns this version, if there is one.
    pub(crate) fn exactly(&self, name: &str, version: &str) -> Option<Release> {
        self.release(name, version).ok().flatten()
    }

    fn release(&self, name: &str, version: &str) -> Result<Option<Release>, PackageError> {
        let Some(raw) = self.versions.get(version) else {
            return Ok(None);
        };
        let what = || format!("{name}@{version} in the registry");
        let json: Map<String, Value> = serde_json::from_str(raw.get())
            .map_err(|error| PackageError::malformed(what(), error))?;
        let about = json.get("dist");
        let text = |key: &str| {
            let value = about?.get(key)?.as_str()?;
            Some(value.to_owned())
        };
        let archive =
            text("tarball").ok_or_else(|| PackageError::malformed(what(), "it has no archive"))?;
        let (integrity, shasum) = (text("integrity"), text("shasum"));
        let mut manifest = Manifest::from_json(json);
        // What counts is what was asked for.
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

fn is_deprecated(manifest: &Manifest) -> bool {
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
            let mut about = json!({"dist": {"tarball": "http://127.0.0.1/x.tgz"}});
            if deprecated {
                about["deprecated"] = json!("old");
            }
            about
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
    fn the_version_npm_would_choose() {
        for (spec, expected) in [
            ("*", Some("1.2.0")),
            ("latest", Some("1.2.0")),
            ("next", Some("2.0.0-beta.1")),
            // `latest` is preferred to a newer one of the range.
            ("^1.0.0", Some("1.2.0")),
            (">1.2.0 <2", Some("1.3.0")),
            ("~1.1.0", Some("1.1.0")),
            ("<1.2.0", Some("1.0.0")),
            ("^3.0.0", Some("3.1.0")),
            ("^2.0.0-beta.0", Some("2.0.0-beta.1")),
            ("^2.0.0", None),
            ("nope", None),
        ] {
            let chosen = packument().choose("x", &Spec::parse(spec), spec);
            let version = chosen.ok().map(|release| release.manifest.version);
            assert_eq!(version.as_deref(), expected, "{spec}");
        }
    }
}
