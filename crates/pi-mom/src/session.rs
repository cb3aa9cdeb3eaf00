//! The session of a channel: how it is opened, and with what.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use pi_config::{ResourceFlags, SettingsOverrides};
use pi_host::{
    AttachError, ClientUi, Host, ModelFlags, Participants, SessionChoice, SessionHandle,
    SessionOptions, StartError,
};
use pi_protocol::settings::Settings;
use serde_json::json;
use thiserror::Error;

use crate::attach_tool::attach_tool;
use crate::channel::Channel;
use crate::channel_dir::{ChannelDir, STATE_DIR};
use crate::config::{FILE_NAME, SandboxChoice};
use crate::docker::docker_environment;
use crate::prompt::ChatPrompt;

/// Where the workspace is in a container.
pub(crate) const CONTAINER_WORKSPACE: &str = "/workspace";

/// Time after which an unused session is closed; its file has everything.
pub const IDLE_SESSION: Duration = Duration::from_mins(5);

/// Why a channel has no session.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum ChannelSessionError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Attach(#[from] AttachError),
    #[error("cannot record the session: {0}")]
    Record(#[from] std::io::Error),
}

/// What a session was opened with. A session with another stamp is opened again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionStamp {
    /// Other channels, which this one may not see.
    generation: u64,
    skills: Vec<Option<SystemTime>>,
}

impl Channel {
    /// Returns the channel's session, which is created if needed.
    pub(crate) async fn open_session(
        self: &Arc<Self>,
    ) -> Result<SessionHandle, ChannelSessionError> {
        let stamp = self.stamp();
        let known = self.ledger().session().map(str::to_owned);
        let host = self.host();
        if let Some(id) = &known {
            let opened_with = self.opened_with.lock().replace(stamp.clone());
            let is_stale = opened_with.is_some_and(|opened| opened != stamp);
            let in_use = host
                .sessions()
                .into_iter()
                .find(|session| session.session_id() == *id);
            if is_stale && in_use.is_some_and(|session| session.is_idle()) {
                host.close(id).await;
            }
            match host
                .attach(id, self.session_options(ModelFlags::default()))
                .await
            {
                // A session has no file before its first response.
                Err(AttachError::NotFound(_)) => {}
                attached => return Ok(attached?),
            }
        }
        let models = ModelFlags {
            model: self.context.config.model_of(self.id()).map(str::to_owned),
            thinking: self.context.config.thinking_of(self.id()),
            ..ModelFlags::default()
        };
        let old = self.directory().old_context();
        let session = if known.is_none() && old.is_file() {
            SessionChoice::Fork {
                source: old.to_string_lossy().into_owned(),
                id: None,
            }
        } else {
            SessionChoice::default()
        };
        let options = SessionOptions {
            session,
            name: Some(format!("{} #{}", self.context.service.name(), self.name())),
            ..self.session_options(models)
        };
        let handle = host.open(options).await?;
        self.ledger().set_session(&handle.id())?;
        *self.opened_with.lock() = Some(stamp);
        Ok(handle)
    }

    fn sandbox(&self) -> SandboxChoice {
        let context = &self.context;
        context
            .config
            .sandbox_of(self.id(), context.sandbox.as_ref())
    }

    /// Returns the host with the settings of this channel.
    fn host(&self) -> Host {
        let host = &self.context.host;
        match self.sandbox() {
            SandboxChoice::Confined => {
                let settings = confined_settings(self.directory());
                host.with_options(|options| options.run_settings = settings)
            }
            SandboxChoice::Host | SandboxChoice::Docker(_) => host.clone(),
        }
    }

    fn skill_dirs(&self) -> [PathBuf; 2] {
        let directory = self.directory();
        [
            directory.workspace().join("skills"),
            directory.path().join("skills"),
        ]
    }

    fn stamp(&self) -> SessionStamp {
        let modified = |path: &PathBuf| {
            let metadata = std::fs::metadata(path);
            metadata.and_then(|metadata| metadata.modified()).ok()
        };
        SessionStamp {
            generation: self.context.generation.load(Ordering::Relaxed),
            skills: self.skill_dirs().iter().map(modified).collect(),
        }
    }

    fn session_options(&self, models: ModelFlags) -> SessionOptions {
        let context = &self.context;
        let directory = self.directory();
        let workspace = directory.workspace().to_owned();
        let (environment, tools_workspace) = match self.sandbox() {
            SandboxChoice::Docker(name) => {
                let environment = docker_environment(&name, &workspace, &context.env);
                (
                    Some(Arc::new(environment)),
                    PathBuf::from(CONTAINER_WORKSPACE),
                )
            }
            SandboxChoice::Host | SandboxChoice::Confined => (None, workspace),
        };
        let prompt = ChatPrompt {
            directory: directory.clone(),
            channel_name: self.name(),
            service: context.service.name(),
            tools_workspace,
        };
        let skills = self.skill_dirs().into_iter().filter(|path| path.is_dir());
        let skills = skills.map(|path| path.to_string_lossy().into_owned());
        let options = SessionOptions {
            models,
            environment,
            tool_sources: vec![attach_tool(
                Arc::clone(&context.service),
                self.id().to_owned(),
            )],
            participants: Arc::new(Participants::builder().prompt(Arc::new(prompt)).build()),
            resources: ResourceFlags {
                skills: skills.collect(),
                ..ResourceFlags::default()
            },
            ..SessionOptions::new(directory.path())
        };
        options.with_client_ui(ClientUi::default())
    }
}

/// Returns the settings of a confined channel: it writes its directory and the shared memory, and sees no other channel.
fn confined_settings(directory: &ChannelDir) -> SettingsOverrides {
    let workspace = directory.workspace();
    let shared = ["MEMORY.md", "skills", "events"].map(|name| workspace.join(name));
    for path in &shared {
        prepare(path);
    }
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let others = ChannelDir::existing(workspace)
        .unwrap_or_default()
        .into_iter();
    let others = others.filter(|other| other.id() != directory.id());
    let hidden = others.map(|other| text(&other.path()));
    let own = [STATE_DIR, FILE_NAME].map(|name| text(&workspace.join(name)));
    let secrets = ["~/.ssh", "~/.aws", "~/.gnupg", "~/.config/gh", "**/.env"].map(str::to_owned);
    let deny_read: Vec<String> = hidden.chain(own).chain(secrets).collect();
    let settings: Settings = serde_json::from_value(json!({
        "sandbox": {
            "mode": "workspace",
            "writable": shared.map(|path| text(&path)),
            "denyRead": deny_read,
            "protect": [".git/hooks", ".git/config", ".pi", ".mcp.json", "log.jsonl"],
        }
    }))
    .unwrap_or_default();
    SettingsOverrides::new(&settings)
}

/// Creates a shared file or directory, since the sandbox allows only paths that exist.
fn prepare(path: &Path) {
    let created = if path.extension().is_some() {
        std::fs::File::options()
            .append(true)
            .create(true)
            .open(path)
            .map(drop)
    } else {
        std::fs::create_dir_all(path)
    };
    if let Err(error) = created {
        tracing::warn!(%error, path = %path.display(), "cannot create a shared path");
    }
}
