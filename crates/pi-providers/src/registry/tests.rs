mod layers;
mod refreshing;
mod requests;

use futures_util::future::{BoxFuture, FutureExt};
use parking_lot::Mutex;
use pi_auth::{KeySource, ProviderAuth};
use pi_protocol::ProviderError;
use serde_json::{Value, json};

use super::*;
use crate::options::ModelRequest;
use crate::wire::testing;
use pi_stream::AssistantStream;

fn models_with_env(variables: &[(&str, &str)]) -> Models {
    Models::new(ModelsOptions {
        env: Env::fixed(variables.iter().copied()),
        ..ModelsOptions::default()
    })
}

fn config(value: Value) -> ProviderConfig {
    serde_json::from_value(value).unwrap()
}

fn file(value: Value) -> Registration {
    Registration::ModelsFile(config(value))
}

fn extension(value: Value) -> Registration {
    Registration::Extension(ExtensionProvider {
        config: config(value),
        ..ExtensionProvider::default()
    })
}

fn ids(models: &[Arc<Model>]) -> Vec<&str> {
    models.iter().map(|model| model.id.as_str()).collect()
}

/// A provider that takes a key from `ACME_KEY`, responds "ok" and records its requests.
#[derive(Default)]
struct Acme {
    requests: Mutex<Vec<ModelRequest>>,
    model_fields: Value,
    is_broken: bool,
}

impl Acme {
    fn last_request(&self) -> ModelRequest {
        self.requests.lock().last().cloned().unwrap()
    }
}

impl Provider for Acme {
    fn id(&self) -> &'static str {
        "acme"
    }

    fn auth(&self) -> Option<ProviderAuth> {
        let source = KeySource::Variables(&["ACME_KEY"]);
        Some(ProviderAuth::from_key_source(
            "acme",
            "Acme API key",
            source,
        ))
    }

    fn models(&self) -> Result<ModelList, ProviderError> {
        if self.is_broken {
            return Err(ProviderError::invalid("out of order"));
        }
        let mut fields = json!({"provider": "acme", "id": "one", "baseUrl": "https://acme.test"});
        if let Value::Object(more) = &self.model_fields {
            fields.as_object_mut().unwrap().extend(more.clone());
        }
        let model = testing::model("acme-api", fields);
        Ok([Arc::new(model)].into())
    }

    fn stream(&self, request: ModelRequest) -> AssistantStream {
        self.requests.lock().push(request.clone());
        AssistantStream::produce(&request.model, 0, |mut writer| async move {
            let text = writer.message().open_text();
            writer.message().append_text(text, "ok");
            writer.message().close_text(text);
            writer.complete().await;
        })
    }
}

/// A store that always fails.
struct BrokenStore;

impl ModelsStore for BrokenStore {
    fn read<'a>(
        &'a self,
        _provider: &'a str,
    ) -> BoxFuture<'a, Result<Option<StoredModels>, ModelsStoreError>> {
        std::future::ready(Err(ModelsStoreError("the disk is gone".to_owned()))).boxed()
    }

    fn write<'a>(
        &'a self,
        _provider: &'a str,
        _entry: StoredModels,
    ) -> BoxFuture<'a, Result<(), ModelsStoreError>> {
        std::future::ready(Err(ModelsStoreError("the disk is gone".to_owned()))).boxed()
    }
}

#[test]
fn the_local_server_can_be_left_out() {
    for has_local_server in [true, false] {
        let models = Models::new(ModelsOptions {
            has_local_server,
            ..ModelsOptions::default()
        });
        let is_known = models.provider("llama.cpp").is_some();
        assert_eq!(is_known, has_local_server);
    }
}
