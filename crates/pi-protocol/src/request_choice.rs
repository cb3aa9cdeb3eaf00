//! Choices of a model request that are stored in settings or made by the layers above the providers.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolChoice {
    Auto,
    None,
}

/// How long providers should keep the prompt cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheRetention {
    /// No caching: no IDs, no markers.
    None,
    Short,
    /// An hour to a day.
    Long,
}

/// Preferred transport for APIs with several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransportPreference {
    /// Let the API decide.
    #[default]
    Auto,
    /// Server-sent events over HTTP.
    Sse,
    /// A WebSocket per request.
    Websocket,
    /// A WebSocket kept open between requests.
    WebsocketCached,
}
