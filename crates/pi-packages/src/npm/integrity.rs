//! Whether an archive is the one the registry named.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::Sha1;
use sha2::{Digest as _, Sha256, Sha384, Sha512};

use super::packument::Release;
use crate::error::PackageError;

/// Checksums a registry may give, the strongest first.
const ALGORITHMS: [&str; 4] = ["sha512", "sha384", "sha256", "sha1"];

/// A checksum that is compared while an archive arrives.
pub(crate) struct Checksum {
    running: Running,
    /// Any of these will do.
    expected: Vec<Vec<u8>>,
}

enum Running {
    Sha1(Sha1),
    Sha256(Sha256),
    Sha384(Sha384),
    Sha512(Sha512),
}

impl Checksum {
    /// Takes the strongest checksum of a release. One without any is refused.
    pub(crate) fn of(release: &Release) -> Result<Self, PackageError> {
        let given: Vec<(&str, Vec<u8>)> = release
            .integrity
            .iter()
            .flat_map(|text| text.split_whitespace())
            .filter_map(|entry| {
                // Options may follow a question mark.
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
                    "the registry gives no checksum",
                )
            })?;
        let expected = given
            .into_iter()
            .filter(|(algorithm, _)| *algorithm == strongest)
            .map(|(_, digest)| digest)
            .collect();
        let running = match strongest {
            "sha512" => Running::Sha512(Sha512::new()),
            "sha384" => Running::Sha384(Sha384::new()),
            "sha256" => Running::Sha256(Sha256::new()),
            _ => Running::Sha1(Sha1::new()),
        };
        Ok(Self { running, expected })
    }

    /// Takes the next bytes.
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match &mut self.running {
            Running::Sha1(hash) => hash.update(bytes),
            Running::Sha256(hash) => hash.update(bytes),
            Running::Sha384(hash) => hash.update(bytes),
            Running::Sha512(hash) => hash.update(bytes),
        }
    }

    /// Returns whether all bytes were the expected ones.
    pub(crate) fn matches(self) -> bool {
        let digest = match self.running {
            Running::Sha1(hash) => hash.finalize().to_vec(),
            Running::Sha256(hash) => hash.finalize().to_vec(),
            Running::Sha384(hash) => hash.finalize().to_vec(),
            Running::Sha512(hash) => hash.finalize().to_vec(),
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
    use crate::npm::manifest::Manifest;

    fn release(integrity: Option<&str>, shasum: Option<&str>) -> Release {
        Release {
            manifest: Manifest::default(),
            archive: String::new(),
            integrity: integrity.map(str::to_owned),
            shasum: shasum.map(str::to_owned),
        }
    }

    fn takes(release: &Release, content: &[u8]) -> bool {
        let mut checksum = Checksum::of(release).unwrap();
        checksum.update(content);
        checksum.matches()
    }

    #[test]
    fn the_strongest_checksum_decides() {
        let sha512 = format!("sha512-{}", STANDARD.encode(Sha512::digest(b"right")));
        let sha1 = format!("sha1-{}", STANDARD.encode(Sha1::digest(b"wrong")));
        let both = format!("{sha1} {sha512}");
        let release = release(
            Some(&both),
            Some("da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        );
        assert!(takes(&release, b"right"));
        assert!(!takes(&release, b"wrong"));
        assert!(!takes(&release, b""));
    }

    #[test]
    fn an_old_checksum_is_better_than_none() {
        let empty = "da39a3ee5e6b4b0d3255bfef95601890afd80709";
        assert!(takes(&release(None, Some(empty)), b""));
        assert!(!takes(&release(None, Some(empty)), b"x"));
        assert!(Checksum::of(&release(None, None)).is_err());
        assert!(Checksum::of(&release(Some("md5-AA=="), Some("zz"))).is_err());
    }
}
