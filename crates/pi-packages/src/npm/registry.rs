//! Registry client: fetches package documents, and archives, which are verified while they are received.
//!
//! Transient errors are retried. Redirects are followed, but credentials are only sent to their origin.

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::time::Duration;

use pi_env::Env;
use pi_http::{Download, HttpClient};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use super::config::NpmConfig;
use super::integrity::Checksum;
use super::packument::{Packument, Release};
use crate::error::PackageError;

/// Requests the abbreviated package document, without readme and maintainers.
const ABBREVIATED_DOCUMENT: &str =
    "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8";

const MAX_ATTEMPTS: u32 = 3;

/// Delay before the first retry; doubles with each attempt.
const INITIAL_RETRY_DELAY: Duration = Duration::from_millis(250);

/// Status codes that are retried.
const RETRYABLE_STATUSES: [u16; 6] = [408, 429, 500, 502, 503, 504];

/// Idle timeout, both for the response head and between chunks.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);

const MAX_REDIRECTS: usize = 5;

const MAX_DOCUMENT_BYTES: usize = 128 * 1024 * 1024;

const MAX_ARCHIVE_BYTES: u64 = 512 * 1024 * 1024;

/// A client for the configured registries.
#[derive(Debug, Clone)]
pub(crate) struct RegistryClient {
    http: HttpClient,
    env: Env,
    config: NpmConfig,
}

impl RegistryClient {
    /// `proxy` is pi's proxy setting, used if the npm configuration has none.
    pub(crate) fn new(config: NpmConfig, env: Env, proxy: Option<&str>) -> Self {
        Self {
            http: HttpClient::with_settings(config.http_settings(proxy)),
            env,
            config,
        }
    }

    pub(crate) async fn packument(&self, name: &str) -> Result<Packument, PackageError> {
        let registry = self.config.registry_of(name)?;
        // The slash of a scoped name must be escaped.
        let address = format!("{registry}{}", name.replace('/', "%2f"));
        let target = parse(&address)?;
        let body = self
            .with_retries(|| self.document(&target, registry))
            .await
            .map_err(|error| match error {
                PackageError::HttpStatus { status: 404, .. } => {
                    PackageError::UnknownPackage(name.to_owned())
                }
                other => other,
            })?;
        serde_json::from_slice(&body)
            .map_err(|error| PackageError::malformed(format!("registry document of {name}"), error))
    }

    async fn document(&self, target: &Url, registry: &Url) -> Result<Vec<u8>, PackageError> {
        let mut response = self.get(target, registry, ABBREVIATED_DOCUMENT).await?;
        let mut body = Vec::new();
        while let Some(chunk) = next_chunk(&mut response, target).await? {
            if body.len() + chunk.len() > MAX_DOCUMENT_BYTES {
                return Err(too_large(target, MAX_DOCUMENT_BYTES as u64));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// Fetches the archive of a release into a temporary file; `on_bytes` is called with the size of each chunk.
    pub(crate) async fn archive(
        &self,
        release: &Release,
        on_bytes: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<File, PackageError> {
        let registry = self.config.registry_of(&release.manifest.name)?;
        let target = parse(&release.archive)?;
        self.with_retries(|| self.fetch_archive(release, &target, registry, on_bytes))
            .await
    }

    async fn fetch_archive(
        &self,
        release: &Release,
        target: &Url,
        registry: &Url,
        on_bytes: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<File, PackageError> {
        let mut checksum = Checksum::of(release)?;
        let mut response = self.get(target, registry, "*/*").await?;
        let disk = |error| PackageError::Disk {
            path: std::env::temp_dir(),
            error,
        };
        let mut file = unnamed_temp_file().map_err(disk)?;
        let mut size = 0;
        while let Some(chunk) = next_chunk(&mut response, target).await? {
            size += chunk.len() as u64;
            if size > MAX_ARCHIVE_BYTES {
                return Err(too_large(target, MAX_ARCHIVE_BYTES));
            }
            checksum.update(&chunk);
            file.write_all(&chunk).map_err(disk)?;
            on_bytes(chunk.len() as u64);
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

    /// Sends a request and follows redirects.
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
            let request = self.http.download(address.as_str(), &headers, &self.env);
            let response = tokio::time::timeout(IDLE_TIMEOUT, request)
                .await
                .map_err(|_elapsed| timed_out(target))?
                .map_err(|error| network(target, error.message))?;
            match response.status() {
                200 => return Ok(response),
                301 | 302 | 303 | 307 | 308 => {
                    let location = response.header("location");
                    let next = location.and_then(|location| address.join(location).ok());
                    let next = next.filter(|next| {
                        // Never downgrade from https to http.
                        next.scheme() == "https" || next.scheme() == address.scheme()
                    });
                    address = next.ok_or_else(|| {
                        network(target, "redirect to an unsupported URL".to_owned())
                    })?;
                }
                status => {
                    return Err(PackageError::HttpStatus {
                        url: redacted(target),
                        status,
                    });
                }
            }
        }
        Err(network(target, "too many redirects".to_owned()))
    }

    /// Retries transient errors.
    async fn with_retries<T, F>(&self, attempt: impl Fn() -> F) -> Result<T, PackageError>
    where
        F: Future<Output = Result<T, PackageError>>,
    {
        let mut pause = INITIAL_RETRY_DELAY;
        let mut left = MAX_ATTEMPTS;
        loop {
            left -= 1;
            let outcome = attempt().await;
            let may_pass = match &outcome {
                Err(PackageError::Network { .. }) => true,
                Err(PackageError::HttpStatus { status, .. }) => RETRYABLE_STATUSES.contains(status),
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

async fn next_chunk(
    response: &mut Download,
    target: &Url,
) -> Result<Option<impl std::ops::Deref<Target = [u8]> + use<>>, PackageError> {
    tokio::time::timeout(IDLE_TIMEOUT, response.chunk())
        .await
        .map_err(|_elapsed| timed_out(target))?
        .map_err(|error| network(target, error.message))
}

fn parse(address: &str) -> Result<Url, PackageError> {
    Url::parse(address)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https"))
        .ok_or_else(|| PackageError::malformed(format!("{address:?}"), "not a valid URL"))
}

/// Formats a URL without credentials and query.
fn redacted(url: &Url) -> String {
    let mut redacted = url.clone();
    redacted.set_query(None);
    // Fails only for URLs without a host, which have no user.
    redacted.set_username("").ok();
    redacted.set_password(None).ok();
    redacted.into()
}

fn network(url: &Url, problem: String) -> PackageError {
    PackageError::Network {
        url: redacted(url),
        problem,
    }
}

fn timed_out(url: &Url) -> PackageError {
    network(url, format!("no response for {} s", IDLE_TIMEOUT.as_secs()))
}

fn too_large(url: &Url, limit: u64) -> PackageError {
    PackageError::TooLarge {
        what: redacted(url),
        limit: format!("{} MB", limit / (1024 * 1024)),
    }
}

fn unnamed_temp_file() -> std::io::Result<File> {
    pi_fs::private::unnamed_file(&std::env::temp_dir())
}
