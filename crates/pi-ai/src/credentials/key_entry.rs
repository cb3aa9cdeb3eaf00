//! Asks a person for the key of a provider, and for what the provider needs beside it.

use std::collections::BTreeMap;

use secrecy::SecretString;

use super::credential::ApiKeyCredential;
use super::provider_auth::{ApiKeyAuth, KeySource};
use crate::env_vars;
use crate::json::JsonObject;
use crate::oauth::{LoginEvent, LoginInteraction, LoginLink, LoginPrompt, OAuthError, choose};

/// Where llama.cpp serves unless it is told otherwise.
const LOCAL_SERVER: &str = "http://127.0.0.1:8080";

impl ApiKeyAuth {
    /// Returns whether more than a key is asked for.
    pub fn needs_extra_fields(&self) -> bool {
        !matches!(self.source, KeySource::Variables(_) | KeySource::Anthropic)
    }

    /// Asks for the credential. Nothing is checked with the provider.
    pub async fn prompt(
        &self,
        interaction: &dyn LoginInteraction,
    ) -> Result<ApiKeyCredential, OAuthError> {
        match self.source {
            KeySource::Variables(_) | KeySource::Anthropic => {
                Ok(credential(ask_secret(interaction, &self.name).await?, []))
            }
            KeySource::CloudflareWorkersAi => {
                let key = ask_secret(interaction, "Cloudflare API key").await?;
                let account = ask_text(interaction, "Cloudflare account ID").await?;
                Ok(credential(key, [("CLOUDFLARE_ACCOUNT_ID", account)]))
            }
            KeySource::CloudflareAiGateway => {
                let key = ask_secret(interaction, "Cloudflare API key").await?;
                let account = ask_text(interaction, "Cloudflare account ID").await?;
                let gateway = ask_text(interaction, "Cloudflare AI Gateway ID").await?;
                Ok(credential(
                    key,
                    [
                        ("CLOUDFLARE_ACCOUNT_ID", account),
                        ("CLOUDFLARE_GATEWAY_ID", gateway),
                    ],
                ))
            }
            KeySource::Llama => {
                let address = interaction
                    .prompt(LoginPrompt::Text {
                        message: "Address of the server:".to_owned(),
                        placeholder: Some(LOCAL_SERVER.to_owned()),
                    })
                    .await?;
                let address = match address.trim() {
                    "" => LOCAL_SERVER.to_owned(),
                    address => address.to_owned(),
                };
                let key = interaction
                    .prompt(LoginPrompt::Secret {
                        message: "API key, if the server wants one:".to_owned(),
                    })
                    .await?;
                let key = Some(key.trim()).filter(|key| !key.is_empty());
                let key = key.map(SecretString::from);
                Ok(credential(key, [(env_vars::LLAMA_BASE_URL, address)]))
            }
            KeySource::Bedrock => ask_for_bedrock(interaction).await,
            KeySource::Vertex => ask_for_vertex(interaction).await,
        }
    }
}

async fn ask_for_bedrock(
    interaction: &dyn LoginInteraction,
) -> Result<ApiKeyCredential, OAuthError> {
    let choices = [
        ("bearer-token", "A bearer token"),
        ("aws-profile", "An AWS profile"),
        (
            "credential-chain",
            "Whatever AWS credentials this machine has",
        ),
    ];
    match choose(interaction, "How does Amazon Bedrock know you?", choices).await? {
        "bearer-token" => {
            let token = ask_secret(interaction, "Amazon Bedrock bearer token").await?;
            Ok(credential(token, []))
        }
        "aws-profile" => {
            let profile = ask_text(interaction, "AWS profile").await?;
            Ok(credential(None, [("AWS_PROFILE", profile)]))
        }
        _ => {
            interaction.notify(LoginEvent::Info {
                message: "Profiles, access keys, single sign-on and roles are found where AWS's \
                          own tools find them."
                    .to_owned(),
                links: vec![LoginLink {
                    url: "https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html"
                        .to_owned(),
                    label: "Where AWS looks for credentials".to_owned(),
                }],
            });
            Ok(credential(None, []))
        }
    }
}

async fn ask_for_vertex(
    interaction: &dyn LoginInteraction,
) -> Result<ApiKeyCredential, OAuthError> {
    let choices = [
        ("api-key", "A Google Cloud API key"),
        ("adc", "Application default credentials"),
        ("service-account", "A service account's credentials file"),
    ];
    let method = choose(interaction, "How does Vertex AI know you?", choices).await?;
    if method == "api-key" {
        let key = ask_secret(interaction, "Google Cloud API key").await?;
        return Ok(credential(key, []));
    }
    interaction.notify(LoginEvent::Info {
        message: "Application default credentials come from \
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
            ask_text(interaction, "Google Cloud project ID").await?,
        ),
        (
            env_vars::GOOGLE_CLOUD_LOCATION,
            ask_text(interaction, "Google Cloud location").await?,
        ),
    ];
    if method == "service-account" {
        variables.push((
            env_vars::GOOGLE_APPLICATION_CREDENTIALS,
            ask_text(interaction, "Path of the credentials file").await?,
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

/// Asks for a key. It is stored as it is typed, so `$NAME` and `!command` may be given too.
async fn ask_secret(
    interaction: &dyn LoginInteraction,
    name: &str,
) -> Result<SecretString, OAuthError> {
    let answer = interaction
        .prompt(LoginPrompt::Secret {
            message: format!("{name}:"),
        })
        .await?;
    Ok(required(&answer, name)?.into())
}

async fn ask_text(interaction: &dyn LoginInteraction, name: &str) -> Result<String, OAuthError> {
    let answer = interaction
        .prompt(LoginPrompt::Text {
            message: format!("{name}:"),
            placeholder: None,
        })
        .await?;
    required(&answer, name)
}

fn required(answer: &str, name: &str) -> Result<String, OAuthError> {
    let answer = answer.trim();
    if answer.is_empty() {
        return Err(OAuthError::InvalidInput(format!(
            "{name} must not be empty"
        )));
    }
    Ok(answer.to_owned())
}
