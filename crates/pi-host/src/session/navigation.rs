//! Moves to another entry of the session's tree, optionally summarizing the branch that is left.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_context::{
    AbandonedBranch, BranchSummaryPlan, NavigationTarget, Summarizer, SummaryAuthor, SummaryError,
    SummaryInstructions,
};
use pi_core::{Input, Outcome, Rejection};
use pi_protocol::{Entry, EntryId, NavigateStep, SessionEvent, SummarySource};
use pi_providers::RouteError;
use pi_session::{BranchSummary, SessionError};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use super::AgentSession;
use super::transcript::Transcript;
use crate::participants::{TreeMoved, TreeProposal};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NavigateOptions {
    pub step: NavigateStep,
    /// Whether to summarize the branch that is left.
    pub summarize: bool,
    /// Instructions for the summary.
    pub instructions: Option<String>,
    /// Whether they replace the default instructions.
    pub replace_instructions: bool,
    /// A label for the summary, or for the target if there is none.
    pub label: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct NavigateOutcome {
    /// Canceled by a hook or the user.
    pub cancelled: bool,
    pub aborted: bool,
    /// The session has not moved yet: the user must choose whether to summarize the branch that is left.
    pub needs_summary_choice: bool,
    /// Text to restore in the editor.
    pub editor_text: Option<String>,
    /// The summary of the branch that was left.
    pub summary: Option<Arc<Entry>>,
}

/// Why the session did not move.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NavigateError {
    #[error("the agent is busy: wait until it is idle before moving in the tree")]
    Busy,
    /// A compaction or another move is in progress.
    #[error("a compaction or another move is in progress: wait until it has finished")]
    Compacting,
    #[error("no model selected to write the summary: choose one with /model")]
    NoModel,
    #[error(transparent)]
    Summary(#[from] SummaryError),
    #[error(transparent)]
    Route(#[from] RouteError),
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// A move in progress; ends when dropped.
struct NavigationGuard {
    session: AgentSession,
    cancel: CancellationToken,
}

impl NavigationGuard {
    fn begin(session: &AgentSession) -> Result<Self, NavigateError> {
        match session.0.control.begin_navigation() {
            Err(Rejection::Compacting) => Err(NavigateError::Compacting),
            Err(_) => Err(NavigateError::Busy),
            Ok(cancel) => Ok(Self {
                session: session.clone(),
                cancel,
            }),
        }
    }
}

impl Drop for NavigationGuard {
    fn drop(&mut self) {
        // The reply says nothing: the move has ended.
        drop(pi_core::submit(
            &self.session,
            Input::Outcome(Outcome::Navigated),
        ));
    }
}

/// A move with the changes of the hooks applied.
struct PlannedMove {
    options: NavigateOptions,
    summary: Option<BranchSummary>,
    author: SummaryAuthor,
}

/// Moves in the tree of a session.
#[derive(Clone, Copy)]
pub struct TreeNavigation<'session> {
    session: &'session AgentSession,
}

impl AgentSession {
    pub fn navigation(&self) -> TreeNavigation<'_> {
        TreeNavigation { session: self }
    }
}

impl<'session> TreeNavigation<'session> {
    /// Moves to an entry. For a user or extension message, the text is returned for the editor and
    /// the session moves to the entry before it.
    ///
    /// Boxed, like other long functions with several callers: each would contain a copy of the code.
    pub fn navigate(
        self,
        target: &'session EntryId,
        options: NavigateOptions,
    ) -> BoxFuture<'session, Result<NavigateOutcome, NavigateError>> {
        Box::pin(async move {
            let moving = NavigationGuard::begin(self.session)?;
            let old_leaf = self
                .session
                .history()
                .with_session(|session| session.leaf_id().cloned());
            if old_leaf.as_ref() == Some(target) {
                return Ok(NavigateOutcome::default());
            }
            if options.summarize && self.session.selection().model().is_none() {
                return Err(NavigateError::NoModel);
            }
            let (entry, left) = {
                let transcript = self.session.0.transcript();
                let session = transcript.session();
                let entry = session.entries().read(target.as_str())?;
                (
                    entry,
                    AbandonedBranch::collect(session.entries(), old_leaf.as_ref(), target)?,
                )
            };
            let participants = &self.session.0.participants;
            if options.step != NavigateStep::Rest
                && !participants.choose_move(target, &moving.cancel).await
            {
                return Ok(cancelled(false));
            }
            if options.step == NavigateStep::UntilSummary && !left.entries.is_empty() {
                return Ok(NavigateOutcome {
                    needs_summary_choice: true,
                    ..NavigateOutcome::default()
                });
            }
            let mut plan = PlannedMove {
                options,
                summary: None,
                author: SummaryAuthor::Pi,
            };
            if !self
                .run_tree_hook(&mut plan, target, old_leaf.as_ref(), &left, &moving.cancel)
                .await
            {
                return Ok(cancelled(false));
            }
            if plan.options.summarize && plan.summary.is_none() && !left.entries.is_empty() {
                match self
                    .summarize_branch(&left, &plan.options, &moving.cancel)
                    .await
                {
                    Ok(summary) => plan.summary = summary,
                    Err(NavigateError::Summary(SummaryError::Aborted)) => {
                        return Ok(cancelled(true));
                    }
                    Err(error) => return Err(error),
                }
            }
            let outcome = self.apply_move(&entry, plan, old_leaf.as_ref()).await?;
            let leaf_id = self.session.history().outline().leaf;
            let moved = SessionEvent::LeafMoved { leaf_id };
            self.session.0.log_change(moved);
            Ok(outcome)
        })
    }

    pub fn abort_summary(self) {
        self.session.0.interrupt(Input::AbortNavigation);
    }

    /// Returns false if a hook cancels the move.
    async fn run_tree_hook(
        self,
        plan: &mut PlannedMove,
        target_id: &EntryId,
        old_leaf_id: Option<&EntryId>,
        left: &AbandonedBranch,
        cancel: &CancellationToken,
    ) -> bool {
        let options = &mut plan.options;
        let proposal = TreeProposal {
            target_id,
            old_leaf_id,
            left,
            summarize: options.summarize,
            instructions: options.instructions.as_deref(),
            replace_instructions: options.replace_instructions,
            label: options.label.as_deref(),
            cancel,
        };
        let verdict = self.session.0.participants.before_tree(proposal).await;
        if verdict.cancel {
            return false;
        }
        if options.summarize
            && let Some(summary) = verdict.summary
        {
            plan.author = SummaryAuthor::Extension;
            plan.summary = Some(BranchSummary {
                from_hook: Some(plan.author.from_hook()),
                ..summary
            });
        }
        if verdict.instructions.is_some() {
            options.instructions = verdict.instructions;
        }
        if let Some(replace) = verdict.replace_instructions {
            options.replace_instructions = replace;
        }
        if verdict.label.is_some() {
            options.label = verdict.label;
        }
        true
    }

    async fn summarize_branch(
        self,
        left: &AbandonedBranch,
        options: &NavigateOptions,
        cancel: &CancellationToken,
    ) -> Result<Option<BranchSummary>, NavigateError> {
        let model = self
            .session
            .selection()
            .model()
            .ok_or(NavigateError::NoModel)?;
        // The size of the input depends on the model that writes the summary.
        let routing = self.session.selection().route_directly(model, cancel);
        let (model, thinking_level) = routing.await?;
        let reserve = self
            .session
            .0
            .settings
            .settings()
            .branch_summary_reserve_tokens();
        let Some(plan) = BranchSummaryPlan::new(left, &model, reserve) else {
            return Ok(None);
        };
        let summarizer = Summarizer {
            model: &model,
            thinking_level,
            now_ms: self.session.0.env.now_ms(),
        };
        let instructions = match options
            .instructions
            .as_deref()
            .filter(|text| !text.is_empty())
        {
            None => SummaryInstructions::Default,
            Some(text) if options.replace_instructions => SummaryInstructions::Replace(text),
            Some(text) => SummaryInstructions::Focus(text),
        };
        let request = plan.request(&summarizer, instructions);
        let source = SummarySource::BranchSummary;
        let summaries = self
            .session
            .summary_requests()
            .summarize(&model, std::slice::from_ref(&request), source, cancel)
            .await?;
        Ok(summaries.first().map(|summary| plan.finish(summary)))
    }

    async fn apply_move(
        self,
        target: &Entry,
        plan: PlannedMove,
        old_leaf: Option<&EntryId>,
    ) -> Result<NavigateOutcome, NavigateError> {
        let landing = NavigationTarget::of(target);
        let label = plan.options.label.filter(|label| !label.is_empty());
        let summary = plan.summary.filter(|summary| !summary.summary.is_empty());
        let leaf = landing.leaf.as_ref();
        let move_leaf = |transcript: &mut Transcript| {
            let summary = match summary {
                Some(summary) => Some(transcript.move_with_summary(leaf, summary)?),
                None => {
                    transcript.move_to(leaf)?;
                    None
                }
            };
            let labeled = summary.as_ref().map_or(&target.id, |summary| &summary.id);
            if label.is_some() {
                transcript.set_label(labeled, label.as_deref())?;
            }
            let labeled = labeled.clone();
            Ok((summary, labeled))
        };
        let (summary, labeled) = self.session.writer().write(move_leaf)?;
        if label.is_some() {
            self.session.history().log_label(&labeled, label.as_deref());
        }
        self.session.tools().restore_tools()?;
        let new_leaf = self
            .session
            .history()
            .with_session(|session| session.leaf_id().cloned());
        self.session
            .0
            .participants
            .tree(TreeMoved {
                new_leaf_id: new_leaf.as_ref(),
                old_leaf_id: old_leaf,
                summary: summary.as_ref(),
                author: summary.as_ref().map(|_| plan.author),
            })
            .await;
        Ok(NavigateOutcome {
            editor_text: landing.editor_text,
            summary,
            ..NavigateOutcome::default()
        })
    }
}

fn cancelled(aborted: bool) -> NavigateOutcome {
    NavigateOutcome {
        cancelled: true,
        aborted,
        ..NavigateOutcome::default()
    }
}
