//! Messages to the controllers.

use crate::controllers::appearance::AppearanceMsg;
use crate::controllers::approvals::ApprovalMsg;
use crate::controllers::dialogs::DialogMsg;
use crate::controllers::extensions::ExtensionMsg;
use crate::controllers::llama::LlamaMsg;
use crate::controllers::models::ModelMsg;
use crate::controllers::prompt::PromptMsg;
use crate::controllers::report::ReportMsg;
use crate::controllers::review::ReviewMsg;
use crate::controllers::share::ShareMsg;
use crate::controllers::sign_in::SignInMsg;
use crate::controllers::status::StatusMsg;
use crate::controllers::switching::SwitchMsg;
use crate::controllers::terminal::TerminalMsg;
use crate::transcript::TranscriptMsg;

/// A message to one of the controllers.
#[derive(Debug)]
pub(crate) enum AppMsg {
    Prompt(PromptMsg),
    Transcript(TranscriptMsg),
    Status(StatusMsg),
    Dialogs(DialogMsg),
    Approvals(ApprovalMsg),
    SignIn(SignInMsg),
    Switch(SwitchMsg),
    Extensions(ExtensionMsg),
    Terminal(TerminalMsg),
    Models(ModelMsg),
    Appearance(AppearanceMsg),
    Share(ShareMsg),
    Report(ReportMsg),
    Review(ReviewMsg),
    Llama(LlamaMsg),
}

macro_rules! from_message {
    ($($variant:ident($message:ty)),* $(,)?) => {
        $(impl From<$message> for AppMsg {
            fn from(message: $message) -> Self {
                Self::$variant(message)
            }
        })*
    };
}

from_message! {
    Prompt(PromptMsg),
    Transcript(TranscriptMsg),
    Status(StatusMsg),
    Dialogs(DialogMsg),
    Approvals(ApprovalMsg),
    SignIn(SignInMsg),
    Switch(SwitchMsg),
    Extensions(ExtensionMsg),
    Terminal(TerminalMsg),
    Models(ModelMsg),
    Appearance(AppearanceMsg),
    Share(ShareMsg),
    Report(ReportMsg),
    Review(ReviewMsg),
    Llama(LlamaMsg),
}
