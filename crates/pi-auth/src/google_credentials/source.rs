//! Locates the Google credential: a configured file, gcloud's file, or the machine's metadata
//! server.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use pi_env::{Env, env_vars};
use pi_protocol::ProviderError;
use secrecy::SecretString;
use serde::Deserialize;
use sha2::{Digest, Sha256};

const DEFAULT_TOKEN_URI: &str = "https://oauth2.googleapis.com/token";
const DEFAULT_METADATA_HOST: &str = "169.254.169.254";
const GCLOUD_FILE: &str = "application_default_credentials.json";

/// What to do when a credential is missing or unusable.
pub(super) const SETUP_HINT: &str = "set GOOGLE_CLOUD_API_KEY, point GOOGLE_APPLICATION_CREDENTIALS to a service account key, \
     or run `gcloud auth application-default login`";

/// Identifies a credential without storing its secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CredentialFingerprint([u8; 32]);

impl CredentialFingerprint {
    fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

/// A credential that can be exchanged for a token.
#[derive(Debug)]
pub(super) enum GoogleCredentialSource {
    File {
        path: PathBuf,
        fingerprint: CredentialFingerprint,
        key: FileKey,
        quota_project: Option<String>,
    },
    /// The metadata server at this base URL.
    Metadata { base_url: String },
}

/// Contents of a credentials file.
#[derive(Debug)]
pub(super) enum FileKey {
    ServiceAccount(ServiceAccount),
    AuthorizedUser(AuthorizedUser),
}

/// A service account, which signs its own assertions.
#[derive(Debug)]
pub(super) struct ServiceAccount {
    pub client_email: String,
    pub private_key: SecretString,
    pub private_key_id: Option<String>,
    pub token_uri: String,
}

/// A user signed in with gcloud.
#[derive(Debug)]
pub(super) struct AuthorizedUser {
    pub client_id: String,
    pub client_secret: SecretString,
    pub refresh_token: SecretString,
    pub token_uri: String,
}

/// The fields of all file types; `type` determines which are required.
#[derive(Deserialize)]
struct CredentialsFile {
    #[serde(rename = "type")]
    kind: Option<String>,
    client_email: Option<String>,
    private_key: Option<String>,
    private_key_id: Option<String>,
    client_id: Option<String>,
    client_secret: Option<String>,
    refresh_token: Option<String>,
    token_uri: Option<String>,
    quota_project_id: Option<String>,
}

impl GoogleCredentialSource {
    /// Locates the credential: the configured file, gcloud's file, or the metadata server.
    pub(super) async fn find(env: &Env) -> Result<Self, ProviderError> {
        if let Some(named) = env.var(env_vars::GOOGLE_APPLICATION_CREDENTIALS) {
            let path = PathBuf::from(named);
            let bytes = tokio::fs::read(&path).await.map_err(|error| {
                ProviderError::auth(format!(
                    "cannot read the Google credentials file {} (from {}): {error}",
                    path.display(),
                    env_vars::GOOGLE_APPLICATION_CREDENTIALS
                ))
            })?;
            return Self::from_file(path, &bytes);
        }
        if let Some(path) = gcloud_file(env) {
            match tokio::fs::read(&path).await {
                Ok(bytes) => return Self::from_file(path, &bytes),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    return Err(ProviderError::auth(format!(
                        "cannot read the Google credentials file {}: {error}",
                        path.display()
                    )));
                }
            }
        }
        Self::metadata_server(env)
    }

    fn from_file(path: PathBuf, bytes: &[u8]) -> Result<Self, ProviderError> {
        let file: CredentialsFile =
            serde_json::from_slice(bytes).map_err(|error| malformed(&path, &error))?;
        let quota_project = file.quota_project_id.clone();
        Ok(Self::File {
            key: file.key(&path)?,
            fingerprint: CredentialFingerprint::of(bytes),
            quota_project,
            path,
        })
    }

    fn metadata_server(env: &Env) -> Result<Self, ProviderError> {
        let detection = env.var(env_vars::METADATA_SERVER_DETECTION);
        if detection.is_some_and(|value| value.trim().eq_ignore_ascii_case("none")) {
            return Err(no_credentials("the metadata server is disabled"));
        }
        let host = env
            .var(env_vars::GCE_METADATA_IP)
            .or_else(|| env.var(env_vars::GCE_METADATA_HOST))
            .unwrap_or_else(|| DEFAULT_METADATA_HOST.to_owned());
        let host = host.trim_end_matches('/');
        Ok(Self::Metadata {
            base_url: if host.contains("://") {
                host.to_owned()
            } else {
                format!("http://{host}")
            },
        })
    }

    pub(super) fn fingerprint(&self) -> CredentialFingerprint {
        match self {
            Self::File { fingerprint, .. } => *fingerprint,
            Self::Metadata { base_url } => CredentialFingerprint::of(base_url.as_bytes()),
        }
    }

    /// Returns the project to bill, from the environment or the file.
    pub(super) fn quota_project(&self, env: &Env) -> Option<String> {
        let of_file = match self {
            Self::File { quota_project, .. } => quota_project.clone(),
            Self::Metadata { .. } => None,
        };
        env.var(env_vars::GOOGLE_CLOUD_QUOTA_PROJECT).or(of_file)
    }
}

impl CredentialsFile {
    fn key(self, path: &Path) -> Result<FileKey, ProviderError> {
        let token_uri = self
            .token_uri
            .unwrap_or_else(|| DEFAULT_TOKEN_URI.to_owned());
        let missing = |field: &'static str| malformed(path, &format!("missing \"{field}\""));
        let secret = |value: Option<String>, field| {
            value.map(SecretString::from).ok_or_else(|| missing(field))
        };
        match self.kind.as_deref() {
            Some("service_account") => Ok(FileKey::ServiceAccount(ServiceAccount {
                client_email: self.client_email.ok_or_else(|| missing("client_email"))?,
                private_key: secret(self.private_key, "private_key")?,
                private_key_id: self.private_key_id,
                token_uri,
            })),
            Some("authorized_user") => Ok(FileKey::AuthorizedUser(AuthorizedUser {
                client_id: self.client_id.ok_or_else(|| missing("client_id"))?,
                client_secret: secret(self.client_secret, "client_secret")?,
                refresh_token: secret(self.refresh_token, "refresh_token")?,
                token_uri,
            })),
            Some(other) => Err(ProviderError::auth(format!(
                "the Google credentials file {} has the unsupported type \"{other}\" (supported: service_account, \
                 authorized_user); {SETUP_HINT}",
                path.display()
            ))),
            None => Err(missing("type")),
        }
    }
}

/// Returns the path of the application default credentials: the configured file or gcloud's. The
/// file may not exist.
pub(crate) fn credentials_file(env: &Env) -> Option<PathBuf> {
    env.var(env_vars::GOOGLE_APPLICATION_CREDENTIALS)
        .map(PathBuf::from)
        .or_else(|| gcloud_file(env))
}

fn gcloud_file(env: &Env) -> Option<PathBuf> {
    let directory = match env.var(env_vars::CLOUDSDK_CONFIG) {
        Some(directory) => PathBuf::from(directory),
        None if cfg!(windows) => PathBuf::from(env.var(env_vars::APPDATA)?).join("gcloud"),
        None => env.home_dir()?.join(".config").join("gcloud"),
    };
    Some(directory.join(GCLOUD_FILE))
}

fn malformed(path: &Path, problem: &impl Display) -> ProviderError {
    ProviderError::auth(format!(
        "the Google credentials file {} is malformed: {problem}",
        path.display()
    ))
}

pub(super) fn no_credentials(detail: impl Display) -> ProviderError {
    ProviderError::auth(format!(
        "no Google credentials found ({detail}); {SETUP_HINT}"
    ))
}
