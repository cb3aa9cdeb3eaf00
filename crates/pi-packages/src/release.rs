//! Releases of pi itself: a signed feed says which one is the newest, and the program replaces itself.
//!
//! The feed's address and the key that signs it are given when pi is built; a build without them does not
//! update itself. The feed is JSON, its signature (Ed25519, base64) lies beside it as `FEED.sig`, and the
//! feed names the checksum of every archive, so that one signature covers everything.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use pi_ai::{Env, HttpClient, HttpSettings};
use pi_config::NpmVersion;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::command::{self, Command};
use crate::error::PackageError;

/// The address of the feed, if the build named one.
const FEED: Option<&str> = option_env!("PI_RELEASE_FEED");

/// The key that signs the feed: 32 bytes in base64.
const KEY: Option<&str> = option_env!("PI_RELEASE_KEY");

/// How long the feed may take.
const FEED_LIMIT: Duration = Duration::from_secs(10);

/// How long a release may take.
const PROGRAM_LIMIT: Duration = Duration::from_mins(10);

/// How long the new program may take to say its version.
const TRIAL_LIMIT: Duration = Duration::from_secs(20);

/// No honest feed is larger.
const MAX_FEED_BYTES: usize = 1024 * 1024;

/// No honest program is larger.
const MAX_PROGRAM_BYTES: usize = 512 * 1024 * 1024;

/// Directories whose programs belong to a package manager.
const MANAGED: [&str; 7] = [
    "/nix/store/",
    "/Cellar/",
    "/snap/",
    "/usr/bin/",
    "/usr/sbin/",
    "/node_modules/",
    "/.cargo/bin/",
];

/// Where releases come from.
#[derive(Debug, Clone)]
pub struct ReleaseFeed {
    feed: String,
    key: Vec<u8>,
    http: HttpClient,
    env: Env,
}

/// What the feed says about the newest release.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ReleaseInfo {
    /// The version, as `pi --version` prints it.
    pub version: String,
    /// What the user should know about it.
    #[serde(default)]
    pub notes: Option<String>,
    /// The programs, by the platform they run on (`linux-x86_64`).
    #[serde(default)]
    programs: BTreeMap<String, ReleasedProgram>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct ReleasedProgram {
    /// Where it is; packed with gzip if the address ends in `.gz`.
    url: String,
    /// The SHA-256 of what lies there, in hexadecimal.
    sha256: String,
}

impl ReleaseInfo {
    /// Returns whether this release is newer than a version.
    pub fn is_newer_than(&self, version: &str) -> bool {
        order_of(&self.version) > order_of(version)
    }
}

/// What orders releases: the version, then our own number behind `+rs.`, which npm's order leaves out.
fn order_of(version: &str) -> Option<(NpmVersion, u64)> {
    let own = version.rsplit_once("+rs.").map(|(_, number)| number);
    let own = own.and_then(|number| number.parse().ok()).unwrap_or(0);
    Some((NpmVersion::parse(version)?, own))
}

impl ReleaseFeed {
    /// Returns the channel this program was built for, if it was built for one.
    pub fn built_in(env: Env, proxy: Option<&str>) -> Option<Self> {
        Self::new(FEED?, KEY?, env, proxy)
    }

    /// Uses a feed and the key that signs it; none if the key is not one.
    pub fn new(feed: &str, key: &str, env: Env, proxy: Option<&str>) -> Option<Self> {
        let key = STANDARD.decode(key).ok().filter(|key| key.len() == 32)?;
        let http = match proxy {
            Some(proxy) => HttpClient::with_settings(HttpSettings::default().with_proxy(proxy)),
            None => HttpClient::new(),
        };
        Some(Self {
            feed: feed.to_owned(),
            key,
            http,
            env,
        })
    }

    /// Fetches the feed and checks who signed it.
    pub async fn latest(&self) -> Result<ReleaseInfo, PackageError> {
        let feed = self.fetch(&self.feed, MAX_FEED_BYTES, FEED_LIMIT).await?;
        let address = format!("{}.sig", self.feed);
        let signature = self.fetch(&address, MAX_FEED_BYTES, FEED_LIMIT).await?;
        let signature = String::from_utf8_lossy(&signature);
        let unsigned =
            || PackageError::Release("the release feed is not signed by pi's key".to_owned());
        let signature = STANDARD
            .decode(signature.trim())
            .map_err(|_invalid| unsigned())?;
        UnparsedPublicKey::new(&ED25519, &self.key)
            .verify(&feed, &signature)
            .map_err(|_invalid| unsigned())?;
        serde_json::from_slice(&feed)
            .map_err(|error| PackageError::malformed("the release feed", error))
    }

    /// Puts a release in the place of a program that is at `current`. Older releases are refused,
    /// whatever the feed says.
    pub async fn install(
        &self,
        news: &ReleaseInfo,
        program: &Path,
        current: &str,
    ) -> Result<(), PackageError> {
        if order_of(&news.version) < order_of(current) {
            return Err(PackageError::Release(format!(
                "the feed offers {}, which is older than {current}",
                news.version
            )));
        }
        // A link in the user's PATH stays one.
        let place = fs::canonicalize(program).map_err(PackageError::disk(program))?;
        let shown = place.to_string_lossy();
        if let Some(dir) = MANAGED.iter().find(|dir| shown.contains(**dir)) {
            return Err(PackageError::Release(format!(
                "{shown} belongs to a package manager ({}): update pi there",
                dir.trim_matches('/')
            )));
        }
        let platform = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
        let released = news.programs.get(&platform).ok_or_else(|| {
            PackageError::Release(format!(
                "release {} has no program for {platform}",
                news.version
            ))
        })?;
        let bytes = self
            .fetch(&released.url, MAX_PROGRAM_BYTES, PROGRAM_LIMIT)
            .await?;
        let digest = Sha256::digest(&bytes);
        let digest = digest.iter().fold(String::new(), |mut text, byte| {
            // Writing to a string cannot fail.
            write!(text, "{byte:02x}").ok();
            text
        });
        if !digest.eq_ignore_ascii_case(released.sha256.trim()) {
            return Err(PackageError::Integrity(format!("pi {}", news.version)));
        }
        let bytes = if Path::new(&released.url)
            .extension()
            .is_some_and(|ending| ending == "gz")
        {
            decompress(&bytes)?
        } else {
            bytes
        };
        put_in_place(&bytes, &place, &news.version).await
    }

    async fn fetch(
        &self,
        address: &str,
        most: usize,
        limit: Duration,
    ) -> Result<Vec<u8>, PackageError> {
        let network = |problem: String| PackageError::Network {
            url: address.to_owned(),
            problem,
        };
        let fetching = async {
            let headers = [("accept", "*/*")];
            let mut answer = self
                .http
                .download(address, &headers, &self.env)
                .await
                .map_err(|error| network(error.message))?;
            if answer.status() != 200 {
                return Err(PackageError::Refused {
                    url: address.to_owned(),
                    status: answer.status(),
                });
            }
            let mut body = Vec::new();
            while let Some(piece) = answer
                .chunk()
                .await
                .map_err(|error| network(error.message))?
            {
                if body.len() + piece.len() > most {
                    return Err(PackageError::TooLarge {
                        what: address.to_owned(),
                        limit: format!("{} MB", most / (1024 * 1024)),
                    });
                }
                body.extend_from_slice(&piece);
            }
            Ok(body)
        };
        tokio::time::timeout(limit, fetching)
            .await
            .map_err(|_elapsed| network(format!("it took longer than {} s", limit.as_secs())))?
    }
}

fn decompress(bytes: &[u8]) -> Result<Vec<u8>, PackageError> {
    let mut program = Vec::new();
    let most = MAX_PROGRAM_BYTES as u64;
    GzDecoder::new(bytes)
        .take(most)
        .read_to_end(&mut program)
        .map_err(|error| PackageError::malformed("the release", error))?;
    Ok(program)
}

/// Writes the new program beside the old one, tries it, and renames it.
async fn put_in_place(bytes: &[u8], place: &Path, version: &str) -> Result<(), PackageError> {
    let dir = place.parent().unwrap_or(place);
    let ending = if cfg!(windows) { ".exe" } else { "" };
    let new = dir.join(format!(".pi-update-{:016x}{ending}", rand::random::<u64>()));
    let written = write_program(&new, bytes).map_err(PackageError::disk(dir));
    let outcome = match written {
        Ok(()) => try_program(&new, version).await,
        Err(error) => Err(error),
    };
    let outcome = outcome.and_then(|()| exchange(&new, place).map_err(PackageError::disk(place)));
    if outcome.is_err()
        && let Err(error) = fs::remove_file(&new)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, path = %new.display(), "a part of an update was left behind");
    }
    outcome
}

fn write_program(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o755);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Asks the new program who it is: one that does not run here must not take our place.
async fn try_program(program: &Path, version: &str) -> Result<(), PackageError> {
    let question = Command::new(program)
        .args(["--version"])
        .labeled(format!("the new pi {version}"))
        .within(TRIAL_LIMIT);
    let answer = command::run(question).await?;
    if answer.trim() == version {
        return Ok(());
    }
    Err(PackageError::Release(format!(
        "the new program says it is {:?}, not {version}",
        answer.trim()
    )))
}

#[cfg(not(windows))]
fn exchange(new: &Path, place: &Path) -> std::io::Result<()> {
    fs::rename(new, place)
}

/// A running program cannot be replaced on Windows, but it can be moved aside.
#[cfg(windows)]
fn exchange(new: &Path, place: &Path) -> std::io::Result<()> {
    let aside = place.with_extension("old.exe");
    if aside.exists() {
        fs::remove_file(&aside)?;
    }
    fs::rename(place, &aside)?;
    if let Err(error) = fs::rename(new, place) {
        fs::rename(&aside, place)?;
        return Err(error);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_ordered_by_version_and_our_own_number() {
        for (offered, current, expected) in [
            ("0.87.1+rs.2", "0.87.1+rs.1", true),
            ("0.87.1+rs.10", "0.87.1+rs.9", true),
            ("0.88.0+rs.1", "0.87.1+rs.7", true),
            ("0.87.1+rs.1", "0.87.1+rs.1", false),
            ("0.87.0+rs.9", "0.87.1+rs.1", false),
            ("nonsense", "0.87.1+rs.1", false),
        ] {
            let news = ReleaseInfo {
                version: offered.to_owned(),
                notes: None,
                programs: BTreeMap::new(),
            };
            assert_eq!(news.is_newer_than(current), expected, "{offered} {current}");
        }
    }
}
