//! Dispatches requests to the wire protocol that the model's `api` names.

use std::sync::Arc;

use pi_auth::{AnthropicFederation, GoogleCredentials};
use pi_http::HttpClient;
use pi_protocol::{ProviderError, api};

use crate::options::ModelRequest;
use crate::run;
use crate::wire::WireApi;
use crate::wire::anthropic_messages::AnthropicMessages;
use crate::wire::azure_responses::AzureResponses;
use crate::wire::codex_responses::CodexResponses;
use crate::wire::google_generative::GoogleGenerative;
use crate::wire::google_vertex::GoogleVertex;
use crate::wire::mistral::MistralConversations;
use crate::wire::openai_completions::OpenAiCompletions;
use crate::wire::openai_responses::OpenAiResponses;
use crate::wire::pi_messages::PiMessages;
use pi_stream::AssistantStream;

/// The APIs that other crates implement.
const IN_OTHER_CRATES: [&str; 1] = [api::BEDROCK_CONVERSE_STREAM];

/// The wire protocols, with the connections and tokens they share between requests. Cheap to clone.
#[derive(Clone)]
pub(super) struct WireApis {
    http: HttpClient,
    others: Arc<[WireApi]>,
    anthropic: AnthropicMessages,
    codex: Arc<CodexResponses>,
    vertex: GoogleVertex,
}

impl WireApis {
    pub(super) fn new(http: HttpClient, others: Vec<WireApi>) -> Self {
        Self {
            others: others.into(),
            anthropic: AnthropicMessages::new(AnthropicFederation::new(http.clone())),
            codex: Arc::default(),
            vertex: GoogleVertex::new(GoogleCredentials::new(http.clone())),
            http,
        }
    }

    pub(super) fn stream(&self, request: ModelRequest) -> AssistantStream {
        let http = self.http.clone();
        match request.model.api.as_str() {
            api::ANTHROPIC_MESSAGES => run::stream(self.anthropic.clone(), request, http),
            api::OPENAI_COMPLETIONS => run::stream(OpenAiCompletions, request, http),
            api::OPENAI_RESPONSES => run::stream(OpenAiResponses, request, http),
            api::AZURE_OPENAI_RESPONSES => run::stream(AzureResponses, request, http),
            api::OPENAI_CODEX_RESPONSES => self.codex.stream(request, http),
            api::GOOGLE_GENERATIVE_AI => run::stream(GoogleGenerative, request, http),
            api::GOOGLE_VERTEX => run::stream(self.vertex.clone(), request, http),
            api::PI_MESSAGES => run::stream(PiMessages, request, http),
            api::MISTRAL_CONVERSATIONS => run::stream(MistralConversations, request, http),
            other => match self.others.iter().find(|wire| wire.api() == other) {
                Some(wire) => wire.stream(request, http),
                None => {
                    let cause = self.unknown_api(&request);
                    AssistantStream::failed(&request.model, request.env.now_ms(), cause)
                }
            },
        }
    }

    fn unknown_api(&self, request: &ModelRequest) -> ProviderError {
        let is_registered = |api: &str| self.others.iter().any(|wire| wire.api() == api);
        let supported: Vec<&str> = api::ALL
            .into_iter()
            .filter(|api| !IN_OTHER_CRATES.contains(api) || is_registered(api))
            .collect();
        ProviderError::invalid(format!(
            "Unknown API \"{}\" for model {}/{}; supported: {}",
            request.model.api,
            request.model.provider,
            request.model.id,
            supported.join(", ")
        ))
    }
}
