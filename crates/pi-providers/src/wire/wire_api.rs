//! A wire API that another crate implements.

use std::sync::Arc;

use pi_http::HttpClient;

use super::HttpProtocol;
use crate::options::ModelRequest;
use crate::run;
use pi_stream::AssistantStream;

/// A wire API for [`crate::ModelsOptions::wire_apis`]. Clones share the protocol.
#[derive(Clone)]
pub struct WireApi {
    api: &'static str,
    protocol: Arc<dyn HttpProtocol>,
}

impl WireApi {
    /// `api` is the name in the `api` field of models.
    pub fn new(api: &'static str, protocol: impl HttpProtocol) -> Self {
        Self {
            api,
            protocol: Arc::new(protocol),
        }
    }

    pub fn api(&self) -> &'static str {
        self.api
    }

    /// Sends a request. The returned stream connects when it is polled.
    pub fn stream(&self, request: ModelRequest, http: HttpClient) -> AssistantStream {
        run::stream_shared(Arc::clone(&self.protocol), request, http)
    }
}

impl std::fmt::Debug for WireApi {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("WireApi").field(&self.api).finish()
    }
}
