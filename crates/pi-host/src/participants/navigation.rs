//! Moves in the session tree, before and after they happen.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_context::{AbandonedBranch, SummaryAuthor};
use pi_protocol::{Entry, EntryId};
use pi_session::BranchSummary;
use tokio_util::sync::CancellationToken;

use super::{Participants, ready};

/// Cancels or changes moves in the session tree.
pub trait NavigationHook: Send + Sync {
    /// Called first, before the user is asked about a summary; returns whether the session may move.
    fn choose_move<'a>(
        &'a self,
        target_id: &'a EntryId,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, bool> {
        let _ = (target_id, cancel);
        ready(true)
    }

    /// Called before the session moves to another entry of its tree.
    fn before_tree<'a>(&'a self, proposal: TreeProposal<'a>) -> BoxFuture<'a, TreeVerdict> {
        let _ = proposal;
        ready(TreeVerdict::default())
    }

    /// Called after the session moved.
    fn tree<'a>(&'a self, moved: TreeMoved<'a>) -> BoxFuture<'a, ()> {
        let _ = moved;
        ready(())
    }
}

/// A move in the tree that is about to happen.
#[derive(Clone)]
pub struct TreeProposal<'a> {
    /// The entry to move to.
    pub target_id: &'a EntryId,
    /// The current leaf.
    pub old_leaf_id: Option<&'a EntryId>,
    /// The branch that is left behind.
    pub left: &'a AbandonedBranch,
    /// Whether the user wants a summary of it.
    pub summarize: bool,
    /// The user's instructions for the summary.
    pub instructions: Option<&'a str>,
    /// Whether they replace the default instructions.
    pub replace_instructions: bool,
    /// The label to set.
    pub label: Option<&'a str>,
    /// Canceled when the move is.
    pub cancel: &'a CancellationToken,
}

/// Changes a hook makes to a move; `None` leaves a value unchanged.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TreeVerdict {
    /// Cancels the move.
    pub cancel: bool,
    /// The hook's own summary, used if the user wants one.
    pub summary: Option<BranchSummary>,
    pub instructions: Option<String>,
    pub replace_instructions: Option<bool>,
    pub label: Option<String>,
}

/// A completed move.
#[derive(Clone)]
pub struct TreeMoved<'a> {
    /// The current leaf.
    pub new_leaf_id: Option<&'a EntryId>,
    pub old_leaf_id: Option<&'a EntryId>,
    /// The summary of the branch that was left.
    pub summary: Option<&'a Arc<Entry>>,
    pub author: Option<SummaryAuthor>,
}

impl Participants {
    /// The first hook that does not want the move ends the chain.
    pub(crate) async fn choose_move(
        &self,
        target_id: &EntryId,
        cancel: &CancellationToken,
    ) -> bool {
        for hook in &self.navigation {
            if !hook.choose_move(target_id, cancel).await {
                return false;
            }
        }
        true
    }

    /// The first hook that cancels the move ends the chain; otherwise the last change of each value
    /// applies.
    pub(crate) async fn before_tree(&self, proposal: TreeProposal<'_>) -> TreeVerdict {
        let mut verdict = TreeVerdict::default();
        for hook in &self.navigation {
            let later = hook.before_tree(proposal.clone()).await;
            verdict = TreeVerdict {
                cancel: later.cancel,
                summary: later.summary.or(verdict.summary),
                instructions: later.instructions.or(verdict.instructions),
                replace_instructions: later.replace_instructions.or(verdict.replace_instructions),
                label: later.label.or(verdict.label),
            };
            if verdict.cancel {
                break;
            }
        }
        verdict
    }

    pub(crate) async fn tree(&self, moved: TreeMoved<'_>) {
        for hook in &self.navigation {
            hook.tree(moved.clone()).await;
        }
    }
}

#[cfg(test)]
mod tests {

    use parking_lot::Mutex;
    use pretty_assertions::assert_eq;

    use super::*;

    /// Returns a fixed verdict and counts calls.
    struct FixedMove(TreeVerdict, Mutex<usize>);

    impl NavigationHook for FixedMove {
        fn before_tree<'a>(&'a self, _proposal: TreeProposal<'a>) -> BoxFuture<'a, TreeVerdict> {
            *self.1.lock() += 1;
            ready(self.0.clone())
        }
    }

    /// Returns the combined verdict, and how often each hook was called.
    async fn decide<const COUNT: usize>(
        verdicts: [TreeVerdict; COUNT],
    ) -> (TreeVerdict, [usize; COUNT]) {
        let hooks = verdicts.map(|verdict| Arc::new(FixedMove(verdict, Mutex::default())));
        let participants = hooks.iter().fold(Participants::builder(), |builder, hook| {
            builder.navigation(Arc::clone(hook))
        });
        let proposal = TreeProposal {
            target_id: &EntryId::from("target"),
            old_leaf_id: None,
            left: &AbandonedBranch {
                entries: Vec::new(),
                common_ancestor_id: None,
            },
            summarize: false,
            instructions: None,
            replace_instructions: false,
            label: None,
            cancel: &CancellationToken::new(),
        };
        let verdict = participants.build().before_tree(proposal).await;
        (verdict, hooks.map(|hook| *hook.1.lock()))
    }

    #[tokio::test]
    async fn the_last_change_of_each_value_applies() {
        let first = TreeVerdict {
            instructions: Some("first".to_owned()),
            label: Some("first".to_owned()),
            ..TreeVerdict::default()
        };
        let second = TreeVerdict {
            label: Some("second".to_owned()),
            replace_instructions: Some(true),
            ..TreeVerdict::default()
        };
        let expected = TreeVerdict {
            cancel: false,
            summary: None,
            instructions: Some("first".to_owned()),
            replace_instructions: Some(true),
            label: Some("second".to_owned()),
        };
        assert_eq!(decide([first, second]).await, (expected, [1, 1]));
    }

    #[tokio::test]
    async fn the_first_hook_that_cancels_ends_the_chain() {
        let cancel = TreeVerdict {
            cancel: true,
            ..TreeVerdict::default()
        };
        let decision = decide([
            TreeVerdict::default(),
            cancel.clone(),
            TreeVerdict::default(),
        ]);
        assert_eq!(decision.await, (cancel, [1, 1, 0]));
    }
}
