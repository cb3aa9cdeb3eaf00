//! `cargo xtask package` and `cargo xtask release`: what people download.
//!
//! `package` makes the archive of one platform, and a Debian package, from a binary of `cargo xtask dist`. `release` reads
//! the archives of all platforms and writes everything that names a version, an address or a checksum: the signed list of
//! the release (for `install.sh` and `pi update`), `install.sh` and the definitions for package managers. They have no
//! other source, so they agree.

mod debian;
mod files;
mod platforms;
mod signature;
mod templates;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use pi_fs::{NewFileMode, atomic_file};
use pi_protocol::hex;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use files::{PackagedFile, archive};
use platforms::{PLATFORMS, Platform};
use signature::SigningKey;

/// Environment variable with the signing key: the 32 bytes of an Ed25519 seed in base64.
const SIGNING_KEY: &str = "PI_RELEASE_SIGNING_KEY";

/// Environment variable with the public key that binaries are built with, and that verifies their updates.
const PUBLIC_KEY: &str = "PI_RELEASE_KEY";

/// Lists the files that are signed: the release, and the checksums of all other files.
const FEED: &str = "release.json";
const CHECKSUMS: &str = "SHA256SUMS";

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PackageOptions {
    binary: PathBuf,
    target: Option<String>,
    out: PathBuf,
}

impl PackageOptions {
    pub(crate) fn parse(arguments: &[&str]) -> Result<Self> {
        let mut options = Self {
            binary: PathBuf::from("target/dist/pi"),
            target: None,
            out: PathBuf::from("target/packages"),
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let value = arguments
                .next()
                .with_context(|| format!("{argument} needs a value"))?;
            match *argument {
                "--binary" => options.binary = PathBuf::from(value),
                "--target" => options.target = Some((*value).to_owned()),
                "--out" => options.out = PathBuf::from(value),
                _ => bail!("`package` has no option {argument}"),
            }
        }
        Ok(options)
    }
}

/// Makes the archive of a platform, and a Debian package for Linux with glibc.
pub(crate) fn package(options: &PackageOptions) -> Result<String> {
    let platform = match &options.target {
        Some(target) => platforms::of_target(target)?,
        None => platforms::of_this_machine()?,
    };
    let version = ReleaseVersion::of(&options.binary)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = files::collect(&options.binary, platform, &version, &root)?;
    fs::create_dir_all(&options.out)?;
    let mut packages = vec![(platform.archive(), archive(&platform.stem(), &files)?)];
    if let Some(architecture) = platform.debian {
        let name = debian::name(&version, architecture);
        packages.push((name, debian::package(&files, architecture, &version)?));
    }
    let mut report = String::new();
    for (name, bytes) in packages {
        let path = options.out.join(name);
        atomic_file::write(&path, &bytes, NewFileMode::Default)
            .with_context(|| format!("cannot write {}", path.display()))?;
        writeln!(report, "{}: {} bytes", path.display(), bytes.len())?;
    }
    Ok(report)
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ReleaseOptions {
    packages: PathBuf,
    releases: String,
    notes: Option<PathBuf>,
}

impl ReleaseOptions {
    pub(crate) fn parse(arguments: &[&str]) -> Result<Self> {
        let mut packages = PathBuf::from("target/packages");
        let mut releases = None;
        let mut notes = None;
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let value = arguments
                .next()
                .with_context(|| format!("{argument} needs a value"))?;
            match *argument {
                "--packages" => packages = PathBuf::from(value),
                "--releases" => releases = Some(value.trim_end_matches('/').to_owned()),
                "--notes" => notes = Some(PathBuf::from(value)),
                _ => bail!("`release` has no option {argument}"),
            }
        }
        let releases = releases.context(
            "`release` needs the address of the release page\nhint: add --releases https://HOST/OWNER/pi/releases",
        )?;
        ensure!(
            releases.contains("://") && !releases.contains(['"', '\'', '\\', ' ', '$', '`']),
            "not an address: {releases}"
        );
        Ok(Self {
            packages,
            releases,
            notes,
        })
    }
}

/// The version of a release.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ReleaseVersion(String);

impl ReleaseVersion {
    /// The version of this source.
    fn current() -> Self {
        Self(pi_env::release())
    }

    /// Returns the version that a binary reports. Fails if it is not that of this source.
    fn of(binary: &Path) -> Result<Self> {
        let output = Command::new(binary)
            .args(["--version", "--verbose"])
            .output()
            .with_context(|| {
                format!(
                    "cannot run {}\nhint: run `cargo xtask dist` first",
                    binary.display()
                )
            })?;
        let output = String::from_utf8_lossy(&output.stdout);
        let reported = output
            .lines()
            .find_map(|line| line.strip_prefix("release "));
        let current = Self::current();
        ensure!(
            reported == Some(current.0.as_str()),
            "{} reports release {}, but this is the source of {}",
            binary.display(),
            reported.unwrap_or("nothing"),
            current.0
        );
        Ok(current)
    }

    /// Returns the version without a plus sign, which addresses and tags do not keep everywhere.
    fn tag(&self) -> String {
        self.0.replace('+', "-")
    }
}

/// A packaged platform: the name and the checksum of its archive.
#[derive(Debug, Clone)]
struct PackagedPlatform {
    platform: &'static Platform,
    sha256: String,
}

/// Everything that the files of a release are made of.
#[derive(Debug)]
struct Release {
    version: ReleaseVersion,
    releases: String,
    notes: Option<String>,
    platforms: Vec<PackagedPlatform>,
}

impl Release {
    /// Returns the address of a file of this release.
    fn address(&self, file: &str) -> String {
        format!("{}/download/v{}/{file}", self.releases, self.version.tag())
    }

    /// Returns the list of the release: what `pi update` and `install.sh` read. One line per platform.
    fn feed(&self) -> String {
        let mut lines = vec![format!("  \"version\": {}", json!(self.version.0))];
        if let Some(notes) = &self.notes {
            lines.push(format!("  \"notes\": {}", json!(notes)));
        }
        let programs: Vec<String> = self
            .platforms
            .iter()
            .map(|packaged| {
                let entry: Value = json!({"url": self.address(&packaged.platform.archive()), "sha256": packaged.sha256});
                let entry = entry.to_string().replace("\":\"", "\": \"").replace("\",\"", "\", \"");
                format!("    {}: {entry}", json!(packaged.platform.name))
            })
            .collect();
        lines.push(format!(
            "  \"programs\": {{\n{}\n  }}",
            programs.join(",\n")
        ));
        format!("{{\n{}\n}}\n", lines.join(",\n"))
    }
}

/// Writes the files of a release next to the packages.
pub(crate) fn release(options: &ReleaseOptions) -> Result<String> {
    let key = std::env::var(SIGNING_KEY).with_context(|| {
        format!("{SIGNING_KEY} is not set\nhint: `cargo xtask release-key` prints a new key")
    })?;
    let key = SigningKey::parse(&key)?;
    check_public_key(&key, std::env::var(PUBLIC_KEY).ok().as_deref())?;
    write_release(options, &key)
}

/// Fails if the binaries were built with another key, or none, and could not verify the releases that this key signs.
fn check_public_key(key: &SigningKey, built_with: Option<&str>) -> Result<()> {
    let hint = format!("build with {PUBLIC_KEY}={}", key.public_key());
    match built_with.map(str::trim).filter(|it| !it.is_empty()) {
        Some(built_with) if built_with == key.public_key() => Ok(()),
        Some(built_with) => {
            bail!("{PUBLIC_KEY} is {built_with}, which is not the signing key's\nhint: {hint}")
        }
        None => {
            bail!("{PUBLIC_KEY} is not set: binaries could not update themselves\nhint: {hint}")
        }
    }
}

fn write_release(options: &ReleaseOptions, key: &SigningKey) -> Result<String> {
    let directory = &options.packages;
    let version = ReleaseVersion::current();
    let mut platforms = Vec::new();
    for platform in &PLATFORMS {
        let path = directory.join(platform.archive());
        if path.exists() {
            let archive = fs::read(&path)?;
            files::check_version(&archive, &version)
                .with_context(|| format!("cannot release {}", path.display()))?;
            platforms.push(PackagedPlatform {
                platform,
                sha256: sha256(&archive),
            });
        }
    }
    ensure!(
        !platforms.is_empty(),
        "no packages in {}\nhint: run `cargo xtask package` first",
        directory.display()
    );
    check_debian_packages(directory, &version)?;
    let notes = match &options.notes {
        Some(path) => Some(
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?,
        ),
        None => None,
    };
    let release = Release {
        version,
        releases: options.releases.clone(),
        notes,
        platforms,
    };
    let mut written = templates::render_all(&release, key)?;
    written.insert(FEED.to_owned(), release.feed());
    write_all(directory, &written)?;
    let checksums = checksums(directory)?;
    let mut signed = BTreeMap::new();
    for (name, text) in [(FEED, release.feed()), (CHECKSUMS, checksums.clone())] {
        signed.insert(format!("{name}.sig"), key.sign(text.as_bytes()));
        signed.insert(format!("{name}.sshsig"), key.sign_for_ssh(text.as_bytes()));
    }
    signed.insert(CHECKSUMS.to_owned(), checksums);
    write_all(directory, &signed)?;
    let names: Vec<&str> = written
        .keys()
        .chain(signed.keys())
        .map(String::as_str)
        .collect();
    Ok(format!(
        "pi {} for {} platforms in {}: {}\npublic key: {}",
        release.version.0,
        release.platforms.len(),
        directory.display(),
        names.join(", "),
        key.public_key()
    ))
}

/// Fails if the directory has a Debian package of another version, whose checksum would be signed as well.
fn check_debian_packages(directory: &Path, version: &ReleaseVersion) -> Result<()> {
    let architectures = PLATFORMS.iter().filter_map(|platform| platform.debian);
    let expected: Vec<String> = architectures
        .map(|architecture| debian::name(version, architecture))
        .collect();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        ensure!(
            !name.ends_with(".deb") || expected.iter().any(|it| **it == *name),
            "cannot release {}: this is the source of {}\nhint: remove packages of other versions",
            path.display(),
            version.0
        );
    }
    Ok(())
}

/// Prints a new key for [`SIGNING_KEY`] and its public part.
pub(crate) fn new_key() -> Result<String> {
    let (secret, key) = SigningKey::generate()?;
    Ok(format!(
        "secret ({SIGNING_KEY}, for the release job): {secret}\n\
         public ({PUBLIC_KEY}, for all builds and the release job): {}",
        key.public_key()
    ))
}

fn write_all(directory: &Path, files: &BTreeMap<String, String>) -> Result<()> {
    for (name, text) in files {
        let path = directory.join(name);
        atomic_file::write(&path, text.as_bytes(), NewFileMode::Default)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Returns the checksums of all files of a directory but signatures, in the format of `sha256sum`.
fn checksums(directory: &Path) -> Result<String> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_signed = name == CHECKSUMS || name.ends_with("sig");
        if path.is_file() && !is_signed {
            lines.push(format!("{}  {name}\n", sha256(&fs::read(&path)?)));
        }
    }
    // By name, which follows the 64 digits and two blanks.
    lines.sort_by(|one, other| one.get(66..).cmp(&other.get(66..)));
    Ok(lines.concat())
}

fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Makes a file of a package.
fn packaged(path: &str, mode: u32, content: Vec<u8>) -> PackagedFile {
    PackagedFile {
        path: path.to_owned(),
        mode,
        content,
    }
}
