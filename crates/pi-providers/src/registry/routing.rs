//! Routes the requests of virtual models to physical ones.

use std::sync::Arc;

use pi_protocol::{
    AssistantMessage, FailedRoute, Message, Model, ModelRoute, RouteReason, RouteRequest,
    RouteTarget, RoutedModel, StopReason, ThinkingLevel,
};
use serde_json::Value;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use super::{ModelRouter, Models};

/// What a router is called with, besides the model and the conversation.
#[derive(Debug, Clone)]
pub struct RouteQuery {
    pub reason: RouteReason,
    /// The level selected for the virtual model.
    pub thinking_level: ThinkingLevel,
    /// The response of the request that is repeated.
    pub failed: Option<Arc<AssistantMessage>>,
    /// What the router last stored.
    pub state: Option<Value>,
    pub cancel: CancellationToken,
}

impl RouteQuery {
    /// The query of a request outside of runs.
    pub fn direct(thinking_level: ThinkingLevel, cancel: CancellationToken) -> Self {
        Self {
            reason: RouteReason::Direct,
            thinking_level,
            failed: None,
            state: None,
            cancel,
        }
    }
}

/// The physical model of one request.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedRoute {
    pub model: Arc<Model>,
    /// A level that the model supports.
    pub thinking_level: ThinkingLevel,
    /// State to store.
    pub state: Option<Value>,
}

/// Why a request has no route.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RouteError {
    #[error("virtual model {0} is not registered: load the extension that provides it")]
    NotRegistered(String),
    /// The router failed; its message is shown as it is.
    #[error("{0}")]
    Router(String),
    #[error("virtual model {name} routed to {target}, which is not a physical model")]
    NotPhysical { name: String, target: String },
    #[error("virtual model {name} routed to {target}, which has no credential: run /login")]
    NoCredential { name: String, target: String },
}

/// Returns a model that is not virtual.
pub fn physical_model(models: &Models, provider: &str, id: &str) -> Option<Arc<Model>> {
    let model = models.model(provider, id)?;
    (!model.is_virtual()).then_some(model)
}

/// Returns the last response that is neither an error nor aborted. Its model is physical.
pub fn last_successful_response<'message>(
    responses: impl IntoIterator<
        Item = &'message AssistantMessage,
        IntoIter: DoubleEndedIterator<Item = &'message AssistantMessage>,
    >,
) -> Option<&'message AssistantMessage> {
    let is_complete = |response: &&AssistantMessage| {
        !matches!(
            response.stop_reason,
            StopReason::Error | StopReason::Aborted
        )
    };
    responses.into_iter().rev().find(is_complete)
}

/// Asks the router of a virtual model for the model of a request.
pub async fn route_request(
    models: &Models,
    model: &Arc<Model>,
    messages: Vec<Message>,
    query: RouteQuery,
) -> Result<ResolvedRoute, RouteError> {
    let name = format!("{}/{}", model.provider, model.id);
    let Some(chooser) = router_of(models, model) else {
        return Err(RouteError::NotRegistered(name));
    };
    let physical = |response: &AssistantMessage| {
        Some(RoutedModel {
            model: physical_model(models, &response.provider, &response.model)?,
            thinking_level: response.thinking_level.clone(),
        })
    };
    let responses = messages.iter().filter_map(|message| match message {
        Message::Assistant(response) => Some(&**response),
        _ => None,
    });
    let previous = last_successful_response(responses).and_then(physical);
    // A request whose routing failed names the virtual model; there is no physical one to report.
    let failed = query.failed.and_then(|message| {
        Some(FailedRoute {
            routed: physical(&message)?,
            message,
        })
    });
    let request = RouteRequest {
        model: Arc::clone(model),
        thinking_level: query.thinking_level,
        reason: query.reason,
        previous,
        failed,
        state: query.state,
        messages,
    };
    let route = chooser.route(request, query.cancel).await;
    resolve(models, name, route.map_err(RouteError::Router)?)
}

fn router_of(models: &Models, model: &Model) -> Option<Arc<dyn ModelRouter>> {
    models.provider(&model.provider)?.router(&model.id)
}

/// Checks that the chosen model can answer.
fn resolve(models: &Models, name: String, route: ModelRoute) -> Result<ResolvedRoute, RouteError> {
    let RouteTarget { provider, id } = &route.model;
    let target = format!("{provider}/{id}");
    let Some(model) = physical_model(models, provider, id) else {
        return Err(RouteError::NotPhysical { name, target });
    };
    if !models.is_authenticated(&model.provider) {
        return Err(RouteError::NoCredential { name, target });
    }
    Ok(ResolvedRoute {
        thinking_level: model.clamp_thinking_level(route.thinking_level),
        model,
        state: route.state,
    })
}

#[cfg(test)]
mod tests;
