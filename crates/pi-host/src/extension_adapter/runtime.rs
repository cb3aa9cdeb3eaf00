//! The runtime, as extensions control it.

use std::path::PathBuf;
use std::sync::Arc;

use pi_config::{Resources, Skill};
use pi_core::InputSource;
use pi_protocol::{Command, CommandInfo, EntryId};
use pi_session::ForkPosition;

use crate::commands::CommandOrigin;
use crate::runtime::{SessionRuntime, WeakRuntime};
use pi_extensions::{ControlFuture, ExtensionSession, RuntimeControl, RuntimeLink, host_error};

impl RuntimeLink for WeakRuntime {
    fn upgrade(&self) -> Option<Arc<dyn RuntimeControl>> {
        let runtime = self.upgrade()?;
        Some(Arc::new(runtime))
    }
}

impl RuntimeControl for SessionRuntime {
    fn session(&self) -> Arc<dyn ExtensionSession> {
        Arc::new(self.session())
    }

    fn new_session(&self, parent: Option<PathBuf>) -> ControlFuture<'_, bool> {
        Box::pin(async move {
            let outcome = self.new_session(parent).await;
            Ok(outcome.map_err(host_error)?.cancelled)
        })
    }

    fn switch_session(&self, path: PathBuf) -> ControlFuture<'_, bool> {
        Box::pin(async move {
            let outcome = self.switch_session(&path).await;
            Ok(outcome.map_err(host_error)?.cancelled)
        })
    }

    fn fork(&self, entry: EntryId, position: ForkPosition) -> ControlFuture<'_, bool> {
        Box::pin(async move {
            let outcome = self.fork(&entry, position).await;
            Ok(outcome.map_err(host_error)?.cancelled)
        })
    }

    fn reload(&self) -> ControlFuture<'_, ()> {
        Box::pin(async move { self.reload().await.map_err(host_error) })
    }

    fn resource_commands(&self) -> Vec<CommandInfo> {
        self.resource_commands()
    }

    fn skills(&self) -> Vec<Skill> {
        self.workspace().resources.skills.clone()
    }

    fn extend_resources(&self, more: Resources) {
        self.extend_resources(more);
    }

    fn submit(&self, command: Command) -> ControlFuture<'_, ()> {
        Box::pin(async move {
            let origin = CommandOrigin {
                source: InputSource::Rpc,
                request_id: None,
            };
            let accepted = self.submit_from(origin, command).await;
            accepted
                .map(drop)
                .map_err(|rejected| host_error(rejected.message))
        })
    }
}
