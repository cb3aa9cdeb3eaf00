//! The model and the thinking level that a path has chosen.

use std::convert::Infallible;
use std::sync::Arc;

use pi_ai::AgentMessage;

use super::source::{EntrySource, PathEntries};
use crate::entry::{Entry, EntryBody, EntryId};
use crate::error::SessionError;
use crate::kind::EntryKind;
use crate::store::Session;

/// The thinking level of a session that never chose one.
const DEFAULT_THINKING_LEVEL: &str = "off";

/// What a path says about the model, to restore on resume and after a jump in the tree.
///
/// Unlike the context this takes the whole path into account, and all of it may have to be walked to
/// find the last choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathSettings {
    /// The model that was chosen or answered last.
    pub model: Option<ContextModel>,
    /// The thinking level that was chosen last; a newer pi may know more of them.
    pub thinking_level: String,
    /// Whether the path chose a thinking level at all.
    pub has_thinking_level: bool,
}

/// A model by the names session files use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextModel {
    pub provider: String,
    /// The model's id at that provider.
    pub model_id: String,
}

impl PathSettings {
    /// Reads the settings at a leaf.
    pub fn read<Source: EntrySource>(
        source: &Source,
        leaf: Option<&EntryId>,
    ) -> Result<Self, Source::Error> {
        let mut model = None;
        let mut thinking_level = None;
        for step in source.walk(leaf) {
            let may_choose = match step.kind {
                EntryKind::ASSISTANT | EntryKind::ModelChange => model.is_none(),
                EntryKind::ThinkingLevelChange => thinking_level.is_none(),
                _ => false,
            };
            if may_choose && let Some(entry) = source.entry(step.id)? {
                model = model.or_else(|| model_of(&entry));
                thinking_level = thinking_level.or_else(|| thinking_level_of(&entry));
            }
            if model.is_some() && thinking_level.is_some() {
                break;
            }
        }
        Ok(Self {
            model,
            has_thinking_level: thinking_level.is_some(),
            thinking_level: thinking_level.unwrap_or_else(|| DEFAULT_THINKING_LEVEL.to_owned()),
        })
    }

    /// Reads the settings of a path that is at hand, its root first.
    pub fn of_path(path: &[Arc<Entry>]) -> Self {
        let source = PathEntries::new(path);
        let leaf = path.last().map(|entry| &entry.id);
        let Ok::<_, Infallible>(settings) = Self::read(&source, leaf);
        settings
    }
}

impl Session {
    /// Returns the model and the thinking level chosen on the way to the leaf.
    pub fn path_settings(&self) -> Result<PathSettings, SessionError> {
        PathSettings::read(self, self.leaf_id())
    }
}

fn model_of(entry: &Entry) -> Option<ContextModel> {
    match &entry.body {
        EntryBody::ModelChange(change) => Some(ContextModel {
            provider: change.provider.clone(),
            model_id: change.model_id.clone(),
        }),
        EntryBody::Message(AgentMessage::Assistant(answer)) => Some(ContextModel {
            provider: answer.provider.clone(),
            model_id: answer.model.clone(),
        }),
        _ => None,
    }
}

fn thinking_level_of(entry: &Entry) -> Option<String> {
    match &entry.body {
        EntryBody::ThinkingLevelChange(change) => Some(change.thinking_level.clone()),
        _ => None,
    }
}
