//! Verifies archives against the registry's checksums.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::Sha1;
use sha2::{Digest as _, Sha256, Sha384, Sha512};

use super::packument::Release;
use crate::error::PackageError;

/// Supported checksum algorithms, strongest first.
const ALGORITHMS: [&str; 4] = ["sha512", "sha384", "sha256", "sha1"];

/// Verifies a checksum incrementally.
pub(crate) struct Checksum {
    running: IncrementalHash,
    /// Any of these is accepted.
    expected: Vec<Vec<u8>>,
}

enum IncrementalHash {
    Sha1(Sha1),
    Sha256(Sha256),
    Sha384(Sha384),
    Sha512(Sha512),
}

impl Checksum {
    /// Uses the strongest checksum of a release; an error if it has none.
    pub(crate) fn of(release: &Release) -> Result<Self, PackageError> {
        let given: Vec<(&str, Vec<u8>)> = release
            .integrity
            .iter()
            .flat_map(|text| text.split_whitespace())
            .filter_map(|entry| {
                // Options may follow after `?`.
                let entry = entry.split_once('?').map_or(entry, |(entry, _)| entry);
                let (algorithm, digest) = entry.split_once('-')?;
                Some((algorithm, STANDARD.decode(digest).ok()?))
            })
            .chain(
                release
                    .shasum
                    .as_deref()
                    .and_then(from_hex)
                    .map(|digest| ("sha1", digest)),
            )
            .collect();
        let strongest = ALGORITHMS
            .into_iter()
            .find(|algorithm| given.iter().any(|(given, _)| given == algorithm))
            .ok_or_else(|| {
                let manifest = &release.manifest;
                PackageError::malformed(
                    format!("{}@{}", manifest.name, manifest.version),
                    "the registry provides no checksum",
                )
            })?;
        let expected = given
            .into_iter()
            .filter(|(algorithm, _)| *algorithm == strongest)
            .map(|(_, digest)| digest)
            .collect();
        let running = match strongest {
            "sha512" => IncrementalHash::Sha512(Sha512::new()),
            "sha384" => IncrementalHash::Sha384(Sha384::new()),
            "sha256" => IncrementalHash::Sha256(Sha256::new()),
            _ => IncrementalHash::Sha1(Sha1::new()),
        };
        Ok(Self { running, expected })
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match &mut self.running {
            IncrementalHash::Sha1(hash) => hash.update(bytes),
            IncrementalHash::Sha256(hash) => hash.update(bytes),
            IncrementalHash::Sha384(hash) => hash.update(bytes),
            IncrementalHash::Sha512(hash) => hash.update(bytes),
        }
    }

    /// Returns whether the data matches an expected checksum.
    pub(crate) fn matches(self) -> bool {
        let digest = match self.running {
            IncrementalHash::Sha1(hash) => hash.finalize().to_vec(),
            IncrementalHash::Sha256(hash) => hash.finalize().to_vec(),
            IncrementalHash::Sha384(hash) => hash.finalize().to_vec(),
            IncrementalHash::Sha512(hash) => hash.finalize().to_vec(),
        };
        self.expected.contains(&digest)
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .chars()
        .map(|digit| {
            digit
                .to_digit(16)
                .and_then(|digit| u8::try_from(digit).ok())
        })
        .collect::<Option<_>>()?;
    (digits.len() == 40).then(|| {
        let pairs = digits.chunks_exact(2);
        pairs
            .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npm::manifest::NpmManifest;

    fn release(integrity: Option<&str>, shasum: Option<&str>) -> Release {
        Release {
            manifest: NpmManifest::default(),
            archive: String::new(),
            integrity: integrity.map(str::to_owned),
            shasum: shasum.map(str::to_owned),
        }
    }

    fn matches_checksum(release: &Release, content: &[u8]) -> bool {
        let mut checksum = Checksum::of(release).unwrap();
        checksum.update(content);
        checksum.matches()
    }

    #[test]
    fn strongest_checksum_is_used() {
        let sha512 = format!("sha512-{}", STANDARD.encode(Sha512::digest(b"right")));
        let sha1 = format!("sha1-{}", STANDARD.encode(Sha1::digest(b"wrong")));
        let both = format!("{sha1} {sha512}");
        let release = release(
            Some(&both),
            Some("da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        );
        assert!(matches_checksum(&release, b"right"));
        assert!(!matches_checksum(&release, b"wrong"));
        assert!(!matches_checksum(&release, b""));
    }

    #[test]
    fn sha1_is_accepted_if_there_is_nothing_better() {
        let empty = "da39a3ee5e6b4b0d3255bfef95601890afd80709";
        assert!(matches_checksum(&release(None, Some(empty)), b""));
        assert!(!matches_checksum(&release(None, Some(empty)), b"x"));
        assert!(Checksum::of(&release(None, None)).is_err());
        assert!(Checksum::of(&release(Some("md5-AA=="), Some("zz"))).is_err());
    }
}
