//! Every environment variable this crate reads, one constant each, with what it means.
//!
//! Credentials of providers are data (see the provider table), not listed here.

/// `long` asks providers to keep prompts cached for an hour or more.
pub const CACHE_RETENTION: &str = "PI_CACHE_RETENTION";

/// Set to anything, it keeps pi from using the network by itself.
pub const OFFLINE: &str = "PI_OFFLINE";

/// The proxy for `http` targets; the lower-case name is read too and wins.
pub const HTTP_PROXY: &str = "HTTP_PROXY";

/// The proxy for `https` targets; the lower-case name is read too and wins.
pub const HTTPS_PROXY: &str = "HTTPS_PROXY";

/// The proxy for targets without a proxy of their own; the lower-case name is read too and wins.
pub const ALL_PROXY: &str = "ALL_PROXY";

/// Hosts to reach without a proxy, separated by commas; the lower-case name is read too and wins.
pub const NO_PROXY: &str = "NO_PROXY";

/// The Google Cloud project that Vertex AI requests run in.
pub const GOOGLE_CLOUD_PROJECT: &str = "GOOGLE_CLOUD_PROJECT";

/// An older name of [`GOOGLE_CLOUD_PROJECT`], read after it.
pub const GCLOUD_PROJECT: &str = "GCLOUD_PROJECT";

/// The location that serves Vertex AI requests, such as `us-central1` or `global`.
pub const GOOGLE_CLOUD_LOCATION: &str = "GOOGLE_CLOUD_LOCATION";

/// The project that Google bills and counts quota against, where it is not the credential's own.
pub const GOOGLE_CLOUD_QUOTA_PROJECT: &str = "GOOGLE_CLOUD_QUOTA_PROJECT";

/// A Google credentials file: a service account key, or what gcloud writes for a user.
pub const GOOGLE_APPLICATION_CREDENTIALS: &str = "GOOGLE_APPLICATION_CREDENTIALS";

/// The directory gcloud keeps its configuration in.
pub const CLOUDSDK_CONFIG: &str = "CLOUDSDK_CONFIG";

/// Host and port of the Google metadata server.
pub const GCE_METADATA_HOST: &str = "GCE_METADATA_HOST";

/// The address of the Google metadata server; it wins over [`GCE_METADATA_HOST`].
pub const GCE_METADATA_IP: &str = "GCE_METADATA_IP";

/// `none` keeps pi from asking the Google metadata server.
pub const METADATA_SERVER_DETECTION: &str = "METADATA_SERVER_DETECTION";

/// Where Windows programs keep their settings; gcloud's directory is in it.
pub const APPDATA: &str = "APPDATA";

/// The address of Azure's Responses API.
pub const AZURE_BASE_URL: &str = "AZURE_OPENAI_BASE_URL";

/// The Azure resource whose address is used when no address is given.
pub const AZURE_RESOURCE_NAME: &str = "AZURE_OPENAI_RESOURCE_NAME";

/// The version of Azure's API; `v1` when unset.
pub const AZURE_API_VERSION: &str = "AZURE_OPENAI_API_VERSION";

/// Which Azure deployment serves which model: `model=deployment`, parted by commas.
pub const AZURE_DEPLOYMENT_NAME_MAP: &str = "AZURE_OPENAI_DEPLOYMENT_NAME_MAP";

/// A key for Bedrock alone, sent as a bearer token instead of an AWS signature.
pub const BEDROCK_BEARER_TOKEN: &str = "AWS_BEARER_TOKEN_BEDROCK";

/// Set to `1`, requests to Bedrock are not signed, for gateways that do so themselves.
pub const BEDROCK_SKIP_AUTH: &str = "AWS_BEDROCK_SKIP_AUTH";

/// Set to `1`, cache points are sent to Bedrock models that are not known to take them.
pub const BEDROCK_FORCE_CACHE: &str = "AWS_BEDROCK_FORCE_CACHE";

/// The address the callback server of a browser sign-in listens on, instead of `127.0.0.1`.
pub const OAUTH_CALLBACK_HOST: &str = "PI_OAUTH_CALLBACK_HOST";

/// The Radius gateway to sign in to and to use, instead of the public one.
pub const RADIUS_GATEWAY: &str = "PI_RADIUS_GATEWAY";

/// The host of Kimi's sign-in, for its test installations.
pub const KIMI_CODE_OAUTH_HOST: &str = "KIMI_CODE_OAUTH_HOST";

/// The older name of `KIMI_CODE_OAUTH_HOST`.
pub const KIMI_OAUTH_HOST: &str = "KIMI_OAUTH_HOST";

/// The address of a model server of the user's own: llama.cpp, or one that speaks OpenAI's protocol.
pub const LLAMA_BASE_URL: &str = "LLAMA_BASE_URL";

/// The key of that server, if it wants one.
pub const LLAMA_API_KEY: &str = "LLAMA_API_KEY";
