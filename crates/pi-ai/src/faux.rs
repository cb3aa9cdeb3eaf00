//! A provider that answers from a script, for tests and for trying things without a key.
//!
//! What an answer says is in `answer`, how it is streamed in `playback`, what it claims to have used
//! in `usage`. It speaks no wire protocol: its streams are the same type as everybody's.
//!
//! ```
//! use std::sync::Arc;
//! use pi_ai::{Env, FauxResponse, FauxProvider, ModelRequest, StreamOptions, UserMessage};
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let faux = FauxProvider::new();
//! faux.push(FauxResponse::thinking("a greeting").then_text("hello"));
//! let question = UserMessage { content: "hi".into(), ..UserMessage::default() };
//! let request = ModelRequest {
//!     model: Arc::new(faux.model()),
//!     messages: Arc::from([question.into()]),
//!     options: StreamOptions::default(),
//!     env: Env::default(),
//! };
//! assert_eq!(faux.stream(request).result().await.text(), "hello");
//! assert_eq!(faux.call_count(), 1);
//! # });
//! ```

mod answer;
mod echo;
mod gate;
mod playback;
#[cfg(test)]
mod tests;
mod usage;

use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::model::{InputLimits, Modality, Model, ModelCost};
use crate::options::ModelRequest;
use crate::stream::AssistantStream;
use crate::thinking::ThinkingLevel;
pub use answer::{FauxResponse, FauxCall};
pub use gate::FauxGate;
use playback::Pace;
use usage::PromptCache;

/// The API name of scripted answers.
const API: &str = "faux";
const DEFAULT_PROVIDER: &str = "faux";

/// Nothing listens there, and nothing is ever sent.
const BASE_URL: &str = "http://localhost:0";

/// A model of a [`FauxProvider`].
#[derive(Debug, Clone)]
pub struct FauxModel {
    /// The id; also the name.
    pub id: String,
    /// Whether it can think.
    pub reasoning: bool,
    /// Its words for thinking levels.
    pub thinking_level_map: Option<BTreeMap<ThinkingLevel, Option<String>>>,
    pub input: Vec<Modality>,
    /// Limits on what may be sent.
    pub input_limits: Option<InputLimits>,
    /// Prices; free by default.
    pub cost: ModelCost,
    /// Tokens of the whole conversation.
    pub context_window: u64,
    /// Tokens of one answer.
    pub max_tokens: u64,
}

impl Default for FauxModel {
    fn default() -> Self {
        Self::new("faux-1")
    }
}

impl FauxModel {
    /// Creates a model that takes text and images and does not think.
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
            headers: None,
            compat: None,
            extra: crate::json::JsonObject::new(),
        }
    }
}

/// A provider that answers from a script. Clones share script, records and cache.
#[derive(Clone)]
pub struct FauxProvider {
    id: String,
    models: Vec<Model>,
    pace: Pace,
    fallback: Option<Fallback>,
    state: Arc<Mutex<State>>,
}

/// Answers when the script is empty.
type Fallback = Arc<dyn Fn(&FauxCall) -> FauxResponse + Send + Sync>;

#[derive(Default)]
struct State {
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
            pace: Pace::default(),
            fallback: None,
            state: Arc::default(),
        }
    }

    /// Creates the demonstration: the model `faux/echo`, which repeats what it is told.
    pub fn echo() -> Self {
        Self::new()
            .with_models([FauxModel::new(echo::MODEL_ID)])
            .with_fallback(echo::answer)
    }

    /// Sets the provider's id, here and in its models.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = id.into();
        for model in &mut self.models {
            model.provider.clone_from(&self.id);
        }
        self
    }

    /// Replaces the models.
    #[must_use]
    pub fn with_models(mut self, models: impl IntoIterator<Item = FauxModel>) -> Self {
        self.models = models
            .into_iter()
            .map(|model| model.into_model(&self.id))
            .collect();
        self
    }

    /// Sets how many characters a delta has, at least and at most; 12 to 20 by default.
    #[must_use]
    pub fn with_chunk_size(mut self, characters: RangeInclusive<usize>) -> Self {
        self.pace.chunk_size = characters;
        self
    }

    /// Sets the seed of the chunk sizes. The same seed and script give the same deltas.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.pace.seed = seed;
        self
    }

    /// Streams at a speed, a token being four characters; as fast as can be by default.
    #[must_use]
    pub fn with_tokens_per_second(mut self, tokens_per_second: f64) -> Self {
        self.pace.tokens_per_second = Some(tokens_per_second);
        self
    }

    /// Answers requests beyond the script, which are an error otherwise.
    #[must_use]
    pub fn with_fallback(
        mut self,
        answer: impl Fn(&FauxCall) -> FauxResponse + Send + Sync + 'static,
    ) -> Self {
        self.fallback = Some(Arc::new(answer));
        self
    }

    /// Appends an answer to the script.
    pub fn push(&self, answer: impl Into<FauxResponse>) {
        self.state().script.push_back(answer.into());
    }

    /// Appends answers to the script.
    pub fn extend(&self, answers: impl IntoIterator<Item = FauxResponse>) {
        self.state().script.extend(answers);
    }

    /// Replaces what is left of the script.
    pub fn set_script(&self, answers: impl IntoIterator<Item = FauxResponse>) {
        self.state().script = answers.into_iter().collect();
    }

    /// Returns how many answers of the script are left.
    pub fn pending(&self) -> usize {
        self.state().script.len()
    }

    /// Returns how many requests were made.
    pub fn call_count(&self) -> usize {
        self.state().requests.len()
    }

    /// Returns the requests so far, oldest first.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.state().requests.clone()
    }

    /// Returns the last request.
    pub fn last_request(&self) -> Option<ModelRequest> {
        self.state().requests.last().cloned()
    }

    /// Returns the provider's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the models.
    pub fn models(&self) -> Vec<Model> {
        self.models.clone()
    }

    /// Returns the first model; one is made up if there is none.
    pub fn model(&self) -> Model {
        self.models
            .first()
            .cloned()
            .unwrap_or_else(|| FauxModel::default().into_model(&self.id))
    }

    /// Answers a request with the next answer of the script. The answer is taken at once, the
    /// stream plays it when it is polled.
    pub fn stream(&self, request: ModelRequest) -> AssistantStream {
        let (answer, number) = {
            let mut state = self.state();
            state.requests.push(request.clone());
            (state.script.pop_front(), state.requests.len())
        };
        let call = FauxCall { request, number };
        let answer = answer.or_else(|| Some(self.fallback.as_ref()?(&call)));
        playback::stream(answer, call, self.pace.clone(), self.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
