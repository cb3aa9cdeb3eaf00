//! Environment variables that the provider crates read.
//!
//! Provider credentials are data in the provider table and are not listed here.

/// `long` requests long prompt-cache retention (one hour or more) from providers.
pub const CACHE_RETENTION: &str = "PI_CACHE_RETENTION";

/// If set, pi makes no network requests on its own.
pub const OFFLINE: &str = "PI_OFFLINE";

/// Proxy for `http` targets. The lowercase name takes precedence.
pub const HTTP_PROXY: &str = "HTTP_PROXY";

/// Proxy for `https` targets. The lowercase name takes precedence.
pub const HTTPS_PROXY: &str = "HTTPS_PROXY";

/// Proxy for targets without a scheme-specific proxy. The lowercase name takes precedence.
pub const ALL_PROXY: &str = "ALL_PROXY";

/// Comma-separated hosts to reach without a proxy. The lowercase name takes precedence.
pub const NO_PROXY: &str = "NO_PROXY";

/// Google Cloud project for Vertex AI requests.
pub const GOOGLE_CLOUD_PROJECT: &str = "GOOGLE_CLOUD_PROJECT";

/// Older name of [`GOOGLE_CLOUD_PROJECT`], used as a fallback.
pub const GCLOUD_PROJECT: &str = "GCLOUD_PROJECT";

/// Location for Vertex AI requests, such as `us-central1` or `global`.
pub const GOOGLE_CLOUD_LOCATION: &str = "GOOGLE_CLOUD_LOCATION";

/// Project that Google bills and charges quota to, if it differs from the credential's project.
pub const GOOGLE_CLOUD_QUOTA_PROJECT: &str = "GOOGLE_CLOUD_QUOTA_PROJECT";

/// Google credentials file: a service account key or gcloud user credentials.
pub const GOOGLE_APPLICATION_CREDENTIALS: &str = "GOOGLE_APPLICATION_CREDENTIALS";

/// gcloud's configuration directory.
pub const CLOUDSDK_CONFIG: &str = "CLOUDSDK_CONFIG";

/// Host and port of the Google metadata server.
pub const GCE_METADATA_HOST: &str = "GCE_METADATA_HOST";

/// Address of the Google metadata server; takes precedence over [`GCE_METADATA_HOST`].
pub const GCE_METADATA_IP: &str = "GCE_METADATA_IP";

/// `none` disables the Google metadata server.
pub const METADATA_SERVER_DETECTION: &str = "METADATA_SERVER_DETECTION";

/// Windows application-data directory, which contains gcloud's directory.
pub const APPDATA: &str = "APPDATA";

/// Base URL of the Azure OpenAI Responses API.
pub const AZURE_BASE_URL: &str = "AZURE_OPENAI_BASE_URL";

/// Azure resource name, from which the base URL is derived if none is set.
pub const AZURE_RESOURCE_NAME: &str = "AZURE_OPENAI_RESOURCE_NAME";

/// Azure OpenAI API version; defaults to `v1`.
pub const AZURE_API_VERSION: &str = "AZURE_OPENAI_API_VERSION";

/// Comma-separated `model=deployment` pairs for Azure deployments.
pub const AZURE_DEPLOYMENT_NAME_MAP: &str = "AZURE_OPENAI_DEPLOYMENT_NAME_MAP";

/// Bedrock API key, sent as a bearer token instead of an AWS signature.
pub const BEDROCK_BEARER_TOKEN: &str = "AWS_BEARER_TOKEN_BEDROCK";

/// `1` disables signing of Bedrock requests, for gateways that sign them.
pub const BEDROCK_SKIP_AUTH: &str = "AWS_BEDROCK_SKIP_AUTH";

/// `1` sends cache points to Bedrock models that are not known to support them.
pub const BEDROCK_FORCE_CACHE: &str = "AWS_BEDROCK_FORCE_CACHE";

/// Address on which the OAuth callback server listens; defaults to `127.0.0.1`.
pub const OAUTH_CALLBACK_HOST: &str = "PI_OAUTH_CALLBACK_HOST";

/// Radius gateway to use instead of the public one.
pub const RADIUS_GATEWAY: &str = "PI_RADIUS_GATEWAY";

/// Kimi OAuth host, for test installations.
pub const KIMI_CODE_OAUTH_HOST: &str = "KIMI_CODE_OAUTH_HOST";

/// Older name of [`KIMI_CODE_OAUTH_HOST`].
pub const KIMI_OAUTH_HOST: &str = "KIMI_OAUTH_HOST";

/// URL of a local or self-hosted model server: llama.cpp or another OpenAI-compatible server.
pub const LLAMA_BASE_URL: &str = "LLAMA_BASE_URL";

/// API key for that server, if it requires one.
pub const LLAMA_API_KEY: &str = "LLAMA_API_KEY";
