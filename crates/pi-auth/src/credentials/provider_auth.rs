//! What a provider accepts for authentication, and which environment variables supply it.
//!
//! This is plain data from the provider table; building it uses no network and runs no command.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_env::{Env, env_vars};
use pi_http::HeaderOverrides;
use pi_protocol::AuthSource;
use secrecy::{ExposeSecret, SecretString};

use super::value_template::ValueTemplate;
use crate::google_credentials::credentials_file;
use crate::oauth::{OAuthFlow, federation_variables};

/// How requests to a provider authenticate.
#[derive(Clone)]
pub struct ProviderAuth {
    /// Provider ID, also its key in `auth.json`.
    pub provider: String,
    /// Keys and ambient credentials; `None` if the provider supports only OAuth.
    pub api_key: Option<ApiKeyAuth>,
    pub oauth: Option<Arc<dyn OAuthFlow>>,
    /// Configuration from `models.json` or an extension.
    pub configured: ConfiguredAuth,
}

/// The kind of keys a provider accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKeyAuth {
    /// Label for the key prompt, such as `Anthropic API key`.
    pub name: Cow<'static, str>,
    /// Where to find a key if none is stored.
    pub source: KeySource,
}

/// Where to find a key if none is stored, and how to send it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeySource {
    /// The first of these environment variables that is set.
    Variables(&'static [&'static str]),
    /// `ANTHROPIC_AUTH_TOKEN` as a bearer token, else `ANTHROPIC_OAUTH_TOKEN`, else
    /// `ANTHROPIC_API_KEY`, else workload identity federation.
    Anthropic,
    /// A bearer token, or the AWS default credential chain.
    Bedrock,
    /// `GOOGLE_CLOUD_API_KEY`, or Google's application default credentials with project and
    /// location.
    Vertex,
    /// `CLOUDFLARE_API_KEY` with `CLOUDFLARE_ACCOUNT_ID`.
    CloudflareWorkersAi,
    /// `CLOUDFLARE_API_KEY` with account ID and `CLOUDFLARE_GATEWAY_ID`, sent in the gateway's
    /// header.
    CloudflareAiGateway,
    /// `LLAMA_BASE_URL`, and `LLAMA_API_KEY` if the server requires a key.
    Llama,
}

/// Authentication settings from `models.json` or an extension.
#[derive(Debug, Clone, Default)]
pub struct ConfiguredAuth {
    /// Key to use if none is stored.
    pub api_key: Option<ValueTemplate>,
    /// Headers for every request.
    pub headers: BTreeMap<String, ValueTemplate>,
    /// Whether to send the key as a bearer token, regardless of the wire API.
    pub auth_header: bool,
}

/// A key resolved by a [`KeySource`].
pub(super) struct KeyAuth {
    pub(super) api_key: Option<SecretString>,
    pub(super) headers: HeaderOverrides,
    pub(super) env: BTreeMap<String, String>,
    pub(super) source: AuthSource,
}

impl ProviderAuth {
    /// Creates the description of a provider that accepts keys from `source`.
    pub fn from_key_source(
        provider: impl Into<String>,
        name: impl Into<Cow<'static, str>>,
        source: KeySource,
    ) -> Self {
        Self {
            provider: provider.into(),
            api_key: Some(ApiKeyAuth {
                name: name.into(),
                source,
            }),
            oauth: None,
            configured: ConfiguredAuth::default(),
        }
    }

    /// Returns how the user can configure a credential.
    pub fn setup_hint(&self) -> String {
        let mut options = Vec::new();
        if let Some(template) = &self.configured.api_key {
            let names = template.variables();
            if !names.is_empty() {
                options.push(format!(
                    "set {} (referenced by apiKey in models.json)",
                    names.join(", ")
                ));
            }
        }
        if let Some(api_key) = &self.api_key {
            options.extend(api_key.source.hint());
        }
        options.push(format!("run `/login {}`", self.provider));
        if self.api_key.is_some() && self.configured.api_key.is_none() {
            options.push(format!(
                "set providers.{}.apiKey in models.json",
                self.provider
            ));
        }
        options.join(", or ")
    }

    /// Returns whether the provider can use a plain key.
    pub(super) fn accepts_keys(&self) -> bool {
        self.api_key.is_some() || self.configured.api_key.is_some()
    }

    /// Resolves a key: the given one, or one from the environment.
    ///
    /// `env` already contains `variables`, the provider-scoped variables of a stored credential.
    pub(super) fn find_key<'a>(
        &'a self,
        key: Option<(SecretString, AuthSource)>,
        variables: &'a BTreeMap<String, String>,
        env: &'a Env,
    ) -> BoxFuture<'a, Option<KeyAuth>> {
        Box::pin(async move {
            let source = self
                .api_key
                .as_ref()
                .map_or(KeySource::Variables(&[]), |api_key| api_key.source);
            source.find(key, variables, env).await
        })
    }
}

impl fmt::Debug for ProviderAuth {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ProviderAuth")
            .field("provider", &self.provider)
            .field("api_key", &self.api_key)
            .field("oauth", &self.oauth.as_ref().map(|flow| flow.name()))
            .field("configured", &self.configured)
            .finish()
    }
}

impl KeySource {
    fn hint(self) -> Option<String> {
        let text = match self {
            Self::Variables([]) => return None,
            Self::Variables(names) => names.join(" or "),
            Self::Anthropic => "ANTHROPIC_API_KEY".to_owned(),
            Self::Bedrock => "AWS_BEARER_TOKEN_BEDROCK, AWS_PROFILE or AWS access keys".to_owned(),
            Self::Vertex => "GOOGLE_CLOUD_API_KEY, or GOOGLE_CLOUD_PROJECT and \
                             GOOGLE_CLOUD_LOCATION with application default credentials"
                .to_owned(),
            Self::CloudflareWorkersAi => "CLOUDFLARE_API_KEY and CLOUDFLARE_ACCOUNT_ID".to_owned(),
            Self::CloudflareAiGateway => {
                "CLOUDFLARE_API_KEY, CLOUDFLARE_ACCOUNT_ID and CLOUDFLARE_GATEWAY_ID".to_owned()
            }
            Self::Llama => "LLAMA_BASE_URL to your server's URL".to_owned(),
        };
        Some(format!("set {text}"))
    }

    async fn find(
        self,
        key: Option<(SecretString, AuthSource)>,
        variables: &BTreeMap<String, String>,
        env: &Env,
    ) -> Option<KeyAuth> {
        let found = match self {
            // These pass on only the variables that their URLs contain.
            Self::CloudflareWorkersAi => return cloudflare_workers_ai(key, env),
            Self::CloudflareAiGateway => return cloudflare_gateway(key, env),
            Self::Llama => return llama(key, env),
            Self::Variables(names) => key
                .or_else(|| names.iter().find_map(|name| from_env(env, name)))
                .map(with_key),
            Self::Anthropic => key
                .map(with_key)
                .or_else(|| anthropic(env))
                .or_else(|| anthropic_federation(env)),
            Self::Bedrock => key
                .map(with_key)
                .or_else(|| bedrock_chain(env).map(without_key)),
            Self::Vertex => match key.or_else(|| from_env(env, "GOOGLE_CLOUD_API_KEY")) {
                Some(key) => Some(with_key(key)),
                None => vertex_default_credentials(env).await,
            },
        };
        found.map(|found| KeyAuth {
            env: variables.clone(),
            ..found
        })
    }
}

fn with_key((key, source): (SecretString, AuthSource)) -> KeyAuth {
    KeyAuth {
        api_key: Some(key),
        headers: HeaderOverrides::new(),
        env: BTreeMap::new(),
        source,
    }
}

/// Creates an authentication that uses headers, or credentials that the wire API resolves.
fn without_key(source: AuthSource) -> KeyAuth {
    KeyAuth {
        api_key: None,
        headers: HeaderOverrides::new(),
        env: BTreeMap::new(),
        source,
    }
}

/// Returns a variable that is set and not blank.
fn variable(env: &Env, name: &str) -> Option<String> {
    env.var(name).filter(|value| !value.trim().is_empty())
}

fn from_env(env: &Env, name: &str) -> Option<(SecretString, AuthSource)> {
    let value = variable(env, name)?;
    Some((value.into(), AuthSource::Variable(name.to_owned())))
}

fn copy_variable(variables: &mut BTreeMap<String, String>, env: &Env, name: &str) -> Option<()> {
    variables.insert(name.to_owned(), variable(env, name)?);
    Some(())
}

fn anthropic(env: &Env) -> Option<KeyAuth> {
    if let Some((token, source)) = from_env(env, "ANTHROPIC_AUTH_TOKEN") {
        let mut auth = without_key(source);
        auth.headers.insert(
            "authorization".to_owned(),
            Some(format!("Bearer {}", token.expose_secret())),
        );
        return Some(auth);
    }
    from_env(env, "ANTHROPIC_OAUTH_TOKEN")
        .or_else(|| from_env(env, "ANTHROPIC_API_KEY"))
        .map(with_key)
}

/// The wire API exchanges the identity token.
fn anthropic_federation(env: &Env) -> Option<KeyAuth> {
    federation_variables(env)?;
    let source = AuthSource::Ambient("workload identity federation".to_owned());
    Some(without_key(source))
}

fn bedrock_chain(env: &Env) -> Option<AuthSource> {
    let is_set = |name: &str| variable(env, name).is_some();
    let found = if is_set(env_vars::BEDROCK_BEARER_TOKEN) {
        let name = env_vars::BEDROCK_BEARER_TOKEN.to_owned();
        return Some(AuthSource::Variable(name));
    } else if is_set("AWS_PROFILE") {
        return Some(AuthSource::Variable("AWS_PROFILE".to_owned()));
    } else if is_set("AWS_ACCESS_KEY_ID") && is_set("AWS_SECRET_ACCESS_KEY") {
        "AWS access keys"
    } else if is_set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
        || is_set("AWS_CONTAINER_CREDENTIALS_FULL_URI")
    {
        "ECS task role"
    } else if is_set("AWS_WEB_IDENTITY_TOKEN_FILE") {
        "web identity token"
    } else {
        return None;
    };
    Some(AuthSource::Ambient(found.to_owned()))
}

async fn vertex_default_credentials(env: &Env) -> Option<KeyAuth> {
    let file = credentials_file(env)?;
    variable(env, env_vars::GOOGLE_CLOUD_PROJECT)
        .or_else(|| variable(env, env_vars::GCLOUD_PROJECT))?;
    variable(env, env_vars::GOOGLE_CLOUD_LOCATION)?;
    let source = AuthSource::Ambient("gcloud application default credentials".to_owned());
    tokio::fs::try_exists(&file)
        .await
        .unwrap_or(false)
        .then(|| without_key(source))
}

fn cloudflare_workers_ai(key: Option<(SecretString, AuthSource)>, env: &Env) -> Option<KeyAuth> {
    let mut auth = with_key(key.or_else(|| from_env(env, "CLOUDFLARE_API_KEY"))?);
    copy_variable(&mut auth.env, env, "CLOUDFLARE_ACCOUNT_ID")?;
    Some(auth)
}

fn cloudflare_gateway(key: Option<(SecretString, AuthSource)>, env: &Env) -> Option<KeyAuth> {
    let (key, source) = key.or_else(|| from_env(env, "CLOUDFLARE_API_KEY"))?;
    let mut auth = without_key(source);
    copy_variable(&mut auth.env, env, "CLOUDFLARE_ACCOUNT_ID")?;
    copy_variable(&mut auth.env, env, "CLOUDFLARE_GATEWAY_ID")?;
    // The gateway authenticates with the upstream vendors; our key must not reach them.
    auth.headers.extend([
        (
            "cf-aig-authorization".to_owned(),
            Some(format!("Bearer {}", key.expose_secret())),
        ),
        ("authorization".to_owned(), None),
        ("x-api-key".to_owned(), None),
    ]);
    Some(auth)
}

/// A local or self-hosted server is identified by its URL. Most need no key, but clients must send
/// one.
fn llama(key: Option<(SecretString, AuthSource)>, env: &Env) -> Option<KeyAuth> {
    let mut variables = BTreeMap::new();
    copy_variable(&mut variables, env, env_vars::LLAMA_BASE_URL)?;
    let source = AuthSource::Variable(env_vars::LLAMA_BASE_URL.to_owned());
    let key = key.or_else(|| from_env(env, env_vars::LLAMA_API_KEY));
    let mut auth = with_key(key.unwrap_or_else(|| ("local".into(), source)));
    auth.env = variables;
    Some(auth)
}
