//! What a session is doing. There is one activity at a time, and it is the only notion of "busy".

use pi_protocol::ActivityKind;

use super::compaction::ContextCompaction;
use super::context::Context;
use super::effect::{Rejection, Reply};
use super::preparation::{Preparation, Resumption};
use super::run::Run;

#[derive(Debug, Default)]
pub(super) enum Activity {
    #[default]
    Idle,
    Preparing(Preparation),
    Running(Run),
    /// `agent_settled` is being published.
    Settling,
    /// A deferred prompt is being submitted.
    Resubmitting,
    /// A compaction on request.
    Compacting(ContextCompaction),
    Navigating,
}

impl Activity {
    /// Begins to continue the conversation, if the session is idle.
    pub(super) fn resume(&mut self, resumption: Resumption, cx: &mut Context) {
        if matches!(self, Self::Idle) {
            cx.reply(Reply::Started);
            *self = Self::Preparing(Preparation::of_tail(resumption, cx));
        } else {
            cx.reject(Rejection::Busy);
        }
    }

    pub(super) fn kind(&self) -> ActivityKind {
        match self {
            Self::Idle => ActivityKind::Idle,
            Self::Preparing(_) | Self::Resubmitting => ActivityKind::Preparing,
            Self::Running(_) => ActivityKind::Running,
            Self::Settling => ActivityKind::Settling,
            Self::Compacting(_) => ActivityKind::Compacting,
            Self::Navigating => ActivityKind::Navigating,
        }
    }

    /// Whether a summary is being written, or a move in the tree is in progress.
    pub(super) fn is_compacting(&self) -> bool {
        match self {
            Self::Compacting(_) | Self::Navigating => true,
            Self::Preparing(preparation) => preparation.is_compacting(),
            Self::Running(run) => run.is_compacting(),
            Self::Idle | Self::Settling | Self::Resubmitting => false,
        }
    }

    /// Whether nothing of a preparation or a run is left to do.
    pub(super) fn is_over(&self) -> bool {
        match self {
            Self::Preparing(preparation) => preparation.is_over(),
            Self::Running(run) => run.is_over(),
            _ => false,
        }
    }
}
