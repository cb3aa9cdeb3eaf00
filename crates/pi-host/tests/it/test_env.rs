//! Test environment: a home directory, a project and a scripted model.

use std::path::PathBuf;
use std::sync::Arc;

use pi_config::AgentDir;
use pi_env::Env;
use pi_host::{
    AgentSession, Host, HostOptions, Prompt, SessionOptions, SessionRuntime, StartError,
};
use pi_protocol::CommandInfo;
use pi_providers::{FauxModel, FauxProvider, Models, ModelsOptions, Registration};
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
    pub(crate) fn options(&self) -> TestOptions {
        let models = Models::new(ModelsOptions {
            env: self.env(),
            ..ModelsOptions::default()
        });
        let faux = Arc::clone(&self.faux);
        models
            .register("faux", Registration::Provider(faux))
            .unwrap();
        self.plain_options()
            .with(|host, _| host.model_collection = Some(models))
    }

    /// Options that only use the user's files.
    pub(crate) fn plain_options(&self) -> TestOptions {
        let agent_dir = AgentDir::at(self.path("agent"));
        TestOptions {
            host: HostOptions::new(agent_dir, self.env()),
            session: SessionOptions::new(self.path("project")),
        }
    }
}

/// Options of a host with one session.
#[derive(Clone)]
pub(crate) struct TestOptions {
    pub(crate) host: HostOptions,
    pub(crate) session: SessionOptions,
}

impl TestOptions {
    pub(crate) fn with(
        mut self,
        change: impl FnOnce(&mut HostOptions, &mut SessionOptions),
    ) -> Self {
        change(&mut self.host, &mut self.session);
        self
    }

    pub(crate) async fn start(self) -> Result<SessionRuntime, StartError> {
        Host::new(self.host).start(self.session).await
    }
}

pub(crate) async fn prompt(session: &AgentSession, text: &str) {
    session.prompt(Prompt::text(text)).await.unwrap();
    session.wait_for_idle().await;
}

/// Returns the commands of extensions, skills and templates, without the built-in ones.
pub(crate) fn commands_of_files(runtime: &SessionRuntime) -> Vec<CommandInfo> {
    let mut commands = runtime.commands();
    commands.retain(|command| command.source_info.source != "builtin");
    commands
}
