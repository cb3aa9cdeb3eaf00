//! Asks a registry: documents of packages, and archives, which are checked while they arrive.
//!
//! Passing trouble is tried again. Redirects are followed, but credentials stay with their origin.

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::time::Duration;

use pi_ai::{Download, Env, HttpClient};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use super::config::NpmConfig;
use super::integrity::Checksum;
use super::packument::{Packument, Release};
use crate::error::PackageError;

/// The short form of a package's document, without readme files and people.
const SHORT_FORM: &str = "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8";

/// How often a request is made before its trouble is believed.
const ATTEMPTS: u32 = 3;

/// The first pause between attempts; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// Answers that may be others a moment later.
const PASSING_TROUBLE: [u16; 6] = [408, 429, 500, 502, 503, 504];

/// How long a registry may take to begin an answer, and between its pieces.
const PATIENCE: Duration = Duration::from_mins(1);

/// How many redirects are followed.
const MAX_REDIRECTS: usize = 5;

/// No honest document is larger.
const MAX_DOCUMENT_BYTES: usize = 128 * 1024 * 1024;

/// No honest archive is larger.
const MAX_ARCHIVE_BYTES: u64 = 512 * 1024 * 1024;

/// A registry as the user configured it.
#[derive(Debug, Clone)]
pub(crate) struct Registry {
    http: HttpClient,
    env: Env,
    config: NpmConfig,
}

impl Registry {
    /// Uses a configuration; `proxy` is the program's own, for when npm's names none.
    pub(crate) fn new(config: NpmConfig, env: Env, proxy: Option<&str>) -> Self {
        Self {
            http: HttpClient::with_settings(config.http_settings(proxy)),
            env,
            config,
        }
    }

    /// Fetches the document of a package.
    pub(crate) async fn packument(&self, name: &str) -> Result<Packument, PackageError> {
        let registry = self.config.registry_of(name)?;
        // The slash of a scope is part of the name.
        let address = format!("{registry}{}", name.replace('/', "%2f"));
        let target = parse(&address)?;
        let body = self
            .patiently(|| self.document(&target, registry))
            .await
            .map_err(|error| match error {
                PackageError::Refused { status: 404, .. } => {
                    PackageError::UnknownPackage(name.to_owned())
                }
                other => other,
            })?;
        serde_json::from_slice(&body)
            .map_err(|error| PackageError::malformed(format!("the registry on {name}"), error))
    }

    async fn document(&self, target: &Url, registry: &Url) -> Result<Vec<u8>, PackageError> {
        let mut answer = self.get(target, registry, SHORT_FORM).await?;
        let mut body = Vec::new();
        while let Some(piece) = next(&mut answer, target).await? {
            if body.len() + piece.len() > MAX_DOCUMENT_BYTES {
                return Err(too_large(target, MAX_DOCUMENT_BYTES as u64));
            }
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }

    /// Fetches the archive of a release into a file without a name; `on_bytes` hears how much arrived.
    pub(crate) async fn archive(
        &self,
        release: &Release,
        on_bytes: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<File, PackageError> {
        let registry = self.config.registry_of(&release.manifest.name)?;
        let target = parse(&release.archive)?;
        self.patiently(|| self.checked(release, &target, registry, on_bytes))
            .await
    }

    async fn checked(
        &self,
        release: &Release,
        target: &Url,
        registry: &Url,
        on_bytes: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<File, PackageError> {
        let mut checksum = Checksum::of(release)?;
        let mut answer = self.get(target, registry, "*/*").await?;
        let disk = |error| PackageError::Disk {
            path: std::env::temp_dir(),
            error,
        };
        let mut file = unnamed_temp_file().map_err(disk)?;
        let mut size = 0;
        while let Some(piece) = next(&mut answer, target).await? {
            size += piece.len() as u64;
            if size > MAX_ARCHIVE_BYTES {
                return Err(too_large(target, MAX_ARCHIVE_BYTES));
            }
            checksum.update(&piece);
            file.write_all(&piece).map_err(disk)?;
            on_bytes(piece.len() as u64);
        }
        if !checksum.matches() {
            let manifest = &release.manifest;
            return Err(PackageError::Integrity(format!(
                "{}@{}",
                manifest.name, manifest.version
            )));
        }
        file.seek(SeekFrom::Start(0)).map_err(disk)?;
        Ok(file)
    }

    /// Asks for an address and where that leads.
    async fn get(
        &self,
        target: &Url,
        registry: &Url,
        accept: &str,
    ) -> Result<Download, PackageError> {
        let mut address = target.clone();
        for _ in 0..=MAX_REDIRECTS {
            let authorization = self.config.authorization(&address, registry);
            let mut headers = vec![("accept", accept)];
            let secret = authorization.as_ref().map(SecretString::expose_secret);
            headers.extend(secret.map(|secret| ("authorization", secret)));
            let asking = self.http.download(address.as_str(), &headers, &self.env);
            let answer = tokio::time::timeout(PATIENCE, asking)
                .await
                .map_err(|_elapsed| silent(target))?
                .map_err(|error| network(target, error.message))?;
            match answer.status() {
                200 => return Ok(answer),
                301 | 302 | 303 | 307 | 308 => {
                    let location = answer.header("location");
                    let next = location.and_then(|location| address.join(location).ok());
                    let next = next.filter(|next| {
                        // No way back from an encrypted connection to one that is not.
                        next.scheme() == "https" || next.scheme() == address.scheme()
                    });
                    address = next.ok_or_else(|| {
                        network(target, "it leads to nowhere pi follows".to_owned())
                    })?;
                }
                status => {
                    return Err(PackageError::Refused {
                        url: shown(target),
                        status,
                    });
                }
            }
        }
        Err(network(target, "it leads in circles".to_owned()))
    }

    /// Tries again what may pass.
    async fn patiently<T, F>(&self, attempt: impl Fn() -> F) -> Result<T, PackageError>
    where
        F: Future<Output = Result<T, PackageError>>,
    {
        let mut pause = FIRST_PAUSE;
        let mut left = ATTEMPTS;
        loop {
            left -= 1;
            let outcome = attempt().await;
            let may_pass = match &outcome {
                Err(PackageError::Network { .. }) => true,
                Err(PackageError::Refused { status, .. }) => PASSING_TROUBLE.contains(status),
                Ok(_) | Err(_) => false,
            };
            if !may_pass || left == 0 {
                return outcome;
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }
}

async fn next(
    answer: &mut Download,
    target: &Url,
) -> Result<Option<impl std::ops::Deref<Target = [u8]> + use<>>, PackageError> {
    tokio::time::timeout(PATIENCE, answer.chunk())
        .await
        .map_err(|_elapsed| silent(target))?
        .map_err(|error| network(target, error.message))
}

fn parse(address: &str) -> Result<Url, PackageError> {
    Url::parse(address)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https"))
        .ok_or_else(|| PackageError::malformed(format!("{address:?}"), "it is not an address"))
}

/// An address without what may be secret in it.
fn shown(url: &Url) -> String {
    let mut shown = url.clone();
    shown.set_query(None);
    // Addresses without a host have no user either.
    shown.set_username("").ok();
    shown.set_password(None).ok();
    shown.into()
}

fn network(url: &Url, problem: String) -> PackageError {
    PackageError::Network {
        url: shown(url),
        problem,
    }
}

fn silent(url: &Url) -> PackageError {
    network(url, format!("no answer for {} s", PATIENCE.as_secs()))
}

fn too_large(url: &Url, limit: u64) -> PackageError {
    PackageError::TooLarge {
        what: shown(url),
        limit: format!("{} MB", limit / (1024 * 1024)),
    }
}

/// Opens a file that nobody else can find and that goes with its handle.
fn unnamed_temp_file() -> std::io::Result<File> {
    crate::dir_ops::unnamed_temp_file(&std::env::temp_dir())
}
