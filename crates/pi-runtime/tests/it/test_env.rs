//! Test environment: a home directory, a project and a scripted model.

use std::path::PathBuf;
use std::sync::Arc;

use pi_config::AgentDir;
use pi_env::Env;
use pi_providers::{FauxModel, FauxProvider, Models, ModelsOptions, Registration};
use pi_runtime::{AgentSession, Prompt, RuntimeOptions};
use pi_test_support::TempHome;

pub(crate) struct RuntimeTestEnv {
    pub(crate) home: TempHome,
    pub(crate) faux: Arc<FauxProvider>,
}

impl RuntimeTestEnv {
    pub(crate) fn new() -> Self {
        let home = TempHome::new();
        std::fs::create_dir_all(home.path().join("project")).unwrap();
        let thinks = FauxModel {
            reasoning: true,
            ..FauxModel::new("thinks")
        };
        let faux = FauxProvider::echo().with_models([thinks, FauxModel::new("plain")]);
        Self {
            home,
            faux: Arc::new(faux),
        }
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.home.path().join(below)
    }

    pub(crate) fn env(&self) -> Env {
        Env::fixed([("HOME", self.home.path().to_str().unwrap())])
    }

    /// Options that read the user's files and use the scripted model.
    pub(crate) fn options(&self) -> RuntimeOptions {
        let models = Models::new(ModelsOptions {
            env: self.env(),
            ..ModelsOptions::default()
        });
        let faux = Arc::clone(&self.faux);
        models
            .register("faux", Registration::Provider(faux))
            .unwrap();
        RuntimeOptions {
            model_collection: Some(models),
            ..self.plain_options()
        }
    }

    /// Options that only use the user's files.
    pub(crate) fn plain_options(&self) -> RuntimeOptions {
        let agent_dir = AgentDir::at(self.path("agent"));
        RuntimeOptions::new(agent_dir, self.path("project"), self.env())
    }
}

pub(crate) async fn prompt(session: &AgentSession, text: &str) {
    session.prompt(Prompt::text(text)).await.unwrap();
    session.wait_for_idle().await;
}
