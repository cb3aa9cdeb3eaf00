//! Builds the live session of a runtime from a stored one.

use std::sync::Arc;

use pi_core::{ToolRegistry, ToolSource};
use pi_extensions::SessionExtensions;
use pi_protocol::{ConfigDiagnostic, Model, ScopedModel, ThinkingLevel};
use pi_providers::RefreshOptions;
use pi_session::Session;

use super::CurrentSession;
use super::error::StartError;
use super::session_options::SessionOptions;
use crate::extension_adapter;
use crate::host::Host;
use crate::model_choice::{ModelChoice, ModelChoiceError, PriorChoice, choose_model};
use crate::native_extensions::{NativeContext, NativeExtensions, RegisteredNames};
use crate::participants::Participants;
use crate::permission_policy;
use crate::session::{AgentSession, SessionParts};
use crate::workspace::Workspace;

/// How the model of a session is chosen.
#[derive(Clone)]
pub(super) enum InitialModel {
    /// From flags, the session and the settings.
    Resolve,
    /// Keep the values of the session before a reload.
    Keep {
        model: Option<Arc<Model>>,
        thinking_level: ThinkingLevel,
        scoped_models: Vec<ScopedModel>,
    },
}

impl InitialModel {
    pub(super) fn keep(session: &AgentSession) -> Self {
        Self::Keep {
            model: session.selection().model(),
            thinking_level: session.selection().thinking_level(),
            scoped_models: session.selection().scoped_models(),
        }
    }
}

/// Builds an [`AgentSession`] from a stored session.
pub(super) async fn build(
    host: &Host,
    options: &SessionOptions,
    workspace: Arc<Workspace>,
    session: Session,
    choice: InitialModel,
    mut diagnostics: Vec<ConfigDiagnostic>,
) -> Result<CurrentSession, StartError> {
    diagnostics.extend(workspace.diagnostics.iter().cloned());
    diagnostics.extend(workspace.resources.extension_errors.iter().cloned());
    if let Some(invalid) = workspace.settings.invalid_restriction() {
        return Err(invalid.into());
    }
    // Before anything is started that it confines.
    workspace.sandbox()?;
    let environment = extension_adapter::environment(&workspace);
    let extensions =
        SessionExtensions::load(environment, &options.extensions, &mut diagnostics).await;
    let mut choice = match choice {
        InitialModel::Resolve => choose(host, options, &workspace, &session)
            .await
            .map_err(|error| error.after(&diagnostics))?,
        InitialModel::Keep {
            model,
            thinking_level,
            scoped_models,
        } => ModelChoice {
            model,
            thinking_level,
            scoped_models,
            ..ModelChoice::default()
        },
    };
    diagnostics.append(&mut choice.diagnostics);
    let mut sources: Vec<Arc<dyn ToolSource>> = Vec::new();
    if let Some(extensions) = &extensions {
        let tools = extension_adapter::tools(extensions);
        sources.push(Arc::new(ToolRegistry::new(tools)));
    }
    let registered = extensions.as_ref().map_or_else(
        RegisteredNames::default,
        extension_adapter::registered_names,
    );
    let native_context = NativeContext {
        host,
        session: session.id(),
        workspace: &workspace,
        ui: &options.extensions.ui,
        options,
        extensions: extensions.as_ref(),
    };
    let native = NativeExtensions::load(&native_context, &registered, &mut diagnostics);
    // Tools of extensions replace those of servers.
    sources.splice(0..0, native.tool_sources());
    sources.push(native.tools());
    sources.extend(options.tool_sources.iter().cloned());
    let tools = workspace.session_toolset(
        options.tools.clone(),
        sources,
        &host.options().child_environment,
        (options.environment.clone(), options.open_buffers.clone()),
        &native,
    );
    let extension_participants = extensions
        .as_ref()
        .map_or_else(Participants::default, extension_adapter::participants);
    let program = options.participants.create_participants(&workspace).await;
    // Rules come first: extensions see only what they allow.
    let rules = permission_policy::participants(&workspace, options.extensions.ui.mode().has_ui())?;
    let participants = rules
        .then(extension_participants)
        .then(native.participants())
        .then(program);
    let directory = session
        .path()
        .is_some()
        .then(|| session.directory().to_owned());
    let session = AgentSession::new(SessionParts {
        session,
        settings: workspace.settings.clone(),
        models: workspace.models.clone(),
        model: choice.model,
        thinking_level: choice.thinking_level,
        scoped_models: choice.scoped_models,
        tools,
        prompt: workspace.prompt(),
        resources: Arc::clone(&workspace.resources) as _,
        cwd: workspace.cwd.clone(),
        env: workspace.env.clone(),
        participants,
        barrier: options.barrier.clone(),
    })?;
    native.bind(&session);
    match &extensions {
        Some(extensions) => extensions.bind(Arc::new(session.clone())),
        None => pi_extensions::connect_screen(&*options.extensions.ui, None),
    }
    Ok(CurrentSession {
        extensions,
        native,
        session,
        directory,
        workspace,
        diagnostics,
        model_fallback: choice.fallback,
    })
}

async fn choose(
    host: &Host,
    options: &SessionOptions,
    workspace: &Workspace,
    session: &Session,
) -> Result<ModelChoice, StartError> {
    let prior = PriorChoice::from_session(session)?;
    let flags = &options.models;
    let settings = workspace.settings.settings();
    let choice = choose_model(&workspace.models, &settings, flags, prior.as_ref()).await?;
    if let Some(key) = &flags.api_key {
        let model = choice.model.as_ref();
        let provider = &model.ok_or(ModelChoiceError::KeyWithoutModel)?.provider;
        host.keys().set(provider, key.clone());
        let refresh = RefreshOptions {
            providers: Some(vec![provider.clone()]),
            ..RefreshOptions::default()
        };
        workspace.models.refresh(refresh).await;
    }
    Ok(choice)
}
