//! Built-in tools, and sessions that extensions run in addition to the main one.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_core::{ToolOrigin, ToolRegistry};
use pi_extensions::{
    AgentDefaultTools, AgentObserver, AgentOptions, AgentSessionChoice, ExtensionOptions,
    ExtensionSession, HostError, ProgramServices, RunningAgent, ToolRegistration, host_error,
};
use pi_protocol::{SessionEvent, UpdateFormat};

use super::registered;
use crate::host::{Host, HostOptions, TrustFlag};
use crate::model_choice::ModelFlags;
use crate::runtime::{SessionOptions, SessionRuntime, StartNotification};
use crate::session::{SessionListener, SessionSubscription};
use crate::session_choice::{OpenedSession, SessionChoice};
use crate::toolset::{DefaultTools, ToolListError, ToolSelection, Toolset, ToolsetOptions};

pub(super) struct RuntimeServices;

struct RuntimeAgent {
    runtime: SessionRuntime,
    _subscription: SessionSubscription,
}

/// Forwards the events of an agent's session.
struct EventForwarder(Arc<dyn AgentObserver>);

impl SessionListener for EventForwarder {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let event = event.to_compatible_json(UpdateFormat::Full).ok().flatten();
            let event = event.and_then(|event| serde_json::from_str(&event).ok());
            if let Some(event) = event {
                self.0.on_event(event).await;
            }
        })
    }
}

impl ProgramServices for RuntimeServices {
    fn start_agent(
        &self,
        options: AgentOptions,
        observer: Arc<dyn AgentObserver>,
    ) -> BoxFuture<'static, Result<Box<dyn RunningAgent>, HostError>> {
        Box::pin(async move {
            let (host, options) = split_options(options).map_err(host_error)?;
            let runtime = host.start(options).await.map_err(host_error)?;
            let session = runtime.session();
            Ok(Box::new(RuntimeAgent {
                _subscription: session.subscribe(Arc::new(EventForwarder(observer))),
                runtime,
            }) as Box<dyn RunningAgent>)
        })
    }

    fn builtin_tool(&self, cwd: &Path, name: &str) -> Option<ToolRegistration> {
        let tools = Toolset::new(ToolsetOptions::new(cwd));
        let known = tools.get(name)?.clone();
        Some(ToolRegistration {
            tool: known.tool,
            snippet: known.snippet,
            guidelines: known.guidelines,
            is_default_active: known.is_default_active,
            metadata: known.metadata,
        })
    }
}

impl RunningAgent for RuntimeAgent {
    fn session(&self) -> Arc<dyn ExtensionSession> {
        Arc::new(self.runtime.session())
    }

    fn model_fallback(&self) -> Option<String> {
        self.runtime.model_fallback()
    }

    fn notify_start(&self) -> BoxFuture<'static, ()> {
        let runtime = self.runtime.clone();
        Box::pin(async move { runtime.notify_session_start().await })
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.runtime.shutdown())
    }
}

/// Returns the host and the options of an agent's session.
fn split_options(options: AgentOptions) -> Result<(Host, SessionOptions), ToolListError> {
    let host = Host::new(HostOptions {
        trust: Some(TrustFlag::new(options.is_trusted, &options.cwd)),
        model_collection: Some(options.models),
        ..HostOptions::new(options.agent_dir, options.env)
    });
    let session = match options.session {
        AgentSessionChoice::Opened(session) => SessionChoice::Opened(OpenedSession::new(*session)),
        AgentSessionChoice::New => SessionChoice::New {
            id: None,
            parent: None,
        },
    };
    let tools = options.tools;
    let custom = tools.custom.into_iter();
    let custom = custom.map(|tool| registered(tool, ToolOrigin::Program));
    let mut selection = ToolSelection {
        exclude: tools.exclude,
        defaults: match tools.defaults {
            AgentDefaultTools::All => DefaultTools::All,
            AgentDefaultTools::NoBuiltin => DefaultTools::NoBuiltin,
            AgentDefaultTools::None => DefaultTools::None,
        },
        ..ToolSelection::default()
    };
    if let Some(list) = tools.allow {
        selection.set_list(list)?;
    }
    let (provider, model) = options.model.unzip();
    let options = SessionOptions {
        session,
        session_dir: options.session_dir,
        models: ModelFlags {
            provider,
            model,
            thinking: options.thinking_level,
            ..ModelFlags::default()
        },
        tools: selection,
        tool_sources: vec![Arc::new(ToolRegistry::new(custom.collect()))],
        resources: options.resources,
        extensions: ExtensionOptions {
            preloaded: options.extensions,
            ..ExtensionOptions::default()
        },
        session_start: StartNotification::Deferred,
        ..SessionOptions::new(options.cwd)
    };
    Ok((host, options))
}
