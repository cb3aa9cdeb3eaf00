//! Handles calls about models and providers.

use std::sync::Arc;

use pi_auth::{AuthOverrides, KeySource};
use pi_ext::HostError;
use pi_model_tasks::{TaskModel, task_models};
use pi_protocol::{AuthKind, Message, Model, ModelKind};
use pi_providers::RefreshOptions;
use secrecy::ExposeSecret;
use serde_json::Value;

use super::{Caller, ModelCall, TaskCall};
use crate::calls::{AuthStatus, ModelCalls, Pending, RequestAuth};

impl ModelCalls for Caller<'_> {
    fn all(&self) -> Result<Vec<Arc<Model>>, HostError> {
        Ok(self.bridge.models.all())
    }

    fn available(&self) -> Result<Vec<Arc<Model>>, HostError> {
        Ok(self.bridge.models.available())
    }

    fn find(&self, provider: String, id: String) -> Result<Option<Arc<Model>>, HostError> {
        Ok(self.bridge.models.model(&provider, &id))
    }

    fn providers(&self) -> Result<Vec<String>, HostError> {
        let providers = self.bridge.models.providers();
        let ids = providers.iter().map(|provider| provider.id().to_owned());
        Ok(ids.collect())
    }

    fn provider_name(&self, provider: String) -> Result<String, HostError> {
        let known = self.bridge.models.provider(&provider);
        Ok(known.map_or(provider, |known| known.name().to_owned()))
    }

    fn is_authenticated(&self, provider: String) -> Result<bool, HostError> {
        Ok(self.bridge.models.is_authenticated(&provider))
    }

    fn auth_status(&self, provider: String) -> Result<AuthStatus, HostError> {
        let status = self.bridge.models.auth_status(&provider);
        Ok(AuthStatus {
            configured: status.is_some(),
            source: status.as_ref().map(|status| status.source.to_string()),
            is_oauth: status.is_some_and(|status| status.kind == AuthKind::OAuth),
        })
    }

    fn environment_keys(&self, provider: String) -> Result<Vec<&'static str>, HostError> {
        let known = pi_providers::builtin_provider(&provider).and_then(|info| info.key.as_ref());
        Ok(match known.map(|key| key.source) {
            Some(KeySource::Variables(names)) => names.to_vec(),
            Some(KeySource::Anthropic) => vec!["ANTHROPIC_OAUTH_TOKEN", "ANTHROPIC_API_KEY"],
            Some(_) | None => Vec::new(),
        })
    }

    fn request_auth(
        &self,
        provider: String,
        id: Option<String>,
    ) -> Result<Pending<RequestAuth>, HostError> {
        let (models, env) = (self.bridge.models.clone(), self.bridge.env.clone());
        Ok(self.bridge.spawn_on_runtime(async move {
            let Some(known) = models.provider(&provider) else {
                return Ok(failed(format!("unknown provider: {provider}")));
            };
            let model = id.and_then(|id| models.model(&provider, &id));
            let own = model.as_ref().and_then(|model| model.headers.clone());
            let own = own
                .into_iter()
                .flatten()
                .map(|(name, value)| (name, Some(value)));
            let Some(auth) = known.auth() else {
                return Ok(RequestAuth::Open {
                    ok: true,
                    headers: own.collect(),
                });
            };
            let overrides = AuthOverrides::default();
            let authenticator = models.authenticator();
            let found = authenticator.require(&auth, &env, &overrides).await;
            Ok(match found {
                Ok(found) => {
                    let key = found.api_key.as_ref().map(ExposeSecret::expose_secret);
                    RequestAuth::Credential {
                        ok: true,
                        api_key: key.map(str::to_owned),
                        headers: own.chain(found.headers).collect(),
                        base_url: found.base_url,
                        env: found.env,
                        is_oauth: found.kind == AuthKind::OAuth,
                    }
                }
                Err(error) => failed(error.to_string()),
            })
        }))
    }

    fn refresh(&self) -> Result<Pending<()>, HostError> {
        let models = self.bridge.models.clone();
        Ok(self.bridge.spawn_on_runtime(async move {
            models.refresh(RefreshOptions::default()).await;
            Ok(())
        }))
    }

    fn of_type(
        &self,
        kind: ModelKind,
        provider: Option<String>,
    ) -> Result<Vec<TaskModel>, HostError> {
        let models = &self.bridge.models;
        Ok(task_models(models, kind, provider.as_deref()))
    }

    fn run_task(&self, call: Box<TaskCall>) -> Result<Pending<Value>, HostError> {
        self.run_model_task(*call)
    }

    fn stream(&self, call: Box<ModelCall>) -> Result<Pending<Message>, HostError> {
        self.stream_model(*call)
    }
}

fn failed(error: String) -> RequestAuth {
    RequestAuth::Failed { ok: false, error }
}
