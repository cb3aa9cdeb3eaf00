//! Calls about the models and providers of the program.

use std::collections::BTreeMap;
use std::sync::Arc;

use pi_http::HeaderOverrides;
use pi_model_tasks::TaskModel;
use pi_protocol::{Message, Model, ModelKind};
use serde::Serialize;
use serde_json::Value;

use super::group::calls;
use crate::handlers::{ModelCall, TaskCall};

/// The credentials of a request.
#[derive(Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub(crate) enum RequestAuth {
    Failed {
        ok: bool,
        error: String,
    },
    /// The provider needs no credential.
    Open {
        ok: bool,
        headers: HeaderOverrides,
    },
    Credential {
        ok: bool,
        api_key: Option<String>,
        headers: HeaderOverrides,
        base_url: Option<String>,
        env: BTreeMap<String, String>,
        #[serde(rename = "isOAuth")]
        is_oauth: bool,
    },
}

/// Whether a provider has a credential, and where it comes from.
#[derive(Serialize)]
pub(crate) struct AuthStatus {
    pub(crate) configured: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<String>,
    #[serde(rename = "isOAuth")]
    pub(crate) is_oauth: bool,
}

calls! {
    trait ModelCalls {
        call "models.all" => all() -> Vec<Arc<Model>>;
        /// Lists the models whose provider has a credential.
        call "models.available" => available() -> Vec<Arc<Model>>;
        call "models.find" => find(provider: String, id: String) -> Option<Arc<Model>>;
        call "models.providers" => providers() -> Vec<String>;
        call "models.providerName" => provider_name(provider: String) -> String;
        call "models.isAuthenticated" => is_authenticated(provider: String) -> bool;
        call "models.authStatus" => auth_status(provider: String) -> AuthStatus;
        /// Lists the environment variables of a built-in provider's API key.
        call "models.environmentKeys" => environment_keys(provider: String) -> Vec<&'static str>;
        /// Returns the credentials of a request to a model or a provider.
        request "models.requestAuth" => request_auth(
            provider: String,
            id: Option<String>,
        ) -> RequestAuth;
        request "models.refresh" => refresh();
        /// Lists the built-in models that do not chat.
        call "models.ofType" => of_type(
            kind as "type": ModelKind,
            provider: Option<String>,
        ) -> Vec<TaskModel>;
        /// Classifies data or generates images; a failure is part of the result.
        request "models.runTask" => run_task(call as "...": Box<TaskCall>) -> Value;
        /// Calls a model; its events go to the callback `events`.
        request "models.stream" => stream(call as "...": Box<ModelCall>) -> Message;
    }
}
