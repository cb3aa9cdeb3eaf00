//! AWS credentials: from the environment, or from the default chain of the AWS SDK.
//!
//! The SDK implements the chain (profiles with their roles, SSO and processes, web identity, containers, instance
//! metadata). This file controls the environment it sees and caches the result.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_config::{BehaviorVersion, Region};
use aws_credential_types::Credentials;
use aws_credential_types::provider::ProvideCredentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_types::os_shim_internal::Env as AwsEnv;
use parking_lot::Mutex;
use pi_env::Env;
use pi_http::{HttpClient, error_chain};
use pi_protocol::ProviderError;
use pi_providers::ModelRequest;
use serde_json::Value;

use super::aws_http::AwsHttp;

const PROFILE: &str = "AWS_PROFILE";
const ACCESS_KEY: &str = "AWS_ACCESS_KEY_ID";
const SECRET_KEY: &str = "AWS_SECRET_ACCESS_KEY";
const SESSION_TOKEN: &str = "AWS_SESSION_TOKEN";

/// The variables that the AWS SDK reads to find credentials.
const VARIABLES: [&str; 27] = [
    PROFILE,
    ACCESS_KEY,
    SECRET_KEY,
    SESSION_TOKEN,
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ACCOUNT_ID",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_EC2_METADATA_DISABLED",
    "AWS_EC2_METADATA_SERVICE_ENDPOINT",
    "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_STS",
    "AWS_ENDPOINT_URL_SSO",
    "AWS_ENDPOINT_URL_SSO_OIDC",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
    "AWS_USE_FIPS_ENDPOINT",
    "AWS_USE_DUALSTACK_ENDPOINT",
    "AWS_MAX_ATTEMPTS",
];

/// Credentials are renewed this long before they expire.
const RENEWAL_MARGIN: Duration = Duration::from_mins(5);

/// The AWS-related part of a request's environment.
pub(super) struct AwsSettings {
    pub env: Env,
    variables: BTreeMap<String, String>,
}

impl AwsSettings {
    pub(super) fn from_request(request: &ModelRequest) -> Self {
        let env = request.environment();
        let mut variables: BTreeMap<String, String> = VARIABLES
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), env.var(name)?)))
            .collect();
        if let Some(home) = env.home_dir() {
            let home = home.to_string_lossy().into_owned();
            variables.insert("HOME".to_owned(), home);
        }
        let requested = request
            .options
            .provider_option("profile")
            .and_then(Value::as_str)
            .or_else(|| request.options.env.get(PROFILE).map(String::as_str))
            .filter(|profile| !profile.is_empty());
        // A profile selected for this provider wins over keys in the environment.
        if let Some(profile) = requested {
            variables.insert(PROFILE.to_owned(), profile.to_owned());
            for name in [ACCESS_KEY, SECRET_KEY, SESSION_TOKEN] {
                variables.remove(name);
            }
        }
        Self { env, variables }
    }

    /// Returns a variable as seen by the AWS SDK.
    pub(super) fn var(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    pub(super) fn profile(&self) -> Option<&str> {
        self.variables.get(PROFILE).map(String::as_str)
    }

    /// Returns the environment for the AWS SDK.
    pub(super) fn aws_env(&self) -> AwsEnv {
        let variables: HashMap<String, String> = self
            .variables
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        AwsEnv::from(variables)
    }

    fn keys(&self) -> Option<Credentials> {
        Some(Credentials::new(
            self.var(ACCESS_KEY)?,
            self.var(SECRET_KEY)?,
            self.var(SESSION_TOKEN),
            None,
            "environment",
        ))
    }

    fn now(&self) -> SystemTime {
        let now = u64::try_from(self.env.now_ms()).unwrap_or(0);
        UNIX_EPOCH + Duration::from_millis(now)
    }
}

/// Loaded temporary credentials, by the environment they were loaded from.
#[derive(Default)]
pub(super) struct CredentialCache {
    loaded: Mutex<HashMap<BTreeMap<String, String>, Credentials>>,
}

impl fmt::Debug for CredentialCache {
    // The environments hold secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CredentialCache")
            .finish_non_exhaustive()
    }
}

impl CredentialCache {
    /// Returns credentials, from the cache if they are valid for long enough.
    pub(super) async fn load(
        &self,
        settings: &AwsSettings,
        region: &str,
        http: &HttpClient,
    ) -> Result<Credentials, ProviderError> {
        if let Some(keys) = settings.keys() {
            return Ok(keys);
        }
        if let Some(credentials) = self.cached(settings) {
            return Ok(credentials);
        }
        let credentials = load(settings, region, http).await?;
        // Credentials without expiry may change on disk at any time, and are cheap to load.
        if credentials.expiry().is_some() {
            self.loaded
                .lock()
                .insert(settings.variables.clone(), credentials.clone());
        }
        Ok(credentials)
    }

    fn cached(&self, settings: &AwsSettings) -> Option<Credentials> {
        let renewal = settings.now() + RENEWAL_MARGIN;
        let mut loaded = self.loaded.lock();
        loaded.retain(|_, credentials| credentials.expiry().is_some_and(|end| end > renewal));
        loaded.get(&settings.variables).cloned()
    }
}

async fn load(
    settings: &AwsSettings,
    region: &str,
    http: &HttpClient,
) -> Result<Credentials, ProviderError> {
    let config = aws_config::defaults(BehaviorVersion::v2026_01_12())
        .env(settings.aws_env())
        .http_client(AwsHttp::new(http.clone(), settings.env.clone()))
        .region(Region::new(region.to_owned()))
        .load()
        .await;
    let provider = config
        .credentials_provider()
        .ok_or_else(|| not_found(settings))?;
    provider
        .provide_credentials()
        .await
        .map_err(|error| match error {
            CredentialsError::CredentialsNotLoaded(_) => not_found(settings),
            error => ProviderError::auth(format!(
                "Cannot load AWS credentials: {}",
                error_chain(&error)
            )),
        })
}

fn not_found(settings: &AwsSettings) -> ProviderError {
    ProviderError::auth(match settings.profile() {
        Some(profile) => format!(
            "The AWS profile {profile} has no credentials: check ~/.aws/config and \
                         ~/.aws/credentials"
        ),
        None => "No AWS credentials found: set AWS_PROFILE, AWS_ACCESS_KEY_ID and \
                 AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK"
            .to_owned(),
    })
}
