//! A model server of the user's own: llama.cpp, or anything else that lists its models as OpenAI
//! does. It is there when `LLAMA_BASE_URL` or a stored credential names it.
//!
//! The list comes from the server alone and is kept between runs. llama.cpp's router says more than
//! others: which models are loaded, and how they were made.

pub(super) mod router;

use futures_util::future::{BoxFuture, FutureExt};
use reqwest::Url;
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::dispatch::WireApis;
use super::overlay::Overlay;
use super::provider::{ModelList, Provider, RefreshContext};
use super::remote_catalog::{get, store_failed};
use super::store::StoredModels;
use crate::credentials::{Credential, KeySource, ProviderAuth};
use crate::env_vars;
use crate::error::ProviderError;
use crate::model::{Model, api};
use crate::options::ModelRequest;
use crate::stream::AssistantStream;

/// The provider's id, which stored models and credentials use.
const PROVIDER: &str = "llama.cpp";

/// What a server may say at least of a conversation's length.
const USUAL_CONTEXT: u64 = 128_000;

/// Loaded models whose templates are looked at; a server has a handful.
const MOST_TEMPLATES: usize = 16;

pub(super) struct LlamaProvider {
    overlay: Overlay,
    wire: WireApis,
}

impl LlamaProvider {
    pub(super) fn new(wire: WireApis) -> Self {
        Self {
            overlay: Overlay::empty(),
            wire,
        }
    }

    async fn update(&self, context: &RefreshContext) -> Result<(), ProviderError> {
        if let Some(stored) = context.store.read(PROVIDER).await.map_err(store_failed)? {
            let ours = |model: &Model| model.provider == PROVIDER;
            let models = stored.models.into_iter().filter(ours).collect();
            self.overlay.publish(models);
        }
        let Some(address) = configured_address(context) else {
            return Ok(());
        };
        if context.network.is_none() {
            return Ok(());
        }
        let server = Server {
            address: server_address(&address)?,
            context,
        };
        let models = server.models().await?;
        self.overlay.publish(models.clone());
        let entry = StoredModels {
            models,
            checked_at: Some(context.env.now_ms()),
            ..StoredModels::default()
        };
        let written = context.store.write(PROVIDER, entry).await;
        written.map_err(store_failed)
    }
}

impl Provider for LlamaProvider {
    fn id(&self) -> &str {
        PROVIDER
    }

    fn auth(&self) -> Option<ProviderAuth> {
        Some(ProviderAuth::from_key_source(
            PROVIDER,
            "Server address",
            KeySource::Llama,
        ))
    }

    fn models(&self) -> Result<ModelList, ProviderError> {
        Ok(self.overlay.models())
    }

    fn refresh<'a>(
        &'a self,
        context: &'a RefreshContext,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        self.update(context).boxed()
    }

    fn stream(&self, mut request: ModelRequest) -> AssistantStream {
        // The list may be older than the address.
        let address = request.env.var(env_vars::LLAMA_BASE_URL);
        match address.map(|address| server_address(&address)).transpose() {
            Ok(None) => {}
            Ok(Some(address)) => {
                std::sync::Arc::make_mut(&mut request.model).base_url = inference_address(&address);
            }
            Err(error) => {
                return AssistantStream::failed(&request.model, request.env.now_ms(), error);
            }
        }
        self.wire.stream(request)
    }
}

/// Returns the address in force: the one stored with the credential, else the environment's.
fn configured_address(context: &RefreshContext) -> Option<String> {
    let stored = match &context.credential {
        Some(Credential::ApiKey(stored)) => stored.env.get(env_vars::LLAMA_BASE_URL).cloned(),
        Some(Credential::OAuth(_)) | None => None,
    };
    stored
        .filter(|address| !address.trim().is_empty())
        .or_else(|| context.env.var(env_vars::LLAMA_BASE_URL))
}

/// Returns the root of a server, whether or not its address names a scheme or ends in `/v1`.
fn server_address(written: &str) -> Result<String, ProviderError> {
    let written = written.trim();
    let address = if written.contains("://") {
        written.to_owned()
    } else {
        format!("http://{written}")
    };
    let url = Url::parse(&address).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https"));
    let Some(mut url) = url else {
        return Err(ProviderError::invalid(format!(
            "\"{written}\" is no address of a model server; {} needs one such as \
             http://127.0.0.1:8080",
            env_vars::LLAMA_BASE_URL
        )));
    };
    url.set_query(None);
    url.set_fragment(None);
    let address = url.as_str().trim_end_matches('/');
    let address = address.strip_suffix("/v1").unwrap_or(address);
    Ok(address.trim_end_matches('/').to_owned())
}

fn inference_address(server: &str) -> String {
    format!("{server}/v1")
}

/// A server to be asked.
struct Server<'a> {
    address: String,
    context: &'a RefreshContext,
}

impl Server<'_> {
    /// Returns the models that can be used now.
    async fn models(&self) -> Result<Vec<Model>, ProviderError> {
        let listed = self.listed().await?;
        let loads_by_itself = listed.iter().any(Listed::is_unloaded_preset)
            && self.properties(None).await.models_autoload;
        let mut models = Vec::new();
        let mut templates = 0;
        for entry in listed {
            if !entry.is_usable(loads_by_itself) {
                continue;
            }
            // Asking about a model that sleeps would wake it.
            let properties = if entry.is_loaded() && templates < MOST_TEMPLATES {
                templates += 1;
                self.properties(Some(&entry.id)).await
            } else {
                Properties::default()
            };
            models.extend(entry.into_model(&self.address, &properties));
        }
        Ok(models)
    }

    /// Asks where llama.cpp lists its models, then where OpenAI does.
    async fn listed(&self) -> Result<Vec<Listed>, ProviderError> {
        let router = self.fetch::<List>("/models").await;
        match router {
            Ok(list) => Ok(list.data),
            Err(refused) => match self.fetch::<List>("/v1/models").await {
                Ok(list) => Ok(list.data),
                Err(_) => Err(refused),
            },
        }
    }

    /// Asks for the properties of the server or of a model; none where it has none to tell.
    async fn properties(&self, model: Option<&str>) -> Properties {
        let path = match model {
            Some(model) => {
                let mut query = url::form_urlencoded::Serializer::new(String::new());
                query.extend_pairs([("model", model), ("autoload", "false")]);
                format!("/props?{}", query.finish())
            }
            None => "/props".to_owned(),
        };
        self.fetch(&path).await.unwrap_or_default()
    }

    async fn fetch<T: DeserializeOwned>(&self, path: &str) -> Result<T, ProviderError> {
        let Some(http) = &self.context.network else {
            return Err(ProviderError::network("the network must not be used"));
        };
        let url = format!("{}{path}", self.address);
        let key = self.context.api_key.as_ref();
        let key = key.map(ExposeSecret::expose_secret);
        let answer = get(http, &url, None, key, self.context).await?;
        if !(200..300).contains(&answer.status) {
            let refused = ProviderError::network(format!(
                "{url} did not tell its models: status {}",
                answer.status
            ));
            return Err(refused.with_status(answer.status));
        }
        serde_json::from_slice(&answer.body).map_err(|error| {
            ProviderError::protocol(format!("What {url} answered is no list of models: {error}"))
        })
    }
}

#[derive(Deserialize)]
struct List {
    data: Vec<Listed>,
}

/// A model as a server lists it. llama.cpp's router fills in most, others the id alone.
#[derive(Deserialize)]
struct Listed {
    id: String,
    #[serde(default)]
    status: Option<Status>,
    #[serde(default)]
    source: Option<String>,
    #[serde(default)]
    meta: Option<Meta>,
    #[serde(default)]
    architecture: Option<Architecture>,
    /// How vLLM names the length of a conversation.
    #[serde(default)]
    max_model_len: Option<u64>,
}

#[derive(Deserialize)]
struct Status {
    value: String,
    #[serde(default)]
    failed: bool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Meta {
    n_ctx: Option<u64>,
    n_ctx_train: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Architecture {
    input_modalities: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Properties {
    models_autoload: bool,
    chat_template: String,
}

impl Listed {
    fn state(&self) -> Option<&str> {
        self.status.as_ref().map(|status| status.value.as_str())
    }

    fn is_loaded(&self) -> bool {
        self.state() == Some("loaded")
    }

    fn is_unloaded_preset(&self) -> bool {
        self.state() == Some("unloaded") && self.source.as_deref() == Some("preset")
    }

    /// Returns whether a request can be answered: by a loaded model, one that wakes up, or one the
    /// server loads when asked.
    fn is_usable(&self, loads_by_itself: bool) -> bool {
        let failed = self.status.as_ref().is_some_and(|status| status.failed);
        match self.state() {
            None | Some("loaded" | "sleeping") => true,
            Some(_) => loads_by_itself && self.is_unloaded_preset() && !failed,
        }
    }

    fn into_model(self, server: &str, properties: &Properties) -> Option<Model> {
        let meta = self.meta.unwrap_or_default();
        let context_window = [meta.n_ctx, meta.n_ctx_train, self.max_model_len]
            .into_iter()
            .flatten()
            .find(|length| *length > 0)
            .unwrap_or(USUAL_CONTEXT);
        let sees_images = self
            .architecture
            .is_some_and(|it| it.input_modalities.iter().any(|kind| kind == "image"));
        let mut record = json!({
            "id": self.id,
            "name": self.id,
            "api": api::OPENAI_COMPLETIONS,
            "provider": PROVIDER,
            "baseUrl": inference_address(server),
            "reasoning": false,
            "input": if sees_images { vec!["text", "image"] } else { vec!["text"] },
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
            "contextWindow": context_window,
            "maxTokens": context_window,
            "compat": {
                "supportsStore": false,
                "supportsDeveloperRole": false,
                "supportsReasoningEffort": false,
                "supportsUsageInStreaming": true,
                "supportsStrictMode": false,
                "maxTokensField": "max_tokens",
            },
        });
        // The template of a model that can think has a switch for it.
        if properties.chat_template.contains("enable_thinking") {
            record["reasoning"] = true.into();
            record["thinkingLevelMap"] = json!({
                "off": "off", "minimal": null, "low": null, "medium": "medium", "high": null,
                "xhigh": null,
            });
            record["compat"]["thinkingFormat"] = "qwen-chat-template".into();
        }
        serde_json::from_value(record).ok()
    }
}

#[cfg(test)]
mod tests;
