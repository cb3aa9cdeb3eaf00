//! Dispatches requests to the wire protocol that the model's `api` names.

use std::sync::Arc;

use crate::error::ProviderError;
use crate::google_credentials::GoogleCredentials;
use crate::model::api;
use crate::options::ModelRequest;
use crate::stream::AssistantStream;
use crate::transport::{self, HttpClient};
use crate::wire::anthropic_messages::AnthropicMessages;
use crate::wire::azure_responses::AzureResponses;
use crate::wire::bedrock_converse::BedrockConverse;
use crate::wire::codex_responses::CodexResponses;
use crate::wire::google_generative::GoogleGenerative;
use crate::wire::google_vertex::GoogleVertex;
use crate::wire::mistral::MistralConversations;
use crate::wire::openai_completions::OpenAiCompletions;
use crate::wire::openai_responses::OpenAiResponses;
use crate::wire::pi_messages::PiMessages;

/// The wire protocols, with the connections and tokens they share between requests. Cheap to clone.
#[derive(Clone)]
pub(super) struct WireApis {
    http: HttpClient,
    bedrock: BedrockConverse,
    codex: Arc<CodexResponses>,
    vertex: GoogleVertex,
}

impl WireApis {
    pub(super) fn new(http: HttpClient) -> Self {
        Self {
            bedrock: BedrockConverse::default(),
            codex: Arc::default(),
            vertex: GoogleVertex::new(GoogleCredentials::new(http.clone())),
            http,
        }
    }

    pub(super) fn stream(&self, request: ModelRequest) -> AssistantStream {
        let http = self.http.clone();
        match request.model.api.as_str() {
            api::ANTHROPIC_MESSAGES => transport::stream(AnthropicMessages, request, http),
            api::OPENAI_COMPLETIONS => transport::stream(OpenAiCompletions, request, http),
            api::OPENAI_RESPONSES => transport::stream(OpenAiResponses, request, http),
            api::AZURE_OPENAI_RESPONSES => transport::stream(AzureResponses, request, http),
            api::OPENAI_CODEX_RESPONSES => self.codex.stream(request, http),
            api::GOOGLE_GENERATIVE_AI => transport::stream(GoogleGenerative, request, http),
            api::GOOGLE_VERTEX => transport::stream(self.vertex.clone(), request, http),
            api::BEDROCK_CONVERSE_STREAM => transport::stream(self.bedrock.clone(), request, http),
            api::PI_MESSAGES => transport::stream(PiMessages, request, http),
            api::MISTRAL_CONVERSATIONS => transport::stream(MistralConversations, request, http),
            unknown => {
                let cause = ProviderError::invalid(format!(
                    "Unknown API \"{unknown}\" for model {}/{}; supported: {}",
                    request.model.provider,
                    request.model.id,
                    api::ALL.join(", ")
                ));
                AssistantStream::failed(&request.model, request.env.now_ms(), cause)
            }
        }
    }
}
