//! A host with a scripted model, without files.

use std::sync::Arc;

use pi_config::{AgentDir, SettingsStore};
use pi_env::Env;
use pi_host::{Host, HostOptions};
use pi_protocol::settings::Settings;
use pi_providers::{FauxProvider, Models, ModelsOptions, Registration};

use crate::temp_files;

/// Returns a host whose model repeats what it receives.
pub(crate) fn echo_host() -> Host {
    let env = Env::fixed::<&str, &str>([]);
    let models = Models::new(ModelsOptions {
        env: env.clone(),
        ..ModelsOptions::default()
    });
    let provider = Registration::Provider(Arc::new(FauxProvider::echo()));
    models.register("faux", provider).unwrap();
    let agent = AgentDir::at(temp_files::dir().join("no-agent"));
    Host::new(HostOptions {
        settings: Some(SettingsStore::in_memory(Settings::default())),
        model_collection: Some(models),
        offline: true,
        ..HostOptions::new(agent, env)
    })
}
