//! Loads extension files, each on the embedded engine or on Node.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pi_config::ExtensionFile;
use pi_ext::{EngineError, ExtensionHost};
use pi_protocol::settings::ExtensionEngine;
use pi_protocol::{ConfigDiagnostic, DiagnosticLevel};

use crate::SessionExtensions;
use crate::registration::Registrations;

/// Code of errors about what the embedded engine does not have.
const NOT_AVAILABLE: &str = "ERR_NOT_AVAILABLE";

/// Texts of errors about native addons: of the engine, and of the package `bindings`.
const NATIVE_ADDON: [&str; 2] = ["native Node addon", "Could not locate the bindings file"];

/// Why an extension was not loaded.
enum LoadFailure {
    TimedOut,
    Engine(EngineError),
}

impl From<EngineError> for LoadFailure {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

/// Returns whether an extension was not loaded because Node is missing, too old or does not start.
fn is_node_unusable(loaded: &Result<Registrations, LoadFailure>) -> bool {
    matches!(loaded, Err(LoadFailure::Engine(EngineError::Node(_))))
}

fn node_notice(file: &ExtensionFile, need: &str) -> ConfigDiagnostic {
    ConfigDiagnostic {
        level: DiagnosticLevel::Info,
        message: format!("runs on Node: it uses {need}"),
        path: Some(file.path.clone()),
    }
}

impl SessionExtensions {
    /// Loads an extension on the engine configured for it.
    pub(crate) async fn load_file(
        &self,
        file: &ExtensionFile,
        configured: Option<ExtensionEngine>,
        diagnostics: &mut Vec<ConfigDiagnostic>,
    ) {
        let loaded = match configured {
            Some(ExtensionEngine::QuickJs) => self.try_load(file, ExtensionHost::Embedded).await,
            Some(ExtensionEngine::Node) => self.try_load(file, ExtensionHost::Node).await,
            None => self.load_anywhere(file, diagnostics).await,
        };
        self.finish_load(file, loaded, diagnostics);
    }

    /// Loads an extension on the embedded engine, or on Node if it needs that and Node can run it.
    async fn load_anywhere(
        &self,
        file: &ExtensionFile,
        diagnostics: &mut Vec<ConfigDiagnostic>,
    ) -> Result<Registrations, LoadFailure> {
        let manager = Arc::clone(&self.0.engine);
        let path = file.path.clone();
        let need = tokio::task::spawn_blocking(move || manager.node_need(&path)).await;
        let need = need.unwrap_or_default();
        if let Some(need) = &need {
            let loaded = self.try_load(file, ExtensionHost::Node).await;
            if !is_node_unusable(&loaded) {
                diagnostics.push(node_notice(file, need));
                return loaded;
            }
        }
        let loaded = self.try_load(file, ExtensionHost::Embedded).await;
        let lacks = match &loaded {
            Err(LoadFailure::Engine(EngineError::Exception(error))) => {
                let is_native = |text: &&str| error.message.contains(text);
                error.code.as_deref() == Some(NOT_AVAILABLE) || NATIVE_ADDON.iter().any(is_native)
            }
            _ => false,
        };
        if lacks && need.is_none() {
            let on_node = self.try_load(file, ExtensionHost::Node).await;
            if !is_node_unusable(&on_node) {
                diagnostics.push(node_notice(file, "what only Node provides"));
                return on_node;
            }
        }
        loaded
    }

    async fn try_load(
        &self,
        file: &ExtensionFile,
        host: ExtensionHost,
    ) -> Result<Registrations, LoadFailure> {
        let loading = self.0.engine.load_on(&file.path, host);
        let Some(loaded) = self.0.within_load_limit(loading).await else {
            self.0.abandon_load(&file.path, host).await;
            return Err(LoadFailure::TimedOut);
        };
        let registrations = pi_protocol::json::from_value(&loaded?);
        Ok(registrations.map_err(|error| EngineError::InvalidValue(error.to_string()))?)
    }

    /// Registers what an extension registered, or reports why it failed to load.
    fn finish_load(
        &self,
        file: &ExtensionFile,
        loaded: Result<Registrations, LoadFailure>,
        diagnostics: &mut Vec<ConfigDiagnostic>,
    ) {
        let path = file.path.to_string_lossy().into_owned();
        let mut registry = self.0.bridge.registry();
        match loaded {
            Ok(registrations) => {
                let clashes = registry.add(path, &file.source_info, registrations);
                diagnostics.extend(clashes.into_iter().map(|message| ConfigDiagnostic {
                    level: DiagnosticLevel::Error,
                    message,
                    path: Some(file.path.clone()),
                }));
            }
            Err(failure) => {
                registry.mcp_servers.remove_all(&path);
                diagnostics.push(match failure {
                    LoadFailure::TimedOut => load_timeout(&file.path, self.0.hooks.limits.load),
                    LoadFailure::Engine(error) => load_error(&error, Some(&file.path)),
                });
            }
        }
    }
}

fn load_timeout(path: &Path, limit: Duration) -> ConfigDiagnostic {
    ConfigDiagnostic {
        level: DiagnosticLevel::Error,
        message: format!(
            "cannot load extension: it is not responding ({} s); fix or remove it, or start with \
             --no-extensions",
            limit.as_secs_f32()
        ),
        path: Some(path.to_owned()),
    }
}

pub(crate) fn load_error(error: &EngineError, path: Option<&Path>) -> ConfigDiagnostic {
    ConfigDiagnostic {
        level: DiagnosticLevel::Error,
        message: format!("cannot load extension: {error}"),
        path: path.map(Path::to_owned),
    }
}
