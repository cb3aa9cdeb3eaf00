//! Makes the models of a pod known to pi: provider `pod-<name>` in `models.json`, and the key of the servers in
//! `auth.json`. Only models with a tunnel are listed.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use pi_auth::{ApiKeyCredential, AuthError, Credential, CredentialStore as _};
use pi_config::{
    AgentDir, AuthFile, ModelsFileChangeError, put_models_file_provider,
    remove_models_file_provider,
};
use pi_env::Env;
use pi_protocol::json::JsonObject;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use crate::API_KEY;
use crate::model_plan::known_models;
use crate::pods_file::{Pod, RunningModel};

/// Of a model whose server does not report it.
const DEFAULT_CONTEXT: u64 = 32_768;

/// Bytes of a generated key.
const KEY_LENGTH: usize = 24;

#[derive(Debug, thiserror::Error)]
pub(crate) enum RegisterError {
    #[error(transparent)]
    Models(#[from] ModelsFileChangeError),
    #[error(transparent)]
    Key(#[from] AuthError),
    #[error("cannot generate a key: {0}")]
    Random(getrandom::Error),
    #[error("cannot start the runtime: {0}")]
    Runtime(std::io::Error),
}

pub(crate) fn provider_id(pod: &str) -> String {
    format!("pod-{pod}")
}

/// Returns the ID of a model in pi, which is also its name at the server.
pub(crate) fn model_id(name: &str, pod: &str) -> String {
    format!("{name}@{pod}")
}

/// Writes the provider of a pod, or removes it if no model has a tunnel.
pub(crate) fn register(agent_dir: &AgentDir, name: &str, pod: &Pod) -> Result<(), RegisterError> {
    let file = agent_dir.models_file();
    let id = provider_id(name);
    match provider(name, pod) {
        Some(provider) => put_models_file_provider(&file, &id, &provider)?,
        None => remove_models_file_provider(&file, &id)?,
    }
    Ok(())
}

fn provider(name: &str, pod: &Pod) -> Option<JsonObject> {
    let models = pod.models.iter();
    let models: Vec<Value> = models
        .filter_map(|(model, running)| entry(name, model, running))
        .collect();
    let base_url = models.first()?.get("baseUrl")?.clone();
    let provider = json!({
        "name": format!("Pod {name}"),
        "api": "openai-completions",
        "baseUrl": base_url,
        "models": models,
    });
    provider.as_object().cloned()
}

fn entry(pod: &str, name: &str, running: &RunningModel) -> Option<Value> {
    let port = running.local_port?;
    let known = known_models()
        .into_iter()
        .find(|known| known.model == running.model);
    let display = known.as_ref().map_or(name, |known| known.name.as_str());
    let context = running.context_window.unwrap_or(DEFAULT_CONTEXT);
    let mut entry = json!({
        "id": model_id(name, pod),
        "name": format!("{display} ({pod})"),
        "baseUrl": format!("http://127.0.0.1:{port}/v1"),
        "reasoning": known.as_ref().is_some_and(|known| known.reasoning),
        "contextWindow": context,
        // Prompt and output share the context window.
        "maxTokens": (context / 4).clamp(1, 16_384),
    });
    match known.and_then(|known| known.api) {
        Some(api) => entry["api"] = api.into(),
        None => {
            entry["compat"] = json!({
                "supportsDeveloperRole": false,
                "supportsReasoningEffort": false,
                "supportsStore": false,
                "maxTokensField": "max_tokens",
            });
        }
    }
    Some(entry)
}

/// Returns the key of a pod's servers: that of the environment, else the stored one, else a new one. It is stored.
pub(crate) fn server_key(
    agent_dir: &AgentDir,
    env: &Env,
    pod: &str,
) -> Result<SecretString, RegisterError> {
    let file = AuthFile::new(agent_dir.auth_file());
    let provider = provider_id(pod);
    run(async {
        let stored = match file.read(&provider).await? {
            Some(Credential::ApiKey(credential)) => credential.key,
            Some(Credential::OAuth(_)) | None => None,
        };
        let key = match (env.var(API_KEY), stored) {
            (Some(key), _) => SecretString::from(key),
            // Only what we stored is there: a key without references.
            (None, Some(template)) => return Ok(unescape(&template)),
            (None, None) => generate()?,
        };
        let credential = ApiKeyCredential {
            key: Some(escape(&key)),
            ..ApiKeyCredential::default()
        };
        file.put(&provider, Credential::ApiKey(credential)).await?;
        Ok(key)
    })
}

/// Removes the key of a pod.
pub(crate) fn forget_key(agent_dir: &AgentDir, pod: &str) -> Result<(), RegisterError> {
    let file = AuthFile::new(agent_dir.auth_file());
    run(async { Ok(file.delete(&provider_id(pod)).await?) })
}

fn run<T>(work: impl Future<Output = Result<T, RegisterError>>) -> Result<T, RegisterError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.map_err(RegisterError::Runtime)?.block_on(work)
}

fn generate() -> Result<SecretString, RegisterError> {
    let mut bytes = [0; KEY_LENGTH];
    getrandom::fill(&mut bytes).map_err(RegisterError::Random)?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes).into())
}

/// Returns a key as a value template, in which `$` starts a reference and a leading `!` a command.
fn escape(key: &SecretString) -> SecretString {
    let escaped = key.expose_secret().replace('$', "$$");
    match escaped.strip_prefix('!') {
        Some(rest) => format!("$!{rest}").into(),
        None => escaped.into(),
    }
}

fn unescape(template: &SecretString) -> SecretString {
    let template = template.expose_secret();
    let template = match template.strip_prefix("$!") {
        Some(rest) => format!("!{rest}"),
        None => template.to_owned(),
    };
    template.replace("$$", "$").into()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn keys_survive_the_credentials_file() {
        let directory = tempfile::tempdir().unwrap();
        let agent_dir = AgentDir::at(directory.path());
        let none = Env::fixed::<&str, &str>([]);
        let first = server_key(&agent_dir, &none, "dc1").unwrap();
        assert_eq!(first.expose_secret().len(), KEY_LENGTH / 3 * 4);
        let again = server_key(&agent_dir, &none, "dc1").unwrap();
        assert_eq!(again.expose_secret(), first.expose_secret());
        for own in ["!id", "$HOME$$", "a$!b", "plain"] {
            let env = Env::fixed([(API_KEY, own)]);
            let given = server_key(&agent_dir, &env, "dc1").unwrap();
            let stored = server_key(&agent_dir, &none, "dc1").unwrap();
            assert_eq!((given.expose_secret(), stored.expose_secret()), (own, own));
        }
        forget_key(&agent_dir, "dc1").unwrap();
        let fresh = server_key(&agent_dir, &none, "dc1").unwrap();
        assert!(fresh.expose_secret() != first.expose_secret());
    }

    #[test]
    fn models_with_a_tunnel_are_listed() {
        let running = |model: &str, local_port| RunningModel {
            model: model.to_owned(),
            local_port,
            context_window: Some(8192),
            ..RunningModel::default()
        };
        let models = [
            ("oss".to_owned(), running("openai/gpt-oss-20b", Some(8002))),
            ("own".to_owned(), running("org/own", Some(8003))),
            ("starting".to_owned(), running("org/own", None)),
        ];
        let mut pod = Pod {
            models: models.into(),
            ..Pod::default()
        };
        let provider = Value::Object(provider("dc1", &pod).unwrap());
        let ids: Vec<&Value> = provider["models"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| &it["id"])
            .collect();
        assert_eq!(ids, ["oss@dc1", "own@dc1"]);
        assert_eq!(provider["models"][0]["api"], "openai-responses");
        assert_eq!(provider["models"][1]["maxTokens"], 2048);
        let directory = tempfile::tempdir().unwrap();
        let agent_dir = AgentDir::at(directory.path());
        let read = || -> Vec<(String, Value)> {
            pi_config::read_models_file(&agent_dir.models_file()).unwrap()
        };
        register(&agent_dir, "dc1", &pod).unwrap();
        assert_eq!(read(), [("pod-dc1".to_owned(), provider)]);
        pod.models.clear();
        register(&agent_dir, "dc1", &pod).unwrap();
        assert_eq!(read(), []);
    }
}
