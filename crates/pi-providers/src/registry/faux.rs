//! Implements [`Provider`] for the scripted provider.

use std::sync::Arc;

use pi_protocol::ProviderError;

use super::provider::{ModelList, Provider};
use crate::faux::FauxProvider;
use crate::options::ModelRequest;
use pi_stream::AssistantStream;

impl Provider for FauxProvider {
    fn id(&self) -> &str {
        Self::id(self)
    }

    fn models(&self) -> Result<ModelList, ProviderError> {
        Ok(Self::models(self).into_iter().map(Arc::new).collect())
    }

    fn stream(&self, request: ModelRequest) -> AssistantStream {
        Self::stream(self, request)
    }
}
