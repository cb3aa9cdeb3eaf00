//! The model and thinking level selected on a path.

use std::convert::Infallible;
use std::sync::Arc;

use pi_protocol::{AgentMessage, Entry, EntryBody, EntryId, EntryKind, api};

use super::source::{EntrySource, PathEntries};
use crate::error::SessionError;
use crate::session::branch::SessionBranch;

/// The thinking level of a session that never set one.
const DEFAULT_THINKING_LEVEL: &str = "off";

#[derive(Debug, Clone, PartialEq, Eq)]
/// The model settings of a path, to restore on resume and after tree navigation.
///
/// Unlike the context, these depend on the whole path, and finding the last change may require
/// walking all of it.
pub struct PathSettings {
    /// The model that was last selected or that last responded.
    pub model: Option<ContextModel>,
    /// The model that was last selected. Responses of a virtual model name the models it chose.
    pub selected_model: Option<ContextModel>,
    /// The last selected thinking level; newer versions may define more levels.
    pub thinking_level: String,
    /// Whether the path sets a thinking level.
    pub has_thinking_level: bool,
}

/// A model, identified as in session files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextModel {
    pub provider: String,
    /// The model ID at that provider.
    pub model_id: String,
}

impl PathSettings {
    /// Reads the settings at a leaf.
    pub fn read<Source: EntrySource>(
        source: &Source,
        leaf: Option<&EntryId>,
    ) -> Result<Self, Source::Error> {
        let mut model = None;
        let mut selected_model = None;
        let mut thinking_level = None;
        for step in source.walk(leaf) {
            let may_choose = match step.kind {
                EntryKind::ASSISTANT => model.is_none(),
                EntryKind::ModelChange => selected_model.is_none(),
                EntryKind::ThinkingLevelChange => thinking_level.is_none(),
                _ => false,
            };
            if may_choose && let Some(entry) = source.entry(step.id)? {
                if step.kind == EntryKind::ModelChange {
                    selected_model = model_of(&entry);
                }
                model = model.or_else(|| model_of(&entry));
                thinking_level = thinking_level.or_else(|| thinking_level_of(&entry));
            }
            if selected_model.is_some() && model.is_some() && thinking_level.is_some() {
                break;
            }
        }
        Ok(Self {
            model,
            selected_model,
            has_thinking_level: thinking_level.is_some(),
            thinking_level: thinking_level.unwrap_or_else(|| DEFAULT_THINKING_LEVEL.to_owned()),
        })
    }

    /// Reads the settings of a path that is already in memory, root first.
    pub fn of_path(path: &[Arc<Entry>]) -> Self {
        let source = PathEntries::new(path);
        let leaf = path.last().map(|entry| &entry.id);
        let Ok::<_, Infallible>(settings) = Self::read(&source, leaf);
        settings
    }
}

impl SessionBranch<'_> {
    /// Returns the model and thinking level selected on the path.
    pub fn settings(self) -> Result<PathSettings, SessionError> {
        PathSettings::read(self.source, self.leaf_id())
    }
}

fn model_of(entry: &Entry) -> Option<ContextModel> {
    match &entry.body {
        EntryBody::ModelChange(change) => Some(ContextModel {
            provider: change.provider.clone(),
            model_id: change.model_id.clone(),
        }),
        // A response that names a virtual model reports that the request could not be routed.
        EntryBody::Message(AgentMessage::Assistant(response))
            if response.api != api::PI_VIRTUAL =>
        {
            Some(ContextModel {
                provider: response.provider.clone(),
                model_id: response.model.clone(),
            })
        }
        _ => None,
    }
}

fn thinking_level_of(entry: &Entry) -> Option<String> {
    match &entry.body {
        EntryBody::ThinkingLevelChange(change) => Some(change.thinking_level.clone()),
        _ => None,
    }
}
