//! The history of the current session, and what stored sessions have in common with it.

use std::sync::Arc;

use pi_ext::HostError;
use pi_protocol::{Entry, EntryId, SessionHeader};
use pi_session::{Projection, Session};

use super::Caller;
use crate::bridge::host_error;
use crate::calls::{
    AppendedEntry, ContextModelInfo, EntryMessages, Pending, Replacement, SessionCalls,
    SessionContext, SessionInfo,
};
use crate::control::TreeNavigation;

impl SessionCalls for Caller<'_> {
    fn name(&self) -> Result<Option<String>, HostError> {
        Ok(self.bridge.session()?.name())
    }

    fn set_name(&self, name: String) -> Result<(), HostError> {
        let session = self.bridge.session()?;
        self.bridge.begin(async move {
            if let Err(error) = session.set_name(name).await {
                tracing::warn!(%error, "cannot set session name for extension");
            }
        });
        Ok(())
    }

    fn info(&self) -> Result<SessionInfo, HostError> {
        self.bridge.session()?.with(info)
    }

    fn header(&self) -> Result<SessionHeader, HostError> {
        let session = self.bridge.session()?;
        session.with(|session| session.header().clone())
    }

    fn entry(&self, id: Option<String>) -> Result<Option<Arc<Entry>>, HostError> {
        let session = self.bridge.session()?;
        session.with(|session| entry(session, id.as_deref()))?
    }

    fn entries(&self) -> Result<Vec<Arc<Entry>>, HostError> {
        self.bridge.session()?.with(entries)?
    }

    fn entry_count(&self) -> Result<usize, HostError> {
        self.bridge
            .session()?
            .with(|session| session.entries().len())
    }

    fn branch(&self, from: Option<String>) -> Result<Vec<Arc<Entry>>, HostError> {
        let session = self.bridge.session()?;
        session.with(|session| branch(session, from))?
    }

    fn label(&self, id: Option<String>) -> Result<Option<String>, HostError> {
        let session = self.bridge.session()?;
        session.with(|session| label(session, id))
    }

    fn set_label(&self, entry: String, label: Option<String>) -> Result<(), HostError> {
        let session = self.bridge.session()?;
        session.set_label(&EntryId::from(entry), label.as_deref())
    }

    fn append_entry(&self, entry: AppendedEntry) -> Result<(), HostError> {
        let session = self.bridge.session()?;
        self.bridge.begin(async move {
            let appended = session.append_custom_entry(entry.custom_type, entry.data);
            if let Err(error) = appended.await {
                tracing::warn!(%error, "cannot append entry for extension");
            }
        });
        Ok(())
    }

    fn context(&self) -> Result<SessionContext, HostError> {
        let session = self.bridge.session()?;
        let model = session.model();
        Ok(SessionContext {
            messages: session.messages()?,
            thinking_level: session.thinking_level().as_str(),
            model: model.map(|model| ContextModelInfo {
                provider: model.provider.clone(),
                model_id: model.id.clone(),
            }),
        })
    }

    fn projection(&self) -> Result<Vec<EntryMessages>, HostError> {
        let projection = self
            .bridge
            .session()?
            .with(|session| session.current_branch().projection())?;
        Ok(entry_messages(&projection.map_err(host_error)?))
    }

    fn navigate(
        &self,
        target: String,
        summarize: bool,
        instructions: Option<String>,
        replace_instructions: bool,
        label: Option<String>,
    ) -> Result<Pending<Replacement>, HostError> {
        let session = self.bridge.session()?;
        Ok(self.bridge.spawn_on_runtime(async move {
            let navigation = TreeNavigation {
                target: EntryId::from(target),
                summarize,
                instructions,
                replace_instructions,
                label,
            };
            let cancelled = session.navigate(navigation).await?;
            Ok(Replacement { cancelled })
        }))
    }
}

pub(super) fn info(session: &Session) -> SessionInfo {
    SessionInfo {
        id: session.id().to_owned(),
        file: session.path().map(ToOwned::to_owned),
        directory: session.directory().to_owned(),
        leaf_id: session.leaf_id().map(ToString::to_string),
    }
}

/// Returns an entry; `None` if the session has no entry with this ID.
pub(super) fn entry(session: &Session, id: Option<&str>) -> Result<Option<Arc<Entry>>, HostError> {
    match id {
        Some(id) if session.entries().contains(id) => {
            session.entries().read(id).map(Some).map_err(host_error)
        }
        _ => Ok(None),
    }
}

pub(super) fn entries(session: &Session) -> Result<Vec<Arc<Entry>>, HostError> {
    session
        .entries()
        .iter()
        .collect::<Result<_, _>>()
        .map_err(host_error)
}

pub(super) fn branch(
    session: &Session,
    from: Option<String>,
) -> Result<Vec<Arc<Entry>>, HostError> {
    let entries = match from {
        Some(from) => {
            let branch = session.entries().branch_to(&EntryId::from(from));
            branch.and_then(pi_session::SessionBranch::entries)
        }
        None => session.current_branch().entries(),
    };
    entries.map_err(host_error)
}

pub(super) fn label(session: &Session, id: Option<String>) -> Option<String> {
    let id = EntryId::from(id.unwrap_or_default());
    session.entries().label(&id).map(str::to_owned)
}

/// Returns the model's context, entry by entry.
pub(super) fn entry_messages(projection: &Projection) -> Vec<EntryMessages> {
    let entries = projection.entries().iter();
    entries
        .map(|projected| EntryMessages {
            source_entry: Arc::clone(projected.entry()),
            messages: projected.messages().to_vec(),
        })
        .collect()
}
