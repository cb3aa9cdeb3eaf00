//! What a provider accepts as authentication, and where the environment may offer it.
//!
//! The values are data of the provider table; reading them needs no network and runs no command.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};

use super::authenticator::AuthSource;
use super::value_template::ValueTemplate;
use crate::env::Env;
use crate::env_vars;
use crate::google_credentials::credentials_file;
use crate::oauth::OAuthFlow;
use crate::options::HeaderOverrides;

/// How a provider lets us in.
#[derive(Clone)]
pub struct ProviderAuth {
    /// The provider's id, which is also its key in `auth.json`.
    pub provider: String,
    /// Keys and ambient credentials, unless the provider only knows sign-ins.
    pub api_key: Option<ApiKeyAuth>,
    /// The provider's sign-in, if it has one.
    pub oauth: Option<Arc<dyn OAuthFlow>>,
    /// What `models.json` or an extension says.
    pub configured: ConfiguredAuth,
}

/// The keys a provider takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKeyAuth {
    /// What the user is asked for, such as `Anthropic API key`.
    pub name: Cow<'static, str>,
    /// Where a key is looked for when none is stored.
    pub source: KeySource,
}

/// Where a key is looked for when none is stored, and how it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeySource {
    /// The first of these environment variables that is set.
    Variables(&'static [&'static str]),
    /// `ANTHROPIC_AUTH_TOKEN` as a bearer token, else `ANTHROPIC_OAUTH_TOKEN`, else
    /// `ANTHROPIC_API_KEY`.
    Anthropic,
    /// A bearer token, or whatever AWS's own chain of credentials finds.
    Bedrock,
    /// `GOOGLE_CLOUD_API_KEY`, or Google's application default credentials with project and
    /// location.
    Vertex,
    /// `CLOUDFLARE_API_KEY` with `CLOUDFLARE_ACCOUNT_ID`.
    CloudflareWorkersAi,
    /// `CLOUDFLARE_API_KEY` with account and `CLOUDFLARE_GATEWAY_ID`, in the gateway's own header.
    CloudflareAiGateway,
    /// `LLAMA_BASE_URL`, with `LLAMA_API_KEY` where the server wants a key.
    Llama,
}

/// What `models.json` or an extension says about a provider's authentication.
#[derive(Debug, Clone, Default)]
pub struct ConfiguredAuth {
    /// The key, used when none is stored.
    pub api_key: Option<ValueTemplate>,
    /// Headers of every request.
    pub headers: BTreeMap<String, ValueTemplate>,
    /// Sends the key as a bearer token, whatever the wire API would do with it.
    pub auth_header: bool,
}

/// What a [`KeySource`] makes of a key and the environment.
pub(super) struct KeyAuth {
    pub(super) api_key: Option<SecretString>,
    pub(super) headers: HeaderOverrides,
    pub(super) env: BTreeMap<String, String>,
    pub(super) source: AuthSource,
}

impl ProviderAuth {
    /// Creates the description of a provider that takes plain keys from these variables.
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

    /// Says what the user can do when nothing is configured.
    pub fn setup_hint(&self) -> String {
        let mut ways = Vec::new();
        if let Some(template) = &self.configured.api_key {
            let names = template.variables();
            if !names.is_empty() {
                ways.push(format!(
                    "set {} (named by apiKey in models.json)",
                    names.join(", ")
                ));
            }
        }
        if let Some(api_key) = &self.api_key {
            ways.extend(api_key.source.hint());
        }
        ways.push(format!("sign in with `/login {}`", self.provider));
        if self.api_key.is_some() && self.configured.api_key.is_none() {
            ways.push(format!(
                "set providers.{}.apiKey in models.json",
                self.provider
            ));
        }
        ways.join(", or ")
    }

    /// Returns whether a plain key is of any use to the provider.
    pub(super) fn takes_keys(&self) -> bool {
        self.api_key.is_some() || self.configured.api_key.is_some()
    }

    /// Finds a key: the given one, or what the environment offers.
    ///
    /// `env` already contains `variables`, the provider-scoped ones of a stored credential.
    pub(super) async fn find_key(
        &self,
        key: Option<(SecretString, AuthSource)>,
        variables: &BTreeMap<String, String>,
        env: &Env,
    ) -> Option<KeyAuth> {
        let source = self
            .api_key
            .as_ref()
            .map_or(KeySource::Variables(&[]), |api_key| api_key.source);
        source.find(key, variables, env).await
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
                             GOOGLE_CLOUD_LOCATION beside application default credentials"
                .to_owned(),
            Self::CloudflareWorkersAi => "CLOUDFLARE_API_KEY and CLOUDFLARE_ACCOUNT_ID".to_owned(),
            Self::CloudflareAiGateway => {
                "CLOUDFLARE_API_KEY, CLOUDFLARE_ACCOUNT_ID and CLOUDFLARE_GATEWAY_ID".to_owned()
            }
            Self::Llama => "LLAMA_BASE_URL to the address of your server".to_owned(),
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
            // These hand on the variables their addresses are made of, and no others.
            Self::CloudflareWorkersAi => return cloudflare_workers_ai(key, env),
            Self::CloudflareAiGateway => return cloudflare_gateway(key, env),
            Self::Llama => return llama(key, env),
            Self::Variables(names) => key
                .or_else(|| names.iter().find_map(|name| from_env(env, name)))
                .map(with_key),
            Self::Anthropic => key.map(with_key).or_else(|| anthropic(env)),
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

/// Begins an authentication by headers, or by credentials that the wire API finds itself.
fn without_key(source: AuthSource) -> KeyAuth {
    KeyAuth {
        api_key: None,
        headers: HeaderOverrides::new(),
        env: BTreeMap::new(),
        source,
    }
}

/// Returns a variable that says something; blanks alone do not.
fn variable(env: &Env, name: &str) -> Option<String> {
    env.var(name).filter(|value| !value.trim().is_empty())
}

fn from_env(env: &Env, name: &str) -> Option<(SecretString, AuthSource)> {
    let value = variable(env, name)?;
    Some((value.into(), AuthSource::Variable(name.to_owned())))
}

fn keep_variable(variables: &mut BTreeMap<String, String>, env: &Env, name: &str) -> Option<()> {
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
    Some(AuthSource::Ambient(found))
}

async fn vertex_default_credentials(env: &Env) -> Option<KeyAuth> {
    let file = credentials_file(env)?;
    variable(env, env_vars::GOOGLE_CLOUD_PROJECT)
        .or_else(|| variable(env, env_vars::GCLOUD_PROJECT))?;
    variable(env, env_vars::GOOGLE_CLOUD_LOCATION)?;
    let source = AuthSource::Ambient("gcloud application default credentials");
    tokio::fs::try_exists(&file)
        .await
        .unwrap_or(false)
        .then(|| without_key(source))
}

fn cloudflare_workers_ai(key: Option<(SecretString, AuthSource)>, env: &Env) -> Option<KeyAuth> {
    let mut auth = with_key(key.or_else(|| from_env(env, "CLOUDFLARE_API_KEY"))?);
    keep_variable(&mut auth.env, env, "CLOUDFLARE_ACCOUNT_ID")?;
    Some(auth)
}

fn cloudflare_gateway(key: Option<(SecretString, AuthSource)>, env: &Env) -> Option<KeyAuth> {
    let (key, source) = key.or_else(|| from_env(env, "CLOUDFLARE_API_KEY"))?;
    let mut auth = without_key(source);
    keep_variable(&mut auth.env, env, "CLOUDFLARE_ACCOUNT_ID")?;
    keep_variable(&mut auth.env, env, "CLOUDFLARE_GATEWAY_ID")?;
    // The gateway authenticates itself to the vendors behind it; our key must not reach them.
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

/// A server of the user's own is known by its address; most want no key, but clients must send one.
fn llama(key: Option<(SecretString, AuthSource)>, env: &Env) -> Option<KeyAuth> {
    let mut variables = BTreeMap::new();
    keep_variable(&mut variables, env, env_vars::LLAMA_BASE_URL)?;
    let source = AuthSource::Variable(env_vars::LLAMA_BASE_URL.to_owned());
    let key = key.or_else(|| from_env(env, env_vars::LLAMA_API_KEY));
    let mut auth = with_key(key.unwrap_or_else(|| ("local".into(), source)));
    auth.env = variables;
    Some(auth)
}
