//! The user's own extensions decide about a project before anything of it is read.
//!
//! Those of the user and of the command line are loaded with the project refused, asked, and dropped:
//! the session loads its extensions anew once it is known which there are.

use std::path::Path;

use futures_util::future::BoxFuture;
use pi_config::ProjectAccess;
use serde_json::{Value, json};

use super::Extensions;
use super::front_end::ExtensionOptions;
use crate::services::{ServiceOptions, Services, TrustVote, TrustVoter};

/// The extensions' say in trust.
pub(crate) struct ExtensionVoter(pub(crate) ExtensionOptions);

impl ExtensionVoter {
    async fn ask(&self, options: &ServiceOptions, cwd: &Path) -> Option<TrustVote> {
        let options = ServiceOptions {
            trust: Some(false),
            trust_prompt: None,
            trust_voter: None,
            ..options.clone()
        };
        let services = Services::load(&options, cwd).await;
        let front_end = ExtensionOptions {
            flags: Vec::new(),
            ..self.0.clone()
        };
        // What is wrong with an extension is told when the session loads it.
        let mut untold = Vec::new();
        let extensions = Extensions::load(&services, &front_end, &mut untold).await?;
        if !extensions.0.bridge.hears("project_trust") {
            return None;
        }
        let event = json!({ "type": "project_trust", "cwd": cwd });
        let vote = extensions.0.emit(event, None).await?;
        let access = match vote.get("trusted").and_then(Value::as_str) {
            Some("yes") => ProjectAccess::Trusted,
            Some("no") => ProjectAccess::Refused,
            _ => return None,
        };
        Some(TrustVote {
            access,
            remember: vote.get("remember") == Some(&Value::Bool(true)),
        })
    }
}

impl TrustVoter for ExtensionVoter {
    fn vote<'a>(
        &'a self,
        options: &'a ServiceOptions,
        cwd: &'a Path,
    ) -> BoxFuture<'a, Option<TrustVote>> {
        Box::pin(self.ask(options, cwd))
    }
}
