//! What a compaction would do, and undoing the last one.

use pi_context::{Summarizer, context_report};
use pi_protocol::{AgentMessage, CompactionPreview, EntryBody, EntryId};
use serde::Serialize;
use thiserror::Error;

use super::compaction::{CompactError, Compaction};
use super::{NavigateError, NavigateOptions};

/// Why a compaction was not undone; nothing has changed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UndoCompactionError {
    #[error("nothing to undo: this branch has no compaction")]
    NoCompaction,
    #[error("a prompt followed the compaction: use /tree to return to an entry before it")]
    Continued,
    #[error("the conversation began with the compaction")]
    NothingBefore,
    #[error(
        "the earlier conversation has {tokens} tokens and does not fit into the {window} of {model}{alternative}"
    )]
    TooLarge {
        tokens: u64,
        window: u64,
        model: String,
        /// A model that it fits into, as the end of the sentence.
        alternative: String,
    },
    #[error("a hook canceled the move")]
    Canceled,
    #[error(transparent)]
    Navigate(#[from] NavigateError),
}

/// A compaction that was undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UndoneCompaction {
    /// Where the session is now.
    pub leaf_id: EntryId,
    /// Estimated context size in tokens.
    pub tokens: u64,
}

impl Compaction<'_> {
    /// Returns what a compaction would do, without calling a model.
    pub fn preview(self, instructions: Option<&str>) -> Result<CompactionPreview, CompactError> {
        let (model, plan) = self.plan()?;
        let summarizer = Summarizer {
            model: &model,
            thinking_level: self.session.selection().request_level(),
            now_ms: self.session.0.env.now_ms(),
        };
        let mut transcript = self.session.0.transcript();
        Ok(plan.preview(transcript.projection()?, &summarizer, instructions))
    }

    /// Moves to the entry before the last compaction. The compaction stays in the file, on its own branch.
    pub async fn undo(self) -> Result<UndoneCompaction, UndoCompactionError> {
        let target = self.entry_before_compaction()?;
        let tokens = self.check_size(&target)?;
        let options = NavigateOptions::default();
        let moved = self.session.navigation().navigate(&target, options).await?;
        if moved.cancelled || moved.aborted {
            return Err(UndoCompactionError::Canceled);
        }
        Ok(UndoneCompaction {
            leaf_id: target,
            tokens,
        })
    }

    fn entry_before_compaction(self) -> Result<EntryId, UndoCompactionError> {
        let transcript = self.session.0.transcript();
        let entries = transcript.session().entries();
        let mut next = transcript.session().leaf_id().cloned();
        let mut is_continued = false;
        while let Some(id) = next.take() {
            let entry = entries.read(id.as_str()).map_err(NavigateError::from)?;
            match &entry.body {
                EntryBody::Compaction(_) if is_continued => {
                    return Err(UndoCompactionError::Continued);
                }
                EntryBody::Compaction(_) => {
                    let parent = entry.parent_id.clone();
                    let parent = parent.ok_or(UndoCompactionError::NothingBefore)?;
                    let before = entries.read(parent.as_str()).map_err(NavigateError::from)?;
                    // Moving there would take the prompt back into the editor.
                    return match before.body {
                        EntryBody::Message(AgentMessage::User(_)) | EntryBody::CustomMessage(_) => {
                            Err(UndoCompactionError::Continued)
                        }
                        _ => Ok(parent),
                    };
                }
                body => {
                    let is_prompt = matches!(body, EntryBody::Message(AgentMessage::User(_)));
                    is_continued |= is_prompt;
                    next.clone_from(&entry.parent_id);
                }
            }
        }
        Err(UndoCompactionError::NoCompaction)
    }

    /// Returns the size of the context at an entry, if it fits into the window of the model.
    fn check_size(self, target: &EntryId) -> Result<u64, UndoCompactionError> {
        let tokens = {
            let transcript = self.session.0.transcript();
            let branch = transcript.session().entries().branch_to(target);
            let projection = branch.and_then(pi_session::SessionBranch::projection);
            let projection = projection.map_err(NavigateError::from)?;
            context_report(&projection, 0).estimated_tokens
        };
        let Some(model) = self.session.selection().model() else {
            return Ok(tokens);
        };
        let window = model.context_window;
        if window == 0 || tokens < window {
            return Ok(tokens);
        }
        let models = self.session.0.models.available();
        let larger = models.iter().filter(|model| model.context_window > tokens);
        let larger = larger.min_by_key(|model| model.context_window);
        Err(UndoCompactionError::TooLarge {
            tokens,
            window,
            model: format!("{}/{}", model.provider, model.id),
            alternative: larger.map_or_else(
                || "; no configured model has a larger one".to_owned(),
                |model| format!("; it fits into {}/{}", model.provider, model.id),
            ),
        })
    }
}
