//! Fills in `install.sh` and the definitions for package managers.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use super::Release;
use super::signature::SigningKey;

/// Name in the release and source.
const TEMPLATES: [(&str, &str); 6] = [
    (
        "install.sh",
        include_str!("../../../../packaging/install.sh"),
    ),
    (
        "pi.rb",
        include_str!("../../../../packaging/templates/pi.rb"),
    ),
    (
        "PKGBUILD",
        include_str!("../../../../packaging/templates/PKGBUILD"),
    ),
    (
        "package.nix",
        include_str!("../../../../packaging/templates/package.nix"),
    ),
    (
        "flake.nix",
        include_str!("../../../../packaging/templates/flake.nix"),
    ),
    (
        "Dockerfile",
        include_str!("../../../../packaging/templates/Dockerfile"),
    ),
];

/// Checksum of a platform that is not part of the release; no download matches it.
const NO_CHECKSUM: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Returns all files by name.
pub(super) fn render_all(release: &Release, key: &SigningKey) -> Result<BTreeMap<String, String>> {
    let mut values = vec![
        ("RELEASES".to_owned(), release.releases.clone()),
        ("VERSION".to_owned(), release.version.tag()),
        // Package managers of distributions allow no dash in versions.
        (
            "PACKAGE_VERSION".to_owned(),
            release.version.tag().replace('-', "."),
        ),
        ("PUBLIC_KEY".to_owned(), key.public_key()),
        ("SSH_KEY".to_owned(), key.public_key_for_ssh()),
    ];
    for platform in &super::PLATFORMS {
        let packaged = release
            .platforms
            .iter()
            .find(|packaged| packaged.platform == platform);
        let sha256 = packaged.map_or(NO_CHECKSUM, |packaged| packaged.sha256.as_str());
        values.push((format!("SHA256:{}", platform.target), sha256.to_owned()));
        values.push((
            format!("URL:{}", platform.target),
            release.address(&platform.archive()),
        ));
    }
    TEMPLATES
        .iter()
        .map(|(name, template)| Ok(((*name).to_owned(), filled(name, template, &values)?)))
        .collect()
}

/// Replaces `@NAME@` by the values.
fn filled(name: &str, template: &str, values: &[(String, String)]) -> Result<String> {
    let mut text = template.to_owned();
    for (placeholder, value) in values {
        text = text.replace(&format!("@{placeholder}@"), value);
    }
    let left = text.lines().find(|line| {
        let mut parts = line.split('@').skip(1);
        parts.any(|part| {
            let is_name = |it: char| it.is_ascii_uppercase() || it == '_';
            part.starts_with("URL:")
                || part.starts_with("SHA256:")
                || (part.len() > 3 && part.chars().all(is_name))
        })
    });
    match left {
        Some(line) => bail!("{name}: unknown placeholder in: {line}"),
        None => Ok(text),
    }
}
