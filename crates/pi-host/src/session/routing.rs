//! Virtual models: the route of each request, the state of their routers, and the selection that a branch records.

use std::sync::Arc;

use pi_context::to_model_messages;
use pi_core::HookError;
use pi_protocol::{
    AgentMessage, AssistantMessage, CustomEntry, EntryBody, EntryKind, Message, Model,
    ModelChangeEntry, RouteReason, RoutedModel, SharedMessage, ThinkingLevel,
    VIRTUAL_MODEL_STATE_ENTRY, VirtualModelState, describe_error,
};
use pi_providers::{
    ResolvedRoute, RouteError, RouteQuery, last_successful_response, physical_model, route_request,
};
use pi_session::{Session, SessionError};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::model::ModelSelection;
use super::transcript::Transcript;

impl ModelSelection<'_> {
    /// Returns the model of the last response, if the selected model is virtual.
    pub fn routed_model(self) -> Option<RoutedModel> {
        self.model().filter(|model| model.is_virtual())?;
        let mut transcript = self.session.0.transcript();
        let messages = transcript.messages().ok()?;
        let responses = messages.iter().filter_map(|message| response_of(message));
        let last = last_successful_response(responses)?;
        Some(RoutedModel {
            model: physical_model(&self.session.0.models, &last.provider, &last.model)?,
            thinking_level: last.thinking_level.clone(),
        })
    }

    /// Returns the model whose limits apply to the conversation.
    pub(crate) fn limits_model(self) -> Option<Arc<Model>> {
        let routed = self.routed_model().map(|routed| routed.model);
        routed.or_else(|| self.model())
    }

    /// Returns the model whose limits apply to a response.
    pub(super) fn model_of_response(self, response: &AssistantMessage) -> Option<Arc<Model>> {
        let model = self.model()?;
        if !model.is_virtual() {
            return Some(model);
        }
        let models = &self.session.0.models;
        let physical = physical_model(models, &response.provider, &response.model);
        Some(physical.unwrap_or(model))
    }

    /// Returns the model and level of a request outside of runs.
    pub(super) async fn route_directly(
        self,
        model: Arc<Model>,
        cancel: &CancellationToken,
    ) -> Result<(Arc<Model>, ThinkingLevel), RouteError> {
        let level = self.thinking_level();
        if !model.is_virtual() {
            return Ok((model, level));
        }
        let messages = self.session.history().messages().unwrap_or_default();
        let query = RouteQuery::direct(level, cancel.child_token());
        let messages = model_messages(&messages);
        let route = route_request(&self.session.0.models, &model, messages, query).await?;
        Ok((route.model, route.thinking_level))
    }

    /// Chooses the model of the next request of a run.
    pub(super) async fn route_next(self, cancel: CancellationToken) -> Result<(), HookError> {
        let model = self.model();
        let model = model.ok_or_else(|| HookError::new("no model selected"))?;
        let failed = self.session.0.state().failed.take();
        let messages = self.session.history().messages();
        let messages = messages.map_err(|error| HookError::new(describe_error(&error)))?;
        let reason = match &failed {
            Some(_) => RouteReason::Retry,
            None if starts_turn(&messages) => RouteReason::User,
            None => RouteReason::Continuation,
        };
        let query = RouteQuery {
            reason,
            thinking_level: self.thinking_level(),
            failed,
            state: self.router_state(&model),
            cancel,
        };
        let messages = model_messages(&messages);
        let route = route_request(&self.session.0.models, &model, messages, query).await;
        let mut route = route.map_err(|error| HookError::new(error.to_string()))?;
        if let Some(state) = route.state.take() {
            let stored = self.store_router_state(&model, state).await;
            stored.map_err(|error| HookError::new(describe_error(&error)))?;
        }
        self.session.0.machine().selection_mut().routed = Some(Arc::clone(&route.model));
        self.session.0.state().route = Some(route);
        Ok(())
    }

    /// Takes the model and level of the request that is about to be sent.
    pub(super) fn take_route(self) -> Option<(Arc<Model>, ThinkingLevel)> {
        let model = self.model()?;
        if !model.is_virtual() {
            return Some((model, self.thinking_level()));
        }
        let ResolvedRoute {
            model,
            thinking_level,
            ..
        } = self.session.0.state().route.take()?;
        Some((model, thinking_level))
    }

    /// Returns the thinking level of the next request.
    pub(super) fn request_level(self) -> ThinkingLevel {
        let selected = self.thinking_level();
        let state = self.session.0.state();
        let route = state.route.as_ref();
        route.map_or(selected, |route| route.thinking_level)
    }

    async fn store_router_state(self, model: &Model, state: Value) -> Result<(), SessionError> {
        let data = VirtualModelState {
            provider: model.provider.clone(),
            model_id: model.id.clone(),
            state,
        };
        let history = self.session.history();
        let stored = history.append_custom_entry(VIRTUAL_MODEL_STATE_ENTRY, Some(json!(data)));
        stored.await.map(drop)
    }

    /// Returns what a router last stored on the branch.
    fn router_state(self, model: &Model) -> Option<Value> {
        let history = self.session.history();
        history.with_session(|session| latest_state(session, model).ok().flatten())
    }

    /// Records the selection if the branch implies another one and either is virtual, so that resuming restores it.
    /// Moves in the tree may leave the last change on another branch.
    pub(super) fn record(self) -> Result<(), SessionError> {
        let models = &self.session.0.models;
        let Some(model) = self.model().filter(|_| models.has_virtual_models()) else {
            return Ok(());
        };
        let record = |transcript: &mut Transcript| {
            let settings = transcript.session().current_branch().settings()?;
            let is_virtual = |provider: &str, id: &str| {
                let model = models.model(provider, id);
                model.is_some_and(|model| model.is_virtual())
            };
            let selected = settings.selected_model;
            let holds = selected.filter(|known| is_virtual(&known.provider, &known.model_id));
            let is_recorded_virtual = holds.is_some();
            let Some(recorded) = holds.or(settings.model) else {
                return Ok(());
            };
            let is_same = recorded.provider == model.provider && recorded.model_id == model.id;
            if is_same || !(model.is_virtual() || is_recorded_virtual) {
                return Ok(());
            }
            transcript.append(ModelChangeEntry {
                provider: model.provider.clone(),
                model_id: model.id.clone(),
            })?;
            Ok(())
        };
        self.session.writer().write(record)
    }
}

fn response_of(message: &SharedMessage) -> Option<&AssistantMessage> {
    match &**message {
        AgentMessage::Assistant(response) => Some(response),
        _ => None,
    }
}

fn model_messages(messages: &[SharedMessage]) -> Vec<Message> {
    to_model_messages(messages.iter().map(Arc::as_ref))
}

/// Whether the user wrote a message after the last response.
fn starts_turn(messages: &[SharedMessage]) -> bool {
    let newest = messages.iter().rev();
    let mut since = newest.take_while(|message| response_of(message).is_none());
    since.any(|message| matches!(**message, AgentMessage::User(_)))
}

/// Returns the newest state of a router on the path to the leaf.
fn latest_state(session: &Session, model: &Model) -> Result<Option<Value>, SessionError> {
    let mut next = session.leaf_id();
    while let Some(id) = next {
        if session.entries().kind(id.as_str()) == Some(EntryKind::Custom)
            && let EntryBody::Custom(CustomEntry {
                custom_type,
                data: Some(data),
            }) = &session.entries().read(id.as_str())?.body
            && custom_type == VIRTUAL_MODEL_STATE_ENTRY
            && let Ok(stored) = pi_protocol::json::from_value::<VirtualModelState>(data)
            && stored.provider == model.provider
            && stored.model_id == model.id
        {
            return Ok(Some(stored.state));
        }
        next = session.entries().parent_id(id)?;
    }
    Ok(None)
}
