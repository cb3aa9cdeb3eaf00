//! Moves in the session tree.

use futures_util::future::BoxFuture;
use pi_context::SummaryAuthor;
use pi_extensions::events::{BeforeTree, TreeNavigated, TreePreparation};
use pi_session::BranchSummary;

use super::ExtensionParticipant;
use crate::participants::{NavigationHook, TreeMoved, TreeProposal, TreeVerdict};

impl NavigationHook for ExtensionParticipant {
    fn before_tree<'a>(&'a self, proposal: TreeProposal<'a>) -> BoxFuture<'a, TreeVerdict> {
        Box::pin(async move {
            let ancestor = proposal.left.common_ancestor_id.as_ref();
            let event = || BeforeTree {
                preparation: TreePreparation {
                    target_id: proposal.target_id.to_string(),
                    old_leaf_id: proposal.old_leaf_id.map(ToString::to_string),
                    common_ancestor_id: ancestor.map(ToString::to_string),
                    entries_to_summarize: &proposal.left.entries,
                    user_wants_summary: proposal.summarize,
                    custom_instructions: proposal.instructions,
                    replace_instructions: proposal.replace_instructions,
                    label: proposal.label,
                },
            };
            let Some(data) = self.extensions.emit(Some(proposal.cancel), event).await else {
                return TreeVerdict::default();
            };
            TreeVerdict {
                cancel: data.cancel,
                summary: data.summary.map(|summary| BranchSummary {
                    summary: summary.summary,
                    details: summary.details,
                    usage: summary.usage,
                    from_hook: Some(true),
                }),
                instructions: data.custom_instructions,
                replace_instructions: data.replace_instructions,
                label: data.label,
            }
        })
    }

    fn tree<'a>(&'a self, moved: TreeMoved<'a>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let event = || TreeNavigated {
                new_leaf_id: moved.new_leaf_id.map(ToString::to_string),
                old_leaf_id: moved.old_leaf_id.map(ToString::to_string),
                summary_entry: moved.summary,
                from_extension: moved.author.map(SummaryAuthor::from_hook),
            };
            self.extensions.emit(None, event).await;
        })
    }
}
