//! A local or self-hosted model server: llama.cpp, or any server with an OpenAI-compatible model
//! list. Active if `LLAMA_BASE_URL` or a stored credential specifies its URL.
//!
//! The model list always comes from the server and is stored between runs. llama.cpp's router
//! reports more than other servers: which models are loaded, and their metadata.

pub(super) mod router;

use futures_util::future::{BoxFuture, FutureExt};
use pi_auth::{Credential, KeySource, ProviderAuth};
use pi_env::env_vars;
use pi_protocol::{Model, ProviderError, api};
use reqwest::Url;
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::dispatch::WireApis;
use super::overlay::ModelOverlay;
use super::provider::{ModelList, Provider, RefreshContext};
use super::remote_catalog::{get, store_failed};
use super::store::StoredModels;
use crate::options::ModelRequest;
use pi_stream::AssistantStream;

/// Provider ID, used in stored models and credentials.
const PROVIDER: &str = "llama.cpp";

/// Context window if the server reports none.
const DEFAULT_CONTEXT_WINDOW: u64 = 128_000;

/// Limit on loaded models whose chat templates are fetched; servers usually have only a few.
const MAX_TEMPLATE_LOOKUPS: usize = 16;

pub(super) struct LlamaProvider {
    overlay: ModelOverlay,
    wire: WireApis,
}

impl LlamaProvider {
    pub(super) fn new(wire: WireApis) -> Self {
        Self {
            overlay: ModelOverlay::empty(),
            wire,
        }
    }

    async fn update(&self, context: &RefreshContext) -> Result<(), ProviderError> {
        let stored = context.store.read(PROVIDER).await.map_err(store_failed)?;
        let stored = stored.map(|stored| stored.models).unwrap_or_default();
        let ours = |model: &Model| model.provider == PROVIDER;
        let stored: Vec<Model> = stored.into_iter().filter(ours).collect();
        if !stored.is_empty() {
            self.overlay.publish(stored.clone());
        }
        let Some(base_url) = configured_url(context) else {
            return Ok(());
        };
        if context.network.is_none() {
            return Ok(());
        }
        let server = LlamaServer {
            base_url: parse_server_url(&base_url)?,
            stored,
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
            "Server URL",
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
        // The stored list may be older than the configured URL.
        let base_url = request.env.var(env_vars::LLAMA_BASE_URL);
        match base_url
            .map(|base_url| parse_server_url(&base_url))
            .transpose()
        {
            Ok(None) => {}
            Ok(Some(base_url)) => {
                std::sync::Arc::make_mut(&mut request.model).base_url = inference_url(&base_url);
            }
            Err(error) => {
                return AssistantStream::failed(&request.model, request.env.now_ms(), error);
            }
        }
        self.wire.stream(request)
    }
}

/// Returns the configured URL: from the stored credential, else from the environment.
fn configured_url(context: &RefreshContext) -> Option<String> {
    let stored = match &context.credential {
        Some(Credential::ApiKey(stored)) => stored.env.get(env_vars::LLAMA_BASE_URL).cloned(),
        Some(Credential::OAuth(_)) | None => None,
    };
    stored
        .filter(|base_url| !base_url.trim().is_empty())
        .or_else(|| context.env.var(env_vars::LLAMA_BASE_URL))
}

/// Returns a server's root URL; accepts input without a scheme or with a trailing `/v1`.
fn parse_server_url(input: &str) -> Result<String, ProviderError> {
    let input = input.trim();
    let base_url = if input.contains("://") {
        input.to_owned()
    } else {
        format!("http://{input}")
    };
    let url = Url::parse(&base_url).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https"));
    let Some(mut url) = url else {
        return Err(ProviderError::invalid(format!(
            "invalid model server URL \"{input}\"; set {} to a URL such as \
             http://127.0.0.1:8080",
            env_vars::LLAMA_BASE_URL
        )));
    };
    url.set_query(None);
    url.set_fragment(None);
    let base_url = url.as_str().trim_end_matches('/');
    let base_url = base_url.strip_suffix("/v1").unwrap_or(base_url);
    Ok(base_url.trim_end_matches('/').to_owned())
}

fn inference_url(server: &str) -> String {
    format!("{server}/v1")
}

/// A server to query.
struct LlamaServer<'a> {
    base_url: String,
    /// The models of the last list.
    stored: Vec<Model>,
    context: &'a RefreshContext,
}

impl LlamaServer<'_> {
    /// Returns the models that are currently usable.
    async fn models(&self) -> Result<Vec<Model>, ProviderError> {
        let listed = self.listed().await?;
        let autoload = listed.iter().any(ListedModel::is_unloaded_preset)
            && self.properties(None).await.models_autoload;
        let mut models = Vec::new();
        let mut templates = 0;
        for entry in listed {
            if !entry.is_usable(autoload) || !entry.generates_text() {
                continue;
            }
            // Querying a sleeping model would wake it.
            let properties = if entry.is_loaded() && templates < MAX_TEMPLATE_LOOKUPS {
                templates += 1;
                self.properties(Some(&entry.id)).await
            } else {
                ServerProperties::default()
            };
            let known_window = self.known_context_window(&entry.id);
            models.extend(entry.into_model(&self.base_url, &properties, known_window));
        }
        Ok(models)
    }

    /// Returns the context window that the server reported for a model when it last ran.
    fn known_context_window(&self, id: &str) -> Option<u64> {
        let base_url = inference_url(&self.base_url);
        let mut stored = self.stored.iter();
        let model = stored.find(|model| model.id == id && model.base_url == base_url)?;
        Some(model.context_window).filter(|window| *window != DEFAULT_CONTEXT_WINDOW)
    }

    /// Queries llama.cpp's model list, then falls back to the OpenAI-compatible one.
    async fn listed(&self) -> Result<Vec<ListedModel>, ProviderError> {
        let router = self.fetch::<ModelListResponse>("/models").await;
        match router {
            Ok(list) => Ok(list.data),
            Err(error) => match self.fetch::<ModelListResponse>("/v1/models").await {
                Ok(list) => Ok(list.data),
                Err(_) => Err(error),
            },
        }
    }

    /// Fetches the properties of the server or of a model; defaults if unavailable.
    async fn properties(&self, model: Option<&str>) -> ServerProperties {
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
            return Err(ProviderError::network("network access is disabled"));
        };
        let url = format!("{}{path}", self.base_url);
        let key = self.context.api_key.as_ref();
        let key = key.map(ExposeSecret::expose_secret);
        let response = get(http, &url, None, key, self.context).await?;
        if !(200..300).contains(&response.status) {
            let error = ProviderError::network(format!(
                "cannot list models: {url}: HTTP {}",
                response.status
            ));
            return Err(error.with_status(response.status));
        }
        serde_json::from_slice(&response.body)
            .map_err(|error| ProviderError::protocol(format!("cannot list models: {url}: {error}")))
    }
}

#[derive(Deserialize)]
struct ModelListResponse {
    data: Vec<ListedModel>,
}

/// A model as listed by a server. llama.cpp's router sets most fields, other servers only the ID.
#[derive(Deserialize)]
struct ListedModel {
    id: String,
    #[serde(default)]
    status: Option<ListedStatus>,
    #[serde(default)]
    source: Option<String>,
    #[serde(default)]
    meta: Option<ListedMeta>,
    #[serde(default)]
    architecture: Option<ListedArchitecture>,
    /// vLLM's name for the context window.
    #[serde(default)]
    max_model_len: Option<u64>,
}

#[derive(Deserialize)]
struct ListedStatus {
    value: String,
    #[serde(default)]
    failed: bool,
    /// The arguments with which the router starts the model.
    #[serde(default)]
    args: Vec<String>,
}

impl ListedStatus {
    /// Returns the context window that the arguments set.
    fn context_window(&self) -> Option<u64> {
        let pairs = self.args.windows(2).filter_map(|pair| match pair {
            [flag, value] if matches!(flag.as_str(), "--ctx-size" | "-c" | "-ctx") => {
                value.parse().ok()
            }
            _ => None,
        });
        pairs.into_iter().find(|window| *window > 0)
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ListedMeta {
    n_ctx: Option<u64>,
    n_ctx_train: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ListedArchitecture {
    input_modalities: Vec<String>,
    output_modalities: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ServerProperties {
    models_autoload: bool,
    chat_template: String,
}

impl ListedModel {
    fn state(&self) -> Option<&str> {
        self.status.as_ref().map(|status| status.value.as_str())
    }

    fn is_loaded(&self) -> bool {
        self.state() == Some("loaded")
    }

    fn is_unloaded_preset(&self) -> bool {
        self.state() == Some("unloaded") && self.source.as_deref() == Some("preset")
    }

    /// Returns whether the model can respond: it is loaded, wakes up on demand, or is loaded on demand.
    fn is_usable(&self, autoload: bool) -> bool {
        let failed = self.status.as_ref().is_some_and(|status| status.failed);
        match self.state() {
            None | Some("loaded" | "sleeping") => true,
            Some(_) => autoload && self.is_unloaded_preset() && !failed,
        }
    }

    /// Returns whether the model is more than a decision model, which only classifies.
    fn generates_text(&self) -> bool {
        let Some(architecture) = &self.architecture else {
            return true;
        };
        let outputs = |kind: &str| architecture.output_modalities.iter().any(|it| it == kind);
        !outputs("decisions") || outputs("text")
    }

    fn into_model(
        self,
        server: &str,
        properties: &ServerProperties,
        known_window: Option<u64>,
    ) -> Option<Model> {
        let meta = self.meta.unwrap_or_default();
        let configured = self.status.as_ref().and_then(ListedStatus::context_window);
        let windows = [
            meta.n_ctx,
            configured,
            known_window,
            meta.n_ctx_train,
            self.max_model_len,
        ];
        let context_window = windows
            .into_iter()
            .flatten()
            .find(|length| *length > 0)
            .unwrap_or(DEFAULT_CONTEXT_WINDOW);
        let accepts_images = self
            .architecture
            .is_some_and(|it| it.input_modalities.iter().any(|kind| kind == "image"));
        let mut record = json!({
            "id": self.id,
            "name": self.id,
            "api": api::OPENAI_COMPLETIONS,
            "provider": PROVIDER,
            "baseUrl": inference_url(server),
            "reasoning": false,
            "input": if accepts_images { vec!["text", "image"] } else { vec!["text"] },
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
        // Chat templates of thinking models contain a switch for it.
        if properties.chat_template.contains("enable_thinking") {
            record["reasoning"] = true.into();
            record["thinkingLevelMap"] = json!({
                "off": "off", "minimal": null, "low": null, "medium": "medium", "high": null,
                "xhigh": null,
            });
            record["compat"]["thinkingFormat"] = "qwen-chat-template".into();
        }
        pi_protocol::json::from_value(&record).ok()
    }
}

#[cfg(test)]
mod tests;
