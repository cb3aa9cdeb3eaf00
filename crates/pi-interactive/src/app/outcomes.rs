//! Routes the outcomes of session commands to the controllers that submitted them.

use super::message::AppMsg;
use crate::controllers::approvals::ApprovalMsg;
use crate::controllers::dialogs::DialogMsg;
use crate::controllers::llama::LlamaMsg;
use crate::controllers::models::ModelMsg;
use crate::controllers::prompt::PromptMsg;
use crate::controllers::report::ReportMsg;
use crate::controllers::share::ShareMsg;
use crate::controllers::sign_in::SignInMsg;
use crate::controllers::status::StatusMsg;
use crate::controllers::switching::SwitchMsg;
use crate::controllers::terminal::TerminalMsg;
use crate::session::outcome::SessionOutcome;

impl From<SessionOutcome> for AppMsg {
    fn from(outcome: SessionOutcome) -> Self {
        match outcome {
            SessionOutcome::Prompted {
                text,
                delivery,
                refusal,
            } => PromptMsg::Prompted {
                text,
                delivery,
                refusal,
            }
            .into(),
            SessionOutcome::PromptedInTurn { refused } => {
                PromptMsg::PromptedInTurn { refused }.into()
            }
            SessionOutcome::HeldSent { refused } => PromptMsg::HeldSent { refused }.into(),
            SessionOutcome::QueueTaken { texts, interrupted } => {
                PromptMsg::QueueTaken { texts, interrupted }.into()
            }
            SessionOutcome::ShellEnded(outcome) => PromptMsg::ShellEnded(outcome).into(),
            SessionOutcome::Answered(result) => ApprovalMsg::Sent(result).into(),
            SessionOutcome::Paused { was_running } => SwitchMsg::Paused { was_running }.into(),
            SessionOutcome::StartNotified => PromptMsg::StartNotified.into(),
            SessionOutcome::Compacted(result) => SwitchMsg::Compacted(result).into(),
            SessionOutcome::ModelSet {
                name,
                persist,
                result,
            } => ModelMsg::Set {
                name,
                persist,
                result,
            }
            .into(),
            SessionOutcome::ModelCycled(result) => ModelMsg::Cycled(result).into(),
            SessionOutcome::ThinkingSet { persist, result } => {
                ModelMsg::ThinkingSet { persist, result }.into()
            }
            SessionOutcome::ThinkingCycled(result) => ModelMsg::ThinkingCycled(result).into(),
            SessionOutcome::ModelsRefreshed {
                provider,
                available,
                failed,
            } => ModelMsg::Refreshed {
                provider,
                available,
                failed,
            }
            .into(),
            SessionOutcome::NameSet { name, result } => SwitchMsg::NameSet { name, result }.into(),
            SessionOutcome::Replaced { request, result } => {
                SwitchMsg::Replaced { request, result }.into()
            }
            SessionOutcome::Navigated { target, result } => {
                SwitchMsg::Navigated { target, result }.into()
            }
            SessionOutcome::SessionsListed { scope, sessions } => {
                SwitchMsg::ListingEnded { scope, sessions }.into()
            }
            SessionOutcome::FileRenamed(result) => SwitchMsg::FileRenamed(result).into(),
            SessionOutcome::FileDeleted(result) => SwitchMsg::FileDeleted(result).into(),
            SessionOutcome::ForkPoints(result) => SwitchMsg::ForkPoints(result).into(),
            SessionOutcome::ProjectChecked(changes) => SwitchMsg::ProjectChecked(changes).into(),
            SessionOutcome::TrustSaved(result) => DialogMsg::TrustSaved(result).into(),
            SessionOutcome::LastResponse(result) => TerminalMsg::LastResponse(result).into(),
            SessionOutcome::UsageCounted {
                session,
                is_counted,
            } => StatusMsg::UsageCounted {
                session,
                is_counted,
            }
            .into(),
            SessionOutcome::SessionDescribed(result) => ReportMsg::SessionDescribed(result).into(),
            SessionOutcome::SessionsFound { query, result } => {
                SwitchMsg::HitsFound { query, result }.into()
            }
            SessionOutcome::CompactionPreviewed {
                instructions,
                result,
            } => SwitchMsg::CompactionPreviewed {
                instructions,
                result,
            }
            .into(),
            SessionOutcome::ReportWritten(result) => ReportMsg::Written(result).into(),
            SessionOutcome::DebugRecordWritten(result) => {
                ReportMsg::DebugRecordWritten(result).into()
            }
            SessionOutcome::Exported(result) => ShareMsg::Exported(result).into(),
            SessionOutcome::SharePrepared(result) => ShareMsg::Prepared(result).into(),
            SessionOutcome::SignedIn { provider, result } => {
                SignInMsg::Ended { provider, result }.into()
            }
            SessionOutcome::KeyStored { provider, result } => {
                SignInMsg::KeyStored { provider, result }.into()
            }
            SessionOutcome::SignedOut { provider, result } => {
                SignInMsg::SignedOut { provider, result }.into()
            }
            SessionOutcome::LoginsListed(result) => SignInMsg::LoginsListed(result).into(),
            SessionOutcome::LlamaRouterFound(result) => LlamaMsg::Found(result).into(),
            SessionOutcome::LlamaListed(result) => LlamaMsg::Listed(result).into(),
        }
    }
}
