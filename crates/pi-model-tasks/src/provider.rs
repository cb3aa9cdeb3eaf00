//! Providers that serve only models that do not chat.

use pi_auth::{ApiKeyAuth, ConfiguredAuth, KeySource, ProviderAuth};
use pi_protocol::ProviderError;
use pi_providers::{ConfigError, ModelList, ModelRequest, Models, Provider, Registration};
use pi_stream::AssistantStream;
use std::sync::Arc;

/// A service for classifiers.
struct TypeSafe;

impl Provider for TypeSafe {
    fn id(&self) -> &'static str {
        "typesafe"
    }

    fn name(&self) -> &'static str {
        "TypeSafe"
    }

    fn auth(&self) -> Option<ProviderAuth> {
        Some(ProviderAuth {
            provider: self.id().to_owned(),
            api_key: Some(ApiKeyAuth {
                name: "TypeSafe API key".into(),
                source: KeySource::Variables(&["TYPESAFE_API_KEY"]),
            }),
            oauth: None,
            configured: ConfiguredAuth::default(),
        })
    }

    fn models(&self) -> Result<ModelList, ProviderError> {
        Ok(ModelList::default())
    }

    fn stream(&self, request: ModelRequest) -> AssistantStream {
        let cause = ProviderError::invalid("TypeSafe has no chat models");
        AssistantStream::failed(&request.model, request.env.now_ms(), cause)
    }
}

/// Adds the providers without chat models.
pub fn register_providers(models: &Models) -> Result<(), ConfigError> {
    models.register("typesafe", Registration::Provider(Arc::new(TypeSafe)))
}
