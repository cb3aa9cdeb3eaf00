//! Routes the intents of dialogs to the controllers.

use pi_host::Persist;
use pi_protocol::Delivery;
use pi_views::dialogs::dialog::DialogKey;
use pi_views::dialogs::intent::Intent;

use super::message::AppMsg;
use crate::controllers::appearance::AppearanceMsg;
use crate::controllers::dialogs::{DialogMsg, DialogRequest};
use crate::controllers::models::ModelMsg;
use crate::controllers::prompt::PromptMsg;
use crate::controllers::review::ReviewMsg;
use crate::controllers::sign_in::SignInMsg;
use crate::controllers::switching::SwitchMsg;
use crate::controllers::terminal::{EditTarget, TerminalMsg};
use crate::session::command::Replacement;

/// Returns the message for an intent of the dialog `key`.
pub(super) fn message(key: DialogKey, intent: Intent) -> AppMsg {
    match intent {
        Intent::SetModel(model) => ModelMsg::Use {
            model,
            persist: Persist::Session,
        }
        .into(),
        Intent::SaveDefaultModel(model) => ModelMsg::Use {
            model,
            persist: Persist::Default,
        }
        .into(),
        Intent::SetThinking(level) => ModelMsg::UseThinking {
            level,
            persist: Persist::Session,
        }
        .into(),
        Intent::SaveDefaultThinking(level) => ModelMsg::UseThinking {
            level,
            persist: Persist::Default,
        }
        .into(),
        Intent::SetScope(scope) => ModelMsg::SetScope(scope).into(),
        Intent::SaveScope(patterns) => ModelMsg::SaveScope(patterns).into(),
        Intent::ChangeSetting(change) => AppearanceMsg::Change(change).into(),
        Intent::PreviewTheme(theme) => AppearanceMsg::Preview(Some(theme)).into(),
        Intent::EndThemePreview => AppearanceMsg::Preview(None).into(),
        Intent::NavigateTree { target, summarize } => {
            SwitchMsg::Navigate { target, summarize }.into()
        }
        Intent::SetLabel { entry, label } => SwitchMsg::SetLabel { entry, label }.into(),
        Intent::Fork { entry } => SwitchMsg::Replace(Replacement::Fork(entry)).into(),
        Intent::Resume(path) => SwitchMsg::Replace(Replacement::Resume(path)).into(),
        Intent::ResumeAt { path, entry } => SwitchMsg::OpenHit { path, entry }.into(),
        Intent::SearchSessions {
            query,
            scope,
            is_repeated,
        } => SwitchMsg::Search {
            query,
            scope,
            is_repeated,
        }
        .into(),
        Intent::RenameSession { path, name } => SwitchMsg::RenameFile { path, name }.into(),
        Intent::DeleteSession(path) => SwitchMsg::DeleteFile(path).into(),
        Intent::ListSessions(scope) => SwitchMsg::List(scope).into(),
        Intent::Import(path) => SwitchMsg::Replace(Replacement::Import(path)).into(),
        Intent::Trust(choice) => DialogMsg::TrustChosen { key, choice }.into(),
        Intent::SignIn { provider, kind } => SignInMsg::Start { provider, kind }.into(),
        Intent::AnswerSignIn(answer) => SignInMsg::Answer(answer).into(),
        Intent::CancelSignIn => SignInMsg::Cancel.into(),
        Intent::StoreKey { provider, key } => SignInMsg::StoreKey { provider, key }.into(),
        Intent::SignOut { provider } => SignInMsg::SignOut { provider }.into(),
        Intent::FinishFirstStart => AppearanceMsg::FirstStartFinished.into(),
        Intent::OpenLogin => DialogMsg::Open(DialogRequest::Login {
            provider: String::new(),
        })
        .into(),
        Intent::Answer(answer) => DialogMsg::Answered { key, answer }.into(),
        Intent::SetPromptText(text) => PromptMsg::SetText(text).into(),
        Intent::InsertPromptText(text) => PromptMsg::Insert(text).into(),
        Intent::Submit(text) => PromptMsg::Submitted {
            text,
            delivery: Delivery::Steer,
        }
        .into(),
        Intent::RevertHunk { path, hunk } => ReviewMsg::Revert { path, hunk }.into(),
        Intent::CopyText(text) => TerminalMsg::Copy {
            text,
            done: "Copied",
        }
        .into(),
        Intent::OpenUrl(url) => TerminalMsg::OpenUrl(url).into(),
        Intent::EditExternally(text) => TerminalMsg::Edit {
            text,
            target: EditTarget::Dialog,
        }
        .into(),
    }
}
