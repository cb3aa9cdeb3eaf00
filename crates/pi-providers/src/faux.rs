//! A scripted provider, for tests and for demos without an API key.
//!
//! Response contents are in `response`, streaming in `playback`, and simulated usage in `usage`. It
//! uses no wire protocol, but its streams have the same type as those of real providers.
//!
//! ```
//! use std::sync::Arc;
//! use pi_env::Env;
//! use pi_protocol::UserMessage;
//! use pi_providers::{FauxProvider, FauxResponse, ModelRequest, StreamOptions};
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let faux = FauxProvider::new();
//! faux.push(FauxResponse::thinking("a greeting").then_text("hello"));
//! let prompt = UserMessage { content: "hi".into(), ..UserMessage::default() };
//! let request = ModelRequest {
//!     model: Arc::new(faux.model()),
//!     messages: Arc::from([prompt.into()]),
//!     options: StreamOptions::default(),
//!     env: Env::default(),
//! };
//! assert_eq!(faux.stream(request).result().await.text(), "hello");
//! assert_eq!(faux.call_count(), 1);
//! # });
//! ```

mod echo;
mod gate;
mod playback;
mod response;
#[cfg(test)]
mod tests;
mod usage;

use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use pi_protocol::{InputLimits, Modality, Model, ModelCost, ThinkingLevel};

use crate::options::ModelRequest;
pub use gate::FauxGate;
use pi_stream::AssistantStream;
use playback::PlaybackSpeed;
pub use response::{FauxCall, FauxResponse};
use usage::PromptCache;

const API: &str = "faux";
const DEFAULT_PROVIDER: &str = "faux";

/// Placeholder; no request is ever sent.
const BASE_URL: &str = "http://localhost:0";

/// A model of a [`FauxProvider`].
#[derive(Debug, Clone)]
pub struct FauxModel {
    /// Model ID, also used as its name.
    pub id: String,
    /// Whether the model supports thinking.
    pub reasoning: bool,
    /// The provider's names for thinking levels.
    pub thinking_level_map: Option<BTreeMap<ThinkingLevel, Option<String>>>,
    pub input: Vec<Modality>,
    pub input_limits: Option<InputLimits>,
    /// Prices; free by default.
    pub cost: ModelCost,
    /// Context window in tokens.
    pub context_window: u64,
    /// Output limit in tokens.
    pub max_tokens: u64,
}

impl Default for FauxModel {
    fn default() -> Self {
        Self::new("faux-1")
    }
}

impl FauxModel {
    /// Creates a model that accepts text and images and does not support thinking.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            reasoning: false,
            thinking_level_map: None,
            input: vec![Modality::Text, Modality::Image],
            input_limits: None,
            cost: ModelCost::default(),
            context_window: 128_000,
            max_tokens: 16_384,
        }
    }

    fn into_model(self, provider: &str) -> Model {
        Model {
            name: self.id.clone(),
            id: self.id,
            api: API.to_owned(),
            provider: provider.to_owned(),
            base_url: BASE_URL.to_owned(),
            reasoning: self.reasoning,
            thinking_level_map: self.thinking_level_map,
            input: self.input,
            input_limits: self.input_limits,
            cost: self.cost,
            prompt_cache: None,
            context_window: self.context_window,
            max_tokens: self.max_tokens,
            sampling_params: None,
            sampling_params_by_thinking_level: None,
            headers: None,
            compat: None,
            kind: None,
            extra: pi_protocol::json::JsonObject::new(),
        }
    }
}

/// A provider with scripted responses. Clones share the script, the recorded requests and the
/// simulated cache.
#[derive(Clone)]
pub struct FauxProvider {
    id: String,
    models: Vec<Model>,
    speed: PlaybackSpeed,
    fallback: Option<FauxFallback>,
    state: Arc<Mutex<FauxState>>,
}

/// Produces responses after the script is exhausted.
type FauxFallback = Arc<dyn Fn(&FauxCall) -> FauxResponse + Send + Sync>;

#[derive(Default)]
struct FauxState {
    script: VecDeque<FauxResponse>,
    requests: Vec<ModelRequest>,
    prompts: PromptCache,
}

impl std::fmt::Debug for FauxProvider {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("FauxProvider")
            .field("id", &self.id)
            .field("calls", &self.call_count())
            .field("pending", &self.pending())
            .finish_non_exhaustive()
    }
}

impl Default for FauxProvider {
    fn default() -> Self {
        Self::new()
    }
}

impl FauxProvider {
    /// Creates the provider `faux` with one model, `faux-1`, and an empty script.
    pub fn new() -> Self {
        Self {
            id: DEFAULT_PROVIDER.to_owned(),
            models: vec![FauxModel::default().into_model(DEFAULT_PROVIDER)],
            speed: PlaybackSpeed::default(),
            fallback: None,
            state: Arc::default(),
        }
    }

    /// Creates the demo provider with the model `faux/echo`, which repeats the user's message.
    pub fn echo() -> Self {
        Self::new()
            .with_models([FauxModel::new(echo::MODEL_ID)])
            .with_fallback(echo::respond)
    }

    /// Sets the provider ID, also in its models.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = id.into();
        for model in &mut self.models {
            model.provider.clone_from(&self.id);
        }
        self
    }

    #[must_use]
    pub fn with_models(mut self, models: impl IntoIterator<Item = FauxModel>) -> Self {
        self.models = models
            .into_iter()
            .map(|model| model.into_model(&self.id))
            .collect();
        self
    }

    /// Sets the minimum and maximum number of characters per delta; 12 to 20 by default.
    #[must_use]
    pub fn with_chunk_size(mut self, characters: RangeInclusive<usize>) -> Self {
        self.speed.chunk_size = characters;
        self
    }

    /// Sets the seed for chunk sizes. The same seed and script produce the same deltas.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.speed.seed = seed;
        self
    }

    /// Limits the streaming speed (a token is four characters); unlimited by default.
    #[must_use]
    pub fn with_tokens_per_second(mut self, tokens_per_second: f64) -> Self {
        self.speed.tokens_per_second = Some(tokens_per_second);
        self
    }

    /// Responds to requests beyond the script, which otherwise fail.
    #[must_use]
    pub fn with_fallback(
        mut self,
        response: impl Fn(&FauxCall) -> FauxResponse + Send + Sync + 'static,
    ) -> Self {
        self.fallback = Some(Arc::new(response));
        self
    }

    /// Appends a response to the script.
    pub fn push(&self, response: impl Into<FauxResponse>) {
        self.state().script.push_back(response.into());
    }

    /// Appends responses to the script.
    pub fn extend(&self, responses: impl IntoIterator<Item = FauxResponse>) {
        self.state().script.extend(responses);
    }

    /// Replaces the rest of the script.
    pub fn set_script(&self, responses: impl IntoIterator<Item = FauxResponse>) {
        self.state().script = responses.into_iter().collect();
    }

    /// Returns the number of scripted responses left.
    pub fn pending(&self) -> usize {
        self.state().script.len()
    }

    /// Returns the number of requests so far.
    pub fn call_count(&self) -> usize {
        self.state().requests.len()
    }

    /// Returns the requests so far, oldest first.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.state().requests.clone()
    }

    pub fn last_request(&self) -> Option<ModelRequest> {
        self.state().requests.last().cloned()
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn models(&self) -> Vec<Model> {
        self.models.clone()
    }

    /// Returns the first model, or a default model if there is none.
    pub fn model(&self) -> Model {
        self.models
            .first()
            .cloned()
            .unwrap_or_else(|| FauxModel::default().into_model(&self.id))
    }

    /// Responds with the next scripted response. It is removed from the script immediately; the
    /// stream plays it when polled.
    pub fn stream(&self, request: ModelRequest) -> AssistantStream {
        let (response, number) = {
            let mut state = self.state();
            state.requests.push(request.clone());
            (state.script.pop_front(), state.requests.len())
        };
        let call = FauxCall { request, number };
        let response = response.or_else(|| Some(self.fallback.as_ref()?(&call)));
        playback::stream(response, call, self.speed.clone(), self.clone())
    }

    fn state(&self) -> MutexGuard<'_, FauxState> {
        self.state.lock()
    }
}
