//! Routes of virtual models: which model answers a request.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{AssistantMessage, Message};
use crate::model::Model;
use crate::thinking::ThinkingLevel;

/// Type of the custom entries that store the state of a router.
pub const VIRTUAL_MODEL_STATE_ENTRY: &str = "pi.virtual-model-state";

/// Why a request is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RouteReason {
    /// The first request after a message of the user.
    User,
    /// Another request of a run.
    Continuation,
    /// A failed request is repeated.
    Retry,
    /// A request outside of runs, such as a summary.
    Direct,
}

/// A request of a virtual model, before it is routed.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RouteRequest {
    /// The virtual model.
    pub model: Arc<Model>,
    /// The level selected for it.
    pub thinking_level: ThinkingLevel,
    pub reason: RouteReason,
    /// The model of the last response in `messages`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<RoutedModel>,
    /// The request that is repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<FailedRoute>,
    /// What the router last stored on the branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
    pub messages: Vec<Message>,
}

/// A model that answers the requests of a virtual model.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RoutedModel {
    pub model: Arc<Model>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<String>,
}

/// A request that failed.
#[derive(Debug, Clone, Serialize)]
pub struct FailedRoute {
    #[serde(flatten)]
    pub routed: RoutedModel,
    pub message: Arc<AssistantMessage>,
}

/// The choice of a router.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelRoute {
    pub model: RouteTarget,
    pub thinking_level: ThinkingLevel,
    /// State to store; `None` keeps the stored one.
    #[serde(default)]
    pub state: Option<Value>,
}

/// The model a router chose.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RouteTarget {
    pub provider: String,
    pub id: String,
}

/// Content of an entry with the state of a router.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VirtualModelState {
    pub provider: String,
    pub model_id: String,
    pub state: Value,
}
