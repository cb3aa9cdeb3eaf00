//! Extensions of a session that an extension runs: they are loaded by JavaScript, in the engine of the main session.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_ext::HostError;
use pi_protocol::{SourceInfo, SourceOrigin, SourceScope};
use serde::Deserialize;

use crate::bridge::ExtensionBridge;
use crate::callbacks::AgentFailure;
use crate::costs::BudgetState;
use crate::front_end::{ExtensionFailure, ExtensionMode, ExtensionUi};
use crate::hook_limits::HookLimits;
use crate::hooks::HookState;
use crate::jobs::JobCallback;
use crate::registration::Registrations;
use crate::{ExtensionsInner, SessionExtensions};

/// An extension that JavaScript loaded for an agent.
#[derive(Deserialize)]
pub(crate) struct AgentExtensionData {
    /// Identifies it to JavaScript; unique among all sessions.
    key: String,
    path: String,
    registrations: Registrations,
}

/// Reports failures to the code that created the agent.
struct AgentUi(JobCallback);

impl ExtensionUi for AgentUi {
    fn mode(&self) -> ExtensionMode {
        ExtensionMode::Print
    }

    fn report_failure(&self, failure: ExtensionFailure) -> BoxFuture<'static, ()> {
        let callback = self.0.clone();
        Box::pin(async move {
            let failure = AgentFailure {
                extension_path: failure.extension,
                event: failure.event,
                error: failure.error,
                stack: failure.stack,
            };
            if let Err(error) = callback.run(&failure).await {
                tracing::debug!(%error, "cannot report a failure to the extension");
            }
        })
    }
}

/// Creates the extensions of an agent's session.
pub(crate) fn create(
    bridge: &ExtensionBridge,
    callback: &JobCallback,
    cwd: &Path,
    loaded: Vec<AgentExtensionData>,
) -> Result<SessionExtensions, HostError> {
    let main = bridge.shared()?.upgrade();
    let main = main.ok_or_else(|| HostError::new("the extension was unloaded"))?;
    let ui = Arc::new(AgentUi(callback.clone()));
    let agent_bridge = Arc::new(bridge.for_agent(cwd.to_owned(), ui));
    for extension in loaded {
        main.engine.adopt(&extension.key, callback.number);
        let source = SourceInfo {
            path: PathBuf::from(&extension.path),
            source: "inline".to_owned(),
            scope: SourceScope::Temporary,
            origin: SourceOrigin::TopLevel,
            base_dir: None,
        };
        let mut registry = agent_bridge.registry();
        for clash in registry.add(extension.key, &source, extension.registrations) {
            tracing::warn!(extension = extension.path, "{clash}");
        }
    }
    let extensions = SessionExtensions(Arc::new(ExtensionsInner {
        engine: Arc::clone(&main.engine),
        agent: callback.number,
        bridge: agent_bridge,
        hooks: HookState::new(HookLimits::from_env(&bridge.env)),
        budget: BudgetState::default(),
        prompt_texts: Mutex::default(),
    }));
    extensions.0.bridge.connect(Arc::downgrade(&extensions.0));
    Ok(extensions)
}
