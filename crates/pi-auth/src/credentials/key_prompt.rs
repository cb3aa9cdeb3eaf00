//! Prompts the user for a provider's API key and the settings that go with it.

use std::collections::BTreeMap;

use pi_env::env_vars;
use pi_protocol::json::JsonObject;
use pi_protocol::{LoginEvent, LoginLink, LoginPrompt};
use secrecy::SecretString;

use super::credential::ApiKeyCredential;
use super::provider_auth::{ApiKeyAuth, KeySource};
use crate::oauth::{LoginInteraction, OAuthError, choose};

/// Default URL of llama.cpp's server.
const DEFAULT_LLAMA_URL: &str = "http://127.0.0.1:8080";

impl ApiKeyAuth {
    /// Returns whether the provider needs more than a key.
    pub fn needs_extra_fields(&self) -> bool {
        !matches!(self.source, KeySource::Variables(_) | KeySource::Anthropic)
    }

    /// Prompts for the credential. It is not verified with the provider.
    pub async fn prompt(
        &self,
        interaction: &dyn LoginInteraction,
    ) -> Result<ApiKeyCredential, OAuthError> {
        match self.source {
            KeySource::Variables(_) | KeySource::Anthropic => Ok(credential(
                prompt_secret(interaction, &self.name).await?,
                [],
            )),
            KeySource::CloudflareWorkersAi => {
                let key = prompt_secret(interaction, "Cloudflare API key").await?;
                let account = prompt_text(interaction, "Cloudflare account ID").await?;
                Ok(credential(key, [("CLOUDFLARE_ACCOUNT_ID", account)]))
            }
            KeySource::CloudflareAiGateway => {
                let key = prompt_secret(interaction, "Cloudflare API key").await?;
                let account = prompt_text(interaction, "Cloudflare account ID").await?;
                let gateway = prompt_text(interaction, "Cloudflare AI Gateway ID").await?;
                Ok(credential(
                    key,
                    [
                        ("CLOUDFLARE_ACCOUNT_ID", account),
                        ("CLOUDFLARE_GATEWAY_ID", gateway),
                    ],
                ))
            }
            KeySource::Llama => {
                let url = interaction
                    .prompt(LoginPrompt::Text {
                        message: "Server URL:".to_owned(),
                        placeholder: Some(DEFAULT_LLAMA_URL.to_owned()),
                    })
                    .await?;
                let url = match url.trim() {
                    "" => DEFAULT_LLAMA_URL.to_owned(),
                    url => url.to_owned(),
                };
                let key = interaction
                    .prompt(LoginPrompt::Secret {
                        message: "API key (leave empty if the server needs none):".to_owned(),
                    })
                    .await?;
                let key = Some(key.trim()).filter(|key| !key.is_empty());
                let key = key.map(SecretString::from);
                Ok(credential(key, [(env_vars::LLAMA_BASE_URL, url)]))
            }
            KeySource::Bedrock => prompt_bedrock(interaction).await,
            KeySource::Vertex => prompt_vertex(interaction).await,
        }
    }
}

async fn prompt_bedrock(
    interaction: &dyn LoginInteraction,
) -> Result<ApiKeyCredential, OAuthError> {
    let choices = [
        ("bearer-token", "Bearer token"),
        ("aws-profile", "AWS profile"),
        ("credential-chain", "AWS credentials on this machine"),
    ];
    match choose(
        interaction,
        "How do you want to authenticate with Amazon Bedrock?",
        choices,
    )
    .await?
    {
        "bearer-token" => {
            let token = prompt_secret(interaction, "Amazon Bedrock bearer token").await?;
            Ok(credential(token, []))
        }
        "aws-profile" => {
            let profile = prompt_text(interaction, "AWS profile").await?;
            Ok(credential(None, [("AWS_PROFILE", profile)]))
        }
        _ => {
            interaction.notify(LoginEvent::Info {
                message: "pi uses the AWS default credential chain: profiles, access keys, \
                          single sign-on and roles."
                    .to_owned(),
                links: vec![LoginLink {
                    url: "https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html"
                        .to_owned(),
                    label: "AWS credential providers".to_owned(),
                }],
            });
            Ok(credential(None, []))
        }
    }
}

async fn prompt_vertex(interaction: &dyn LoginInteraction) -> Result<ApiKeyCredential, OAuthError> {
    let choices = [
        ("api-key", "Google Cloud API key"),
        ("adc", "Application default credentials"),
        ("service-account", "Service account credentials file"),
    ];
    let method = choose(
        interaction,
        "How do you want to authenticate with Vertex AI?",
        choices,
    )
    .await?;
    if method == "api-key" {
        let key = prompt_secret(interaction, "Google Cloud API key").await?;
        return Ok(credential(key, []));
    }
    interaction.notify(LoginEvent::Info {
        message: "Create application default credentials with \
                  `gcloud auth application-default login`."
            .to_owned(),
        links: vec![LoginLink {
            url: "https://cloud.google.com/docs/authentication/provide-credentials-adc".to_owned(),
            label: "Application default credentials".to_owned(),
        }],
    });
    let mut variables = vec![
        (
            env_vars::GOOGLE_CLOUD_PROJECT,
            prompt_text(interaction, "Google Cloud project ID").await?,
        ),
        (
            env_vars::GOOGLE_CLOUD_LOCATION,
            prompt_text(interaction, "Google Cloud location").await?,
        ),
    ];
    if method == "service-account" {
        variables.push((
            env_vars::GOOGLE_APPLICATION_CREDENTIALS,
            prompt_text(interaction, "Path to the credentials file").await?,
        ));
    }
    Ok(credential(None, variables))
}

fn credential(
    key: impl Into<Option<SecretString>>,
    variables: impl IntoIterator<Item = (&'static str, String)>,
) -> ApiKeyCredential {
    ApiKeyCredential {
        key: key.into(),
        env: variables
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect::<BTreeMap<_, _>>(),
        extra: JsonObject::new(),
    }
}

/// Prompts for a key. It is stored as typed, so it may be a `$NAME` or `!command` template.
async fn prompt_secret(
    interaction: &dyn LoginInteraction,
    name: &str,
) -> Result<SecretString, OAuthError> {
    let input = interaction
        .prompt(LoginPrompt::Secret {
            message: format!("{name}:"),
        })
        .await?;
    Ok(required(&input, name)?.into())
}

async fn prompt_text(interaction: &dyn LoginInteraction, name: &str) -> Result<String, OAuthError> {
    let input = interaction
        .prompt(LoginPrompt::Text {
            message: format!("{name}:"),
            placeholder: None,
        })
        .await?;
    required(&input, name)
}

fn required(input: &str, name: &str) -> Result<String, OAuthError> {
    let input = input.trim();
    if input.is_empty() {
        return Err(OAuthError::InvalidInput(format!(
            "{name} must not be empty"
        )));
    }
    Ok(input.to_owned())
}
