//! Self-update: reads the latest release from a signed feed and replaces the executable.
//!
//! The feed's URL and public key are set at build time; a build without them cannot
//! update itself. The feed is JSON with a detached signature (Ed25519, base64) at `FEED.sig`. It
//! contains the checksum of every archive, so one signature covers everything. `cargo xtask release` writes both.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use pi_config::NpmVersion;
use pi_env::Env;
use pi_http::{HttpClient, HttpSettings};
use pi_protocol::hex;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::command::{self, Command};
use crate::error::PackageError;

/// URL of the feed, if set at build time.
const FEED: Option<&str> = option_env!("PI_RELEASE_FEED");

/// Public key of the feed: 32 bytes in base64.
const KEY: Option<&str> = option_env!("PI_RELEASE_KEY");

const FEED_TIMEOUT: Duration = Duration::from_secs(10);

const PROGRAM_TIMEOUT: Duration = Duration::from_mins(10);

/// Timeout for the new executable to report its version.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(20);

/// Start of the names of new executables until they replace the old one.
const PARTIAL: &str = ".pi-update-";

/// Age of a partial update that has been abandoned.
const STALE: Duration = Duration::from_hours(1);

const MAX_FEED_BYTES: usize = 1024 * 1024;

const MAX_PROGRAM_BYTES: usize = 512 * 1024 * 1024;

/// Directories whose executables are managed by a package manager.
const MANAGED_DIRS: [&str; 7] = [
    "/nix/store/",
    "/Cellar/",
    "/snap/",
    "/usr/bin/",
    "/usr/sbin/",
    "/node_modules/",
    "/.cargo/bin/",
];

/// The source of releases.
#[derive(Debug, Clone)]
pub struct ReleaseFeed {
    feed: String,
    key: Vec<u8>,
    http: HttpClient,
    env: Env,
}

/// The latest release, as described by the feed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ReleaseInfo {
    /// As printed by `pi --version`.
    pub version: String,
    /// Release notes.
    #[serde(default)]
    pub notes: Option<String>,
    /// Executables by platform, such as `linux-x86_64`, or `linux-x86_64-musl` for static ones.
    #[serde(default)]
    programs: BTreeMap<String, ReleasedProgram>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct ReleasedProgram {
    /// An archive with the executable if it ends in `.tar.gz`, else the executable, compressed if it ends in `.gz`.
    url: String,
    /// SHA-256 of the download, in hexadecimal.
    sha256: String,
}

impl ReleaseInfo {
    pub fn is_newer_than(&self, version: &str) -> bool {
        sort_key(&self.version) > sort_key(version)
    }
}

/// Sort key of a release: the version, then the number after `+rs.`, which npm's ordering ignores.
fn sort_key(version: &str) -> Option<(NpmVersion, u64)> {
    let own = version.rsplit_once("+rs.").map(|(_, number)| number);
    let number = own.and_then(|number| number.parse().ok()).unwrap_or(0);
    Some((NpmVersion::parse(version)?, number))
}

impl ReleaseFeed {
    /// Returns the feed set at build time, if any.
    pub fn built_in(env: Env, proxy: Option<&str>) -> Option<Self> {
        Self::new(FEED?, KEY?, env, proxy)
    }

    /// Creates a feed; `None` if the public key is invalid.
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

    /// Fetches the feed and verifies its signature.
    pub async fn latest(&self) -> Result<ReleaseInfo, PackageError> {
        let feed = self.fetch(&self.feed, MAX_FEED_BYTES, FEED_TIMEOUT).await?;
        let address = format!("{}.sig", self.feed);
        let signature = self.fetch(&address, MAX_FEED_BYTES, FEED_TIMEOUT).await?;
        let signature = String::from_utf8_lossy(&signature);
        let unsigned = || PackageError::Release("invalid signature of the release feed".to_owned());
        let signature = STANDARD
            .decode(signature.trim())
            .map_err(|_invalid| unsigned())?;
        UnparsedPublicKey::new(&ED25519, &self.key)
            .verify(&feed, &signature)
            .map_err(|_invalid| unsigned())?;
        serde_json::from_slice(&feed)
            .map_err(|error| PackageError::malformed("release feed", error))
    }

    /// Replaces the executable at `program`, whose version is `current`. Older releases are rejected,
    /// whatever the feed contains.
    pub async fn install(
        &self,
        release: &ReleaseInfo,
        program: &Path,
        current: &str,
    ) -> Result<(), PackageError> {
        if sort_key(&release.version) < sort_key(current) {
            return Err(PackageError::Release(format!(
                "the feed offers {}, which is older than the current {current}",
                release.version
            )));
        }
        // Keep a symlink in the user's PATH.
        let target = fs::canonicalize(program).map_err(PackageError::disk(program))?;
        let shown = target.to_string_lossy();
        if let Some(dir) = MANAGED_DIRS.iter().find(|dir| shown.contains(**dir)) {
            return Err(PackageError::Release(format!(
                "{shown} is managed by a package manager ({}); update pi with it",
                dir.trim_matches('/')
            )));
        }
        let platform = platform();
        let released = release.programs.get(&platform).ok_or_else(|| {
            PackageError::Release(format!(
                "release {} has no executable for {platform}",
                release.version
            ))
        })?;
        let bytes = self
            .fetch(&released.url, MAX_PROGRAM_BYTES, PROGRAM_TIMEOUT)
            .await?;
        let digest = hex(&Sha256::digest(&bytes));
        if !digest.eq_ignore_ascii_case(released.sha256.trim()) {
            return Err(PackageError::Integrity(format!("pi {}", release.version)));
        }
        let bytes = if released.url.ends_with(".tar.gz") {
            unpack_executable(&bytes)?
        } else if Path::new(&released.url)
            .extension()
            .is_some_and(|extension| extension == "gz")
        {
            decompress(&bytes)?
        } else {
            bytes
        };
        replace_executable(&bytes, &target, &release.version).await
    }

    async fn fetch(
        &self,
        address: &str,
        max_bytes: usize,
        timeout: Duration,
    ) -> Result<Vec<u8>, PackageError> {
        let network = |problem: String| PackageError::Network {
            url: address.to_owned(),
            problem,
        };
        let fetching = async {
            let headers = [("accept", "*/*")];
            let mut response = self
                .http
                .download(address, &headers, &self.env)
                .await
                .map_err(|error| network(error.message))?;
            if response.status() != 200 {
                return Err(PackageError::HttpStatus {
                    url: address.to_owned(),
                    status: response.status(),
                });
            }
            let mut body = Vec::new();
            while let Some(chunk) = response
                .chunk()
                .await
                .map_err(|error| network(error.message))?
            {
                if body.len() + chunk.len() > max_bytes {
                    return Err(PackageError::TooLarge {
                        what: address.to_owned(),
                        limit: format!("{} MB", max_bytes / (1024 * 1024)),
                    });
                }
                body.extend_from_slice(&chunk);
            }
            Ok(body)
        };
        tokio::time::timeout(timeout, fetching)
            .await
            .map_err(|_elapsed| network(format!("timed out after {} s", timeout.as_secs())))?
    }
}

/// Returns the name of the executable's platform in feeds.
fn platform() -> String {
    let libc = if cfg!(target_env = "musl") {
        "-musl"
    } else {
        ""
    };
    format!("{}-{}{libc}", std::env::consts::OS, std::env::consts::ARCH)
}

/// Returns the executable in an archive.
fn unpack_executable(bytes: &[u8]) -> Result<Vec<u8>, PackageError> {
    let malformed = |error: std::io::Error| PackageError::malformed("release", error);
    let name = if cfg!(windows) { "pi.exe" } else { "pi" };
    let unpacked = GzDecoder::new(bytes).take(MAX_PROGRAM_BYTES as u64);
    let mut archive = tar::Archive::new(unpacked);
    for entry in archive.entries().map_err(malformed)? {
        let mut entry = entry.map_err(malformed)?;
        let is_executable = entry.header().entry_type().is_file()
            && entry
                .path()
                .is_ok_and(|path| path.file_name().is_some_and(|it| it == name));
        if is_executable {
            let mut program = Vec::new();
            entry.read_to_end(&mut program).map_err(malformed)?;
            return Ok(program);
        }
    }
    Err(PackageError::Release(format!(
        "the archive of the release contains no {name}"
    )))
}

fn decompress(bytes: &[u8]) -> Result<Vec<u8>, PackageError> {
    let mut program = Vec::new();
    let max_bytes = MAX_PROGRAM_BYTES as u64;
    GzDecoder::new(bytes)
        .take(max_bytes)
        .read_to_end(&mut program)
        .map_err(|error| PackageError::malformed("release", error))?;
    Ok(program)
}

/// Writes the new executable next to the old one, verifies that it runs, and renames it.
async fn replace_executable(
    bytes: &[u8],
    target: &Path,
    version: &str,
) -> Result<(), PackageError> {
    let dir = target.parent().unwrap_or(target);
    remove_partial_updates(dir);
    let extension = if cfg!(windows) { ".exe" } else { "" };
    let new = dir.join(format!(
        "{PARTIAL}{:016x}{extension}",
        rand::random::<u64>()
    ));
    let written = write_executable(&new, bytes).map_err(PackageError::disk(dir));
    let outcome = match written {
        Ok(()) => verify_executable(&new, version).await,
        Err(error) => Err(error),
    };
    let outcome = outcome.and_then(|()| exchange(&new, target).map_err(PackageError::disk(target)));
    if outcome.is_err()
        && let Err(error) = fs::remove_file(&new)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, path = %new.display(), "cannot remove partial update");
    }
    outcome
}

/// Removes what updates left that were killed, unless one may still be running.
fn remove_partial_updates(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let is_partial = entry.file_name().to_string_lossy().starts_with(PARTIAL);
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        let age = modified.ok().and_then(|time| time.elapsed().ok());
        if is_partial
            && age.is_some_and(|age| age > STALE)
            && let Err(error) = fs::remove_file(entry.path())
        {
            tracing::warn!(%error, path = %entry.path().display(), "cannot remove partial update");
        }
    }
}

fn write_executable(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o755);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Checks that the new executable runs and is the expected release. Without `--verbose` it reports the version of the
/// compatible TypeScript pi only.
async fn verify_executable(program: &Path, version: &str) -> Result<(), PackageError> {
    let command = Command::new(program)
        .args(["--version", "--verbose"])
        .label(format!("new pi {version}"))
        .timeout(TRIAL_TIMEOUT);
    let response = command::run(command).await?;
    let release = response
        .lines()
        .find_map(|line| line.strip_prefix("release "));
    if release == Some(version) {
        return Ok(());
    }
    Err(PackageError::Release(format!(
        "the new executable is release {}, expected {version}",
        release.unwrap_or("unknown")
    )))
}

#[cfg(not(windows))]
fn exchange(new: &Path, target: &Path) -> std::io::Result<()> {
    fs::rename(new, target)?;
    // Both files are complete: if this fails, a crash of the system may bring the old one back.
    if let Some(dir) = target.parent()
        && let Err(error) = fs::File::open(dir).and_then(|dir| dir.sync_all())
    {
        tracing::debug!(%error, "cannot sync the directory of the executable");
    }
    Ok(())
}

/// A running executable cannot be replaced on Windows, but it can be renamed.
#[cfg(windows)]
fn exchange(new: &Path, target: &Path) -> std::io::Result<()> {
    let aside = target.with_extension("old.exe");
    if aside.exists() {
        fs::remove_file(&aside)?;
    }
    fs::rename(target, &aside)?;
    if let Err(error) = fs::rename(new, target) {
        fs::rename(&aside, target)?;
        return Err(error);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_ordered_by_version_and_build_number() {
        for (offered, current, expected) in [
            ("1.5.0+rs.2", "1.5.0+rs.1", true),
            ("1.5.0+rs.10", "1.5.0+rs.9", true),
            ("1.6.0+rs.1", "1.5.0+rs.7", true),
            ("1.5.0+rs.1", "1.5.0+rs.1", false),
            ("1.4.0+rs.9", "1.5.0+rs.1", false),
            ("nonsense", "1.5.0+rs.1", false),
        ] {
            let release = ReleaseInfo {
                version: offered.to_owned(),
                notes: None,
                programs: BTreeMap::new(),
            };
            assert_eq!(
                release.is_newer_than(current),
                expected,
                "{offered} {current}"
            );
        }
    }
}
