//! Lets the user's extensions decide whether to trust a project before any of its files are read.
//!
//! Extensions from user settings and the command line are loaded with the project untrusted, called,
//! and dropped. The session loads its extensions again once the complete list is known.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_extensions::events::ProjectTrust;
use pi_extensions::{ExtensionOptions, SessionExtensions, StartupUi};
use pi_protocol::{ConfigDiagnostic, ProjectAccess};

use super::environment;
use crate::host::{Host, TrustFlag, TrustResolution, TrustResolver};
use crate::workspace::{Workspace, WorkspaceOptions};

pub(crate) struct ExtensionTrustResolver(pub(crate) ExtensionOptions);

impl ExtensionTrustResolver {
    async fn run_handlers(
        &self,
        host: &Host,
        options: &WorkspaceOptions,
        cwd: &Path,
        diagnostics: &mut Vec<ConfigDiagnostic>,
    ) -> Option<TrustResolution> {
        let host = host.with_options(|options| {
            options.trust = Some(TrustFlag::Deny);
            options.trust_prompt = None;
        });
        let options = WorkspaceOptions {
            trust_resolver: None,
            ..options.clone()
        };
        let workspace = Workspace::load(&host, &options, cwd).await;
        let ui = Arc::new(StartupUi::new(Arc::clone(&self.0.ui)));
        let front_end = ExtensionOptions {
            ui: Arc::clone(&ui) as _,
            flags: Vec::new(),
            ..self.0.clone()
        };
        // Problems are reported when the session loads the extension.
        let mut load_diagnostics = Vec::new();
        let extensions =
            SessionExtensions::load(environment(&workspace), &front_end, &mut load_diagnostics)
                .await?;
        if !extensions.has_handler::<ProjectTrust<'_>>() {
            return None;
        }
        let decision = extensions.emit(None, || ProjectTrust { cwd }).await;
        diagnostics.append(&mut ui.take_diagnostics());
        let decision = decision?;
        let access = match decision.trusted.as_deref() {
            Some("yes") => ProjectAccess::Trusted,
            Some("no") => ProjectAccess::Denied,
            _ => return None,
        };
        Some(TrustResolution {
            access,
            remember: decision.remember == Some(true),
        })
    }
}

impl TrustResolver for ExtensionTrustResolver {
    fn resolve<'a>(
        &'a self,
        host: &'a Host,
        options: &'a WorkspaceOptions,
        cwd: &'a Path,
        diagnostics: &'a mut Vec<ConfigDiagnostic>,
    ) -> BoxFuture<'a, Option<TrustResolution>> {
        Box::pin(self.run_handlers(host, options, cwd, diagnostics))
    }
}
