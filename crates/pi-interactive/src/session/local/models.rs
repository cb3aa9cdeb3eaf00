//! Models, thinking levels, and credentials of providers.

use std::sync::Arc;

use pi_host::{
    AgentSession, CycleDirection, LlamaRouter, LoginInteraction, Models, Persist, SessionRuntime,
    SignIn, fetch_models,
};
use pi_protocol::{AuthKind, Model, ThinkingLevel};
use pi_views::dialogs::intent::SecretText;
use tokio_util::sync::CancellationToken;

use crate::session::outcome::SessionOutcome;
use crate::session::snapshot::ProviderInfo;

/// A subscription that is used with an API key.
const KIMI_CODING: &str = "kimi-coding";

/// The provider of a llama.cpp router.
const LLAMA: &str = "llama.cpp";

/// Returns which providers can be used, with `current` as the provider of the session's model.
pub(super) fn provider_info(models: &Models, current: Option<&str>) -> ProviderInfo {
    let providers = models.providers();
    let usable = providers
        .iter()
        .filter(|provider| models.is_authenticated(provider.id()));
    ProviderInfo {
        several: usable.take(2).count() > 1,
        subscription: current.is_some_and(|provider| is_subscription(models, provider)),
        ready: current.is_some_and(|provider| models.is_authenticated(provider)),
    }
}

/// Returns whether requests to a provider are covered by a subscription rather than billed per token.
fn is_subscription(models: &Models, provider: &str) -> bool {
    if provider == KIMI_CODING {
        return true;
    }
    let signed_in = models
        .auth_status(provider)
        .is_some_and(|status| status.kind == AuthKind::OAuth);
    let auth = models
        .provider(provider)
        .and_then(|provider| provider.auth());
    let flow = auth.and_then(|auth| auth.oauth);
    signed_in && flow.is_some_and(|flow| flow.is_subscription())
}

pub(super) async fn set_model(
    session: AgentSession,
    model: Arc<Model>,
    persist: Persist,
) -> SessionOutcome {
    let name = model.name.clone();
    let set = session.selection().set_model(model, persist).await;
    SessionOutcome::ModelSet {
        name,
        persist,
        result: set.map_err(|error| error.describe()),
    }
}

pub(super) async fn cycle_model(
    session: AgentSession,
    direction: CycleDirection,
) -> SessionOutcome {
    let cycled = session
        .selection()
        .cycle_model(direction, Persist::Session)
        .await;
    SessionOutcome::ModelCycled(match cycled {
        Ok(cycle) => Ok(cycle.map(|cycle| cycle.model.name.clone())),
        Err(error) => Err(error.describe()),
    })
}

pub(super) async fn set_thinking(
    session: AgentSession,
    level: ThinkingLevel,
    persist: Persist,
) -> SessionOutcome {
    let set = session.selection().set_thinking_level(level, persist).await;
    SessionOutcome::ThinkingSet {
        persist,
        result: set.map_err(|error| error.describe()),
    }
}

pub(super) async fn cycle_thinking(session: AgentSession) -> SessionOutcome {
    let cycled = session
        .selection()
        .cycle_thinking_level(Persist::Session)
        .await;
    SessionOutcome::ThinkingCycled(cycled.map_err(|error| error.describe()))
}

pub(super) async fn sign_in(
    runtime: SessionRuntime,
    provider: String,
    kind: AuthKind,
    interaction: Box<dyn LoginInteraction>,
    cancel: CancellationToken,
) -> SessionOutcome {
    let workspace = runtime.workspace();
    let sign_in = SignIn::new(&workspace.models, &workspace.env, &workspace.settings);
    let signed_in = sign_in.sign_in(&provider, kind, interaction.as_ref(), &cancel);
    let result = signed_in.await;
    SessionOutcome::SignedIn {
        provider,
        result: result.map_err(|error| pi_host::describe_error(&error)),
    }
}

pub(super) async fn store_key(
    runtime: SessionRuntime,
    session: AgentSession,
    provider: String,
    key: SecretText,
) -> SessionOutcome {
    let workspace = runtime.workspace();
    let sign_in = SignIn::new(session.models(), &workspace.env, &workspace.settings);
    let stored = sign_in.store_key(&provider, key.0).await;
    SessionOutcome::KeyStored {
        provider,
        result: stored.map_err(|error| pi_host::describe_error(&error)),
    }
}

pub(super) async fn sign_out(
    runtime: SessionRuntime,
    session: AgentSession,
    provider: String,
) -> SessionOutcome {
    let workspace = runtime.workspace();
    let sign_in = SignIn::new(session.models(), &workspace.env, &workspace.settings);
    let deleted = sign_in.sign_out(&provider).await;
    SessionOutcome::SignedOut {
        provider,
        result: deleted.map_err(|error| pi_host::describe_error(&error)),
    }
}

pub(super) async fn list_logins(runtime: SessionRuntime, session: AgentSession) -> SessionOutcome {
    let workspace = runtime.workspace();
    let sign_in = SignIn::new(session.models(), &workspace.env, &workspace.settings);
    let stored = sign_in.stored().await;
    SessionOutcome::LoginsListed(stored.map_err(|error| pi_host::describe_error(&error)))
}

pub(super) async fn refresh(session: AgentSession, provider: Option<String>) -> SessionOutcome {
    let models = session.models();
    let failed = fetch_models(models, provider.as_deref()).await;
    SessionOutcome::ModelsRefreshed {
        provider,
        available: models.available(),
        failed,
    }
}

pub(super) async fn find_llama_router(session: AgentSession) -> SessionOutcome {
    let router = session.models().llama_router().await;
    SessionOutcome::LlamaRouterFound(router.map_err(|error| error.message))
}

pub(super) async fn list_llama(session: AgentSession, router: LlamaRouter) -> SessionOutcome {
    let listed = router.models().await;
    if listed.is_ok() {
        // Loaded models become available in `/model`.
        refresh(session, Some(LLAMA.to_owned())).await;
    }
    SessionOutcome::LlamaListed(listed.map_err(|error| error.message))
}
