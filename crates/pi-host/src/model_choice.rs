//! Selection of the initial model, its thinking level, and the models to cycle through.
//!
//! The order of precedence: command line; in a new session, the default or the first scoped model;
//! in an existing session, its last model; the default of the settings; the default model of a
//! provider with credentials; the first available model. Patterns are matched by [`pi_model_patterns`].

use std::sync::Arc;
use std::time::Duration;

use pi_env::env_vars;
use pi_model_patterns::{
    ModelQuery, ModelQueryError, ModelScope, UnlistedModels, resolve_model, resolve_scope,
};
use pi_protocol::settings::Settings;
use pi_protocol::{
    ConfigDiagnostic, DiagnosticLevel, EntryKind, Model, ScopedModel, ThinkingLevel,
};
use pi_providers::{Models, NetworkAccess, RefreshOptions, builtin_providers};
use pi_session::{ContextModel, Session, SessionError};
use secrecy::SecretString;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

/// The provider whose models are only known by querying it.
const LOCAL_SERVER: &str = "llama.cpp";

/// Time limit for a local server to list its models at startup.
const LOCAL_SERVER_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Default)]
pub struct ModelFlags {
    pub provider: Option<String>,
    pub model: Option<String>,
    /// `--models`, split at commas.
    pub models: Option<Vec<String>>,
    pub thinking: Option<ThinkingLevel>,
    /// `--api-key`, for the provider of the model.
    pub api_key: Option<SecretString>,
}

/// The last model and thinking level of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PriorChoice {
    /// The model that was selected or used last.
    pub(crate) model: Option<ContextModel>,
    /// The model that was selected last, which applies if it is virtual.
    pub(crate) selected: Option<ContextModel>,
    /// The thinking level, if one was recorded.
    pub(crate) thinking_level: Option<ThinkingLevel>,
}

impl PriorChoice {
    /// Reads the last choices of a session; `None` if it has no messages yet, unless it was restored after a kill.
    pub(crate) fn from_session(session: &Session) -> Result<Option<Self>, SessionError> {
        let is_restored = session.open_report().restored_draft;
        if !is_restored && !path_has(session, shows_messages)? {
            return Ok(None);
        }
        let settings = session.current_branch().settings()?;
        let is_level = |kind| kind == EntryKind::ThinkingLevelChange;
        let thinking_level = match ThinkingLevel::from_name(&settings.thinking_level) {
            // A session without a recorded level is indistinguishable from one with thinking turned
            // off.
            Some(ThinkingLevel::Off) if !path_has(session, is_level)? => None,
            level => level,
        };
        Ok(Some(Self {
            model: settings.model,
            selected: settings.selected_model,
            thinking_level,
        }))
    }
}

fn shows_messages(kind: EntryKind) -> bool {
    matches!(
        kind,
        EntryKind::Message(_)
            | EntryKind::CustomMessage
            | EntryKind::Compaction
            | EntryKind::BranchSummary
    )
}

/// Returns whether an entry on the path to the leaf is of a kind, without reading its body.
fn path_has(
    session: &Session,
    matches_kind: impl Fn(EntryKind) -> bool,
) -> Result<bool, SessionError> {
    let mut next = session.leaf_id();
    while let Some(id) = next {
        if session
            .entries()
            .kind(id.as_str())
            .is_some_and(&matches_kind)
        {
            return Ok(true);
        }
        next = session.entries().parent_id(id)?;
    }
    Ok(false)
}

/// The initial choices of a session.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ModelChoice {
    /// `None` if no provider has credentials.
    pub(crate) model: Option<Arc<Model>>,
    /// The thinking level, limited to what the model supports.
    pub(crate) thinking_level: ThinkingLevel,
    /// The models to cycle through, with the thinking levels set by their patterns.
    pub(crate) scoped_models: Vec<ScopedModel>,
    /// Why the model differs from the one the session last used.
    pub(crate) fallback: Option<String>,
    /// Further messages for the user.
    pub(crate) diagnostics: Vec<ConfigDiagnostic>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ModelChoiceError {
    #[error(transparent)]
    Query(#[from] ModelQueryError),
    #[error("--api-key requires a model: select one with --model or --models")]
    KeyWithoutModel,
    #[error("--provider requires --model")]
    ProviderWithoutModel,
}

/// Chooses from models whose credential status is known (see [`Models::refresh`]).
///
/// A local server is queried for its models if there is no other provider, or if it would be used.
pub(crate) async fn choose_model(
    models: &Models,
    settings: &Settings,
    flags: &ModelFlags,
    prior: Option<&PriorChoice>,
) -> Result<ModelChoice, ModelChoiceError> {
    let chosen = choose(models, settings, flags, prior);
    let asks_server = models.is_authenticated(LOCAL_SERVER)
        && match &chosen {
            Ok(choice) => choice
                .model
                .as_ref()
                .is_none_or(|model| model.provider == LOCAL_SERVER),
            Err(_) => true,
        };
    if !asks_server {
        return chosen;
    }
    let trouble = fetch_local_models(models).await;
    let mut chosen = choose(models, settings, flags, prior)?;
    if chosen.model.is_none() {
        chosen.diagnostics.extend(trouble);
    }
    Ok(chosen)
}

/// Queries the configured local server for its models; returns a diagnostic on failure.
pub async fn fetch_local_models(models: &Models) -> Option<ConfigDiagnostic> {
    if !models.is_authenticated(LOCAL_SERVER) {
        return None;
    }
    let cancel = CancellationToken::new();
    let deadline = cancel.clone().drop_guard();
    let refresh = models.refresh(RefreshOptions {
        network: NetworkAccess::Allowed,
        providers: Some(vec![LOCAL_SERVER.to_owned()]),
        cancel,
        ..RefreshOptions::default()
    });
    let trouble = match tokio::time::timeout(LOCAL_SERVER_TIMEOUT, refresh).await {
        Ok(mut report) => match report.errors.remove(LOCAL_SERVER) {
            Some(error) => error.to_string(),
            None if has_local_model(models) => return None,
            None => format!(
                "The server set in {} has no models; load one there",
                env_vars::LLAMA_BASE_URL
            ),
        },
        Err(_) => {
            drop(deadline);
            format!(
                "The server set in {} does not respond",
                env_vars::LLAMA_BASE_URL
            )
        }
    };
    Some(warning(&trouble))
}

fn has_local_model(models: &Models) -> bool {
    let available = models.available();
    available.iter().any(|model| model.provider == LOCAL_SERVER)
}

fn choose(
    models: &Models,
    settings: &Settings,
    flags: &ModelFlags,
    prior: Option<&PriorChoice>,
) -> Result<ModelChoice, ModelChoiceError> {
    let patterns = flags.models.as_ref().or(settings.enabled_models.as_ref());
    let scope = match patterns {
        Some(patterns) if !patterns.is_empty() => {
            resolve_scope(patterns.iter().map(String::as_str), &models.available())
        }
        Some(_) | None => ModelScope::default(),
    };
    let mut diagnostics: Vec<_> = scope.warnings.iter().map(warning).collect();
    let named = match find_named(models, flags)? {
        Some(named) => {
            diagnostics.extend(named.warning);
            Some((named.model, named.thinking))
        }
        None if prior.is_none() => scoped_default(settings, &scope),
        None => None,
    };
    if flags.api_key.is_some() && named.is_none() {
        return Err(ModelChoiceError::KeyWithoutModel);
    }
    let (named, suffix) = named.map_or((None, None), |(model, level)| (Some(model), level));
    let (model, fallback) = match named {
        Some(model) => (Some(model), None),
        None => choose_unnamed(models, settings, prior),
    };
    let level = flags.thinking.or(suffix);
    Ok(ModelChoice {
        thinking_level: thinking_level(settings, level, prior, model.as_deref()),
        model,
        scoped_models: scope.models,
        fallback,
        diagnostics,
    })
}

/// A model named on the command line.
struct NamedModel {
    model: Arc<Model>,
    thinking: Option<ThinkingLevel>,
    warning: Option<ConfigDiagnostic>,
}

fn find_named(models: &Models, flags: &ModelFlags) -> Result<Option<NamedModel>, ModelChoiceError> {
    let Some(pattern) = flags.model.as_deref() else {
        return match flags.provider {
            Some(_) => Err(ModelChoiceError::ProviderWithoutModel),
            None => Ok(None),
        };
    };
    let query = ModelQuery {
        provider: flags.provider.as_deref(),
        pattern,
        thinking: flags.thinking,
        has_inline_key: flags.api_key.is_some(),
        unlisted: UnlistedModels::Allowed,
    };
    let resolved = resolve_model(query, models)?;
    Ok(Some(NamedModel {
        model: resolved.model,
        thinking: resolved.thinking,
        warning: resolved.warning.as_ref().map(warning),
    }))
}

/// Chooses from the scoped models: the default of the settings if it is among them, otherwise the
/// first.
fn scoped_default(
    settings: &Settings,
    scope: &ModelScope,
) -> Option<(Arc<Model>, Option<ThinkingLevel>)> {
    let is_default = |scoped: &&ScopedModel| {
        settings.default_model() == Some((&scoped.model.provider, &scoped.model.id))
    };
    let chosen = scope.models.iter().find(is_default);
    let chosen = chosen.or(scope.models.first())?;
    Some((Arc::clone(&chosen.model), chosen.thinking))
}

/// Chooses without a model on the command line; returns a message if the session's model is not
/// available.
fn choose_unnamed(
    models: &Models,
    settings: &Settings,
    prior: Option<&PriorChoice>,
) -> (Option<Arc<Model>>, Option<String>) {
    let usable = |provider: &str, id: &str| {
        let model = models.model(provider, id)?;
        models.is_authenticated(&model.provider).then_some(model)
    };
    let is_virtual = |selected: &&ContextModel| {
        let model = models.model(&selected.provider, &selected.model_id);
        model.is_some_and(|model| model.is_virtual())
    };
    let left_with = prior.and_then(|prior| {
        let selected = prior.selected.as_ref().filter(is_virtual);
        selected.or(prior.model.as_ref())
    });
    if let Some(left_with) = left_with
        && let Some(model) = usable(&left_with.provider, &left_with.model_id)
    {
        return (Some(model), None);
    }
    let by_default = settings
        .default_model()
        .and_then(|(provider, id)| usable(provider, id));
    let model = by_default.or_else(|| default_model_of_providers(models));
    let fallback = left_with.map(|left_with| {
        let ContextModel { provider, model_id } = left_with;
        let instead = match &model {
            Some(model) => format!("using {}/{}", model.provider, model.id),
            None => "and no other model is available".to_owned(),
        };
        format!("The session's model {provider}/{model_id} is not available, {instead}")
    });
    (model, fallback)
}

/// Returns the default model of the first provider with credentials, otherwise the first available
/// model.
fn default_model_of_providers(models: &Models) -> Option<Arc<Model>> {
    let available = models.available();
    let default_model = builtin_providers().iter().find_map(|info| {
        available
            .iter()
            .find(|model| model.provider == info.id && model.id == info.default_model)
    });
    default_model.or(available.first()).cloned()
}

/// Returns the default model of a provider, or its first model if that one is not available.
pub fn default_model_of_provider(provider: &str, available: &[Arc<Model>]) -> Option<Arc<Model>> {
    let info = builtin_providers().iter().find(|info| info.id == provider);
    let mut own = available.iter().filter(|model| model.provider == provider);
    let default_model =
        info.and_then(|info| own.clone().find(|model| model.id == info.default_model));
    default_model.or_else(|| own.next()).cloned()
}

fn thinking_level(
    settings: &Settings,
    requested: Option<ThinkingLevel>,
    prior: Option<&PriorChoice>,
    model: Option<&Model>,
) -> ThinkingLevel {
    let Some(model) = model else {
        return ThinkingLevel::Off;
    };
    let by_default = || settings.default_thinking_level();
    let level = match (requested, prior) {
        (Some(level), _) => level,
        (None, Some(prior)) => prior.thinking_level.unwrap_or_else(by_default),
        (None, None) => settings
            .model_thinking_level(&model.provider, &model.id)
            .unwrap_or_else(by_default),
    };
    model.clamp_thinking_level(level)
}

fn warning(message: &impl ToString) -> ConfigDiagnostic {
    ConfigDiagnostic {
        level: DiagnosticLevel::Warning,
        message: message.to_string(),
        path: None,
    }
}

#[cfg(test)]
mod tests;
